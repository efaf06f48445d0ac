# What a trace says beside what is known, and what it costs beside a bare logger over CUPTI and PyTorch's profiler. Sourced by
# measure.sh, whose functions it uses: `FOLDER/measure.sh kernels [PART…]`, there, with g++, CUPTI's headers and PyTorch.
#   known      a kernel of known duration, alone and beside a load
#   observer   p50 of a frame untraced, traced by jetlag, and with the logger in jetlag's process, in turns
#   whatif     predictions beside the experiment: kernels halved, copies left out, the load removed, a CUDA graph
#   fields     buffers that the logger kept, for `cargo run -p cupti-dyn --example reread`
#   same       kernels of a PyTorch program by jetlag and by PyTorch's profiler: names, counts, durations
#   torch      a PyTorch program by itself, with the logger, in PyTorch's profiler, under `jetlag trace`
#   eager      the same of eager programs alone, many short rounds in an order drawn anew, for hosts that others use too
#   untouched  `compare --ab`: the measurement with `--trace` and without it

traced='trace: (duration: "4s"),'

logger() { # LIBRARY: compiled once
  local cuda=${CUDA_HOME:-/usr/local/cuda}
  [ -e liblogger.so ] || g++ -O2 -std=c++17 -shared -fPIC -I"$cuda/include" -I"$cuda/extras/CUPTI/include" -o liblogger.so \
    cupti_logger.cpp -L"$cuda/lib64" -L"$cuda/extras/CUPTI/lib64" -L"$cuda/targets/x86_64-linux/lib" -lcupti -lpthread
}

# What jetlag switches on, for the logger: with the same kinds it is the least that such a trace can cost.
same=kernels,copies,runtime,driver,sync,external

kernels() {
  export JETLAG_TENSORRT=$here/tensorrt
  [ ! -d ort ] || export JETLAG_ONNXRUNTIME=$here/ort
  LD_LIBRARY_PATH=${LD_LIBRARY_PATH:-}:${CUDA_HOME:-/usr/local/cuda}/targets/x86_64-linux/lib
  export LD_LIBRARY_PATH
  logger
  local part
  for part in ${*:-known observer whatif fields same torch untouched}; do "kernels_$part"; done
}

kernels_known() {
  local load name
  load=$(camera traffic.plan 'arrival: Closed' | sed 's/"camera", det/"load", det/')
  for name in camera camera5; do
    scenario "traced-known-$name" "$traced" "$(camera $name.plan 'arrival: Periodic(100)')"
    scenario "traced-loaded-$name" "$traced" "$(camera $name.plan 'arrival: Periodic(100)')" "$load"
    local way
    for way in known loaded; do
      run "traced-$way-$name" "traced-$way-$name.ron"
      rm -rf "runs/traced-$way-$name.csv"
      ./jetlag export "runs/traced-$way-$name.mcap" --format csv -o "runs/traced-$way-$name.csv" >/dev/null
    done
  done
  python3 table_kernels.py known runs
}

