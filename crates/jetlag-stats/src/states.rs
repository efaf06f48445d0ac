//! Changes of level and drift in an autocorrelated series. Latencies that queue wander for a long time and look as if
//! their level changed, although nothing did.
//!
//! For each number of changes, up to `MOST_CHANGES`, dynamic programming finds the segmentation with the least
//! squared deviation. Each further change must reduce that deviation by at least `PRICE` ln n times the variance of
//! the noise. The noise is what remains within the segmentation itself, by its long-run variance: the variance of the
//! residuals times their autocorrelation time τ = 1 + 2 Σ ρ(k), both corrected upwards, since a short series shows
//! too little of them. So a segmentation into stretches that still wander has to pay for their wandering. In
//! addition, each stretch must last `LASTS` autocorrelation times, and the whole series `LEAST_TIMES`. A straight
//! line is judged in the same way.

use super::autocorrelation::summed;
use super::changepoint::{PRICE, SHORTEST, Sums};
use super::line::Line;

/// Largest number of changes that is tried.
const MOST_CHANGES: usize = 6;
/// Shortest stretch in autocorrelation times, where values are autocorrelated.
const LASTS: f64 = 12.0;
/// Shortest series in autocorrelation times: in a shorter one, correlation and change cannot be told apart.
const LEAST_TIMES: f64 = 40.0;
/// Standard errors by which the correlation is corrected upwards.
const ERRORS: f64 = 2.5;
/// Standard errors from which a correlation counts as seen.
const SEEN: f64 = 1.5;
/// A line that rises or falls by less, in the units of the values, does not matter.
const LEAST_RISE: f64 = 0.02;

/// The changes in a series.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct States {
    /// Start positions of all stretches but the first.
    pub changes: Vec<usize>,
    /// Whether a straight line fits better than these changes.
    pub is_line: bool,
}

/// The states of a series, such as logarithms of medians; `None` if nothing is found and the series is too short, for
/// its autocorrelation, to exclude changes.
pub fn states(values: &[f64]) -> Option<States> {
    let n = values.len();
    let sums = Sums::new(values);
    let divisions = divisions(&sums, n);
    let price = PRICE * (n as f64).ln();
    let mut taken = 0;
    let mut is_judged = noise(&residuals(values, &sums, &[]), 1, 0.0).is_some();
    for (number, division) in divisions.iter().enumerate().skip(1) {
        let Some(noise) = noise(&residuals(values, &sums, &division.changes), number + 1, ERRORS) else {
            continue;
        };
        let shortest = stretches(&division.changes, n).map(|(from, to)| to - from).min();
        if noise.time > 1.0 && shortest.is_none_or(|shortest| (shortest as f64) < LASTS * noise.time) {
            continue;
        }
        let saved = divisions[taken].cost - division.cost;
        if saved > 0.0 && saved >= (number - taken) as f64 * price * noise.variance {
            taken = number;
            is_judged = true;
        }
    }
    let line = Line::through(values);
    let is_line = noise(&line.residuals, 2, ERRORS).is_some_and(|noise| {
        // A slope costs as much as a change.
        let of_steps = price * noise.variance * (taken as f64 - 1.0);
        line.rise.abs() >= LEAST_RISE && line.cost <= divisions[taken].cost + of_steps
    });
    (is_judged || is_line).then(|| States {
        changes: divisions[taken].changes.clone(),
        is_line,
    })
}

/// A segmentation of the series, and its squared deviations.
struct Division {
    cost: f64,
    changes: Vec<usize>,
}

/// The best segmentation with no change, with one, with two, ….
#[allow(
    clippy::needless_range_loop,
    reason = "places of a series, at which several things are looked up"
)]
fn divisions(sums: &Sums, n: usize) -> Vec<Division> {
    // best[k][end]: the least cost of dividing values[..end] by k changes, and where its last stretch starts.
    let mut best = vec![vec![(f64::INFINITY, 0); n + 1]];
    for end in SHORTEST..=n {
        best[0][end] = (sums.cost(0, end), 0);
    }
    for changes in 1..=MOST_CHANGES {
        let mut row = vec![(f64::INFINITY, 0); n + 1];
        for end in (changes + 1) * SHORTEST..=n {
            for start in changes * SHORTEST..=end - SHORTEST {
                let cost = best[changes - 1][start].0 + sums.cost(start, end);
                if cost < row[end].0 {
                    row[end] = (cost, start);
                }
            }
        }
        best.push(row);
    }
    let possible = best.iter().filter(|row| row[n].0.is_finite()).count();
    (0..possible)
        .map(|number| {
            let mut changes = Vec::with_capacity(number);
            let mut end = n;
            for row in best[1..=number].iter().rev() {
                end = row[end].1;
                changes.push(end);
            }
            changes.reverse();
            Division {
                cost: best[number][n].0,
                changes,
            }
        })
        .collect()
}

