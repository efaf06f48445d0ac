"""What the camera network's output means, and how good it is. NumPy only."""

import numpy as np

from . import judge, kitti

SIZE = (640, 384)
STRIDES = (8, 16, 32)
NMS_IOU = 0.5


def detections(run, image, least=0.05):
    """Boxes [n, 4] in pixels of the image, scores and classes that the network finds in it."""
    h, w, _ = image.shape
    out = run({"images": image.transpose(2, 0, 1)[None] / np.float32(255)})[0][0]
    kind = out[4:].argmax(0)
    score = out[4:].max(0)
    keep = score >= least
    out, kind, score = out[:, keep], kind[keep], score[keep]
    boxes = np.stack([out[0] - out[2] / 2, out[1] - out[3] / 2, out[0] + out[2] / 2, out[1] + out[3] / 2], 1)
    boxes = np.clip(boxes, 0, [w, h, w, h])
    # Far apart by class, so that only boxes of one class suppress each other.
    chosen = judge.suppress(boxes + kind[:, None] * 10000, score, judge.iou_2d, NMS_IOU)
    return boxes[chosen], score[chosen], kind[chosen]


def evaluate(run, root):
    """Verdicts and counts by class, for judge.precision_recall."""
    table = {name: ([], 0) for name in kitti.CLASSES}
    for name in kitti.names(root):
        boxes, scores, kinds = detections(run, kitti.read_image(root, name))
        truth, classes, counts = kitti.camera_objects(root, name)
        hidden = judge.covered_2d(boxes, truth[classes == -1]).max(1, initial=0) >= 0.5
        for k, kind in enumerate(kitti.CLASSES):
            of, mine = classes == k, kinds == k
            verdicts, count = judge.match(
                boxes[mine], scores[mine], truth[of], counts[of], judge.iou_2d, hidden[mine]
            )
            table[kind] = (table[kind][0] + verdicts, table[kind][1] + count)
    return table
