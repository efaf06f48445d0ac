#!/usr/bin/env bash
# Runs the tests that use the doubles of NVIDIA's libraries under a sanitizer, which sees what the compiler cannot: memory used
# after it was freed, reads and writes beyond its end, and data that two threads touch at once.
#
#   scripts/sanitize.sh address                 # the binding of TensorRT: cargo test -p tensorrt-dyn
#   scripts/sanitize.sh address cupti-dyn       # the binding of CUPTI
#   scripts/sanitize.sh address gpu             # jetlag's GPU tenants: the module `gpu` of tests/suite.rs
#   scripts/sanitize.sh thread [gpu|cupti-dyn]
#
# Needs a nightly compiler (rustup toolchain install nightly); `thread` also needs its sources, because the standard library
# has to be compiled for it (rustup component add rust-src --toolchain nightly). Builds into target/sanitize. The doubles
# themselves are compiled as always: what is seen of them is how they use memory from malloc. ThreadSanitizer does not see their
# atomics, and would take what they order for races: what is done in libraries that are not compiled for it, it leaves alone. What
# was run is in docs/verified.md.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
  echo "usage: scripts/sanitize.sh address|thread [gpu|cupti-dyn]" >&2
  exit 2
}

sanitizer=${1:-} tests=${2:-tensorrt-dyn}
case $sanitizer in address | thread) ;; *) usage ;; esac
case $tests in
tensorrt-dyn | cupti-dyn) tests=(-p "$tests" --lib --tests) ;;
# Left out: the library that `jetlag trace` puts into a program, which would need a program with the sanitizer in it, and NVIDIA's
# compiler, which does not find its other half when the sanitizer loads it, and leaves memory behind when it is unloaded.
gpu) tests=(--features full --test suite -- gpu:: --skip trace::gpu --skip gpu::nvrtc) ;;
*) usage ;;
esac

if ! rustc +nightly --version >/dev/null 2>&1; then
  echo "sanitize: there is no nightly compiler; rustup toolchain install nightly" >&2
  exit 1
fi
build=()
if [ "$sanitizer" = thread ]; then
  if [ ! -d "$(rustc +nightly --print sysroot)/lib/rustlib/src/rust/library" ]; then
    echo "sanitize: nightly's sources are missing; rustup component add rust-src --toolchain nightly" >&2
    exit 1
  fi
  build=(-Zbuild-std)
fi

export RUSTFLAGS="-Zsanitizer=$sanitizer ${RUSTFLAGS:-}"
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}/sanitize/$sanitizer
# SQLite has two static tables of one name in its one file, which the sanitizer takes for one that is defined twice.
export ASAN_OPTIONS=detect_stack_use_after_return=1:detect_odr_violation=0:${ASAN_OPTIONS:-}
# The watchdog ends a process whose device hangs without waiting for its threads: that is what it is for.
export TSAN_OPTIONS=ignore_noninstrumented_modules=1:halt_on_error=1:report_thread_leaks=0:${TSAN_OPTIONS:-}
# A target that is named keeps build scripts and macros without the sanitizer.
exec cargo +nightly test "${build[@]}" --target "$(rustc +nightly -vV | sed -n 's/^host: //p')" "${tests[@]}"
