#!/usr/bin/env python3
"""Networks beside stressors and beside each other on a GPU: the rows of `jetlag predict pairs`.

    scripts/gpu/pairs.py NET.onnx[@TENSOR:SHAPE]... -o FOLDER [--jetlag FILE] [--minutes 4.5] [--gpu 0] [--sharing Streams]

Each network runs without a pause on ONNX Runtime's CUDA provider (JETLAG_ONNXRUNTIME names its library), alone, beside each of six
loads of the GPU and beside each other network. Phases are as long as the minutes allow. Then the slowdown of every pair is predicted
from all others, and of each network's pairs from those without it. The name of a network is that of its file; the same file twice makes
pairs of equal networks. Needs a jetlag built with --features onnxruntime, and NVRTC for the loads. No setting of the card is changed.
"""

import argparse
import itertools
import re
import subprocess
import sys
from pathlib import Path

LOADS = [(resource, level) for resource in ("Compute", "Dram", "L2") for level in (0.5, 0.9)]
WARMUP_S = 0.4
# Opening networks and calibrating loads.
START_S = 30.0


def text(value):
    return '"' + str(value).replace("\\", "\\\\").replace('"', '\\"') + '"'


def tenants(networks, gpu):
    loads = [(f"{resource.lower()}-{level}".replace(".", "-"), resource, level) for resource, level in LOADS]
    taken = {name for name, _, _ in loads}
    for network in networks:
        file, _, shapes = network.partition("@")
        path = Path(file).resolve(strict=True)
        # A tenant's name has small letters, digits, - and _.
        stem = re.sub(r"[^a-z0-9_-]+", "-", path.stem.lower()).strip("-_")[:60] or "network"
        numbered = (f"{stem}-{number}" for number in itertools.count(2))
        name = next(name for name in itertools.chain([stem], numbered) if name not in taken)
        taken.add(name)
        detector = f"Network(network: {text(path)}, shapes: {text(shapes)})" if shapes else text(path)
        yield (
            f"Tenant(name: {text(name)}, detector: {detector}, backend: OnnxRuntime(provider: Cuda), arrival: Closed, "
            f"gpu: {gpu}, record_detections: false)"
        )
    for name, resource, level in loads:
        yield f"Tenant(name: {text(name)}, backend: Stress(resource: {resource}, level: {level}), gpu: {gpu})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="+")
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--jetlag", default="jetlag")
    parser.add_argument("--minutes", type=float, default=4.5)
    parser.add_argument("--gpu", type=int, default=0)
    parser.add_argument("--sharing", default="Streams")
    args = parser.parse_args()
    count = len(args.networks)
    if count < 5:
        sys.exit(f"without one of {count} networks too few pairs are left to learn from: name at least 5 networks")
    phases = count + len(LOADS) + count * (count - 1) // 2 + count * len(LOADS) + 1
    each = (60 * args.minutes - START_S) / phases - WARMUP_S
    if each < 0.5:
        sys.exit(f"{phases} phases in {args.minutes} minutes are {each:.2f} s each: name fewer networks, or more --minutes")
    print(f"{phases} phases of {each:.2f} s, {args.minutes} minutes in all", file=sys.stderr)
    args.output.mkdir(parents=True, exist_ok=True)
    scenario, run = args.output / "pairs.ron", args.output / "pairs.mcap"
    run.unlink(missing_ok=True)
    scenario.write_text(
        f'Scenario(name: "pairs", duration: "{1000 * each:.0f}ms", warmup: "{1000 * WARMUP_S:.0f}ms", seed: 5,\n'
        f"    matrix: (sharing: [{args.sharing}]),\n    tenants: [\n        "
        + ",\n        ".join(tenants(args.networks, args.gpu))
        + ",\n    ])\n"
    )
    done = subprocess.run([args.jetlag, "run", scenario, "--out", run], stdout=(args.output / "run.txt").open("w"))
    # Findings and broken expectations are no reason not to use what was measured, nor a tenant that starves where all run together.
    if done.returncode not in (0, 1, 3) or not run.exists():
        sys.exit(done.returncode)
    evaluate = [args.jetlag, "predict", "pairs", "eval", run]
    with (args.output / "eval.json").open("w") as file:
        subprocess.run([*evaluate, "--format", "json"], check=True, stdout=file, stderr=subprocess.DEVNULL)
    subprocess.run(evaluate, check=True)


if __name__ == "__main__":
    main()
