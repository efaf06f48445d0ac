"""Precision and recall of detections against truth, and the suppression that comes before. NumPy only."""

import numpy as np


def area_2d(a):
    """The area of each box [n, 4] (x1, y1, x2, y2)."""
    return np.prod(a[:, 2:] - a[:, :2], -1)


def shared_2d(a, b):
    """The area that boxes [n, 4] and [m, 4] share: [n, m]."""
    low = np.maximum(a[:, None, :2], b[None, :, :2])
    high = np.minimum(a[:, None, 2:], b[None, :, 2:])
    return np.prod(np.clip(high - low, 0, None), -1)


def iou_2d(a, b):
    """IoU of boxes [n, 4] and [m, 4]: [n, m]."""
    both = shared_2d(a, b)
    return both / (area_2d(a)[:, None] + area_2d(b)[None] - both + 1e-9)


def covered_2d(a, b):
    """The share of each box [n, 4] that lies in each of [m, 4]: [n, m]."""
    return shared_2d(a, b) / (area_2d(a)[:, None] + 1e-9)


def footprint(box):
    """Corners [4, 2] of a box (x, y, z, l, w, h, yaw), counterclockwise."""
    c, s = np.cos(box[6]), np.sin(box[6])
    local = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]]) * (box[3] / 2, box[4] / 2)
    return local @ np.array([[c, s], [-s, c]]) + box[:2]


def clip(polygon, a, b):
    """The part of a polygon left of the line from a to b."""
    side = (b[0] - a[0]) * (polygon[:, 1] - a[1]) - (b[1] - a[1]) * (polygon[:, 0] - a[0])
    out = []
    for i, here in enumerate(side):
        j = (i + 1) % len(polygon)
        if here >= 0:
            out.append(polygon[i])
        if here * side[j] < 0:
            out.append(polygon[i] + (polygon[j] - polygon[i]) * here / (here - side[j]))
    return np.array(out).reshape(-1, 2)


def shared_bev(a, b):
    """The area from above that boxes [n, 7] and [m, 7] share: [n, m]."""
    out = np.zeros((len(a), len(b)))
    for i, p in enumerate(a):
        for j, q in enumerate(b):
            if np.hypot(*(p[:2] - q[:2])) > (np.hypot(*p[3:5]) + np.hypot(*q[3:5])) / 2:
                continue
            shape, edges = footprint(p), footprint(q)
            for k in range(4):
                if len(shape) == 0:
                    break
                shape = clip(shape, edges[k], edges[(k + 1) % 4])
            if len(shape) > 2:
                x, y = shape[:, 0], shape[:, 1]
                out[i, j] = abs(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1))) / 2
    return out


def iou_bev(a, b):
    """IoU from above of boxes [n, 7] and [m, 7]: [n, m]."""
    both = shared_bev(a, b)
    area = lambda v: v[:, 3] * v[:, 4]
    return both / (area(a)[:, None] + area(b)[None] - both)


def covered_bev(a, b):
    """The share of each box [n, 7] that lies in each of [m, 7], from above: [n, m]."""
    return shared_bev(a, b) / (a[:, 3] * a[:, 4])[:, None]


def suppress(boxes, scores, iou, limit, at_most=300):
    """Indices kept, best first: none overlaps a better one by more than `limit`."""
    order = list(np.argsort(-scores, kind="stable")[:at_most])
    table = iou(boxes[order], boxes[order]) if order else None
    kept = []
    for i in range(len(order)):
        if all(table[i, k] <= limit for k in kept):
            kept.append(i)
    return [order[i] for i in kept]


def match(found, scores, truth, counts, iou, hidden=None, least=0.5):
    """Scores of detections with +1 right, -1 wrong (forgiven ones left out), and how many count.

    All of one class. Greedy, best score first, each truth at most once; what overlaps only truth that does not
    count is forgiven, and so is what is `hidden`: half of it or more in a region that nobody labelled. These are
    the rules of src/detector/eval.rs.
    """
    verdicts, taken = [], np.zeros(len(truth), bool)
    table = iou(found, truth) if len(found) and len(truth) else np.zeros((len(found), len(truth)))
    for i in np.argsort(-scores, kind="stable"):
        best = [j for j in range(len(truth)) if counts[j] and not taken[j] and table[i, j] >= least]
        if best:
            taken[max(best, key=lambda j: table[i, j])] = True
            verdicts.append((scores[i], 1))
        elif not (
            any(table[i, j] >= least for j in range(len(truth)) if not counts[j])
            or (hidden is not None and hidden[i])
        ):
            verdicts.append((scores[i], -1))
    return verdicts, int(np.sum(counts))


def precision_recall(verdicts, count, threshold):
    kept = [v for s, v in verdicts if s >= threshold]
    right = sum(v > 0 for v in kept)
    return right / max(len(kept), 1), right / max(count, 1)


def best_threshold(verdicts, count):
    """The threshold at which the lesser of precision and recall is largest."""
    return max(np.arange(0.1, 0.9, 0.01), key=lambda t: min(precision_recall(verdicts, count, t)))
