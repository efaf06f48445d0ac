#!/usr/bin/env python3
"""Writes the files of a made-up board (tests/boards/*.tree) below a folder.

    scripts/board_tree.py tests/boards/agx-orin-r36.tree /tmp/agx-orin
    JETLAG_ROOT=/tmp/agx-orin jetlag doctor
"""

import pathlib
import sys

ESCAPES = {"\\n": "\n", "\\t": "\t", "\\0": "\0"}


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    root = pathlib.Path(sys.argv[2])
    for line in pathlib.Path(sys.argv[1]).read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        path, content = line.split(" = ", 1) if " = " in line else (line.removesuffix(" ="), "")
        for escape, text in ESCAPES.items():
            content = content.replace(escape, text)
        file = root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content + "\n" if content and not content.endswith(("\n", "\0")) else content)


if __name__ == "__main__":
    main()
