#!/usr/bin/env bash
# Builds the jetlag that is shipped: one stripped file that starts on glibc 2.31 (JetPack 5, Ubuntu 20.04, Debian 11)
# and everything later, and links no NVIDIA library; beside it libjetlag_inject.so, for `jetlag trace`. Sets up what it needs by
# itself, checks the results with scripts/check_binary.sh and prints the binary's path.
#
#   scripts/cross.sh [--arch arm64|amd64] [--glibc 2.31] [--linker zig|gcc] [--profile dist|release|dev]
#                    [--features LIST] [--no-default-features] [-- CARGO COMMAND...]
#
# The linker. zig carries the symbols of every glibc and links against 2.31 whatever this machine has, so it is the
# default: two Python wheels (ziglang, cargo-zigbuild) in .venvs/zig, no root. gcc-aarch64-linux-gnu links against its
# own distribution's glibc, so its result keeps the promise only on Debian 11 or Ubuntu 20.04; elsewhere the check
# says what it needs instead. Take it (--linker gcc) where 440 MB for zig are too many and the board is as new as the PC.
#
# --glibc 2.27 is for JetPack 4 (Nano, TX2), whose TensorRT is older than jetlag loads: cpu backend and sampling alone.
#
# Words after -- are given to cargo in the place of the build, under the same set-up:
#   scripts/cross.sh -- test -p tegrastats-parser --no-run
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD

glibc=2.31
zig_version=0.17.1 zigbuild_version=0.24.0
arch=arm64 linker=zig profile=dist
features=() command=()
usage() { sed -n '2,/^set -e/{/^set -e/d;s/^# \{0,1\}//;p}' "$0"; }
while [ $# -gt 0 ]; do
  case "$1" in
    --arch) arch=${2:-}; shift ;;
    --glibc) glibc=${2:-}; shift ;;
    --linker) linker=${2:-}; shift ;;
    --profile) profile=${2:-}; shift ;;
    --features) features+=(--features "${2:-}"); shift ;;
    --no-default-features) features+=(--no-default-features) ;;
    --) shift; command=("$@"); break ;;
    -h | --help) usage; exit 0 ;;
    *) echo "cross: unknown argument $1" >&2; usage >&2; exit 2 ;;
  esac
  shift
done
case "$arch" in
  arm64) target=aarch64-unknown-linux-gnu cross_cc=aarch64-linux-gnu-gcc package=gcc-aarch64-linux-gnu ;;
  amd64) target=x86_64-unknown-linux-gnu cross_cc=x86_64-linux-gnu-gcc package=gcc-x86-64-linux-gnu ;;
  *) echo "cross: --arch is arm64 or amd64, not '$arch'" >&2; exit 2 ;;
esac
case "$linker" in
  zig | gcc) ;;
  *) echo "cross: --linker is zig or gcc, not '$linker'" >&2; exit 2 ;;
esac

[ -z "${CARGO_TARGET_DIR:-}" ] || CARGO_TARGET_DIR=$(realpath -m "$CARGO_TARGET_DIR")

say() { echo "cross: $*" >&2; }
command -v cargo >/dev/null || PATH="$HOME/.cargo/bin:$PATH"
if ! command -v cargo >/dev/null; then
  say "Rust is not installed; run scripts/setup.sh, which says where to get it"
  exit 1
fi

# The standard library for the target: rustup's, or a distribution's package beside its own Rust.
if [ ! -d "$(rustc --print sysroot)/lib/rustlib/$target" ]; then
  if ! command -v rustup >/dev/null; then
    say "this Rust has no standard library for $target, and there is no rustup to add it; install your" \
      "distribution's (Debian: libstd-rust-dev for ${arch}), or Rust from rustup"
    exit 1
  fi
  say "adding Rust's standard library for $target"
  rustup target add "$target" >&2
fi

if [ "$linker" = zig ]; then
  wanted="ziglang==$zig_version cargo-zigbuild==$zigbuild_version"
  folder=$PWD/.venvs/zig
  if [ "$(cat "$folder/installed" 2>/dev/null)" != "$wanted" ]; then
    say "installing $wanted into .venvs/zig"
    rm -rf "$folder"
    python3 -m venv "$folder" || { say "python3 with venv is needed (Debian: python3-venv)"; exit 1; }
    # shellcheck disable=SC2086 # two requirements, two words
    "$folder/bin/python" -m pip install -q --disable-pip-version-check $wanted
    echo "$wanted" >"$folder/installed"
  fi
  export PATH="$folder/bin:$PATH"
  build=(cargo-zigbuild zigbuild) to=(--target "$target.$glibc")
  # The feature nvtx reads C headers with libclang, which cargo-zigbuild tells where zig has them. What lies below the folder that zig
  # is called in, it names from there on, and build scripts run in others.
  cd scripts
else
  if ! command -v "$cross_cc" >/dev/null; then
    say "$cross_cc is not installed; run: sudo apt-get install $package (or take --linker zig, which needs no root)"
    exit 1
  fi
  upper=$(tr a-z- A-Z_ <<<"$target")
  export "CARGO_TARGET_${upper}_LINKER=$cross_cc" "CC_${target//-/_}=$cross_cc"
  build=(cargo build) to=(--target "$target")
  export "BINDGEN_EXTRA_CLANG_ARGS_${target//-/_}=-isystem /usr/${target/-unknown/}/include"
fi

# No path of this machine in the result, so that it is the same wherever it is built. (Encoded: paths may have blanks.)
flags=${CARGO_ENCODED_RUSTFLAGS:-$(tr ' ' '\037' <<<"${RUSTFLAGS:-}" | tr -d '\n')}
for mapped in "$root=/jetlag" "${CARGO_HOME:-$HOME/.cargo}=/cargo" "$(rustc --print sysroot)=/rust"; do
  flags+="${flags:+$'\x1f'}--remap-path-prefix=$mapped"
done
export CARGO_ENCODED_RUSTFLAGS=$flags

if [ "${#command[@]}" -gt 0 ]; then
  exec "${build[0]}" "${command[@]}" "${to[@]}"
fi
# In one call, so that both are made of the same libraries: `jetlag trace` has the second loaded into other programs, and it lies
# beside the binary.
"${build[@]}" "${to[@]}" --package jetlag --bin jetlag --package jetlag-inject --lib --profile "$profile" --locked "${features[@]}"
cd "$root"
[ "$profile" = dev ] && profile=debug
built=${CARGO_TARGET_DIR:-target}/$target/$profile/jetlag
scripts/check_binary.sh --glibc "$glibc" --arch "$arch" "$built" >&2
scripts/check_binary.sh --glibc "$glibc" --arch "$arch" "${built%/*}/libjetlag_inject.so" >&2
echo "$built"
