#!/usr/bin/env python3
"""Hold statistics of response times against NumPy and SciPy.

Reads a JSON array of cases on stdin: "values" (nanoseconds, in order of time) and what jetlag made of them. Everything
is computed anew, by other means (NumPy's quantiles, FFT autocovariances, scipy.stats.binom), and compared. Prints each
disagreement and fails, or prints how many series agree.
"""

import json
import math
import sys

import numpy as np
from scipy import stats

NEEDS = {"p50": (0.5, 11), "p90": (0.9, 64), "p95": (0.95, 130), "p99": (0.99, 662), "p99_9": (0.999, 6636)}
problems = []


def agree(case, name, ours, theirs, tolerance=1e-6):
    """Note a disagreement; None is "not known"."""
    same = ours is None and theirs is None
    if not same and ours is not None and theirs is not None:
        same = math.isclose(ours, theirs, rel_tol=1e-12, abs_tol=tolerance)
    if not same:
        problems.append(f"series {case}: {name} is {ours}, and {theirs} here")


def inflation(indicator):
    """Geyer's initial monotone sequence of an indicator, its autocovariances by FFT."""
    n = len(indicator)
    centred = indicator - indicator.mean()
    variance = (centred**2).sum()
    if variance == 0:
        return 1.0
    transformed = np.fft.rfft(centred, 2 * n)
    rho = np.fft.irfft(transformed * np.conj(transformed))[:n] / variance
    tau, smallest = -1.0, math.inf
    for lag in range(0, min(n, 4096) - 2, 2):
        pair = rho[lag] + rho[lag + 1]
        if pair <= 1e-12:
            break
        smallest = min(smallest, pair)
        tau += 2 * smallest
    return max(tau, 1.0)


def narrowest(n, p, rank):
    """The fewest ranks around `rank` that hold the quantile with 95 %, by trying all, and of those the most balanced.
    Two that mirror each other are equally good."""
    cdf = stats.binom.cdf(np.arange(-1, n + 1), n, p)  # cdf[k] is P(B < k)
    found = []
    for low in range(max(1, rank - 400), rank + 1):
        # The first upper rank at which enough is held.
        high = int(np.searchsorted(cdf[: n + 1], cdf[low] + 0.95 - 1e-13))
        high = max(high, rank, low + 1)
        if high <= n and cdf[high] - cdf[low] >= 0.95 - 1e-13:
            found.append((high - low, abs(cdf[low] - (1 - cdf[high])), low, high))
    width = min(found)[0]
    balance = min(imbalance for w, imbalance, _, _ in found if w == width)
    return [(low, high) for w, imbalance, low, high in found if w == width and imbalance < balance + 1e-12]


def judge(case, given):
    """Compare one case."""
    values = np.array(given["values"], dtype=float)
    n, ordered, ours = len(values), np.sort(values), given["response_ms"]
    agree(case, "mean", ours["mean"], values.mean() / 1e6)
    agree(case, "sd", ours["sd"], values.std(ddof=1) / 1e6)
    agree(case, "cv", given["cv"], stats.variation(values, ddof=1), 2e-6)
    low, high = np.quantile(values, [0.25, 0.75], method="inverted_cdf")
    agree(case, "iqr", given["iqr_ms"], (high - low) / 1e6 if n >= 24 else None)
    for name, (p, needs) in NEEDS.items():
        quantile = np.quantile(values, p, method="inverted_cdf") if n >= needs else None
        agree(case, name, ours[name], quantile / 1e6 if n >= needs else None)
        if quantile is None:
            continue
        tau = inflation((values <= quantile).astype(float))
        worth = given["predictability"]["effective_frames"].get(name)
        if worth is not None:
            agree(case, f"worth of {name}", worth, max(1, math.floor(n / tau)), 1)
        rank = math.ceil(round(n * p, 6))
        wider = math.sqrt(tau)
        bounds = []
        for lower, upper in narrowest(n, p, rank):
            lower = max(1, rank - math.floor((rank - lower) * wider + 0.5))
            upper = min(n, rank + math.floor((upper - rank) * wider + 0.5))
            bounds.append((ordered[lower - 1] / 1e6, ordered[upper - 1] / 1e6))
        if not any(np.allclose(ours["ci95"][name], pair, rtol=0, atol=1e-6) for pair in bounds):
            problems.append(f"series {case}: the interval of {name} is {ours['ci95'][name]}, and {bounds} here")
    if np.ptp(values) > 0:
        centred = values - values.mean()
        agree(case, "autocorrelation", given["predictability"]["autocorrelation"],
              (centred[:-1] * centred[1:]).sum() / (centred**2).sum(), 2e-6)
    theirs = given["predictability"]["interpolated"]
    for name, p in {"p1_ms": 1, "p5_ms": 5, "p25_ms": 25, "p50_ms": 50, "p75_ms": 75, "p95_ms": 95}.items():
        agree(case, name, theirs[name], np.percentile(values, p) / 1e6, 1e-9)
    agree(case, "interpolated iqr", theirs["iqr_ms"], stats.iqr(values) / 1e6, 2e-9)
    if n >= 100:
        low, median, high = np.percentile(values, [1, 50, 99])
        agree(case, "p0-p99 range", theirs["p0_p99_range_ms"], (high - values.min()) / 1e6, 2e-9)
        agree(case, "relative spread", theirs["relative_spread"], (high - median) / median, 2e-9)
        kept = values[(values >= low - 1e-3) & (values <= high + 1e-3)]
        agree(case, "retained", theirs["trimmed"]["frames"], len(kept))
        agree(case, "retained p99", theirs["trimmed"]["p99_ms"],
              np.percentile(kept, 99) / 1e6 if len(kept) >= 100 else None, 2e-9)


cases = json.load(sys.stdin)
for number, given in enumerate(cases):
    judge(number, given)
print("\n".join(problems) if problems else f"{len(cases)} series agree")
sys.exit(bool(problems))
