#!/usr/bin/env python3
"""What OpenCV takes for the work of benches/preprocess.rs, on one thread.

1080p RGB -> 640x640 letterbox (centred, grey 114) -> float32 NCHW in 0..1, the same pixels as the
benchmark's. Three ways of writing it are timed, because people write all three; the fastest is the
peer that jetlag is held against.

    python3 -m venv .venv && .venv/bin/pip install opencv-python-headless numpy
    taskset -c 0 .venv/bin/python scripts/bench_peer_camera.py
"""

import statistics
import time

import cv2
import numpy as np

WIDTH, HEIGHT, SIDE, PAD = 1920, 1080, 640, 114
SAMPLES, WARM_UP = 200, 20


def scene():
    """The benchmark's image: a gradient with texture, so that no pixel is flat."""
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH].astype(np.uint32)
    planes = [(x * 7 + y * 3 + c * 31 + (x * y) // 97) & 0xFF for c in range(3)]
    return np.ascontiguousarray(np.stack(planes, axis=-1).astype(np.uint8))


def place(height, width):
    ratio = min(SIDE / height, SIDE / width)
    w, h = round(width * ratio), round(height * ratio)
    return w, h, (SIDE - w) // 2, (SIDE - h) // 2


IMAGE = scene()
W, H, LEFT, TOP = place(HEIGHT, WIDTH)


def letterbox():
    small = cv2.resize(IMAGE, (W, H), interpolation=cv2.INTER_LINEAR)
    return cv2.copyMakeBorder(
        small, TOP, SIDE - H - TOP, LEFT, SIDE - W - LEFT, cv2.BORDER_CONSTANT, value=(PAD, PAD, PAD)
    )


def with_numpy():
    """As in most tutorials: transpose, then scale."""
    return np.ascontiguousarray(letterbox().transpose(2, 0, 1)[None], dtype=np.float32) * np.float32(1 / 255)


def with_blob():
    """cv2.dnn.blobFromImage does layout and scale in C++."""
    return cv2.dnn.blobFromImage(letterbox(), 1 / 255)


PLANES = np.empty((1, 3, SIDE, SIDE), np.float32)
CANVAS = np.full((SIDE, SIDE, 3), PAD, np.uint8)


def with_buffers():
    """Everything allocated once: resize into the canvas, split, convert into the planes."""
    cv2.resize(IMAGE, (W, H), dst=CANVAS[TOP : TOP + H, LEFT : LEFT + W], interpolation=cv2.INTER_LINEAR)
    for plane, channel in zip(PLANES[0], cv2.split(CANVAS)):
        np.multiply(channel, np.float32(1 / 255), out=plane)
    return PLANES


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
    reference = with_numpy()
    for work in (with_blob, with_buffers):
        assert np.abs(work() - reference).max() < 1e-6, work.__name__
    print(f"OpenCV {cv2.__version__}, NumPy {np.__version__}, {cv2.getNumThreads()} thread, median of {SAMPLES}")
    took = {work.__name__: median_ms(work) for work in (with_numpy, with_blob, with_buffers)}
    for name, ms in took.items():
        print(f"{name:14s} {ms:7.3f} ms")
    print(f"{'fastest':14s} {min(took.values()):7.3f} ms")
    # The benchmark's other case with a ratio that is no whole number, so that every weight counts.
    global W, H, LEFT, TOP, SIDE, CANVAS, PLANES
    W = H = SIDE = 512
    LEFT = TOP = 0
    CANVAS, PLANES = np.empty((SIDE, SIDE, 3), np.uint8), np.empty((1, 3, SIDE, SIDE), np.float32)
    print(f"{'stretch 512':14s} {min(median_ms(with_numpy), median_ms(with_buffers)):7.3f} ms")


if __name__ == "__main__":
    main()
