//! Which quantiles are shown, how each is estimated, and how many frames it needs.
//!
//! The estimate is the nearest rank, definition 1 of Hyndman and Fan (*The American Statistician* 50, 1996): the
//! smallest observed value that at least the share `p` of all values does not exceed. It is a latency that really
//! occurred, never a mixture of the two modes of a bimodal detector. It means what it says ("99 % of frames took at
//! most this"), and it is one of the order statistics from which its own interval is made. docs/measurement.md
//! compares it with other definitions.

use std::cmp::Ordering;

use super::binomial;
use super::normal::normal_quantile;

/// A quantile in thousandths, so that ranks are computed with integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Quantile(u16);

impl Quantile {
    /// Lower quartile, used for the interquartile range.
    pub const P25: Quantile = Quantile(250);
    /// The median: half of the values do not exceed it.
    pub const P50: Quantile = Quantile(500);
    /// Upper quartile, used for the interquartile range.
    pub const P75: Quantile = Quantile(750);
    /// 90 % of values do not exceed it.
    pub const P90: Quantile = Quantile(900);
    /// 95 % of values do not exceed it.
    pub const P95: Quantile = Quantile(950);
    /// 99 % of values do not exceed it.
    pub const P99: Quantile = Quantile(990);
    /// 99.9 % of values do not exceed it.
    pub const P99_9: Quantile = Quantile(999);

    /// The share of values that do not exceed it, from 0 to 1.
    pub fn share(self) -> f64 {
        f64::from(self.0) / 1000.0
    }

    /// The rank (1-based) of its estimate among `n` sorted values: ⌈n·p⌉.
    pub fn rank(self, n: u64) -> u64 {
        let thousandths = u128::from(n) * u128::from(self.0);
        u64::try_from(thousandths.div_ceil(1000)).unwrap_or(n)
    }

    /// Its estimate, the value of that rank; none of no values. Reorders them.
    pub fn of<T: Copy>(self, values: &mut [T], order: impl FnMut(&T, &T) -> Ordering) -> Option<T> {
        let place = usize::try_from(self.rank(values.len() as u64))
            .ok()?
            .checked_sub(1)?;
        Some(*values.select_nth_unstable_by(place, order).1)
    }

    /// The sample size that supports it: the smallest with which, with 99 % confidence, at least two values lie beyond
    /// the quantile, so that even one exceedance too many would have been seen. This is the rule of MLPerf's LoadGen:
    /// 64 for p90, 662 for p99, 6 636 for p99.9.
    pub fn needs(self) -> u64 {
        let tail = self.share().min(1.0 - self.share());
        // P(at most one of n values lies in the tail) falls with n: double n until it is low enough, then bisect.
        let at_most_one = |n: u64| {
            let (n, inside) = (n as f64, 1.0 - tail);
            inside.powf(n) + n * tail * inside.powf(n - 1.0)
        };
        let mut high = 2;
        while at_most_one(high) > 0.01 {
            high *= 2;
        }
        let mut low = high / 2;
        while low + 1 < high {
            let middle = low.midpoint(high);
            if at_most_one(middle) > 0.01 {
                low = middle;
            } else {
                high = middle;
            }
        }
        high
    }

    /// Whether a sample of `n` supports it.
    pub fn supported_by(self, n: u64) -> bool {
        n >= self.needs()
    }

    /// The number of frames that an interval of this confidence needs; at 95 % the number that supports the quantile.
    pub fn needs_at(self, confidence: f64) -> u64 {
        let mut n = self.needs();
        // Few steps: even 99.99 % takes no more than twice the frames.
        while n < 1 << 24 && binomial::interval_ranks(n, self.share(), self.rank(n), confidence).is_none() {
            n += n / 32 + 1;
        }
        n
    }

    /// Ranks of the order statistics that enclose it with the given confidence, where `n` values have an effective
    /// sample size of `n ÷ inflation`: the exact ranks for that size, scaled to `n`. So the interval keeps the skew
    /// that few exceedances cause, and never ends at the largest value for lack of another.
    pub fn interval_ranks(self, n: u64, confidence: f64, inflation: f64) -> Option<(u64, u64)> {
        let rank = self.rank(n);
        let inflation = inflation.max(1.0);
        let worth = (n as f64 / inflation) as u64;
        let (low, high) = binomial::interval_ranks(worth, self.share(), self.rank(worth), confidence)?;
        let among = |rank: u64| rank as f64 * (n as f64 / worth as f64);
        let low = (among(low).floor() as u64).clamp(1, rank.max(1));
        let high = (among(high).ceil() as u64).max(rank);
        (high <= n).then_some((low, high))
    }

    /// The same of frames that depend on each other: the share of frames that do not exceed the quantile varies like that of
    /// `n ÷ inflation` independent ones, and the interval is made of its logit, which stays below one however few they are. `None`
    /// where its upper end lies beyond the largest value.
    pub fn dependent_ranks(self, n: u64, confidence: f64, inflation: f64) -> Option<(u64, u64)> {
        let (share, rank) = (self.share(), self.rank(n));
        let worth = n as f64 / inflation.max(1.0);
        let half = normal_quantile(f64::midpoint(1.0, confidence)) / (worth * share * (1.0 - share)).sqrt();
        let of_logit = |logit: f64| n as f64 / (1.0 + (-logit).exp());
        let logit = (share / (1.0 - share)).ln();
        let low = (of_logit(logit - half).floor() as u64).clamp(1, rank.max(1));
        let high = (of_logit(logit + half) + 1.0).ceil() as u64;
        // What reaches from the fast half of frames to the slowest says nothing of a tail.
        let says = self <= Quantile::P75 || low > n / 2;
        (high <= n && says).then_some((low, high.max(rank)))
    }
}

