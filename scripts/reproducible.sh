#!/usr/bin/env bash
# Builds the shipped binary and its Debian package twice, from two copies of the committed source in folders of different names
# and lengths, and compares their hashes. Ends with 1 if they differ. Takes two clean builds.
#
#   scripts/reproducible.sh [arguments of scripts/cross.sh]
#
# What makes them equal: Cargo.lock, the Rust version, zig's pinned version, no path of the machine (cross.sh maps them
# away) and the last commit's time in the package. Another Rust or zig gives another hash.
set -euo pipefail
cd "$(dirname "$0")/.."
here=$PWD

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
hashes=()
for folder in "$work/a" "$work/another-place/with a blank"; do
  mkdir -p "$folder"
  git archive HEAD | tar -x -C "$folder"
  # The linker is a tool, and not what is compared.
  mkdir -p "$here/.venvs"
  ln -s "$here/.venvs" "$folder/.venvs"
  binary=$(cd "$folder" && CARGO_TARGET_DIR=$folder/target scripts/cross.sh "$@")
  package=$(cd "$folder" && CARGO_TARGET_DIR=$folder/target scripts/package_deb.sh "$binary" --out "$folder/out" \
    ${JETLAG_DOCUMENTS:+--documents "$JETLAG_DOCUMENTS"})
  hashes+=("$(sha256sum <"$binary") $(sha256sum <"$package")")
  rm -rf "$folder/target"
done
printf '%s\n' "${hashes[@]}"
if [ "${hashes[0]}" != "${hashes[1]}" ]; then
  echo "reproducible: two builds of one commit differ" >&2
  exit 1
fi
echo "reproducible: binary and package are the same"
