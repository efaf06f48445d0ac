"""Reads a Markdown export with markdown-it and holds the first cells of its tables of tenants, as they read, against the tenants' names.

usage: markdown_judge.py EXPORT.md REPORT.json
"""

import json
import sys

from markdown_it import MarkdownIt


def text_of(inline):
    """What a reader sees; anything but text would be Markdown that the name contains."""
    kinds = {child.type for child in inline.children} - {"text", "text_special"}
    assert not kinds, (inline.content, kinds)
    return "".join(child.content for child in inline.children)


def main(export, report):
    with open(report, encoding="utf-8") as file:
        names = [tenant["name"] for tenant in json.load(file)["tenants"]]
    with open(export, encoding="utf-8") as file:
        tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(file.read())
    tables, first = [], False
    for token in tokens:
        if token.type == "table_open":
            tables.append([])
        elif token.type == "tr_open":
            first = True
        elif token.type == "inline" and first:
            tables[-1].append(text_of(token))
            first = False
    of_tenants = [rows for head, *rows in tables if head == "tenant"]
    assert names in of_tenants, (of_tenants, names)
    assert all(name in names for rows in of_tenants for name in rows), (of_tenants, names)
    print(f"{len(names)} names read as they are")


main(*sys.argv[1:])
