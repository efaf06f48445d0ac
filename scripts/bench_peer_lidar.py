#!/usr/bin/env python3
"""Pillar voxelisation beside its peers: NumPy, and the C++ of second.pytorch and mmdetection3d.

Makes the sweep of benches/voxelise.rs, checks that all agree on the number of pillars, and prints medians
in milliseconds. With --alternate N it runs `cargo bench --bench voxelise` between them N times and prints
ratios. Needs numpy; g++ for the C++ peer (left out where absent).
"""

import argparse
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import tempfile
import time

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
MIN = np.array([0.0, -39.68, -3.0], np.float32)
SIZE = np.array([0.16, 0.16, 4.0], np.float32)
GRID = np.array([432, 496, 1])
MAX_POINTS, MAX_PILLARS = 32, 12000


def sweep():
    beam, step = np.meshgrid(np.arange(64), np.arange(1875), indexing="ij")
    down = np.radians(2.0 - 26.8 * beam / 63.0)
    around = 2 * np.pi * step / 1875
    wall = 12.0 + 18.0 * np.abs(np.sin(around * 3.0)) + 20.0 * np.cos(around * 1.5) ** 2
    ground = np.where(down < 0.0, -1.73 / np.tan(down), np.inf)
    r = np.minimum(wall, ground)
    columns = [r * np.cos(around), r * np.sin(around), r * np.tan(down), np.full_like(r, 0.3)]
    return np.stack([c.ravel() for c in columns], 1).astype(np.float32)


def voxelise(points):
    """The same rules without a loop over points; dense [P, N, 4] as the C++ gives it."""
    cells = np.floor((points[:, :3] - MIN) / SIZE)
    inside = np.all((cells >= 0) & (cells < GRID), axis=1)
    points = points[inside]
    cells = cells[inside].astype(np.int32)
    flat = cells[:, 1] * GRID[0] + cells[:, 0]
    _, first, inverse = np.unique(flat, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(len(first))
    pillar = rank[inverse]
    if len(first) > MAX_PILLARS:
        end = np.sort(first)[MAX_PILLARS]
        points, pillar, cells = points[:end], pillar[:end], cells[:end]
    order = np.argsort(pillar, kind="stable")
    counts = np.bincount(pillar)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    slot = np.arange(len(order)) - np.repeat(starts, counts)
    keep = slot < MAX_POINTS
    order, slot = order[keep], slot[keep]
    voxels = np.zeros((len(counts), MAX_POINTS, 4), np.float32)
    voxels[pillar[order], slot] = points[order]
    centres = np.empty((len(counts), 2), np.int32)
    centres[pillar] = cells[:, :2]
    return voxels, centres, np.minimum(counts, MAX_POINTS)


def decorate(voxels, cells, counts):
    mask = (np.arange(MAX_POINTS)[None, :] < counts[:, None])[:, :, None]
    mean = voxels[:, :, :3].sum(1, keepdims=True) / counts[:, None, None].astype(np.float32)
    centre = (cells * SIZE[:2] + (MIN[:2] + SIZE[:2] / 2)).astype(np.float32)[:, None, :]
    parts = [voxels, voxels[:, :, :3] - mean, voxels[:, :, :2] - centre]
    return np.concatenate(parts, 2) * mask


def median_ms(work, runs):
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)


def numpy_peer(points, runs):
    pillars = len(voxelise(points)[0])
    return pillars, median_ms(lambda: voxelise(points), runs), median_ms(lambda: decorate(*voxelise(points)), runs)


def cpp_peer(binary, path, runs):
    fields = subprocess.run([binary, path, str(runs)], check=True, capture_output=True, text=True).stdout.split()
    return int(fields[0]), float(fields[1]), float(fields[2])


def ours(path):
    """Medians of divan's table, in ms: fastest | slowest | median | mean."""
    text = subprocess.run(
        ["cargo", "bench", "--bench", "voxelise"],
        cwd=HERE.parent, env={**os.environ, "JETLAG_BENCH_SWEEP": str(path)},
        check=True, capture_output=True, text=True,
    ).stdout
    scale = {"ns": 1e-6, "µs": 1e-3, "ms": 1.0, "s": 1e3}
    medians = {}
    for line in text.splitlines():
        name = re.search(r"points_to_\w+", line)
        if name:
            value, unit = line.split("│")[2].split()
            medians[name[0]] = float(value) * scale[unit]
    return medians["points_to_pillars"], medians["points_to_encoder_input"]


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--runs", type=int, default=20)
    arguments.add_argument("--alternate", type=int, default=0, metavar="N")
    arguments = arguments.parse_args()
    points = sweep()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "sweep.bin"
        points.tofile(path)
        binary = None
        if shutil.which("g++"):
            binary = str(pathlib.Path(folder) / "hard_voxelize")
            subprocess.run(["g++", "-O3", "-o", binary, HERE / "hard_voxelize.cpp"], check=True)
        else:
            print("g++ not found: without the C++ peer")
        for turn in range(max(arguments.alternate, 1)):
            results = {"numpy": numpy_peer(points, arguments.runs)}
            if binary:
                results["c++"] = cpp_peer(binary, path, arguments.runs * 10)
            if len({r[0] for r in results.values()}) != 1:
                raise SystemExit(f"the peers disagree on the number of pillars: {results}")
            base = ours(path) if arguments.alternate else None
            if base:
                print(f"{turn}: jetlag   pillars {base[0]:8.3f} ms            input {base[1]:8.3f} ms")
            for name, (pillars, voxel, both) in results.items():
                ratio = f"({voxel / base[0]:5.1f}x)  input {both:8.3f} ms ({both / base[1]:5.1f}x)" if base else f"input {both:8.3f} ms"
                print(f"{turn}: {name:8} pillars {voxel:8.3f} ms {ratio}   [{len(points)} points, {pillars} pillars]")


if __name__ == "__main__":
    main()
