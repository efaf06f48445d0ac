#!/usr/bin/env python3
"""The critical path of a traced program beside HolisticTraceAnalysis' (PyPI, with pandas below 3), frame by frame.

    jetlag trace -o app.mcap -- python3 scripts/gpu/torch_peer.py shufflenet_v2_x1_0 --iterations 20 --nvtx
    jetlag export app.mcap --format csv -o app && jetlag report app.mcap --critical-path --format json > app.json
    scripts/gpu/hta_peer.py app app.json

The same activities are written as a trace of PyTorch's profiler, which is what HolisticTraceAnalysis reads: each frame is a step of the
profiler and an operator that spans it, calls within other calls are left out as there. It counts in whole microseconds, so
nanoseconds are written in their place. Paths that jetlag finds tile the response time, so each frame's length is its response time.
"""

import csv
import json
import logging
import sys
import tempfile
import warnings
from collections import Counter, defaultdict
from pathlib import Path

warnings.filterwarnings("ignore")
from hta.trace_analysis import TraceAnalysis  # noqa: E402

logging.disable(logging.CRITICAL)
WORK = {"kernel": "kernel", "copy": "gpu_memcpy", "fill": "gpu_memset"}


def events(frames, activities):
    by_thread, work = defaultdict(list), []
    for row in activities:
        begin = int(row["from_ns"])
        took = int(row["duration_ns"])
        correlation = int(row["correlation"] or 0)
        if row["kind"] == "call":
            by_thread[int(row["thread"])].append((begin, -took, row["name"], correlation))
        elif row["kind"] in WORK:
            where = {"stream": int(row["stream"]), "device": 0, "context": 1, "correlation": correlation}
            name = row["name"] or row["kind"]
            work.append(dict(ph="X", cat=WORK[row["kind"]], name=name, pid=0, tid=int(row["stream"]), ts=begin, dur=took, args=where))
    # Steps first: it reads traces in their order.
    for number, (begin, end) in frames.items():
        inside = Counter(t for t, calls in by_thread.items() for c in calls if begin <= c[0] < end)
        thread = inside.most_common(1)[0][0]
        step = dict(ph="X", pid=1, tid=thread)
        yield step | dict(cat="user_annotation", name=f"ProfilerStep#{number}", ts=begin, dur=end - begin, args={"External id": 0})
        yield step | dict(cat="cpu_op", name="between calls", ts=begin + 1, dur=end - begin - 2, args={"External id": number + 1})
    for thread, calls in by_thread.items():
        until = 0
        for begin, took, name, correlation in sorted(calls):
            if begin < until:
                continue
            until = begin - took
            # It knows launches by the runtime's name.
            name = "cudaLaunchKernel" if "LaunchKernel" in name else name
            yield dict(ph="X", cat="cuda_runtime", name=name, pid=1, tid=thread, ts=begin, dur=max(-took, 1), args={"correlation": correlation})
    yield from work


def main():
    folder, report = Path(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text())
    activities = list(csv.DictReader((folder / "kernels.csv").open()))
    rows = [row for row in csv.DictReader((folder / "frames.csv").open()) if row["outcome"] == "completed"]
    # The first and the last are cut off at their ends.
    frames = {int(row["sequence"]): (int(row["started_ns"]), int(row["finished_ns"])) for row in rows}
    with tempfile.TemporaryDirectory() as there:
        trace = {"schemaVersion": 1, "distributedInfo": {"rank": 0}, "deviceProperties": [], "traceEvents": list(events(frames, activities))}
        Path(there, "rank0.json").write_text(json.dumps(trace))
        analysis = TraceAnalysis(trace_dir=there)
    longest, theirs, lengths = 0.0, Counter(), []
    for place, (number, (begin, end)) in enumerate(sorted(frames.items())[2:-1], 2):
        graph, _ = analysis.critical_path_analysis(rank=0, annotation="ProfilerStep", instance_id=place)
        parts = graph.get_critical_path_breakdown()
        length = float(parts["duration"].sum())
        theirs.update({str(name): float(ns) for name, ns in parts.groupby("s_name")["duration"].sum().items()})
        lengths.append(length)
        longest = max(longest, abs(length / (end - begin) - 1))
        print(f"frame {number}: {length / 1e6:.3f} ms, response {(end - begin) / 1e6:.3f} ms, {(length / (end - begin) - 1) * 100:+.2f} %")
    ours = Counter()
    for row in report["critical_path"][0]["tenants"][0]["steady"]["rows"]:
        ours["cudaLaunchKernel" if "LaunchKernel" in row["name"] else row["name"]] += row["share"]
    print(f"lengths at most {longest * 100:.2f} % apart; shares of the path, HolisticTraceAnalysis and jetlag:")
    for name, ns in theirs.most_common(6):
        print(f"  {name:40s} {ns / sum(lengths) * 100:5.1f} %  {ours[name] * 100:5.1f} %")


main()
