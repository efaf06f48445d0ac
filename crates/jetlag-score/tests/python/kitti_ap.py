"""KITTI's figures in NumPy, written from the benchmark's papers and its rules, as plainly as they can be said: for every recall
all frames are matched anew.

Each line of the standard input is {"frames": [{"truths": [[kind, truncated, occluded, alpha, x1, y1, x2, y2, h, w, l, x, y, z,
ry]], "found": [the same with the score at the end]}]}; each answer {"car.2d.easy": [ap, ap11, aos or null], ...}.
"""

import json
import sys

import numpy as np
from scipy.spatial import ConvexHull, QhullError

CLASSES = {"Car": ("Van", 0.7), "Pedestrian": ("Person_sitting", 0.5), "Cyclist": (None, 0.5)}
LEVELS = {"easy": (40, 0, 0.15), "moderate": (25, 1, 0.3), "hard": (25, 2, 0.5)}


def image_overlap(found, truth, over_union=True):
    (ax1, ay1, ax2, ay2), (bx1, by1, bx2, by2) = found[4:8], truth[4:8]
    both = max(0.0, min(ax2, bx2) - max(ax1, bx1)) * max(0.0, min(ay2, by2) - max(ay1, by1))
    area = (ax2 - ax1) * (ay2 - ay1)
    whole = area + (bx2 - bx1) * (by2 - by1) - both if over_union else area
    return both / whole if whole > 0 else 0.0


def corners(box):
    _, width, length, x, _, z, turn = box[8:15]
    along = np.array([np.cos(turn), -np.sin(turn)]) * length / 2
    across = np.array([np.sin(turn), np.cos(turn)]) * width / 2
    middle = np.array([x, z])
    return np.array([middle + a * along + b * across for a, b in [(1, 1), (1, -1), (-1, -1), (-1, 1)]])


def within(points, box):
    _, width, length, x, _, z, turn = box[8:15]
    apart = points - np.array([x, z])
    along = apart @ np.array([np.cos(turn), -np.sin(turn)])
    across = apart @ np.array([np.sin(turn), np.cos(turn)])
    return (abs(along) <= length / 2 + 1e-9) & (abs(across) <= width / 2 + 1e-9)


def ground_shared(a, b):
    """The hull of the corners that lie in the other rectangle, and of the crossings of sides."""
    if np.hypot(a[11] - b[11], a[13] - b[13]) > np.hypot(a[9], a[10]) / 2 + np.hypot(b[9], b[10]) / 2:
        return 0.0
    mine, others = corners(a), corners(b)
    points = [p for p in mine[within(mine, b)]] + [p for p in others[within(others, a)]]
    for k in range(4):
        p, r = mine[k], mine[(k + 1) % 4] - mine[k]
        for n in range(4):
            q, s = others[n], others[(n + 1) % 4] - others[n]
            cross = r[0] * s[1] - r[1] * s[0]
            if abs(cross) < 1e-14:
                continue
            t = ((q - p)[0] * s[1] - (q - p)[1] * s[0]) / cross
            u = ((q - p)[0] * r[1] - (q - p)[1] * r[0]) / cross
            if 0 <= t <= 1 and 0 <= u <= 1:
                points.append(p + t * r)
    if len(points) < 3:
        return 0.0
    try:
        return ConvexHull(np.array(points)).volume
    except QhullError:
        return 0.0


def ground_overlap(found, truth):
    both = ground_shared(found, truth)
    whole = found[9] * found[10] + truth[9] * truth[10] - both
    return both / whole if whole > 0 else 0.0


def space_overlap(found, truth):
    # y points down, and a place is that of the lower side.
    height = min(found[12], truth[12]) - max(found[12] - found[8], truth[12] - truth[8])
    both = ground_shared(found, truth) * max(0.0, height)
    volume = lambda box: box[8] * box[9] * box[10]  # noqa: E731
    whole = volume(found) + volume(truth) - both
    return both / whole if whole > 0 else 0.0


