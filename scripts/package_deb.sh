#!/usr/bin/env bash
# Makes a Debian package of a built jetlag, with plain dpkg-deb: nothing has to be installed for it, and a tree and a
# control file are all that there is to it. The architecture and the glibc that it depends on are read from the binary, so
# that they are never promised wrongly. Prints the package's path.
#
#   scripts/package_deb.sh BINARY [--documents DIR] [--out DIR]
#
# libjetlag_inject.so must lie beside BINARY, where scripts/cross.sh builds it.
# --documents: man pages and completions [default: made by examples/documents.rs in target/documents]
#
# Equal binaries give equal packages: times are those of the last commit (SOURCE_DATE_EPOCH overrides it), owners are root,
# and names are sorted.
set -euo pipefail
cd "$(dirname "$0")/.."

binary='' documents='' out=target/packages
while [ $# -gt 0 ]; do
  case "$1" in
    --documents) documents=${2:-}; shift ;;
    --out) out=${2:-}; shift ;;
    -*) echo "usage: scripts/package_deb.sh BINARY [--documents DIR] [--out DIR]" >&2; exit 2 ;;
    *) binary=$1 ;;
  esac
  shift
done
[ -f "$binary" ] || { echo "package_deb: no file '$binary'; name a jetlag that scripts/cross.sh built" >&2; exit 2; }
# What `jetlag trace` has loaded into other programs.
injection=$(dirname "$binary")/libjetlag_inject.so
[ -f "$injection" ] || { echo "package_deb: no libjetlag_inject.so beside $binary, without which 'jetlag trace' does nothing; scripts/cross.sh builds both" >&2; exit 1; }
for wanted in dpkg-deb readelf; do
  command -v "$wanted" >/dev/null || { echo "package_deb: $wanted is not installed (Debian: dpkg, binutils)" >&2; exit 1; }
done

if [ -z "$documents" ]; then
  documents=target/documents
  rm -rf "$documents"
  cargo run --quiet --release --locked --example documents -- "$documents" >&2
fi
case "$(LC_ALL=C readelf -h "$binary" | sed -n 's/^ *Machine: *//p')" in
  AArch64) arch=arm64 ;;
  *X86-64) arch=amd64 ;;
  *) echo "package_deb: $binary is neither for arm64 nor for amd64" >&2; exit 1 ;;
esac
glibc=$(LC_ALL=C readelf -VW "$binary" | grep -oE 'GLIBC_[0-9.]+' | sed 's/GLIBC_//' | sort -V | tail -n 1)
needs="libc6 (>= $glibc)"
LC_ALL=C readelf -dW "$binary" | grep -q 'NEEDED.*libgcc_s' && needs="$needs, libgcc-s1"
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y Cargo.lock)}
export SOURCE_DATE_EPOCH

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
chmod 755 "$tree"
put() { install -D -m "$1" "$2" "$tree$3"; }
filled() { sed 's|@BINDIR@|/usr/bin|g; s|@SHAREDIR@|/usr/share/jetlag|g' "$1"; }

