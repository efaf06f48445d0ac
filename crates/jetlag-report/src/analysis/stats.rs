//! Turns a complete series into the figures of the summary, in milliseconds with nanosecond resolution.

use jetlag_stats::normal::normal_quantile;
use jetlag_stats::quantile::Quantile;

use crate::analysis::gathering::dependence::Dependence;
use crate::analysis::gathering::series::{Distribution, Interval};
use crate::analysis::summary::{Estimate, Lack, Stats};
pub(super) use crate::number::six_decimals;
use crate::units::Nanos;

const CONFIDENCE: f64 = 0.95;

/// All statistics of one series; its autocorrelation decides how wide the intervals must be, and which quantiles it
/// supports.
pub(super) fn stats(distribution: &Distribution, dependence: &Dependence) -> Stats {
    let [p50, p90, p95, p99, p99_9] = distribution.quantiles(
        [
            Quantile::P50,
            Quantile::P90,
            Quantile::P95,
            Quantile::P99,
            Quantile::P99_9,
        ],
        CONFIDENCE,
        dependence,
    );
    Stats {
        count: distribution.count(),
        mean: mean(distribution, dependence),
        sd: distribution.sd().map(ns_to_ms),
        min: distribution.min().map(Nanos::as_millis_f64),
        p50: estimate(distribution, Quantile::P50, p50),
        p90: estimate(distribution, Quantile::P90, p90),
        p95: estimate(distribution, Quantile::P95, p95),
        p99: estimate(distribution, Quantile::P99, p99),
        p99_9: estimate(distribution, Quantile::P99_9, p99_9),
        max: distribution.max().map(Nanos::as_millis_f64),
    }
}

/// The mean, between as many standard errors as frames depend on each other.
fn mean(distribution: &Distribution, dependence: &Dependence) -> Estimate {
    let n = distribution.count();
    let Some(value) = distribution.mean() else {
        return Estimate::default();
    };
    let found = dependence.inflation_of_mean(n, CONFIDENCE);
    let half = found.ok().zip(distribution.sd()).map(|(inflation, sd)| {
        let errors = normal_quantile(f64::midpoint(1.0, CONFIDENCE));
        errors * sd * (inflation / n as f64).sqrt()
    });
    // No interval of durations goes below the shortest of them.
    let least = distribution.min().map_or(value, |least| least.0 as f64);
    Estimate {
        value: Some(ns_to_ms(value)),
        ci95: half.map(|half| [ns_to_ms((value - half).max(least)), ns_to_ms(value + half)]),
        lack: found.err(),
    }
}

/// p99 − p50, where both have an interval.
pub(super) fn jitter(of: &Stats) -> Option<f64> {
    of.p50.ci95.and(of.p99.ci95)?;
    let (p50, p99) = (of.p50.value?, of.p99.value?);
    Some(six_decimals(p99 - p50))
}

/// Interquartile range in milliseconds.
pub(super) fn interquartile_range(distribution: &Distribution, dependence: &Dependence) -> Option<f64> {
    let [p25, p75] = distribution.quantiles([Quantile::P25, Quantile::P75], 0.95, dependence);
    Some((p75.ok()?.value - p25.ok()?.value).as_millis_f64())
}

/// a ÷ b, where the ratio is defined.
pub(super) fn quotient(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    let (a, b) = (a?, b?);
    (b > 0.0).then(|| six_decimals(a / b))
}

/// Milliseconds to the nearest nanosecond.
pub(super) fn ns_to_ms(ns: f64) -> f64 {
    ns.round() / 1e6
}

/// A quantile as it is shown: with its interval, or with what is lacking for one. Without an interval it is a statistic of this run's
/// frames, like their mean, as long as independent frames would be enough.
fn estimate(distribution: &Distribution, quantile: Quantile, found: Result<Interval, Lack>) -> Estimate {
    let n = distribution.count();
    let of_the_run = || {
        let enough = quantile.supported_by(n);
        enough.then(|| distribution.at_rank(quantile.rank(n))).flatten()
    };
    let interval = found.ok();
    let value = interval.map(|of| of.value).or_else(of_the_run);
    Estimate {
        value: value.map(Nanos::as_millis_f64),
        ci95: interval.map(|of| [of.low.as_millis_f64(), of.high.as_millis_f64()]),
        lack: found.err(),
    }
}