/// The value at this share of the way through sorted values, from the first to the last, on a straight line between neighbours:
/// definition 7 of Hyndman and Fan, and what NumPy answers.
pub fn interpolated(sorted: &[f64], share: f64) -> Option<f64> {
    interpolated_at(sorted.len() as u64, share, |place| {
        sorted.get(usize::try_from(place).ok()?).copied()
    })
}

/// The same of `count` sorted values, each of which is looked up by its place, from 0.
pub fn interpolated_at(count: u64, share: f64, value: impl Fn(u64) -> Option<f64>) -> Option<f64> {
    let last = count.checked_sub(1)?;
    let way = last as f64 * share.clamp(0.0, 1.0);
    let below = way.floor() as u64;
    let (low, high) = (value(below)?, value(way.ceil() as u64)?);
    Some(low + (high - low) * way.fract())
}

/// The value that is nearest to this share of the way through sorted values: one of them, never a mixture.
pub fn nearest(sorted: &[f64], share: f64) -> Option<f64> {
    let way = sorted.len().checked_sub(1)? as f64 * share.clamp(0.0, 1.0);
    sorted.get(way.round() as usize).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimate_is_the_value_of_its_rank() {
        assert_eq!(Quantile::P50.of(&mut [4, 1, 3, 2], Ord::cmp), Some(2));
        assert_eq!(Quantile::P50.of(&mut [3, 1, 2], Ord::cmp), Some(2));
        assert_eq!(Quantile::P99.of(&mut [0.5, 7.5, 1.0], f64::total_cmp), Some(7.5));
        assert_eq!(Quantile::P50.of(&mut [0; 0], Ord::cmp), None);
    }

    #[test]
    fn percentiles_lie_between_neighbours_or_on_the_nearest() {
        let sorted = [1.0, 2.0, 4.0, 8.0];
        assert_eq!(interpolated(&sorted, 0.0), Some(1.0));
        assert_eq!(interpolated(&sorted, 0.5), Some(3.0));
        assert_eq!(
            interpolated(&sorted, 0.9),
            Some(4.0 + 4.0 * (0.9f64 * 3.0).fract())
        );
        assert_eq!(interpolated(&sorted, 1.0), Some(8.0));
        assert_eq!(
            (interpolated(&[7.0], 0.3), interpolated(&[], 0.3)),
            (Some(7.0), None)
        );
        assert_eq!(
            (nearest(&sorted, 0.6), nearest(&sorted, 0.4)),
            (Some(4.0), Some(2.0))
        );
        assert_eq!((nearest(&[7.0], 0.3), nearest(&[], 0.3)), (Some(7.0), None));
    }

    #[test]
    fn sample_sizes_are_those_of_the_rule() {
        assert_eq!(Quantile::P90.needs(), 64);
        assert_eq!(Quantile::P95.needs(), 130);
        assert_eq!(Quantile::P99.needs(), 662);
        assert_eq!(Quantile::P99_9.needs(), 6_636);
        assert_eq!(Quantile::P50.needs(), 11);
        assert_eq!(Quantile::P25.needs(), Quantile::P75.needs());
    }

    #[test]
    fn one_value_fewer_than_needed_leaves_more_than_one_percent_of_doubt() {
        for quantile in [
            Quantile::P50,
            Quantile::P90,
            Quantile::P95,
            Quantile::P99,
            Quantile::P99_9,
        ] {
            let doubt = |n| binomial::Binomial::new(n, 1.0 - quantile.share()).below(2);
            assert!(doubt(quantile.needs()) <= 0.01);
            assert!(doubt(quantile.needs() - 1) > 0.01);
        }
    }

    #[test]
    fn ranks_are_whole_number_arithmetic() {
        // In floating point 0.99 × 100 and 0.999 × 1000 can come out a rank too high.
        assert_eq!(Quantile::P99.rank(100), 99);
        assert_eq!(Quantile::P99_9.rank(1000), 999);
        assert_eq!(Quantile::P50.rank(4), 2);
        assert_eq!(Quantile::P50.rank(5), 3);
        assert_eq!(Quantile::P90.rank(1), 1);
        assert_eq!(Quantile::P50.rank(0), 0);
    }

    #[test]
    fn every_supported_quantile_has_an_interval() {
        for quantile in [
            Quantile::P50,
            Quantile::P90,
            Quantile::P95,
            Quantile::P99,
            Quantile::P99_9,
        ] {
            assert!(quantile.interval_ranks(quantile.needs(), 0.95, 1.0).is_some());
            assert!(quantile.interval_ranks(quantile.needs(), 0.975, 1.0).is_some());
        }
    }

    #[test]
    fn more_confidence_takes_more_frames_and_not_many_more_than_enough() {
        // 1 − 2 ÷ 2ⁿ is above 99.99 % from n = 15 on.
        assert_eq!(Quantile::P50.needs_at(0.9999), 15);
        for quantile in [Quantile::P50, Quantile::P90, Quantile::P95, Quantile::P99] {
            assert_eq!(quantile.needs_at(0.95), quantile.needs());
            for confidence in [0.999, 0.9999, 0.99999] {
                let needs = quantile.needs_at(confidence);
                let has = |n: u64| quantile.interval_ranks(n, confidence, 1.0).is_some();
                assert!(has(needs), "{quantile:?} {confidence}: {needs}");
                assert!(
                    needs == quantile.needs() || !has(needs * 31 / 32 - 1),
                    "{quantile:?} {confidence}: {needs}"
                );
            }
        }
    }
}
