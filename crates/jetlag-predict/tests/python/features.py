"""perf4sight's feature vectors in NumPy, from the description of the method: a line for each network, stage and batch."""
import csv
import pathlib
import sys

import numpy as np

BATCHES = (1, 7, 128)


def columns(path):
    with open(path, newline="") as file:
        lines = list(csv.DictReader(file))
    return {key: np.array([float(line[key]) for line in lines]) for key in lines[0] if key != "name"}


def training(n, c, d, g, k, s, p, x):
    e, y = c / g, 1 + np.floor((x + 2 * p - k) / s)
    F = lambda u: u * (1 + u)
    f = [d * e * k**2, n * d * e * k**2, 2 * n * c * x**2, 2 * n * d * y**2]
    f.append(f[0] + f[1] + f[2] + f[3])
    f += [n * y**2, n * y**2 * k**2 * c, n * x**2, n * x**2 * k**2 * c, n * y**2 * k**2 * e]
    f += [f[6] + f[8] + f[9], 2 * f[5] + f[7]]
    f = [np.trunc(v) for v in f]
    f += [n * d * y**2 * k**2 * e, n * c * x**2 * k**2 * d]
    f.append(2 * f[12] + f[13])
    fft = [F(x) * d * e, F(x) * n * c, F(x) * n * d, F(y) * d * e, F(y) * n * d]
    fft += [fft[1] + fft[0], fft[4] + fft[3], fft[2] + fft[1], fft[0] + 2 * fft[1] + fft[2] + fft[3] + fft[4]]
    f += [np.trunc(v) for v in fft]
    S = n * c + n * d + d * e
    ops = [x**2 * np.log2(x) * S + n * d * c * x**2, y**2 * np.log2(y) * S + n * d * c * y**2]
    ops.append(x * np.log2(x**2) * S + n * d * c * x**2)
    f += ops + [ops[0] + ops[1] + ops[2]]
    three = lambda a, b, w: [a, b, w, a + b, a + w, b + w, a + b + w]
    for m, r in ((4, 3), (3, 2)):
        t = (m + r - 1) ** 2
        a, b = 3 * n * d * t * np.ceil(x / m) ** 2, 3 * n * c * t * np.ceil(y / m) ** 2
        f += [np.trunc(v) for v in three(a, b, 3 * n * d * e * t * np.ceil(x / m) ** 2)]
    for m, r in ((4, 3), (3, 2)):
        t = (m + r - 1) ** 2
        a = n * d * e * np.ceil(x / m) ** 2 * np.ceil(k / r) ** 2 * t
        b = n * c * d * np.ceil(x / m) ** 2 * np.ceil(k / r) ** 2 * t
        f += three(a, b, n * d * e * np.ceil(x / m) ** 2 * np.ceil(y / r) ** 2 * t)
    return f


def inference(n, c, d, g, k, s, p, x):
    e, y = c / g, 1 + np.floor((x + 2 * p - k) / s)
    F = lambda u: u * (1 + u)
    f = [d * e * k**2, n * c * x**2, n * d * y**2]
    f += [f[0] + f[1] + f[2], n * y**2, n * y**2 * k**2 * c, n * d * y**2 * k**2 * e]
    f += [F(x) * d * e, F(x) * n * c, F(x) * d * e + F(x) * n * c]
    f.append(x**2 * np.log2(x) * (n * c + n * d + d * e) + n * d * c * x**2)
    tiles = ((4, 3), (3, 2))
    f += [3 * n * d * (m + r - 1) ** 2 * np.ceil(x / m) ** 2 for m, r in tiles]
    f += [n * d * e * np.ceil(x / m) ** 2 * np.ceil(k / r) ** 2 * (m + r - 1) ** 2 for m, r in tiles]
    return f


for path in sorted(pathlib.Path(sys.argv[1], "layers").glob("*.csv")):
    network, variant = path.stem.rsplit("_", 1)
    t = columns(path)
    shapes = [t[key] for key in ("ic", "oc", "groups", "k_h", "stride", "pad_h", "ip_h")]
    for stage, vector in (("training", training), ("inference", inference)):
        for batch in BATCHES:
            sums = [float(np.sum(v)) for v in vector(batch, *shapes)]
            print(",".join([network, variant, stage, str(batch), *map(repr, sums)]))
