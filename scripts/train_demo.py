#!/usr/bin/env python3
"""Trains the two demo networks on synthetic scenes, exports them to engines/, and judges the exports.

    scripts/train_demo.py --data /dev/shm/scenes --jetlag target/release/jetlag
    scripts/train_demo.py --data /dev/shm/scenes --jetlag target/release/jetlag --evaluate

Scenes come from `jetlag data synth`: seed 1 to train on, seed 9002 to choose the score threshold on, and
seed 9001 (200 scenes) to judge on; the last is used for nothing else. See scripts/README.md.
"""

import argparse
import importlib
import math
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

SETS = {"train": 1, "choose": 9002, "judge": 9001}


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--data", type=Path, required=True, help="where the scenes are, or are made")
    p.add_argument("--out", type=Path, default=Path(__file__).parent.parent / "engines")
    p.add_argument("--jetlag", help="program that makes the scenes; none is called where they exist")
    p.add_argument("--scenes", type=int, default=20000, help="scenes to train on")
    p.add_argument("--only", choices=["camera", "lidar"])
    p.add_argument("--steps", type=int, help="default: 18000 for the camera, 9000 for the LiDAR")
    p.add_argument("--batch", type=int, default=64)
    p.add_argument("--rate", type=float, default=3e-3)
    p.add_argument("--prepare", action="store_true", help="make the scenes and stop")
    p.add_argument("--evaluate", action="store_true", help="judge what is in --out, without training")
    return p.parse_args()


def prepare(args):
    for name, seed in SETS.items():
        folder = args.data / name
        if name == "train" and args.evaluate:
            continue
        count = args.scenes if name == "train" else 200
        if args.jetlag and not folder.exists():
            command = [args.jetlag, "data", "synth", "--out", folder, "--count", count, "--seed", seed]
            subprocess.run([str(c) for c in command], check=True)


def train(name, args):
    import torch

    module, device = importlib.import_module(f"demo_nets.{name}"), "cuda"
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    net, step, count = module.train(args.data / "train", device)
    decayed = [p for p in net.parameters() if p.ndim > 1]
    plain = [p for p in net.parameters() if p.ndim <= 1]
    groups = [{"params": decayed, "weight_decay": 0.02}, {"params": plain, "weight_decay": 0.0}]
    optimiser = torch.optim.AdamW(groups, lr=args.rate)
    warm = 300
    net.train()
    begin, order = time.time(), torch.randperm(count)
    for number in range(args.steps):
        done = number / args.steps
        share = min(1, (number + 1) / warm) * (0.5 + 0.5 * math.cos(math.pi * done)) + 1e-3
        for group in optimiser.param_groups:
            group["lr"] = args.rate * share
        if len(order) < args.batch:
            order = torch.randperm(count)
        pick, order = order[: args.batch].to(device), order[args.batch :]
        value = step(net, pick)
        optimiser.zero_grad(set_to_none=True)
        value.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 5.0)
        optimiser.step()
        if number % 500 == 0 or number == args.steps - 1:
            print(f"{name} {number:6d}  loss {value.item():.4f}  {time.time() - begin:.0f} s", flush=True)
    return net.eval()


def session(path):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 4
    run = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return lambda feed: run.run(None, feed)


def report(which, evaluate, data):
    """Chooses the threshold on one set and prints what it gives on the other."""
    from demo_nets import judge

    merged = lambda table: (sum((v for v, _ in table.values()), []), sum(c for _, c in table.values()))
    threshold = judge.best_threshold(*merged(evaluate(data / "choose")))
    table = evaluate(data / "judge")
    for name, (verdicts, count) in [*table.items(), ("all", merged(table))]:
        p, r = judge.precision_recall(verdicts, count, threshold)
        print(f"{which:7s} {name:11s} objects {count:5d}  threshold {threshold:.2f}  P {p:.4f}  R {r:.4f}", flush=True)
    rows = [(t, *judge.precision_recall(*merged(table), t)) for t in (0.2, 0.3, 0.35, 0.4, 0.45, 0.5, 0.52, 0.6)]
    print(f"{which:7s} by threshold: " + "  ".join(f"{t:.2f}: {p:.3f}/{r:.3f}" for t, p, r in rows), flush=True)


def main():
    args = arguments()
    args.out.mkdir(parents=True, exist_ok=True)
    prepare(args)
    if args.prepare:
        return
    from demo_nets import camera, lidar

    steps = args.steps
    files = {n: args.out / f"{n}.onnx" for n in ("camera", "lidar_encoder", "lidar_backbone")}
    if args.only != "lidar":
        if not args.evaluate:
            args.steps = steps or 18000
            train("camera_net", args).export(files["camera"])
        report("camera", lambda root: camera.evaluate(session(files["camera"]), root), args.data)
    if args.only != "camera":
        if not args.evaluate:
            args.steps = steps or 9000
            train("lidar_net", args).export(files["lidar_encoder"], files["lidar_backbone"])
        pair = lambda: (session(files["lidar_encoder"]), session(files["lidar_backbone"]))
        report("lidar", lambda root: lidar.evaluate(*pair(), root), args.data)


if __name__ == "__main__":
    main()
