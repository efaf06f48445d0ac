"""nuScenes's figures by nuscenes-devkit, as JSON lines.

nuscenes_eval.py boxes            problems made here come from the standard input, one a line
nuscenes_eval.py drive ROOT FILE  a dataset and a result file, by DetectionEval as it is
nuscenes_eval.py time N           how many seconds each of N evaluations takes, filtering left out
"""

import json
import sys
import tempfile
import time
import types
from unittest.mock import MagicMock

# What the devkit draws and learns with is large, and nothing here comes near it.
for module in [
    "cachetools",
    "cv2",
    "matplotlib",
    "matplotlib.axes",
    "matplotlib.backends",
    "matplotlib.backends.backend_agg",
    "matplotlib.patches",
    "matplotlib.pyplot",
    "motmetrics",
    "pandas",
    "sklearn",
    "sklearn.metrics",
]:
    sys.modules[module] = MagicMock()
tqdm = types.ModuleType("tqdm")
tqdm.tqdm = lambda items, **_: items
sys.modules["tqdm"] = tqdm

import numpy as np  # noqa: E402
from nuscenes.eval.common.config import config_factory  # noqa: E402
from nuscenes.eval.common.data_classes import EvalBoxes  # noqa: E402
from nuscenes.eval.common.loaders import add_center_dist, filter_eval_boxes  # noqa: E402
from nuscenes.eval.detection.data_classes import DetectionBox  # noqa: E402
from nuscenes.eval.detection.evaluate import DetectionEval  # noqa: E402


def answer(metrics):
    content = metrics.serialize()
    nothing = lambda value: None if np.isnan(value) else float(value)  # noqa: E731
    return {
        "aps": {name: [float(aps[d]) for d in metrics.cfg.dist_ths] for name, aps in content["label_aps"].items()},
        "errors": {
            name: {metric: nothing(value) for metric, value in errors.items()}
            for name, errors in content["label_tp_errors"].items()
        },
        "mean_ap": content["mean_ap"],
        "tp_errors": content["tp_errors"],
        "nds": content["nd_score"],
    }


class Tables:
    """As much of a dataset as the filters ask for."""

    def __init__(self, problem):
        self.rows = {}
        for token, sample in problem["samples"].items():
            racks = []
            for number, (centre, size, rotation) in enumerate(sample["racks"]):
                racks.append(f"{token}-{number}")
                self.rows["sample_annotation", racks[-1]] = {
                    "category_name": "static_object.bicycle_rack", "translation": centre, "size": size,
                    "rotation": rotation,
                }
            self.rows["sample", token] = {"data": {"LIDAR_TOP": token}, "anns": racks}
            self.rows["sample_data", token] = {"ego_pose_token": token}
            self.rows["ego_pose", token] = {"translation": [*sample["ego"], 0.0]}

    def get(self, table, token):
        return self.rows[table, token]


def boxes(problem, kind):
    found = EvalBoxes()
    for token, sample in problem["samples"].items():
        rows = []
        for row in sample[kind]:
            row = dict(row, sample_token=token)
            row["velocity"] = [np.nan, np.nan] if row["velocity"] is None else row["velocity"]
            rows.append(DetectionBox.deserialize(row))
        found.add_boxes(token, rows)
    return found


def judged(problem):
    tables = Tables(problem)
    evaluation = DetectionEval.__new__(DetectionEval)
    evaluation.cfg, evaluation.verbose = config_factory("detection_cvpr_2019"), False
    filtered = [
        filter_eval_boxes(tables, add_center_dist(tables, boxes(problem, kind)), evaluation.cfg.class_range)
        for kind in ("truths", "found")
    ]
    evaluation.gt_boxes, evaluation.pred_boxes = filtered
    return evaluation


def drive(root, path):
    from nuscenes.nuscenes import NuScenes

    nusc = NuScenes(version="v1.0-mini", dataroot=root, verbose=False)
    with tempfile.TemporaryDirectory() as out:
        evaluation = DetectionEval(nusc, config_factory("detection_cvpr_2019"), path, "mini_val", out, verbose=False)
        return answer(evaluation.evaluate()[0])


if __name__ == "__main__":
    if sys.argv[1] == "drive":
        print(json.dumps(drive(*sys.argv[2:])))
    elif sys.argv[1] == "time":
        evaluation = judged(json.loads(sys.stdin.readline()))
        taken = []
        for _ in range(int(sys.argv[2])):
            begin = time.perf_counter()
            evaluation.evaluate()
            taken.append(time.perf_counter() - begin)
        print(json.dumps(taken))
    else:
        for line in sys.stdin:
            print(json.dumps(answer(judged(json.loads(line)).evaluate()[0])))
