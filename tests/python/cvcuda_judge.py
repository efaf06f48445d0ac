"""Recomputes the GPU time of each traced frame of a run file by CV-CUDA's definition, and holds an export against it.

usage: cvcuda_judge.py RUN.mcap FOLDER-OF-THE-EXPORT

The span from the begin of the first kernel, copy, fill or graph that a frame's calls asked for to the end of the last, both in
milliseconds rounded to four decimals. What belongs to a frame is found from its calls alone, by correlation. Frames without calls
(a tracer that recorded none) are not judged.
"""

import collections
import json
import pathlib
import sys

from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory

WORK, CALL = (1, 2, 3, 4), 5
COPY, TO_DEVICE, FROM_DEVICE = 2, 1, 2


def main(run, folder):
    phases, frames, calls, works = [], [], {}, []
    with open(run, "rb") as file:
        reader = make_reader(file, decoder_factories=[DecoderFactory()])
        for schema, channel, _, m in reader.iter_decoded_messages(log_time_order=False):
            if schema.name.endswith("PhaseSpec") and m.traced:
                phases.append(m)
            elif schema.name.endswith("OtherFrame"):
                frames.append((channel.topic, m))
            elif channel.topic == "/jetlag/gpu/activity":
                for n, kind in enumerate(m.kind):
                    begin = m.base_ns + m.from_ns[n]
                    key = (m.process, m.correlation[n])
                    if kind == CALL and m.frame[n] >= 0:
                        calls[key] = (m.number, m.tenant[n], m.frame[n])
                    elif kind in WORK:
                        works.append((key, begin, begin + m.duration_ns[n]))
    phase = max(phases, key=lambda phase: len(phase.members))
    spans = collections.defaultdict(list)
    for key, begin, end in works:
        if key in calls:
            spans[calls[key]].append((begin, end))
    judged = 0
    index = collections.Counter()
    ms = lambda ns: round(ns / 1e6, 4)
    for topic, m in frames:
        if m.number != phase.number or m.warmup or m.outcome not in (0, 2):
            continue
        name = topic.split("/")[2]
        data = json.loads((pathlib.Path(folder) / name / "proc_0_gpu_0" / "benchmark.json").read_text())["data"]
        batch = data[name]["run_sample"]["pipeline"][f"batch_{index[name]}"]
        index[name] += 1
        span = spans.get((m.number, m.tenant, m.sequence))
        if not span:
            continue
        theirs = round(ms(max(end for _, end in span)) - ms(min(begin for begin, _ in span)), 4)
        ours = batch["gpu_time"]
        if abs(ours - theirs) > 1.5e-4:
            sys.exit(f"{name} batch {index[name] - 1}: {ours} ms, recomputed {theirs} ms")
        judged += 1
    if judged == 0:
        sys.exit("no traced frame has calls")
    print(f"{judged} frames' spans agree")


main(*sys.argv[1:])
