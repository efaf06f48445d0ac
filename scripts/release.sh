#!/usr/bin/env bash
# Everything that a release has, into a folder: for arm64 and amd64 the binary in a tar archive with scenarios, detectors,
# guides, man pages and the install script, a Debian package and a bill of materials (CycloneDX); the three crates; SHA256SUMS.
# Checks each as it goes; as root it also installs and purges both packages in clean Debian trees.
#
#   scripts/release.sh [--out DIR] [--tag vVERSION]
#
# --tag: must be the version in Cargo.toml, or nothing is built
set -euo pipefail
cd "$(dirname "$0")/.."

out=target/release-files tag=''
while [ $# -gt 0 ]; do
  case "$1" in
    --out) out=${2:-}; shift ;;
    --tag) tag=${2:-}; shift ;;
    *) echo "usage: scripts/release.sh [--out DIR] [--tag vVERSION]" >&2; exit 2 ;;
  esac
  shift
done
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
if [ -n "$tag" ] && [ "$tag" != "v$version" ]; then
  echo "release: the tag is $tag and Cargo.toml says $version; change one of them" >&2
  exit 1
fi
step() { printf '\n== %s (%d s)\n' "$1" "$SECONDS"; }
rm -rf "$out"
mkdir -p "$out"
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH

step "advisories on what is linked"
# Only where there is no network is this passed over; a database that is there and says no ends the release.
if cargo deny fetch db; then
  cargo deny check advisories
else
  echo "release: the advisory database cannot be had: NOT CHECKED; run cargo deny check advisories before you publish" >&2
fi

step "man pages and completions"
rm -rf target/documents
cargo run --quiet --release --locked --example documents -- target/documents

# What is shipped has the default features and `nvtx`, and is built last, in the place of the others. The budgets are 10, 16 and 20 MiB, and
# docs/shipping.md says why none is kept; these limits are what there is now, so that nothing grows unseen.
step "sizes of the other sets of features"
scripts/check_binary.sh --arch arm64 --most 16 "$(scripts/cross.sh --no-default-features --features trace)"
scripts/check_binary.sh --arch arm64 --most 27 "$(scripts/cross.sh --features full,nvtx)"

for arch in arm64 amd64; do
  step "$arch"
  binary=$(scripts/cross.sh --arch "$arch" --features nvtx)
  if [ "$arch" = arm64 ]; then scripts/check_binary.sh --arch arm64 --most 26 "$binary"; fi
  scripts/package_deb.sh "$binary" --documents target/documents --out "$out"
  name=jetlag-$version-$arch
  work=$(mktemp -d)
  mkdir -p "$work/$name/target"
  cp -r configs docs engines jetson README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE "$work/$name"
  cp "$binary" "$work/$name/jetlag"
  cp "$(dirname "$binary")/libjetlag_inject.so" "$work/$name/libjetlag_inject.so"
  cp -r target/documents "$work/$name/target"
  tar -c -z -f "$out/$name.tar.gz" -C "$work" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 \
    --numeric-owner --exclude=engines/cache "$name"
  rm -rf "$work"
  # install.sh takes it from beside the binary.
  tar -t -z -f "$out/$name.tar.gz" | grep -qx "$name/libjetlag_inject.so" ||
    { echo "release: $name.tar.gz has no libjetlag_inject.so, which jetlag trace needs" >&2; exit 1; }
  triple=$([ "$arch" = arm64 ] && echo aarch64 || echo x86_64)-unknown-linux-gnu
  scripts/sbom.py --target "$triple" --features nvtx >"$out/$name.cdx.json"
done

step "the aarch64 binary under emulation"
scripts/cross_check.sh --jetlag target/aarch64-unknown-linux-gnu/dist/jetlag --without-tests

step "crates"
cargo package --workspace --locked
cp target/package/*-"$version".crate "$out"

if [ "$(id -u)" = 0 ]; then
  for package in "$out"/*.deb; do
    step "$(basename "$package") in a clean tree"
    scripts/check_deb.sh "$package"
  done
else
  echo "release: the packages were not tried in clean trees, which takes root: sudo scripts/check_deb.sh PACKAGE" >&2
fi
(cd "$out" && sha256sum -- * >SHA256SUMS && cat SHA256SUMS)
