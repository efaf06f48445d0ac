#!/usr/bin/env bash
# SIGKILL at random moments, ten minutes of each kind of run and of deploy and trace (sweeps: JETLAG_SWEEP_KILLS=100 and the tests
# sweep::kills): every file can be read, at most a second
# is missing, nothing goes on, clocks can be given back.
#
#   scripts/hardening/kill.sh [SECONDS] [SEED]
exec "$(dirname "$0")/campaign.sh" kill "$@"
