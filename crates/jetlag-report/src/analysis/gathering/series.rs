//! One series of durations: collected one by one, then turned into a distribution.
//!
//! Sums are 128-bit integers, so that mean and standard deviation are exact up to their last rounding and do not
//! depend on the order of frames. Durations are kept as they are; a run that is too long for that counts them in a
//! [`Histogram`].

use jetlag_stats::histogram::{self, Histogram};
use jetlag_stats::quantile::Quantile;

use crate::analysis::gathering::dependence::{Bounds, Dependence};
use crate::analysis::gathering::durations::Durations;
use crate::analysis::gathering::lack::Lack;
use crate::units::Nanos;

/// Durations that are put into bins together. One at a time, each would wait for a cache miss, because the bins of all
/// series together are larger than the cache.
const TOGETHER: usize = 1024;

/// Durations while they are collected.
#[derive(Clone, Debug, Default)]
pub(in crate::analysis) struct Series {
    /// All of them; of a series with bins, those that are not counted yet.
    values: Durations,
    binned: Option<Binned>,
}

/// Durations that are already counted in bins.
#[derive(Clone, Debug, Default)]
struct Binned {
    totals: Totals,
    histogram: Histogram,
}

/// Exact totals of any number of durations.
#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    count: u64,
    sum: i128,
    squares: i128,
    least: i64,
    most: i64,
}

impl Totals {
    /// With these as well.
    fn and(self, durations: &Durations) -> Totals {
        let Some((least, most)) = durations.extremes() else {
            return self;
        };
        let (sum, squares) = durations.sums();
        let first = self.count == 0;
        Totals {
            count: self.count + durations.len() as u64,
            sum: self.sum.saturating_add(sum),
            squares: self.squares.saturating_add(squares),
            least: if first { least } else { self.least.min(least) },
            most: if first { most } else { self.most.max(most) },
        }
    }
}

impl Series {
    /// Adds a duration; from the first call with `exact` false, the series keeps bins.
    #[inline]
    pub(in crate::analysis) fn push(&mut self, value: Nanos, exact: bool) {
        self.values.push(value.0);
        let enough = match self.binned {
            Some(_) => self.values.len() >= TOGETHER,
            None => !exact,
        };
        if enough {
            self.bin();
        }
    }

    /// Counts the pending durations in bins.
    fn bin(&mut self) {
        // The memory of all that was exact is given back here.
        let values = std::mem::replace(&mut self.values, Durations::with_capacity(TOGETHER));
        let binned = self.binned.get_or_insert_default();
        binned.totals = binned.totals.and(&values);
        binned.histogram.add(values.iter());
    }

    fn totals(&self) -> Totals {
        let binned = self.binned.as_ref().map(|binned| binned.totals);
        binned.unwrap_or_default().and(&self.values)
    }

    /// How many there are.
    pub(in crate::analysis) fn count(&self) -> u64 {
        let binned = self.binned.as_ref().map_or(0, |binned| binned.totals.count);
        binned + self.values.len() as u64
    }

    /// Their sum in nanoseconds.
    pub(in crate::analysis) fn sum(&self) -> i128 {
        self.totals().sum
    }

    /// Sorts the durations into a distribution.
    pub(in crate::analysis) fn finish(mut self) -> Distribution {
        let totals = self.totals();
        let values = match self.binned {
            None => {
                self.values.sort();
                Values::Exact(self.values)
            }
            Some(Binned { mut histogram, .. }) => {
                histogram.add(self.values.iter());
                Values::Binned(histogram)
            }
        };
        Distribution { totals, values }
    }
}

/// A series that is complete.
#[derive(Clone, Debug)]
pub(in crate::analysis) struct Distribution {
    totals: Totals,
    values: Values,
}

#[derive(Clone, Debug)]
enum Values {
    /// All values, in ascending order.
    Exact(Durations),
    Binned(Histogram),
}

impl Distribution {
    /// How many values there are.
    pub(in crate::analysis) fn count(&self) -> u64 {
        self.totals.count
    }

    /// The arithmetic mean in nanoseconds.
    pub(in crate::analysis) fn mean(&self) -> Option<f64> {
        (self.totals.count > 0).then(|| self.totals.sum as f64 / self.totals.count as f64)
    }

    /// The sample standard deviation (divisor n − 1) in nanoseconds, from two values on.
    pub(in crate::analysis) fn sd(&self) -> Option<f64> {
        if self.totals.count < 2 {
            return None;
        }
        let n = i128::from(self.totals.count);
        // Relative to a whole number near the mean, so that no precision is lost.
        let centre = self.totals.sum.div_euclid(n);
        let rest = self.totals.sum - centre.saturating_mul(n);
        let spread = self
            .totals
            .squares
            .saturating_sub(centre.saturating_mul(self.totals.sum.saturating_add(rest)));
        let squares = spread as f64 - rest as f64 * (rest as f64 / n as f64);
        Some((squares.max(0.0) / (n - 1) as f64).sqrt())
    }

