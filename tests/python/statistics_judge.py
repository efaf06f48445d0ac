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
from scipy import optimize, special, stats

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


def cells(indicator):
    """Events and frames of 96 cells of equal length."""
    edges = len(indicator) * np.arange(97) // 96
    total = np.concatenate([[0], np.cumsum(indicator)])
    return total[edges[1:]] - total[edges[:-1]], np.diff(edges)


def deviations(of_cells, batches, share):
    """The share of each batch less that of the run; None where a batch has fewer than two frames."""
    events, frames = (part.reshape(batches, -1).sum(1) for part in of_cells)
    return events / frames - share if frames.min() >= 2 else None


def neighbours(of_batches):
    squares = (of_batches**2).sum()
    if squares == 0:
        return 0.0
    seen = (of_batches[1:] * of_batches[:-1]).sum() / squares
    return seen + (1 + 3 * max(seen, 0)) / len(of_batches)


def times_per_batch(correlation):
    of = lambda x: (1 - math.exp(-x)) ** 2 / (2 * (x - 1 + math.exp(-x)))
    if correlation <= of(100):
        return 100.0
    if correlation >= of(1e-3):
        return 1e-3
    return optimize.brentq(lambda x: of(x) - correlation, 1e-3, 100)


def lengths(seen, batches):
    """The run's length in correlation times: as seen, and as the error of the correlation allows."""
    error = 0.5 * math.sqrt(max(0.0, 1 - seen**2) / batches)
    return [batches * times_per_batch(correlation) for correlation in (seen, seen + error)]


def hidden(length, batches):
    variance = lambda x: 2 / x * (1 - (1 - math.exp(-x)) / x)
    return variance(length) * (batches - 1) / (variance(length / batches) - variance(length))


class Indicator:
    """Whether frames do not exceed a quantile: τ by neighbours and by batches."""

    def __init__(self, values, p, median_length):
        indicator = (values <= np.quantile(values, p, method="inverted_cdf")).astype(float)
        self.time, self.error = correlation(indicator)
        share, of_cells = indicator.mean(), cells(indicator)
        # As estimated, and with a correlation that is half a standard error higher, of which intervals are.
        known = [lengths(neighbours(d), b) for b in (32, 16) if (d := deviations(of_cells, b, share)) is not None]
        known += [median_length] if median_length is not None else []
        self.length = tuple(np.min(known, axis=0)) if known else None
        self.batches, self.freedom = 1.0, 0
        count = 4
        if self.length is not None:
            count = next((b for b in (32, 24, 16, 12, 8, 6, 4) if b <= self.length[1] // 5), 4)
        of_batches = deviations(of_cells, count, share)
        if of_batches is not None and 0 < share < 1:
            more = 1.0 if self.length is None else hidden(self.length[1], count)
            variance = (of_batches**2).sum() / (count - 1) * len(values) / count
            self.batches, self.freedom = max(1.0, variance / (share * (1 - share)) * more), count - 1


class Dependence:
    """What an interval must allow for: docs/measurement.md."""

    def __init__(self, values):
        self.values, self.n, self.at = values, len(values), []
        for p in AT:
            self.at.append(Indicator(values, p, self.at[0].length if self.at else None))

    def up_to(self, p):
        return self.at[: max(1, sum(q <= max(p, 0.75 if p < 0.5 else p) for q in AT))]

    def detected(self, p):
        looked_at = self.at[: 3 if p <= 0.75 else 5 if p <= 0.99 else 6]
        return any(one.time / (1 + 2 * one.error) > 1 for one in looked_at)

    def beyond(self, p):
        return self.n * min(p, 1 - p) / max(1.0, *(one.time for one in self.up_to(p)))

    def inflation(self, p):
        seen = self.up_to(p)
        if not self.detected(p):
            return max(1.0, *(one.time for one in seen))
        if self.beyond(p) < 3:
            time = max(1.0, *(one.time for one in seen))
            widest = max(seen, key=lambda one: one.batches)
        else:
            time, widest = max(1.0, seen[-1].time), seen[-1]
        wider = (stats.t.ppf(0.975, widest.freedom) / stats.norm.ppf(0.975)) ** 2 if widest.freedom else 1.0
        return max(time, widest.batches * wider)

    def interval(self, p, needs):
        """All intervals that are equally good, ns; none where frames lack for one."""
        n, ordered = self.n, np.sort(self.values)
        if n < needs:
            return []
        rank, tau = math.ceil(round(n * p, 6)), self.inflation(p)
        if not self.detected(p):
            worth = math.floor(n / tau)
            found = []
            for lower, upper in narrowest(worth, p, math.ceil(round(worth * p, 6))):
                lower = min(max(1, math.floor(lower * (n / worth))), rank)
                upper = max(math.ceil(upper * (n / worth)), rank)
                found += [(ordered[lower - 1], ordered[upper - 1])] if upper <= n else []
            return found
        own = self.up_to(p)[-1]
        if own.length is not None and own.length[0] < 2:
            return []
        if self.beyond(p) >= (0.5 if p <= 0.95 else 1.0):
            half = stats.norm.ppf(0.975) / math.sqrt(n / tau * p * (1 - p))
            lower = min(max(1, math.floor(n * special.expit(special.logit(p) - half))), rank)
            upper = max(math.ceil(n * special.expit(special.logit(p) + half) + 1), rank)
            if upper <= n and (p <= 0.75 or lower > n // 2):
                return [(ordered[lower - 1], ordered[upper - 1])]
        if own.length is None or own.length[0] >= 60 or p > 0.95:
            return []
        quarters = self.values[: n // 4 * 4].reshape(4, -1)
        of_each = np.quantile(quarters, p, axis=1, method="inverted_cdf")
        half = stats.t.ppf(0.975, 3) * of_each.std(ddof=1) / 2 * math.sqrt(hidden(own.length[1], 4))
        return [(ordered[rank - 1] - half, ordered[rank - 1] + half)]


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
    dependence = Dependence(values)
    low, high = np.quantile(values, [0.25, 0.75], method="inverted_cdf")
    known = dependence.interval(0.25, 24) and dependence.interval(0.75, 24)
    agree(case, "iqr", given["iqr_ms"], (high - low) / 1e6 if known else None)
    for name, (p, needs) in NEEDS.items():
        worth = math.floor(n / dependence.inflation(p))
        effective = given["predictability"]["effective_frames"].get(name)
        if effective is not None:
            agree(case, f"worth of {name}", effective, max(1, worth), 1)
        agree(case, name, ours[name], np.quantile(values, p, method="inverted_cdf") / 1e6 if n >= needs else None)
        bounds = [(low / 1e6, high / 1e6) for low, high in dependence.interval(p, needs)]
        interval = ours["ci95"][name]
        same = any(np.allclose(interval, pair, rtol=0, atol=2e-6) for pair in bounds) if interval else not bounds
        if not same:
            problems.append(f"series {case}: the interval of {name} is {interval}, and {bounds} here")
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
