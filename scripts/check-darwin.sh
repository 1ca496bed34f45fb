#!/usr/bin/env bash
# Type-checks the library for Apple silicon from Linux: no linker and no SDK, but the standard library's sources.
# On a Mac the ordinary build says the same.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/cache.sh"
cd "$(dirname "${BASH_SOURCE[0]}")/.."

[ "$(uname -s)" = Linux ] || exit 0
# Debian ships a compiler and the standard library's sources of one version, which a distributed toolchain may not.
usable() {
    [ -x /usr/bin/cargo-clippy ] && [ -x /usr/bin/rustc ] &&
        [ -d "$(/usr/bin/rustc --print sysroot)/lib/rustlib/src/rust/library" ] &&
        printf '%s\n' "$wanted" "$(/usr/bin/rustc --version | cut -d' ' -f2)" | sort -C -V
}
wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
usable || apt_install "they type-check the library for Apple silicon" rustc-web cargo-web rust-web-src rust-web-clippy
usable || die "the check for Apple silicon needs Rust $wanted with its sources under /usr"
export RUSTC_BOOTSTRAP=1 RUSTC=/usr/bin/rustc CARGO=/usr/bin/cargo CARGO_TARGET_DIR=target/darwin PATH=/usr/bin:/bin
unset RUSTUP_TOOLCHAIN RUSTC_WRAPPER
exec cargo-clippy clippy --quiet --lib --target aarch64-apple-darwin -Zbuild-std=std,panic_unwind -- -D warnings
