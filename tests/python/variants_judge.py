"""Networks for `jetlag data variants`, and ONNX Runtime as the judge of what it makes of them.

    variants_judge.py make FOLDER            writes networks of known structure
    variants_judge.py check NET DIR [same]   runs NET and all of DIR

Of each layer of a made network half of the channels are zero: their weights, biases and whatever is added to them. Removed by their
weights (--mode l1) at 50 %, they and no others go, so that the outputs stay what they were; `same` holds them to that. Otherwise
the outputs have to have their shapes.
"""

import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper


class Net:
    """A graph in the making; every method adds nodes and answers the name of what they make."""

    def __init__(self, opset, seed, ir=8, typed=False):
        self.opset, self.ir, self.typed = opset, ir, typed
        self.draws = np.random.default_rng(seed)
        self.nodes, self.weights, self.inputs, self.outputs, self.zeros = [], {}, [], [], {}

    def input(self, name, shape):
        self.inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
        return name

    def output(self, tensor, shape):
        self.outputs.append(helper.make_tensor_value_info(tensor, TensorProto.FLOAT, shape))

    def weight(self, array, name=None):
        name = name or f"w{len(self.weights)}"
        self.weights[name] = np.asarray(array)
        return name

    def ints(self, *values):
        return self.weight(np.array(values, np.int64))

    def op(self, operator, *inputs, outputs=1, **attributes):
        names = [f"t{len(self.nodes)}_{at}" for at in range(outputs)]
        attributes = {key: value for key, value in attributes.items() if value is not None}
        self.nodes.append(helper.make_node(operator, list(inputs), names, name=f"n{len(self.nodes)}", **attributes))
        return names[0] if outputs == 1 else names

    def random(self, *shape):
        return self.draws.normal(size=shape).astype(np.float32) + np.float32(0.2)

    def dead(self, count, like=None):
        """Half of so many channels, drawn once for each name."""
        if like is None or like not in self.zeros:
            dead = np.zeros(count, bool)
            dead[self.draws.permutation(count)[: count // 2]] = True
            if like is None:
                return dead
            self.zeros[like] = dead
        return self.zeros[like]

    def vector(self, dead, least=-1.0):
        values = self.draws.uniform(least, 1.5, size=len(dead)).astype(np.float32)
        values[dead] = 0
        return self.weight(values)

    def conv(self, x, takes, dead, kernel=1, group=1, transposed=False, **attributes):
        makes = len(dead)
        if transposed:
            w = self.random(takes, makes // group, kernel, kernel)
            for channel in np.flatnonzero(dead):
                per = makes // group
                rows = slice(channel // per * (takes // group), (channel // per + 1) * (takes // group))
                w[rows, channel % per] = 0
        else:
            w = self.random(makes, takes // group, kernel, kernel)
            w[dead] = 0
        attributes.setdefault("pads", [kernel // 2] * 4)
        operator = "ConvTranspose" if transposed else "Conv"
        return self.op(operator, x, self.weight(w), self.vector(dead), group=group, kernel_shape=[kernel] * 2, **attributes)

    def norm(self, x, dead, operator="BatchNormalization"):
        more = [] if operator != "BatchNormalization" else [self.weight(self.draws.uniform(0, 0, len(dead)).astype(np.float32)),
                                                            self.weight(self.draws.uniform(0.5, 2, len(dead)).astype(np.float32))]
        return self.op(operator, x, self.vector(dead), self.vector(dead), *more)

    def save(self, path):
        inputs = list(self.inputs)
        tensors = []
        for name, array in self.weights.items():
            if self.typed and array.dtype == np.float32:
                tensors.append(helper.make_tensor(name, TensorProto.FLOAT, array.shape, array.flatten().tolist()))
            else:
                tensors.append(numpy_helper.from_array(array, name))
            if self.ir < 4:
                kind = helper.np_dtype_to_tensor_dtype(array.dtype)
                inputs.append(helper.make_tensor_value_info(name, kind, array.shape))
        graph = helper.make_graph(self.nodes, path.stem, inputs, self.outputs, tensors)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=self.ir)
        model.metadata_props.add(key="note", value="is kept")
        model = onnx.shape_inference.infer_shapes(model)
        onnx.checker.check_model(model, full_check=True)
        onnx.save(model, path)


def residual():
    """Blocks whose sums tie them, in the oldest file format that is read: weights are inputs, and numbers are in typed lists."""
    net = Net(7, 1, ir=3, typed=True)
    x = net.input("x", [1, 3, 16, 16])
    stem = net.dead(16, "a")
    x = net.op("LRN", net.op("Relu", net.norm(net.conv(x, 3, stem, 3), stem)), size=1)
    for _ in range(2):
        inner = net.dead(24)
        y = net.op("Relu", net.norm(net.conv(x, 16, inner, 3), inner))
        y = net.norm(net.conv(y, 24, stem, 3), stem)
        x = net.op("Relu", net.op("Add", y, x))
    wide = net.dead(32, "b")
    y = net.conv(x, 16, wide, 3, strides=[2, 2])
    x = net.op("Sum", y, net.conv(x, 16, wide, 1, strides=[2, 2]))
    x = net.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = net.op("Flatten", x)
    hidden = net.dead(20)
    w = net.random(32 * 16, 20)
    w[:, hidden] = 0
    x = net.op("Gemm", x, net.weight(w), net.vector(hidden))
    w = net.random(5, 20)
    x = net.op("Softmax", net.op("Gemm", net.op("Relu", x), net.weight(w), net.weight(net.random(5)), transB=1))
    net.output(x, [1, 5])
    return net


def mobile():
    """Depthwise convolutions, gates, and products with matrices."""
    net = Net(13, 2)
    x = net.input("x", ["batch", 3, 16, 16])
    dead = net.dead(8, "a")
    x = net.op("Clip", net.conv(x, 3, dead, 3), net.weight(np.float32(0)), net.weight(np.float32(6)))
    for _ in range(2):
        wide = net.dead(24)
        y = net.op("HardSwish" if net.opset > 13 else "LeakyRelu", net.norm(net.conv(x, 8, wide), wide))
        y = net.op("PRelu", net.conv(y, 24, wide, 3, group=24), net.weight(net.random(24, 1, 1)))
        gate = net.op("GlobalAveragePool", y)
        small = net.dead(6)
        gate = net.op("Relu", net.conv(gate, 24, small))
        gate = net.op("HardSigmoid", net.conv(gate, 6, np.zeros(24, bool)))
        y = net.op("Mul", y, gate)
        x = net.op("Add", x, net.conv(y, 24, dead))
    # Two channels for each that it takes.
    dead = np.repeat(dead, 2)
    x = net.conv(x, 8, dead, 3, group=8)
    x = net.op("ReduceMean", x, axes=[2, 3], keepdims=1)
    x = net.op("Reshape", x, net.ints(0, -1))
    hidden = net.dead(12)
    w = net.random(16, 12)
    w[:, hidden] = 0
    x = net.op("Add", net.op("MatMul", x, net.weight(w)), net.vector(hidden))
    x = net.op("MatMul", net.op("Tanh", x), net.weight(net.random(12, 4)))
    net.output(x, ["batch", 4])
    return net


def joined():
    """Concatenations, parts and sizes, as in YOLO's networks."""
    net = Net(11, 3)
    x = net.input("images", ["batch", 3, 32, 32])
    quarters = []
    for row in (0, 1):
        for column in (0, 1):
            y = net.op("Slice", x, net.ints(row), net.ints(1 << 40), net.ints(2), net.ints(2))
            quarters.append(net.op("Slice", y, net.ints(column), net.ints(1 << 40), net.ints(3), net.ints(2)))
    x = net.op("Concat", *quarters, axis=1)
    stem = net.dead(16)
    x = net.conv(x, 12, stem, 3)
    x = net.op("Mul", x, net.op("Sigmoid", x))
    one, other = net.dead(8, "csp"), net.dead(8)
    y = net.op("Add", net.conv(x, 16, one), net.conv(x, 16, one, 3))
    x = net.op("Concat", y, net.conv(x, 16, other), axis=1)
    small = net.dead(10)
    x = net.conv(x, 16, small)
    pools = [net.op("MaxPool", x, kernel_shape=[k, k], pads=[k // 2] * 4) for k in (3, 5)]
    deep = net.op("Concat", x, *pools, axis=1)
    down = net.dead(12, "down")
    y = net.conv(deep, 30, down, 3, strides=[2, 2])
    up = net.op("Resize", y, net.weight(np.zeros(0, np.float32)), net.weight(np.array([1, 1, 2, 2], np.float32)))
    x = net.op("Concat", up, x, axis=1)
    halves = np.concatenate([net.dead(6), net.dead(10)])
    first, second = net.op("Split", net.conv(x, 22, halves), outputs=2, axis=1, split=[6, 10])
    x = net.op("Concat", net.conv(first, 6, net.dead(6), 3), second, axis=1)
    heads = []
    for channels in (4, 2):
        head = net.conv(x, 16, np.zeros(channels, bool))
        heads.append(net.op("Reshape", head, net.ints(0, channels, -1)))
    x = net.op("Transpose", net.op("Concat", *heads, axis=1), perm=[0, 2, 1])
    net.output(x, ["batch", 256, 6])
    return net


def grouped():
    """Groups of both kinds, shuffles, transposed convolutions, blocks of pixels."""
    net = Net(17, 4)
    x = net.input("x", [2, 3, 8, 8])
    dead = np.tile(net.dead(8), 4)
    x = net.norm(net.conv(x, 3, dead, 3), dead)
    x = net.conv(x, 32, dead, 3, group=4)
    x = net.op("Reshape", x, net.ints(2, 4, 8, 8, 8))
    x = net.op("Reshape", net.op("Transpose", x, perm=[0, 2, 1, 3, 4]), net.ints(2, 32, 8, 8))
    groups = np.repeat(net.dead(16), 2)
    x = net.conv(x, 32, groups, 1)
    x = net.conv(x, 32, groups, 3, group=16)
    up = net.dead(12)
    x = net.conv(x, 32, up, 2, transposed=True, strides=[2, 2], pads=[0] * 4)
    x = net.norm(x, up, "InstanceNormalization")
    x = net.conv(x, 12, up, 3, transposed=True, group=12)
    blocks = np.tile(net.dead(6), 4)
    x = net.op("DepthToSpace", net.conv(x, 12, blocks), blocksize=2, mode="DCR")
    x = net.op("Pad", x, net.ints(0, 0, 1, 1, 0, 0, 1, 1))
    columns = np.concatenate([net.dead(6), net.dead(4)])
    x = net.conv(x, 6, columns)
    first = net.op("Slice", x, net.ints(0), net.ints(6), net.ints(1))
    second = net.op("Slice", x, net.ints(-4), net.ints(1 << 40), net.ints(1))
    pairs = np.tile(net.dead(4), 2)
    x = net.op("Sub", net.conv(first, 6, pairs), net.conv(second, 4, pairs))
    # Both sets of columns are tied by parts of one size.
    first, second = net.op("Split", x, outputs=2, axis=1)
    x = net.conv(net.op("Max", first, second), 4, np.zeros(3, bool))
    net.output(x, [2, 3, 34, 34])
    return net


def shared():
    """Weights that two layers have, weights made by nodes, shapes that are computed when the network runs."""
    net = Net(23, 5, ir=11)
    x = net.input("x", ["batch", 3, 8, 8])
    dead = np.tile(net.dead(4), 2)
    x = net.op("Gelu", net.conv(x, 3, dead))
    w = net.random(8, 8, 3, 3)
    w[dead] = 0
    w = net.op("Constant", value=numpy_helper.from_array(w, "inner"))
    bias = net.vector(dead)
    bias_again = net.op("Identity", bias)
    x = net.op("Add", net.op("Conv", x, w, bias, pads=[1] * 4), net.op("Conv", net.op("Relu", x), w, bias_again, pads=[1] * 4))
    # A shuffle of two groups, for which the exporter asked some sizes and knew others.
    shape = net.op("Shape", x)
    batch = net.op("Unsqueeze", net.op("Gather", shape, net.weight(np.int64(0)), axis=0), net.ints(0))
    sides = net.op("Slice", shape, net.ints(2), net.ints(4), net.ints(0))
    x = net.op("Reshape", x, net.op("Concat", batch, net.ints(2), net.ints(4), sides, axis=0))
    x = net.op("Transpose", x, perm=[0, 2, 1, 3, 4])
    x = net.op("Reshape", x, net.op("Concat", batch, net.op("Unsqueeze", net.weight(np.int64(8)), net.ints(0)), sides, axis=0))
    dead = np.repeat(dead[:4], 2)
    scale = net.op("Unsqueeze", net.vector(dead), net.ints(1, 2))
    shift = net.op("Reshape", net.vector(dead), net.ints(1, 8, 1, 1))
    x = net.op("Add", net.op("Mul", x, scale), shift)
    shape = net.op("Shape", x)
    sizes = net.op("Slice", shape, net.ints(2), net.ints(4), net.ints(0))
    twice = net.op("Mul", sizes, net.ints(2))
    front = net.op("Slice", shape, net.ints(0), net.ints(2), net.ints(0))
    x = net.op("Resize", x, "", "", net.op("Concat", front, twice, axis=0), mode="nearest")
    x = net.op("AveragePool", x, kernel_shape=[2, 2], strides=[4, 4])
    batch = net.op("Unsqueeze", net.op("Gather", net.op("Shape", x), net.weight(np.int64(0)), axis=0), net.ints(0))
    x = net.op("Reshape", x, net.op("Concat", batch, net.ints(-1), axis=0))
    hidden = net.dead(16)
    w = net.random(16, 8 * 16)
    w[hidden] = 0
    x = net.op("MatMul", x, net.op("Transpose", net.weight(w), perm=[1, 0]))
    x = net.op("Mul", x, net.vector(hidden))
    x = net.op("Gemm", x, net.weight(net.random(16, 4)), net.weight(net.random(1, 4)), alpha=0.5)
    net.output(x, ["batch", 4])
    return net


def normed():
    """Norms along the channels, and tensors stretched to others: what is zero counts there, so only shapes are judged."""
    net = Net(21, 6, ir=10)
    x = net.input("x", ["batch", 3, 8, 8])
    all_alive = np.zeros(16, bool)
    x = net.conv(x, 3, all_alive, 3)
    x = net.op("GroupNormalization", x, net.vector(all_alive), net.vector(all_alive), num_groups=4)
    x = net.op("Mul", x, net.op("Softmax", x, axis=1))
    x = net.op("Reshape", net.op("Transpose", x, perm=[0, 2, 3, 1]), net.ints(0, 64, 16))
    y = net.op("LayerNormalization", x, net.vector(all_alive), net.vector(all_alive), axis=-1)
    y = net.op("Add", net.op("MatMul", y, net.weight(net.random(16, 40))), net.weight(net.random(40)))
    x = net.op("Add", x, net.op("MatMul", net.op("Gelu", y), net.weight(net.random(40, 16))))
    most = net.op("Expand", net.op("ReduceMax", x, net.ints(1), keepdims=1), net.ints(1, 64, 16))
    first = net.op("Tile", net.op("Slice", x, net.ints(0), net.ints(1), net.ints(1)), net.ints(1, 64, 1))
    x = net.op("Where", net.op("Less", x, most), x, first)
    x = net.op("Squeeze", net.op("Unsqueeze", x, net.ints(0)), net.ints(0))
    x = net.op("MatMul", net.op("ReduceMean", x, net.ints(1), keepdims=0), net.weight(net.random(16, 5)))
    net.output(x, ["batch", 5])
    return net


def half():
    """Weights of 16 bits."""
    net = Net(17, 7)
    x = net.op("Cast", net.input("x", [1, 3, 8, 8]), to=TensorProto.FLOAT16)

    def weight(*shape):
        return net.weight(net.random(*shape).astype(np.float16))

    x = net.op("Relu", net.op("Conv", x, weight(16, 3, 3, 3), weight(16)))
    x = net.op("Conv", x, weight(16, 1, 3, 3), weight(16), group=16)
    x = net.op("Cast", net.op("Conv", x, weight(4, 16, 1, 1)), to=TensorProto.FLOAT)
    net.output(x, [1, 4, 4, 4])
    return net


NETS = {"residual": residual, "mobile": mobile, "joined": joined, "grouped": grouped, "shared": shared, "normed": normed, "half": half}


def run(path):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    draws = np.random.default_rng(9)
    fed = {}
    for tensor in session.get_inputs():
        shape = [size if isinstance(size, int) else 2 for size in tensor.shape]
        fed[tensor.name] = draws.normal(size=shape).astype(np.float32)
    return session.run(None, fed)


def check(net, folder, is_same):
    wanted = run(net)
    found = sorted(Path(folder).glob("*.onnx"))
    assert found, f"nothing in {folder}"
    for path in found:
        model = onnx.load(path)
        before = onnx.load(net)
        assert model.metadata_props == before.metadata_props and model.opset_import == before.opset_import
        onnx.checker.check_model(model, full_check=True)
        made = run(path)
        assert len(made) == len(wanted)
        for before, after in zip(wanted, made):
            assert before.shape == after.shape, f"{path}: {after.shape} for {before.shape}"
            assert before.dtype == after.dtype
            if is_same:
                off = float(np.abs(before - after).max() / max(1.0, np.abs(before).max()))
                assert off < 1e-5, f"{path}: off by {off}"
                assert np.abs(before).max() > 1e-3, f"{net} says nothing"
            else:
                assert np.isfinite(after).all()
    print(f"{len(found)} variants")


if __name__ == "__main__":
    if sys.argv[1] == "make":
        for name, make in NETS.items():
            make().save(Path(sys.argv[2]) / f"{name}.onnx")
    else:
        check(sys.argv[2], sys.argv[3], sys.argv[4:] == ["same"])
