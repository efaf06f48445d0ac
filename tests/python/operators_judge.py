"""The embedded backend's operators on values at the edges, held against ONNX Runtime and onnx's reference.

    python3 tests/python/operators_judge.py [--nodes] JETLAG FOLDER [NAME...]

Each network is one node; with --nodes they are ONNX's own test cases. Its result must be that of ONNX Runtime, where that is installed, or of onnx's reference; or the network must be
refused when it is loaded, by the operator's name. Prints each that is neither, and a count of each kind; the exit code is 1 if there is one.
"""

import collections
import itertools
import pathlib
import re
import subprocess
import sys
import warnings

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

try:
    import onnxruntime
except ImportError:
    onnxruntime = None

NAN, INF = np.nan, np.inf
LARGEST = np.finfo(np.float32).max
# Softplus' and Exp's ends are around 20, 88.7 and -103.
EDGES = np.array(
    [0, -0.0, NAN, INF, -INF, LARGEST, -LARGEST, 1e-45, 1e-38, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 3, -3, 20, 88.8, 90, -88, -104, 1e10],
    np.float32,
)
WHOLE = np.array([0, 1, -1, 2, -2, 7, -7, 127, -128, 2**31 - 1, -(2**31), 5], np.int64)
# Whose sums, squares and products fit into 32 bits.
SMALL = np.array([0, 1, -1, 2, -2, 7, -7, 127, -128, 5, 3, -3, 4, 6, 9], np.int64).reshape(3, 5)
# Rows with ties, with one and several that are no numbers, and infinities.
ROWS = np.array(
    [
        [1, 3, 3, 2, 3, 0],
        [NAN, 1, NAN, 2, 3, 1],
        [1, 2, NAN, 5, INF, NAN],
        [INF, INF, -INF, 1, -INF, 0],
        [-0.0, 0, -0.0, 0, 0, 0],
        [NAN, NAN, NAN, NAN, NAN, NAN],
        [INF, NAN, 1, 2, 3, 4],
    ],
    np.float32,
)

FUNCTIONS = """Abs Acos Asin Atan Ceil Cos Elu Erf Exp Floor HardSigmoid HardSwish IsInf IsNaN LeakyRelu Log Neg Reciprocal Relu Round
Sigmoid Sign Sin Softplus Softsign Sqrt Tan Tanh Gelu Mish Identity Celu Selu ThresholdedRelu Sinh Cosh""".split()
PAIRS = "Add Sub Mul Div Equal Greater GreaterOrEqual Less LessOrEqual Max Min Pow".split()
REDUCTIONS = "L1 L2 LogSum LogSumExp Max Mean Min Prod Sum SumSquare".split()


def network(operator, inputs, constants=(), opset=20, **attributes):
    """A network of one node, whose result has the type that onnx infers."""
    names = [f"x{place}" for place in range(len(inputs))] + [name if value is not None else "" for name, value in constants]
    kind = lambda array: helper.np_dtype_to_tensor_dtype(array.dtype)
    graph = helper.make_graph(
        [helper.make_node(operator, names, ["y"], name="the", **attributes)],
        "one",
        [helper.make_tensor_value_info(f"x{place}", kind(array), array.shape) for place, array in enumerate(inputs)],
        [helper.make_tensor_value_info("y", TensorProto.UNDEFINED, None)],
        [numpy_helper.from_array(value, name) for name, value in constants if value is not None],
    )
    graph.output[0].ClearField("type")
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)
    graph = onnx.shape_inference.infer_shapes(model).graph
    if graph.output[0].type.tensor_type.elem_type:
        model.graph.output[0].CopyFrom(graph.output[0])
    return model


