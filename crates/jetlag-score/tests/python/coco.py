"""COCO's figures by pycocotools of problems made here, as JSON lines read from the standard input.

Each line is {"classes": n, "images": [{"truths": [[class, x, y, w, h, area, crowd]], "found": [[class, x, y, w, h, score]]}]};
each answer {"stats": [12], "classes": [[ap, ap50, ap75, ar100]]}, where -1 is none. With the arguments `file PATH` detections
come from that result file instead; with `time N` the answer is how many seconds each of N evaluations takes.
"""

import contextlib
import io
import json
import sys
import time

import numpy as np
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval


def prepared(problem, results=None):
    coco = COCO()
    annotations, detections = [], []
    for number, image in enumerate(problem["images"], 1):
        for kind, x, y, w, h, area, crowd in image["truths"]:
            annotations.append({
                # From 1: pycocotools takes a match with 0 for none.
                "id": len(annotations) + 1, "image_id": number, "category_id": kind + 1, "bbox": [x, y, w, h],
                "area": area, "iscrowd": int(crowd),
            })
        for kind, x, y, w, h, score in image["found"]:
            detections.append({"image_id": number, "category_id": kind + 1, "bbox": [x, y, w, h], "score": score})
    coco.dataset = {
        "info": {},
        "images": [{"id": number} for number in range(1, len(problem["images"]) + 1)],
        "categories": [{"id": kind + 1} for kind in range(problem["classes"])],
        "annotations": annotations,
    }
    coco.createIndex()
    if results is None and not detections:
        found = COCO()
        found.dataset = {**coco.dataset, "annotations": []}
        found.createIndex()
    else:
        found = coco.loadRes(results or detections)
    return coco, found


def score(coco, found):
    judged = COCOeval(coco, found, "bbox")
    judged.evaluate()
    judged.accumulate()
    judged.summarize()
    return judged


def known(values):
    values = values[values > -1]
    return float(np.mean(values)) if len(values) else -1.0


def answer(problem, results=None):
    judged = score(*prepared(problem, results))
    precision, recall = judged.eval["precision"][:, :, :, 0, 2], judged.eval["recall"][:, :, 0, 2]
    classes = [
        [known(precision[:, :, k]), known(precision[0, :, k]), known(precision[5, :, k]), known(recall[:, k])]
        for k in range(problem["classes"])
    ]
    return {"stats": [float(value) for value in judged.stats], "classes": classes}


def seconds(problem, runs):
    coco, found = prepared(problem)
    taken = []
    for _ in range(runs):
        judged = COCOeval(coco, found, "bbox")
        begin = time.perf_counter()
        judged.evaluate()
        judged.accumulate()
        taken.append(time.perf_counter() - begin)
    return taken


if __name__ == "__main__":
    results = sys.argv[2] if sys.argv[1:2] == ["file"] else None
    answers = []
    with contextlib.redirect_stdout(io.StringIO()):
        for line in sys.stdin:
            problem = json.loads(line)
            if sys.argv[1:2] == ["time"]:
                answers.append(seconds(problem, int(sys.argv[2])))
            else:
                answers.append(answer(problem, results))
    for one in answers:
        print(json.dumps(one))
