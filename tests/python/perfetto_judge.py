"""Holds a Perfetto trace against the run file that it was made of, slice by slice.

usage: perfetto_judge.py RUN.mcap TRACE [TRACE-2 ...]

The trace is read twice. Once it is decoded with the protobuf classes of Perfetto's own Python package, and its slices
are put together as trace_processor does it: events sorted by time, begin and end matched track by track. Then, where
PERFETTO_UI names the folder of Perfetto's page and BROWSER a browser, trace_processor itself is asked in SQL
(trace_processor.py). Both must say what the run file says, which is read with mcap's package.
"""

import collections
import json
import os
import sys

from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

STAGES = ["synchronise", "acquire", "decode", "preprocess", "h2d", "queue", "compute", "d2h", "postprocess"]


def run_file(path):
    """Frames by tenant, and samples by signal."""
    frames, samples, ranges = (collections.defaultdict(list) for _ in range(3))
    with open(path, "rb") as file:
        reader = make_reader(file, decoder_factories=[DecoderFactory()])
        manifest = next(m for m in reader.iter_metadata() if m.name == "jetlag.manifest")
        tenants = json.loads(manifest.metadata["manifest"])["tenants"]
        for _, channel, _, message in reader.iter_decoded_messages():
            if channel.topic.endswith("/frame"):
                name = "overhead" if message.tenant == 65535 else tenants[message.tenant]["name"]
                frames[name].append(message)
            elif channel.topic.endswith("/ranges"):
                ranges[tenants[message.tenant]["name"], message.track].append(message)
            elif channel.topic.startswith("/jetlag/telemetry/") and hasattr(message, "value"):
                if message.value == message.value:
                    key = f"{message.source} {message.signal}", message.unit
                    samples[key].append((message.at_ns, message.value))
    return tenants, frames, samples, ranges


class Slices:
    """What one or several shards come to."""

    def __init__(self):
        self.slices = []  # (process, track, name, begin, duration, depth)
        self.instants = []  # (process, track, name, at)
        self.counters = collections.defaultdict(list)  # (name, unit): (at, value)
        self.flows = collections.Counter()  # (process, slice out, track out, slice in, track in)

    def of(self, process, track, depth):
        found = [s for s in self.slices if s[:2] == (process, track) and s[5] == depth]
        return collections.Counter((name, begin, duration) for _, _, name, begin, duration, _ in found)


class Decoded(Slices):
    """From the messages of the files."""

    def shard(self, path):
        trace = Trace()
        with open(path, "rb") as file:
            trace.ParseFromString(file.read())
        tracks, events = {}, []
        assert trace.packet[0].HasField("clock_snapshot"), "a trace opens with its clocks"
        for packet in trace.packet:
            if packet.HasField("track_descriptor"):
                track = packet.track_descriptor
                assert track.uuid not in tracks, f"track {track.uuid} is described twice"
                assert not track.parent_uuid or track.parent_uuid in tracks, "a parent comes before its child"
                tracks[track.uuid] = track
            elif packet.HasField("track_event"):
                assert packet.track_event.track_uuid in tracks, "a track is described before its first event"
                events.append((packet.timestamp, packet.track_event))
        open_slices, flows = collections.defaultdict(list), collections.defaultdict(list)
        for at, event in sorted(events, key=lambda e: e[0]):
            track = tracks[event.track_uuid]
            process = tracks[track.parent_uuid].name
            for flow in [*event.flow_ids, *event.terminating_flow_ids]:
                flows[flow].append((event.name, track.name))
                if flow in event.terminating_flow_ids:
                    steps = flows.pop(flow)
                    self.flows.update((process, *out, *into) for out, into in zip(steps, steps[1:]))
            if event.type == TrackEvent.TYPE_SLICE_BEGIN:
                open_slices[event.track_uuid].append((event.name, at))
            elif event.type == TrackEvent.TYPE_SLICE_END:
                name, begin = open_slices[event.track_uuid].pop()
                depth = len(open_slices[event.track_uuid])
                self.slices.append((process, track.name, name, begin, at - begin, depth))
            elif event.type == TrackEvent.TYPE_INSTANT:
                self.instants.append((process, track.name, event.name, at))
            else:
                assert track.HasField("counter"), "values are of counter tracks"
                self.counters[track.name, track.counter.unit_name].append((at, event.double_counter_value))
        assert not any(open_slices.values()), "every slice ends"
        assert not flows, "every flow ends"


class Asked(Slices):
    """From the tables of trace_processor."""

    TRACKS = """
        select slice.id, slice.name, ts, dur, depth, parent.name as process, track.name as track
        from slice join track on slice.track_id = track.id join track parent on track.parent_id = parent.id"""

    def shard(self, engine, path):
        engine.load(path)
        problems = [(row.name, row.value) for row in engine.query(
            "select name, value from stats where severity in ('error', 'data_loss') and value > 0")]
        assert not problems, f"trace_processor complains of {path}: {problems}"
        for row in engine.query(self.TRACKS):
            if row.track in ("released", "result"):
                assert row.dur == 0, row
                self.instants.append((row.process, row.track, row.name, row.ts))
            else:
                self.slices.append((row.process, row.track, row.name, row.ts, row.dur, row.depth))
        assert next(engine.query("select count(*) as n from slice")).n == next(
            engine.query(f"select count(*) as n from ({self.TRACKS})")
        ).n, "every slice is of a group"
        for row in engine.query(
            "select t.name, c.unit, ts, value from counter join counter_track c on track_id = c.id "
            "join track t on track_id = t.id join track parent on t.parent_id = parent.id where parent.name = 'telemetry'"
        ):
            self.counters[row.name, row.unit].append((row.ts, row.value))
        for row in engine.query(
            f"with s as ({self.TRACKS}) select o.process, o.name as out, o.track as out_track, i.name as into_, "
            "i.track as into_track from flow join s o on slice_out = o.id join s i on slice_in = i.id"
        ):
            self.flows[row.process, row.out, row.out_track, row.into_, row.into_track] += 1


