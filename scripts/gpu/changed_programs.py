#!/usr/bin/env python3
"""Predictions of `--what-if` beside the change really made: three PyTorch programs, each without a part that it has.

    scripts/gpu/changed_programs.py [--jetlag ./jetlag] [--folder changed] [--runs 3] [--programs convolutions resnet encoder]
                                    [--record | --judge]

What a change really does the program says itself, untraced: it runs as it is and without a part in short turns, and the change is the
ratio of the medians of neighbouring turns. Predicted are the change by one trace alone, by one trace and untraced frames
(`jetlag trace --no-gpu`), and by all traces and untraced frames. A prediction holds if the 95 % interval of its change has the real
one. A minute or so a program. With `--record` only the GPU's part is done, and `--judge` does the rest later, on any machine.
"""

import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys
import time

# What is taken away from a program, in the words of `--what-if`.
PARTS = {"tail": 'layer "tail*" x0', "preprocess": "preprocess x0"}
WARMUP, TURN = 100, 60


def convolutions(torch):
    """Twelve convolutions, and six products as the tail."""
    kernels = [torch.randn(64, 64, 3, 3, device="cuda", dtype=torch.half) * 0.04 for _ in range(12)]
    square = torch.randn(4096, 4096, device="cuda", dtype=torch.half) / 64

    def body(image):
        for kernel in kernels:
            image = torch.nn.functional.conv2d(image, kernel, padding=1).relu()
        return image

    def tail(image):
        product = square
        for _ in range(6):
            product = product @ square
        return image.mean() + product[0, 0]

    return (8, 64, 112, 112), body, tail


def resnet(torch):
    """torchvision's ResNet-18; its last stage and its classifier are the tail."""
    import torchvision

    network = torchvision.models.resnet18(weights=None).eval().cuda().half()
    body = torch.nn.Sequential(*list(network.children())[:7])
    tail = torch.nn.Sequential(*list(network.children())[7:9], torch.nn.Flatten(), network.fc)
    return (16, 3, 224, 224), body, tail


def encoder(torch):
    """Six layers of a transformer; the last three are the tail."""
    layer = lambda: torch.nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True).eval().cuda().half()
    return (8, 256, 512), torch.nn.Sequential(*(layer() for _ in range(3))), torch.nn.Sequential(*(layer() for _ in range(3)))


