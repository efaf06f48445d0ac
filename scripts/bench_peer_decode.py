#!/usr/bin/env python3
"""What OpenCV and Pillow take to decode the JPEG files that are given, on one thread (see benches/decode.rs).

    python3 -m venv .venv && .venv/bin/pip install opencv-python-headless numpy pillow
    taskset -c 0 .venv/bin/python scripts/bench_peer_decode.py photo.jpg
"""

import io
import statistics
import sys
import time

import cv2
import numpy as np
import PIL
from PIL import Image, features

SAMPLES, WARM_UP = 100, 5


def median_ms(work):
    took = []
    for i in range(SAMPLES + WARM_UP):
        start = time.perf_counter()
        work()
        if i >= WARM_UP:
            took.append((time.perf_counter() - start) * 1e3)
    return statistics.median(took)


def main():
    cv2.setNumThreads(1)
    turbo = features.version("libjpeg_turbo")
    print(f"OpenCV {cv2.__version__}; Pillow {PIL.__version__} with libjpeg-turbo {turbo}; median of {SAMPLES}")
    for name in sys.argv[1:]:
        data = open(name, "rb").read()
        coded = np.frombuffer(data, np.uint8)
        opencv = median_ms(lambda: cv2.imdecode(coded, cv2.IMREAD_COLOR))
        pillow = median_ms(lambda: Image.open(io.BytesIO(data)).load())
        print(f"{name}: OpenCV {opencv:.2f} ms, Pillow {pillow:.2f} ms")


if __name__ == "__main__":
    main()
