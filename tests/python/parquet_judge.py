"""Holds the Parquet tables of a run, as DuckDB reads them, against its CSV tables, value by value.

usage: parquet_judge.py CSV_FOLDER PARQUET_FOLDER
"""

import csv
import os
import sys

import duckdb

# How a value of CSV is read for each type that a column may have.
READ = {
    "VARCHAR": str,
    "BIGINT": int,
    "UBIGINT": int,
    "DOUBLE": float,
    "BOOLEAN": {"true": True, "false": False}.__getitem__,
}


def expected_type(name):
    """What a column must be, by its name."""
    if name in ("warmup", "missed", "in_total"):
        return "BOOLEAN"
    if name in ("value", "share", "score") or name.endswith(("_mj", "_px", "_m", "_rad", "_m_s")):
        return "DOUBLE"
    if name.endswith("_ns"):
        return "BIGINT"
    counts = ("rank", "class_index", "sequence", "source_index", "detections", "input_size", "frames", "track", "batch", "items", "batch_first", "batch_items", "camera")
    return "UBIGINT" if name in counts else "VARCHAR"


def main(csv_folder, parquet_folder):
    rows = nulls = 0
    for table in ("frames", "telemetry", "layers", "ranges", "energy", "detections"):
        found = duckdb.read_parquet(os.path.join(parquet_folder, f"{table}.parquet"))
        types = [str(kind) for kind in found.types]
        with open(os.path.join(csv_folder, f"{table}.csv"), newline="", encoding="utf-8") as file:
            reader = csv.reader(file, strict=True)
            names = next(reader)
            assert found.columns == names, (table, found.columns, names)
            assert types == [expected_type(name) for name in names], (table, list(zip(names, types)))
            # Text may be empty, but for a tenant's name; everything else that is empty is absent.
            expected = [
                tuple(None if text == "" and (kind != "VARCHAR" or name in ("tenant", "class")) else READ[kind](text) for text, kind, name in zip(row, types, names))
                for row in reader
            ]
        values = found.fetchall()
        assert len(values) == len(expected), (table, len(values), len(expected))
        for number, (is_, should_be) in enumerate(zip(values, expected)):
            assert is_ == should_be, (table, number, is_, should_be)
        rows += len(values)
        nulls += sum(value is None for row in values for value in row)
    print(f"{rows} rows agree, {nulls} values not measured")


main(*sys.argv[1:])