    /// The smallest value; none of an empty series.
    pub(in crate::analysis) fn min(&self) -> Option<Nanos> {
        (self.totals.count > 0).then_some(Nanos(self.totals.least))
    }

    /// The largest value; none of an empty series.
    pub(in crate::analysis) fn max(&self) -> Option<Nanos> {
        (self.totals.count > 0).then_some(Nanos(self.totals.most))
    }

    /// The autocorrelation of these values, `in_order` being the values, or stretches of them, in order of time. None:
    /// they are taken as independent.
    pub(in crate::analysis) fn dependence(&self, in_order: &[i64]) -> Dependence {
        let n = self.count();
        Dependence::of(&[in_order], |quantile| {
            self.at_rank(quantile.rank(n)).map(|value| value.0)
        })
    }

    /// The estimate of each quantile with its interval, widened for autocorrelation; or what the sample lacks for it.
    pub(in crate::analysis) fn quantiles<const N: usize>(
        &self,
        quantiles: [Quantile; N],
        confidence: f64,
        dependence: &Dependence,
    ) -> [Result<Interval, Lack>; N] {
        let n = self.count();
        let bounds = quantiles.map(|quantile| {
            let bounds = dependence.bounds(quantile, n, confidence)?;
            let rank = quantile.rank(n);
            Ok(match bounds {
                Bounds::Ranks(low, high) => ([low, rank, high], 0.0),
                Bounds::Around(half) => ([rank; 3], half),
            })
        });
        let known = bounds.iter().flatten();
        let mut sorted: Vec<u64> = known.flat_map(|(ranks, _)| ranks).copied().collect();
        sorted.sort_unstable();
        sorted.dedup();
        let values = self.at_ranks(&sorted);
        // Each rank is among them.
        let value_at = |rank: u64| Nanos(values[sorted.partition_point(|&known| known < rank)]);
        bounds.map(|bounds| {
            let ([low, rank, high], half) = bounds?;
            let (low, value, high) = (value_at(low), value_at(rank), value_at(high));
            if half > 0.0 {
                return Ok(Interval {
                    low: Nanos(low.0.saturating_sub(half as i64)).max(Nanos(self.totals.least.min(0))),
                    value,
                    high: Nanos(high.0.saturating_add(half as i64)),
                });
            }
            Ok(Interval {
                low: Nanos(low.0 - self.error(low)).max(Nanos(self.totals.least)),
                value,
                high: Nanos(high.0 + self.error(high)).min(Nanos(self.totals.most)),
            })
        })
    }

    /// Largest possible error of a value that stands for its bin.
    fn error(&self, value: Nanos) -> i64 {
        match &self.values {
            Values::Exact(_) => 0,
            Values::Binned(_) => histogram::error(value.0),
        }
    }

    /// The value of a rank, 1 for the smallest.
    pub(in crate::analysis) fn at_rank(&self, rank: u64) -> Option<Nanos> {
        let within = (1..=self.count()).contains(&rank);
        within
            .then(|| self.at_ranks(&[rank]))?
            .first()
            .copied()
            .map(Nanos)
    }

    /// How many values are at most each of these bounds (ascending); of bins those whose middle is.
    pub(in crate::analysis) fn counts_up_to(&self, bounds: &[i64]) -> Vec<u64> {
        match &self.values {
            Values::Exact(values) => bounds.iter().map(|&bound| values.up_to(bound) as u64).collect(),
            Values::Binned(histogram) => histogram.counts_up_to(bounds),
        }
    }

    /// The values of these ranks (1-based, ascending, at most `count`).
    pub(in crate::analysis) fn at_ranks(&self, ranks: &[u64]) -> Vec<i64> {
        match &self.values {
            Values::Exact(values) => ranks.iter().map(|&rank| values.at(rank as usize - 1)).collect(),
            Values::Binned(histogram) => {
                let mut found = histogram.at_ranks(ranks);
                // The extremes are kept exactly, so they replace the middles of their bins.
                for ns in &mut found {
                    *ns = (*ns).clamp(self.totals.least, self.totals.most);
                }
                found
            }
        }
    }
}

