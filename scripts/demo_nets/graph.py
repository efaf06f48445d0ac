"""One description of a network, run by PyTorch in training and written down as ONNX afterwards.

A network's `forward(ops, x)` calls the operations below by name. `Torch` carries them out; `Onnx` notes
them, with each BatchNorm folded into its convolution, so that the file holds plain operators only.
"""

import numpy as np
import onnx
import torch
import torch.nn.functional as F
from onnx import TensorProto, helper, numpy_helper
from torch import nn


class ConvBn(nn.Module):
    """Convolution and BatchNorm, with no bias of its own."""

    def __init__(self, cin, cout, size=3, stride=1, pad=None):
        super().__init__()
        self.conv = nn.Conv2d(cin, cout, size, stride, size // 2 if pad is None else pad, bias=False)
        self.bn = nn.BatchNorm2d(cout)

    def folded(self):
        gain = self.bn.weight / torch.sqrt(self.bn.running_var + self.bn.eps)
        return self.conv.weight * gain[:, None, None, None], self.bn.bias - self.bn.running_mean * gain


class Torch:
    def conv(self, layer, x, relu=True):
        x = layer.bn(layer.conv(x)) if isinstance(layer, ConvBn) else layer(x)
        return F.relu(x) if relu else x

    def add(self, a, b):
        return a + b

    def up(self, x):
        return F.interpolate(x, scale_factor=2, mode="nearest")


class Onnx:
    def __init__(self):
        self.nodes, self.constants, self.weights, self.count = [], [], {}, 0

    def constant(self, value, dtype=np.float32):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def node(self, op, inputs, name=None, **attributes):
        self.count += 1
        name = name or f"t{self.count}"
        self.nodes.append(helper.make_node(op, inputs, [name], name=f"{op}_{self.count}", **attributes))
        return name

    def conv(self, layer, x, relu=True):
        conv = layer.conv if isinstance(layer, ConvBn) else layer
        if layer not in self.weights:
            values = layer.folded() if isinstance(layer, ConvBn) else (layer.weight, layer.bias)
            # A head that several levels share is written once.
            self.weights[layer] = [self.constant(v.detach().cpu()) for v in values]
        p, s = conv.padding[0], conv.stride[0]
        out = self.node(
            "Conv",
            [x, *self.weights[layer]],
            kernel_shape=list(conv.kernel_size),
            pads=[p] * 4,
            strides=[s, s],
        )
        return self.node("Relu", [out]) if relu else out

    def add(self, a, b):
        return self.node("Add", [a, b])

    def up(self, x):
        scales = self.constant([1, 1, 2, 2])
        attributes = dict(mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")
        return self.node("Resize", [x, "", scales], **attributes)

    def save(self, path, name, inputs, outputs):
        """`inputs` and `outputs` are pairs of a name and a shape."""
        info = lambda pairs: [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in pairs]
        graph = helper.make_graph(self.nodes, name, info(inputs), info(outputs), self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], producer_name="jetlag")
        model.ir_version = 8
        onnx.checker.check_model(model, full_check=True)
        onnx.save(model, path)
        return path
