#!/usr/bin/env bash
# Memory errors and leaks of the TensorRT binding: its tests against the C++ double under valgrind. Fails at any error
# and at any block that nothing points to any more. What the binding keeps until the process ends (libraries, loggers)
# is still pointed to, and is no leak.
#
#   scripts/leak_check.sh [--release] [TEST...]     tests by name or part of one; all without any
set -euo pipefail
cd "$(dirname "$0")/.."

profile=()
if [ "${1:-}" = --release ]; then
  profile=(--release)
  shift
fi
if ! command -v valgrind >/dev/null; then
  echo "leak_check: valgrind is not installed; run: scripts/setup.sh --test" >&2
  exit 1
fi
said=$(cargo test "${profile[@]}" -p tensorrt-dyn --test through_the_double --no-run 2>&1) ||
  { echo "$said" >&2; exit 1; }
binary=$(sed -n 's/.*Executable.*(\(.*\))$/\1/p' <<<"$said")
export RUST_BACKTRACE=0
export JETLAG_SHARED="${JETLAG_SHARED:-$PWD/../shared}"
# Compiles the doubles, at full speed; what fails without valgrind is not valgrind's to tell.
"$binary" --test-threads=1 "$@" >/dev/null 2>&1 || { echo "leak_check: the tests fail; run cargo test" >&2; exit 1; }
log=$(mktemp)
known=$(mktemp)
trap 'rm -f "$log" "$known"' EXIT
# glibc's loader loses its lists of scopes when libraries come and go; nobody else can free them.
cat >"$known" <<'END'
{
  loader_scopes
  Memcheck:Leak
  match-leak-kinds: definite
  fun:malloc
  ...
  fun:resize_scopes
  ...
}
END
if ! valgrind --error-exitcode=99 --leak-check=full --show-leak-kinds=definite,indirect \
  --errors-for-leak-kinds=definite,indirect --suppressions="$known" --log-file="$log" \
  "$binary" --test-threads=1 "$@" >/dev/null 2>&1; then
  cat "$log" >&2
  echo "leak_check: memory errors or leaks, see above" >&2
  exit 1
fi
grep -E "lost:|still reachable:|ERROR SUMMARY" "$log"
