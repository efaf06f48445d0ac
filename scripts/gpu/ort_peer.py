#!/usr/bin/env python3
"""The same network driven from Python's onnxruntime in a closed loop: the peer of configs/gpu/onnxruntime.ron.

Inputs and outputs are bound to device memory (I/O binding). Each frame copies its input to the device, runs, and copies
its outputs back, as a tenant's frame does; frames are not prepared. Options of the CUDA provider are those of
src/backend/onnxruntime/cuda.rs. Prints one JSON object. Needs onnxruntime-gpu (or onnxruntime, with --provider cpu) and
NumPy.

    scripts/gpu/ort_peer.py engines/camera.onnx --seconds 20
"""

import argparse
import json
import sys
import time

import numpy as np
import onnxruntime as ort

ELEMENTS = {
    "tensor(float)": np.float32,
    "tensor(float16)": np.float16,
    "tensor(int8)": np.int8,
    "tensor(uint8)": np.uint8,
    "tensor(int32)": np.int32,
    "tensor(int64)": np.int64,
    "tensor(bool)": np.bool_,
}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("network")
    parser.add_argument("--provider", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--device", type=int, default=0, help="number of the GPU")
    parser.add_argument("--threads", type=int, default=1, help="for one inference, with --provider cpu")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--warmup", type=float, default=3.0)
    parser.add_argument(
        "--shape", action="append", default=[], metavar="NAME=1x3x8x8", help="of an input that is dynamic"
    )
    return parser.parse_args()


def session_of(args):
    options = ort.SessionOptions()
    options.intra_op_num_threads = args.threads if args.provider == "cpu" else 1
    options.inter_op_num_threads = 1
    if args.provider == "cpu":
        return ort.InferenceSession(args.network, options, providers=["CPUExecutionProvider"])
    cuda = {"device_id": args.device, "arena_extend_strategy": "kSameAsRequested"}
    providers = [("CUDAExecutionProvider", cuda), "CPUExecutionProvider"]
    session = ort.InferenceSession(args.network, options, providers=providers)
    # Without the provider's libraries the session is made on the processor, with a warning alone.
    if "CUDAExecutionProvider" not in session.get_providers():
        sys.exit("the CUDA provider could not be loaded: the warnings above say which library is missing")
    return session


def shapes_of(session, args):
    given = dict(text.split("=") for text in args.shape)
    given = {name: [int(extent) for extent in text.split("x")] for name, text in given.items()}
    shapes = {}
    for port in session.get_inputs():
        shape = given.get(port.name, port.shape)
        if not all(isinstance(extent, int) for extent in shape):
            sys.exit(f"input {port.name} is dynamic, {shape}: give its shape with --shape {port.name}=…")
        shapes[port.name] = shape
    return shapes


def main():
    args = arguments()
    session = session_of(args)
    device = "cuda" if args.provider == "cuda" else "cpu"
    random = np.random.default_rng(7)
    shapes = shapes_of(session, args)
    hosts = {}
    for port in session.get_inputs():
        element = ELEMENTS[port.type]
        values = random.random(shapes[port.name]) if np.issubdtype(element, np.floating) else np.zeros(shapes[port.name])
        hosts[port.name] = values.astype(element)

    binding = session.io_binding()
    inputs = {name: ort.OrtValue.ortvalue_from_numpy(host, device, args.device) for name, host in hosts.items()}
    for name, value in inputs.items():
        binding.bind_ortvalue_input(name, value)
    for port in session.get_outputs():
        binding.bind_output(port.name, device, args.device)

    def frame():
        for name, value in inputs.items():
            value.update_inplace(hosts[name])
        session.run_with_iobinding(binding)
        return binding.copy_outputs_to_cpu()

    until = time.perf_counter() + args.warmup
    while time.perf_counter() < until:
        frame()
    times = []
    began = time.perf_counter()
    until = began + args.seconds
    now = began
    while now < until:
        frame()
        before, now = now, time.perf_counter()
        times.append(now - before)
    took = now - began
    median, p99 = np.quantile(times, [0.5, 0.99]) * 1e3
    result = {
        "network": args.network,
        "onnxruntime": ort.__version__,
        "providers": session.get_providers(),
        "frames": len(times),
        "seconds": round(took, 3),
        "throughput_hz": round(len(times) / took, 3),
        "median_ms": round(float(median), 4),
        "p99_ms": round(float(p99), 4),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
