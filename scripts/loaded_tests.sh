#!/usr/bin/env bash
# Runs the README's test command beside a load of four times the processors, round after round, and says which tests failed in
# which round. The load is busy loops at the tests' own priority, so that a test gets a fifth of a processor; it ends with this
# script, however that ends. A test that fails only here depends on time.
#
#   scripts/loaded_tests.sh [ROUNDS] [CARGO TEST ARGUMENTS...]     three rounds of the README's command without any
set -euo pipefail
cd "$(dirname "$0")/.."

rounds=${1:-3}
case "$rounds" in
  '' | *[!0-9]* | 0) echo "usage: scripts/loaded_tests.sh [ROUNDS] [CARGO TEST ARGUMENTS...]" >&2; exit 2 ;;
esac
shift || true
arguments=("$@")
if [ "${#arguments[@]}" = 0 ]; then
  read -ra arguments <<<"$(sed -n 's/^cargo test \(--release --workspace .*\)$/\1/p' README.md | head -n 1)"
  [ "${#arguments[@]}" -gt 0 ] || { echo "loaded_tests: README.md names no test command" >&2; exit 2; }
fi

# Built beforehand: what is asked is how the tests run, and the compiler has no need of a load.
cargo test "${arguments[@]}" --no-run

load=()
folder=$(mktemp -d)
# shellcheck disable=SC2317 # called by the trap
finish() {
  [ "${#load[@]}" = 0 ] || kill "${load[@]}" 2>/dev/null || true
  wait 2>/dev/null || true
  rm -rf "$folder"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

wanted=$(($(nproc) * 4))
for ((n = 0; n < wanted; n++)); do
  # Ends with us also where we are killed and clean up nothing.
  (while kill -0 $$ 2>/dev/null; do for ((i = 0; i < 100000; i++)); do :; done; done) &
  load+=($!)
done
echo "loaded_tests: $wanted busy loops beside $rounds rounds of cargo test ${arguments[*]}"

failed=0
for ((round = 1; round <= rounds; round++)); do
  began=$SECONDS
  code=0
  cargo test "${arguments[@]}" --no-fail-fast >"$folder/$round.log" 2>&1 || code=$?
  names=$(sed -n 's/^test \(.*\) \.\.\. FAILED$/\1/p' "$folder/$round.log" | sort -u)
  passed=$(awk '/^test result:/ { sum += $4 } END { print sum + 0 }' "$folder/$round.log")
  if [ "$code" = 0 ]; then
    echo "round $round: $passed tests passed in $((SECONDS - began)) s"
    continue
  fi
  failed=1
  echo "round $round: FAILED ($passed tests passed, $((SECONDS - began)) s)"
  if [ -n "$names" ]; then
    while read -r name; do echo "  $name"; done <<<"$names"
  else
    tail -n 30 "$folder/$round.log" # no test failed, so something else did
  fi
  # What each said.
  awk '/^failures:$/ { on = 1 } /^test result:/ { on = 0 } on' "$folder/$round.log" | sed 's/^/    /' | head -n 400
done
if [ -s target/skipped-tests.txt ]; then
  echo "loaded_tests: not run, with their reasons:"
  sort -u target/skipped-tests.txt | sed 's/^/  /'
fi
exit "$failed"
