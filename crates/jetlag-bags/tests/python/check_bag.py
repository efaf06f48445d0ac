"""Reads bags with `rosbags` and `mcap-ros2-support`, which know nothing of ours: check_bag.py BAG...

Prints what they found as JSON, a list with an entry for each message: topic, type, log time, and some of its content.
"""

import json
import pathlib
import sys

import mcap_ros2.reader
from rosbags.highlevel import AnyReader
from rosbags.typesys import Stores, get_typestore


def content(message):
    """What is compared: the same names in both libraries."""
    found = {}
    if hasattr(message, "transforms"):
        first = message.transforms[0]
        found["child"] = first.child_frame_id
        found["rotation"] = [first.transform.rotation.z, first.transform.rotation.w]
        found["count"] = len(message.transforms)
        return found
    found["stamp"] = message.header.stamp.sec * 10**9 + message.header.stamp.nanosec
    found["frame"] = message.header.frame_id
    for name in ("width", "height", "encoding", "step", "format", "point_step", "distortion_model", "is_dense"):
        if hasattr(message, name):
            found[name] = getattr(message, name)
    if hasattr(message, "data"):
        data = bytes(message.data)
        found["bytes"] = len(data)
        found["sum"] = sum(data)
    if hasattr(message, "fields"):
        found["fields"] = [[f.name, f.offset, f.datatype, f.count] for f in message.fields]
    if hasattr(message, "k"):
        found["k"] = [float(v) for v in message.k]
        found["d"] = [float(v) for v in message.d]
    return found


def with_rosbags(folder):
    store = get_typestore(Stores.ROS2_HUMBLE)
    with AnyReader([folder], default_typestore=store) as reader:
        for connection, time, raw in reader.messages():
            message = reader.deserialize(raw, connection.msgtype)
            yield [connection.topic, connection.msgtype, time, content(message)]


def with_mcap(file):
    for found in mcap_ros2.reader.read_ros2_messages(str(file)):
        kind = found.schema.name
        yield [found.channel.topic, kind, found.log_time_ns, content(found.ros_msg)]


def main() -> None:
    results = []
    for name in sys.argv[1:]:
        folder = pathlib.Path(name)
        found = {"rosbags": list(with_rosbags(folder))}
        for file in folder.glob("*.mcap"):
            found["mcap"] = list(with_mcap(file))
        results.append(found)
    print(json.dumps(results))


if __name__ == "__main__":
    main()
