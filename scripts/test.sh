#!/usr/bin/env bash
# Runs every check of the project; installs what a fresh machine lacks.
#
#   scripts/test.sh               everything, on onnxruntime 1.23.2 and 1.32.0
#   scripts/test.sh --all-hosts   and on every supported release, and with the other supported mlx-c
#
# Needs cargo, a C++ compiler and python3 with pip and venv; Debian packages are installed where they are missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/cache.sh

all_hosts=
case ${1-} in
'') ;;
--all-hosts) all_hosts=1 ;;
*) die "unknown argument $1; the only one is --all-hosts" ;;
esac

started=$SECONDS
stage_name=setup
trap 'code=$?; [ $code = 0 ] || say "FAILED in: $stage_name (after $((SECONDS - started)) s)"' EXIT
stage() {
    stage_name=$1
    say ""
    say "== $stage_name ($((SECONDS - started)) s)"
}

stage "fetch MLX, onnxruntime, models"
need cargo "install Rust with rustup"
need "$python" "install Python 3 with pip and venv"
ONNXRUNTIME_EP_MLX_LIBMLXC=$(scripts/fetch-mlx-c.sh)
export ONNXRUNTIME_EP_MLX_LIBMLXC
env_python=$(scripts/python-env.sh tests/requirements.txt)
export MLX_EP_TEST_MODELS
MLX_EP_TEST_MODELS=$(scripts/fetch-models.sh)
# The releases whose wheels the tests load.
hosts="1.23.2 1.32.0"
every_host="1.22.1 1.23.0 1.23.2 1.24.4 1.25.1 1.26.0 1.27.0 1.28.0 1.29.0 1.30.0 1.31.1 1.32.0"
ort() { PYTHON=$env_python scripts/fetch-ort.sh "$1"; }
for version in $hosts; do ort "$version" >/dev/null; done

stage "format"
cargo fmt --check
stage "clippy"
cargo clippy --quiet --all-targets -- -D warnings
stage "documentation"
RUSTDOCFLAGS="-D warnings" cargo doc --quiet --no-deps --document-private-items
stage "check for Apple silicon"
scripts/check-darwin.sh

stage "tests of the scripts"
"$env_python" -m pytest -q -n 2 -p no:cacheprovider tests/scripts

stage "build"
cargo build --release --quiet
case $(uname -s) in Darwin) suffix=dylib ;; *) suffix=so ;; esac
MLX_EP_TEST_LIBRARY=$PWD/target/release/libonnxruntime_mlx_ep.$suffix
export MLX_EP_TEST_LIBRARY

rust_tests() {
    if cargo nextest --version >/dev/null 2>&1; then
        cargo nextest run --cargo-quiet --status-level fail --no-fail-fast "$@"
    else
        cargo test --quiet --no-fail-fast "$@"
    fi
}
stage "Rust tests"
rust_tests

pytest_on() {
    local version=$1 folder
    shift
    folder=$(ort "$version")
    # Two workers on two cores: BLAS threads of each would only wait for one another.
    PYTHONPATH=$folder OPENBLAS_NUM_THREADS=1 "$env_python" -m pytest -q -n 2 --dist worksteal -p no:cacheprovider "$@"
}
for version in $hosts; do
    stage "tests on onnxruntime $version"
    pytest_on "$version" tests/python
done

backend_suite_on() {
    local folder
    folder=$(ort "$1")
    PYTHONPATH=$folder OPENBLAS_NUM_THREADS=1 "$env_python" tests/conformance/run.py
}
stage "ONNX backend suite on onnxruntime 1.32.0"
backend_suite_on 1.32.0

if [ -n "$all_hosts" ]; then
    for version in 1.24.4 1.28.0; do
        stage "ONNX backend suite on onnxruntime $version"
        backend_suite_on "$version"
    done
    for version in $every_host; do
        case " $hosts " in *" $version "*) continue ;; esac
        stage "host tests on onnxruntime $version"
        pytest_on "$version" tests/python/test_hosts.py tests/python/test_control.py
    done
    stage "the other mlx-c: 0.6.0"
    other=$(scripts/fetch-mlx-c.sh --mlx-c 0.6.0)
    if cargo nextest --version >/dev/null 2>&1; then ignored=(--run-ignored all); else ignored=(-- --include-ignored); fi
    MLX_EP_TEST_LIBMLXC_060=$other rust_tests "${ignored[@]}"
    ONNXRUNTIME_EP_MLX_LIBMLXC=$other pytest_on 1.32.0 tests/python/test_hosts.py tests/python/test_models.py
fi

stage_name="all passed"
say ""
say "all passed in $((SECONDS - started)) s"