def cases():
    for operator in FUNCTIONS:
        yield operator, network(operator, [EDGES]), [EDGES]
    for operator in ("Abs", "Neg", "Sign", "Relu"):
        yield f"{operator}-whole", network(operator, [WHOLE.astype(np.int32)]), [WHOLE.astype(np.int32)]
    a, b = (np.ascontiguousarray(half) for half in np.array(list(itertools.product(EDGES, EDGES)), np.float32).T)
    for operator in PAIRS:
        yield operator, network(operator, [a, b]), [a, b]
    i, j = (np.ascontiguousarray(half) for half in np.array(list(itertools.product(WHOLE, WHOLE[WHOLE != 0])), np.int32).T)
    for operator in PAIRS:
        if operator not in ("Pow", "Div"):
            yield f"{operator}-whole", network(operator, [i, j]), [i, j]
    for low, high in itertools.product([None, NAN, -INF, -1.0, 0.0, 2.0], [None, NAN, INF, 1.0, 6.0]):
        bounds = [("low", low), ("high", high)]
        constants = [(name, None if bound is None else np.array(bound, np.float32)) for name, bound in bounds]
        yield f"Clip-{low}-{high}", network("Clip", [EDGES], constants), [EDGES]
    for kind, axes, noop, keep in itertools.product(("float", "int32", "int64"), (None, [], [0], [1], [-1], [0, 1]), (0, 1), (0, 1)):
        for reduction in REDUCTIONS:
            rows = {"float": ROWS, "int32": np.resize(WHOLE, (3, 5)).astype(np.int32), "int64": SMALL}[kind]
            constants = [] if axes is None else [("axes", np.array(axes, np.int64))]
            model = network(f"Reduce{reduction}", [rows], constants, noop_with_empty_axes=noop, keepdims=keep)
            yield f"Reduce{reduction}-{kind}-{axes}-{noop}-{keep}", model, [rows]
    for reduction in REDUCTIONS:
        nothing = np.zeros((0, 3), np.float32)
        constants = [("axes", np.array([0], np.int64))]
        yield f"Reduce{reduction}-nothing", network(f"Reduce{reduction}", [nothing], constants), [nothing]
    for operator, axis, keep, last, kind in itertools.product(("ArgMax", "ArgMin"), (0, 1, -1), (0, 1), (0, 1), ("float", "int32")):
        rows = ROWS if kind == "float" else np.resize(WHOLE, (3, 5)).astype(kind)
        model = network(operator, [rows], axis=axis, keepdims=keep, select_last_index=last)
        yield f"{operator}-{axis}-{keep}-{last}-{kind}", model, [rows]
    for operator, axis, opset in itertools.product(("Softmax", "LogSoftmax"), (None, 0, 1), (11, 20)):
        attributes = {} if axis is None else {"axis": axis}
        yield f"{operator}-{axis}-{opset}", network(operator, [ROWS], opset=opset, **attributes), [ROWS]
    flags = np.resize(np.array([True, False, False]), EDGES.shape)
    yield "Where", network("Where", [flags, EDGES, EDGES[::-1].copy()]), [flags, EDGES, EDGES[::-1].copy()]


def names_of_inputs(model):
    constants = {constant.name for constant in model.graph.initializer}
    return [given.name for given in model.graph.input if given.name not in constants]


def onnx_runtime(model, inputs):
    """What ONNX Runtime makes of it, as far as it is installed and does."""
    if onnxruntime is not None:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        try:
            session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
            yield session.run(None, dict(zip(names_of_inputs(model), inputs)))
        except Exception:
            pass


def answers(model, inputs):
    """What ONNX Runtime and onnx's reference make of it, as far as they do."""
    yield from onnx_runtime(model, inputs)
    try:
        yield ReferenceEvaluator(model).run(None, dict(zip(names_of_inputs(model), inputs)))
    except Exception:
        pass


def edges():
    """Each with the answers that are right."""
    for name, model, inputs in cases():
        yield name, model, inputs, lambda model=model, inputs=inputs: list(answers(model, inputs))


def node_tests():
    """ONNX's own test cases for single operators, with their answers and ONNX Runtime's: in `Resize` with `align_corners` these differ."""
    from onnx.backend.test.case.node import collect_testcases

    for test in collect_testcases(None):
        inputs, outputs = test.data_sets[0]
        right = lambda model=test.model, inputs=inputs, outputs=outputs: [list(outputs), *onnx_runtime(model, inputs)]
        yield test.name, test.model, list(inputs), right


