#!/bin/sh
# Installs jetlag from a clone or from an unpacked release, on the machine that it is run on.
#
#   jetson/install.sh                 for this user, into ~/.local; takes no root
#   sudo jetson/install.sh --system   for everybody, into /usr/local, with systemd units, their user and udev rules
#
# --binary FILE: the jetlag to install [default: what scripts/cross.sh or cargo built, for this machine's processors]
# --prefix DIR:  another place than ~/.local or /usr/local
# --root DIR:    install below DIR, for an image that is not running
#
# Nothing is enabled or started. jetson/uninstall.sh takes away what this put there; recordings stay.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
say() { printf 'install: %s\n' "$*" >&2; }
# A path as the rest of this script needs it: absolute, without `.` and `..`, from where this was called.
absolute() { # OPTION PATH
  case "$2" in
    '') say "$1 names no folder"; exit 2 ;;
    *[[:cntrl:]]*) say "$1 has a character in it that no list of files can hold; name another folder"; exit 2 ;;
    /*) all=$2 ;;
    *) all=$PWD/$2 ;;
  esac
  set -f
  IFS=/
  out=
  for part in $all; do
    case "$part" in
      '' | .) ;;
      ..) out=${out%/*} ;;
      *) out=$out/$part ;;
    esac
  done
  printf '%s\n' "$out"
}

system=false prefix='' binary='' root='' given=''
while [ $# -gt 0 ]; do
  case "$1" in
    --system) system=true ;;
    --binary | --prefix | --root)
      [ $# -ge 2 ] || { echo "install: $1 names nothing" >&2; exit 2; }
      case "$1" in
        --binary) binary=$2 ;;
        --prefix) prefix=$(absolute --prefix "$2") || exit ;;
        --root) root=$(absolute --root "$2") || exit ;;
      esac
      given="$given $1"
      shift
      ;;
    *) sed -n '2,/^set -e/{/^set -e/d;s/^# \{0,1\}//;p;}' "$0" >&2; exit 2 ;;
  esac
  shift
done

if $system && [ -z "$root" ] && [ "$(id -u)" != 0 ]; then
  say "--system writes to /usr/local and /etc, which takes root; run it with sudo, or leave --system out"
  exit 1
fi
case "$given" in
  *--prefix*) ;;
  *) if $system; then prefix=/usr/local; else prefix=$(absolute HOME "$HOME/.local") || exit; fi ;;
esac
# systemd's units and the shell's words in them take a path as it is, and not all of its characters.
if $system; then
  case "$prefix" in
    *[!A-Za-z0-9/._+-]*)
      say "--system puts the prefix into systemd's units, which take letters, digits and / . _ + - alone; name another than $prefix"
      exit 2
      ;;
  esac
fi
if [ -z "$binary" ]; then
  machine=$(uname -m)
  for built in "$here/jetlag" "$here/target/$machine-unknown-linux-gnu/dist/jetlag" "$here/target/release/jetlag"; do
    if [ -f "$built" ]; then binary=$built; break; fi
  done
fi
if [ ! -f "$binary" ]; then
  say "no jetlag to install: build it with \`cargo build --release\` or scripts/cross.sh, or name one with --binary"
  exit 1
fi
if [ -z "$root" ] && ! said=$("$binary" --version 2>&1); then
  say "$binary does not start on this machine: $said"
  say "it may be for other processors, or for a newer glibc; build it with scripts/cross.sh and see docs/quickstart-jetson.md"
  exit 1
fi

to=$root$prefix
share=$prefix/share/jetlag
# Every file that is put anywhere, for the uninstaller.
manifest=$root$share/installed
mkdir -p "$root$share"
: >"$manifest.new"
put() { # MODE FROM TO
  mkdir -p "$(dirname "$root$3")"
  install -m "$1" "$2" "$root$3.jetlag-new"
  mv -f "$root$3.jetlag-new" "$root$3" # also over a jetlag that is running
  printf '%s\n' "$3" >>"$manifest.new" # echo would expand backslashes (dash)
}
filled() { sed "s|@BINDIR@|$prefix/bin|g; s|@SHAREDIR@|$share|g" "$1"; }

put 755 "$binary" "$prefix/bin/jetlag"
# What `jetlag trace` has loaded into other programs, where it was built beside the binary.
injection=$(dirname "$binary")/libjetlag_inject.so
if [ -f "$injection" ]; then
  put 644 "$injection" "$prefix/lib/jetlag/libjetlag_inject.so"
else
  say "no libjetlag_inject.so beside $binary, so \`jetlag trace\` has nothing to load into programs; \`cargo build --release -p jetlag-inject\` or scripts/cross.sh builds it"
fi
cd "$here"
for file in configs/*.ron configs/*/*.ron engines/*.ron engines/*.onnx jetson/boards.ron jetson/scenarios/*.ron; do
  put 644 "$file" "$share/$file"
done
put 755 jetson/record.sh "$share/jetson/record.sh"
put 755 jetson/uninstall.sh "$share/jetson/uninstall.sh"
if [ -d target/documents ]; then
  for page in target/documents/man/*.1; do put 644 "$page" "$prefix/share/man/man1/$(basename "$page")"; done
  put 644 target/documents/completions/jetlag.bash "$prefix/share/bash-completion/completions/jetlag"
  put 644 target/documents/completions/_jetlag "$prefix/share/zsh/site-functions/_jetlag"
  put 644 target/documents/completions/jetlag.fish "$prefix/share/fish/vendor_completions.d/jetlag.fish"
fi
if $system; then
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  for unit in jetlag-monitor.service jetlag-scenario@.service; do
    filled "jetson/systemd/$unit" >"$work/$unit"
    put 644 "$work/$unit" "/etc/systemd/system/$unit"
  done
  put 644 jetson/jetlag.sysusers /etc/sysusers.d/jetlag.conf
  put 644 jetson/60-jetlag.rules /etc/udev/rules.d/60-jetlag.rules
  # Settings that somebody changed stay.
  [ -f "$root/etc/default/jetlag" ] || put 644 jetson/default.env /etc/default/jetlag
  if [ -z "$root" ]; then
    getent group jetlag >/dev/null || groupadd --system jetlag
    getent passwd jetlag >/dev/null ||
      useradd --system --gid jetlag --home-dir /var/lib/jetlag --no-create-home --shell /usr/sbin/nologin jetlag
    if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
    if command -v udevadm >/dev/null; then
      udevadm control --reload 2>/dev/null || true
      udevadm trigger --subsystem-match=powercap --action=add 2>/dev/null || true
    fi
  fi
fi
mv "$manifest.new" "$manifest"
say "jetlag is in $to/bin; scenarios and detectors are in $root$share"
case ":$PATH:" in
  *":$prefix/bin:"*) ;;
  *) say "$prefix/bin is not on your PATH; add it, or call $prefix/bin/jetlag" ;;
esac
if $system; then
  [ -z "$root" ] || say "the image has no user jetlag yet, whom jetlag-scenario@ takes: systemd-sysusers --root=$root jetlag.conf"
  say "record this board from now on: systemctl enable --now jetlag-monitor"
  say "run a scenario at each boot:   put it into /etc/jetlag/NAME.ron; systemctl enable jetlag-scenario@NAME"
fi
