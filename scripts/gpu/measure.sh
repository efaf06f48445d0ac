#!/usr/bin/env bash
# Measures GPU tenants: makes a kit where Rust and a C++ compiler are, and runs it where a GPU is.
#
#   scripts/gpu/measure.sh kit FOLDER     here: binary (with ONNX Runtime), the double of TensorRT, plans of known duration
#   scripts/gpu/measure.sh activities    here: time and memory of the analysis of a million traced activities; no GPU is needed
#   FOLDER/measure.sh host                there: host work of a frame beside a bare C++ loop; device steps against the host's
#   FOLDER/measure.sh own                 there: jetlag's own cost of a frame, its lateness, the cost of a record; no GPU is needed
#   FOLDER/measure.sh tensorrt            there: kernels of known duration, overlap, processes time-sliced and under MPS
#   FOLDER/measure.sh flight              there: frames in flight: engines in one memory, captures, transfers, hardware queues
#   FOLDER/measure.sh gates               there, with two GPUs: `Exclusive` has a gate a GPU
#   FOLDER/measure.sh kernels [PART…]     there: what a trace says and costs, beside what is known and a bare logger (kernels.sh)
#   FOLDER/measure.sh soak SECONDS        there: memory of host and device, threads and files over a long run
# and with ONNX Runtime's library in FOLDER/ort, its Python package in FOLDER/python:
#   FOLDER/measure.sh two, four           there: real detectors under each way of sharing
#   FOLDER/measure.sh processes           there: the same in processes, time-sliced and under MPS
#   FOLDER/measure.sh preprocess          there: preparing frames on the host and on the device
#   FOLDER/measure.sh stressors           there: a detector beside each stressor
#   FOLDER/measure.sh submission          there: how much of compute is the host's launching: a detector alone and beside another,
#                                         and plans whose launches are slow, as they are and as a CUDA graph
#   FOLDER/measure.sh outputs             there: runs of the same frames on each backend; scripts/gpu/outputs.py compares them here
#   FOLDER/measure.sh peer                there: the same network from Python's onnxruntime, in turns
#   FOLDER/measure.sh several             there, with two GPUs: copies of a tenant on each
#
# Detectors are the demo's; with JETLAG_SHARED (the reference networks) at `kit`, YOLOX-nano, NanoDet and PointPillars (KITTI).
# The load is an untrained RetinaNet, made there with PyTorch.
# ROUNDS is how often jetlag and the peer take turns (3), EACH is the length of a phase in seconds (8), GPU the number of the device (0), FIELDS more fields of each detector's tenant
# (", preprocess: Gpu"), WAYS some ways of sharing. Nothing of the card's settings is changed.
# Prints short tables; everything else is in FOLDER/runs.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
each=${EACH:-8} gpu=${GPU:-0}

