#!/usr/bin/env python3
"""Bags of ROS 2 beside their peers: Python's rosbags, and NumPy's structured read of a PointCloud2.

Makes what crates/jetlag-bags/benches/bags.rs makes: fifty raw images of 1080p in one MCAP and one database, a hundred thousand images of 192
bytes in another of each, all read from the page cache, and a cloud of 120 000 points, 32 bytes each. Prints the median of each in
milliseconds; with --alternate N it runs the benchmark between them N times and prints the median of the turns' medians, and of their
ratios with the least and the largest. Needs numpy and rosbags.

    .venv/bin/python scripts/bench_peer_bags.py --alternate 3
"""

import argparse
import collections
import pathlib
import re
import statistics
import subprocess
import tempfile
import time

import numpy as np
from rosbags.rosbag2 import Reader, StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

HERE = pathlib.Path(__file__).resolve().parent
TYPES = get_typestore(Stores.ROS2_HUMBLE)
WIDTH, HEIGHT, IMAGES, POINTS = 1920, 1080, 50, 120_000
SMALL = 100_000


def header():
    stamp = TYPES.types["builtin_interfaces/msg/Time"](sec=0, nanosec=0)
    return TYPES.types["std_msgs/msg/Header"](stamp=stamp, frame_id="camera")


def image(width, height, encoding, channels):
    """A raw image as a message's bytes."""
    kind = "sensor_msgs/msg/Image"
    n = np.arange(width * height * channels, dtype=np.uint32)
    data = (n // 9 + n % 5).astype(np.uint8)
    message = TYPES.types[kind](
        header=header(), height=height, width=width, encoding=encoding, is_bigendian=0, step=width * channels, data=data
    )
    return TYPES.serialize_cdr(message, kind)


def make(path, storage, raw, count):
    """A bag of one message many times, a millisecond apart."""
    with Writer(path, version=8, storage_plugin=storage) as writer:
        topic = writer.add_connection("/image", "sensor_msgs/msg/Image", typestore=TYPES)
        for number in range(count):
            writer.write(topic, number * 1_000_000, raw)


def read(path):
    """Every message's bytes, as a program that decodes them itself would take them."""
    with Reader(path) as reader:
        return sum(len(raw) for _, _, raw in reader.messages())


def cloud():
    """Data of a PointCloud2: x, y, z, four bytes of padding, intensity, and twelve more."""
    return np.arange(POINTS * 8, dtype=np.float32).tobytes()


CLOUD = np.dtype({"names": ["x", "y", "z", "intensity"], "formats": ["<f4"] * 4, "offsets": [0, 4, 8, 16], "itemsize": 32})


def points(data):
    """The usual way: a structured view, its columns stacked, points that are not finite left out."""
    fields = np.frombuffer(data, CLOUD)
    all_points = np.stack([fields[name] for name in CLOUD.names], 1)
    return all_points[np.isfinite(all_points[:, :3]).all(1)]


def median_ms(work, runs):
    took = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        took.append((time.perf_counter() - start) * 1e3)
    return statistics.median(took)


def ours(program, runs):
    """The medians of divan's table, in ms."""
    command = [program, "--bench"] if program else ["cargo", "bench", "-p", "jetlag-bags", "--bench", "bags", "--"]
    text = subprocess.run(
        [*command, "read_images", "read_small", "points", "--sample-count", str(2 * runs)],
        cwd=HERE.parent,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    scale = {"ns": 1e-6, "µs": 1e-3, "ms": 1.0, "s": 1e3}
    found, group = {}, ""
    for line in text.splitlines():
        name = re.match(r"[│ ]*[├╰]─ (.+?)  +(.*)", line)
        if not name:
            continue
        label, columns = name[1].strip(), name[2].split("│")
        # Fastest, slowest, median, mean.
        time_in = len(columns) > 2 and re.match(r" *([\d.]+) (ns|µs|ms|s)\b", columns[2])
        if not time_in:
            group = label
            continue
        found[f"{group} {label}"] = float(time_in[1]) * scale[time_in[2]]
    return {
        "mcap": found["read_images mcap"],
        "sqlite3": found["read_images sqlite3"],
        "mcap, small": found["read_small mcap"],
        "sqlite3, small": found["read_small sqlite3"],
        "points": found["points (16, 32, false)"],
    }


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--runs", type=int, default=10)
    arguments.add_argument("--alternate", type=int, default=0, metavar="N")
    arguments.add_argument("--program", help="the benchmark, built before; without it `cargo bench` builds it")
    arguments = arguments.parse_args()
    data = cloud()
    peers, jetlag = collections.defaultdict(list), collections.defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        large, small = (image(WIDTH, HEIGHT, "rgb8", 3), IMAGES), (image(16, 12, "mono8", 1), SMALL)
        bags = {
            "mcap": (StoragePlugin.MCAP, *large),
            "sqlite3": (StoragePlugin.SQLITE3, *large),
            "mcap, small": (StoragePlugin.MCAP, *small),
            "sqlite3, small": (StoragePlugin.SQLITE3, *small),
        }
        for name, made in bags.items():
            make(pathlib.Path(folder) / name, *made)
        for _ in range(max(arguments.alternate, 1)):
            works = {name: lambda name=name: read(pathlib.Path(folder) / name) for name in bags}
            works["points"] = lambda: points(data)
            for name, work in works.items():
                peers[name].append(median_ms(work, arguments.runs * (20 if name == "points" else 1)))
            if arguments.alternate:
                for name, took in ours(arguments.program, arguments.runs).items():
                    jetlag[name].append(took)
    for name, peer in peers.items():
        beside = ""
        if jetlag:
            ratios = [theirs / took for theirs, took in zip(peer, jetlag[name])]
            ratio = f"{statistics.median(ratios):5.2f}x ({min(ratios):.2f} to {max(ratios):.2f})"
            beside = f"   jetlag {statistics.median(jetlag[name]):9.3f} ms   {ratio}"
        print(f"{name:14} {'NumPy' if name == 'points' else 'rosbags':8} {statistics.median(peer):9.3f} ms{beside}")
    if jetlag:
        size = WIDTH * HEIGHT * 3 * IMAGES
        print(f"mcap           {size / statistics.median(jetlag['mcap']) / 1e6:.2f} GB/s")


if __name__ == "__main__":
    main()
