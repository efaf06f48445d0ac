//! How predictable a tenant's response time and each of its stages are: the measures that are published for
//! co-running detectors, the effective sample size, and streaks of misses.
//!
//! The published measures (P0–P99 range, relative spread, the P1–P99 policy) are defined over percentiles that are
//! interpolated between neighbours, definition 7 of Hyndman and Fan. They are kept apart from our own quantiles,
//! which are latencies that occurred: see docs/measurement.md, and [`Interpolated`].

use jetlag_stats::autocorrelation::with_the_next;
use jetlag_stats::quantile::Quantile;
use jetlag_stats::quantile::interpolated_at;

use crate::analysis::gathering::dependence::Dependence;
use crate::analysis::gathering::series::Distribution;
use crate::analysis::stats::{interquartile_range, jitter, quotient, six_decimals};
use crate::analysis::summary::StagePredictability;
use crate::analysis::summary::{
    EffectiveFrames, Interpolated, Predictability, Stats, Steady, Trimmed, Wander,
};

/// Frames below which the published tail measures are withheld.
const TAIL: u64 = 100;
/// Frames below which they are marked as sparse.
const SPARSE: u64 = 1000;

/// The figures of one stage, from its complete times and its times in order.
pub(in crate::analysis) fn of_stage(
    times: &Distribution,
    figures: &Stats,
    in_order: &[i64],
    dependence: &Dependence,
) -> StagePredictability {
    StagePredictability {
        jitter_ms: jitter(figures),
        cv: quotient(times.sd(), times.mean()),
        iqr_ms: interquartile_range(times, dependence),
        worst_over_median: quotient(figures.max, figures.p50.value),
        relative_spread: relative_spread(figures),
        autocorrelation: with_the_next(in_order).map(six_decimals),
        effective_frames: effective_frames(times, dependence),
        interpolated: interpolated(times),
    }
}

/// All figures of a tenant, from its complete response times and its response times in order.
pub(in crate::analysis) fn predictability(
    response: &Distribution,
    figures: &Stats,
    (in_order, dependence): (&[i64], &Dependence),
    longest_miss_streak: u64,
    (steady, wander): (Steady, Option<Wander>),
) -> Predictability {
    Predictability {
        relative_spread: relative_spread(figures),
        longest_miss_streak,
        autocorrelation: with_the_next(in_order).map(six_decimals),
        effective_frames: effective_frames(response, dependence),
        steady,
        wander,
        interpolated: interpolated(response),
    }
}

fn relative_spread(figures: &Stats) -> Option<f64> {
    let p50 = figures.p50.value.filter(|p50| *p50 > 0.0)?;
    Some(six_decimals(jitter(figures)? / p50))
}

/// Also for a quantile that is withheld because of autocorrelation: then it shows how far the sample is from enough.
fn effective_frames(times: &Distribution, dependence: &Dependence) -> EffectiveFrames {
    let n = times.count();
    let worth = |quantile: Quantile| quantile.supported_by(n).then(|| dependence.worth(quantile, n));
    EffectiveFrames {
        p50: worth(Quantile::P50),
        p90: worth(Quantile::P90),
        p99: worth(Quantile::P99),
    }
}

/// The published measures; `None` where there is no frame.
fn interpolated(response: &Distribution) -> Option<Interpolated> {
    let n = response.count();
    let whole = Ranks { first: 1, last: n };
    let at = |share| whole.at(response, share).map(nine_decimals);
    let (p0, p50) = (response.min()?.as_millis_f64(), whole.at(response, 0.5)?);
    let p99 = whole.at(response, 0.99)?;
    let tail = |value: f64| (n >= TAIL).then(|| nine_decimals(value));
    let over_median = |value: f64| (n >= TAIL && p50 > 0.0).then(|| nine_decimals(value / p50));
    Some(Interpolated {
        p1_ms: at(0.01)?,
        p5_ms: at(0.05)?,
        p25_ms: at(0.25)?,
        p50_ms: nine_decimals(p50),
        p75_ms: at(0.75)?,
        p95_ms: at(0.95)?,
        p99_ms: tail(p99),
        iqr_ms: nine_decimals(whole.at(response, 0.75)? - whole.at(response, 0.25)?),
        p0_p99_range_ms: tail(p99 - p0),
        normalized_range: over_median(p99 - p0),
        spread_ms: tail(p99 - p50),
        relative_spread: over_median(p99 - p50),
        sparse: n < SPARSE,
        trimmed: trimmed(response, whole),
    })
}

/// The P1–P99 policy: bounds from all frames, inclusive; percentiles computed again from the remaining frames.
fn trimmed(response: &Distribution, whole: Ranks) -> Option<Trimmed> {
    let (low, high) = (whole.at(response, 0.01)?, whole.at(response, 0.99)?);
    let rest = whole.within(response, low, high)?;
    let frames = rest.last - rest.first + 1;
    let (p50, p99) = (rest.at(response, 0.5)?, rest.at(response, 0.99)?);
    let enough = frames >= TAIL;
    Some(Trimmed {
        low_ms: nine_decimals(low),
        high_ms: nine_decimals(high),
        frames,
        p50_ms: nine_decimals(p50),
        p99_ms: enough.then(|| nine_decimals(p99)),
        spread_ms: enough.then(|| nine_decimals(p99 - p50)),
        relative_spread: (enough && p50 > 0.0).then(|| nine_decimals((p99 - p50) / p50)),
        sparse: frames < SPARSE,
    })
}