put 755 "$binary" /usr/bin/jetlag
put 644 "$injection" /usr/lib/jetlag/libjetlag_inject.so
for file in configs/*.ron configs/*/*.ron engines/*.ron engines/*.onnx jetson/boards.ron jetson/scenarios/*.ron; do
  put 644 "$file" "/usr/share/jetlag/$file"
done
put 755 jetson/record.sh /usr/share/jetlag/jetson/record.sh
for unit in jetlag-monitor.service jetlag-scenario@.service; do
  filled "jetson/systemd/$unit" >"$tree/unit"
  put 644 "$tree/unit" "/usr/lib/systemd/system/$unit"
  rm "$tree/unit"
done
put 644 jetson/jetlag.sysusers /usr/lib/sysusers.d/jetlag.conf
put 644 jetson/60-jetlag.rules /usr/lib/udev/rules.d/60-jetlag.rules
put 644 jetson/default.env /etc/default/jetlag
for page in "$documents"/man/*.1; do
  put 644 "$page" "/usr/share/man/man1/$(basename "$page")"
done
put 644 "$documents/completions/jetlag.bash" /usr/share/bash-completion/completions/jetlag
put 644 "$documents/completions/_jetlag" /usr/share/zsh/vendor-completions/_jetlag
put 644 "$documents/completions/jetlag.fish" /usr/share/fish/vendor_completions.d/jetlag.fish
for file in README.md CHANGELOG.md docs/*.md; do
  put 644 "$file" "/usr/share/doc/jetlag/$(basename "$file")"
done
mv "$tree/usr/share/doc/jetlag/CHANGELOG.md" "$tree/usr/share/doc/jetlag/changelog"
gzip -9n "$tree"/usr/share/man/man1/*.1 "$tree/usr/share/doc/jetlag/changelog"
{
  printf 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: jetlag\n\n'
  printf 'Files: *\nCopyright: the jetlag authors\nLicense: MIT or Apache-2.0\n\nLicense: MIT\n'
  sed 's/^$/./; s/^/ /' LICENSE-MIT
  printf '\nLicense: Apache-2.0\n On Debian systems the text is in /usr/share/common-licenses/Apache-2.0.\n'
} >"$tree/copyright"
put 644 "$tree/copyright" /usr/share/doc/jetlag/copyright
rm "$tree/copyright"

mkdir "$tree/DEBIAN"
installed_kib=$(du -sk --apparent-size "$tree" | cut -f1)
cat >"$tree/DEBIAN/control" <<END
Package: jetlag
Version: $version
Architecture: $arch
Maintainer: the jetlag authors <jetlag@localhost>
Installed-Size: $installed_kib
Depends: $needs
Suggests: nvidia-jetpack, openssh-client
Section: science
Priority: optional
Description: concurrent-inference profiler for NVIDIA Jetson and desktop GPUs
 How late each of several detectors on one GPU is when they share it, why, and
 at how many watts. Runs detectors as concurrent tenants from a scenario file,
 samples power, clocks and temperatures beside them, and leaves one run file.
 .
 NVIDIA's libraries (CUDA driver, TensorRT 8.5 or later) are found at run time
 and not needed to install it.
END
echo /etc/default/jetlag >"$tree/DEBIAN/conffiles"
cat >"$tree/DEBIAN/postinst" <<'END'
#!/bin/sh
set -e
if [ "$1" = configure ]; then
  # The user of jetlag-scenario@, as in /usr/lib/sysusers.d/jetlag.conf; its group may read the processors' energy counters.
  if ! getent group jetlag >/dev/null && command -v groupadd >/dev/null; then groupadd --system jetlag; fi
  if ! getent passwd jetlag >/dev/null && command -v useradd >/dev/null; then
    useradd --system --gid jetlag --home-dir /var/lib/jetlag --no-create-home --shell /usr/sbin/nologin jetlag
  fi
  if [ -d /run/systemd/system ]; then systemctl daemon-reload || true; fi
fi
END
cat >"$tree/DEBIAN/prerm" <<'END'
#!/bin/sh
set -e
if [ "$1" = remove ]; then
  if [ -d /run/systemd/system ]; then systemctl disable --now jetlag-monitor.service 2>/dev/null || true; fi
  # systemd lists the template alone, so what was enabled of it is found by its links.
  rm -f /etc/systemd/system/*.wants/jetlag-scenario@*.service /etc/systemd/system/*.wants/jetlag-monitor.service
fi
END
cat >"$tree/DEBIAN/postrm" <<'END'
#!/bin/sh
set -e
if [ -d /run/systemd/system ]; then systemctl daemon-reload || true; fi
if [ "$1" = purge ]; then
  rm -rf /var/lib/jetlag /var/lib/private/jetlag
  if getent passwd jetlag >/dev/null && command -v userdel >/dev/null; then userdel jetlag 2>/dev/null || true; fi
  if getent group jetlag >/dev/null && command -v groupdel >/dev/null; then groupdel jetlag || true; fi
fi
END
chmod 755 "$tree"/DEBIAN/postinst "$tree"/DEBIAN/prerm "$tree"/DEBIAN/postrm
(cd "$tree" && find . -type f ! -path './DEBIAN/*' -printf '%P\0' | sort -z | xargs -0 md5sum >DEBIAN/md5sums)

mkdir -p "$out"
package=$out/jetlag_${version}_$arch.deb
# gzip and not zstd, which dpkg of Ubuntu 20.04 (JetPack 5) cannot read.
dpkg-deb --root-owner-group -Zgzip --build "$tree" "$package" >&2
echo "$package"
