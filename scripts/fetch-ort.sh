#!/usr/bin/env bash
# Puts onnxruntime releases into folders of their own and prints the folders, one a line.
#
#   scripts/fetch-ort.sh VERSION...
#
# A folder is what PYTHONPATH wants; numpy and the other needs of onnxruntime are expected in the environment.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/cache.sh"

[ $# -gt 0 ] || die "usage: scripts/fetch-ort.sh VERSION..., for example 1.32.0"
for version in "$@"; do
    [[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || die "'$version' is no release of onnxruntime; give three numbers, for example 1.32.0"
done
need "$python" "install Python 3 with pip"
tag=$("$python" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
mkdir -p "$cache"
work=
trap 'rm -rf "$work"' EXIT
folders=()
for version in "$@"; do
    folder=$cache/ort-$version-$tag
    if [ ! -d "$folder" ]; then
        work=$(mktemp -d "$cache/.ort.XXXXXX")
        say "fetching onnxruntime $version"
        "$python" -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-deps --no-compile \
            --only-binary=:all: --target "$work/site" "onnxruntime==$version" >&2 ||
            die "pip could not install onnxruntime $version for $tag; look at its message above. Nothing was kept."
        publish "$work/site" "$folder"
        rm -rf "$work"
    fi
    folders+=("$folder")
done
printf '%s\n' "${folders[@]}"
