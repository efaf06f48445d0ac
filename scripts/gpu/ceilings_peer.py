#!/usr/bin/env python3
"""Holds `jetlag ceilings --backend gpu` against PyTorch's products (cuBLAS) and copies on the same GPU.

    python3 scripts/gpu/ceilings_peer.py CEILINGS.json

Both take the fastest of rounds of at least 10 ms, over the same sizes of matrices with numbers of the same kind. Prints a table
with the ratio of each figure; exit code 1 if one is further off than 5 %.
"""

import json
import sys
import time

import torch

ROUND_MS = 10.0
EACH_S = 1.0


def fastest(work, count=1):
    """Units of work a second, in the shortest round."""
    best, rounds, began = 0.0, 0, time.monotonic()
    while True:
        begun, done = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begun.record()
        for _ in range(count):
            work()
        done.record()
        done.synchronize()
        took = begun.elapsed_time(done)
        if took < ROUND_MS:
            count = int(count * min(max(1.2 * ROUND_MS / max(took, 1e-6), 2), 16))
            continue
        rounds += 1
        best = max(best, count / (took / 1e3))
        if rounds >= 3 and time.monotonic() - began > EACH_S:
            return best


def numbers(kind, size):
    if kind == "int8":
        return torch.randint(-128, 128, (size, size), dtype=torch.int8, device="cuda")
    of = torch.float16 if kind == "fp16" else torch.float32
    drawn = torch.rand(size, size, device="cuda") * 0.5 + 0.5
    return (drawn * torch.sign(torch.rand(size, size, device="cuda") - 0.5)).to(of)


def product(kind):
    best = 0.0
    for size in (1024, 2048, 4096, 8192):
        a, b = numbers(kind, size), numbers(kind, size)
        # Row-major: b as its columns, which is the layout that integers need.
        b = b.t().contiguous().t()
        torch.backends.cuda.matmul.allow_tf32 = kind == "tf32"
        work = (lambda: torch._int_mm(a, b)) if kind == "int8" else (lambda: torch.matmul(a, b))
        best = max(best, fastest(work) * 2 * size**3)
    return best


def copies():
    block = 256 << 20
    one, other = (torch.empty(block, dtype=torch.uint8, device="cuda") for _ in range(2))
    # Not pinned memory of PyTorch's cache, which is the same: as large as jetlag's.
    small = 16 << 20
    host = torch.empty(small, dtype=torch.uint8).pin_memory()
    device = torch.empty(small, dtype=torch.uint8, device="cuda")
    return {
        "copy within memory": fastest(lambda: one.copy_(other)) * block * 2,
        "copy to the device": fastest(lambda: device.copy_(host, non_blocking=True)) * small,
        "copy to the host": fastest(lambda: host.copy_(device, non_blocking=True)) * small,
    }


def main():
    ours = json.load(open(sys.argv[1], encoding="utf-8"))
    peer = {kind: product(kind) for kind in ("fp32", "tf32", "fp16", "int8")} | copies()
    peer["memory"] = peer["copy within memory"]
    own = {peak["precision"]: peak["flops_per_s"] for peak in ours["peaks"]}
    own |= {rate["name"]: rate["bytes_per_s"] for rate in ours["bandwidths"] + ours["copies"]}
    print(torch.cuda.get_device_name(), "PyTorch", torch.__version__, "against", ours["source"])
    off = 0
    for name, theirs in peer.items():
        ratio = own[name] / theirs
        off += abs(ratio - 1) > 0.05
        print(f"{name:20} {own[name] / 1e12:9.3f} {theirs / 1e12:9.3f} T/s  {ratio:.3f}")
    return 1 if off else 0


if __name__ == "__main__":
    sys.exit(main())
