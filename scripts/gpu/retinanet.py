#!/usr/bin/env python3
"""A detector that fills a large GPU: torchvision's RetinaNet (ResNet-50, FPN) at 800 x 800, untrained.

What it finds means nothing and stays below any threshold; what it costs is what the trained one costs. Writes NAME.onnx and
its spec NAME.ron. Needs PyTorch and torchvision.

    scripts/gpu/retinanet.py engines/retinanet
"""

import sys

import torch
from torchvision.models.detection import retinanet_resnet50_fpn

SPEC = """// RetinaNet (ResNet-50, FPN) at 800 x 800 with random weights: scripts/gpu/retinanet.py.
Camera(
    name: "retinanet", classes: ["a", "b", "c"], network: "retinanet.onnx",
    input: (tensor: "images", width: 800, height: 800),
    head: YoloAnchorFree(output: "raw"), score_threshold: 0.9, nms: (iou: 0.5),
)
"""


class Raw(torch.nn.Module):
    """Backbone and heads without decoding: `[1, 4 + classes, anchors]`."""

    def __init__(self):
        super().__init__()
        whole = retinanet_resnet50_fpn(weights=None, weights_backbone=None, num_classes=3)
        self.backbone, self.head = whole.backbone, whole.head

    def forward(self, images):
        found = self.head(list(self.backbone(images).values()))
        scores = found["cls_logits"].clamp(max=0.0).sigmoid()  # at most 0.5
        return torch.cat([found["bbox_regression"], scores], 2).permute(0, 2, 1)


torch.manual_seed(7)
name = sys.argv[1]
with torch.no_grad():
    image = torch.rand(1, 3, 800, 800)
    network = Raw().eval()
    torch.onnx.export(network, (image,), f"{name}.onnx", input_names=["images"], output_names=["raw"], external_data=False)
with open(f"{name}.ron", "w") as spec:
    spec.write(SPEC)
