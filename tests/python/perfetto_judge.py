"""Holds a Perfetto trace against the run file that it was made of, slice by slice.

usage: perfetto_judge.py RUN.mcap TRACE [TRACE-2 ...]

The trace is decoded with the protobuf classes of Perfetto's own Python package, and its slices are put together as
trace_processor does it: events sorted by time, begin and end matched track by track. The run file is read with mcap's
package. Where TRACE_PROCESSOR names a trace_processor_shell, the same is asked of it in SQL.
"""

import collections
import json
import os
import sys

from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

STAGES = ["acquire", "decode", "preprocess", "h2d", "queue", "compute", "d2h", "postprocess"]


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
        self.counters = collections.defaultdict(list)
        self.flows = collections.defaultdict(list)

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
        pids = [t.process.pid for t in tracks.values() if t.HasField("process")]
        assert len(set(pids)) == len(pids) and 0 not in pids, pids
        open_slices = collections.defaultdict(list)
        for at, event in sorted(events, key=lambda e: e[0]):
            track = tracks[event.track_uuid]
            process = tracks[track.parent_uuid].process.process_name
            for flow in event.flow_ids:
                self.flows[path, flow].append((track.name, False))
            for flow in event.terminating_flow_ids:
                self.flows[path, flow].append((track.name, True))
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

    def of(self, process, track, depth):
        found = [s for s in self.slices if s[:2] == (process, track) and s[5] == depth]
        return collections.Counter((name, begin, duration) for _, _, name, begin, duration, _ in found)


def main(run, *shards):
    tenants, frames, samples, ranges = run_file(run)
    trace = Slices()
    for shard in shards:
        trace.shard(shard)
    worked_on = stages = 0
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
    every = sum(map(len, frames.values()))
    assert len(trace.flows) == every, "a flow for each frame"
    for steps in trace.flows.values():
        assert steps[0] == ("released", False) and steps[-1] == ("result", True), steps
        assert [s for s, _ in steps[1:-1]] in ([], ["work"]), steps
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
    print(f"{every} frames, {worked_on} slices of work and {stages} of stages agree, in {len(shards)} files")
    if os.environ.get("TRACE_PROCESSOR"):
        ask_trace_processor(shards, frames, samples)


def ask_trace_processor(shards, frames, samples):
    from perfetto.trace_processor import TraceProcessor, TraceProcessorConfig

    config = TraceProcessorConfig(bin_path=os.environ["TRACE_PROCESSOR"])
    worked = [f for every in frames.values() for f in every if f.outcome in (0, 2)]
    total = values = flows = errors = 0
    count = 0
    for shard in shards:
        with TraceProcessor(trace=shard, config=config) as tp:
            query = "select count(*) as n, sum(dur) as d from slice join track on slice.track_id = track.id"
            row = next(iter(tp.query(f"{query} where track.name = 'work' and depth = 0")))
            count, total = count + row.n, total + (row.d or 0)
            values += next(iter(tp.query("select count(*) as n from counter"))).n
            flows += next(iter(tp.query("select count(distinct slice_out) as n from flow"))).n
            problem = "select sum(value) as n from stats where severity = 'error'"
            errors += next(iter(tp.query(problem))).n or 0
    assert errors == 0, f"trace_processor found {errors} errors"
    assert count == len(worked), (count, len(worked))
    assert total == sum(f.finished_ns - f.started_ns for f in worked)
    assert values == sum(map(len, samples.values()))
    assert flows > 0
    print(f"trace_processor agrees on {count} slices")


main(*sys.argv[1:])
