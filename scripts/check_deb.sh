#!/usr/bin/env bash
# Installs a Debian package of jetlag in a clean Debian tree, runs what is in it, and purges it: no file may be left that
# was not there before. An arm64 package runs under qemu's user emulation. Needs root (debootstrap, chroot), and changes
# nothing outside the tree, but registers qemu with the kernel (binfmt_misc) while it runs, where nobody has yet.
#
#   scripts/check_deb.sh PACKAGE.deb [--suite bookworm] [--tree DIR]
#
# --tree: a tree that debootstrap made before [default: made in target/trees and kept there]; it is copied, not changed
set -euo pipefail
cd "$(dirname "$0")/.."

suite=bookworm package='' tree=''
while [ $# -gt 0 ]; do
  case "$1" in
    --suite) suite=${2:-}; shift ;;
    --tree) tree=${2:-}; shift ;;
    -*) echo "usage: scripts/check_deb.sh PACKAGE.deb [--suite SUITE] [--tree DIR]" >&2; exit 2 ;;
    *) package=$1 ;;
  esac
  shift
done
fail() { echo "check_deb: $*" >&2; exit 1; }
step() { printf -- '-- %s (%d s)\n' "$1" "$SECONDS"; }
[ -f "$package" ] || fail "no package '$package'; scripts/package_deb.sh makes one"
[ "$(id -u)" = 0 ] || fail "needs root, for debootstrap and chroot"
arch=$(dpkg-deb -f "$package" Architecture)
for wanted in debootstrap chroot; do
  command -v "$wanted" >/dev/null || fail "$wanted is missing; install it (Debian: debootstrap)"
done

work=$(mktemp -d)
registered=false
clean_up() {
  umount -l "$work/tree/proc" 2>/dev/null || true
  $registered && echo -1 >/proc/sys/fs/binfmt_misc/qemu-aarch64
  rm -rf --one-file-system "$work"
}
trap clean_up EXIT

if [ "$arch" != "$(dpkg --print-architecture)" ]; then
  [ "$arch" = arm64 ] || fail "only arm64 packages are run under emulation, and this one is for $arch"
  [ -x /usr/bin/qemu-aarch64-static ] || fail "qemu-aarch64-static is missing; install it (Debian: qemu-user-static)"
  [ -f /proc/sys/fs/binfmt_misc/register ] || mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc
  if [ ! -f /proc/sys/fs/binfmt_misc/qemu-aarch64 ]; then
    # The F flag opens qemu now, so that the tree need not have it.
    cat /usr/lib/binfmt.d/qemu-aarch64.conf >/proc/sys/fs/binfmt_misc/register
    registered=true
  fi
fi

if [ -z "$tree" ]; then
  tree=target/trees/$suite-$arch
  if [ ! -f "$tree/made" ]; then
    step "a clean $suite for $arch"
    rm -rf "$tree"
    mkdir -p target/trees
    debootstrap --arch="$arch" --variant=minbase "$suite" "$tree" >"$work/debootstrap" ||
      { tail -n 20 "$work/debootstrap" >&2; fail "debootstrap failed"; }
    touch "$tree/made"
  fi