/// A quantile and the bounds of its interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::analysis) struct Interval {
    /// Lower end of the interval.
    pub(in crate::analysis) low: Nanos,
    /// The quantile of the sample.
    pub(in crate::analysis) value: Nanos,
    /// Upper end of the interval.
    pub(in crate::analysis) high: Nanos,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn series(values: &[i64]) -> Distribution {
        let mut series = Series::default();
        values.iter().for_each(|&ns| series.push(Nanos(ns), true));
        series.finish()
    }

    #[test]
    fn mean_and_deviation_keep_their_digits_on_a_large_offset() {
        // In double precision the textbook formula gives 0 or worse here.
        let distribution = series(&[
            1_000_000_000_000_000_001,
            1_000_000_000_000_000_002,
            1_000_000_000_000_000_003,
        ]);
        assert_eq!(distribution.sd(), Some(1.0));
        let distribution = series(&[2, 4, 4, 4, 5, 5, 7, 9]);
        assert_eq!(distribution.mean(), Some(5.0));
        assert!((distribution.sd().unwrap() - (32.0f64 / 7.0).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn an_empty_series_has_no_figures() {
        let empty = series(&[]);
        assert_eq!(
            (empty.mean(), empty.sd(), empty.min(), empty.max()),
            (None, None, None, None)
        );
        assert_eq!(
            empty.quantiles([Quantile::P50], 0.95, &Dependence::NONE),
            [Err(Lack::Frames(11))]
        );
        assert_eq!(series(&[7]).sd(), None);
    }

    #[test]
    fn absurd_values_do_not_overflow() {
        let distribution = series(&[i64::MAX, i64::MAX, i64::MIN, i64::MAX]);
        assert!(distribution.sd().is_some_and(f64::is_finite));
    }

    #[test]
    fn bins_agree_with_the_exact_values_to_the_stated_error() {
        let values: Vec<i64> = (0..20_000)
            .map(|i: i64| (i * 7919) % 20_011 * 3_001 + 10)
            .collect();
        let mut binned = Series::default();
        for (i, &ns) in values.iter().enumerate() {
            binned.push(Nanos(ns), i < 100);
        }
        assert_eq!(
            (binned.count(), binned.sum()),
            (20_000, values.iter().map(|&ns| i128::from(ns)).sum())
        );
        let (binned, exact) = (binned.finish(), series(&values));
        let quantiles = [Quantile::P50, Quantile::P90, Quantile::P99_9];
        for (a, b) in binned
            .quantiles(quantiles, 0.95, &Dependence::NONE)
            .into_iter()
            .zip(exact.quantiles(quantiles, 0.95, &Dependence::NONE))
        {
            let (a, b) = (a.unwrap(), b.unwrap());
            assert!((a.value.0 - b.value.0).abs() as f64 <= b.value.0 as f64 * 0.000_062);
            // Never narrower than the exact one, and by two bins at most wider.
            assert!((0.0..=b.low.0 as f64 * 0.000_124).contains(&((b.low - a.low).0 as f64)));
            assert!((0.0..=b.high.0 as f64 * 0.000_124).contains(&((a.high - b.high).0 as f64)));
        }
        assert_eq!(binned.mean(), exact.mean());
        assert_eq!(binned.sd(), exact.sd());
    }

    proptest! {
        #[test]
        fn quantiles_are_ordered_observed_and_inside_their_intervals(
            values in proptest::collection::vec(0i64..5_000_000_000, 662..1500),
            exact in any::<bool>(),
        ) {
            let mut gathered = Series::default();
            values.iter().for_each(|&ns| gathered.push(Nanos(ns), exact));
            let distribution = gathered.finish();
            let (min, max) = (distribution.min().unwrap(), distribution.max().unwrap());
            let quantiles = [Quantile::P50, Quantile::P90, Quantile::P95, Quantile::P99];
            let mut previous = min;
            for estimate in distribution.quantiles(quantiles, 0.95, &Dependence::NONE) {
                let estimate = estimate.unwrap();
                prop_assert!(estimate.low <= estimate.value && estimate.value <= estimate.high);
                prop_assert!(min <= estimate.low && estimate.high <= max);
                prop_assert!(previous <= estimate.value);
                prop_assert!(!exact || values.contains(&estimate.value.0));
                previous = estimate.value;
            }
        }

        #[test]
        fn order_of_frames_changes_nothing(
            values in proptest::collection::vec(0i64..5_000_000_000, 0..300),
        ) {
            let mut reversed = values.clone();
            reversed.reverse();
            let mut sorted = values.clone();
            sorted.sort_unstable();
            for other in [reversed, sorted] {
                let (a, b) = (series(&values), series(&other));
                prop_assert_eq!(a.mean(), b.mean());
                prop_assert_eq!(a.sd(), b.sd());
                let quantiles = [Quantile::P50, Quantile::P90];
                prop_assert_eq!(a.quantiles(quantiles, 0.95, &Dependence::NONE), b.quantiles(quantiles, 0.95, &Dependence::NONE));
            }
        }
    }

    #[test]
    fn a_series_that_is_not_exact_keeps_few_values_at_hand() {
        let mut series = Series::default();
        for i in 0..TOGETHER as i64 * 3 {
            series.push(Nanos(i), false);
            assert!(series.values.len() <= TOGETHER);
        }
        assert_eq!(series.count(), TOGETHER as u64 * 3);
    }

    #[test]
    fn two_values_have_a_deviation_and_one_has_none() {
        assert_eq!(series(&[1]).sd(), None);
        assert!((series(&[1, 3]).sd().unwrap() - std::f64::consts::SQRT_2).abs() < 1e-12);
    }
}
