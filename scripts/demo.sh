#!/usr/bin/env bash
# Reads the text in a picture with two OCR models that run on MLX inside a stock ONNX Runtime.
#
#   scripts/demo.sh [PICTURE]
#
# Without a picture it draws one. A fresh machine needs cargo, a C++ compiler and python3 with pip; the first call
# fetches and builds for some minutes, later ones take seconds.
set -euo pipefail
picture=
if [ $# -gt 0 ]; then
    [ -f "$1" ] || { echo "error: there is no picture at $1" >&2 && exit 1; }
    picture=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
fi
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/cache.sh

need cargo "install Rust with rustup"
need "$python" "install Python 3 with pip and venv"
say "1/4 MLX and mlx-c"
ONNXRUNTIME_EP_MLX_LIBMLXC=${ONNXRUNTIME_EP_MLX_LIBMLXC:-$(scripts/fetch-mlx-c.sh)}
export ONNXRUNTIME_EP_MLX_LIBMLXC
say "2/4 Python, onnxruntime 1.32.0 and the models"
env_python=$(scripts/python-env.sh scripts/demo-requirements.txt)
ort=$(PYTHON=$env_python scripts/fetch-ort.sh 1.32.0)
models=$(scripts/fetch-models.sh rapidocr)
say "3/4 the plugin"
cargo build --release
case $(uname -s) in Darwin) suffix=dylib ;; *) suffix=so ;; esac
say "4/4 reading"
PYTHONPATH=$ort exec "$env_python" scripts/demo.py "$PWD/target/release/libonnxruntime_mlx_ep.$suffix" "$models/rapidocr" ${picture:+"$picture"}