def program(name, turns, iterations):
    """Runs one of them: traced, or in turns, which are printed."""
    import numpy
    import torch

    torch.manual_seed(1)
    push, pop = torch.cuda.nvtx.range_push, torch.cuda.nvtx.range_pop
    shape, body, tail = {"convolutions": convolutions, "resnet": resnet, "encoder": encoder}[name](torch)
    pixels = numpy.random.default_rng(1).integers(0, 255, 400_000, dtype=numpy.uint8)
    given = torch.randn(*shape, device="cuda", dtype=torch.half)

    def batch(without, of="batch"):
        push(of)
        if without != "preprocess":
            push("preprocess")
            (pixels.astype(numpy.float32) - 127.0) / 58.0
            pop()
        push("body")
        result = body(given)
        pop()
        if without != "tail":
            push("tail")
            tail(result)
            pop()
        torch.cuda.synchronize()
        pop()

    with torch.inference_mode():
        for _ in range(WARMUP):
            batch("nothing", "warm-up")
        if not turns:
            for _ in range(iterations):
                batch("nothing")
            return
        medians = {without: [] for without in ["nothing", *PARTS]}
        for turn in range(turns):
            # In one order and the other, against drift.
            for without in list(medians)[:: 1 if turn % 2 else -1]:
                times = []
                for _ in range(TURN):
                    began = time.perf_counter()
                    batch(without)
                    times.append(time.perf_counter() - began)
                medians[without].append(statistics.median(times[TURN // 6 :]))
        print(json.dumps(medians))


def really(medians, part):
    """The change of a part's turns against their neighbours, with twice its standard error."""
    logs = [math.log(without / whole) for without, whole in zip(medians[part], medians["nothing"])]
    mean, error = statistics.fmean(logs), 2 * statistics.stdev(logs) / math.sqrt(len(logs))
    return [math.expm1(mean + of) for of in (-error, 0, error)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jetlag", default="./jetlag")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("changed"))
    parser.add_argument("--runs", type=int, default=3, help="traces, and untraced runs, of each program")
    parser.add_argument("--turns", type=int, default=60)
    parser.add_argument("--iterations", type=int, default=800)
    parser.add_argument("--programs", nargs="+", default=["convolutions", "resnet", "encoder"])
    parts = parser.add_mutually_exclusive_group()
    parts.add_argument("--record", action="store_true", help="run all, and leave the predictions to --judge")
    parts.add_argument("--judge", action="store_true", help="take what is in the folder, and run nothing")
    parser.add_argument("--run", metavar="PROGRAM", help="be this program, traced")
    parser.add_argument("--in-turns", metavar="PROGRAM", help="be this program, in turns")
    asked = parser.parse_args()
    if asked.run or asked.in_turns:
        return program(asked.run or asked.in_turns, asked.turns if asked.in_turns else 0, asked.iterations)
    asked.folder.mkdir(exist_ok=True)

    def trace(name, file, *options):
        out = asked.folder / f"{file}.mcap"
        if not asked.judge:
            itself = [sys.executable, __file__, "--run", name, "--iterations", str(asked.iterations)]
            subprocess.run([asked.jetlag, "trace", *options, "--force", "-o", out, "--", *itself], check=True)
        return out

    def turns(name):
        out = asked.folder / f"{name}-turns.json"
        if not asked.judge:
            itself = [sys.executable, __file__, "--in-turns", name, "--turns", str(asked.turns)]
            out.write_bytes(subprocess.run(itself, check=True, stdout=subprocess.PIPE).stdout)
        return json.loads(out.read_text())

    def predicted(part, *runs):
        tenant = f"changed_programs.py: {PARTS[part]}"
        said = subprocess.run([asked.jetlag, "report", *runs, "--what-if", tenant, "--format", "json"], check=True, stdout=subprocess.PIPE)
        said = json.loads(said.stdout)
        # Of several runs a list: the change is the same in each.
        [of_it] = (said[0] if isinstance(said, list) else said)["what_if"]["tenants"]
        return of_it["response"]

    rows, held = [], 0
    for name in asked.programs:
        medians, traces, bases = turns(name), [], []
        for run in range(asked.runs):
            traces.append(trace(name, f"{name}-traced-{run}"))
            bases.append(trace(name, f"{name}-untraced-{run}", "--no-gpu"))
        if asked.record:
            continue
        ways = [(f"trace {n + 1} alone", [run]) for n, run in enumerate(traces)]
        ways += [(f"trace {n + 1}, untraced", [run, "--untraced", base]) for n, (run, base) in enumerate(zip(traces, bases))]
        ways += [("all traces, untraced", [*traces, "--untraced", bases[0]])]
        for part in PARTS:
            low, real, high = really(medians, part)
            for way, runs in ways:
                said = predicted(part, *runs)
                interval = said["change_ci95"]
                holds = interval is not None and interval[0] <= real <= interval[1]
                held += holds
                shown = "none" if interval is None else "{:+.1f} to {:+.1f}".format(*(100 * end for end in interval))
                rows.append(f"| {name} | {part} | {100 * real:+.1f} ({100 * low:+.1f} to {100 * high:+.1f}) | {way} | {100 * said['change']:+.1f} ({shown}) | {'yes' if holds else 'no'} |")
    if asked.record:
        return
    print("| program | without | really, % | predicted by | predicted, % | held |\n|---|---|---|---|---|---|")
    print("\n".join(rows))
    print(f"\nheld: {held} of {len(rows)}")


main()
