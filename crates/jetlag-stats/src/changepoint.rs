//! Finds the points where the level of a series changes permanently.
//!
//! [`levels`] finds the segmentation into stretches of constant level that fits the series best for its number of
//! stretches: optimal partitioning with pruning, PELT (R. Killick, P. Fearnhead and I. A. Eckley, "Optimal Detection
//! of Changepoints With a Linear Computational Cost", *JASA* 107, 2012). Its cost is squared deviation, over values
//! that the caller has made robust (each is the median of many frames).
//!
//! Latencies are autocorrelated, and autocorrelated noise looks like many small changes. So deviations are measured
//! in units of the noise's long-run standard deviation: its correlation φ and its scale are estimated from
//! differences over one and two positions, which a change of level hardly affects, as S. Chakar et al. do ("A robust
//! approach for estimating change-points in the mean of an AR(1) process", *Bernoulli* 23, 2017).

use super::median::median;

/// Length of the shortest stretch, in values.
pub const SHORTEST: usize = 5;
/// The penalty for a change, in units of the logarithm of the length: twice that of Schwarz's criterion for a level
/// and a position, so that noise alone gives a change in about one run of a thousand (a test counts them).
pub(crate) const PRICE: f64 = 6.0;

/// Start positions of all stretches but the first; empty where the level never changes.
pub fn levels(values: &[f64]) -> Vec<usize> {
    let n = values.len();
    let price = price(values);
    if price <= 0.0 {
        return Vec::new();
    }
    let sums = Sums::new(values);
    // best[end]: the least cost of dividing values[..end], and where its last stretch starts.
    let mut best = vec![(f64::INFINITY, 0); n + 1];
    best[0] = (0.0, 0);
    let mut starts = vec![0];
    for end in SHORTEST..=n {
        let costs: Vec<(f64, usize)> = starts
            .iter()
            .map(|&start| (best[start].0 + sums.cost(start, end), start))
            .collect();
        if let Some(&(cost, start)) = costs.iter().min_by(|a, b| a.0.total_cmp(&b.0)) {
            best[end] = (cost + price, start);
        }
        // A candidate that costs more than the best one plus another change can never become the best (PELT's
        // pruning).
        let limit = best[end].0;
        starts = costs
            .into_iter()
            .filter(|&(cost, _)| cost <= limit)
            .map(|(_, start)| start)
            .collect();
        if end + 1 >= 2 * SHORTEST {
            starts.push(end + 1 - SHORTEST);
        }
    }
    let mut changes = Vec::new();
    let mut end = n;
    while end > 0 {
        end = best[end].1;
        if end > 0 {
            changes.push(end);
        }
    }
    changes.reverse();
    changes
}

/// By how much a change must reduce the squared deviations.
fn price(values: &[f64]) -> f64 {
    PRICE * (values.len().max(1) as f64).ln() * noise(values).powi(2)
}

/// The long-run standard deviation of the noise: σ √((1 + φ) ÷ (1 − φ)).
fn noise(values: &[f64]) -> f64 {
    let (one, two) = (step_variance(values, 1), step_variance(values, 2));
    if one <= 0.0 {
        return 0.0;
    }
    // Var(xᵢ₊₁ − xᵢ) = 2σ²(1 − φ), Var(xᵢ₊₂ − xᵢ) = 2σ²(1 − φ²).
    let phi = (two / one - 1.0).clamp(0.0, 0.9);
    let variance = one / (2.0 * (1.0 - phi));
    (variance * (1.0 + phi) / (1.0 - phi)).sqrt()
}

/// Variance of the differences over `lag` positions, with differences beyond four standard deviations counted as four:
/// those are the changes themselves. Medians alone would be more robust still, but too coarse to estimate φ from a
/// hundred values.
fn step_variance(values: &[f64], lag: usize) -> f64 {
    let steps = || {
        values
            .iter()
            .zip(values.iter().skip(lag))
            .map(|(a, b)| (b - a).abs())
    };
    let mut sorted: Vec<f64> = steps().collect();
    let count = sorted.len().max(1) as f64;
    let Some(middle) = median(&mut sorted) else {
        return 0.0;
    };
    // Half of normal values are within 0.6745 standard deviations.
    let limit = match 4.0 * middle / 0.674_489_75 {
        // More than half of the differences are zero: use the scatter of the others.
        limit if limit <= 0.0 => f64::INFINITY,
        limit => limit,
    };
    steps().map(|step| step.min(limit).powi(2)).sum::<f64>() / count
}

/// Prefix sums: the cost of any stretch is the difference of two of them.
pub(crate) struct Sums {
    centre: f64,
    values: Vec<f64>,
    squares: Vec<f64>,
}

impl Sums {
    pub(crate) fn new(values: &[f64]) -> Self {
        // Values are taken relative to the median, so that the later subtraction loses no precision.
        let centre = values.iter().sum::<f64>() / values.len() as f64;
        let running = |of: fn(f64) -> f64| {
            let mut sum = 0.0;
            let sums = values.iter().map(|&value| {
                sum += of(value - centre);
                sum
            });
            std::iter::once(0.0).chain(sums).collect()
        };
        Sums {
            centre,
            values: running(|x| x),
            squares: running(|x| x * x),
        }
    }

