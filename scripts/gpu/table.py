#!/usr/bin/env python3
"""Short tables of what measure.sh left in a folder of summaries."""

import json
import sys
from pathlib import Path
from statistics import median


def summary(name):
    path = folder / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() and path.stat().st_size else None


def tenant(run, name):
    return next(t for t in run["tenants"] if t["name"] == name)


def ms(value):
    return "–" if value is None else f"{value:.4f}"


def known():
    """Two plans that differ by 2 ms: the difference has nothing of the double's own kernels in it."""
    print("case            3 ms plan   5 ms plan   difference  queue p50  response p50 (3 ms)  notice")
    for case in ("three-Block", "three-Spin", "three-Yield", "loaded-three"):
        short, long = summary(case), summary(case.replace("three", "five"))
        if not (short and long):
            continue
        a, b = tenant(short, "camera"), tenant(long, "camera")
        p50 = lambda t: t["stages_ms"]["compute"]["p50"]
        parts = {part["part"]: part for part in a.get("waterfall", {}).get("parts", [])} if a.get("waterfall") else {}
        print(
            f"{case:14s}  {ms(p50(a))}      {ms(p50(b))}      {ms(p50(b) - p50(a))}      "
            f"{ms(a['stages_ms']['queue']['p50'])}     {ms(a['response_ms']['p50'])}              "
            f"{ms(parts.get('notice', {}).get('mean_ms'))}"
        )
    for depth in (1, 2, 4):
        if run := summary(f"depth-{depth}"):
            t = tenant(run, "camera")
            print(f"depth {depth}: {t['throughput_fps']:.1f} frames/s, compute mean {ms(t['stages_ms']['compute']['mean'])} ms")
    if run := summary("graph"):
        t = tenant(run, "camera")
        print(f"graph: compute p50 {ms(t['stages_ms']['compute']['p50'])}, findings {[f['code'] for f in run['run']['findings']]}")
    if run := summary("processes"):
        print("processes:", run["run"].get("processes"), [(t["name"], t["frames"]["completed"], t["slowdown"]) for t in run["tenants"]])
    if run := summary("three-Block"):
        print("own cost, null backend:", run["run"]["overhead_us"])


def detectors():
    if run := summary("two"):
        print(json.dumps(run.get("interference"))[:6000])
    for path in sorted(folder.glob("four-*.json")):
        if run := summary(path.stem):
            print(path.stem, [(t["name"], ms(t["response_ms"]["p50"]), ms(t["response_ms"]["p99"]), t["slowdown"]) for t in run["tenants"]])
    ours, theirs = [], []
    for round in (1, 2, 3):
        run, peer = summary(f"ort-{round}"), summary(f"peer-{round}")
        if run and peer:
            t = tenant(run, "camera")
            device = sum(t["stages_ms"][s]["p50"] for s in ("h2d", "queue", "compute", "d2h") if s in t["stages_ms"])
            ours.append((t["throughput_fps"], device))
            theirs.append((peer["throughput_hz"], peer["median_ms"]))
            print(f"round {round}: ours {ours[-1][0]:.1f} frames/s, stages {device:.4f} ms; peer {theirs[-1][0]:.1f}, {theirs[-1][1]:.4f} ms")
    if ours:
        print("throughput ratio, median:", f"{median(o[0] / t[0] for o, t in zip(ours, theirs)):.3f}")


def soak():
    lines = [line.split() for line in (folder / "soak.memory").read_text().splitlines()]
    for i in range(0, len(lines), max(1, len(lines) // 8)):
        print(f"{i * 10 + 10:5d} s  host {int(lines[i][0]) / 1024:.1f} MiB  device {lines[i][1]} MiB")
    if run := summary("soak"):
        print([(t["name"], t["frames"]) for t in run["tenants"]])


folder = Path(sys.argv[2])
{"known": known, "detectors": detectors, "soak": soak}[sys.argv[1]]()
