"""A sweep's tables as pandas and DuckDB read them: the same rows, and figures that are numbers.

Usage: sweep_judge.py FOLDER
"""

import json
import math
import pathlib
import sys

import duckdb
import pandas

folder = pathlib.Path(sys.argv[1])
table = folder / "table.csv"
frame = pandas.read_csv(table)
rows = duckdb.sql(f"select * from read_csv('{table}') order by point, repeat").df()
assert list(frame.columns) == list(rows.columns), set(frame.columns) ^ set(rows.columns)
figures = [name for name in frame.columns if name.startswith("camera.response.")]
assert len(figures) > 10, figures
for name in figures + ["took_s"]:
    ours, theirs = frame[name].to_numpy(dtype=float), rows[name].to_numpy(dtype=float)
    for a, b in zip(ours, theirs, strict=True):
        assert a == b or (math.isnan(a) and math.isnan(b)), (name, a, b)
low, p99, high = (frame[f"camera.response.p99_ms{end}"] for end in (".low", "", ".high"))
known = low.notna()
assert known.any() and ((low <= p99) & (p99 <= high))[known].all()
parquet = folder / "table.parquet"
if parquet.exists():
    other = duckdb.sql(f"select * from '{parquet}' order by point, repeat").df()
    assert list(other.columns) == list(frame.columns)
    for name in figures:
        for a, b in zip(frame[name].to_numpy(dtype=float), other[name].to_numpy(dtype=float), strict=True):
            assert a == b or (math.isnan(a) and math.isnan(b)), (name, a, b)
# The journal is JSON Lines.
entries = [json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines()]
assert sum("run" in entry["entry"] for entry in entries) == len(frame)
print(f"{len(frame)} rows agree, {len(frame.columns)} columns")