#[cfg(test)]
mod tests {
    use rand_distr::{Distribution, StandardNormal};
    use rand_pcg::Pcg64;
    use rand_pcg::rand_core::SeedableRng;

    use super::*;
    use crate::analysis::gathering::series::Series;

    /// Response times around 10 ms whose logarithm is autoregressive of the first order, φ = 0 being independent.
    fn responses(phi: f64, n: usize, seed: u64) -> Vec<i64> {
        let mut random = Pcg64::seed_from_u64(seed);
        let mut x: f64 = StandardNormal.sample(&mut random);
        let drawn = (0..n).map(|_| {
            let noise: f64 = StandardNormal.sample(&mut random);
            x = phi * x + (1.0 - phi * phi).sqrt() * noise;
            (10e6 * (0.2 * x).exp()) as i64
        });
        drawn.collect()
    }

    /// The share of 500 runs whose 95 % interval holds the true p50, p90, p99 and mean; as shown, and as it would be if
    /// frames were taken as independent. All of them show one, but for a few.
    fn coverage(phi: f64, n: usize) -> [[f64; 4]; 2] {
        const RUNS: u64 = 500;
        // Of the logarithm; its mean is that of a quantile of a standard deviation of 0.2 halved.
        let truth = [0.0f64, 1.281_551_565_5, 2.326_347_874, 0.1].map(|z| 10.0 * (0.2 * z).exp());
        let (mut held, mut shown) = ([[0.0; 4]; 2], [[0.0; 4]; 2]);
        for seed in 0..RUNS {
            let in_order = responses(phi, n, seed);
            let mut series = Series::default();
            in_order.iter().for_each(|&ns| series.push(Nanos(ns), true));
            let distribution = series.finish();
            for ((held, shown), order) in held.iter_mut().zip(&mut shown).zip([&in_order[..], &[]]) {
                let of = stats(&distribution, &distribution.dependence(order));
                let intervals = [of.p50, of.p90, of.p99, of.mean].map(|estimate| estimate.ci95);
                for (((held, shown), interval), truth) in
                    held.iter_mut().zip(shown.iter_mut()).zip(intervals).zip(truth)
                {
                    if let Some([low, high]) = interval {
                        *shown += 1.0;
                        *held += f64::from(u8::from(low <= truth && truth < high));
                    }
                }
            }
        }
        for (held, shown) in held.iter_mut().flatten().zip(shown.into_iter().flatten()) {
            assert!(
                shown >= 0.95 * RUNS as f64,
                "φ {phi}, {n} frames: {shown} of {RUNS} show it"
            );
            *held /= shown;
        }
        held
    }

    #[test]
    fn intervals_hold_the_truth_as_often_as_they_say_whether_frames_are_independent_or_not() {
        for (phi, n) in [(0.0, 1000), (0.0, 2000), (0.5, 4000), (0.8, 12_000)] {
            let [shown, naive] = coverage(phi, n);
            println!("φ {phi}, {n} frames: {shown:.3?}; as if independent {naive:.3?}");
            for share in shown {
                assert!((0.93..=1.0).contains(&share), "φ {phi}, {n} frames: {shown:?}");
            }
            if phi >= 0.5 {
                assert!(naive[0] < 0.9, "the test would not see the difference: {naive:?}");
            }
        }
    }

    #[test]
    fn nothing_is_no_part_of_nothing() {
        assert_eq!(quotient(Some(3.0), Some(2.0)), Some(1.5));
        assert_eq!(
            (quotient(Some(3.0), Some(0.0)), quotient(None, Some(2.0))),
            (None, None)
        );
    }
}
