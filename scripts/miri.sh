#!/usr/bin/env bash
# Runs under Miri, which executes Rust step by step and refuses undefined behaviour, the tests that need no library, no file and
# no process: the run record, the parser of tegrastats, and parts of jetlag that compute. What calls a library of C is
# scripts/sanitize.sh's.
#
#   scripts/miri.sh
#
# Needs a nightly compiler with Miri (rustup toolchain install nightly --component miri,rust-src). Builds into target/miri. What
# was run is in docs/verified.md.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! cargo +nightly miri --version >/dev/null 2>&1; then
  echo "miri: there is no Miri; rustup toolchain install nightly --component miri,rust-src" >&2
  exit 1
fi

export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}/miri
# Files and the clock are the machine's; what is drawn at random is drawn the same each time.
export MIRIFLAGS="-Zmiri-disable-isolation ${MIRIFLAGS:-}"
export PROPTEST_CASES=${PROPTEST_CASES:-4}

cargo +nightly miri test -p tegrastats-parser --lib
# zstd is C, so what reads and writes run files is left out.
cargo +nightly miri test -p jetlag-record --lib -- units nearest wire footprint
cargo +nightly miri test --no-default-features --lib -- engine::protobuf detector::lidar::anchors detector::lidar::angle
