"""The LiDAR pair in PointPillars form: an encoder of pillars, and a backbone with one anchor head for cars.

Boxes, anchors and directions are encoded as second.pytorch does (docs of src/detector/lidar): sides are
width, length, height; rotation is KITTI's rotation_y, so that the heading is -rotation - pi/2.
"""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from . import kitti
from .graph import ConvBn, Onnx, Torch
from .lidar import ANCHOR, CELLS, CHANNELS, GRID, MAX_POINTS, PILLAR, ROTATIONS, X, Y, Z, anchors


class LidarNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(9, CHANNELS, bias=False)
        self.norm = nn.BatchNorm1d(CHANNELS)
        c = lambda *a, **k: ConvBn(*a, **k)
        self.down2, self.at2 = c(CHANNELS, 32, stride=2), nn.ModuleList([c(32, 32)])
        self.down4, self.at4 = c(32, 48, stride=2), nn.ModuleList([c(48, 48), c(48, 48)])
        self.down8, self.at8 = c(48, 64, stride=2), nn.ModuleList([c(64, 64), c(64, 64)])
        self.side8, self.merge4 = c(64, 48, size=1), c(48, 48)
        self.side4, self.merge2 = c(48, 32, size=1), c(32, 32)
        n = len(ROTATIONS)
        self.boxes, self.classes, self.directions = (nn.Conv2d(32, n * k, 1) for k in (7, 1, 2))
        for layer in (self.boxes, self.classes, self.directions):
            nn.init.normal_(layer.weight, std=0.01)
            nn.init.zeros_(layer.bias)
        nn.init.constant_(self.classes.bias, -4.6)
        # Without it the intensities and metres that enter differ a hundredfold in size.
        self.register_buffer("gain", torch.tensor([0.05, 0.05, 1, 1, 5, 5, 2, 5, 5]))

    def encode(self, points, sweep, batch):
        """Points [k, 4] of `batch` sweeps, `sweep` [k] saying of which, to a canvas [b, c, y, x]."""
        low = torch.tensor([X[0], Y[0], Z[0]], device=points.device)
        inside = (points[:, :3] >= low).all(1) & (points[:, 0] < X[1]) & (points[:, 1] < Y[1]) & (points[:, 2] < Z[1])
        points, sweep = points[inside], sweep[inside]
        cell = ((points[:, :2] - low[:2]) / PILLAR).floor().long().clamp(max=GRID - 1)
        key = (sweep * GRID + cell[:, 1]) * GRID + cell[:, 0]
        key, order = key.sort(stable=True)
        points = points[order]
        pillars, which, count = key.unique_consecutive(return_inverse=True, return_counts=True)
        rank = torch.arange(len(key), device=key.device) - (count.cumsum(0) - count)[which]
        keep = rank < MAX_POINTS
        points, which = points[keep], which[keep]
        kept = count.clamp(max=MAX_POINTS)
        mean = torch.zeros(len(pillars), 3, device=key.device).index_add_(0, which, points[:, :3]) / kept[:, None]
        ix, iy = pillars % GRID, pillars // GRID % GRID
        middle = torch.stack([ix, iy], 1) * PILLAR + low[:2] + PILLAR / 2
        values = torch.cat([points, points[:, :3] - mean[which], points[:, :2] - middle[which]], 1) * self.gain
        # The last row is the padding: what the exported graph makes of nine zeros.
        values = self.norm(self.linear(torch.cat([values, values.new_zeros(1, 9)])))
        pad = torch.where((kept < MAX_POINTS)[:, None], values[-1:], values.new_tensor(-1e4))
        index = which[:, None].expand(-1, CHANNELS)
        best = torch.full_like(pad, -1e4).scatter_reduce(0, index, values[:-1], "amax", include_self=True)
        features = F.relu(torch.maximum(best, pad))
        canvas = features.new_zeros(batch, GRID, GRID, CHANNELS)
        canvas.view(-1, CHANNELS)[pillars] = features
        return canvas.permute(0, 3, 1, 2)

    def backbone(self, ops, x):
        x2 = ops.conv(self.down2, x)
        for layer in self.at2:
            x2 = ops.add(x2, ops.conv(layer, x2))
        x4 = ops.conv(self.down4, x2)
        for layer in self.at4:
            x4 = ops.add(x4, ops.conv(layer, x4))
        x8 = ops.conv(self.down8, x4)
        for layer in self.at8:
            x8 = ops.add(x8, ops.conv(layer, x8))
        p4 = ops.conv(self.merge4, ops.add(x4, ops.up(ops.conv(self.side8, x8))))
        p2 = ops.conv(self.merge2, ops.add(x2, ops.up(ops.conv(self.side4, p4))))
        return [ops.conv(layer, p2, relu=False) for layer in (self.boxes, self.classes, self.directions)]

    def forward(self, points, sweep, batch):
        """Corrections [b, n, 7], logits [b, n] and directions [b, n, 2] of all anchors, y, x, rotation."""
        canvas = self.encode(points, sweep, batch).contiguous(memory_format=torch.channels_last)
        boxes, classes, directions = (t.permute(0, 2, 3, 1) for t in self.backbone(Torch(), canvas))
        return boxes.reshape(batch, -1, 7), classes.reshape(batch, -1), directions.reshape(batch, -1, 2)

    def export(self, encoder, backbone):
        g = Onnx()
        gain = self.norm.weight / torch.sqrt(self.norm.running_var + self.norm.eps)
        weight = (self.linear.weight * self.gain[None] * gain[:, None]).T
        bias = self.norm.bias - self.norm.running_mean * gain
        # Adding the same to all points and cutting off below zero does not change which one is largest,
        # so both come after the maximum, where there is far less to do them on.
        x = g.node("MatMul", ["pillar_points", g.constant(weight.detach().cpu())])
        x = g.node("ReduceMax", [x], axes=[2], keepdims=0)
        x = g.node("Add", [x, g.constant(bias.detach().cpu())])
        g.node("Relu", [x], name="pillar_features")
        g.save(
            encoder,
            "jetlag-lidar-encoder",
            [("pillar_points", [1, "pillars", MAX_POINTS, 9])],
            [("pillar_features", [1, "pillars", CHANNELS])],
        )
        g = Onnx()
        names = ("box_preds", "cls_preds", "dir_cls_preds")
        for name, x in zip(names, self.backbone(g, "spatial_features")):
            g.node("Transpose", [x], name=name, perm=[0, 2, 3, 1])
        n = len(ROTATIONS)
        outputs = [(name, [1, CELLS, CELLS, n * k]) for name, k in zip(names, (7, 1, 2))]
        g.save(backbone, "jetlag-lidar-backbone", [("spatial_features", [1, CHANNELS, GRID, GRID])], outputs)


