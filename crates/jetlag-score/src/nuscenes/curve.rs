//! Precision and errors along 101 recalls.

use super::matching::Class;
use super::{Config, ERRORS};
use crate::benchmark::Counts;

/// Recalls from 0 to 1, both included.
const STEPS: usize = 101;

/// A class at one distance.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    precision: Vec<f64>,
    /// The score that each recall takes; 0 beyond the highest recall.
    score: Vec<f64>,
    /// What was found, the highest score first: its score, and the mean error so far.
    found: Vec<(f64, [f64; ERRORS])>,
}

/// Nothing of it is right: then there is no curve, and the devkit's figures are those of no detections.
pub(super) fn curve(class: &Class, number: usize, truths: u64, counts: Counts<'_>) -> Option<Curve> {
    let bit = 1u8 << number;
    let (mut right, mut all) = (0u64, 0u64);
    let (mut recalls, mut precisions, mut scores) = (Vec::new(), Vec::new(), Vec::new());
    let mut found = Vec::new();
    let mut means = Means::default();
    for event in &class.events {
        let hit = event.hit & bit != 0;
        for _ in 0..counts.of(event.frame) {
            right += u64::from(hit);
            all += 1;
            recalls.push(right as f64 / truths as f64);
            precisions.push(right as f64 / all as f64);
            scores.push(event.score);
            if hit {
                found.push((event.score, means.with(&event.errors)));
            }
        }
    }
    if right == 0 {
        return None;
    }
    means.fill_unknown(&mut found);
    let steps = |values: &[f64]| -> Vec<f64> {
        (0..STEPS)
            // The numbers of `numpy.linspace(0, 1, 101)`.
            .map(|step| between(&recalls, values, step as f64 * 0.01, 0.0))
            .collect()
    };
    Some(Curve {
        precision: steps(&precisions),
        score: steps(&scores),
        found,
    })
}

impl Curve {
    /// Precision averaged above the least recall, of what exceeds the least precision.
    pub(super) fn average_precision(&self, config: &Config) -> f64 {
        let above = self.precision.get(first(config)..).unwrap_or_default();
        let sum: f64 = above.iter().map(|p| (p - config.min_precision).max(0.0)).sum();
        sum / above.len().max(1) as f64 / (1.0 - config.min_precision)
    }

    /// The errors, averaged from the least recall to the highest one; all 1 where that is less.
    pub(super) fn errors(&self, config: &Config) -> [f64; ERRORS] {
        let last = self.score.iter().rposition(|score| *score != 0.0).unwrap_or(0);
        let Some(scores) = self.score.get(first(config)..=last).filter(|s| !s.is_empty()) else {
            return [1.0; ERRORS];
        };
        // By rising score.
        let known: Vec<f64> = self.found.iter().rev().map(|(score, _)| *score).collect();
        std::array::from_fn(|error| {
            let means: Vec<f64> = self.found.iter().rev().map(|(_, means)| means[error]).collect();
            let sum: f64 = scores
                .iter()
                .map(|score| between(&known, &means, *score, means.last().copied().unwrap_or(1.0)))
                .sum();
            sum / scores.len() as f64
        })
    }
}

/// The first step that counts: the one after the least recall.
fn first(config: &Config) -> usize {
    (100.0 * config.min_recall).round_ties_even().clamp(0.0, 100.0) as usize + 1
}

/// Running means that leave out what is not known.
#[derive(Default)]
struct Means {
    sums: [f64; ERRORS],
    counts: [u32; ERRORS],
}

impl Means {
    fn with(&mut self, errors: &[f64; ERRORS]) -> [f64; ERRORS] {
        std::array::from_fn(|k| {
            if !errors[k].is_nan() {
                self.sums[k] += errors[k];
                self.counts[k] += 1;
            }
            // Before the first known one the devkit has 0.
            self.sums[k] / f64::from(self.counts[k].max(1))
        })
    }

    /// An error that is nowhere known is 1.
    fn fill_unknown(&self, found: &mut [(f64, [f64; ERRORS])]) {
        for (_, means) in found {
            for (mean, count) in means.iter_mut().zip(self.counts) {
                if count == 0 {
                    *mean = 1.0;
                }
            }
        }
    }
}

/// `numpy.interp`: linear between points whose places do not fall, the first value before them, `right` after them. Of points at
/// one place the last counts.
fn between(places: &[f64], values: &[f64], place: f64, right: f64) -> f64 {
    let after = places.partition_point(|p| *p <= place);
    let at = |k: usize| Some((*places.get(k)?, *values.get(k)?));
    let Some((x0, y0)) = after.checked_sub(1).and_then(at) else {
        return values.first().copied().unwrap_or(right);
    };
    match at(after) {
        _ if x0 == place => y0,
        Some((x1, y1)) => (y1 - y0) / (x1 - x0) * (place - x0) + y0,
        None => right,
    }
}

#[cfg(test)]
mod tests {
    use super::between;

    #[test]
    fn places_between_points_are_those_of_numpy() {
        // numpy.interp(x, [0, 0, 0.5, 0.5, 1], [9, 1, 2, 4, 5], right=-1)
        let places = [0.0, 0.0, 0.5, 0.5, 1.0];
        let values = [9.0, 1.0, 2.0, 4.0, 5.0];
        let wanted = [
            (-1.0, 9.0),
            (0.0, 1.0),
            (0.25, 1.5),
            (0.5, 4.0),
            (0.75, 4.5),
            (1.0, 5.0),
            (1.1, -1.0),
        ];
        for (place, wanted) in wanted {
            assert_eq!(between(&places, &values, place, -1.0), wanted, "{place}");
        }
        assert_eq!(between(&[], &[], 0.5, -1.0), -1.0);
    }
}