OUTCOMES = ["completed", "dropped", "failed", "unfinished"]


def compare(trace, tenants, frames, samples, ranges):
    """Everything that the trace must hold, and nothing else; how many slices of work and of stages that was."""
    worked_on = stages = 0
    flows, instants = collections.Counter(), 0
    for tenant, all_frames in frames.items():
        worked = [f for f in all_frames if f.outcome in (0, 2)]
        worked_on += len(worked)
        expected = collections.Counter((f"frame {f.sequence}", f.started_ns, f.finished_ns - f.started_ns) for f in worked)
        assert trace.of(tenant, "work", 0) == expected, f"{tenant}: slices of work"
        nested = trace.of(tenant, "work", 1)
        for stage in STAGES:
            took = [getattr(f, f"{stage}_ns") for f in worked if getattr(f, f"{stage}_ns") >= 0]
            found = [(d, n) for (name, _, d), n in nested.items() if name == stage]
            stages += len(took)
            assert sum(n for _, n in found) == len(took), f"{tenant}: slices of {stage}"
            assert sum(d * n for d, n in found) == sum(took), f"{tenant}: time in {stage}"
        waited = [
            f.started_ns - f.released_ns if f.outcome in (0, 2) else f.finished_ns - f.released_ns for f in all_frames
        ]
        found = trace.of(tenant, "waiting", 0)
        assert sum(found.values()) == sum(1 for w in waited if w > 0), f"{tenant}: slices of waiting"
        assert sum(d * n for (_, _, d), n in found.items()) == sum(w for w in waited if w > 0), f"{tenant}: waiting"
        for track, stamp in [("released", "released_ns"), ("result", "finished_ns")]:
            found = collections.Counter(at for p, t, _, at in trace.instants if (p, t) == (tenant, track))
            assert found == collections.Counter(getattr(f, stamp) for f in all_frames), f"{tenant}: {track}"
        instants += 2 * len(all_frames)
        for f in all_frames:
            missed = f.outcome == 0 and 0 <= f.deadline_ns < f.finished_ns - f.released_ns
            name, result = f"frame {f.sequence}", ("missed" if missed else OUTCOMES[f.outcome], "result")
            if f.outcome in (0, 2):
                flows[tenant, name, "released", name, "work"] += 1
                flows[tenant, name, "work", *result] += 1
            else:
                flows[tenant, name, "released", *result] += 1
    assert trace.flows == flows, (trace.flows - flows, flows - trace.flows)
    assert len(trace.instants) == instants
    for tenant in tenants:
        on_gpu = tenant["backend"] not in ("cpu", "sim", "null", "application")
        found = trace.of("GPU", tenant["name"], 0)
        took = [
            (stage, getattr(f, f"{stage}_ns"))
            for f in frames[tenant["name"]]
            for stage in ("h2d", "compute", "d2h")
            if on_gpu and f.outcome in (0, 2) and getattr(f, f"{stage}_ns") >= 0
        ]
        expected = collections.Counter((name, d) for (name, _, d), n in found.items() for _ in range(n))
        assert expected == collections.Counter(took), f"{tenant['name']}: on the GPU"
    for (tenant, track), of_track in ranges.items():
        # A range lies as deep as its path is long, within the range that its path names.
        expected = collections.Counter(
            (r.path.split("/")[-1], r.from_ns, r.to_ns - r.from_ns, r.path.count("/")) for r in of_track
        )
        found = [s for s in trace.slices if s[:2] == (tenant, f"ranges {track}")]
        assert collections.Counter(s[2:] for s in found) == expected, f"{tenant}: ranges of track {track}"
    assert sum(1 for s in trace.slices if s[1].startswith("ranges ")) == sum(map(len, ranges.values()))
    for key, values in samples.items():
        assert sorted(trace.counters.pop(key)) == sorted(values), f"counter {key}"
    assert not trace.counters, f"counters of nothing: {list(trace.counters)}"
    return worked_on, stages


def main(run, *shards):
    tenants, frames, samples, ranges = run_file(run)
    decoded = Decoded()
    for shard in shards:
        decoded.shard(shard)
    worked_on, stages = compare(decoded, tenants, frames, samples, ranges)
    every = sum(map(len, frames.values()))
    print(f"{every} frames, {worked_on} slices of work and {stages} of stages agree, in {len(shards)} files")
    if "PERFETTO_UI" in os.environ:
        from trace_processor import Engine

        asked = Asked()
        with Engine(os.environ["BROWSER"], os.environ["PERFETTO_UI"]) as engine:
            for shard in shards:
                asked.shard(engine, shard)
        compare(asked, tenants, frames, samples, ranges)
        print(f"trace_processor agrees on {len(asked.slices)} slices and {sum(asked.flows.values())} flows")


main(*sys.argv[1:])