def loss(anchor, boxes, logits, directions, truth, states):
    """`truth` [b, m, 7] in the LiDAR frame; `states` [b, m]: 1 counts, 0 to be forgiven, -1 padding."""
    with torch.no_grad():
        rotation = -truth[..., 6] - np.pi / 2
        rotation = torch.remainder(rotation + np.pi, 2 * np.pi) - np.pi
        off = anchor[None, :, None, :2] - truth[:, None, :, :2]
        cos, sin = truth[:, None, :, 6].cos(), truth[:, None, :, 6].sin()
        along = (off[..., 0] * cos + off[..., 1] * sin).abs()
        across = (off[..., 1] * cos - off[..., 0] * sin).abs()
        away = off.norm(dim=-1)
        turned = torch.remainder(anchor[None, :, None, 6] - rotation[:, None] + np.pi / 2, np.pi) - np.pi / 2
        turned = turned.abs()
        real = (states == 1)[:, None]
        middle = (away < 0.85) & real
        positive = middle & (turned <= np.pi / 4)
        inside = (along < truth[:, None, :, 3] / 2) & (across < truth[:, None, :, 4] / 2) & (states >= 0)[:, None]
        # The other rotation's anchor has no car to learn, unless the car lies about between the two.
        wrong = middle & (turned > np.pi / 4 + 0.2)
        spare = inside & ~wrong
        near = torch.where(positive, away, 1e4)
        of = near.argmin(2)
        positive = positive.any(2)
        forgiven = (spare.any(2)) & ~positive
        goal = truth.gather(1, of[..., None].expand(-1, -1, 7))
        goal_rotation = rotation.gather(1, of)
        diagonal = float(np.hypot(*ANCHOR[:2]))
        sides = torch.stack([goal[..., 4], goal[..., 3], goal[..., 5]], -1).clamp(min=0.1)
        wanted = torch.cat(
            [
                (goal[..., :2] - anchor[:, :2]) / diagonal,
                (goal[..., 2:3] - anchor[:, 2:3]) / ANCHOR[2],
                torch.log(sides / anchor[:, 3:6]),
                (goal_rotation - anchor[:, 6])[..., None],
            ],
            -1,
        )
        total = positive.sum().clamp(min=1)
    boxes, logits = boxes.float(), logits.float()
    # sin(a - b), so that a car is not told to turn right around: the direction class says which end leads.
    error = torch.cat([boxes[..., :6] - wanted[..., :6], torch.sin(boxes[..., 6:] - wanted[..., 6:])], -1)
    place = F.smooth_l1_loss(error, torch.zeros_like(error), beta=1 / 9, reduction="none").sum(-1)
    chance = F.binary_cross_entropy_with_logits(logits, positive.float(), reduction="none")
    surprise = torch.where(positive, 1 - logits.sigmoid(), logits.sigmoid()).pow(2)
    way = F.cross_entropy(directions.float().flatten(0, 1), (goal_rotation > 0).long().flatten(), reduction="none")
    way = way.view_as(logits)
    return ((chance * surprise * ~forgiven).sum() + 2 * (place * positive).sum() + 0.2 * (way * positive).sum()) / total


