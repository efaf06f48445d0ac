#!/usr/bin/env python3
"""Postprocessing beside its peers: torchvision for a YOLO head, NumPy for CenterPoint's.

`cargo bench --bench heads` writes its outputs where JETLAG_BENCH_OUTPUTS says; the peers read them, must find as many
objects, and work on one thread. Prints medians in milliseconds and ratios, N times with --alternate N. Needs numpy, torch and
torchvision.
"""

import argparse
import os
import pathlib
import re
import statistics
import subprocess
import tempfile
import time

import numpy as np
import torch
import torchvision

HERE = pathlib.Path(__file__).resolve().parent


def median_ms(work, runs):
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)


def yolo(output):
    """`[1, 84, 8400]`: the best class of each candidate, threshold, corners, suppression within a class."""
    best, label = output[0, 4:].max(0)
    keep = best >= 0.25
    best, label, at = best[keep], label[keep], output[0, :4, keep]
    corners = torch.stack([at[0] - at[2] / 2, at[1] - at[3] / 2, at[0] + at[2] / 2, at[1] + at[3] / 2], 1)
    return len(torchvision.ops.batched_nms(corners, best, label, 0.45)[:300])


def centerpoint(maps):
    """Peaks of three by three, threshold, boxes and velocities, suppression by distance."""
    heat = 1 / (1 + np.exp(-maps["heatmap"][0]))
    padded = np.pad(heat, ((0, 0), (1, 1), (1, 1)), constant_values=-1)
    h, w = heat.shape[1:]
    around = np.max([padded[:, y : y + h, x : x + w] for y in range(3) for x in range(3)], 0)
    label, row, column = np.nonzero((heat == around) & (heat >= 0.3))
    score = heat[label, row, column]
    order = np.argsort(-score, kind="stable")[:1000]
    label, row, column, score = label[order], row[order], column[order], score[order]
    at = lambda name: maps[name][0][:, row, column]
    x = (column + at("reg")[0]) * 0.8 - 51.2
    y = (row + at("reg")[1]) * 0.8 - 51.2
    boxes = np.stack([x, y, at("height")[0], *np.exp(at("dim")), np.arctan2(*at("rot")), *at("vel")], 1)
    gone = np.zeros(len(order), bool)
    kept = []
    for i in range(len(order)):
        if not gone[i]:
            kept.append(i)
            gone |= (x - x[i]) ** 2 + (y - y[i]) ** 2 < 1.0
    return len(boxes[kept[:300]])


def ours(folder):
    """Medians of divan's table, in ms (fastest | slowest | median | mean), and how many each found."""
    text = subprocess.run(
        ["cargo", "bench", "--bench", "heads"],
        cwd=HERE.parent, env={**os.environ, "JETLAG_BENCH_OUTPUTS": str(folder)},
        check=True, capture_output=True, text=True,
    ).stdout
    scale = {"ns": 1e-6, "µs": 1e-3, "ms": 1.0, "s": 1e3}
    medians, group = {}, ""
    for line in text.splitlines():
        if name := re.match(r"[├╰]─ (\w+)", line):
            group = name[1]
        cells = line.split("│")
        cells = cells[1:] if line.startswith("│") else cells
        if len(cells) > 2 and len(cells[2].split()) == 2:
            value, unit = cells[2].split()
            name = group + (" Grid" if "Grid(" in line else "")
            medians[name] = float(value) * scale[unit]
    found = {path.stem: int(path.read_text()) for path in pathlib.Path(folder).glob("*.count")}
    return medians, found


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--runs", type=int, default=50)
    arguments.add_argument("--alternate", type=int, default=1, metavar="N")
    arguments = arguments.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(max(arguments.alternate, 1)):
            medians, found = ours(folder)
            read = lambda name, *dims: np.fromfile(pathlib.Path(folder) / f"{name}.f32", np.float32).reshape(1, *dims)
            output = torch.from_numpy(read("output0", 84, 8400))
            channels = {"heatmap": 10, "reg": 2, "height": 1, "dim": 3, "rot": 2, "vel": 2}
            maps = {name: read(name, count, 128, 128) for name, count in channels.items()}
            peers = {
                "yolo_of_8400_candidates": ("torchvision", lambda: yolo(output), "yolo"),
                "centerpoint_of_128_by_128_cells_and_10_classes": ("numpy", lambda: centerpoint(maps), "centerpoint"),
            }
            for name, median in medians.items():
                line = f"{turn}: {name:48} {median:7.3f} ms"
                if peer := peers.get(name.removesuffix(" Grid")):
                    if peer[1]() != found[peer[2]]:
                        raise SystemExit(f"{name}: {found[peer[2]]} objects here, {peer[1]()} with {peer[0]}")
                    theirs = median_ms(peer[1], arguments.runs)
                    line += f"   {peer[0]} {theirs:7.3f} ms ({theirs / median:.2f}x)   [{found[peer[2]]} objects]"
                print(line)


if __name__ == "__main__":
    main()
