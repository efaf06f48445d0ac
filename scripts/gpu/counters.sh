#!/bin/sh
# Records what a GPU's counters say of networks, for `jetlag counters --from` and the tests: on a machine with a GPU, Nsight Compute,
# PyTorch and torchvision.
#
#   scripts/gpu/counters.sh OUT                     PyTorch's ResNet-50, fp16 at batch 8 and fp32 at batch 1
#   scripts/gpu/counters.sh OUT JETLAG NET.onnx…    also each network through `jetlag counters` (a jetlag with the features
#                                                   onnxruntime and nvtx), its work, and both beside each other
#
# OUT/*.csv are ncu's raw pages. `counters_peer.py --keep resnet50_fp16.csv LAYER…` leaves the columns that jetlag reads and the layers
# that are named: tests/counters/resnet50_part_h100.csv was made so.
set -eu
out=$1
shift
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$out"
metrics=$(python3 "$here/counters_peer.py" --metrics)
for of in "fp16 8" "fp32 1"; do
    set_of=${of% *}
    # shellcheck disable=SC2086
    ncu --nvtx --nvtx-include 'resnet50 3 submit/' --clock-control none --csv --page raw --print-units base \
        --metrics "$metrics" --log-file "$out/resnet50_$set_of.csv" python3 "$here/counters_peer.py" $of
done
[ $# -gt 0 ] || exit 0
jetlag=$1
shift
for network in "$@"; do
    name=$(basename "$network" .onnx)
    set -- "$network" --set 'tenants.0.backend=OnnxRuntime(provider: Cuda)'
    for caches in "" --keep-caches; do
        # shellcheck disable=SC2086
        "$jetlag" counters "$@" $caches --force -o "$out/$name${caches#--keep}.json" >"$out/$name${caches#--keep}.txt"
    done
    "$jetlag" run "$@" --duration 5s --force -q --out "$out/$name.mcap"
    "$jetlag" roofline "$out/$name.mcap" --counters "$out/$name-caches.json" >"$out/$name-roofline.txt"
done
