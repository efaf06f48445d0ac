#!/usr/bin/env bash
# SIGKILL at random moments, ten minutes of each kind of run: every file can be read, at most a second
# is missing, nothing goes on, clocks can be given back.
#
#   scripts/hardening/kill.sh [SECONDS] [SEED]
exec "$(dirname "$0")/campaign.sh" kill "$@"