fi
cp -a --reflink=auto "$tree" "$work/tree"
tree=$work/tree
mount -t proc proc "$tree/proc"
inside() { chroot "$tree" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"; }
# What a package is accountable for: not dpkg's own books.
listing() {
  (cd "$tree" && find . -xdev \( -path ./proc -o -path ./tmp -o -path ./var/lib/dpkg -o -path ./var/log -o -path ./var/cache \
    -o -path './etc/*-' -o -path './etc/.pwd.lock' \) -prune -o -print | sort)
}
# As on every system that has enabled a unit.
mkdir -p "$tree/etc/systemd/system/multi-user.target.wants"
listing >"$work/before"
cp "$tree/etc/group" "$work/group"
cp "$tree/etc/passwd" "$work/passwd"

step "install"
cp "$package" "$tree/tmp/jetlag.deb"
inside dpkg -i /tmp/jetlag.deb >"$work/dpkg" 2>&1 || { cat "$work/dpkg" >&2; fail "dpkg -i failed"; }

inside getent passwd jetlag >/dev/null || fail "there is no user jetlag, which jetlag-scenario@ takes"

step "run"
inside jetlag --version
code=0
inside jetlag doctor >"$work/doctor" || code=$?
[ "$code" -le 1 ] || fail "jetlag doctor ended with $code"
code=0
# Emulation keeps no promise about time (a frame takes seconds): so two frames, however long they take, and a broken
# expectation (3) is no failure here.
inside jetlag run /usr/share/jetlag/configs/demo.ron --quiet --set warmup=0s --set duration=10min \
  --set tenants.camera.arrival=Closed --set tenants.camera.frames=2 \
  --set tenants.lidar.arrival=Closed --set tenants.lidar.frames=2 --out /tmp/demo.mcap >"$work/summary" || code=$?
[ "$code" = 0 ] || [ "$code" = 3 ] || { cat "$work/summary" >&2; fail "the demo ended with $code"; }
grep -q 'RESPONSE TIME' "$work/summary" || fail "the demo has no summary"

step "trace"
library=/usr/lib/jetlag/libjetlag_inject.so
[ -f "$tree$library" ] || fail "the package has no $library, which jetlag trace needs"
grep -q "$library" "$work/doctor" || fail "jetlag doctor does not find $library"
# Nothing is traced of a program without CUDA and NVTX, and without its library the command would not be run (125).
code=0
inside jetlag trace -o /tmp/traced.mcap -- /bin/sh -c 'test "$NVTX_INJECTION64_PATH" = '"$library"' && exit 7' 2>"$work/trace" || code=$?
[ "$code" = 7 ] || { cat "$work/trace" >&2; fail "jetlag trace of a command that exits with 7 ended with $code"; }

step "record, with rotation"
inside timeout --foreground -s TERM 12 env JETLAG_RECORD_EVERY=3s JETLAG_RECORD_KEEP_FREE_MIB=1 /usr/share/jetlag/jetson/record.sh \
  /var/lib/jetlag/monitor 2>"$work/record" || [ $? = 124 ] || { cat "$work/record" >&2; fail "record.sh failed"; }
recorded=("$tree"/var/lib/jetlag/monitor/board-*.mcap)
[ "${#recorded[@]}" -ge 2 ] || fail "record.sh left ${#recorded[@]} files, not several"
for file in "${recorded[@]}"; do
  inside jetlag report "${file#"$tree"}" --format json >/dev/null || fail "$file cannot be read"
done

step "man pages, completions, units"
for page in "$tree"/usr/share/man/man1/jetlag*.1.gz; do
  gzip -t "$page" || fail "$page is damaged"
done
[ -f "$tree/usr/share/man/man1/jetlag-run.1.gz" ] || fail "there is no page of jetlag run"
bash -n "$tree/usr/share/bash-completion/completions/jetlag"
if command -v systemd-analyze >/dev/null; then
  for unit in jetlag-monitor.service jetlag-scenario@.service; do
    # What the clean tree lacks of systemd's own is not ours to have.
    said=$(systemd-analyze verify --man=no --root="$tree" "/usr/lib/systemd/system/$unit" 2>&1 | grep "$unit" | grep -v 'Unit .* not found' || true)
    [ -z "$said" ] || fail "$unit: $said"
  done
fi

step "purge"
# What was enabled must not stay as a link into nothing.
ln -s '/usr/lib/systemd/system/jetlag-scenario@.service' \
  "$tree/etc/systemd/system/multi-user.target.wants/jetlag-scenario@demo.service"
inside dpkg --purge jetlag >"$work/dpkg" 2>&1 || { cat "$work/dpkg" >&2; fail "dpkg --purge failed"; }
listing >"$work/after"
diff "$work/before" "$work/after" >"$work/diff" || { cat "$work/diff" >&2; fail "purging left or took files"; }
cmp -s "$work/group" "$tree/etc/group" || fail "purging left the group"
cmp -s "$work/passwd" "$tree/etc/passwd" || fail "purging left the user"
step "done: $(basename "$package") installs, runs and purges in a clean $suite"
