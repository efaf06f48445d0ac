#!/usr/bin/env python3
"""A PyTorch program to be traced: a network of torchvision's in half precision, batch 1, eager or as a CUDA graph.

    scripts/gpu/torch_peer.py resnet50 --iterations 400 [--graph] [--profiler cuda|all] [--profile-out FILE] [--seconds S]

Prints one JSON line: 10th percentile, median, p99 and mean of an iteration's milliseconds (host clock, synchronised after each), and with
--profiler what PyTorch's profiler saw: kernels by name with their counts and durations. Each iteration is an NVTX range `batch`.
"""

import argparse
import json
import statistics
import time

import torch
import torchvision


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network")
    parser.add_argument("--iterations", type=int, default=400)
    parser.add_argument("--warmup", type=int, default=50)
    parser.add_argument("--graph", action="store_true")
    parser.add_argument("--profiler", choices=["cuda", "all"])
    parser.add_argument("--profile-out")
    parser.add_argument("--nvtx", action="store_true", help="a range `batch` around each iteration")
    given = parser.parse_args()

    torch.manual_seed(1)
    network = getattr(torchvision.models, given.network)(weights=None).eval().cuda().half()
    image = torch.randn(1, 3, 224, 224, device="cuda", dtype=torch.half)
    run = lambda: network(image)
    with torch.inference_mode():
        if given.graph:
            side = torch.cuda.Stream()
            with torch.cuda.stream(side):
                for _ in range(5):
                    run()
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                run()
            run = graph.replay
        for _ in range(given.warmup):
            run()
        torch.cuda.synchronize()
        times = []

        def iterate():
            for _ in range(given.iterations):
                if given.nvtx:
                    torch.cuda.nvtx.range_push("batch")
                began = time.perf_counter()
                run()
                torch.cuda.synchronize()
                times.append(1e3 * (time.perf_counter() - began))
                if given.nvtx:
                    torch.cuda.nvtx.range_pop()

        said = {}
        if given.profiler:
            from torch.profiler import ProfilerActivity, profile

            kinds = [ProfilerActivity.CUDA] + ([ProfilerActivity.CPU] if given.profiler == "all" else [])
            with profile(activities=kinds) as profiler:
                iterate()
            if given.profile_out:
                profiler.export_chrome_trace(given.profile_out)
            kernels = {}
            for event in profiler.profiler.kineto_results.events():
                if event.device_type() == torch.autograd.DeviceType.CUDA and event.duration_ns() > 0:
                    count, total = kernels.get(event.name(), (0, 0))
                    kernels[event.name()] = (count + 1, total + event.duration_ns())
            said = {"kernels": kernels}
        else:
            iterate()
    times.sort()
    print(
        json.dumps(
            {
                "network": given.network,
                "graph": given.graph,
                "profiler": given.profiler,
                "p10": times[len(times) // 10],
                "p50": statistics.median(times),
                "p99": times[int(0.99 * len(times))],
                "mean": statistics.fmean(times),
                **said,
            }
        )
    )


main()
