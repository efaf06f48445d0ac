#!/usr/bin/env bash
# Damaged run files, bags, datasets, networks and journals through everything that reads them, for an hour of each kind, under 1 GiB:
# no panic, abort or hang, nothing lost in silence.
#
#   scripts/hardening/damage.sh [SECONDS] [SEED]
exec "$(dirname "$0")/campaign.sh" damage "$@"
