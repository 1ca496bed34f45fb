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
    trap 'rm -rf "$work"' EXIT
    say "making a Python environment from $requirements"
    # Debian has the module without what it needs.
    if ! "$python" -m venv "$work/env" >"$work/log" 2>&1; then
        cat "$work/log" >&2
        rm -rf "$work/env"
        apt_install "Python's venv module makes the environment" python3-venv
        "$python" -m venv "$work/env" >&2
    fi
    "$work/env/bin/python" -m pip install --quiet --disable-pip-version-check --root-user-action=ignore \
        --only-binary=:all: -r "$requirements" >&2 ||
        die "pip could not install $requirements; look at its message above. Nothing was kept."
    # Its programs name their interpreter by path.
    "$python" - "$work/env" "$folder" <<'PYTHON'
import os, pathlib, sys

made, target = map(os.fsencode, sys.argv[1:])
for file in [pathlib.Path(sys.argv[1], "pyvenv.cfg"), *pathlib.Path(sys.argv[1], "bin").iterdir()]:
    if file.is_file() and not file.is_symlink() and made in (content := file.read_bytes()):
        file.write_bytes(content.replace(made, target))
PYTHON
    publish "$work/env" "$folder"
fi
printf '%s\n' "$folder/bin/python"
