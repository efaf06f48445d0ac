#!/usr/bin/env python3
"""Short tables of what `measure.sh kernels` left in a folder of summaries."""

import csv
import json
import re
import sys
from collections import defaultdict
from pathlib import Path
from statistics import median


def summary(name):
    path = folder / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() and path.stat().st_size else None


def known():
    """Spans of traced frames on the device, by the kernels' stamps, beside the plan's duration; and the untraced stage."""
    print("run                     true ms  frames  span p50 ms  off µs   off %   |off| p99 µs   untraced compute p50 ms")
    for way in ("known", "loaded"):
        for name, true in (("camera", 3.0), ("camera5", 5.0)):
            run = summary(f"traced-{way}-{name}")
            path = folder / f"traced-{way}-{name}.csv" / "kernels.csv"
            if not run or not path.exists():
                continue
            frames = defaultdict(list)
            for row in csv.DictReader(path.open()):
                if row["tenant"] == "camera" and row["kind"] == "kernel" and row["frame"] and row["name"].startswith("dbl_"):
                    begin = int(row["from_ns"])
                    frames[row["phase"], row["frame"]].append((begin, begin + int(row["duration_ns"])))
            spans = sorted((max(e for _, e in k) - min(b for b, _ in k)) / 1e6 for k in frames.values())
            off = sorted(abs(s - true) * 1e3 for s in spans)
            tenant = next(t for t in run["tenants"] if t["name"] == "camera")
            p50 = median(spans)
            print(
                f"traced-{way}-{name:8s}  {true:7.1f}  {len(spans):6d}  {p50:11.4f}  {(p50 - true) * 1e3:+6.1f}  {(p50 / true - 1) * 100:+6.2f}"
                f"  {off[int(0.99 * len(off))]:12.1f}   {tenant['stages_ms']['compute']['p50']:.4f}"
            )


def traced_p50(run):
    """Of the traced frames of a run, which are in no other figure."""
    figures = run["observer"]["phases"][0]["tenants"][0]["figures"]
    return next(figure for figure in figures if figure["figure"] == "response.p50")["traced"]


def spread(values):
    return f"{median(values):.3f} ({min(values):.3f}–{max(values):.3f})" if values else "–"


def observer():
    """Ratio of a traced frame's p50 to an untraced one's, formed within each round."""
    rounds = defaultdict(lambda: defaultdict(dict))
    for path in folder.glob("observer-*.json"):
        tenant, round, what = path.stem[len("observer-") :].split("-", 2)
        if run := summary(path.stem):
            p50 = run["tenants"][0]["response_ms"]["p50"]
            rounds[tenant][round][what] = traced_p50(run) if what == "jetlag" else p50
            if what == "jetlag":
                rounds[tenant][round]["jetlag, untraced phase"] = p50
    for tenant, by_round in sorted(rounds.items()):
        plain = [r["plain"] for r in by_round.values() if "plain" in r]
        print(f"{tenant}: untraced {spread(plain)} ms, {len(by_round)} rounds")
        for what in sorted({w for r in by_round.values() for w in r} - {"plain"}):
            ratios = [r[what] / r["plain"] for r in by_round.values() if what in r and "plain" in r]
            print(f"   {what:58s} × {spread(ratios)}")


def whatif():
    """Predicted and measured median response, in ms."""
    print("what       round  before    predicted  95 %                 after     off %   error of the change")
    for path in sorted(folder.glob("whatif-*-predicted.json")):
        _, what, round, _ = path.stem.split("-")
        before, after, said = summary(f"whatif-{what}-{round}"), summary(f"whatif-{what}-{round}-after"), summary(path.stem)
        if not (before and after and said):
            continue
        p50 = lambda run: run["tenants"][0]["response_ms"]["p50"]
        response = said["what_if"]["tenants"][0]["response"]
        expected = response["expected_ms"]
        if expected is None:
            print(f"{what:10s} {round}  {p50(before):8.4f}  withheld: {said['what_if']['assumptions'][-1]}")
            continue
        low, high = (p50(before) * (1 + c) for c in response["change_ci95"] or (float("nan"),) * 2)
        print(
            f"{what:10s} {round:5s}  {p50(before):8.4f}  {expected:9.4f}  {low:8.4f} to {high:8.4f}  {p50(after):8.4f}  {(expected / p50(after) - 1) * 100:+6.2f}"
            f"  {response['change'] * 100:+.1f} % predicted, {(p50(after) / p50(before) - 1) * 100:+.1f} % measured"
        )