def is_same(got, wanted, tolerance):
    if got.shape != wanted.shape:
        return False
    if wanted.dtype.kind == "f":
        return np.allclose(got, wanted, rtol=tolerance, atol=tolerance / 10, equal_nan=True)
    # Whole numbers are kept in 32 bits.
    return np.array_equal(got.astype(np.int64), np.clip(wanted.astype(np.int64), -(2**31), 2**31 - 1))


def is_random(model):
    """Whether it draws random numbers: of which generator ONNX leaves open, so only type and shape can be compared."""
    return any(node.op_type.startswith("Random") for node in model.graph.node)


def is_plain(array):
    return isinstance(array, np.ndarray) and array.dtype.name in (
        "float32 float64 int8 uint8 int16 uint16 int32 uint32 int64 uint64 bool".split()
    )


def judge(jetlag, folder, name, model, inputs, wanted, tolerance):
    """Equal, refused, or what is wrong."""
    outputs = [output.name for output in model.graph.output]
    folder = folder / name
    folder.mkdir(parents=True)
    onnx.save(model, folder / "one.onnx")
    names = names_of_inputs(model)
    for place, array in enumerate(inputs):
        np.save(folder / f"{place}.npy", array)
    files = ", ".join(f'(input: "{given}", file: "{place}.npy")' for place, given in enumerate(names[: len(inputs)]))
    fill = f"fill: Files([{files}]), " if files else ""
    (folder / "one.ron").write_text(f'Network(name: "one", network: "one.onnx", {fill}record_outputs: (keep: "kept"))')
    kept = [folder / "kept" / (re.sub("[^A-Za-z0-9_.-]", "_", output) + ".npy") for output in outputs]
    # On a busy machine no frame may end in the first.
    for duration in ("20ms", "2s", "20s"):
        (folder / "run.ron").write_text(
            '(tenants: [(name: "one", detector: "one.ron", backend: Cpu(threads: 1), arrival: Closed)], '
            f'duration: "{duration}", warmup: "0ms")'
        )
        ran = subprocess.run([jetlag, "run", "run.ron", "-o", f"{duration}.mcap", "--quiet"], cwd=folder, capture_output=True, text=True)
        if ran.returncode == 2 or kept[0].exists() or " failed; first error" in ran.stderr:
            break
    if not all(path.exists() for path in kept):
        said = " ".join((ran.stdout + ran.stderr).split())
        if ran.returncode == 2:
            return "refused" if f"cannot execute {model.graph.node[0].op_type} " in said else f"refused otherwise: {said}"
        return f"fails: {said[-400:]}"
    got = [np.load(path) for path in kept]
    if is_random(model):
        same = any(all(one.shape == other.shape for one, other in zip(got, answer)) for answer in wanted)
        return "random, of the right shape" if same else "differs: in shape"
    if any(all(is_same(*pair, tolerance) for pair in zip(got, answer)) for answer in wanted):
        return "equal"
    listed = lambda arrays: [np.asarray(array).ravel()[:40].tolist() for array in arrays]
    return f"differs: {listed(got)} is none of {[listed(answer) for answer in wanted]}" if wanted else "no other answer"


def main():
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    is_of_nodes = sys.argv[1] == "--nodes"
    jetlag, folder, *only = sys.argv[1 + is_of_nodes :]
    outcomes = collections.Counter()
    for name, model, inputs, wanted in node_tests() if is_of_nodes else edges():
        if only and not any(name.startswith(part) for part in only):
            continue
        wanted = wanted()
        if not all(is_plain(array) for array in itertools.chain(inputs, *wanted)):
            outcome = "not compared"
        else:
            tolerance = 1e-3 if is_of_nodes else 2e-5
            outcome = judge(pathlib.Path(jetlag).resolve(), pathlib.Path(folder).resolve(), name, model, inputs, wanted, tolerance)
        if ":" in outcome:
            print(f"{name} {outcome}")
        outcomes[outcome.split(":")[0]] += 1
    print("  ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items())))
    sys.exit(bool(outcomes["differs"] or outcomes["fails"] or not outcomes["equal"]))


if __name__ == "__main__":
    main()
