"""Asks OpenCV how it resizes, for the sizes in resize.txt beside this file: what src/detector/camera/preprocess/tests.rs
holds the resize against.

A line is width, height, resized width, resized height, checksum of the pixels. The images are made up by `picture`, which
the test has as well. With `--check` the file is compared and not written, which shows whether another OpenCV agrees:
4.12.0 and 5.0.0 of PyPI on x86-64 do.

Needs NumPy and opencv-python-headless: python3 tests/images/resize.py [--check]
"""

import sys
from pathlib import Path

import cv2
import numpy
from checksum import checksum, mixed

file = Path(__file__).with_name("resize.txt")


def picture(width, height):
    """Noise, in which every neighbour differs: each rounding shows."""
    index = numpy.arange(width * height * 3, dtype=numpy.uint32)
    return (mixed(index) >> numpy.uint32(24)).astype(numpy.uint8).reshape(height, width, 3)


def sizes():
    """Every direction of each axis, small and large, whole ratios and none."""
    random = numpy.random.default_rng(17)
    yield from random.integers(1, 65, (240, 4)).tolist()
    for wider in (False, True):
        for higher in (False, True):
            for _ in range(12):
                small, large = random.integers(30, 110, 2), random.integers(110, 260, 2)
                width, to_width = (small[0], large[0]) if wider else (large[0], small[0])
                height, to_height = (small[1], large[1]) if higher else (large[1], small[1])
                yield [int(side) for side in (width, height, to_width, to_height)]
    for ratio in (2, 3, 4):
        for width, height in ((17, 11), (40, 1), (1, 40), (64, 48)):
            yield from (
                [width * ratio, height * ratio, width, height],
                [width, height, width * ratio, height * ratio],
                [width * ratio, height, width, height],
                [width, height * ratio, width, height],
                [width * ratio, height, width, height * ratio],
            )
    yield from (
        [1920, 1080, 640, 360],
        [1242, 375, 640, 193],
        [1280, 720, 416, 234],
        [640, 480, 416, 640],
        [320, 240, 640, 480],
        [160, 1000, 640, 320],
    )


text = ""
for width, height, *to in sizes():
    resized = cv2.resize(picture(width, height), to, interpolation=cv2.INTER_LINEAR)
    text += f"{width} {height} {to[0]} {to[1]} {checksum(resized)}\n"
if "--check" in sys.argv:
    assert file.read_text() == text, f"OpenCV {cv2.__version__} resizes otherwise"
else:
    file.write_text(text)
