#!/usr/bin/env bash
# Sweeps' folders, scenarios, specs, networks and boards of somebody who means harm, ten minutes of each: nothing outside changes, and no
# program runs that was not allowed.
#
#   scripts/hardening/hostile.sh [SECONDS] [SEED]
exec "$(dirname "$0")/campaign.sh" hostile "$@"
