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
AT = [0.5, 0.75, 0.9, 0.95, 0.99, 0.999]
problems = []


def agree(case, name, ours, theirs, tolerance=1e-6):
    """Note a disagreement; None is "not known"."""
    same = ours is None and theirs is None
    if not same and ours is not None and theirs is not None:
        same = math.isclose(ours, theirs, rel_tol=1e-12, abs_tol=tolerance)
    if not same:
        problems.append(f"series {case}: {name} is {ours}, and {theirs} here")


def correlation(indicator):
    """τ of an indicator by Geyer's initial monotone sequence, its autocovariances by FFT, and its relative error."""
    n = len(indicator)
    centred = indicator - indicator.mean()
    variance = (centred**2).sum()
    if n < 2 or variance == 0:
        return 1.0, 0.0
    transformed = np.fft.rfft(centred, 2 * n)
    rho = np.fft.irfft(transformed * np.conj(transformed))[:n] / variance
    tau, smallest, lag = -1.0, math.inf, 1
    while lag + 1 < min(n, 4096):
        pair = rho[lag - 1] + rho[lag]
        if pair <= 1e-12:
            break
        smallest = min(smallest, pair)
        tau += 2 * smallest
        lag += 2
    tau = max(tau, 1.0)
    tail = min(indicator.mean(), 1 - indicator.mean())
    return tau, math.sqrt(2 * (2 * lag + 1) / n + tau / (n * tail))


def dependence(values):
    """Which τ counts for a quantile, and whether autocorrelation is detected: docs/measurement.md."""
    at = [correlation((values <= np.quantile(values, p, method="inverted_cdf")).astype(float)) for p in AT]

    def of(p):
        looked_at = at[: 3 if p <= 0.75 else 5 if p <= 0.99 else 6]
        repeats = any(tau / (1 + 2 * error) > 1 for tau, error in looked_at)
        if not repeats:
            return max([1.0] + [tau for tau, _ in looked_at]), False
        most = [tau * (1 + 2 * error) for tau, error in looked_at]
        chosen = [tau / max(1 - 2 * error, 0.1) for q, (tau, error) in zip(AT, looked_at) if q <= p]
        return max([1.0] + most + chosen), True

    return of


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
    if not found:
        return []
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
    of = dependence(values)

    def supported(p, needs):
        tau, repeats = of(p)
        if repeats:
            needs = max(needs, 64 if p <= 0.75 else 100) * tau
        return n >= needs

    low, high = np.quantile(values, [0.25, 0.75], method="inverted_cdf")
    agree(case, "iqr", given["iqr_ms"], (high - low) / 1e6 if supported(0.25, 24) and supported(0.75, 24) else None)
    for name, (p, needs) in NEEDS.items():
        tau, _ = of(p)
        worth = math.floor(n / tau)
        effective = given["predictability"]["effective_frames"].get(name)
        if effective is not None:
            agree(case, f"worth of {name}", effective, max(1, worth), 1)
        shown = n >= needs if p <= 0.95 else supported(p, needs)
        agree(case, name, ours[name], np.quantile(values, p, method="inverted_cdf") / 1e6 if shown else None)
        if not supported(p, needs):
            if ours["ci95"][name] is not None:
                problems.append(f"series {case}: {name} has an interval, and none here")
            continue
        rank = math.ceil(round(n * p, 6))
        bounds = []
        for lower, upper in narrowest(worth, p, math.ceil(round(worth * p, 6))):
            lower = min(max(1, math.floor(lower * (n / worth))), rank)
            upper = max(math.ceil(upper * (n / worth)), rank)
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
