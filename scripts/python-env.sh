#!/usr/bin/env bash
# Makes a Python environment from a file of requirements and prints its interpreter last.
#
#   scripts/python-env.sh REQUIREMENTS
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/cache.sh"

[ -f "${1-}" ] || die "usage: scripts/python-env.sh REQUIREMENTS"
requirements=$1
need "$python" "install Python 3 with pip and venv"
key=$(cat "$requirements" <("$python" -VV) | (sha256sum 2>/dev/null || shasum -a 256) | cut -c1-12)
folder=$cache/venv-$key
if [ ! -x "$folder/bin/python" ]; then
    mkdir -p "$cache"
    work=$(mktemp -d "$cache/.venv.XXXXXX")
    trap 'rm -rf "$work" "$folder.part"' EXIT
    say "making a Python environment from $requirements"
    # An environment knows its own path, so it is made in place and marked when it is whole.
    rm -rf "$folder"
    "$python" -m venv "$work/probe" >/dev/null 2>&1 || apt_install "Python's venv module makes the environment" python3-venv
    "$python" -m venv "$folder.part"
    "$folder.part/bin/python" -m pip install --quiet --disable-pip-version-check -r "$requirements" >&2 || {
        rm -rf "$folder.part"
        die "pip could not install $requirements; look at its message above"
    }
    mv "$folder.part" "$folder"
fi
printf '%s\n' "$folder/bin/python"
