#!/bin/sh
# Energy of a GPU under a changing load, as jetlag measures it at 10 Hz and at 100 Hz: integrated power beside the card's own
# counter, the refresh that is seen, and what sampling costs of a core, source by source. Changes no setting of the card.
#
#   scripts/measure_power.sh [JETLAG] [SECONDS]      default: target/release/jetlag, 90
#
# Needs python3 with torch (CUDA) for the load; with the package zeus (zeus-ml) its figure of the same interval stands beside.
set -eu
jetlag=${1:-target/release/jetlag}
seconds=${2:-90}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cat > "$folder/load.py" <<'PYTHON'
"""A load that changes every few seconds: idle, half, full, short bursts. Ends after the time given."""
import json, sys, time
import torch

seconds, out = float(sys.argv[1]), sys.argv[2]
zeus = None
try:
    from zeus.monitor import ZeusMonitor
    zeus = ZeusMonitor(gpu_indices=[0])
except Exception as error:  # not installed, or of another version: then there is no figure beside
    print(f"zeus: not beside ({error})", file=sys.stderr)
a = torch.randn(8192, 8192, device="cuda", dtype=torch.float16)
torch.matmul(a, a)
torch.cuda.synchronize()
# jetlag is started around this, and idles for a moment on both sides.
if zeus:
    zeus.begin_window("load")
begun_ns = time.monotonic_ns()  # the clock of jetlag's stamps
begun = time.monotonic()
while (at := time.monotonic() - begun) < seconds:
    part = int(at / 3) % 5
    until = time.monotonic() + 0.25
    busy = (0.0, 0.5, 1.0, 0.2, 0.8)[part]
    while time.monotonic() < until:
        slice_end = time.monotonic() + 0.02 * busy
        while time.monotonic() < slice_end:
            torch.matmul(a, a)
            torch.cuda.synchronize()
        time.sleep(0.02 * (1 - busy))
result = {}
if zeus:
    result["zeus_j"] = zeus.end_window("load").total_energy
result |= {"from_ns": begun_ns, "to_ns": time.monotonic_ns()}
json.dump(result, open(out, "w"))
PYTHON

for interval in 100ms 10ms; do
    "$jetlag" monitor --interval $interval --duration "$((seconds + 25))s" --record "$folder/$interval.mcap" \
        --format json > "$folder/$interval.live" 2> "$folder/$interval.err" &
    monitor=$!
    sleep 5
    python3 "$folder/load.py" "$seconds" "$folder/$interval.load.json"
    sleep 3
    kill -TERM $monitor
    wait $monitor || true
    "$jetlag" report "$folder/$interval.mcap" --format json > "$folder/$interval.json"
    "$jetlag" monitor --replay "$folder/$interval.mcap" --format json > "$folder/$interval.jsonl"
done

python3 - "$folder" <<'PYTHON'
import json, pathlib, sys

folder = pathlib.Path(sys.argv[1])
print(f"{'interval':9} {'rail':22} {'from power':>12} {'counter':>12} {'differ by':>9} {'95 %':>9} {'refresh':>9} {'seen':>6} {'readings':>8}")
for interval in ("100ms", "10ms"):
    summary = json.load(open(folder / f"{interval}.json"))
    for rail in summary["power"]:
        if rail["source"] != "nvml":
            continue
        counter = rail["counter_mj"]
        power = rail["integrated_mj"] / 1e3
        differ = f"{(power * 1e3 - counter) / counter:+.2%}" if counter else "-"
        shown = f"{counter / 1e3:.1f} J" if counter else "-"
        ci95 = rail["ci95_mj"]
        half = f"± {(ci95[1] - ci95[0]) / 2e3:.0f} J" if ci95 else "-"
        refresh = f"{rail['refresh_ms']:.1f} ms" if rail["refresh_ms"] else "-"
        print(f"{interval:9} {rail['rail']:22} {power:10.1f} J {shown:>12} {differ:>9} {half:>9} {refresh:>9} {rail['coverage']:6.0%} {rail['readings']:8}")
    # The load's own interval, by the same clock: what zeus saw.
    load = json.load(open(folder / f"{interval}.load.json"))
    objects = [json.loads(line) for line in open(folder / f"{interval}.jsonl")]
    objects = [o for o in objects if "signals" in o]

    def series(signal):
        found = ((o["at_ns"], o["signals"].get(signal, {}).get("value")) for o in objects)
        return [(at, value) for at, value in found if value is not None]

    def at(points, stamp):
        for (a, x), (b, y) in zip(points, points[1:]):
            if a <= stamp <= b:
                return x + (y - x) * (stamp - a) / max(b - a, 1)
        raise SystemExit(f"the load's interval is not within the recording: {stamp}")

    def joules(points, start, end):
        cut = [(start, at(points, start))] + [p for p in points if start < p[0] < end] + [(end, at(points, end))]
        return sum((x + y) / 2 * (b - a) for (a, x), (b, y) in zip(cut, cut[1:])) / 1e12

    start, end = load["from_ns"], load["to_ns"]
    words = [f"{interval:9} over the load's own {(end - start) / 1e9:.1f} s:"]
    power = series("nvml/gpu0_power_instant") or series("nvml/gpu0_power_average") or series("nvml/gpu0_power")
    if power:
        words.append(f"power {joules(power, start, end):.1f} J")
    # The counter is read every 5 s: between its readings it counts, before and after them it is power.
    energy = [reading for reading in series("nvml/gpu0_energy") if start <= reading[0] <= end]
    if power and len(energy) > 1:
        (first, before), (last, after) = energy[0], energy[-1]
        counted, between = (after - before) / 1e3, joules(power, first, last)
        whole = joules(power, start, first) + counted + joules(power, last, end)
        words.append(f"counter {whole:.1f} J (power is {between / counted - 1:+.2%} off it where it counted)")
    words.append(f"zeus {load['zeus_j']:.1f} J" if "zeus_j" in load else "zeus not installed")
    print(" ".join(words))
    # jetlag's own figure: processor time of the samplers' thread alone. Recording and JSON are in the next.
    sampling = summary["run"]["sampling"]
    if sampling:
        parts = ", ".join(f"{s['name']} {s['percent_of_core']:.3f} %" for s in sampling["samplers"])
        print(f"{interval:9} the samplers take {sampling['percent_of_core']:.3f} % of one core ({parts})")
    # The processors are counted by their own signals: in a container the machine's are in /proc/stat.
    names = {key for o in objects for key in o["signals"] if key.startswith("host/cpu") and key.endswith("_load")}
    cost = [value for _, value in series("host/own_cpu_load")]
    if cost:
        print(f"{interval:9} the whole program, with recording and JSON, takes {sum(cost) / len(cost) * max(len(names) - 1, 1):.2f} % of one core")
PYTHON
