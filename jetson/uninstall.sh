#!/bin/sh
# Takes away what jetson/install.sh put there. Recordings and plans stay unless --purge is given.
#
#   jetson/uninstall.sh [--purge]                  for this user, from ~/.local
#   sudo jetson/uninstall.sh --system [--purge]    from /usr/local; stops and disables the units
#
# --prefix DIR, --root DIR: as for the installer
set -eu
say() { printf 'uninstall: %s\n' "$*" >&2; }
# A path as install.sh has it: absolute, without `.` and `..`, from where this was called.
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

system=false purge=false prefix='' root='' given=''
while [ $# -gt 0 ]; do
  case "$1" in
    --system) system=true ;;
    --purge) purge=true ;;
    --prefix | --root)
      [ $# -ge 2 ] || { echo "uninstall: $1 names nothing" >&2; exit 2; }
      case "$1" in
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
case "$given" in
  *--prefix*) ;;
  *) if $system; then prefix=/usr/local; else prefix=$(absolute HOME "$HOME/.local") || exit; fi ;;
esac
manifest=$root$prefix/share/jetlag/installed
if [ ! -f "$manifest" ]; then
  say "nothing was installed to $root$prefix by install.sh ($manifest is missing); try --system or --prefix"
  exit 1
fi
if $system && [ -z "$root" ] && [ -d /run/systemd/system ]; then
  systemctl disable --now jetlag-monitor.service 2>/dev/null || true
fi
if $system; then
  # systemd lists the template alone, so what was enabled of it is found by its links.
  rm -f -- "$root"/etc/systemd/system/*.wants/jetlag-scenario@*.service \
    "$root"/etc/systemd/system/*.wants/jetlag-monitor.service
fi
while IFS= read -r file; do
  [ "$file" = /etc/default/jetlag ] && ! $purge && continue
  rm -f -- "$root$file"
done <"$manifest"
rm -f "$manifest"
# Our own folders, unless somebody put something there.
find "$root$prefix/share/jetlag" -depth -type d -exec rmdir {} \; 2>/dev/null || true
if $purge; then
  if $system; then
    rm -rf "$root/var/lib/jetlag" "$root/var/lib/private/jetlag" "$root/etc/default/jetlag"
    if [ -z "$root" ]; then
      userdel jetlag 2>/dev/null || true
      groupdel jetlag 2>/dev/null || true
    fi
  else
    rm -rf "$root${XDG_CACHE_HOME:-$HOME/.cache}/jetlag"
  fi
fi
if $system && [ -z "$root" ] && [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
echo "uninstall: done" >&2
