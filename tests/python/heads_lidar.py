"""Decodes the outputs of small LiDAR networks as their families do it, and prints what is found, best first.

    heads_lidar.py OUTPUTS.json > FOUND.json

The grid has 8 x 8 pillars of 1 m from (0, -4), and the heads' cells are two pillars wide. A row is class, score, x, y, z, length, width,
height, heading, and velocity where there is one.
"""

import json
import sys

import numpy as np


def sigmoid(v):
    return 1 / (1 + np.exp(-v))


def outline(box):
    x, y, _, l, w, _, yaw = box[:7]
    c, s = np.cos(yaw), np.sin(yaw)
    return [(x + a * l / 2 * c - b * w / 2 * s, y + a * l / 2 * s + b * w / 2 * c) for a, b in ((1, 1), (-1, 1), (-1, -1), (1, -1))]


def area(points):
    return 0.5 * sum(a[0] * b[1] - b[0] * a[1] for a, b in zip(points, points[1:] + points[:1])) if points else 0.0


def common(one, other):
    """The part of a convex outline that lies within another, edge by edge (Sutherland and Hodgman)."""
    for a, b in zip(other, other[1:] + other[:1]):
        side = lambda p: (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0])
        kept = []
        for p, q in zip(one, one[1:] + one[:1]):
            if side(p) >= 0:
                kept.append(p)
            if (side(p) >= 0) != (side(q) >= 0):
                t = side(p) / (side(p) - side(q))
                kept.append((p[0] + t * (q[0] - p[0]), p[1] + t * (q[1] - p[1])))
        one = kept
    return area(one)


def iou(a, b):
    both = common(outline(a), outline(b))
    return both / (a[3] * a[4] + b[3] * b[4] - both)


def thinned(found, rivals):
    """Greedy, best first: those that no better one of their class beats."""
    kept = []
    for f in sorted(found, key=lambda f: -f[1]):
        if not any(g[0] == f[0] and rivals(g[2:], f[2:]) for g in kept):
            kept.append(f)
    return kept


def wrapped(angle):
    return (angle + np.pi) % (2 * np.pi) - np.pi


def overlapping(a, b):
    return iou(a, b) > 0.1


def heatmap(o, number, classes, rivals):
    """A task of CenterPoint's head: 4 x 4 cells of 2 m, sides as logarithms, the heading as sine and cosine."""
    get = lambda name: o[f"{name}{number}"][0]
    scores, found = sigmoid(get("heatmap")), []
    for channel, k in enumerate(classes):
        for row in range(4):
            for column in range(4):
                score = scores[channel, row, column]
                around = scores[channel, max(row - 1, 0) : row + 2, max(column - 1, 0) : column + 2]
                if score < 0.3 or score < around.max():
                    continue
                at = lambda name: get(name)[:, row, column]
                x, y = (np.array([column, row]) + at("reg")) * 2 + [0, -4]
                l, w, h = np.exp(at("dim"))
                sin, cos = at("rot")
                found.append([k, score, x, y, at("height")[0], l, w, h, np.arctan2(sin, cos), *at("vel")])
    return thinned(found, rivals)


def centerpoint(o):
    near = lambda a, b: np.hypot(a[0] - b[0], a[1] - b[1]) < 3
    return sorted(heatmap(o, 0, [0, 2], near) + heatmap(o, 1, [1], overlapping), key=lambda f: -f[1])


def second(o):
    """second.pytorch's head: two classes, an anchor of each in two rotations, sides as width, length and height."""
    anchors = [(s, z, r) for s, z in (((1.6, 3.9, 1.56), -1.0), ((0.6, 0.8, 1.73), -0.6)) for r in (0.0, 1.57)]
    boxes, scores, directions = (o[name][0].reshape(4, 4, 4, -1) for name in ("box", "cls", "dir"))
    found = []
    for row in range(4):
        for column in range(4):
            for n, ((w, l, h), z, r) in enumerate(anchors):
                raw = scores[row, column, n]
                k = int(raw.argmax())
                score = sigmoid(raw[k])
                if score < 0.3:
                    continue
                tx, ty, tz, tw, tl, th, tr = boxes[row, column, n]
                d = np.hypot(w, l)
                rotation = tr + r
                if (rotation > 0) != (directions[row, column, n].argmax() == 1):
                    rotation += np.pi
                place = [tx * d + column * 2 + 1, ty * d + row * 2 - 3, tz * h + z]
                found.append([k, score, *place, np.exp(tl) * l, np.exp(tw) * w, np.exp(th) * h, wrapped(-rotation - np.pi / 2)])
    return thinned(found, overlapping)


def main():
    answer = {}
    for name, outputs in json.load(open(sys.argv[1])).items():
        tensors = {key: np.array(o["values"], float).reshape(o["dims"]) for key, o in outputs.items()}
        answer[name] = [[float(v) for v in row] for row in {"centerpoint": centerpoint, "second": second}[name](tensors)]
    json.dump(answer, sys.stdout)


main()