/// Beginning and end of each stretch.
fn stretches(changes: &[usize], n: usize) -> impl Iterator<Item = (usize, usize)> {
    let starts = std::iter::once(0).chain(changes.iter().copied());
    let ends = changes.iter().copied().chain([n]);
    starts.zip(ends)
}

fn residuals(values: &[f64], sums: &Sums, changes: &[usize]) -> Vec<f64> {
    stretches(changes, values.len())
        .flat_map(|(from, to)| {
            let mean = sums.mean(from, to);
            values[from..to].iter().map(move |value| value - mean)
        })
        .collect()
}

/// The noise of an autocorrelated series.
#[derive(Clone, Copy, Debug)]
struct Noise {
    /// Its long-run variance: variance times correlation time.
    variance: f64,
    /// Its autocorrelation time, in values; 1 for independent values.
    time: f64,
}

/// The noise of the residuals of a fit with this many parameters, with the correlation corrected upwards by this many
/// standard errors; `None` if the residuals are too few to estimate it.
fn noise(residuals: &[f64], parameters: usize, errors: f64) -> Option<Noise> {
    let n = residuals.len() as f64;
    let squares: f64 = residuals.iter().map(|residual| residual * residual).sum();
    let mut time = 1.0;
    if squares > 0.0 {
        let correlated = |lag: usize| {
            let pairs = residuals.iter().zip(&residuals[lag..]);
            pairs.map(|(a, b)| a * b).sum::<f64>() / squares
        };
        // The fit removes a part of the correlation.
        let with_next = correlated(1) + (parameters as f64 + 1.0) / n;
        if with_next > SEEN / n.sqrt() {
            let error = ((1.0 - with_next * with_next).max(0.0) / n).sqrt();
            let high = (with_next + errors * error).min(0.97);
            let (summed, lags) = summed(residuals.len(), correlated);
            let summed = summed * (1.0 + errors * (2.0 * (2.0 * lags as f64 + 1.0) / n).sqrt());
            time = ((1.0 + high) / (1.0 - high)).max(summed);
        }
    }
    let left = n - parameters as f64 * time;
    (left >= LEAST_TIMES * time).then(|| Noise {
        variance: squares / left * time,
        time,
    })
}

#[cfg(test)]
mod tests {
    use rand_distr::{Distribution, StandardNormal};
    use rand_pcg::Pcg64;
    use rand_pcg::rand_core::SeedableRng;

    use super::*;

    fn made(phi: f64, n: usize, seed: u64, level: impl Fn(f64) -> f64) -> Vec<f64> {
        let mut random = Pcg64::seed_from_u64(seed);
        let mut x: f64 = StandardNormal.sample(&mut random);
        (0..n)
            .map(|place| {
                let e: f64 = StandardNormal.sample(&mut random);
                x = phi * x + (1.0 - phi * phi).sqrt() * e;
                level(place as f64 / n as f64) + 0.05 * x
            })
            .collect()
    }

    #[test]
    fn noise_that_repeats_itself_has_no_changes_but_in_one_run_of_a_hundred() {
        for phi in [0.0, 0.5, 0.8, 0.9] {
            let alarms = (0..300)
                .filter_map(|seed| states(&made(phi, 400, seed, |_| 0.0)))
                .filter(|found| !found.changes.is_empty() || found.is_line)
                .count();
            println!("φ {phi}: {alarms} of 300");
            assert!(alarms <= 7, "φ {phi}: {alarms} of 300");
        }
    }

