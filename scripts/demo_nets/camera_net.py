"""The camera network: 640x384 pixels to boxes of three classes, anchor-free, at strides 8, 16 and 32.

Trained with task-aligned assignment (Feng et al., TOOD, 2021): the cells that both classify and locate an
object best are the ones that learn it.
"""

import copy
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from . import kitti
from .camera import SIZE, STRIDES
from .graph import ConvBn, Onnx, Torch


class CameraNet(nn.Module):
    def __init__(self):
        super().__init__()
        c = lambda *a, **k: ConvBn(*a, **k)
        # Wide and coarse at once: small objects keep the detail of full resolution, and the costly
        # layers stay few cells large.
        self.stem = c(3, 32, size=6, stride=4, pad=1)
        self.down8, self.at8 = c(32, 40, stride=2), nn.ModuleList([c(40, 40)])
        self.down16, self.at16 = c(40, 56, stride=2), nn.ModuleList([c(56, 56), c(56, 56)])
        self.down32, self.at32 = c(56, 64, stride=2), nn.ModuleList([c(64, 64), c(64, 64)])
        self.side16, self.side32 = c(56, 40, size=1), c(64, 40, size=1)
        self.merge16, self.merge8 = c(40, 40), c(40, 40)
        self.out = nn.ModuleList([nn.Conv2d(40, 4 + len(kitti.CLASSES), 1) for _ in STRIDES])
        points, strides = [], []
        for s, out in zip(STRIDES, self.out):
            nn.init.normal_(out.weight, std=0.01)
            with torch.no_grad():
                out.bias[:] = torch.tensor([0.0, 0.0, 1.0, 1.0, -4.6, -4.6, -4.6])
            y, x = np.mgrid[0 : SIZE[1] // s, 0 : SIZE[0] // s]
            points.append(np.stack([x.ravel() + 0.5, y.ravel() + 0.5]) * s)
            strides.append(np.full(x.size, s))
        self.register_buffer("points", torch.tensor(np.concatenate(points, 1), dtype=torch.float32))
        self.register_buffer("strides", torch.tensor(np.concatenate(strides), dtype=torch.float32))

    def levels(self, ops, x):
        """Raw outputs [b, 7, h, w] of the three levels."""
        x8 = ops.conv(self.down8, ops.conv(self.stem, x))
        for layer in self.at8:
            x8 = ops.add(x8, ops.conv(layer, x8))
        x16 = ops.conv(self.down16, x8)
        for layer in self.at16:
            x16 = ops.add(x16, ops.conv(layer, x16))
        x32 = ops.conv(self.down32, x16)
        for layer in self.at32:
            x32 = ops.add(x32, ops.conv(layer, x32))
        p32 = ops.conv(self.side32, x32)
        p16 = ops.conv(self.merge16, ops.add(ops.conv(self.side16, x16), ops.up(p32)))
        p8 = ops.conv(self.merge8, ops.add(x8, ops.up(p16)))
        return [ops.conv(out, p, relu=False) for out, p in zip(self.out, (p8, p16, p32))]

    def forward(self, x):
        """Boxes [b, n, 4] (x1, y1, x2, y2 in network pixels) and logits [b, n, 3]."""
        with torch.autocast("cuda", torch.bfloat16):
            levels = self.levels(Torch(), x)
        raw = torch.cat([p.flatten(2) for p in levels], 2).float()
        middle = raw[:, :2] * self.strides + self.points
        half = torch.exp(raw[:, 2:4].clamp(max=6)) * self.strides / 2
        return torch.cat([middle - half, middle + half], 1).transpose(1, 2), raw[:, 4:].transpose(1, 2)

    def export(self, path):
        """Writes `output0` as YOLOv8 does: [1, 4 + classes, n] of cx, cy, w, h in network pixels, scores."""
        g = Onnx()
        flat = []
        for level, stride in zip(self.folded().levels(g, "images"), STRIDES):
            cells = SIZE[0] * SIZE[1] // stride**2
            flat.append(g.node("Reshape", [level, g.constant([1, 7, cells], np.int64)]))
        raw = g.node("Concat", flat, axis=2)
        part = lambda a, b: g.node("Slice", [raw, *(g.constant([v], np.int64) for v in (a, b, 1))])
        middle = g.node("Add", [part(0, 2), g.constant(self.points.cpu()[None])])
        extent = g.node("Exp", [part(2, 4)])
        scores = g.node("Sigmoid", [part(4, 7)])
        g.node("Concat", [middle, extent, scores], name="output0", axis=1)
        n = len(self.strides)
        return g.save(path, "jetlag-camera", [("images", [1, 3, SIZE[1], SIZE[0]])], [("output0", [1, 7, n])])

    @torch.no_grad()
    def folded(self):
        """The same network with the strides multiplied into the last layers, which spares the graph that
        arithmetic and its constants."""
        net = copy.deepcopy(self)
        for out, stride in zip(net.out, STRIDES):
            out.weight[:2] *= stride
            out.bias[:2] *= stride
            out.bias[2:4] += math.log(stride)
        return net


def overlap(a, b, generalised=False):
    """IoU (or GIoU) of boxes that broadcast against each other."""
    low, high = torch.maximum(a[..., :2], b[..., :2]), torch.minimum(a[..., 2:], b[..., 2:])
    both = (high - low).clamp(min=0).prod(-1)
    area = lambda v: (v[..., 2:] - v[..., :2]).clamp(min=0).prod(-1)
    union = area(a) + area(b) - both + 1e-7
    iou = both / union
    if not generalised:
        return iou
    hull = (torch.maximum(a[..., 2:], b[..., 2:]) - torch.minimum(a[..., :2], b[..., :2])).prod(-1) + 1e-7
    return iou - (hull - union) / hull


def loss(net, boxes, logits, truth, classes):
    """`truth` [b, m, 4], `classes` [b, m]: 0.. for an object, -1 to be forgiven, -2 for padding."""
    points, strides = net.points.T, net.strides
    real = classes >= 0
    with torch.no_grad():
        iou = overlap(truth[:, :, None], boxes[:, None])
        score = logits.sigmoid().transpose(1, 2).gather(1, classes.clamp(min=0)[:, :, None].expand_as(iou))
        p = points[None, None]
        within = ((p > truth[:, :, None, :2]) & (p < truth[:, :, None, 2:])).all(-1)
        middle = (truth[:, :, None, :2] + truth[:, :, None, 2:]) / 2
        near = ((p - middle).abs() < strides[:, None] * 0.6).all(-1)
        candidate = (within | near) & real[:, :, None]
        fit = (score.sqrt() * iou.pow(5) + 1e-9) * candidate
        top = fit.topk(9, -1)
        chosen = torch.zeros_like(fit, dtype=torch.bool).scatter_(-1, top.indices, top.values > 0)
        # A cell that several objects chose learns the one that it overlaps most.
        best = torch.where(chosen, iou, -1.0).argmax(1)
        positive = chosen.any(1)
        chosen &= F.one_hot(best, truth.shape[1]).transpose(1, 2).bool()
        strength = fit * chosen
        strength = strength / (strength.amax(-1, keepdim=True) + 1e-9)
        strength = (strength * (iou * chosen).amax(-1, keepdim=True)).amax(1)
        goal = truth.gather(1, best[..., None].expand(-1, -1, 4))
        kind = classes.clamp(min=0).gather(1, best)
        wanted = F.one_hot(kind, logits.shape[-1]) * (strength * positive)[..., None]
        spare = classes == -1
        forgiven = ((p > truth[:, :, None, :2] - 6) & (p < truth[:, :, None, 2:] + 6)).all(-1)
        forgiven = (forgiven & spare[:, :, None]).any(1) & ~positive
        total = wanted.sum().clamp(min=1)
    chance = F.binary_cross_entropy_with_logits(logits, wanted, reduction="none").sum(-1)
    place = (1 - overlap(boxes, goal, generalised=True)) * strength * positive
    return ((chance * ~forgiven).sum() + 4 * place.sum()) / total


def train(root, device):
    images = torch.from_numpy(np.stack(kitti.load(kitti.read_image, root)))
    images = images.permute(0, 3, 1, 2).contiguous().to(device)
    truths = kitti.load(kitti.camera_truth, root)
    most = max(len(c) for _, c in truths)
    boxes = torch.zeros(len(truths), most, 4)
    classes = torch.full((len(truths), most), -2)
    for i, (b, c) in enumerate(truths):
        boxes[i, : len(c)], classes[i, : len(c)] = torch.from_numpy(b), torch.from_numpy(c)
    boxes, classes = boxes.to(device), classes.to(device)

    def sample(pick):
        x = images[pick].float() / 255
        gain = torch.empty(len(pick), 3, 1, 1, device=device).uniform_(0.85, 1.15)
        lift = torch.empty(len(pick), 1, 1, 1, device=device).uniform_(-0.06, 0.06)
        x = x * gain + lift
        x = (x + torch.randn_like(x) * 0.01).clamp(0, 1)
        b = boxes[pick]
        flip = torch.rand(len(pick), device=device) < 0.5
        x = torch.where(flip[:, None, None, None], x.flip(3), x)
        mirrored = torch.stack([SIZE[0] - b[..., 2], b[..., 1], SIZE[0] - b[..., 0], b[..., 3]], -1)
        return x, torch.where(flip[:, None, None], mirrored, b), classes[pick]

    def step(net, pick):
        x, b, c = sample(pick)
        found, logits = net(x.contiguous(memory_format=torch.channels_last))
        return loss(net, found, logits, b, c)

    net = CameraNet().to(device, memory_format=torch.channels_last)
    return net, step, len(images)
