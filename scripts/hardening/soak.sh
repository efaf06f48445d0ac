#!/usr/bin/env bash
# Two hours of null, sim and cpu at once: memory, files and threads stay flat, no record is lost.
#
#   scripts/hardening/soak.sh [SECONDS] [SEED]
exec "$(dirname "$0")/campaign.sh" soak "$@"