kit() {
  cd "$here/../.."
  mkdir -p "$1/engines"
  # What ships is what is measured.
  cargo build --profile dist --features onnxruntime,nvtx --bin jetlag
  cargo build --profile dist -p jetlag-inject
  cargo bench --profile dist --features onnxruntime,nvtx --bench gpu_frame --bench pipeline --bench record --no-run
  JETLAG_GPU_KIT=$(realpath "$1") cargo test --features full --test suite gpu::kit::make_the_kit -- --ignored --exact
  cp target/dist/jetlag target/dist/libjetlag_inject.so scripts/gpu/{measure.sh,kernels.sh,table.py,table_kernels.py,cupti_logger.cpp,ort_peer.py,torch_peer.py,retinanet.py} "$1/"
  newest() { ls -t "$@" | grep -v '\.d$' | head -n 1; }
  local bench
  for bench in gpu_frame pipeline record; do cp "$(newest target/dist/deps/$bench-*)" "$1/$bench"; done
  cp "$(newest target/debug/deps/suite-*)" "$1/gpu_tests"
  cp engines/*.{ron,onnx} "$1/engines/"
  if [ -n "${JETLAG_SHARED:-}" ]; then
    cp "$JETLAG_SHARED"/data/models/{yolox_nano,nanodet_m_416}/*.onnx "$1/engines/"
    cp "$JETLAG_SHARED"/data/models/pointpillars_kitti_car/{pfe,rpn_fp32}.onnx "$1/engines/"
    chmod u+w "$1"/engines/*
  fi
}

activities() {
  cd "$here/../.."
  CARGO_INCREMENTAL=0 cargo test --release --quiet -p jetlag-report --lib a_million_activities -- --include-ignored --nocapture --test-threads=1
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

scenario() { # NAME FIELDS TENANT…
  local name=$1 fields=$2
  shift 2
  { echo "Scenario(name: \"$name\", duration: \"${each}s\", warmup: \"1s\", telemetry: (interval: \"200ms\"), $fields tenants: ["; printf '%s,\n' "$@"; echo '])'; } >"$name.ron"
}

# A daemon of NVIDIA's Multi-Process Service for as long as this script runs.
mps() {
  local control
  control=$(command -v nvidia-cuda-mps-control || ls /usr/local/nvidia/bin/nvidia-cuda-mps-control)
  export CUDA_MPS_PIPE_DIRECTORY=$here/mps CUDA_MPS_LOG_DIRECTORY=$here/mps
  mkdir -p "$here/mps"
  "$control" -d
  trap "echo quit | $control >/dev/null" EXIT
}

# Of known duration, on TensorRT's double.
camera() { echo "Tenant(name: \"camera\", detector: \"camera.ron\", source: Synthetic(sensor: Camera, scenes: 1), record_detections: false, backend: TensorRt(plans: [\"$1\"]), gpu: $gpu, $2)"; }
lidar() { echo "Tenant(name: \"lidar\", detector: \"lidar.ron\", source: Synthetic(sensor: Lidar, scenes: 1), record_detections: false, backend: TensorRt(plans: [\"encoder.plan\", \"backbone.plan\"]), gpu: $gpu, $1)"; }

host() {
  JETLAG_GPU=1 JETLAG_CACHE=$here/cache ./gpu_tests to_the_bit || echo "device steps: not as the host's"
  ./gpu_frame --bench "$here"/tensorrt/libnvinfer.so.*
}

own() {
  local round
  for round in $(seq "${ROUNDS:-3}"); do
    # Two cores: at depth 2 a frame changes threads.
    taskset -c 2,3 ./pipeline --bench
    taskset -c 2 ./record --bench
  done
}

tensorrt() {
  export JETLAG_TENSORRT=$here/tensorrt
  local paced='arrival: Periodic(100), deadline: "10ms"' sync depth mode
  for sync in Block Spin Yield; do
    scenario "three-$sync" '' "$(camera camera.plan "$paced, sync: $sync")"
    scenario "five-$sync" '' "$(camera camera5.plan "$paced, sync: $sync")"
    run "three-$sync" "three-$sync.ron"
    run "five-$sync" "five-$sync.ron"
  done
  local load graph name
  load=$(camera traffic.plan 'arrival: Closed' | sed 's/"camera", det/"load", det/')
  for graph in Off On; do
    for name in three five; do
      local plan=camera.plan
      [ $name = five ] && plan=camera5.plan
      scenario "loaded-$graph-$name" '' "$(camera $plan "$paced, graph: $graph")" "$load"
      run "loaded-$graph-$name" "loaded-$graph-$name.ron"
      [ $graph = Off ] && continue
      scenario "graph-$name" '' "$(camera $plan "$paced, graph: On")"
      run "graph-$name" "graph-$name.ron"
    done
  done
  for depth in 1 2 4; do
    scenario "depth-$depth" '' "$(camera camera.plan "arrival: Closed, depth: $depth")"
    run "depth-$depth" "depth-$depth.ron"
  done
  local both=("$(camera camera.plan "$paced")" "$(lidar 'arrival: Periodic(50)')")
  scenario slices 'sharing: Processes, mps: Off, baseline: (alone: true),' "${both[@]}"
  run slices slices.ron
  scenario mps 'sharing: Processes, mps: Required, baseline: (alone: true),' "${both[@]}"
  (mps && run mps mps.ron)
  python3 table.py known runs
}

# On ONNX Runtime's CUDA provider: name, spec, sensor, fields.
detector() { echo "Tenant(name: \"$1\", detector: \"engines/$2.ron\", source: Synthetic(sensor: $3, scenes: 4), record_detections: false, backend: OnnxRuntime(provider: Cuda), gpu: $gpu${FIELDS:-}, $4)"; }

# The tenant to be protected, the one that fills the device, and two more. Their shares are what `Partition` gives them.
detectors() {
  export JETLAG_ONNXRUNTIME=$here/ort
  front=camera side=camera lidar=lidar
  local urgent='arrival: Periodic(150), deadline: "6.6ms", priority: 2'
  [ -e engines/yolox_nano.onnx ] && front=yolox_nano side=nanodet_m_416 lidar=pointpillars_kitti_car
  [ -e engines/retinanet.onnx ] || python3 retinanet.py engines/retinanet >retinanet.log 2>&1 || echo "no load: see retinanet.log"
  protected=$(detector front "$front" Camera "$urgent, share: 0.25")
  others=("$(detector load retinanet Camera 'arrival: Closed, depth: 2')")
  [ "$1" = 2 ] || others+=("$(detector side "$side" Camera 'arrival: Periodic(50)')" "$(detector lidar "$lidar" Lidar 'arrival: Periodic(10)')")
}

ways='Streams SingleStream Priority RoundRobin Exclusive Edf Partition'

two() {
  detectors 2
  local way
  for way in ${WAYS:-$ways}; do
    scenario "two-$way" "sharing: $way, baseline: (alone: true)," "$protected" "${others[@]}"
    run "two-$way" "two-$way.ron"
  done
  python3 table.py ways runs two
}

four() {
  detectors 4
  local way
  for way in ${WAYS:-$ways}; do
    scenario "four-$way" "sharing: $way, baseline: (alone: true)," "$protected" "${others[@]}"
    run "four-$way" "four-$way.ron"
  done
  python3 table.py ways runs four
}

processes() {
  local count
  for count in 2 4; do
    detectors $count
    scenario "slices-$count" 'sharing: Processes, mps: Off, baseline: (alone: true),' "$protected" "${others[@]}"
    run "slices-$count" "slices-$count.ron"
    scenario "mps-$count" 'sharing: Processes, mps: Required, baseline: (alone: true),' "$protected" "${others[@]}"
    (mps && run "mps-$count" "mps-$count.ron")
  done
  python3 table.py ways runs slices
  python3 table.py ways runs mps
}

stressors() {
  detectors 2
  local tenants=("$protected") resource level
  for resource in Compute Dram L2 HostToDevice HostCpu HostMemory; do
    for level in 0.5 1.0; do
      tenants+=("Tenant(name: \"$(tr '[:upper:].' '[:lower:]-' <<<"$resource-$level")\", backend: Stress(resource: $resource, level: $level), gpu: $gpu)")
    done
  done
  scenario stressors 'matrix: (sharing: [Streams]),' "${tenants[@]}"
  run stressors stressors.ron
  python3 table.py stressors runs
}

peer() {
  export JETLAG_ONNXRUNTIME=$here/ort
  local network round depth
  for network in ${NETWORKS:-camera yolox_nano nanodet_m_416}; do
    local file=engines/$network.onnx
    [ "$network" = nanodet_m_416 ] && file=engines/nanodet_m.onnx
    [ -e "$file" ] || continue
    # Of one frame at a time the time that it takes, of two how many there are: the peer has one.
    for depth in 1 2; do
      scenario "ours-$network-depth-$depth" '' "$(detector camera "$network" Camera "arrival: Closed, depth: $depth, sync: Spin")"
    done
    for round in $(seq "${ROUNDS:-3}"); do
      for depth in 1 2; do
        run "ours-$network-$round-depth-$depth" "ours-$network-depth-$depth.ron"
      done
      PYTHONPATH=$here/python python3 ort_peer.py "$file" --device "$gpu" --seconds "$each" --warmup 1 \
        >"runs/peer-$network-$round.json" 2>"runs/peer-$network-$round.log" || tail -n 3 "runs/peer-$network-$round.log"
    done
  done
  python3 table.py peers runs
}

preprocess() {
  detectors 4
  local where
  for where in Host Gpu; do
    scenario "preprocess-camera-$where" '' "$(detector camera "$front" Camera "arrival: Closed, depth: 2, preprocess: $where")"
    run "preprocess-camera-$where" "preprocess-camera-$where.ron"
    scenario "preprocess-lidar-$where" '' "$(detector lidar "$lidar" Lidar "arrival: Closed, depth: 2, preprocess: $where")"
    run "preprocess-lidar-$where" "preprocess-lidar-$where.ron"
  done
  python3 table.py stages runs preprocess
}

submission() {
  export JETLAG_ONNXRUNTIME=$here/ort JETLAG_TENSORRT=$here/tensorrt
  local front=camera side=camera graph
  [ -e engines/yolox_nano.onnx ] && front=yolox_nano side=nanodet_m_416
  local alone beside
  alone=$(detector "$front" "$front" Camera 'arrival: Periodic(100)')
  beside=$(detector "$side-2" "$side" Camera 'arrival: Periodic(60)')
  scenario submission-alone '' "$alone"
  scenario submission-beside '' "$alone" "$beside"
  run submission-alone submission-alone.ron
  run submission-beside submission-beside.ron
  # Of known kind: one kernel of 3 ms, and 300 small ones that the host launches slowly.
  scenario submission-kernel '' "$(camera camera.plan 'arrival: Periodic(50)')"
  run submission-kernel submission-kernel.ron
  for graph in Off On; do
    scenario "submission-launches-$graph" '' "$(camera launches.plan "arrival: Closed, graph: $graph")"
    run "submission-launches-$graph" "submission-launches-$graph.ron"
  done
  python3 table.py submission runs
}

outputs() {
  export JETLAG_ONNXRUNTIME=$here/ort
  local spec name network sensor where backend
  for spec in engines/*.ron; do
    name=$(basename "$spec" .ron)
    # Most specs come without their networks.
    for network in $(sed -n 's/.*network: "\([^"]*\)".*/\1/p' "$spec"); do
      [ -e "engines/$network" ] || continue 2
    done
    sensor=$(sed -n 's/^\(Camera\|Lidar\)(.*/\1/p' "$spec")
    for where in 'cpu:Cpu(threads: 2)' 'ort-cpu:OnnxRuntime(provider: Cpu)' 'ort-cuda:OnnxRuntime(provider: Cuda)' \
      'ort-cuda-gpu:OnnxRuntime(provider: Cuda), preprocess: Gpu'; do
      backend=${where#*:}
      echo "Scenario(seed: 11, duration: \"300s\", warmup: \"0s\", tenants: [Tenant(name: \"$name\", detector: \"$spec\", source:" \
        "Synthetic(sensor: $sensor, scenes: 40), arrival: Closed, frames: 40, backend: $backend)])" >outputs.ron
      run "outputs-$name-${where%%:*}" outputs.ron
    done
  done
}

# What the doubles hold a tenant with frames in flight to, on a real device: engines of many launches in one memory at depth 3,
# as they are and captured, with branches; each transfer; and a tenant beside five at depth 3 with few and with all hardware queues.
flight() {
  export JETLAG_TENSORRT=$here/tensorrt
  local graph way queues others=() number round
  for graph in Off On; do
    scenario "flight-shared-$graph" '' "$(lidar "arrival: Closed, depth: 3, context_memory: Shared, graph: $graph" |
      sed 's/encoder.plan/encoder-many.plan/; s/backbone.plan/backbone-many.plan/')"
    run "flight-shared-$graph" "flight-shared-$graph.ron"
  done
  for round in 1 2 3; do
    for way in Copy ZeroCopy Managed; do
      scenario flight-transfer '' "$(camera camera.plan "arrival: Periodic(100), depth: 2, transfer: $way")"
      run "flight-transfer-$way-$round" flight-transfer.ron
    done
  done
  for number in 1 2 3 4 5; do
    others+=("$(camera traffic.plan 'arrival: Closed, depth: 3' | sed "s/\"camera\", det/\"other-$number\", det/")")
  done
  scenario flight-queues 'sharing: Priority,' "$(camera launches.plan 'arrival: Periodic(50), priority: 2, graph: On')" "${others[@]}"
  for round in 1 2 3; do
    for queues in 1 8 32; do
      CUDA_DEVICE_MAX_CONNECTIONS=$queues run "flight-queues-$queues-$round" flight-queues.ron
    done
  done
  python3 table.py flight runs
}

