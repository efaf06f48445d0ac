#!/usr/bin/env bash
# Makes the pictures of the README and of docs/report.md: the page in light and dark, and a recording of the dashboard. The detectors
# are simulated and the board is made up, so that the pictures show rails and clocks too; no figure in them is a measurement.
#   scripts/pictures.sh [JETLAG]      by default target/release/jetlag; takes tmux, Chromium and Python
set -euo pipefail
cd "$(dirname "$0")/.."
jetlag=$(realpath "${1:-target/release/jetlag}")
out=docs/pictures
browser=''
for name in chromium chromium-browser google-chrome; do
  [ -n "$browser" ] || browser=$(command -v "$name" || true)
done
for program in tmux python3 "${browser:-chromium}" "$jetlag"; do
  command -v "$program" >/dev/null || { echo "pictures.sh: $program is missing" >&2; exit 1; }
done

work=$(mktemp -d)
scripts/board_tree.py tests/boards/agx-orin-r36.tree "$work/orin"
scripts/pictures/living_board.py "$work/orin" &
board=$!
trap 'kill "$board" 2>/dev/null || true; rm -rf "$work"' EXIT
mkdir -p "$out"

echo "the dashboard, for half a minute"
JETLAG_ROOT=$work/orin scripts/pictures/terminal.py --size 110x34 --after 3 --seconds 23 --every 0.8 \
  --title "jetlag's dashboard: simulated detectors on a made-up board" -o "$out/dashboard.svg" -- \
  "$jetlag" run scripts/pictures/run.ron --live --out "$work/run.mcap"

# The page is of the same scenario in simulated time, so that no other program of this machine is in the picture.
code=0
"$jetlag" run scripts/pictures/run.ron --set clock=Virtual --quiet --out "$work/page.mcap" --html "$work/page.html" >/dev/null || code=$?
# An expectation that does not hold is part of the picture.
[ "$code" = 0 ] || [ "$code" = 3 ]

for scheme in dark light; do
  number=0
  [ "$scheme" = dark ] || number=1
  "$browser" --headless --no-sandbox --disable-gpu --no-first-run --hide-scrollbars --window-size=1200,850 \
    --user-data-dir="$work/$scheme" --blink-settings=preferredColorScheme=$number --screenshot="$out/page-$scheme.png" \
    "file://$work/page.html" 2>/dev/null
done

for picture in "$out"/*; do
  bytes=$(stat -c %s "$picture")
  echo "$picture: $bytes bytes"
  [ "$bytes" -gt 0 ] && [ "$bytes" -lt 300000 ] || { echo "pictures.sh: $picture must be below 300 KB" >&2; exit 1; }
done
