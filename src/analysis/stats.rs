//! From a complete series to the figures of the summary: milliseconds with all their nanoseconds.

use super::quantile::Quantile;
use super::series::{Distribution, Estimate};
use super::summary::{Intervals, Slowdown, SlowdownIntervals, Stats};
use crate::units::Nanos;

/// All that is said of one series.
pub(super) fn stats(distribution: &Distribution) -> Stats {
    let [p50, p90, p95, p99, p99_9] = distribution.quantiles(
        [
            Quantile::P50,
            Quantile::P90,
            Quantile::P95,
            Quantile::P99,
            Quantile::P99_9,
        ],
        0.95,
    );
    Stats {
        count: distribution.count(),
        mean: distribution.mean().map(ns_to_ms),
        sd: distribution.sd().map(ns_to_ms),
        min: distribution.min().map(Nanos::as_millis_f64),
        p50: value(p50),
        p90: value(p90),
        p95: value(p95),
        p99: value(p99),
        p99_9: value(p99_9),
        max: distribution.max().map(Nanos::as_millis_f64),
        ci95: Intervals {
            p50: interval(p50),
            p90: interval(p90),
            p95: interval(p95),
            p99: interval(p99),
            p99_9: interval(p99_9),
        },
    }
}

/// Together over alone. The interval of each ratio divides bounds of 97.5 % each, so that it holds the true
/// ratio with at least 95 % whatever the distributions are (Bonferroni).
pub(super) fn slowdown(together: &Distribution, alone: &Distribution) -> Slowdown {
    const EACH: f64 = 0.975;
    let quantiles = [Quantile::P50, Quantile::P99];
    let [p50, p99] = together.quantiles(quantiles, EACH);
    let [alone_p50, alone_p99] = alone.quantiles(quantiles, EACH);
    Slowdown {
        p50: ratio(p50, alone_p50),
        p99: ratio(p99, alone_p99),
        ci95: SlowdownIntervals {
            p50: ratio_interval(p50, alone_p50),
            p99: ratio_interval(p99, alone_p99),
        },
        alone_count: alone.count(),
    }
}

/// Interquartile range in milliseconds.
pub(super) fn interquartile_range(distribution: &Distribution) -> Option<f64> {
    let [p25, p75] = distribution.quantiles([Quantile::P25, Quantile::P75], 0.95);
    Some((p75?.value - p25?.value).as_millis_f64())
}

/// Milliseconds to the nearest nanosecond.
fn ns_to_ms(ns: f64) -> f64 {
    ns.round() / 1e6
}

/// Rounds what is shown as a rate or a ratio to six decimals, beyond which it says nothing.
pub(super) fn six_decimals(x: f64) -> f64 {
    (x * 1e6).round() / 1e6
}

fn value(estimate: Option<Estimate>) -> Option<f64> {
    estimate.map(|e| e.value.as_millis_f64())
}

fn interval(estimate: Option<Estimate>) -> Option<[f64; 2]> {
    estimate.map(|e| [e.low.as_millis_f64(), e.high.as_millis_f64()])
}

fn over(a: Nanos, b: Nanos) -> Option<f64> {
    (b.0 > 0).then(|| six_decimals(a.0 as f64 / b.0 as f64))
}

fn ratio(together: Option<Estimate>, alone: Option<Estimate>) -> Option<f64> {
    over(together?.value, alone?.value)
}

fn ratio_interval(together: Option<Estimate>, alone: Option<Estimate>) -> Option<[f64; 2]> {
    let (together, alone) = (together?, alone?);
    Some([over(together.low, alone.high)?, over(together.high, alone.low)?])
}
