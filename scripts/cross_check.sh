#!/usr/bin/env bash
# Runs an aarch64 jetlag here, under qemu's user emulation: version, doctor, the demo on the cpu backend (its run file
# read by the jetlag of this machine, if there is one), a tegrastats log; deploying it over ssh; then the tests of
# tegrastats-parser, tensorrt-dyn and cupti-dyn, built for aarch64 (of the latter two those without a C++ double).
# Emulation says that the code is right, and nothing about time.
#
#   scripts/cross_check.sh [--jetlag BINARY] [--without-deploy] [--without-tests]
#
# Without a binary it builds one with scripts/cross.sh. --without-deploy: for who runs tests/deploy.rs with JETLAG_AARCH64
# set to the binary. --without-tests: nothing that has to be built.
set -euo pipefail
cd "$(dirname "$0")/.."

binary='' deploy=true tests=true
while [ $# -gt 0 ]; do
  case "$1" in
    --jetlag) binary=${2:-}; shift ;;
    --without-deploy) deploy=false ;;
    --without-tests) deploy=false tests=false ;;
    *) echo "usage: scripts/cross_check.sh [--jetlag BINARY] [--without-deploy] [--without-tests]" >&2; exit 2 ;;
  esac
  shift
done
libraries=/usr/aarch64-linux-gnu # where Debian's libc6-arm64-cross puts glibc
for wanted in qemu-aarch64 "$libraries/lib/ld-linux-aarch64.so.1"; do
  if ! command -v "$wanted" >/dev/null; then
    echo "cross_check: $wanted is missing; run: scripts/setup.sh --test" >&2
    exit 1
  fi
done
[ -n "$binary" ] || binary=$(scripts/cross.sh)
emulated=(qemu-aarch64 -L "$libraries" "$binary")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
step() { printf -- '-- %s (%d s)\n' "$1" "$SECONDS"; }
fail() { echo "cross_check: $*" >&2; exit 1; }

step "version"
"${emulated[@]}" --version | tee "$folder/version"
grep -q '^jetlag [0-9]' "$folder/version" || fail "--version does not say the version"

step "doctor"
code=0
"${emulated[@]}" doctor --format json >"$folder/doctor.json" || code=$?
[ "$code" -le 1 ] || fail "doctor ended with $code"
grep -q '"subject": "CPU"' "$folder/doctor.json" || fail "doctor says nothing of the CPU"

step "the demo on the cpu backend"
# Emulation keeps no promise about time (a frame takes seconds): a number of frames, one after the other, however long they
# take; and a broken expectation (3) is no failure here.
sets=(--set warmup=0s --set duration=10min)
for tenant in camera lidar; do
  sets+=(--set "tenants.$tenant.backend=Cpu" --set "tenants.$tenant.arrival=Closed" --set "tenants.$tenant.frames=2")
done
code=0
"${emulated[@]}" run configs/demo.ron --quiet "${sets[@]}" --out "$folder/demo.mcap" >"$folder/summary" || code=$?
[ "$code" = 0 ] || [ "$code" = 3 ] || { cat "$folder/summary"; fail "the demo ended with $code"; }
reader=("${emulated[@]}")
for native in target/release/jetlag target/debug/jetlag; do
  if [ -x "$native" ]; then reader=("$native"); break; fi
done
"${reader[@]}" report "$folder/demo.mcap" --format json >"$folder/report.json" || [ $? = 3 ]
python3 - "$folder/report.json" <<'PYTHON'
import json, sys
tenants = json.load(open(sys.argv[1]))["tenants"]
assert [t["name"] for t in tenants] == ["camera", "lidar"], tenants
for t in tenants:
    assert t["frames"]["completed"] == 2 and t["detections"] > 0, t
    print(f"   {t['name']}: {t['frames']['completed']} frames, {t['detections']} detections")
PYTHON

step "a tegrastats log"
"${emulated[@]}" monitor --from-tegrastats tests/boards/tegrastats.log --format json >"$folder/lines"
lines=$(grep -c VDD_IN "$folder/lines") || fail "the log gave no rail"
[ "$lines" = "$(wc -l <tests/boards/tegrastats.log)" ] || fail "$lines readings of VDD_IN"

if ! $deploy; then
  :
elif [ -x /usr/sbin/sshd ]; then
  step "deploying it to a board on loopback"
  JETLAG_AARCH64=$binary cargo test --quiet "${JETLAG_PROFILE:---release}" --test suite -- an_aarch64_jetlag
else
  echo "   not deployed: no sshd (Debian: openssh-server)"
fi

$tests || exit 0
step "the tests of tegrastats-parser, tensorrt-dyn and cupti-dyn"
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64 -L $libraries"
scripts/cross.sh -- test --release -p tegrastats-parser --locked --lib --tests
# Not those over the C++ double, which would have to be compiled for aarch64, nor those over NVIDIA's libraries in .venvs,
# which are for x86-64.
scripts/cross.sh -- test --release -p tensorrt-dyn --locked --lib --test tables
scripts/cross.sh -- test --release -p cupti-dyn --locked --lib --test tables --test walker