/// Values of a series from one rank to another (1 is the smallest), both among them.
#[derive(Clone, Copy)]
struct Ranks {
    first: u64,
    last: u64,
}

impl Ranks {
    /// The percentile of these values in milliseconds, interpolated between the two ranks that it lies between.
    fn at(self, response: &Distribution, share: f64) -> Option<f64> {
        let count = (self.last + 1).checked_sub(self.first)?;
        interpolated_at(count, share, |place| {
            Some(response.at_rank(self.first + place)?.0 as f64 / 1e6)
        })
    }

    /// Those from `low` to `high` milliseconds.
    fn within(self, response: &Distribution, low: f64, high: f64) -> Option<Ranks> {
        let ms = |rank: u64| {
            response
                .at_rank(rank)
                .map_or(f64::INFINITY, |ns| ns.0 as f64 / 1e6)
        };
        // Interpolating between equal values can be off by the last digit.
        let slack = 1e-9;
        let first = self.first_where(|rank| ms(rank) >= low - slack)?;
        let beyond = self.first_where(|rank| ms(rank) > high + slack);
        let last = beyond.map_or(self.last, |rank| rank - 1);
        (first <= last).then_some(Ranks { first, last })
    }

    /// The first rank for which `holds`, which holds for all after it.
    fn first_where(self, holds: impl Fn(u64) -> bool) -> Option<u64> {
        let (mut low, mut high) = (self.first, self.last + 1);
        while low < high {
            let middle = low.midpoint(high);
            if holds(middle) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        (low <= self.last).then_some(low)
    }
}

/// Between two whole nanoseconds there are digits; nine decimals of a millisecond keep three of them.
fn nine_decimals(x: f64) -> f64 {
    (x * 1e9).round() / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::gathering::series::Series;
    use crate::units::Nanos;

    fn of(values: impl Iterator<Item = i64>) -> Interpolated {
        let mut series = Series::default();
        values.for_each(|ns| series.push(Nanos(ns), true));
        interpolated(&series.finish()).unwrap()
    }

    #[test]
    fn percentiles_lie_between_neighbours() {
        // 1 to 101 ms: the p-th percentile is p + 1.
        let found = of((1..=101).map(|ms| ms * 1_000_000));
        assert_eq!((found.p1_ms, found.p50_ms, found.p95_ms), (2.0, 51.0, 96.0));
        assert_eq!((found.p99_ms, found.p0_p99_range_ms), (Some(100.0), Some(99.0)));
        assert_eq!(found.relative_spread, Some(nine_decimals(49.0 / 51.0)));
        let half = of([1_000_000, 2_000_000].into_iter());
        assert_eq!((half.p50_ms, half.p25_ms), (1.5, 1.25));
    }

    #[test]
    fn the_policy_keeps_what_lies_within_its_bounds_and_computes_anew() {
        let trimmed = of((1..=201).map(|ms| ms * 1_000_000)).trimmed.unwrap();
        // Bounds are 3 and 199 ms, both kept.
        assert_eq!(
            (trimmed.low_ms, trimmed.high_ms, trimmed.frames),
            (3.0, 199.0, 197)
        );
        assert_eq!((trimmed.p50_ms, trimmed.p99_ms), (101.0, Some(197.04)));
        assert!(trimmed.sparse);
        let equal = of(std::iter::repeat_n(7_000_000, 150)).trimmed.unwrap();
        assert_eq!((equal.frames, equal.spread_ms), (150, Some(0.0)));
    }

    #[test]
    fn a_tail_of_too_few_frames_is_withheld() {
        let found = of((1..=99).map(|ms| ms * 1_000_000));
        assert_eq!(
            (found.p99_ms, found.p0_p99_range_ms, found.normalized_range),
            (None, None, None)
        );
        assert!(found.sparse);
        let one = of([5].into_iter());
        assert_eq!((one.p50_ms, one.iqr_ms), (0.000_005, 0.0));
    }

    #[test]
    fn nothing_is_a_share_of_no_time_and_a_thousand_frames_are_no_longer_sparse() {
        let zeros = of(std::iter::repeat_n(0, 200));
        assert_eq!(
            (zeros.p99_ms, zeros.normalized_range, zeros.relative_spread),
            (Some(0.0), None, None)
        );
        assert_eq!(zeros.trimmed.unwrap().relative_spread, None);
        // Most take no time, and too few are left for a spread.
        let few = of((0..50).map(|i| i64::from(i > 40)));
        assert_eq!(few.trimmed.unwrap().relative_spread, None);
        let few = of((1..=50).map(|ms| ms * 1_000_000));
        assert_eq!(few.trimmed.unwrap().relative_spread, None);
        for (frames, sparse) in [(999, true), (1_000, false)] {
            let equal = of(std::iter::repeat_n(5, frames));
            assert_eq!(
                (equal.sparse, equal.trimmed.unwrap().sparse),
                (sparse, sparse),
                "{frames}"
            );
        }
    }
}
