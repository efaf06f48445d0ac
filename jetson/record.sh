#!/bin/sh
# Records a machine's power, clocks, load and temperatures without end, and never takes more disk than it may: one run file
# after another by `jetlag monitor --record`, the oldest removed first. The systemd unit jetlag-monitor starts it.
#
#   record.sh FOLDER
#
# From the environment (/etc/default/jetlag): JETLAG_RECORD_EVERY, the length of one file (1h); JETLAG_RECORD_INTERVAL, the
# time between samples (1s); JETLAG_RECORD_LIMIT_MIB, what all files together may take (1024); JETLAG_RECORD_KEEP_FREE_MIB, what
# must stay free on the disk (1024); JETLAG, the program (jetlag).
set -u
folder=${1:?usage: record.sh FOLDER}
every=${JETLAG_RECORD_EVERY:-1h}
interval=${JETLAG_RECORD_INTERVAL:-1s}
limit_kib=$((${JETLAG_RECORD_LIMIT_MIB:-1024} * 1024))
keep_free_kib=$((${JETLAG_RECORD_KEEP_FREE_MIB:-1024} * 1024))
jetlag=${JETLAG:-jetlag}

mkdir -p "$folder" && cd "$folder" || exit 1
free_kib() { df -Pk . | awk 'NR == 2 { print $4 }'; }
taken_kib() { du -sk . | cut -f1; }
# A name begins with a number, so the oldest comes first and no two are alike, also on a board whose clock starts anew.
next_name() {
  last=$(ls | sed -n 's/^board-0*\([0-9][0-9]*\)-.*\.mcap$/\1/p' | sort -n | tail -n 1)
  printf 'board-%06d-%s.mcap\n' $((${last:-0} + 1)) "$(date -u +%Y%m%d-%H%M%S)"
}
oldest() { for file in board-*.mcap; do [ -f "$file" ] && echo "$file" && return; done; }
# The next file will be about as large as the largest so far.
next_kib() {
  most=0
  for file in board-*.mcap; do
    [ -f "$file" ] || continue
    size=$(du -k "$file" | cut -f1)
    [ "$size" -gt "$most" ] && most=$size
  done
  echo "$most"
}

child=
ending=false
# The first signal ends the recording with a whole file.
trap 'ending=true; [ -n "$child" ] && kill -TERM "$child" 2>/dev/null' TERM INT

while ! $ending; do
  next=$(next_kib)
  while [ $(($(taken_kib) + next)) -gt "$limit_kib" ] || [ "$(free_kib)" -lt $((keep_free_kib + next)) ]; do
    old=$(oldest)
    if [ -z "$old" ]; then
      echo "record: no room: $(free_kib) KiB are free in $folder, $keep_free_kib KiB must stay free; files may take" \
        "$limit_kib KiB in all. Make room, or change /etc/default/jetlag" >&2
      exit 1
    fi
    rm -f -- "$old"
  done
  file=$(next_name)
  "$jetlag" monitor --record "$file" --duration "$every" --interval "$interval" >/dev/null &
  child=$!
  wait "$child"
  code=$?
  # A signal ends `wait` early: the file is finished once the recorder has gone.
  if $ending; then
    wait "$child"
    break
  fi
  child=
  case $code in
    0 | 130) ;;
    *)
      echo "record: jetlag monitor ended with $code" >&2
      exit "$code"
      ;;
  esac
done