several() {
  detectors 2
  scenario several 'sharing: Processes, baseline: (alone: true),' "$(sed "s/gpu: $gpu/gpus: [0, 1], processes: 2/" <<<"${others[0]}")"
  run several several.ron
  scenario several-in-one '' "$protected" "$(sed "s/gpu: $gpu/gpu: 1/" <<<"${others[0]}")"
  run several-in-one several-in-one.ron
  python3 table.py ways runs several
}

# Each device takes one frame at a time: on two of them nobody waits, on one each waits for the other.
gates() {
  export JETLAG_TENSORRT=$here/tensorrt
  local one other
  one=$(camera camera.plan 'arrival: Closed')
  other=$(sed 's/"camera", det/"other", det/' <<<"$one")
  scenario gates-one 'sharing: Exclusive, baseline: (alone: true),' "$one" "$other"
  run gates-one gates-one.ron
  scenario gates-two 'sharing: Exclusive, baseline: (alone: true),' "$one" "$(sed "s/gpu: $gpu/gpu: 1/" <<<"$other")"
  run gates-two gates-two.ron
  python3 table.py ways runs gates
}

soak() {
  export JETLAG_TENSORRT=$here/tensorrt
  scenario soak "" "$(camera camera.plan 'arrival: Periodic(200), depth: 2, graph: On')" "$(lidar 'arrival: Periodic(60), depth: 2')"
  mkdir -p runs
  rm -f runs/soak.mcap
  ${SOAK:-./jetlag} run soak.ron --quiet --format json --out runs/soak.mcap --set "duration=\"$1s\"" >runs/soak.json 2>runs/soak.log &
  local pid=$!
  while sleep 10 && [ -e "/proc/$pid/status" ]; do
    echo "$(awk '/VmRSS|Threads/ {print $2}' "/proc/$pid/status" | xargs) $(ls "/proc/$pid/fd" | wc -l)" \
      "$(nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits -i "$gpu")"
  done >runs/soak.memory
  wait $pid || tail -n 3 runs/soak.log
  python3 table.py soak runs
}

. "$here/kernels.sh"

command=$1
shift
[ "$command" = kit ] || cd "$here"
"$command" "$@"
