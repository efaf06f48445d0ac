"""Decodes the outputs of small networks as their families do it, and prints what is found, best first.

    heads.py OUTPUTS.json > FOUND.json

Boxes are put back from the network's input into the image by the letterbox (centred), unless they are of the image already. A row is class, score, left, top, right, bottom.
"""

import json
import sys

import numpy as np


def sigmoid(v):
    return 1 / (1 + np.exp(-v))


def softmax(v, axis=-1):
    e = np.exp(v - v.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def corners(cx, cy, w, h):
    return np.stack([cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2], axis=-1)


def cells(stride, size):
    """Column and row of each cell, row by row."""
    width, height = size[0] // stride, size[1] // stride
    ys, xs = np.mgrid[0:height, 0:width]
    return xs.ravel().astype(float), ys.ravel().astype(float)


def iou(a, b):
    w = np.minimum(a[2], b[2]) - np.maximum(a[0], b[0])
    h = np.minimum(a[3], b[3]) - np.maximum(a[1], b[1])
    both = max(w, 0) * max(h, 0)
    area = lambda r: (r[2] - r[0]) * (r[3] - r[1])
    return both / (area(a) + area(b) - both)


class Heads:
    #: Those whose boxes are of the image, as the network was told its size.
    OF_IMAGE = ("rt_detr_of_image", "paddle")

    def __init__(self, size, image):
        self.size, self.image = size, image

    def best(self, boxes, scores, threshold=0.25, overlap=0.45):
        """The best class of each box, then greedy suppression within classes."""
        found = []
        for box, row in zip(boxes, scores):
            k = int(row.argmax())
            if row[k] >= threshold:
                found.append((k, float(row[k]), box))
        found.sort(key=lambda f: -f[1])
        kept = []
        for f in found:
            if not any(g[0] == f[0] and iou(g[2], f[2]) > overlap for g in kept):
                kept.append(f)
        return kept

    def listed(self, boxes, scores, classes, first=0):
        found = [(int(c) - first, float(s), b) for b, s, c in zip(boxes, scores, classes) if s >= 0.25 and c >= first]
        return sorted(found, key=lambda f: -f[1])

    def yolov10(self, o):
        rows = o["out"][0]
        return self.listed(rows[:, :4], rows[:, 4], rows[:, 5])

    def efficient_nms(self, o):
        n = int(o["count"].ravel()[0])
        return self.listed(o["boxes"][0][:n], o["scores"][0][:n], o["classes"][0][:n])

    def tensorflow(self, o):
        n = int(o["count"][0])
        y1, x1, y2, x2 = o["boxes"][0][:n].T
        w, h = self.size
        return self.listed(np.stack([x1 * w, y1 * h, x2 * w, y2 * h], 1), o["scores"][0][:n], o["classes"][0][:n], 1)

    def mmdeploy(self, o):
        dets = o["dets"][0]
        return self.listed(dets[:, :4], dets[:, 4], o["labels"][0])

    def torchvision(self, o):
        return self.listed(o["boxes"], o["scores"], o["labels"], 1)

    def rt_detr_of_image(self, o):
        w, h = self.image
        return self.listed(o["boxes"][0] * [w, h, w, h], o["scores"][0], o["labels"][0])

    def paddle(self, o):
        rows = o["rows"][: int(o["count"][0])]
        w, h = self.image
        return self.listed(rows[:, 2:] * [w, h, w, h], rows[:, 1], rows[:, 0])

    def im_info(self, o):
        w, h = self.size
        return self.listed(o["boxes"][0] * [w, h, w, h], o["scores"][0], o["labels"][0])

    def queries(self, o):
        cx, cy, w, h = o["boxes"][0].T
        return corners(cx * self.size[0], cy * self.size[1], w * self.size[0], h * self.size[1])

    def detr(self, o):
        return self.best(self.queries(o), softmax(o["logits"][0])[:, :-1], overlap=2)

    def rt_detr(self, o):
        scores = sigmoid(o["logits"][0])
        boxes = self.queries(o)
        found = [(k, float(scores[q, k]), boxes[q]) for q in range(len(boxes)) for k in range(scores.shape[1])]
        return sorted((f for f in found if f[1] >= 0.25), key=lambda f: -f[1])

    def yolov4_tiny(self, o):
        w, h = self.size
        return self.best(o["boxes"][0, :, 0] * [w, h, w, h], o["confs"][0])

    def ssd(self, o):
        priors = []
        for stride, sides in ((16, [(12, 12), (20, 8)]), (32, [(30, 30), (40, 20)])):
            for x, y in zip(*cells(stride, self.size)):
                priors += [((x + 0.5) * stride, (y + 0.5) * stride, w, h) for w, h in sides]
        px, py, pw, ph = np.array(priors, float).T
        tx, ty, tw, th = o["loc"][0].T
        boxes = corners(px + 0.1 * tx * pw, py + 0.1 * ty * ph, pw * np.exp(0.2 * tw), ph * np.exp(0.2 * th))
        return self.best(boxes, softmax(o["conf"][0])[:, 1:])

    def maps(self, tensor, stride, anchors):
        """[1, A·K, h, w] as a list of rows, anchor by anchor."""
        a = len(anchors)
        _, ak, h, w = tensor.shape
        return tensor.reshape(a, ak // a, h * w).transpose(0, 2, 1)

    def yolov3(self, o):
        boxes, scores = [], []
        for name, stride, anchors in (("p4", 16, [(10, 13), (16, 30)]), ("p5", 32, [(30, 20), (33, 23)])):
            x, y = cells(stride, self.size)
            for rows, (aw, ah) in zip(self.maps(o[name], stride, anchors), anchors):
                cx, cy = (sigmoid(rows[:, 0]) + x) * stride, (sigmoid(rows[:, 1]) + y) * stride
                boxes.append(corners(cx, cy, np.exp(rows[:, 2]) * aw, np.exp(rows[:, 3]) * ah))
                scores.append(sigmoid(rows[:, 4:5]) * sigmoid(rows[:, 5:]))
        return self.best(np.concatenate(boxes), np.concatenate(scores))

    def yolov5_cells(self, o):
        boxes, scores = [], []
        x, y = cells(16, self.size)
        for rows, (aw, ah) in zip(o["p4"][0].reshape(2, -1, 8), [(10, 13), (16, 30)]):
            s = sigmoid(rows)
            cx, cy = (2 * s[:, 0] - 0.5 + x) * 16, (2 * s[:, 1] - 0.5 + y) * 16
            boxes.append(corners(cx, cy, (2 * s[:, 2]) ** 2 * aw, (2 * s[:, 3]) ** 2 * ah))
            scores.append(s[:, 4:5] * s[:, 5:])
        return self.best(np.concatenate(boxes), np.concatenate(scores))

    def fcos(self, o):
        x, y = cells(16, self.size)
        px, py = (x + 0.5) * 16, (y + 0.5) * 16
        left, top, right, bottom = np.exp(o["box"][0].reshape(4, -1))
        boxes = np.stack([px - left, py - top, px + right, py + bottom], 1)
        scores = np.sqrt(sigmoid(o["cls"][0].reshape(3, -1)) * sigmoid(o["centre"][0].reshape(1, -1))).T
        return self.best(boxes, scores)

    def nanodet(self, o, hold=False):
        x, y = cells(16, self.size)
        px, py = x * 16 + 7.5, y * 16 + 7.5
        left, top, right, bottom = ((softmax(o["box"][0].reshape(-1, 4, 8)) * np.arange(8)).sum(-1) * 16).T
        boxes = np.stack([px - left, py - top, px + right, py + bottom], 1)
        return self.best(np.clip(boxes, 0, self.size * 2) if hold else boxes, o["cls"][0])

    def nanodet_m(self, o):
        """As above, with boxes held within the input, as NanoDet's own code does."""
        return self.nanodet(o, hold=True)

    def yolox(self, o):
        grid = [(x, y, stride) for stride in (16, 32) for x, y in zip(*cells(stride, self.size))]
        x, y, stride = np.array(grid).T
        rows = o["out"][0]
        cx, cy = (rows[:, 0] + x) * stride, (rows[:, 1] + y) * stride
        boxes = corners(cx, cy, np.exp(rows[:, 2]) * stride, np.exp(rows[:, 3]) * stride)
        return self.best(boxes, rows[:, 4:5] * rows[:, 5:])

    def yolov5(self, o):
        rows = o["out"][0]
        return self.best(corners(*rows[:, :4].T), rows[:, 4:5] * rows[:, 5:])

    def yolov7_maps(self, o):
        boxes, scores = [], []
        fourth, fifth = o["p4"][0].reshape(2, -1, 8), self.maps(o["p5"], 32, [(30, 20), (33, 23)])
        for levels, stride, anchors in ((fourth, 16, [(10, 13), (16, 30)]), (fifth, 32, [(30, 20), (33, 23)])):
            x, y = cells(stride, self.size)
            for rows, (aw, ah) in zip(levels, anchors):
                s = sigmoid(rows)
                cx, cy = (2 * s[:, 0] - 0.5 + x) * stride, (2 * s[:, 1] - 0.5 + y) * stride
                boxes.append(corners(cx, cy, (2 * s[:, 2]) ** 2 * aw, (2 * s[:, 3]) ** 2 * ah))
                scores.append(s[:, 4:5] * s[:, 5:])
        return self.best(np.concatenate(boxes), np.concatenate(scores))

    def yolov8(self, o):
        columns = o["out"][0]
        return self.best(corners(*columns[:4]), columns[4:].T)

    def centernet(self, o):
        heat = o["hm"][0]
        padded = np.pad(heat, ((0, 0), (1, 1), (1, 1)), constant_values=-1)
        around = np.max([padded[:, i : i + 4, j : j + 8] for i in range(3) for j in range(3)], axis=0)
        scores = np.where(heat == around, heat, -1).reshape(3, -1).T
        x, y = cells(8, self.size)
        dx, dy = o["reg"][0].reshape(2, -1)
        w, h = o["wh"][0].reshape(2, -1)
        return self.best(corners((x + dx) * 8, (y + dy) * 8, w * 8, h * 8), scores)

    def classifier(self, o):
        whole = [0, 0, *self.size]
        scores = softmax(o["logits"][0])
        return sorted(((k, float(s), whole) for k, s in enumerate(scores)), key=lambda f: -f[1])

    def segmentation(self, o):
        numbers = o["logits"][0].argmax(0)
        found = []
        for k in range(1, 4):
            ys, xs = np.nonzero(numbers == k)
            if len(xs):
                sx, sy = self.size[0] / numbers.shape[1], self.size[1] / numbers.shape[0]
                box = [xs.min() * sx, ys.min() * sy, (xs.max() + 1) * sx, (ys.max() + 1) * sy]
                found.append((k - 1, len(xs) / numbers.size, box))
        return sorted(found, key=lambda f: -f[1])


def back(box, size, image):
    """From the input to the image: resized by the smaller ratio, rounded, in the middle."""
    ratio = min(size[0] / image[0], size[1] / image[1])
    inner = [round(image[0] * ratio), round(image[1] * ratio)]
    pad = [(size[0] - inner[0]) // 2, (size[1] - inner[1]) // 2]
    scale = [inner[0] / image[0], inner[1] / image[1]]
    put = [(box[i] - pad[i % 2]) / scale[i % 2] for i in range(4)]
    return [float(np.clip(put[i], 0, image[i % 2])) for i in range(4)]


def main():
    asked = json.load(open(sys.argv[1]))
    size, image = asked["input"], asked["image"]
    heads, answer = Heads(size, image), {}
    for name, outputs in asked["cases"].items():
        tensors = {key: np.array(o["values"], float).reshape(o["dims"]) for key, o in outputs.items()}
        rows = []
        for k, score, box in getattr(heads, name)(tensors):
            if name in heads.OF_IMAGE:
                box = [float(np.clip(v, 0, image[i % 2])) for i, v in enumerate(box)]
            else:
                box = back(box, size, image)
            if box[0] < box[2] and box[1] < box[3]:
                rows.append([k, score, *box])
        answer[name] = rows
    json.dump(answer, sys.stdout)


main()
