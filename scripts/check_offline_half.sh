#!/usr/bin/env bash
# Holds the offline half to its promises: jetlag-record and jetlag-report bring no device, no scenario parser and no terminal
# library with them (jetlag-range neither), build for Windows (a run made on a board is read on any laptop), and a program of
# somebody else's reads a run file's frames through jetlag-record alone.
#
#   scripts/check_offline_half.sh
set -euo pipefail
cd "$(dirname "$0")/.."

target=x86_64-pc-windows-gnu
for crate in jetlag-report jetlag-range; do
  # jetlag-range reads boards.ron, for the facts of the machine.
  case $crate in
    jetlag-report) features=(--features parquet) reader='|ron' ;;
    *) features=() reader='' ;;
  esac
  found=$(cargo tree -p "$crate" -e normal "${features[@]}" --prefix none |
    grep -E '^(cudarc|nvml-wrapper|libloading|ort|rten|ratatui|clap|sysinfo|ron2|tensorrt-dyn|cupti-dyn'"$reader"') ' || true)
  if [ -n "$found" ]; then
    echo "check_offline_half: $crate depends on what is not for it:" >&2
    echo "$found" >&2
    exit 1
  fi
done

# zstd is C: zig, which cross.sh brought, compiles it for Windows.
zig=$PWD/.venvs/zig/bin
if [ ! -x "$zig/cargo-zigbuild" ]; then
  echo "check_offline_half: run scripts/cross.sh first; it installs zig into .venvs/zig" >&2
  exit 1
fi
if [ ! -d "$(rustc --print sysroot)/lib/rustlib/$target" ]; then
  rustup target add "$target"
fi
PATH=$zig:$PATH cargo-zigbuild check --quiet --release -p jetlag-report -p jetlag-record --target "$target"

# In the same profile and folder as everything else, so that what they have in common is not compiled again.
outside=$(CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target} \
  cargo run --quiet --release --manifest-path tests/outside/Cargo.toml -- tests/records/run.mcap)
frames=$(grep -cE '^[a-z]+ [0-9]+ [0-9.]+$' <<<"$outside" || true)
if [ "$frames" = 0 ] || [ "$frames" != "$(wc -l <<<"$outside")" ]; then
  echo "check_offline_half: tests/outside printed no frames:" >&2
  head -n 5 <<<"$outside" >&2
  exit 1
fi
echo "the offline half: no device among its dependencies, checked for $target, $frames frames read from outside"