    #[test]
    fn levels_and_lines_are_told_apart_and_found_where_they_are() {
        for seed in 0..50 {
            let steps = states(&made(0.3, 300, seed, |x| {
                if (0.3..0.7).contains(&x) { 0.3 } else { 0.0 }
            }));
            let steps = steps.expect("long enough");
            assert!(!steps.is_line, "seed {seed}");
            let [first, second] = steps.changes[..] else {
                panic!("seed {seed}: {steps:?}")
            };
            assert!(first.abs_diff(90) <= 3 && second.abs_diff(210) <= 3, "{steps:?}");
            let line = states(&made(0.3, 300, seed, |x| 0.4 * x)).expect("long enough");
            assert!(line.is_line, "seed {seed}: {line:?}");
        }
    }

    #[test]
    fn constant_series_have_no_changes_and_short_ones_are_not_judged() {
        let constant = states(&[3.0; 60]).expect("long enough");
        assert!(constant.changes.is_empty() && !constant.is_line);
        let mut step = [3.0; 60];
        step[30..].fill(4.0);
        assert_eq!(states(&step).expect("long enough").changes, [30]);
        assert_eq!(states(&[1.0; 30]), None);
        assert_eq!(states(&[]), None);
    }

    #[test]
    fn a_series_of_any_length_up_to_forty_values_says_nothing() {
        for n in 0..=40 {
            assert_eq!(states(&vec![1.0; n]), None, "{n}");
            let step: Vec<f64> = (0..n).map(|i| f64::from(u8::from(i >= n / 2))).collect();
            assert_eq!(states(&step[..n.min(20)]), None, "{n}");
        }
    }

    #[test]
    fn clear_stairs_are_stairs_and_no_line() {
        for seed in 0..20 {
            let found = states(&made(0.0, 300, seed, |x| (x * 3.0).floor() * 0.3)).expect("long enough");
            assert!(!found.is_line && found.changes.len() == 2, "{seed}: {found:?}");
        }
    }

    #[test]
    fn in_values_that_repeat_each_other_a_short_excursion_is_no_state() {
        // The correlation time is 3 and is read higher; twelve of them are more than the 25 values here.
        for seed in 0..20 {
            let found = states(&made(0.5, 400, seed, |x| {
                if (0.5..0.5625).contains(&x) { 0.5 } else { 0.0 }
            }));
            assert!(found.is_none_or(|found| found.changes.is_empty()), "{seed}");
        }
    }

    #[test]
    fn noise_is_that_of_a_reference() {
        // Squares modulo a prime are noise of a kind that is the same everywhere; those of two neighbours added repeat
        // each other. With r = values − mean, n of them, p parameters and e errors: ρ = Σ r[i] r[i+1] / Σ r² + (p + 1) / n,
        // high = ρ + e √((1 − ρ²) / n), the sum of pairs of correlations by Geyer times 1 + e √(2 (2 lags + 1) / n); the
        // larger of it and (1 + high) / (1 − high) is the time, the variance Σ r² / (n − p × time) × time.
        let squares = |of: usize| (0..400).map(|i| ((i * i) % of) as f64).collect::<Vec<f64>>();
        let around = |values: Vec<f64>| {
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            values.into_iter().map(|value| value - mean).collect::<Vec<f64>>()
        };
        let of_two = |of: usize| {
            let one = squares(of);
            around(one.windows(2).map(|pair| pair[0] + pair[1]).collect())
        };
        for (residuals, parameters, time, variance) in [
            (around(squares(31)), 1, 1.0, 68.192_456_140_4),
            // The sum of correlations is larger …
            (around(squares(61)), 1, 4.864_664_671_5, 1_746.626_522_115_6),
            // … and the first of them here.
            (of_two(31), 1, 9.003_911_928_6, 1_316.274_841_928_3),
        ] {
            let found = noise(&residuals, parameters, 2.5).unwrap();
            assert!((found.time / time - 1.0).abs() < 1e-9, "{found:?} for {time}");
            assert!(
                (found.variance / variance - 1.0).abs() < 1e-9,
                "{found:?} for {variance}"
            );
        }
    }

    #[test]
    fn parameters_cost_values_and_what_is_left_has_to_last_forty_times() {
        let noise_of = |n: usize, parameters| noise(&made(0.0, n, 5, |_| 0.0), parameters, 0.0);
        assert!(noise_of(41, 1).is_some() && noise_of(40, 1).is_none());
        assert!(noise_of(43, 3).is_some() && noise_of(42, 3).is_none());
    }
}
