#!/usr/bin/env bash
# Holds systemd's units against what they promise: they are understood, and what could be done to the machine through them stays
# small (jetson/README.md). Starts nothing, needs no root, no running systemd and no jetlag.
#
#   scripts/check_units.sh
set -euo pipefail
cd "$(dirname "$0")/.."

command -v systemd-analyze >/dev/null ||
  { echo "check_units: systemd-analyze is not installed (Debian: systemd; scripts/setup.sh --test installs it)" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
units=$work/usr/lib/systemd/system
mkdir -p "$units" "$work/usr/bin" "$work/usr/share/jetlag/jetson"
# What the units start has to be there.
for program in bin/jetlag share/jetlag/jetson/record.sh; do install -m 755 /dev/null "$work/usr/$program"; done

failed=false
check() { # UNIT EXPOSURE in tenths, which it must stay below
  sed 's|@BINDIR@|/usr/bin|g; s|@SHAREDIR@|/usr/share/jetlag|g' "jetson/systemd/$1" >"$units/$1"
  # What this tree lacks of systemd's own is not ours to have.
  said=$(systemd-analyze verify --man=no --root="$work" "/usr/lib/systemd/system/$1" 2>&1 | grep -F "$1" | grep -v 'Unit .* not found' || true)
  [ -z "$said" ] || { echo "check_units: $said" >&2; failed=true; }
  systemd-analyze security --offline=yes --no-pager --threshold=$(($2 - 1)) "$units/$1" >"$work/table" 2>"$work/said" || {
    cat "$work/said" >&2
    grep '^✗' "$work/table" | sed 's/  */ /g' >&2 || true
    echo "check_units: $1 must stay below $(($2 / 10)).$(($2 % 10))" >&2
    failed=true
  }
  sed -n 's/^→ //p' "$work/table"
}
check jetlag-scenario@.service 30
check jetlag-monitor.service 25
! $failed
