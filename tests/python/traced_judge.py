"""Holds the tracks of a traced phase in a Perfetto trace against the run file's activities, one by one.

usage: traced_judge.py RUN.mcap TRACE

Every kernel, copy, fill and graph has to be a slice of its stream's track, with its begin and length, and a flow has to lead
to it from the call with the same correlation, which began no later.
"""

import collections
import sys

from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

KERNEL, COPY, FILL, GRAPH, CALL = 1, 2, 3, 4, 5


def run_file(path):
    """Slices of each stream, and pairs of call and work by their begins."""
    names, slices, calls, works = {}, collections.Counter(), {}, collections.defaultdict(list)
    with open(path, "rb") as file:
        reader = make_reader(file, decoder_factories=[DecoderFactory()])
        for _, channel, _, m in reader.iter_decoded_messages(log_time_order=False):
            if channel.topic == "/jetlag/gpu/names":
                names[m.number] = m.text
            if channel.topic != "/jetlag/gpu/activity":
                continue
            for n, kind in enumerate(m.kind):
                begin = m.base_ns + m.from_ns[n]
                key = (m.process, m.correlation[n])
                if kind in (KERNEL, COPY, FILL, GRAPH):
                    track = f"GPU {m.device[n]} stream {m.stream[n]} of context {m.context[n]}"
                    name = names.get(m.name[n]) if kind == KERNEL else None
                    slices[track, name, begin, m.duration_ns[n]] += 1
                    works[key].append(begin)
                elif kind == CALL:
                    calls[key] = min(begin, calls.get(key, begin))
    return slices, [(calls[key], begin) for key, begins in works.items() for begin in begins if key in calls]


def trace_file(path):
    tracks, open_slices, slices, flows = {}, collections.defaultdict(list), collections.Counter(), collections.defaultdict(list)
    trace = Trace()
    with open(path, "rb") as file:
        trace.ParseFromString(file.read())
    for packet in trace.packet:
        if packet.HasField("track_descriptor"):
            tracks[packet.track_descriptor.uuid] = packet.track_descriptor.name
    events = [packet for packet in trace.packet if packet.HasField("track_event")]
    for packet in sorted(events, key=lambda packet: packet.timestamp):
        event = packet.track_event
        track = tracks[event.track_uuid]
        if event.type == TrackEvent.TYPE_SLICE_BEGIN:
            open_slices[event.track_uuid].append((event.name, packet.timestamp))
            for flow in event.flow_ids:
                if flow >= 1 << 63:
                    flows[flow].append((track, packet.timestamp))
        elif event.type == TrackEvent.TYPE_SLICE_END and track.startswith("GPU ") and " stream " in track:
            name, begin = open_slices[event.track_uuid].pop()
            slices[track, name, begin, packet.timestamp - begin] += 1
    return slices, flows


def main():
    wanted, pairs = run_file(sys.argv[1])
    found, flows = trace_file(sys.argv[2])
    assert wanted, "no activities"
    # Work that is no kernel has a name of the exporter's own.
    kernels = {key for key in wanted if key[1] is not None}
    places = collections.Counter({(track, begin, length): 0 for track, _, begin, length in wanted})
    for (track, _, begin, length), count in found.items():
        places[track, begin, length] += count
    for (track, _, begin, length), count in wanted.items():
        places[track, begin, length] -= count
    assert not any(places.values()), [place for place in places.items() if place[1]][:5]
    assert all(found[key] == wanted[key] for key in kernels), "names"
    led = set()
    for steps in flows.values():
        begun = [at for track, at in steps if track.startswith("thread ")]
        for track, at in steps:
            if track.startswith("GPU ") and begun:
                led.add((min(begun), at))
    missing = [pair for pair in pairs if pair not in led]
    assert not missing, f"{len(missing)} works without a flow from their call, such as {missing[:3]}"
    print(f"{sum(wanted.values())} slices and {len(pairs)} flows agree")


main()
