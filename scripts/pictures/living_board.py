#!/usr/bin/env python3
"""Makes the values of a made-up board change, for pictures: rails, load, clocks and temperatures. Nothing here was measured.

    scripts/board_tree.py tests/boards/agx-orin-r36.tree /tmp/orin
    scripts/pictures/living_board.py /tmp/orin &
    JETLAG_ROOT=/tmp/orin jetlag monitor
"""

import math
import pathlib
import random
import sys
import time

PERIOD_S = 0.05


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    root = pathlib.Path(sys.argv[1])
    chance = random.Random(7)
    # A reader keeps its files open, so they are written in place: always as long as before, in one call.
    files = {}

    def put(path: str, text: str) -> None:
        file = files.get(path)
        if file is None:
            file = files[path] = open(root / path, "wb", buffering=0)
        file.seek(0)
        file.write(text.encode())

    def number(path: str, value: float) -> None:
        put(path, f"{round(value):<10}\n")

    hwmon, thermal = "sys/class/hwmon", "sys/class/thermal"
    ticks = [[100, 0, 50, 800, 1, 0, 2, 0, 0, 0] for _ in range(8)]
    began, noise = time.monotonic(), 0.0
    while root.is_dir():
        at = time.monotonic() - began
        noise = 0.9 * noise + 0.1 * chance.uniform(-1, 1)
        # Two detectors of different rates beside each other.
        load = min(1.0, max(0.05, 0.55 + 0.16 * math.sin(at / 2.3) + 0.10 * math.sin(at * 2.9) + 0.9 * noise))
        warmth = 1 - math.exp(-at / 25)
        number("sys/devices/platform/bus@0/17000000.gpu/load", 1000 * load)
        number("sys/class/devfreq/17000000.gpu/cur_freq", (408, 510, 612)[min(2, int(3.6 * load))] * 1e6)
        number("sys/kernel/debug/cactmon/mc_all", 640_000 + 900_000 * load)
        number(f"{hwmon}/hwmon3/curr1_input", 150 + 420 * load)
        number(f"{hwmon}/hwmon3/curr2_input", 60 + 45 * load + 20 * abs(noise))
        number(f"{hwmon}/hwmon3/curr3_input", 780 + 160 * load)
        number(f"{hwmon}/hwmon4/curr2_input", 170 + 110 * load)
        number(f"{hwmon}/hwmon1/rpm", 1580 + 500 * warmth)
        number(f"{hwmon}/hwmon0/pwm1", 55 + 30 * warmth)
        for zone, cold, rise in ((0, 45.4, 7), (1, 41.3, 11), (3, 42.9, 8), (4, 45.4, 9), (5, 36.5, 4)):
            number(f"{thermal}/thermal_zone{zone}/temp", 1000 * (cold + rise * warmth + noise))
        for core, counts in enumerate(ticks):
            busy = min(1.0, max(0.0, (0.7 if core < 3 else 0.2) * load + 0.2 * noise))
            is_busy = chance.random() < busy
            counts[0 if is_busy else 3] += round(100 * PERIOD_S)
            number(f"sys/devices/system/cpu/cpu{core}/cpufreq/scaling_cur_freq", 1_728_000 if is_busy else 1_190_400)
        rows = [[sum(column) for column in zip(*ticks)], *ticks]
        lines = (
            f"cpu{'' if n == 0 else n - 1} " + " ".join(f"{count:010}" for count in row) for n, row in enumerate(rows)
        )
        put("proc/stat", "\n".join(lines) + "\nintr 1\n")
        time.sleep(PERIOD_S)


if __name__ == "__main__":
    main()
