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
    """Plans that take 3 and 5 ms by the device's own clock: how far off each is reported (error of the p50, in µs and percent)."""
    print("case              3 ms plan   off                 5 ms plan   off                 queue p50  response p50 (3 ms)  unattributed")
    for case in ("three-Block", "three-Spin", "three-Yield", "graph-three", "loaded-Off-three", "loaded-On-three"):
        short, long = summary(case), summary(case.replace("three", "five"))
        if not (short and long):
            continue
        a, b = tenant(short, "camera"), tenant(long, "camera")
        p50 = lambda t: t["stages_ms"]["compute"]["p50"]
        off = lambda t, true: f"{(p50(t) - true) * 1e3:+6.1f} µs {(p50(t) / true - 1) * 100:+6.2f} %"
        parts = {part["part"]: part for part in a.get("waterfall", {}).get("parts", [])} if a.get("waterfall") else {}
        print(
            f"{case:16s}  {ms(p50(a))}      {off(a, 3.0)}   {ms(p50(b))}      {off(b, 5.0)}   "
            f"{ms(a['stages_ms']['queue']['p50'])}     {ms(a['response_ms']['p50'])}              "
            f"{ms(parts.get('unattributed', {}).get('mean_ms'))}"
        )
    for depth in (1, 2, 4):
        if run := summary(f"depth-{depth}"):
            t = tenant(run, "camera")
            print(f"depth {depth}: {t['throughput_fps']:.1f} frames/s, compute mean {ms(t['stages_ms']['compute']['mean'])} ms")
    for case in ("graph-three", "loaded-On-three"):
        if run := summary(case):
            print(f"{case}: findings {[f['code'] for f in run['run']['findings']]}")
    for case in ("slices", "mps"):
        if run := summary(case):
            print(f"{case}:", run["run"].get("processes"), [(t["name"], t["frames"]["completed"], t["slowdown"]) for t in run["tenants"]])
    if run := summary("three-Block"):
        print("own cost, null backend:", run["run"]["overhead_us"])


def ratio(slowdown, statistic):
    """A slowdown with its interval, as `1.25 (1.08–1.42)`."""
    if not slowdown or slowdown.get(statistic) is None:
        return "–"
    interval = (slowdown.get("ci95") or {}).get(statistic)
    return f"{slowdown[statistic]:.2f}" + (f" ({interval[0]:.2f}–{interval[1]:.2f})" if interval else "")


def ways(prefix):
    """Each run whose name begins so: its tenants together, and beside their time alone."""
    print(f"{'run':22s} {'tenant':10s} {'frames/s':>9s} {'p50 ms':>8s} {'p99 ms':>8s} {'miss':>6s}  slowdown of p50      of p99")
    for path in sorted(folder.glob(f"{prefix}-*.json")) + sorted(folder.glob(f"{prefix}.json")):
        if not (run := summary(path.stem)):
            continue
        for t in run["tenants"]:
            response = t["response_ms"]
            print(
                f"{path.stem:22s} {t['name']:10s} {t['throughput_fps']:9.1f} {ms(response['p50']):>8s} {ms(response['p99']):>8s} "
                f"{t['miss_rate']:6.3f}  {ratio(t['slowdown'], 'p50'):20s} {ratio(t['slowdown'], 'p99')}"
            )
        if processes := run["run"].get("processes"):
            print(f"{'':22s} {processes}")


def stages(prefix):
    """The median of each stage."""
    for path in sorted(folder.glob(f"{prefix}-*.json")):
        if run := summary(path.stem):
            for t in run["tenants"]:
                medians = {name: round(stage["p50"], 4) for name, stage in t["stages_ms"].items() if stage and stage["p50"] is not None}
                print(f"{path.stem:24s} {t['throughput_fps']:7.1f} frames/s  {medians}")


