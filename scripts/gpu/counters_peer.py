"""PyTorch's ResNet-50 with an NVTX range for each frame and layer, for `ncu`: see counters.sh.

counters_peer.py fp16|fp32 BATCH       four frames; ncu counts the last
counters_peer.py --metrics             the metrics that jetlag asks for, for ncu --metrics
counters_peer.py --keep FILE LAYER…    of a raw page the columns that jetlag reads and these layers (prefixes), to stdout
"""

import csv
import sys

THREAD = "smsp__sass_thread_inst_executed_op_"
TENSOR = "sm__inst_executed_pipe_tensor"
OPERATIONS = "sm__ops_path_tensor_src_"


def metrics():
    yield from ["gpu__time_duration.sum", "dram__bytes_read.sum", "dram__bytes_write.sum", "lts__t_bytes.sum", "l1tex__t_bytes.sum"]
    yield TENSOR + ".sum"
    yield from (f"{TENSOR}_op_{kind}.sum" for kind in ["hmma", "gmma", "imma", "dmma", "hmma_type_hfma2"])
    yield from (f"{THREAD}{letter}{op}_pred_on.sum" for letter in "fhd" for op in ["add", "mul", "fma"])
    types = ["fp16", "fp16_dst_fp16", "fp16_dst_fp32", "bf16_dst_fp32", "tf32_dst_fp32", "fp8", "int8", "fp64"]
    yield from (f"{OPERATIONS}{of}.sum" for of in types)


def keep(path, layers):
    lines = open(path, newline="").read().splitlines()
    begin = next(at for at, line in enumerate(lines) if line.startswith('"ID"'))
    rows = list(csv.reader(line for line in lines[begin:] if not line.startswith("==")))
    names = rows[0]
    wanted = set(metrics())
    columns = [at for at, name in enumerate(names) if at <= names.index("CC") or name in wanted]
    ranges = next(at for at, name in enumerate(names) if "Push/Pop_Range" in name)
    print("\n".join(line for line in lines[:begin] if line.startswith("==")))
    out = csv.writer(sys.stdout, quoting=csv.QUOTE_ALL, lineterminator="\n")
    for number, row in enumerate(rows):
        layer = row[ranges].rsplit("<default domain>:", 1)[-1].split(":none")[0]
        if number < 2 or any(layer.startswith(own) for own in layers):
            out.writerow([row[at] for at in columns])


def frames(element, batch):
    import torch
    import torchvision
    from torch.cuda import nvtx

    # Without this fp32 is computed as tf32.
    torch.backends.cudnn.allow_tf32 = False
    element = {"fp16": torch.float16, "fp32": torch.float32}[element]
    last = torch.channels_last
    network = torchvision.models.resnet50(weights=None).eval().cuda().to(element).to(memory_format=last)
    images = torch.randn(batch, 3, 224, 224, device="cuda", dtype=element).contiguous(memory_format=last)

    def begins(name):
        def begin(*_):
            nvtx.range_push(name)

        return begin

    def ends(*_):
        nvtx.range_pop()

    for name, layer in network.named_modules():
        if not list(layer.children()):
            layer.register_forward_pre_hook(begins(name))
            layer.register_forward_hook(ends)
    with torch.no_grad():
        for frame in range(4):
            nvtx.range_push(f"resnet50 {frame} submit")
            network(images)
            nvtx.range_pop()
            torch.cuda.synchronize()


if __name__ == "__main__":
    if sys.argv[1] == "--metrics":
        print(",".join(metrics()))
    elif sys.argv[1] == "--keep":
        keep(sys.argv[2], sys.argv[3:])
    else:
        frames(sys.argv[1], int(sys.argv[2]))
