#!/usr/bin/env python3
"""How far detections of the same frames are apart from one backend to another.

`scripts/gpu/outputs.py FOLDER`, with the run files of `measure.sh outputs`; needs the Python packages of the tests (.venv).
Each box of the cpu backend is set against the nearest of its class in the same frame: pixels of images, metres and radians of
sweeps. NVIDIA_TF32_OVERRIDE=0 where they are made tells what of it is TF32's.
"""

import math
import pathlib
import sys

from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory

# Boxes farther apart are not each other's, in pixels and metres.
FARTHEST = (8, 0.5)


def numbers(message, name=""):
    if hasattr(message, "__slots__"):
        return {k: v for slot in message.__slots__ for k, v in numbers(getattr(message, slot), f"{name}.{slot}").items()}
    if isinstance(message, (list, tuple)):
        return {k: v for i, item in enumerate(message) for k, v in numbers(item, f"{name}{i}").items()}
    return {name: message}


def frames(path):
    with path.open("rb") as file:
        messages = make_reader(file, decoder_factories=[DecoderFactory()]).iter_decoded_messages()
        return {
            message.sequence: [numbers(detection) for detection in message.detections]
            for _, channel, _, message in messages
            if channel.topic.endswith("/detections")
        }


def apart(a, b, field):
    difference = abs(a[field] - b[field])
    return min(difference, abs(2 * math.pi - difference)) if "yaw" in field else difference


def compare(reference, other):
    boxes = alone = 0
    worst_box = worst_score = 0.0
    assert sorted(reference) == sorted(other), "other frames"
    for sequence, wanted in reference.items():
        left = list(other[sequence])
        boxes += len(wanted)
        for a in wanted:
            place = [field for field in a if field not in (".class_index", ".score")]
            near = [
                (max(apart(a, b, field) for field in place), index)
                for index, b in enumerate(left)
                if b.keys() == a.keys() and b[".class_index"] == a[".class_index"]
            ]
            distance, index = min(near, default=(math.inf, -1))
            if distance > FARTHEST[".image0.x1" not in a]:
                alone += 1
                continue
            worst_box = max(worst_box, distance)
            worst_score = max(worst_score, abs(a[".score"] - left.pop(index)[".score"]))
        alone += len(left)
    return boxes, alone, worst_box, worst_score


def main():
    print(f"{'':40}  boxes  in one alone  box, at most  score, at most")
    for path in sorted(pathlib.Path(sys.argv[1]).glob("outputs-*-cpu.mcap")):
        name = path.stem.removesuffix("-cpu")
        if name.endswith("-ort"):
            continue
        for backend in ("ort-cpu", "ort-cuda", "ort-cuda-gpu"):
            boxes, alone, box, score = compare(frames(path), frames(path.with_name(f"{name}-{backend}.mcap")))
            print(f"{name.removeprefix('outputs-') + ' ' + backend:40}  {boxes:5}  {alone:12}  {box:12.2g}  {score:14.2g}")


main()
