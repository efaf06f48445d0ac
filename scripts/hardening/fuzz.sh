#!/usr/bin/env bash
# Fuzzes every input of tests/hardening/inputs.rs under libFuzzer and the address sanitizer, and prints how often each was
# executed. Takes a nightly compiler and cargo-fuzz (cargo install cargo-fuzz). What it finds stays in fuzz/artifacts and fails the
# script; what it learns goes to fuzz/target/learned.
#
#   scripts/hardening/fuzz.sh [SECONDS_OF_EACH [SEED [INPUT...]]]      600 seconds, seed 1, all inputs
#
# SANITIZER=none leaves the address sanitizer out: several times as many executions, which find panics, hangs and memory without
# end; what is left to the sanitizer are mistakes of unsafe code, which only some libraries have.
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=${1:-600} seed=${2:-1} sanitizer=${SANITIZER:-address}
shift $(($# < 2 ? $# : 2))
inputs=("$@")
if [ "${#inputs[@]}" = 0 ]; then
  mapfile -t inputs < <(sed -n 's/^    ("\([a-z_]*\)", [a-z_]*),$/\1/p' tests/hardening/inputs.rs)
fi
cargo +nightly fuzz build --release -s "$sanitizer" inputs

failed=0 all=0
for input in "${inputs[@]}"; do
  [ -d "fuzz/corpus/$input" ] || { echo "fuzz: there is no input $input" >&2; exit 2; }
  mkdir -p "fuzz/target/learned/$input" "fuzz/artifacts/$input"
  log=fuzz/artifacts/$input.log
  code=0
  # What takes more than 2 GiB or ten seconds is found too.
  JETLAG_FUZZ=$input cargo +nightly fuzz run --release -s "$sanitizer" inputs "fuzz/target/learned/$input" "fuzz/corpus/$input" -- \
    -max_total_time="$seconds" -seed="$seed" -rss_limit_mb=2048 -malloc_limit_mb=1024 -timeout=10 -print_final_stats=1 \
    -artifact_prefix="fuzz/artifacts/$input/" >"$log" 2>&1 || code=$?
  times=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  all=$((all + ${times:-0}))
  if [ "$code" = 0 ]; then
    printf '%-14s %12d executions, nothing found   seed %s\n' "$input" "${times:-0}" "$seed"
  else
    failed=1
    printf '%-14s %12d executions, FOUND: %s\n' "$input" "${times:-0}" "$log"
    grep -m 3 -E 'panicked|ERROR|SUMMARY' "$log" || tail -n 5 "$log"
  fi
done
printf '%-14s %12d executions\n' all "$all"
exit "$failed"