METRICS = {"2d": image_overlap, "bev": ground_overlap, "3d": space_overlap}


class Cell:
    """One class, metric and level, with what never changes worked out."""

    def __init__(self, frames, kind, metric, level):
        neighbour, self.least = CLASSES[kind]
        height, hidden, cut = LEVELS[level]
        self.frames = []
        self.truths = 0
        for frame in frames:
            labels, found = [], []
            for truth in frame["truths"]:
                hard = truth[2] > hidden or truth[1] > cut or truth[7] - truth[5] <= height
                if truth[0] == kind:
                    labels.append((truth, hard))
                    self.truths += not hard
                elif neighbour and truth[0] == neighbour:
                    labels.append((truth, True))
            for one in frame["found"]:
                small = int(abs(one[5] - one[7])) < height
                if small or one[0] == kind:
                    found.append((one, small))
            overlap = np.array([[METRICS[metric](one, truth) for one, _ in found] for truth, _ in labels])
            regions = [truth for truth in frame["truths"] if truth[0] == "DontCare"] if metric == "2d" else []
            free = [any(image_overlap(one, region, False) > self.least for region in regions) for one, _ in found]
            self.frames.append((labels, found, overlap.reshape(len(labels), len(found)), free))

    def scores(self):
        """Of those that are right when every label takes the surest detection."""
        scores = []
        for labels, found, overlap, _ in self.frames:
            taken = set()
            for n, (_, ignored) in enumerate(labels):
                near = [k for k in range(len(found)) if k not in taken and overlap[n, k] > self.least]
                if not near:
                    continue
                best = max(near, key=lambda k: found[k][0][15])
                taken.add(best)
                if not ignored and not found[best][1]:
                    scores.append(found[best][0][15])
        return sorted(scores, reverse=True)

    def at(self, threshold):
        """Precision and similarity of the detections from a score on."""
        right, wrong, similar = 0, 0, 0.0
        for labels, found, overlap, free in self.frames:
            taken = set()
            above = [one[15] >= threshold for one, _ in found]
            for n, (truth, ignored) in enumerate(labels):
                near = [k for k in range(len(found)) if above[k] and k not in taken and overlap[n, k] > self.least]
                proper = [k for k in near if not found[k][1]]
                if proper:
                    best = max(proper, key=lambda k: overlap[n, k])
                elif near:
                    best = near[0]
                else:
                    continue
                taken.add(best)
                if not ignored and not found[best][1]:
                    right += 1
                    similar += (1 + np.cos(truth[3] - found[best][0][3])) / 2
            wrong += sum(
                above[k] and k not in taken and not small and not free[k] for k, (_, small) in enumerate(found)
            )
        return right / max(right + wrong, 1), similar / max(right + wrong, 1)

    def figures(self):
        if self.truths == 0:
            return None
        scores = self.scores()
        thresholds, recall = [], 0.0
        for n, score in enumerate(scores):
            left = (n + 1) / self.truths
            right = (n + 2) / self.truths if n < len(scores) - 1 else left
            # The next score comes nearer to this recall.
            if right - recall < recall - left and n < len(scores) - 1:
                continue
            thresholds.append(score)
            recall += 1 / 40
        curve = np.zeros((41, 2))
        for n, threshold in enumerate(thresholds[:41]):
            curve[n] = self.at(threshold)
        curve = np.maximum.accumulate(curve[::-1])[::-1]
        return curve[1:, 0].mean(), curve[::4, 0].mean(), curve[1:, 1].mean()


def answer(problem):
    figures = {}
    angles = all(one[3] != -10 for frame in problem["frames"] for one in frame["found"])
    for kind in CLASSES:
        for metric in METRICS:
            for level in LEVELS:
                of = Cell(problem["frames"], kind, metric, level).figures()
                if of is not None:
                    aos = of[2] if metric == "2d" and angles else None
                    of = [of[0], of[1], aos]
                figures[f"{kind.lower()}.{metric}.{level}"] = of
    return figures


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))))
