"""trtexec's figures by its description, in plain Python: single precision is made by rounding each step.

Reads cases from stdin: [{"values": [ms, ...], "figures": {...}, "indices": [[p, n, index], ...]}].
Double precision rounded once to single gives what single precision gives for +, -, *, / and the root.
"""

import json
import math
import struct
import sys


def f32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def index(p, n):
    beyond = int(f32(f32(1.0 - f32(p / 100.0)) * float(n)))
    return max(n - 1 - beyond, 0)


def figures(values):
    values = sorted(f32(v) for v in values)
    n = len(values)
    total = 0.0
    for v in values:
        total = f32(total + v)
    mean = f32(total / n)
    squares = 0.0
    for v in values:
        distance = f32(v - mean)
        squares = f32(squares + f32(distance * distance))
    middle = n // 2
    median = values[middle] if n % 2 else f32(f32(values[middle - 1] + values[middle]) / 2.0)
    return {
        "min": values[0],
        "max": values[-1],
        "mean": mean,
        "median": median,
        "percentiles": [values[index(p, n)] for p in (90.0, 95.0, 99.0)],
        "cv_percent": f32(f32(f32(math.sqrt(f32(squares / n))) / mean) * 100.0),
    }


cases = json.load(sys.stdin)
for case in cases:
    for p, n, place in case["indices"]:
        assert index(p, n) == place, f"index of {p} in {n}: {place}, and should be {index(p, n)}"
    expected = figures(case["values"])
    for name, value in expected.items():
        found = case["figures"][name]
        pairs = zip(found, value) if isinstance(value, list) else [(found, value)]
        for a, b in pairs:
            assert f32(a) == b, f"{name} of {len(case['values'])} values: {a}, and should be {b}"
print(f"{len(cases)} cases agree")
