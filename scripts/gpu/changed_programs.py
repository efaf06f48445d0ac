#!/usr/bin/env python3
"""Predictions of `--what-if` beside the change really made: six PyTorch programs, each without a part that it has.

    scripts/gpu/changed_programs.py [--jetlag ./jetlag] [--folder changed] [--runs 3] [--programs recurrent unet detector]
                                    [--record | --judge]

The first three (convolutions, resnet, encoder) are those that the allowances of the intervals were made from; the others came later.

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


def norm(numpy, random):
    """What the first three programs prepare: 400 000 numbers, scaled. It is dropped."""
    pixels = random.integers(0, 255, 400_000, dtype=numpy.uint8)

    def prepare():
        (pixels.astype(numpy.float32) - 127.0) / 58.0

    return prepare


def spectra(numpy, random):
    """Log spectra of 600 windows of a signal, as before a network that hears."""
    windows = random.standard_normal((600, 400), dtype=numpy.float32)
    bell = numpy.hanning(400).astype(numpy.float32)

    def prepare():
        numpy.log1p(numpy.abs(numpy.fft.rfft(windows * bell)))

    return prepare


def equalized(numpy, random):
    """A picture whose brightness is spread by its histogram, as before a network that segments."""
    picture = random.integers(0, 255, (512, 640), dtype=numpy.uint8)

    def prepare():
        levels = numpy.bincount(picture.ravel(), minlength=256).cumsum()
        (levels * 255 // levels[-1]).astype(numpy.uint8)[picture]

    return prepare


def halved(numpy, random):
    """Every second pixel of a camera's frame, scaled and in planes, as before a detector."""
    frame = random.integers(0, 255, (640, 640, 3), dtype=numpy.uint8)
    mean, scale = numpy.float32([123.7, 116.3, 103.5]), numpy.float32([58.4, 57.1, 57.4])

    def prepare():
        numpy.ascontiguousarray(((frame[::2, ::2] - mean) / scale).transpose(2, 0, 1))

    return prepare


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

    return (8, 64, 112, 112), norm, body, tail, None


def resnet(torch):
    """torchvision's ResNet-18; its last stage and its classifier are the tail."""
    import torchvision

    network = torchvision.models.resnet18(weights=None).eval().cuda().half()
    body = torch.nn.Sequential(*list(network.children())[:7])
    tail = torch.nn.Sequential(*list(network.children())[7:9], torch.nn.Flatten(), network.fc)
    return (16, 3, 224, 224), norm, body, tail, None


def encoder(torch):
    """Six layers of a transformer; the last three are the tail."""
    layer = lambda: torch.nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True).eval().cuda().half()
    body, tail = (torch.nn.Sequential(*(layer() for _ in range(3))) for _ in range(2))
    return (8, 256, 512), norm, body, tail, None


def recurrent(torch):
    """An LSTM cell over 24 steps, launched one by one: many small kernels. The tail is a second one over every second step."""
    first, second = (torch.nn.LSTMCell(256, 256).eval().cuda().half() for _ in range(2))

    def over(cell, steps):
        hidden, states = None, []
        for step in steps:
            hidden = cell(step, hidden)
            states.append(hidden[0])
        return states

    return (24, 16, 256), spectra, lambda steps: over(first, steps), lambda states: over(second, states[::2]), None


def unet(torch):
    """A U-Net of three levels, which keeps the device busy; a second head of four convolutions at full size is the tail."""
    conv = lambda of, to: torch.nn.Conv2d(of, to, 3, padding=1).eval().cuda().half()
    twice = lambda of, to: torch.nn.Sequential(conv(of, to), torch.nn.ReLU(), conv(to, to), torch.nn.ReLU())
    down = [twice(3, 32), twice(32, 64), twice(64, 128)]
    up = [twice(128 + 64, 64), twice(64 + 32, 32)]
    tail = torch.nn.Sequential(twice(32, 64), twice(64, 64))

    def body(image):
        kept = []
        for level in down:
            image = level(image)
            kept.append(image)
            image = torch.nn.functional.max_pool2d(image, 2)
        image = kept.pop()
        for level, beside in zip(up, kept[::-1]):
            image = level(torch.cat([torch.nn.functional.interpolate(image, scale_factor=2), beside], 1))
        return image

    return (4, 3, 256, 256), equalized, body, tail, None


def detector(torch):
    """MobileNetV2 (separable convolutions) with boxes for 2 000 places, suppressed on the host; a second branch is the tail."""
    import torchvision

    network = torchvision.models.mobilenet_v2(weights=None).eval().cuda().half().features
    boxes = torch.nn.Conv2d(96, 5 * 5, 1).eval().cuda().half()
    tail = torch.nn.Sequential(*network[14:])

    def suppress(features):
        found = boxes(features).permute(0, 2, 3, 1).reshape(-1, 5).float().cpu().numpy()
        corners, left = found[:, :4], found[:, 4].argsort()[::-1][:200]
        kept = []
        while len(left) and len(kept) < 10:
            best, left = left[0], left[1:]
            kept.append(best)
            left = left[abs(corners[left] - corners[best]).sum(1) > 0.01]

    return (1, 3, 320, 320), halved, torch.nn.Sequential(*network[:14]), tail, suppress


PROGRAMS = {of.__name__: of for of in [convolutions, resnet, encoder, recurrent, unet, detector]}


def program(name, turns, iterations):
    """Runs one of them: traced, or in turns, which are printed."""
    import numpy
    import torch

    torch.manual_seed(1)
    push, pop = torch.cuda.nvtx.range_push, torch.cuda.nvtx.range_pop
    shape, prepared, body, tail, after = PROGRAMS[name](torch)
    prepare = prepared(numpy, numpy.random.default_rng(1))
    given = torch.randn(*shape, device="cuda", dtype=torch.half)

    def batch(without, of="batch"):
        push(of)
        if without != "preprocess":
            push("preprocess")
            prepare()
            pop()
        push("body")
        result = body(given)
        pop()
        if without != "tail":
            push("tail")
            tail(result)
            pop()
        if after:
            push("postprocess")
            after(result)
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
    parser.add_argument("--programs", nargs="+", default=list(PROGRAMS), choices=PROGRAMS)
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
