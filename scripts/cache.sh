# Sourced by the other scripts: where downloads live, and how they are made.

cache=${ONNXRUNTIME_EP_MLX_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/onnxruntime-ep-mlx}
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

# fetch_wheel NAME==VERSION SHA256 [pip arguments]: prints the path of the wheel in the cache.
fetch_wheel() {
    local spec=$1 sha=$2 folder
    shift 2
    folder=$cache/wheels/$sha
    if ! compgen -G "$folder/*.whl" >/dev/null; then
        local temp
        mkdir -p "$cache/wheels"
        temp=$(mktemp -d "$cache/wheels/.part.XXXXXX")
        say "fetching $spec"
        if ! "$python" -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
            --dest "$temp" "$@" "$spec" >&2; then
            rm -rf "$temp"
            die "pip could not download $spec; look at its message above. Nothing was kept."
        fi
        # A wrong checksum leaves nothing behind.
        (check_sha256 "$temp"/*.whl "$sha") || {
            rm -rf "$temp"
            exit 1
        }
        rm -rf "$folder"
        mv "$temp" "$folder"
    fi
    printf '%s\n' "$folder"/*.whl
}

# apt_install WHY PACKAGE...: installs Debian packages, or says what is missing.
apt_install() {
    local why=$1
    shift
    local sudo=
    [ "$(id -u)" = 0 ] || sudo=sudo
    if command -v apt-get >/dev/null 2>&1 && { [ -z "$sudo" ] || command -v sudo >/dev/null 2>&1; }; then
        say "installing $* ($why)"
        # The lists of a fresh machine are empty or old.
        $sudo apt-get update -qq >/dev/null 2>&1 || say "apt-get update failed; trying with the lists that are there"
        $sudo apt-get install -y -qq --no-install-recommends "$@" >/dev/null 2>&1 ||
            die "apt-get could not install $*, needed because: $why"
    else
        die "$why: install $* (Debian names) with your package manager"
    fi
}
