"""What onnx and onnx-tool say of networks: a line of JSON for each file.

shapes: of each node's outputs, by onnx's own inference with data propagation; null where it stops.
macs: onnx-tool's, by operator. expected: what its rules give from the shapes, where they differ from multiply-adds alone.
"""

import collections
import contextlib
import io
import json
import sys

import onnx
import onnx_tool


def shapes_of(model):
    inferred = onnx.shape_inference.infer_shapes(model, data_prop=True)
    graph = inferred.graph
    shapes = {}
    for value in list(graph.input) + list(graph.value_info) + list(graph.output):
        if not value.type.HasField("tensor_type") or not value.type.tensor_type.HasField("shape"):
            continue
        dims = value.type.tensor_type.shape.dim
        if all(dim.HasField("dim_value") for dim in dims):
            shapes[value.name] = [dim.dim_value for dim in dims]
    for tensor in graph.initializer:
        shapes.setdefault(tensor.name, list(tensor.dims))
    return shapes


def expected_of(model, shapes):
    """onnx-tool adds a bias's sums, and takes a transposed convolution by its output,
    each element of which it lets meet the kernels of all output channels."""
    expected = collections.Counter()
    for node in model.graph.node:
        if node.op_type not in ("Conv", "ConvTranspose", "Gemm"):
            continue
        if any(name not in shapes for name in [*node.input[:2], node.output[0]]):
            return None
        weight, out = shapes[node.input[1]], shapes[node.output[0]]
        source = shapes[node.input[0]]
        settings = {attribute.name: attribute for attribute in node.attribute}
        elements = 1
        for dim in out:
            elements *= dim
        if node.op_type == "Gemm":
            turned = "transA" in settings and settings["transA"].i
            each = source[0] if turned else source[1]
        else:
            each = weight[1]
            for dim in weight[2:]:
                each *= dim
        has_bias = len(node.input) > 2 and node.input[2] != ""
        expected[node.op_type] += elements * (each + has_bias)
    return expected


def main():
    for path in sys.argv[1:]:
        model = onnx.load(path, load_external_data=False)
        shapes = shapes_of(model)
        nodes = []
        for node in model.graph.node:
            label = node.name or next((name for name in node.output if name), "")
            nodes.append([label, [shapes.get(name) if name else None for name in node.output]])
        macs, failed = {}, None
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                graph = onnx_tool.Model(path).graph
                graph.shape_infer()
                graph.profile()
            macs = collections.Counter()
            for node in graph.nodemap.values():
                macs[node.op_type] += int(node.macs[0])
        except Exception as error:  # It does not know every operator.
            failed = repr(error)
        expected = expected_of(model, shapes)
        print(json.dumps({"nodes": nodes, "macs": macs, "expected": expected, "failed": failed}))


main()
