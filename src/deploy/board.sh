# What `jetlag deploy` asks of a board, sent to its shell on standard input: sh -s -- VERB FOLDER ARGUMENTS...
# Needs a POSIX shell, coreutils, findutils and tar. What is not ours to choose goes out by `say`: some shells' echo (dash) expands
# backslashes. Below FOLDER:
#   bin/jetlag  files/…  the PC's files under their own paths  plans/  the plan cache
#   runs/NAME/  one run: NAME.mcap, log, summary, pid, stop (it is to end), exit (its code, once it has ended), fetched; of a
#               sweep: sweep (its folder's name)
#   sweeps/NAME/  the results of a sweep, which stay      sweeps/NAME.go  its command
#   sweeps/NAME.go.asked  another command for it, until jetlag has taken or refused it
#   last  the name of the last run      starting.BOOT.N  who starts one
verb=$1
folder=$2
shift 2
case $folder in /*) ;; *) folder=$HOME/$folder ;; esac

say() { printf '%s\n' "$1"; }

boot() { cat /proc/sys/kernel/random/boot_id 2>/dev/null; }

# The state of a run: ended, running, or lost (the board went down, somebody killed it, or its code found no room).
state() {
  run=$folder/runs/$1
  if [ -s "$run/exit" ]; then
    say "ended $(cat "$run/exit")"
  elif [ "$(cat "$run/boot" 2>/dev/null)" = "$(boot)" ] && kill -0 "$(cat "$run/keeper" 2>/dev/null)" 2>/dev/null; then
    say running
  elif [ -s "$run/exit" ]; then # it ended between the two looks
    say "ended $(cat "$run/exit")"
  else
    say lost
  fi
}

# One start at a time. The lock is a link, which is there as a whole or not at all and names its holder; its own name has the
# boot's, so that one of an earlier boot holds nothing. A holder that was killed is passed over: whoever removed its lock could
# remove the next one's. A disk without links has no lock.
lock() {
  n=1 rounds=0
  while [ "$rounds" -lt 300 ]; do
    mine=$folder/starting.$(boot).$n
    if ln -s "$$" "$mine" 2>/dev/null; then
      trap 'rm -f -- "$mine"' EXIT
      trap 'exit 73' HUP INT TERM
      return 0
    fi
    holder=$(readlink "$mine" 2>/dev/null)
    if [ -n "$holder" ] && ! [ -d "/proc/$holder" ]; then
      n=$((n + 1))
    else
      [ -n "$holder" ] || [ "$rounds" -lt 20 ] || return 0
      rounds=$((rounds + 1))
      sleep 0.05
    fi
  done
  return 1
}

# Whether the process has a handler for SIGINT: until then the signal would be lost, since a shell's background ignores it.
listens() { # PID
  while read -r key mask; do
    case $key$mask in SigCgt:*[2367abefABEF]) return 0 ;; esac
  done 2>/dev/null <"/proc/$1/status"
  return 1
}

# What is free here; the last line of df, since its heading is no number.
free_kib() {
  df -Pk . | {
    while read -r _ _ _ free _; do last=$free; done
    say "$last"
  }
}

# Whether a run has room for its record; a df that tells no number is not believed.
room() {
  case $(free_kib) in
    '' | *[!0-9]*) ;;
    *) [ "$(free_kib)" -ge 1024 ] ;;
  esac
}

# Gives up starting a run, and leaves no trace of it.
give_up() { # SENTENCE
  cd "$folder" && rm -rf -- "$run"
  [ -z "$asked" ] || rm -f -- "$asked"
  if [ -z "$before" ]; then
    rm -f last
  elif [ "$(cat last)" != "$before" ]; then
    say "$before" >last.new && mv last.new last
  fi
  say "$1" >&2
  exit 73
}

# In the words that the PC knows: a shell's own may be others (dash: I/O error).
full() {
  give_up "No space left on device: $(free_kib) KiB free"
}

case $verb in
  probe)
    say "machine $(uname -m)"
    say "processors $(nproc)"
    say "glibc $(getconf GNU_LIBC_VERSION 2>/dev/null)"
    mkdir -p "$folder/bin" "$folder/files" "$folder/plans" "$folder/runs" || exit 73
    cd "$folder" || exit 73
    say "folder $(pwd -P)"
    df -Pk . | while read -r _ _ _ free _; do say "free_kib $free"; done
    for program in find tar tail setsid; do
      command -v "$program" >/dev/null || say "missing $program"
    done
    command -v script >/dev/null && say "pty yes"
    # A start that was killed may have made room of the run that was last, and not have begun its own.
    if [ -s last ] && [ -d "runs/$(cat last)" ]; then
      say "last $(cat last)"
      say "state $(state "$(cat last)")"
      [ ! -s "runs/$(cat last)/sweep" ] || say "sweep $(cat "runs/$(cat last)/sweep")"
    fi
    ;;
  list)
    cd "$folder" && find bin files -type f -printf '%T@ %s %p\0'
    ;;
  remove)
    cd "$folder" && rm -f -- "$@"
    ;;
  start) # NAME ROWS COLUMNS COMMAND [SWEEP]: the command, quoted for a shell; rows 0 means without a terminal. Of a sweep that
    # goes on, no command: it is the one of before.
    run=$folder/runs/$1
    if ! lock; then
      say "another start has been under way for 15 seconds ($mine); see what keeps the board busy, and try again" >&2
      exit 75
    fi
    before=$(cat "$folder/last" 2>/dev/null)
    asked=
    # Somebody else's may have begun since this one looked.
    if [ -n "$before" ] && [ "$(state "$before")" = running ]; then
      say "busy $before"
      exit
    fi
    # What the PC has got already makes room. One of this name was called off, and stays: it is not begun below.
    for old in "$folder"/runs/*/fetched; do
      [ -f "$old" ] && [ "${old%/fetched}" != "$run" ] && rm -rf -- "${old%/fetched}"
    done
    mkdir "$run" && cd "$run" || exit 73
    room || full
    : >log
    command=$4
    settle=
    if [ -n "$5" ]; then
      mkdir -p "$folder/sweeps" && say "$5" >sweep || full
      order=$folder/sweeps/$5.go
      if [ -n "$4" ]; then
        # One whose run was cut off was not refused.
        [ ! -s "$order.asked" ] || mv "$order.asked" "$order"
        { say "exec $4" >"$order.new" && mv "$order.new" "$order.asked"; } || full
        asked=$order.asked
      fi
      [ ! -s "$order.asked" ] || order=$order.asked
      [ -s "$order" ] || give_up "the command of the sweep $5 is gone; start it with --sweep"
      command='sh "$order"'
      # 2: jetlag refused it; what it took before stays the sweep's command.
      settle='accepted=${order%.asked}
        if [ "$order" != "$accepted" ]; then
          if [ "$code" = 2 ] && [ -s "$accepted" ]; then rm -f -- "$order"; else mv -- "$order" "$accepted"; fi
        fi;'
      export order
    fi
    {
      { [ "$2" = 0 ] || say "stty rows $2 cols $3"; } &&
        say 'echo $$ >pid' &&
        say '[ ! -e stop ] || exit 130' &&
        say "exec $command >summary"
    } >go || full
    boot >boot
    export JETLAG_CACHE="$folder/plans"
    if [ "$2" = 0 ]; then
      how='sh ./go 2>log'
    else
      how='script -q -f -e -c "sh ./go" log'
    fi
    # Nothing runs that cannot be found again: its name and its keeper are written first.
    { say "$1" >"$folder/last.new" && mv "$folder/last.new" "$folder/last"; } || full
    # A session of its own: what becomes of the connection is nothing to it. A code that was not written whole is no code.
    setsid sh -c "echo \$\$ >keeper && { $how; code=\$?; $settle echo \$code >exit.new && mv exit.new exit; }" </dev/null >/dev/null 2>&1 &
    rounds=0
    while [ ! -s keeper ]; do
      if [ "$rounds" -ge 200 ]; then
        room || full
        give_up "the run did not begin within 10 seconds; see what keeps the board busy, and try again"
      fi
      rounds=$((rounds + 1))
      sleep 0.05
    done
    ;;
  follow) # NAME: what the run says, until it ends
    cd "$folder/runs/$1" || exit 66
    tail -s 0.1 -c +1 -f --pid="$(cat keeper)" log 2>/dev/null
    ;;
  stop) # NAME: ends it also where it has only begun; 75 where it does not listen yet, to be asked again
    run=$folder/runs/$1
    # Where there is no folder yet, this one keeps the run from beginning: a start makes its own.
    if mkdir "$run" 2>/dev/null; then
      : >"$run/fetched"
      say never
      exit
    fi
    # Seen by the run, if it is not further than that.
    : >"$run/stop"
    rounds=0
    while [ "$(state "$1")" = running ]; do
      pid=$(cat "$run/pid" 2>/dev/null)
      if [ -n "$pid" ] && listens "$pid"; then
        kill -INT "$pid"
        exit
      fi
      [ "$rounds" -lt 60 ] || exit 75
      rounds=$((rounds + 1))
      sleep 0.05
    done
    ;;
  state)
    state "$1"
    ;;
  bring) # NAME: the run's files and the plans' manifests, as a tar archive without folders
    name=$1
    cd "$folder/runs/$name" || exit 66
    set --
    for file in "$name.mcap" log; do
      [ -f "$file" ] && set -- "$@" "./$file"
    done
    there=
    for manifest in "$folder"/plans/*.plan.json; do
      [ -f "$manifest" ] || continue
      [ -n "$there" ] || set -- "$@" -C "$folder/plans"
      there=yes
      set -- "$@" "./${manifest##*/}"
    done
    tar -c -f - "$@"
    ;;
  begun) # SWEEP: the line of its journal that says what it is
    grep -a '"entry":{"sweep":' "$folder/sweeps/$1/journal.jsonl" 2>/dev/null | tail -n 1
    ;;
  results) # SWEEP: its files
    if [ -d "$folder/sweeps/$1" ]; then
      cd "$folder/sweeps/$1" && find . -maxdepth 2 -type f -printf '%T@ %s %P\0'
    fi
    ;;
  send) # SWEEP [OFFSET FILE]...: each file from there on, after a line with its facts
    cd "$folder/sweeps/$1" || exit 66
    shift
    while [ "$#" -gt 1 ]; do
      facts=$(find "./$2" -maxdepth 0 -type f -printf '%T@ %s') && [ -n "$facts" ] || exit 66
      say "$facts"
      tail -c "+$(($1 + 1))" "./$2" | head -c "$((${facts#* } - $1))"
      shift 2
    done
    ;;
  fetched) # NAME: its files have arrived; they go when the next run starts
    : >"$folder/runs/$1/fetched"
    ;;
esac
