#!/usr/bin/env bash
# Runs one campaign of tests/hardening.rs for as long as is asked, and prints its table.
#
#   scripts/hardening/campaign.sh kill|damage|hostile|faults|soak|tenants [SECONDS] [SEED]
#
# SECONDS are of each part: a kind of run, a kind of fault. Each round has a seed of its own, counted from SEED, and a failure
# names the seed. The tests run a little of each campaign (`cargo test --features full --test suite hardening`).
set -euo pipefail
cd "$(dirname "$0")/../.."
usage() { sed -n '4s/^# *//p' "$0" >&2; exit 2; }
case "${1:-}" in
  kill) names=(hardening::kill::kills hardening::kill_deploy::deployments hardening::kill_trace::traces) seconds=600 ;;
  damage) names=(hardening::damage::damaged_files hardening::damaged_inputs::damaged_inputs) seconds=3600 ;;
  hostile) names=(hardening::hostile::hostile_things) seconds=600 ;;
  faults)
    names=(hardening::faults::faults hardening::full_disk::a_disk_that_is_full_from_each_write_on
      hardening::full_disk::a_disk_that_is_full_under_traces_plans_and_fetched_runs)
    seconds=600
    ;;
  soak) names=(hardening::soak::soak) seconds=7200 ;;
  tenants) names=(hardening::tenants::any_number_of_tenants) seconds=1 ;;
  *) usage ;;
esac
export JETLAG_CAMPAIGN_SECONDS=${2:-$seconds} JETLAG_CAMPAIGN_SEED=${3:-1}
exec cargo test --release --features full --test suite -- "${names[@]}" --exact --nocapture
