"""Reads the KITTI-format folders that `jetlag data synth` writes: images, sweeps and what counts in them.

The rules of what counts are those of src/source/synthetic/mod.rs. An object that does not count is to be
forgiven: finding it is neither right nor wrong. A detector is judged by `*_objects`, as `jetlag eval` judges it;
it is trained on `*_truth`, which forgives whatever class it takes such an object for.
"""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from PIL import Image

CLASSES = ["Car", "Pedestrian", "Cyclist"]
MIN_HEIGHT, MAX_TRUNCATED, MAX_OCCLUDED = 25.0, 0.5, 1
MIN_POINTS, RANGE = 10, (0.0, 51.2, -25.6, 25.6)
GROUND = -1.73


def names(root):
    return sorted(p.stem for p in Path(root, "label_2").glob("*.txt"))


def read_image(root, name):
    return np.asarray(Image.open(Path(root, "image_2", name + ".png")).convert("RGB"))


def read_sweep(root, name):
    return np.fromfile(Path(root, "velodyne", name + ".bin"), np.float32).reshape(-1, 4)


def read_rows(root, name):
    rows = [line.split() for line in Path(root, "label_2", name + ".txt").read_text().splitlines()]
    return [(r[0], np.array(r[1:15], np.float64)) for r in rows if r]


def camera_objects(root, name):
    """Boxes [n, 4] in pixels of the image, classes [n] (-1: a DontCare, which says no class), [n] whether each counts."""
    boxes, classes, counts = [], [], []
    for kind, v in read_rows(root, name):
        box = v[3:7]
        if box[2] <= box[0]:
            continue
        classes.append(CLASSES.index(kind) if kind in CLASSES else -1)
        counts.append(
            kind in CLASSES
            and box[3] - box[1] >= MIN_HEIGHT
            and v[0] <= MAX_TRUNCATED
            and v[1] <= MAX_OCCLUDED
        )
        boxes.append(box)
    return np.array(boxes, np.float32).reshape(-1, 4), np.array(classes, np.int64), np.array(counts, bool)


def camera_truth(root, name):
    """Boxes [n, 4] in pixels of the image and classes [n]; class -1 is to be forgiven."""
    boxes, classes, counts = camera_objects(root, name)
    return boxes, np.where(counts, classes, -1)


def lidar_truth(root, name, sweep):
    """Boxes [n, 7] of cars in the LiDAR frame (x, y, z, l, w, h, yaw) and [n] whether each counts."""
    return lidar_objects(root, name, sweep)[:2]


def lidar_objects(root, name, sweep):
    """Boxes [n, 7] in the LiDAR frame (x, y, z, l, w, h, yaw), [n] whether each counts, [n] whether it is a region.

    A DontCare does not say what it is: a region, and to be forgiven. The camera of the synthetic
    scenes looks along the LiDAR's x, so that turning a box into the LiDAR's frame is a change of axes.
    """
    calib = dict(
        line.split(":", 1) for line in Path(root, "calib", name + ".txt").read_text().splitlines() if ":" in line
    )
    tr = np.array(calib["Tr_velo_to_cam"].split(), np.float64).reshape(3, 4)
    boxes, counts, regions = [], [], []
    for kind, v in read_rows(root, name):
        if kind not in ("Car", "DontCare") or v[7] <= 0:
            continue
        h, w, l, x, y, z, ry = v[7:14]
        at = tr[:, :3].T @ (np.array([x, y - h / 2, z]) - tr[:, 3])
        box = np.array([*at, l, w, h, wrap(-ry - np.pi / 2)])
        inside = RANGE[0] <= at[0] < RANGE[1] and RANGE[2] <= at[1] < RANGE[3]
        boxes.append(box)
        counts.append(kind == "Car" and inside and points_on(sweep, box) >= MIN_POINTS)
        regions.append(kind == "DontCare")
    return np.array(boxes, np.float32).reshape(-1, 7), np.array(counts, bool), np.array(regions, bool)


def points_on(sweep, box, margin=0.05):
    d = sweep[:, :3] - box[:3]
    c, s = np.cos(box[6]), np.sin(box[6])
    along, across = d[:, 0] * c + d[:, 1] * s, d[:, 1] * c - d[:, 0] * s
    inside = (abs(along) <= box[3] / 2 + margin) & (abs(across) <= box[4] / 2 + margin)
    return int((inside & (abs(d[:, 2]) <= box[5] / 2 + margin) & (sweep[:, 2] > GROUND + 0.12)).sum())


def wrap(a):
    return (a + np.pi) % (2 * np.pi) - np.pi


def load(read, root, threads=16):
    """`read(root, name)` of every frame, in order."""
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(lambda name: read(root, name), names(root)))
