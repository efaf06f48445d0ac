"""Runs the blocks of docs/python.md on the exported tables of a run, and holds what they compute against the report's JSON.

usage: page_judge.py PAGE REPORT.json, in the folder that has tables/
"""

import contextlib
import io
import json
import math
import os
import re
import sys

import duckdb

FIGURES = ["p50_ms", "p99_ms", "missed", "miss_rate", "mj_per_frame"]
# The report has six decimals, which is nanoseconds for times; Polars divides with an error beyond the fifteenth digit.
ROUNDED = [name for name in FIGURES if name != "missed"]


def of_report(tenant):
    energy = tenant["energy_mj_per_frame"]
    response = tenant["response_ms"]
    return {
        "p50_ms": response["p50"],
        "p99_ms": response["p99"],
        "missed": tenant["frames"]["missed"],
        "miss_rate": tenant["miss_rate"],
        "mj_per_frame": energy and energy["total"],
    }


def rows(language, block):
    """What a block computes, by tenant."""
    if language == "sql":
        found = duckdb.sql(block)
        return {row[0]: dict(zip(found.columns[1:], row[1:])) for row in found.fetchall()}
    names = {}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block, "docs/python.md", "exec"), names)
    assert printed.getvalue().strip(), "the block prints its table"
    report = names["report"]
    if hasattr(report, "to_dicts"):
        return {row.pop("tenant"): row for row in report.to_dicts()}
    return report.to_dict("index")


def main(page, report):
    with open(report, encoding="utf-8") as file:
        # A load is in the report, and not among the frames.
        tenants = [tenant for tenant in json.load(file)["tenants"] if tenant["backend"] != "stress"]
    expected = {tenant["name"]: of_report(tenant) for tenant in tenants}
    with open(page, encoding="utf-8") as file:
        blocks = re.findall(r"^```(python|sql)\n(.*?)^```$", file.read(), re.M | re.S)
    kinds = [("csv", lambda block: block)]
    if os.path.exists("tables/frames.parquet"):
        to_parquet = lambda block: block.replace(", infer_schema_length=None", "").replace("csv", "parquet")
        kinds.append(("parquet", to_parquet))
    compared = dict.fromkeys(FIGURES, 0)
    for kind, changed in kinds:
        for language, block in blocks:
            found = rows(language, changed(block))
            assert found.keys() == expected.keys(), (language, kind, found.keys(), expected.keys())
            for tenant, figures in expected.items():
                for name in FIGURES:
                    is_, should_be = found[tenant][name], figures[name]
                    # What the report withholds, the page computes all the same; energy that nobody measured is no number.
                    if should_be is None and name != "mj_per_frame":
                        continue
                    if is_ is None or math.isnan(is_):
                        is_ = None
                    elif name in ROUNDED:
                        is_ = round(float(is_), 6)
                    assert is_ == should_be, (language, kind, tenant, name, is_, should_be)
                    compared[name] += should_be is not None
    assert all(compared.values()), compared
    print(f"{len(blocks)} blocks on {' and '.join(kind for kind, _ in kinds)}: {sum(compared.values())} figures equal")


main(*sys.argv[1:])
