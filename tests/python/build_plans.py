"""Builds networks through NVIDIA's own Python bindings, to compare with jetlag's: one JSON line a network.

usage: build_plans.py CAPABILITY NETWORK...
Dynamic extents become 2, so that both sides build the same thing.
"""

import json
import sys

import tensorrt_rtx as trt


def build(path, capability):
    logger = trt.Logger(trt.Logger.INTERNAL_ERROR)
    builder = trt.Builder(logger)
    network = builder.create_network(0)
    parser = trt.OnnxParser(network, logger)
    if not parser.parse_from_file(path):
        return {"errors": [parser.get_error(i).desc() for i in range(parser.num_errors)]}
    config = builder.create_builder_config()
    config.num_compute_capabilities = 1
    config.set_compute_capability(getattr(trt.ComputeCapability, f"SM{capability}"), 0)
    profile = builder.create_optimization_profile()
    tensors = []
    for mode, count, get in (
        ("input", network.num_inputs, network.get_input),
        ("output", network.num_outputs, network.get_output),
    ):
        for index in range(count):
            tensor = get(index)
            shape = list(tensor.shape)
            tensors.append({"mode": mode, "name": tensor.name, "shape": shape})
            if mode == "input" and -1 in shape:
                fixed = [2 if extent < 0 else extent for extent in shape]
                profile.set_shape(tensor.name, fixed, fixed, fixed)
    config.add_optimization_profile(profile)
    plan = builder.build_serialized_network(network, config)
    if plan is None:
        return {"errors": ["the build failed"], "layers": network.num_layers}
    return {"layers": network.num_layers, "tensors": tensors, "bytes": plan.nbytes}


for path in sys.argv[2:]:
    print(json.dumps({"network": path, **build(path, sys.argv[1])}), flush=True)
