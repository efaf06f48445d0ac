#!/usr/bin/env bash
# Faults in the middle of runs, ten minutes of each kind: the others go on, the record is complete up to the fault, the report says it.
#
#   scripts/hardening/faults.sh [SECONDS] [SEED]
exec "$(dirname "$0")/campaign.sh" faults "$@"
