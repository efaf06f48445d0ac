"""Holds the CSV tables of a run against the run file, value by value.

usage: csv_judge.py RUN.mcap FOLDER
"""

import collections
import csv
import json
import os
import sys

import numpy
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory

STAGES = ["synchronise", "acquire", "decode", "preprocess", "h2d", "queue", "compute", "d2h", "postprocess"]
PHASES = ["together", "alone", "overhead"]
OUTCOMES = ["completed", "dropped", "failed", "unfinished"]


def table(folder, name):
    path = os.path.join(folder, name)
    with open(path, "rb") as file:
        raw = file.read()
    assert raw.endswith(b"\r\n"), f"{name}: lines end as RFC 4180 has it"
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file, strict=True))
    assert all(None not in row and None not in row.values() for row in rows), f"{name}: every row has every column"
    return rows


def main(run, folder):
    frames, telemetry, layers, ranges, detections = [], [], [], [], []
    with open(run, "rb") as file:
        reader = make_reader(file, decoder_factories=[DecoderFactory()])
        manifest = next(m for m in reader.iter_metadata() if m.name == "jetlag.manifest")
        listed = json.loads(manifest.metadata["manifest"])["tenants"]
        tenants = [t["name"] for t in listed]
        name = lambda n: "overhead" if n == 65535 else tenants[n]
        optional = lambda ns: "" if ns < 0 else str(ns)
        flag = lambda value: "true" if value else "false"
        for _, channel, _, m in reader.iter_decoded_messages():
            if channel.topic.endswith("/frame"):
                late = m.deadline_ns >= 0 and m.finished_ns - m.released_ns > m.deadline_ns
                missed = {0: late, 1: True, 2: m.deadline_ns >= 0, 3: late}[m.outcome]
                row = {
                    "tenant": name(m.tenant),
                    "phase": PHASES[m.phase],
                    "warmup": flag(m.warmup),
                    "outcome": OUTCOMES[m.outcome],
                    "sequence": str(m.sequence),
                    "source_index": "" if m.source_index == 2**64 - 1 else str(m.source_index),
                    "released_ns": str(m.released_ns),
                    "started_ns": str(m.started_ns),
                    "finished_ns": str(m.finished_ns),
                    "response_ns": str(m.finished_ns - m.released_ns),
                    "service_ns": str(m.finished_ns - m.started_ns),
                    "queueing_ns": str(m.started_ns - m.released_ns),
                    "lateness_ns": str(m.lateness_ns),
                    "deadline_ns": optional(m.deadline_ns),
                    "missed": flag(missed),
                    "detections": str(m.detections),
                    "input_size": str(m.input_size),
                    "captured_ns": optional(m.captured_ns),
                    "skew_ns": optional(m.skew_ns),
                    "batch_first": str(m.batch_first) if m.batch_items else "",
                    "batch_items": str(m.batch_items) if m.batch_items else "",
                    "camera": "" if m.camera == 255 else str(m.camera),
                    "age_ns": "" if m.captured_ns < 0 else str(m.finished_ns - m.captured_ns),
                }
                row.update({f"{stage}_ns": optional(getattr(m, f"{stage}_ns")) for stage in STAGES})
                frames.append(row)
            elif channel.topic.endswith("/detections"):
                classes = listed[m.tenant]["classes"]
                for rank, d in enumerate(m.detections):
                    image = [getattr(b, side) for b in d.image for side in ("x1", "y1", "x2", "y2")] or [None] * 4
                    space = [getattr(b, side) for b in d.space for side in ("x", "y", "z", "l", "w", "h", "yaw")] or [None] * 7
                    velocity = [m.velocities[rank].x, m.velocities[rank].y] if m.velocities else [None] * 2
                    velocity = [None if v is None or v != v else v for v in velocity]
                    known = classes[d.class_index] if d.class_index < len(classes) else ""
                    head = (name(m.tenant), m.sequence, m.source_index, m.at_ns, rank, d.class_index, known, d.score)
                    camera = [(m.cameras[rank] if m.cameras else 0) if d.image else None]
                    detections.append((*head, *image, *space, *velocity, *camera))
            elif channel.topic.endswith("/nodes"):
                layers.append((name(m.tenant), PHASES[m.phase], m.name, m.operator_name, m.count, m.mean_ns, m.max_ns))
            elif channel.topic.endswith("/ranges"):
                duration = m.to_ns - m.from_ns
                counts = optional(m.batch), optional(m.items)
                ranges.append((name(m.tenant), m.track, m.path, m.from_ns, m.to_ns, duration, *counts))
            elif channel.topic.startswith("/jetlag/telemetry/") and hasattr(m, "value"):
                value = m.value if m.value == m.value else None
                telemetry.append((m.at_ns, m.source, m.signal, m.unit, value))
    # Channel by channel the order is the file's; between channels of equal time a reader is free.
    same = lambda a, b: collections.Counter(a) == collections.Counter(b)
    key = lambda row: tuple(sorted(row.items()))
    got = table(folder, "frames.csv")
    assert same(map(key, got), map(key, frames)), "frames.csv"
    got = table(folder, "telemetry.csv")
    value = lambda text: float(text) if text else None
    rows = [(int(r["at_ns"]), r["source"], r["signal"], r["unit"], value(r["value"])) for r in got]
    assert same(rows, telemetry), "telemetry.csv"
    got = table(folder, "layers.csv")
    rows = [
        (r["tenant"], r["phase"], r["layer"], r["operator"], int(r["frames"]), int(r["mean_ns"]), int(r["max_ns"]))
        for r in got
    ]
    assert same(rows, layers), "layers.csv"
    rows = [
        (r["tenant"], *(int(r[c]) if c != "path" else r[c] for c in ("track", "path", "from_ns", "to_ns", "duration_ns")), r["batch"], r["items"])
        for r in table(folder, "ranges.csv")
    ]
    assert same(rows, ranges), "ranges.csv"
    single = lambda text: float(numpy.float32(text)) if text else None
    rows = [
        (
            r["tenant"], int(r["sequence"]), int(r["source_index"]), int(r["at_ns"]), int(r["rank"]),
            int(r["class_index"]), r["class"], *(single(text) for text in list(r.values())[7:]),
        )
        for r in table(folder, "detections.csv")
    ]
    assert same(rows, detections), "detections.csv"
    print(f"{len(frames)} frames, {len(telemetry)} readings and {len(layers)} layers agree")


main(*sys.argv[1:])
