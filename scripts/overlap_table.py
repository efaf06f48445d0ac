#!/usr/bin/env python3
"""Prints the table of tests in crates/jetlag-record/src/footprint.rs: pairs of boxes and their overlap as shapely has it."""

import math
import random

from shapely import affinity
from shapely.geometry import box

random.seed(7)


def footprint(x, y, l, w, yaw):
    return affinity.translate(affinity.rotate(box(-l / 2, -w / 2, l / 2, w / 2), yaw, origin=(0, 0), use_radians=True), x, y)


rows = 0
while rows < 16:
    a = [round(v, 2) for v in (0, 0, random.uniform(1, 5), random.uniform(0.5, 2.5), random.uniform(-math.pi, math.pi))]
    b = [round(v, 2) for v in (random.uniform(-2, 2), random.uniform(-2, 2), random.uniform(1, 5),
                               random.uniform(0.5, 2.5), random.uniform(-math.pi, math.pi))]
    both = footprint(*a).intersection(footprint(*b)).area
    if both > 0:
        print(f"({a}, {b}, {both / (a[2] * a[3] + b[2] * b[3] - both):.9f}),")
        rows += 1
