#!/usr/bin/env python3
"""Over which window does a card average the power that NVML's fields give?

    scripts/gpu/power_window.py [--gpu 0] [--seconds 12] [--json FILE]

A load goes on and off with known edges, at several periods, while both power fields are polled as fast as the driver
answers. A refresh is where a value changes. Each refreshed value is set against the share of time that the load was on in a
window of length W that ended D before the refresh was seen; the W and D whose straight line leaves the least squares are what
the card does, with intervals from resampling whole periods of load (a block bootstrap, seeded). That is the method of
Yang, Adamek and Armour, "Part-time Power Measurements: nvidia-smi's Lack of Attention" (2024), without their meter: a
mean over a window is told from another by its shape, which needs no true watts.

Needs python3 with numpy and torch (CUDA). Changes no setting of the card.
"""
import argparse
import ctypes
import json
import multiprocessing
import time

import numpy as np

FIELDS = {"power_average": 185, "power_instant": 186}  # NVML_FI_DEV_POWER_AVERAGE, NVML_FI_DEV_POWER_INSTANT
PERIODS_MS = (37.0, 61.0, 90.0, 110.0, 143.0, 230.0, 370.0, 1730.0)  # none a multiple of a likely refresh


class FieldValue(ctypes.Structure):
    """nvmlFieldValue_t."""

    _fields_ = [
        ("field", ctypes.c_uint),
        ("scope", ctypes.c_uint),
        ("stamp_us", ctypes.c_longlong),
        ("latency_us", ctypes.c_longlong),
        ("kind", ctypes.c_int),
        ("result", ctypes.c_int),
        ("value", ctypes.c_ulonglong),
    ]


def load(gpu, period_ms, seconds, pipe):
    """Runs products of matrices half of each period; sends when each stretch began and ended (monotonic ns)."""
    import torch

    torch.cuda.set_device(gpu)
    a = torch.randn(4096, 4096, device="cuda", dtype=torch.float16)
    torch.matmul(a, a)
    torch.cuda.synchronize()
    for period in period_ms:
        pipe.recv()
        edges, begun = [], time.monotonic_ns()
        while True:
            start = begun + int(len(edges) * period * 1e6)
            while (now := time.monotonic_ns()) < start:
                time.sleep(max(0.0, (start - now) / 1e9 - 0.0005))
            if now - begun > seconds * 1e9:
                break
            until = start + int(period * 0.5e6)
            while time.monotonic_ns() < until:
                torch.matmul(a, a)
                torch.cuda.synchronize()
            edges.append((now, time.monotonic_ns()))
        pipe.send(edges)


def poll(nvml, device, done):
    """Both fields until `done()`: rows of (monotonic ns before, after, mW of each)."""
    values = (FieldValue * len(FIELDS))()
    rows = []
    while not done():
        for value, field in zip(values, FIELDS.values()):
            value.field = field
        before = time.monotonic_ns()
        code = nvml.nvmlDeviceGetFieldValues(device, len(FIELDS), values)
        after = time.monotonic_ns()
        if code or any(value.result for value in values):
            raise SystemExit(f"NVML answers {code}, {[value.result for value in values]}: this card or driver lacks the fields")
        rows.append((before, after, *(value.value & 0xFFFFFFFF for value in values)))
        time.sleep(0.0005)
    return np.array(rows, dtype=np.int64)


def busy_before(edges, at):
    """Nanoseconds for which the load was on before each moment of `at`."""
    starts, ends = edges[:, 0], edges[:, 1]
    whole = np.concatenate([[0], np.cumsum(ends - starts)])
    k = np.searchsorted(starts, at, side="right")
    last = np.clip(at - starts[np.maximum(k - 1, 0)], 0, (ends - starts)[np.maximum(k - 1, 0)])
    return np.where(k > 0, whole[np.maximum(k - 1, 0)] + last, 0)


def refreshes(rows, column):
    """Moments (between the two polls) and values where a field changed."""
    changed = np.flatnonzero(np.diff(rows[:, column])) + 1
    return (rows[changed, 0] + rows[changed - 1, 1]) // 2, rows[changed, column].astype(float)


def shares(parts, window_ms, delay_ms):
    out = []
    for edges, at, _ in parts:
        end = at - int(delay_ms * 1e6)
        out.append((busy_before(edges, end) - busy_before(edges, end - int(window_ms * 1e6))) / (window_ms * 1e6))
    return np.concatenate(out)