def torch():
    """Ratios of an iteration's median and 10th percentile to those of the program by itself, within each round. What else the host
    does lengthens an iteration and never shortens it, so the lower one says more where the host is shared."""
    rounds = defaultdict(lambda: defaultdict(dict))
    for path in folder.glob("torch-*.json"):
        found = re.fullmatch(r"torch-(.+?)-(\d+)-(.+)", path.stem)
        lines = path.read_text().strip().splitlines()
        if found and lines:
            rounds[found[1]][found[2]][found[3]] = json.loads(lines[-1])
    for network, by_round in sorted(rounds.items()):
        alone = [r["plain"] for r in by_round.values() if "plain" in r]
        print(f"{network}: by itself {spread([r['p50'] for r in alone])} ms, p10 {spread([r['p10'] for r in alone])} ms")
        for what in sorted({w for r in by_round.values() for w in r} - {"plain"}):
            both = [(r[what], r["plain"]) for r in by_round.values() if what in r and "plain" in r]
            ratios = [[with_it[q] / without[q] for with_it, without in both] for q in ("p50", "p10")]
            print(f"   {what:58s} × {spread(ratios[0])}, p10 × {spread(ratios[1])}")


def plain(name):
    """A kernel's name without what two demanglers write in two ways: parameters, result, spaces."""
    name = name.removeprefix("void ").replace("(anonymous namespace)", "{anonymous}").replace("{anon}", "{anonymous}")
    depth, end = 0, len(name)
    for at, letter in enumerate(name):
        depth += {"<": 1, ">": -1}.get(letter, 0)
        if letter == "(" and depth == 0:
            end = at
            break
    return "".join(name[:end].split())


def same():
    """Kernels of the same program by both, by name."""
    theirs, ours = defaultdict(lambda: [0, 0]), defaultdict(lambda: [0, 0])
    for name, (count, total) in summary("same-profiler")["kernels"].items():
        if not name.startswith(("Memcpy", "Memset")):
            theirs[plain(name)][0] += count
            theirs[plain(name)][1] += total
    for row in csv.DictReader((folder / "same.csv" / "kernels.csv").open()):
        if row["kind"] == "kernel" and row["frame"]:
            ours[plain(row["name"])][0] += 1
            ours[plain(row["name"])][1] += int(row["duration_ns"])
    both = sorted(set(theirs) & set(ours), key=lambda name: -theirs[name][1])
    counts = sum(theirs[name][0] == ours[name][0] for name in both)
    off = sorted(abs(ours[n][1] / ours[n][0] / (theirs[n][1] / theirs[n][0]) - 1) * 100 for n in both)
    total = lambda of: (sum(c for c, _ in of.values()), sum(t for _, t in of.values()) / 1e6)
    print(f"kernels, ms in all: profiler {total(theirs)}, jetlag {total(ours)}")
    print(f"names: {len(both)} in both ({counts} with equal counts), only profiler {len(theirs) - len(both)}, only jetlag {len(ours) - len(both)}")
    if off:
        print(f"mean durations by name: median {median(off):.2f} % apart, worst {off[-1]:.2f} %")
    for name in sorted(set(theirs) ^ set(ours))[:6]:
        print("   only one:", "profiler" if name in theirs else "jetlag", (theirs.get(name) or ours.get(name)), name[:150])


folder = Path(sys.argv[2])
{"known": known, "observer": observer, "whatif": whatif, "torch": torch, "same": same}[sys.argv[1]]()