# One tenant, of each kind: a CUDA graph of many kernels, and networks of ONNX Runtime that launch theirs one by one.
kernels_observer() {
  local tenants=(graph whole) round tenant trace
  scenario observer-graph "$traced" "$(camera launches.plan 'arrival: Closed, graph: On')"
  scenario observer-whole 'trace: (duration: "4s", graphs: Whole),' "$(camera launches.plan 'arrival: Closed, graph: On')"
  if [ -d ort ]; then
    local network
    for network in camera yolox_nano nanodet_m_416; do
      [ -e "engines/$(sed -n 's/.*network: "\([^"]*\)".*/\1/p' "engines/$network.ron")" ] || continue
      scenario "observer-$network" "$traced" "$(detector "$network" "$network" Camera 'arrival: Closed')"
      tenants+=("$network")
    done
    if [ -e engines/rpn_fp32.onnx ]; then
      scenario observer-pointpillars "$traced" "$(detector pointpillars pointpillars_kitti_car Lidar 'arrival: Closed')"
      tenants+=(pointpillars)
    fi
  fi
  for round in $(seq "${ROUNDS:-3}"); do
    for tenant in "${tenants[@]}"; do
      run "observer-$tenant-$round-jetlag" "observer-$tenant.ron"
      sed 's/trace: ([^)]*),//' "observer-$tenant.ron" >observer-plain.ron
      run "observer-$tenant-$round-plain" observer-plain.ron
      local kinds
      for kinds in kernels,copies $same; do
        [ "$tenant" != whole ] || kinds=graphs,$kinds
        CUDA_INJECTION64_PATH=$here/liblogger.so LOGGER=$kinds LOGGER_OUT=$here/runs/observer-$tenant-$round-$kinds.log \
          run "observer-$tenant-$round-$kinds" observer-plain.ron
      done
    done
  done
  python3 table_kernels.py observer runs
}

# predict NAME CHANGE…: what jetlag says of the run NAME, to be set beside the run NAME-after.
predict() {
  local name=$1 changes=()
  shift
  local change
  for change in "$@"; do changes+=(--what-if "$change"); done
  ./jetlag report "runs/$name.mcap" "${changes[@]}" --format json >"runs/$name-predicted.json"
}

kernels_whatif() {
  local round load large
  load=$(camera traffic.plan 'arrival: Closed' | sed 's/"camera", det/"load", det/')
  large=$(camera large.plan 'arrival: Periodic(50)' | sed 's/camera.ron/large.ron/')
  scenario whatif-kernels "$traced" "$(camera kernels.plan 'arrival: Periodic(50)')"
  scenario whatif-kernels-after '' "$(camera kernels-half.plan 'arrival: Periodic(50)')"
  scenario whatif-copies "$traced" "$large"
  # The device reads the host's memory: nothing is copied, and everything else is as it was.
  scenario whatif-copies-after '' "${large/arrival/transfer: ZeroCopy, arrival}"
  scenario whatif-load "$traced" "$(camera kernels.plan 'arrival: Periodic(50)')" "$load"
  scenario whatif-load-after '' "$(camera kernels.plan 'arrival: Periodic(50)')"
  scenario whatif-graph "$traced" "$(camera launches.plan 'arrival: Closed')"
  scenario whatif-graph-after '' "$(camera launches.plan 'arrival: Closed, graph: On')"
  for round in $(seq "${ROUNDS:-3}"); do
    local what
    for what in kernels copies load graph; do
      run "whatif-$what-$round" "whatif-$what.ron"
      run "whatif-$what-$round-after" "whatif-$what-after.ron"
    done
    predict "whatif-kernels-$round" 'camera: kernel "dbl_spin*" x0.5'
    predict "whatif-copies-$round" 'camera: h2d x0' 'camera: d2h x0'
    predict "whatif-load-$round" 'without load'
    predict "whatif-graph-$round" 'camera: graph'
  done
  python3 table_kernels.py whatif runs
}

kernels_fields() {
  scenario fields '' "$(camera kernels.plan 'arrival: Periodic(50)')"
  sed 's/duration: "[0-9]*s"/duration: "1s"/; s/warmup: "1s"/warmup: "0s"/' fields.ron >fields-short.ron
  mkdir -p runs
  CUDA_INJECTION64_PATH=$here/liblogger.so LOGGER=$same LOGGER_OUT=$here/runs/fields LOGGER_DUMP=1 run fields-run fields-short.ron
  [ ! -e torch_peer.py ] || CUDA_INJECTION64_PATH=$here/liblogger.so LOGGER=$same LOGGER_OUT=$here/runs/fields-torch LOGGER_DUMP=1 \
    python3 torch_peer.py shufflenet_v2_x1_0 --iterations 20 --warmup 5 >/dev/null
  ls -l runs/fields*.raw
}

# The same kernels by PyTorch's profiler and by jetlag, of one eager network: counts and durations by name.
kernels_same() {
  local this=(python3 torch_peer.py shufflenet_v2_x1_0 --iterations 100)
  "${this[@]}" --profiler cuda >runs/same-profiler.json
  rm -rf runs/same.mcap runs/same.csv
  ./jetlag trace -o runs/same.mcap -- "${this[@]}" --nvtx >runs/same.json
  ./jetlag export runs/same.mcap --format csv -o runs/same.csv >runs/same.log
  python3 table_kernels.py same runs
}

kernels_torch() {
  local round network graph
  for round in ${LIST:-$(seq "${ROUNDS:-3}")}; do
    for network in resnet50 shufflenet_v2_x1_0; do
      for graph in '' --graph; do
        local name=torch-$network$graph-$round this=(python3 torch_peer.py "$network" $graph)
        "${this[@]}" >"runs/$name-plain.json"
        local kinds
        for kinds in kernels,copies "$same" ${graph:+graphs,$same}; do
          CUDA_INJECTION64_PATH=$here/liblogger.so LOGGER=$kinds LOGGER_OUT=$here/runs/$name-$kinds.log "${this[@]}" >"runs/$name-$kinds.json"
        done
        "${this[@]}" --profiler cuda >"runs/$name-profiler-cuda.json" 2>"runs/$name-profiler.log"
        "${this[@]}" --profiler all >"runs/$name-profiler-all.json" 2>>"runs/$name-profiler.log"
        if ./jetlag trace --help >/dev/null 2>&1; then
          local whole
          for whole in '' ${graph:+whole}; do
            rm -f "runs/$name-jetlag$whole.mcap"
            ./jetlag trace ${whole:+--graphs $whole} -o "runs/$name-jetlag$whole.mcap" -- "${this[@]}" --nvtx \
              >"runs/$name-jetlag$whole.json" 2>"runs/$name-jetlag$whole.err" || tail -n 3 "runs/$name-jetlag$whole.err"
          done
        fi
      done
    done
  done
  python3 table_kernels.py torch runs
}

# Where others use the host, one long round says nothing: an iteration takes half as long a minute later.
kernels_eager() {
  local round network way
  for round in $(seq "${ROUNDS:-6}"); do
    for network in resnet50 shufflenet_v2_x1_0; do
      for way in $(shuf -e ${WAYS:-plain jetlag profiler-cuda profiler-all "$same"}); do
        local name=torch-$network-$round-$way this=(python3 torch_peer.py "$network")
        case $way in
          plain) "${this[@]}" ;;
          jetlag) rm -f "runs/$name.mcap"; ./jetlag trace -o "runs/$name.mcap" -- "${this[@]}" --nvtx ;;
          profiler-*) "${this[@]}" --profiler "${way#profiler-}" ;;
          *) CUDA_INJECTION64_PATH=$here/liblogger.so LOGGER=$way LOGGER_OUT=$here/runs/$name.log "${this[@]}" ;;
        esac >"runs/$name.json" 2>"runs/$name.err" || tail -n 3 "runs/$name.err"
      done
    done
  done
  python3 table_kernels.py torch runs
}

# A network that the host feeds (a graph of many kernels), and one whose frame is a kernel of known duration: there runs differ least.
kernels_untouched() {
  local name
  scenario untouched-graph '' "$(camera launches.plan 'arrival: Closed, graph: On')"
  scenario untouched-known '' "$(camera camera.plan 'arrival: Closed')"
  for name in graph known; do
    sed 's/tenants:/trace: (duration: "1s"), tenants:/' "untouched-$name.ron" >"untouched-$name-traced.ron"
    rm -rf "runs/untouched-$name"
    ./jetlag compare --ab "untouched-$name.ron" "untouched-$name-traced.ron" --rounds "${AB:-6}" --quiet -o "runs/untouched-$name" | head -n 30 || true
  done
}
