"""What the LiDAR pair takes and gives, and how good it is. NumPy only.

Boxes, anchors and directions are encoded as second.pytorch does: sides are width, length, height; rotation
is KITTI's rotation_y, so that the heading is -rotation - pi/2.
"""

import numpy as np

from . import judge, kitti

X, Y, Z = (0.0, 51.2), (-25.6, 25.6), (-3.0, 1.0)
PILLAR, GRID, STRIDE = 0.4, 128, 2
CELLS = GRID // STRIDE
MAX_POINTS, MAX_PILLARS, CHANNELS = 16, 4000, 32
ANCHOR, ANCHOR_Z, ROTATIONS = (1.8, 4.3, 1.6), -0.93, (0.0, 1.5708)
NMS_IOU = 0.1


def anchors():
    """Anchors [n, 7] (x, y, z, w, l, h, rotation), in the order of the outputs."""
    size = PILLAR * STRIDE
    y, x, r = np.meshgrid(
        Y[0] + size * (np.arange(CELLS) + 0.5), X[0] + size * (np.arange(CELLS) + 0.5), ROTATIONS, indexing="ij"
    )
    fixed = [np.full(x.size, v) for v in (ANCHOR_Z, *ANCHOR)]
    return np.stack([x.ravel(), y.ravel(), *fixed, r.ravel()], 1).astype(np.float32)


def pillars(points):
    """What the encoder takes of a sweep: values [p, n, 9] and cells [p, 2], in order of first appearance."""
    f = np.float32
    low, high = np.array([X[0], Y[0], Z[0]], f), np.array([X[1], Y[1], Z[1]], f)
    p = points[((points[:, :3] >= low) & (points[:, :3] < high)).all(1)]
    cell = np.minimum(np.floor((p[:, :2] - low[:2]) / f(PILLAR)).astype(np.int64), GRID - 1)
    held = {}
    for i, key in enumerate(map(tuple, cell)):
        if key not in held and len(held) == MAX_PILLARS:
            break
        rows = held.setdefault(key, [])
        if len(rows) < MAX_POINTS:
            rows.append(i)
    out = np.zeros((len(held), MAX_POINTS, 9), f)
    for row, (key, index) in zip(out, held.items()):
        q = p[index]
        middle = np.array(key, f) * f(PILLAR) + low[:2] + f(PILLAR / 2)
        row[: len(q)] = np.concatenate([q, q[:, :3] - q[:, :3].mean(0), q[:, :2] - middle], 1)
    return out, np.array(list(held)).reshape(-1, 2)


def detections(encode, backbone, points, least=0.1):
    """Boxes [n, 7] (x, y, z, l, w, h, yaw) and scores of the cars that the pair finds in a sweep."""
    values, cells = pillars(points)
    canvas = np.zeros((1, CHANNELS, GRID, GRID), np.float32)
    canvas[0, :, cells[:, 1], cells[:, 0]] = encode({"pillar_points": values[None]})[0][0]
    boxes, classes, directions = backbone({"spatial_features": canvas})
    score = 1 / (1 + np.exp(-classes.reshape(-1)))
    keep = score >= least
    t, a, score = boxes.reshape(-1, 7)[keep], anchors()[keep], score[keep]
    second = directions.reshape(-1, 2)[keep].argmax(1).astype(bool)
    at = np.concatenate([t[:, :2] * np.hypot(*ANCHOR[:2]), t[:, 2:3] * ANCHOR[2]], 1) + a[:, :3]
    w, l, h = (np.exp(t[:, 3:6]) * a[:, 3:6]).T
    rotation = t[:, 6] + a[:, 6]
    rotation = rotation + np.pi * ((rotation > 0) != second)
    found = np.concatenate([at, np.stack([l, w, h, kitti.wrap(-rotation - np.pi / 2)], 1)], 1)
    chosen = judge.suppress(found, score, judge.iou_bev, NMS_IOU, at_most=150)
    return found[chosen], score[chosen]


def evaluate(encode, backbone, root):
    verdicts, count = [], 0
    for name in kitti.names(root):
        sweep = kitti.read_sweep(root, name)
        boxes, scores = detections(encode, backbone, sweep)
        truth, counts, regions = kitti.lidar_objects(root, name, sweep)
        hidden = judge.covered_bev(boxes, truth[regions]).max(1, initial=0) >= 0.5
        some, n = judge.match(boxes, scores, truth[~regions], counts[~regions], judge.iou_bev, hidden)
        verdicts, count = verdicts + some, count + n
    return {"Car": (verdicts, count)}
