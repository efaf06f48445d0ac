"""The usual way to read tegrastats: one regular expression a field, in the manner of Python's jtop.

Prints lines a second on one core for the lines that benches/parse.rs measures:
`python3 crates/tegrastats-parser/benches/peer.py`
"""

import pathlib
import re
import time

STAMP = re.compile(r"^(\d+-\d+-\d+ \d+:\d+:\d+)")
RAM = re.compile(r"RAM (\d+)/(\d+)(\w)B ?\(lfb (\d+)x(\d+)(\w)B\)")
SWAP = re.compile(r"SWAP (\d+)/(\d+)(\w)B ?\(cached (\d+)(\w)B\)")
IRAM = re.compile(r"IRAM (\d+)/(\d+)(\w)B ?\(lfb (\d+)(\w)B\)")
CPU = re.compile(r"CPU \[(.*?)\]")
CORE = re.compile(r"(\d+)%@(\d+)")
MTS = re.compile(r"MTS fg (\d+)% bg (\d+)%")
ENGINE = re.compile(r"\b([A-Z][A-Z0-9_]*) (off|(?:(\d+)%)?@?(?:(\d+)|\[([\d,]+)\])?(?=\s))")
TEMPERATURE = re.compile(r"\b(\w+)@(-?[\d.]+)C(?:/(-?[\d.]+)C)?")
RAIL = re.compile(r"\b(\w+) (-?\d+)(?:mW)?/(-?\d+)(?:mW)?(?:/(-?\d+)mW)?(?=\s|$)")


def numbers(match):
    return [int(group) if group and group.isdigit() else group for group in match.groups()] if match else None


def parse(line):
    stamp = STAMP.search(line)
    cpu = CPU.search(line)
    return {
        "timestamp": stamp.group(1) if stamp else None,
        "ram": numbers(RAM.search(line)),
        "swap": numbers(SWAP.search(line)),
        "iram": numbers(IRAM.search(line)),
        "cpus": [numbers(CORE.match(core)) for core in cpu.group(1).split(",")] if cpu else None,
        "mts": numbers(MTS.search(line)),
        "engines": {m.group(1): numbers(m)[1:] for m in ENGINE.finditer(line)},
        "temps": [(m.group(1), float(m.group(2)), m.group(3) and float(m.group(3))) for m in TEMPERATURE.finditer(line)],
        "rails": [(m.group(1), int(m.group(2)), int(m.group(3)), m.group(4) and int(m.group(4))) for m in RAIL.finditer(line)],
    }


def lines_per_second(line, repeats=15, count=2000):
    rates = []
    for _ in range(repeats):
        start = time.perf_counter()
        for _ in range(count):
            parse(line)
        rates.append(count / (time.perf_counter() - start))
    return sorted(rates)[repeats // 2], max(rates)


for path in sorted((pathlib.Path(__file__).parent / "lines").glob("*.txt")):
    text = path.read_text().rstrip("\n")
    sample = parse(text)
    assert sample["ram"] and len(sample["cpus"]) > 1 and sample["rails"], path
    median, best = lines_per_second(text)
    print(f"{path.stem}: {median:,.0f} lines/s (median), {best:,.0f} (best)")
