#!/usr/bin/env python3
"""Time from the start of the process to the first release of the demo, and to its end.

    python3 scripts/bench_start.py [RUNS]     (in .venv: needs the package mcap)

Reads the first release from the run file with an independent reader, so nothing is taken on jetlag's word
but the stamps themselves. Budget: start to first release <= 300 ms.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory

ROOT = Path(__file__).resolve().parent.parent
BINARY = ROOT / "target/release/jetlag"


def first_release_unix_ns(path):
    """Wall-clock time of the earliest release that is not jetlag's own calibration."""
    with open(path, "rb") as file:
        reader = make_reader(file, decoder_factories=[DecoderFactory()])
        earliest = None
        for _, channel, message, frame in reader.iter_decoded_messages():
            if channel.topic.endswith("/frame") and "/overhead/" not in channel.topic:
                # The log time is the finish on the wall clock; the stamps share its rate.
                released = message.log_time - (frame.finished_ns - frame.released_ns)
                earliest = released if earliest is None else min(earliest, released)
        return earliest


def main():
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    starts = []
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "run.mcap"
            began = time.time_ns()
            subprocess.run(
                [BINARY, "demo", "--quiet", "--out", out, "--set", "duration=300ms", "--set", "warmup=0s"],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd=folder,
                check=False,
            )
            starts.append((first_release_unix_ns(out) - began) / 1e6)
    starts.sort()
    print(f"start to first release: median {statistics.median(starts):.0f} ms, "
          f"from {starts[0]:.0f} to {starts[-1]:.0f} ms, {runs} runs")


if __name__ == "__main__":
    main()