def submission():
    """What of *compute* is the host's launching, and what is found of it."""
    print(f"{'run':24s} {'tenant':16s} {'response':>9s} {'compute':>8s} {'submission':>10s} {'share p50':>10s} {'frames bound':>13s}  findings")
    for path in sorted(folder.glob("submission-*.json")):
        if not (run := summary(path.stem)):
            continue
        for t in run["tenants"]:
            took, own = t["submission_ms"] or {}, t["submitting"] or {}
            percent = lambda share: "–" if share is None else f"{share * 100:.1f} %"
            compute = t["stages_ms"].get("compute") or {}
            found = [f["code"] for f in run["run"]["findings"] if f.get("tenant") in (None, t["name"])]
            print(
                f"{path.stem:24s} {t['name']:16s} {ms(t['response_ms']['p50']):>9s} {ms(compute.get('p50')):>8s} "
                f"{ms(took.get('p50')):>10s} {percent((own.get('share') or {}).get('p50')):>10s} "
                f"{percent(own.get('bound_frames')):>13s}  {' '.join(found)}"
            )
        for f in run["run"]["findings"]:
            if f["code"] in ("host-bound", "compute-unclear"):
                print(f"  {f['message']}")


def stressors():
    run = summary("stressors")
    for row in run["interference"]["sensitivity"]:
        for point in row["points"]:
            print(
                f"{row['tenant']:10s} {row['resource']:14s} {point['level']:.1f}  p50 {ratio(point['slowdown'], 'p50'):20s} "
                f"p99 {ratio(point['slowdown'], 'p99')}"
            )
    print([finding["code"] for finding in run["run"]["findings"]])


def peers():
    """Rounds in turns; a ratio is formed within each round, and is above 1 where jetlag is ahead. Of time at depth 1, of frames
    at depth 2."""
    for first in sorted(folder.glob("peer-*-1.json")):
        network, ratios, medians = first.stem[len("peer-") : -2], [], []
        round = 1
        while peer := summary(f"peer-{network}-{round}"):
            one, two = (summary(f"ours-{network}-{round}-depth-{depth}") for depth in (1, 2))
            if not (one and two):
                break
            stages, two = tenant(one, "camera")["stages_ms"], tenant(two, "camera")
            took = lambda names: sum(stages[s]["p50"] for s in names if stages.get(s))
            device, prepare = took(("h2d", "queue", "compute", "d2h")), took(("acquire", "decode", "preprocess"))
            ratios.append(two["throughput_fps"] / peer["throughput_hz"])
            medians.append(peer["median_ms"] / device)
            print(
                f"{network} {round}: ours {two['throughput_fps']:.1f} frames/s at depth 2, h2d to d2h {device:.4f} ms at depth 1 "
                f"(prepare {prepare:.4f}); peer {peer['throughput_hz']:.1f}, {peer['median_ms']:.4f} ms"
            )
            round += 1
        if ratios:
            spread = lambda values: f"× {median(values):.3f} ({min(values):.3f}–{max(values):.3f})"
            print(f"{network}: throughput {spread(ratios)}, median {spread(medians)}, {len(ratios)} rounds")


def flight():
    """Frames in flight: completed, failed, what compute takes, response."""
    print("case                          completed  failed  h2d p50  compute p50  response p50  p99")
    for path in sorted(folder.glob("flight-*.json")):
        run = summary(path.stem)
        if not run:
            continue
        front = run["tenants"][0]
        failed = sum(t["frames"]["failed"] for t in run["tenants"])
        stages, response = front["stages_ms"], front["response_ms"]
        h2d = stages.get("h2d") or {}
        print(
            f"{path.stem:28s}  {front['frames']['completed']:9d}  {failed:6d}  {ms(h2d.get('p50'))}  "
            f"{ms(stages['compute']['p50']):>11s}  {ms(response['p50']):>12s}  {ms(response.get('p99'))}"
        )


def soak():
    lines = [line.split() for line in (folder / "soak.memory").read_text().splitlines()]
    # The last looks may find the process as it ends.
    lines = [line for line in lines if len(line) == 4]
    for i in range(0, len(lines), max(1, len(lines) // 8)):
        host, threads, files, device = lines[i]
        print(f"{i * 10 + 10:5d} s  host {int(host) / 1024:.1f} MiB  device {device} MiB  {threads} threads  {files} files")
    if run := summary("soak"):
        print([(t["name"], t["frames"]) for t in run["tenants"]])
        print(run["run"]["verdict"], [f["code"] for f in run["run"]["findings"]])


folder = Path(sys.argv[2])
tables = {"known": known, "ways": ways, "stages": stages, "stressors": stressors, "submission": submission, "peers": peers, "soak": soak, "flight": flight}
tables[sys.argv[1]](*sys.argv[3:])
