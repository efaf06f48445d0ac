#!/usr/bin/env bash
# Runs one campaign of tests/hardening.rs for as long as is asked, and prints its table.
#
#   scripts/hardening/campaign.sh kill|damage|faults|soak [SECONDS] [SEED]
#
# SECONDS are of each part: a kind of run, a kind of fault. Each round has a seed of its own, counted from SEED, and a failure
# names the seed. The tests run a little of each campaign (`cargo test --features full --test suite hardening`).
set -euo pipefail
cd "$(dirname "$0")/../.."
usage() { sed -n '4s/^# *//p' "$0" >&2; exit 2; }
case "${1:-}" in
  kill) name=kill::kills seconds=600 ;;
  damage) name=damage::damaged_files seconds=3600 ;;
  faults) name=faults::faults seconds=600 ;;
  soak) name=soak::soak seconds=7200 ;;
  *) usage ;;
esac
export JETLAG_CAMPAIGN_SECONDS=${2:-$seconds} JETLAG_CAMPAIGN_SEED=${3:-1}
exec cargo test --release --features full --test suite -- "hardening::$name" --exact --nocapture
