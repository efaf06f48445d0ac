#!/usr/bin/env python3
"""What OpenCV takes for the work of benches/preprocess.rs, on one thread.

1080p RGB to float32 NCHW in 0..1, the benchmark's own pixels: letterboxed to 640 x 640 (centred, grey 114;
the budget's case) and stretched to 512 x 512 (every weight counts). Each is written in the three ways
that people write it; the fastest is the peer that jetlag is held against.

    python3 -m venv .venv && .venv/bin/pip install opencv-python-headless numpy
    taskset -c 0 .venv/bin/python scripts/bench_peer_camera.py
"""

import statistics
import time

import cv2
import numpy as np

WIDTH, HEIGHT, PAD = 1920, 1080, 114
SAMPLES, WARM_UP = 200, 20
SCALE = np.float32(1 / 255)


def scene():
    """The benchmark's image: a gradient with texture, so that no pixel is flat."""
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH].astype(np.uint32)
    planes = [(x * 7 + y * 3 + c * 31 + (x * y) // 97) & 0xFF for c in range(3)]
    return np.ascontiguousarray(np.stack(planes, axis=-1).astype(np.uint8))


class Case:
    """One input size; `inner` is the rectangle that the image covers: left, top, width, height."""

    def __init__(self, side, inner):
        self.side, self.inner = side, inner
        self.image = scene()
        self.canvas = np.full((side, side, 3), PAD, np.uint8)
        self.planes = np.empty((1, 3, side, side), np.float32)

    def fitted(self):
        left, top, width, height = self.inner
        small = cv2.resize(self.image, (width, height), interpolation=cv2.INTER_LINEAR)
        below, right = self.side - height - top, self.side - width - left
        return cv2.copyMakeBorder(
            small, top, below, left, right, cv2.BORDER_CONSTANT, value=(PAD, PAD, PAD)
        )

    def with_numpy(self):
        """As in most tutorials: transpose, then scale."""
        return np.ascontiguousarray(self.fitted().transpose(2, 0, 1)[None], dtype=np.float32) * SCALE

    def with_blob(self):
        """cv2.dnn.blobFromImage does layout and scale in C++."""
        return cv2.dnn.blobFromImage(self.fitted(), 1 / 255)

    def with_buffers(self):
        """Everything allocated once: resize into the canvas, split, convert into the planes."""
        left, top, width, height = self.inner
        within = self.canvas[top : top + height, left : left + width]
        cv2.resize(self.image, (width, height), dst=within, interpolation=cv2.INTER_LINEAR)
        for plane, channel in zip(self.planes[0], cv2.split(self.canvas)):
            np.multiply(channel, SCALE, out=plane)
        return self.planes


CASES = {
    "letterbox_640_planes": Case(640, (0, 140, 640, 360)),
    "stretch_512_planes": Case(512, (0, 0, 512, 512)),
}


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
    print(f"OpenCV {cv2.__version__}, NumPy {np.__version__}, {cv2.getNumThreads()} thread, median of {SAMPLES}")
    for name, case in CASES.items():
        ways = (case.with_numpy, case.with_blob, case.with_buffers)
        reference = case.with_numpy()
        for way in ways:
            assert np.abs(way() - reference).max() < 1e-6, way.__name__
        took = {way.__name__: median_ms(way) for way in ways}
        fastest = min(took, key=took.get)
        every = ", ".join(f"{way} {ms:.3f}" for way, ms in took.items())
        print(f"{name:22s} {took[fastest]:7.3f} ms ({fastest}; {every})")


if __name__ == "__main__":
    main()
