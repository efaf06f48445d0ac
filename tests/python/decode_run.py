#!/usr/bin/env python3
"""Decode every message of a run file with the packages mcap and mcap-ros2-support.

First line: {"manifest": ...}. Then one line a message, in the order of the file:
{"topic", "log_time", "publish_time", "message"}. NaN is written as null.
"""

import json
import math
import sys

from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory


def plain(value):
    """A decoded message, sequence or number as JSON has it."""
    if hasattr(value, "__slots__"):
        return {name: plain(getattr(value, name)) for name in value.__slots__}
    if isinstance(value, (list, tuple, bytes, bytearray)):
        return [plain(item) for item in value]
    if isinstance(value, float) and math.isnan(value):
        return None
    return value


def main():
    with open(sys.argv[1], "rb") as file:
        reader = make_reader(file, decoder_factories=[DecoderFactory()])
        manifests = [m for m in reader.iter_metadata() if m.name == "jetlag.manifest"]
        assert len(manifests) == 1, f"{len(manifests)} manifests"
        print(json.dumps({"manifest": json.loads(manifests[0].metadata["manifest"])}))
        for _, channel, message, decoded in reader.iter_decoded_messages(log_time_order=False):
            line = {
                "topic": channel.topic,
                "log_time": message.log_time,
                "publish_time": message.publish_time,
                "message": plain(decoded),
            }
            print(json.dumps(line, allow_nan=False))


main()