def left(x, y, weight):
    """Sum of squares that a straight line leaves, as a share of the whole."""
    total = weight.sum()
    mx, my = (weight * x).sum() / total, (weight * y).sum() / total
    sxx, syy = (weight * (x - mx) ** 2).sum(), (weight * (y - my) ** 2).sum()
    sxy = (weight * (x - mx) * (y - my)).sum()
    return 1.0 if sxx == 0 else 1.0 - sxy * sxy / (sxx * syy)


def fit(parts, rng):
    """Best window and delay in ms, the share of the variance they explain, and 95 % intervals."""
    y = np.concatenate([values for *_, values in parts])
    windows = np.unique(np.concatenate([np.arange(2, 130, 1.0), np.geomspace(130, 2000, 60).round(0)]))
    delays = np.arange(0, 160, 2.0)
    grid = [(w, d) for w in windows for d in delays]
    xs = np.stack([shares(parts, w, d) for w, d in grid])
    lost = np.array([left(x, y, np.ones_like(y)) for x in xs])
    # Resampled by second, so that neighbours that share a window stay together; near the best alone, for time's sake.
    near = np.argsort(lost)[:600]
    block = np.concatenate([at // 1_000_000_000 for _, at, _ in parts])
    names = np.unique(block)
    best = []
    for _ in range(400):
        counts = dict(zip(*np.unique(rng.choice(names, len(names)), return_counts=True)))
        weight = np.array([counts.get(b, 0) for b in block], dtype=float)
        best.append(grid[near[np.argmin([left(xs[i], y, weight) for i in near])]])
    low, high = np.percentile(np.array(best), [2.5, 97.5], axis=0)
    w, d = grid[int(np.argmin(lost))]
    return {
        "window_ms": w, "window_interval_ms": [low[0], high[0]],
        "delay_ms": d, "delay_interval_ms": [low[1], high[1]],
        "explained": 1.0 - float(lost.min()), "readings": int(len(y)),
    }


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--gpu", type=int, default=0)
    arguments.add_argument("--seconds", type=float, default=12.0, help="at each period of the load")
    arguments.add_argument("--json", help="every reading and every edge, for another analysis")
    options = arguments.parse_args()
    nvml = ctypes.CDLL("libnvidia-ml.so.1")
    device, name = ctypes.c_void_p(), ctypes.create_string_buffer(96)
    if nvml.nvmlInit_v2() or nvml.nvmlDeviceGetHandleByIndex_v2(options.gpu, ctypes.byref(device)):
        raise SystemExit(f"NVML gives no device {options.gpu}")
    nvml.nvmlDeviceGetName(device, name, 96)

    here, there = multiprocessing.get_context("spawn").Pipe()
    worker = multiprocessing.get_context("spawn").Process(
        target=load, args=(options.gpu, PERIODS_MS, options.seconds, there), daemon=True)
    worker.start()
    measured = []
    for period in PERIODS_MS:
        here.send("go")
        rows = poll(nvml, device, here.poll)
        measured.append((period, np.array(here.recv(), dtype=np.int64), rows))
    if options.json:
        with open(options.json, "w") as file:
            json.dump([{"period_ms": p, "edges": e.tolist(), "rows": r.tolist()} for p, e, r in measured], file)

    print(f"{name.value.decode()}: window over which a field averages, from {len(PERIODS_MS)} periods of load, {options.seconds:g} s each")
    print("| field | refresh | window | 95 % | delay | 95 % | explained | readings |\n|---|---|---|---|---|---|---|---|")
    for column, field in enumerate(FIELDS, start=2):
        parts, gaps = [], []
        for _, edges, rows in measured:
            at, values = refreshes(rows, column)
            gaps.extend(np.diff(at) / 1e6)
            # The longest window that is tried must lie within the load.
            inside = (at > edges[0, 0] + 2_200_000_000) & (at < edges[-1, 1])
            parts.append((edges, at[inside], values[inside]))
        f = fit(parts, np.random.default_rng(1))
        print(
            f"| {field} | {np.median(gaps):.0f} ms | {f['window_ms']:.0f} ms | {f['window_interval_ms'][0]:.0f}–{f['window_interval_ms'][1]:.0f} "
            f"| {f['delay_ms']:.0f} ms | {f['delay_interval_ms'][0]:.0f}–{f['delay_interval_ms'][1]:.0f} | {100 * f['explained']:.1f} % | {f['readings']} |")


if __name__ == "__main__":
    main()