def train(root, device):
    sweeps = kitti.load(kitti.read_sweep, root)
    listed = list(zip(kitti.names(root), sweeps))
    truths = [kitti.lidar_truth(root, name, sweep) for name, sweep in listed]
    most = max(len(c) for _, c in truths)
    boxes = torch.zeros(len(truths), most, 7)
    states = torch.full((len(truths), most), -1)
    for i, (b, c) in enumerate(truths):
        boxes[i, : len(c)], states[i, : len(c)] = torch.from_numpy(b), torch.from_numpy(c.astype(np.int64))
    boxes, states = boxes.to(device), states.to(device)
    lengths = torch.tensor([len(s) for s in sweeps], device=device)
    starts = lengths.cumsum(0) - lengths
    points = torch.from_numpy(np.concatenate(sweeps)).to(device)
    anchor = torch.from_numpy(anchors()).to(device)
    mirror = torch.tensor([1.0, -1, 1, 1], device=device)

    def step(net, pick):
        n = lengths[pick]
        sweep = torch.repeat_interleave(torch.arange(len(pick), device=device), n)
        index = starts[pick][sweep] + torch.arange(len(sweep), device=device) - (n.cumsum(0) - n)[sweep]
        flip = torch.rand(len(pick), device=device) < 0.5
        p = points[index]
        p = torch.where(flip[sweep][:, None], p * mirror, p)
        b = boxes[pick]
        mirrored = b * torch.tensor([1.0, -1, 1, 1, 1, 1, -1], device=device)
        b = torch.where(flip[:, None, None], mirrored, b)
        return loss(anchor, *net(p, sweep, len(pick)), b, states[pick])

    return LidarNet().to(device), step, len(sweeps)
