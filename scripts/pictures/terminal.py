#!/usr/bin/env python3
"""Records a program on a terminal of tmux, and writes what it showed as one animated SVG.

    scripts/pictures/terminal.py --size 110x32 --seconds 20 -o dashboard.svg -- jetlag run configs/demo.ron --live

Blocks, lines and braille are drawn, so that they join whatever font the reader has; the rest is text. Takes Python and tmux alone.
"""

import argparse
import dataclasses
import html
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time

WIDTH, HEIGHT = 8, 16  # of a cell: blocks are eighths
MARGIN = 8
FOREGROUND, BACKGROUND = "#d3d7de", "#14171c"
PALETTE = (
    "#2b303b #e06c75 #8cc570 #e5c07b #61afef #c678dd #56b6c2 #d3d7de "
    "#6b7280 #f0838c #a5d98a #f2d28f #84c3f7 #d79be8 #7fd1db #ffffff"
).split()
# Where a line goes from the middle of its cell: left, right, up, down.
LINES = {
    "─": "lr", "│": "ud", "┌": "rd", "╭": "rd", "┐": "ld", "╮": "ld", "└": "ru", "╰": "ru", "┘": "lu", "╯": "lu",
    "├": "rud", "┤": "lud", "┬": "lrd", "┴": "lru", "┼": "lrud", "╴": "l", "╶": "r", "╵": "u", "╷": "d",
}  # fmt: skip
# The dots of braille, by bit: column and row.
DOTS = ((0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (0, 3), (1, 3))


@dataclasses.dataclass(frozen=True)
class Style:
    fore: str = FOREGROUND
    back: str = BACKGROUND
    bold: bool = False
    dim: bool = False
    reverse: bool = False


def colour(codes: list[int]) -> str:
    """The colour after 38 or 48, whose codes it takes off the list."""
    kind = codes.pop(0)
    if kind == 2:
        red, green, blue = codes.pop(0), codes.pop(0), codes.pop(0)
        return f"#{red:02x}{green:02x}{blue:02x}"
    index = codes.pop(0)
    if index < 16:
        return PALETTE[index]
    if index >= 232:
        return f"#{8 + 10 * (index - 232):02x}" + f"{8 + 10 * (index - 232):02x}" * 2
    levels = (0, 95, 135, 175, 215, 255)
    index -= 16
    return "#" + "".join(f"{levels[index // by % 6]:02x}" for by in (36, 6, 1))


def styled(style: Style, codes: list[int]) -> Style:
    change = {}
    while codes:
        code = codes.pop(0)
        if code == 0:
            style, change = Style(), {}
        elif code in (1, 2, 7):
            change[{1: "bold", 2: "dim", 7: "reverse"}[code]] = True
        elif code == 22:
            change |= {"bold": False, "dim": False}
        elif code == 27:
            change["reverse"] = False
        elif code in (38, 48):
            change["fore" if code == 38 else "back"] = colour(codes)
        elif code in (39, 49):
            change |= {"fore": FOREGROUND} if code == 39 else {"back": BACKGROUND}
        elif 30 <= code <= 37 or 90 <= code <= 97:
            change["fore"] = PALETTE[code % 10 + (8 if code >= 90 else 0)]
        elif 40 <= code <= 47 or 100 <= code <= 107:
            change["back"] = PALETTE[code % 10 + (8 if code >= 100 else 0)]
    return dataclasses.replace(style, **change)


def cells(line: str, style: Style) -> tuple[list[tuple[str, Style]], Style]:
    """A captured line as characters with their styles, and the style that the next one begins with."""
    found = []
    for part in re.split(r"(\x1b\[[0-9;]*m)", line):
        if part.startswith("\x1b["):
            style = styled(style, [int(code or 0) for code in part[2:-1].split(";")])
        else:
            found += [(character, style) for character in part]
    return found, style


# A rectangle: left, top, width, height.
Box = tuple[float, float, float, float]


def outline(boxes: list[Box]) -> str:
    """Rectangles as the data of a path; those that continue each other to the right become one."""
    merged: list[Box] = []
    for x, y, width, height in boxes:
        if merged and merged[-1][1] == y and merged[-1][3] == height and sum(merged[-1][::2]) >= x:
            left = merged.pop()[0]
            width += x - left
            x = left
        merged.append((x, y, width, height))
    return "".join(f"M{x:g} {y:g}h{width:g}v{height:g}h{-width:g}z" for x, y, width, height in merged)


def drawn(character: str, x: int) -> list[Box]:
    """A character that is drawn rather than written, as rectangles."""
    code = ord(character)
    if character in LINES:
        middle_x, middle_y = x + WIDTH / 2, HEIGHT / 2
        if LINES[character] == "lr":
            return [(x, middle_y - 0.5, WIDTH, 1)]
        ends = {
            "l": (x, middle_y - 0.5, WIDTH / 2 + 0.5, 1),
            "r": (middle_x - 0.5, middle_y - 0.5, WIDTH / 2 + 0.5, 1),
            "u": (middle_x - 0.5, 0, 1, HEIGHT / 2 + 0.5),
            "d": (middle_x - 0.5, middle_y - 0.5, 1, HEIGHT / 2 + 0.5),
        }
        return [ends[end] for end in LINES[character]]
    if 0x2581 <= code <= 0x2588:
        height = (code - 0x2580) * HEIGHT // 8
        return [(x, HEIGHT - height, WIDTH, height)]
    if 0x2589 <= code <= 0x258F:
        return [(x, 0, (0x2590 - code) * WIDTH // 8, HEIGHT)]
    if code == 0x2580:
        return [(x, 0, WIDTH, HEIGHT // 2)]
    if code == 0x2590:
        return [(x + WIDTH // 2, 0, WIDTH // 2, HEIGHT)]
    if 0x2800 <= code <= 0x28FF:
        dots = (DOTS[bit] for bit in range(8) if code - 0x2800 >> bit & 1)
        return [(x + 1 + 4 * column, 1 + 4 * row, 2, 2) for column, row in dots]
    return []


def row(line: list[tuple[str, Style]]) -> str:
    """A line of the terminal as SVG, at the top left corner."""
    out, at = [], 0
    while at < len(line):
        style, end = line[at][1], at
        while end < len(line) and line[end][1] == style:
            end += 1
        fore, back = (style.back, style.fore) if style.reverse else (style.fore, style.back)
        faint = ' opacity=".6"' if style.dim else ""
        if back != BACKGROUND:
            out.append(f'<path fill="{back}" d="{outline([(at * WIDTH, 0, (end - at) * WIDTH, HEIGHT)])}"/>')
        paint = "" if fore == FOREGROUND else f' fill="{fore}"'
        shapes = [drawn(character, (at + n) * WIDTH) for n, (character, _) in enumerate(line[at:end])]
        if shape := outline([box for boxes in shapes for box in boxes]):
            out.append(f'<path{paint}{faint} d="{shape}"/>')
        text = "".join(" " if boxes else c for (c, _), boxes in zip(line[at:end], shapes))
        bold = ' class="b"' if style.bold else ""
        # Words apart by one blank stay together; each begins at its own cell.
        for words in re.finditer(r"\S+(?: \S+)*", text):
            length = f' textLength="{len(words[0]) * WIDTH}"' if len(words[0]) > 1 else ""
            x = (at + words.start()) * WIDTH
            out.append(f'<text x="{x}" y="12"{length}{paint}{bold}{faint}>{html.escape(words[0])}</text>')
        at = end
    return "".join(out)


def picture(frames: list[list[str]], size: tuple[int, int], every_s: float, hold_s: float, title: str) -> str:
    """Frames of rows as one SVG that shows them in turn, the last one longer."""
    width, height = size[0] * WIDTH + 2 * MARGIN, size[1] * HEIGHT + 2 * MARGIN
    names: dict[str, str] = {}
    still = [len({frame[n] for frame in frames}) == 1 for n in range(size[1])]

    def placed(frame: list[str], wanted: bool) -> str:
        uses = []
        for n, text in enumerate(frame):
            if text and still[n] == wanted:
                name = names.setdefault(text, f"r{len(names)}")
                uses.append(f'<use href="#{name}" y="{n * HEIGHT}"/>')
        return "".join(uses)

    background = placed(frames[0], True)
    # A film that moves past the window, a picture at a time.
    film = "".join(f'<g transform="translate({n * width})">{placed(f, False)}</g>' for n, f in enumerate(frames))
    rows = "".join(f'<g id="{name}">{text}</g>' for text, name in names.items())
    total = every_s * (len(frames) - 1) + hold_s
    steps = "".join(
        f"{100 * n * every_s / total:.2f}%{{transform:translateX({-n * width}px)}}" for n in range(len(frames))
    )
    last = f"transform:translateX({-(len(frames) - 1) * width}px)"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-label="{html.escape(title)}"><title>{html.escape(title)}</title><style>'
        f"text{{font:13.3px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;white-space:pre}}.b{{font-weight:700}}"
        f".film{{animation:film {total:g}s step-end infinite}}@keyframes film{{{steps}100%{{{last}}}}}"
        f"@media (prefers-reduced-motion:reduce){{.film{{animation:none;{last}}}}}</style>"
        f'<defs>{rows}</defs><rect width="100%" height="100%" rx="6" fill="{BACKGROUND}"/>'
        f'<g fill="{FOREGROUND}" transform="translate({MARGIN} {MARGIN})">{background}<g class="film">{film}</g></g></svg>\n'
    )


def recorded(command: list[str], size: tuple[int, int], after_s: float, seconds: float, every_s: float) -> list[list[str]]:
    """What a terminal showed of a command: a list of rows each time."""
    with tempfile.TemporaryDirectory() as folder:
        tmux = ["tmux", "-S", os.path.join(folder, "socket"), "-f", "/dev/null"]
        environment = os.environ | {"TERM": "tmux-256color", "LC_ALL": "C.UTF-8"}
        environment.pop("NO_COLOR", None)
        environment.pop("TMUX", None)
        begin = [*tmux, "new-session", "-d", "-x", str(size[0]), "-y", str(size[1]), shlex.join(command)]
        off = [";", "set", "-g", "status", "off"]
        subprocess.run([*begin, *off], check=True, env=environment)
        began, frames = time.monotonic(), []
        try:
            while (at := time.monotonic() - began) < after_s + seconds:
                shown = subprocess.run([*tmux, "capture-pane", "-e", "-p"], capture_output=True, text=True, env=environment)
                if shown.returncode != 0:  # the command has ended, and its terminal with it
                    break
                if at >= after_s:
                    lines, style = [], Style()
                    for line in shown.stdout.split("\n")[: size[1]]:
                        found, style = cells(line, style)
                        lines.append(row(found))
                    frames.append(lines + [""] * (size[1] - len(lines)))
                time.sleep(max(0.0, every_s - (time.monotonic() - began - at)))
        finally:
            subprocess.run([*tmux, "kill-server"], stderr=subprocess.DEVNULL, env=environment)
    return frames


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", default="110x32", help="columns and rows of the terminal")
    parser.add_argument("--after", type=float, default=0, help="seconds that are not recorded first")
    parser.add_argument("--seconds", type=float, default=15, help="seconds that are recorded, at most")
    parser.add_argument("--every", type=float, default=0.5, help="seconds from one picture to the next")
    parser.add_argument("--title", default="A terminal")
    parser.add_argument("-o", "--out", required=True)
    parser.add_argument("command", nargs="+")
    given = parser.parse_args()
    columns, rows = (int(part) for part in given.size.split("x"))
    frames = recorded(given.command, (columns, rows), given.after, given.seconds, given.every)
    if not any(any(frame) for frame in frames):
        sys.exit(f"terminal.py: the terminal showed nothing: {shlex.join(given.command)}")
    with open(given.out, "w", encoding="utf-8") as file:
        file.write(picture(frames, (columns, rows), given.every, 2.5, given.title))


if __name__ == "__main__":
    main()
