#!/usr/bin/env bash
# Measures GPU tenants: makes a kit where Rust and a C++ compiler are, and runs it where a GPU is.
#
#   scripts/gpu/measure.sh kit FOLDER     here: binary (with ONNX Runtime), the double of TensorRT, plans of known duration
#   FOLDER/measure.sh tensorrt            there: kernels of known duration, overlap, ways of sharing, processes
#   FOLDER/measure.sh onnxruntime         there, with ONNX Runtime's library in FOLDER/ort: real detectors, and the peer
#   FOLDER/measure.sh soak SECONDS        there: memory of host and device over a long run
#
# Nothing of the card's settings is changed. Prints short tables; everything else is in FOLDER/runs.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

kit() {
  cd "$here/../.."
  mkdir -p "$1"
  cargo build --release --features onnxruntime --bin jetlag
  JETLAG_GPU_KIT=$(realpath "$1") cargo test --test gpu kit::make_the_kit -- --ignored --exact
  cp target/release/jetlag scripts/gpu/{measure.sh,table.py,ort_peer.py} "$1/"
  mkdir -p "$1/engines"
  cp engines/*.{ron,onnx} "$1/engines/"
}

# run NAME SCENARIO [ARGUMENT…]: the summary goes to runs/NAME.json.
run() {
  local name=$1 scenario=$2
  shift 2
  mkdir -p runs
  rm -f "runs/$name.mcap"
  ./jetlag run "$scenario" --quiet --format json --out "runs/$name.mcap" "$@" >"runs/$name.json" 2>"runs/$name.log" ||
    [ $? = 3 ] || { echo "$name failed:"; tail -n 3 "runs/$name.log"; }
}

camera() { echo "Tenant(name: \"camera\", detector: \"camera.ron\", source: Synthetic(sensor: Camera, scenes: 1), record_detections: false, backend: TensorRt(plans: [\"$1\"]), $2)"; }
lidar() { echo "Tenant(name: \"lidar\", detector: \"lidar.ron\", source: Synthetic(sensor: Lidar, scenes: 1), record_detections: false, backend: TensorRt(plans: [\"encoder.plan\", \"backbone.plan\"]), $1)"; }
scenario() { # NAME FIELDS TENANT…
  local name=$1 fields=$2
  shift 2
  { echo "Scenario(warmup: \"1s\", telemetry: (interval: \"200ms\"), $fields tenants: ["; printf '%s,\n' "$@"; echo '])'; } >"$name.ron"
}

tensorrt() {
  export JETLAG_TENSORRT=$here/tensorrt
  local paced='arrival: Periodic(100), deadline: "10ms"' sync
  for sync in Block Spin Yield; do
    scenario "three-$sync" 'duration: "8s",' "$(camera camera.plan "$paced, sync: $sync")"
    scenario "five-$sync" 'duration: "8s",' "$(camera camera5.plan "$paced, sync: $sync")"
    run "three-$sync" "three-$sync.ron"
    run "five-$sync" "five-$sync.ron"
  done
  scenario loaded-three 'duration: "8s",' "$(camera camera.plan "$paced")" "$(camera traffic.plan 'arrival: Closed' | sed 's/"camera", det/"load", det/')"
  scenario loaded-five 'duration: "8s",' "$(camera camera5.plan "$paced")" "$(camera traffic.plan 'arrival: Closed' | sed 's/"camera", det/"load", det/')"
  run loaded-three loaded-three.ron
  run loaded-five loaded-five.ron
  for depth in 1 2 4; do
    scenario "depth-$depth" 'duration: "6s",' "$(camera camera.plan "arrival: Closed, depth: $depth")"
    run "depth-$depth" "depth-$depth.ron"
  done
  scenario graph 'duration: "6s",' "$(camera camera.plan "$paced, graph: On")"
  run graph graph.ron
  scenario processes 'duration: "6s", sharing: Processes, baseline: (alone: true),' "$(camera camera.plan "$paced")" "$(lidar 'arrival: Periodic(50)')"
  run processes processes.ron
  python3 table.py known runs
}

detector() { echo "Tenant(name: \"$1\", detector: \"engines/$2.ron\", source: Synthetic(sensor: $3, scenes: 4), record_detections: false, backend: OnnxRuntime(provider: Cuda), $4)"; }

onnxruntime() {
  export JETLAG_ONNXRUNTIME=$here/ort
  local ways='[Streams, SingleStream, Priority, RoundRobin, Exclusive, Edf, Partition]'
  scenario two "duration: \"${EACH:-5}s\", matrix: (sharing: $ways)," \
    "$(detector camera camera Camera 'arrival: Periodic(100), deadline: "10ms", priority: 2, share: 0.5')" \
    "$(detector lidar lidar Lidar 'arrival: Closed')"
  run two two.ron
  scenario four "duration: \"${EACH:-5}s\", matrix: (sharing: $ways)," \
    "$(detector camera camera Camera 'arrival: Periodic(100), deadline: "10ms", priority: 2, share: 0.4')" \
    "$(detector left camera Camera 'arrival: Closed')" "$(detector right camera Camera 'arrival: Closed')" \
    "$(detector lidar lidar Lidar 'arrival: Closed')"
  for way in Streams Priority Edf Partition; do
    scenario "four-$way" "duration: \"${EACH:-5}s\", sharing: $way, baseline: (alone: true)," "$(sed -n 2,5p four.ron | sed 's/,$//' | paste -sd, -)"
    run "four-$way" "four-$way.ron"
  done
  scenario ort 'duration: "8s",' "$(detector camera camera Camera 'arrival: Closed, depth: 2, sync: Spin')"
  for round in 1 2 3; do
    run "ort-$round" ort.ron
    python3 ort_peer.py engines/camera.onnx --seconds 8 --warmup 1 >"runs/peer-$round.json" 2>"runs/peer-$round.log" || tail -n 3 "runs/peer-$round.log"
  done
  python3 table.py detectors runs
}

soak() {
  export JETLAG_TENSORRT=$here/tensorrt
  scenario soak "duration: \"$1s\"," "$(camera camera.plan 'arrival: Periodic(200), depth: 2, graph: On')" "$(lidar 'arrival: Periodic(60), depth: 2')"
  mkdir -p runs
  (while sleep 10; do
    pid=$(pgrep -x jetlag | head -n 1) || break
    echo "$(awk '/VmRSS/ {print $2}' "/proc/$pid/status") $(nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits -i 0)"
  done >runs/soak.memory) &
  run soak soak.ron
  wait
  python3 table.py soak runs
}

command=$1
shift
[ "$command" = kit ] || cd "$here"
"$command" "$@"