    /// The mean of values[start..end], which is not empty.
    pub(crate) fn mean(&self, start: usize, end: usize) -> f64 {
        self.centre + (self.values[end] - self.values[start]) / (end - start) as f64
    }

    /// Squared deviations from the mean of values[start..end].
    pub(crate) fn cost(&self, start: usize, end: usize) -> f64 {
        let sum = self.values[end] - self.values[start];
        let squares = self.squares[end] - self.squares[start];
        (squares - sum * sum / (end - start) as f64).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use rand_distr::{Distribution, StandardNormal};
    use rand_pcg::Pcg64;
    use rand_pcg::rand_core::SeedableRng;

    use super::*;

    fn noise_of(phi: f64, n: usize, seed: u64) -> Vec<f64> {
        let mut random = Pcg64::seed_from_u64(seed);
        let mut x = 0.0;
        (0..n)
            .map(|_| {
                let e: f64 = StandardNormal.sample(&mut random);
                x = phi * x + (1.0 - phi * phi).sqrt() * e;
                x
            })
            .collect()
    }

    #[test]
    fn noise_alone_has_no_changes_but_in_one_run_of_a_hundred() {
        for phi in [0.0, 0.3, 0.6] {
            let alarms = (0..500)
                .filter(|&seed| !levels(&noise_of(phi, 200, seed)).is_empty())
                .count();
            assert!(alarms <= 5, "φ {phi}: {alarms} of 500");
        }
    }

    #[test]
    fn steps_are_found_where_they_are() {
        for seed in 0..50 {
            let mut values = noise_of(0.0, 300, seed);
            values[100..].iter_mut().for_each(|x| *x += 4.0);
            values[220..].iter_mut().for_each(|x| *x -= 3.0);
            let changes = levels(&values);
            assert_eq!(changes.len(), 2, "seed {seed}: {changes:?}");
            assert!(
                changes[0].abs_diff(100) <= 3 && changes[1].abs_diff(220) <= 3,
                "{changes:?}"
            );
        }
    }

    #[test]
    fn pruning_does_not_change_the_best_division() {
        let mut values = noise_of(0.0, 60, 9);
        values[30..].iter_mut().for_each(|x| *x += 2.5);
        let price = price(&values);
        let sums = Sums::new(&values);
        let mut best = vec![f64::INFINITY; 61];
        best[0] = -price;
        for end in SHORTEST..=60 {
            for start in 0..=end - SHORTEST {
                best[end] = best[end].min(best[start] + sums.cost(start, end) + price);
            }
        }
        let changes = levels(&values);
        let starts = std::iter::once(0).chain(changes.iter().copied());
        let ends = changes.iter().copied().chain([60]);
        let steps: f64 = starts.zip(ends).map(|(start, end)| sums.cost(start, end)).sum();
        assert!((steps + price * changes.len() as f64 - best[60]).abs() < 1e-9);
    }

    #[test]
    fn constant_and_short_series_have_no_changes() {
        assert!(levels(&[3.0; 50]).is_empty());
        assert!(levels(&[1.0, 9.0]).is_empty());
        assert!(levels(&[]).is_empty());
    }

    #[test]
    fn a_change_is_found_in_two_of_the_shortest_stretches_and_at_each_of_their_ends() {
        let step = |n: usize, at: usize| -> Vec<f64> {
            (0..n)
                .map(|i| (i % 2) as f64 * 0.1 + if i < at { 0.0 } else { 9.0 })
                .collect()
        };
        assert_eq!(levels(&step(10, 5)), [5]);
        assert_eq!(levels(&step(20, 5)), [5]);
        assert_eq!(levels(&step(20, 6)), [6]);
        assert_eq!(levels(&step(20, 15)), [15]);
        for n in 0..10 {
            assert!(levels(&step(n, n / 2)).is_empty(), "{n}");
        }
        assert!(levels(&[0.1; 50]).is_empty());
    }

    #[test]
    fn noise_is_told_by_its_steps_of_which_the_large_ones_count_as_four_deviations() {
        // Steps of 2 and one of 18: the limit is 4 × 2 / 0.67448975 = 11.86.
        let step = [0.0, 2.0, 0.0, 2.0, 0.0, 18.0, 20.0, 18.0, 20.0, 18.0];
        let limit: f64 = 8.0 / 0.674_489_75;
        assert!((step_variance(&step, 1) - (8.0 * 4.0 + limit * limit) / 9.0).abs() < 1e-9);
        // Most steps are none: all count as they are.
        assert!((step_variance(&[0.0, 0.0, 0.0, 0.0, 3.0], 1) - 9.0 / 4.0).abs() < 1e-12);
        // Neighbours of squares modulo 503 added: with one and two the variances of steps over one and two places,
        // φ = two / one − 1 and σ² = one / (2 (1 − φ)), √(σ² (1 + φ) / (1 − φ)).
        let squares: Vec<f64> = (0..200).map(|i| f64::from((i * i) % 503)).collect();
        let of_two: Vec<f64> = squares.windows(2).map(|pair| pair[0] + pair[1]).collect();
        assert!(
            (noise(&of_two) - 1_003.525_388_263_5).abs() < 1e-9,
            "{}",
            noise(&of_two)
        );
    }
}
