#!/usr/bin/env bash
# Holds a built jetlag against what is promised of it, by readelf alone: the architecture, that it is stripped, the
# newest glibc symbol that it needs, and that it needs no library but glibc's own (NVIDIA's are opened at run time).
# With --most, its size too. Says every broken promise, and ends with 1 if there is one.
#
#   scripts/check_binary.sh [--glibc 2.31] [--arch arm64|amd64] [--most MIB] BINARY
set -euo pipefail

glibc=2.31 arch='' most='' binary=''
while [ $# -gt 0 ]; do
  case "$1" in
    --glibc) glibc=${2:-}; shift ;;
    --arch) arch=${2:-}; shift ;;
    --most) most=${2:-}; shift ;;
    -*) echo "usage: scripts/check_binary.sh [--glibc VERSION] [--arch arm64|amd64] [--most MIB] BINARY" >&2; exit 2 ;;
    *) binary=$1 ;;
  esac
  shift
done
if [ ! -f "$binary" ]; then
  echo "check_binary: no file '$binary'; name a built jetlag" >&2
  exit 2
fi
command -v readelf >/dev/null || { echo "check_binary: readelf is not installed (Debian: binutils)" >&2; exit 2; }

broken=0
fail() { echo "check_binary: $binary: $*" >&2; broken=1; }

header=$(LC_ALL=C readelf -h "$binary" 2>/dev/null) || { fail "is no ELF file"; exit 1; }
machine=$(sed -n 's/^ *Machine: *//p' <<<"$header")
case "$arch" in
  arm64) [ "$machine" = AArch64 ] || fail "is for $machine, wanted AArch64" ;;
  amd64) [[ $machine = *X86-64 ]] || fail "is for $machine, wanted X86-64" ;;
esac

if LC_ALL=C readelf -SW "$binary" | grep -qE ' \.(symtab|debug_info) '; then
  fail "is not stripped"
fi

# All that glibc 2.31 itself consists of; a newer one is a part of these.
own='^(libc\.so\.6|libm\.so\.6|libdl\.so\.2|libpthread\.so\.0|librt\.so\.1|libgcc_s\.so\.1|ld-linux-(aarch64\.so\.1|x86-64\.so\.2))$'
needed=$(LC_ALL=C readelf -dW "$binary" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
foreign=$(grep -vE "$own" <<<"$needed" || true)
[ -z "$foreign" ] || fail "needs libraries beside glibc: ${foreign//$'\n'/ }"

versions=$(LC_ALL=C readelf -VW "$binary" | grep -oE 'GLIBC_[0-9.]+' | sed 's/GLIBC_//' | sort -Vu)
newest=$(tail -n 1 <<<"$versions")
if [ "$(printf '%s\n%s\n' "$newest" "$glibc" | sort -V | tail -n 1)" != "$glibc" ]; then
  fail "needs glibc $newest; promised is $glibc (was it linked with gcc? scripts/cross.sh --linker zig)"
fi

bytes=$(stat -c %s "$binary")
mib=$(awk -v b="$bytes" 'BEGIN { printf "%.2f", b / 1048576 }')
if [ -n "$most" ] && awk -v b="$bytes" -v m="$most" 'BEGIN { exit !(b > m * 1048576) }'; then
  fail "has $mib MiB, budget $most MiB"
fi

[ "$broken" = 0 ] || exit 1
echo "check_binary: $binary: $machine, stripped, $mib MiB, needs glibc $newest and ${needed//$'\n'/ }"
