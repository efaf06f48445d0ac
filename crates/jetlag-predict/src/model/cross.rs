//! What a recipe says of rows that it has not seen: of left-out variants, and of left-out networks. How far to trust the trees,
//! and how wide intervals are, is decided on these.

use serde::{Deserialize, Serialize};

use super::member::{Example, Opinion, Recipe, fit};
use super::unlike::{Kin, Known};
use crate::error::PredictError;
use crate::features::FeatureSet;

/// Parts of a correction to choose from.
const SHRINKS: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];

/// What members said of a row that none of them was fitted on.
#[derive(Debug, Clone)]
pub(crate) struct Unseen {
    pub(crate) opinions: Vec<Opinion>,
    pub(crate) value: f64,
    /// The network it is of.
    pub(crate) group: usize,
    /// Whether it is near what the members were fitted on.
    pub(crate) kin: Kin,
}

/// Leaves out one fold after the other; folds with nothing left to fit on are skipped. `names` are networks and variants of rows;
/// `groups` go into the results.
pub(super) fn leave_out(
    recipe: Recipe,
    examples: &[&Example<'_>],
    names: &[(&str, &str)],
    values: &[f64],
    folds: &[usize],
    groups: &[usize],
    ceiling: Option<f64>,
) -> Result<Vec<Unseen>, PredictError> {
    let count = folds.iter().max().map_or(0, |most| most + 1);
    let mut unseen = Vec::with_capacity(values.len());
    for fold in 0..count {
        let (held, kept): (Vec<usize>, Vec<usize>) = (0..values.len()).partition(|row| folds[*row] == fold);
        if kept.len() < 2 || held.is_empty() {
            continue;
        }
        let pick = |rows: &[usize]| -> Vec<&Example<'_>> { rows.iter().map(|row| examples[*row]).collect() };
        let kept_values: Vec<f64> = kept.iter().map(|row| values[*row]).collect();
        let members = fit(recipe, &pick(&kept), &kept_values, ceiling)?;
        let named: Vec<_> = kept
            .iter()
            .map(|row| (names[*row].0, names[*row].1, &examples[*row].terms))
            .collect();
        let known = Known::of(&named);
        let held_examples = pick(&held);
        let said: Vec<Vec<Opinion>> = members
            .iter()
            .map(|member| member.opinions(recipe.target, &held_examples))
            .collect::<Result<_, _>>()?;
        for (at, row) in held.iter().enumerate() {
            unseen.push(Unseen {
                opinions: said
                    .iter()
                    .filter_map(|opinions| opinions.get(at).copied())
                    .collect(),
                value: values[*row],
                group: groups[*row],
                kin: known.judge(&examples[*row].terms).0,
            });
        }
    }
    Ok(unseen)
}

/// How the opinions on a row become one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Trust {
    /// Whose opinions count.
    pub(crate) features: FeatureSet,
    /// How much of the trees' correction is used where there is a base, 0 to 1.
    pub(crate) shrink: f64,
}

impl Trust {
    /// Whether a read one can be used with a model of these features.
    pub(crate) fn is_sound(self, fitted: FeatureSet) -> bool {
        let has_them = fitted == FeatureSet::Both || fitted == self.features;
        has_them && (0.0..=1.0).contains(&self.shrink)
    }
}

/// Mean relative error of each group, by its number; None of a group without rows.
pub(crate) fn errors(unseen: &[Unseen], trust: Trust) -> Vec<Option<f64>> {
    let groups = unseen.iter().map(|row| row.group + 1).max().unwrap_or(0);
    let mut sums = vec![[0.0_f64; 2]; groups];
    for row in unseen {
        let (log, _) = joined(&row.opinions, trust);
        let error = (libm::exp(log) - row.value).abs() / row.value;
        sums[row.group][0] += error;
        sums[row.group][1] += 1.0;
    }
    let mean = |[sum, rows]: [f64; 2]| (rows > 0.0).then(|| sum / rows);
    sums.into_iter().map(mean).collect()
}

/// The features and the part of the correction with the least mean relative error, each group counting alike.
///
/// Of several sets of features the first one stays unless another is better by more than the standard error of the difference over
/// groups (the rule of Breiman and others, *Classification and Regression Trees*, 1984, section 3.4.3): with few groups the best of
/// several is often so by chance.
pub(crate) fn best_trust(unseen: &[Unseen], candidates: &[FeatureSet]) -> Option<Trust> {
    let mut best: Option<(Trust, Vec<f64>)> = None;
    for features in candidates {
        let Some((trust, errors)) = best_shrink(unseen, *features) else {
            continue;
        };
        let is_better = best.as_ref().is_none_or(|(_, others)| {
            let gains: Vec<f64> = others
                .iter()
                .zip(&errors)
                .map(|(other, own)| other - own)
                .collect();
            let count = gains.len() as f64;
            let mean = gains.iter().sum::<f64>() / count;
            let squares: f64 = gains.iter().map(|gain| (gain - mean) * (gain - mean)).sum();
            mean > libm::sqrt(squares / (count - 1.0).max(1.0) / count)
        });
        if is_better {
            best = Some((trust, errors));
        }
    }
    best.map(|(trust, _)| trust)
}

/// The part of the correction with the least mean relative error, the least of equals; and the error of each group.
fn best_shrink(unseen: &[Unseen], features: FeatureSet) -> Option<(Trust, Vec<f64>)> {
    let mut best: Option<(Trust, Vec<f64>)> = None;
    for shrink in SHRINKS {
        let trust = Trust { features, shrink };
        let errors: Vec<f64> = errors(unseen, trust).into_iter().flatten().collect();
        let is_less = |other: &Vec<f64>| errors.iter().sum::<f64>() < other.iter().sum();
        if !errors.is_empty() && best.as_ref().is_none_or(|(_, other)| is_less(other)) {
            best = Some((trust, errors));
        }
    }
    best
}

/// The mean of logarithms, and how uncertain they are: the spread over trees and over members. Perf4sight's sums count as much as all
/// bases of our terms together.
pub(crate) fn joined(opinions: &[Opinion], trust: Trust) -> (f64, f64) {
    let used = |said: &&Opinion| match said.is_of_sums {
        true => trust.features.has_sums(),
        false => trust.features.has_terms(),
    };
    let count = |of_sums: bool| {
        let alike = |said: &&Opinion| said.is_of_sums == of_sums;
        opinions.iter().filter(used).filter(alike).count().max(1) as f64
    };
    let (of_sums, of_terms) = (count(true), count(false));
    let weighted: Vec<(f64, f64, f64)> = opinions
        .iter()
        .filter(used)
        .map(|said| {
            let weight = 1.0 / if said.is_of_sums { of_sums } else { of_terms };
            let log = said.log_base + trust.shrink * said.correction;
            (weight, log, said.spread * said.spread)
        })
        .collect();
    let whole: f64 = weighted.iter().map(|(weight, ..)| weight).sum();
    let mean = weighted.iter().map(|(weight, log, _)| weight * log).sum::<f64>() / whole;
    let around = |(weight, log, within): &(f64, f64, f64)| weight * ((log - mean) * (log - mean) + within);
    let square = weighted.iter().map(around).sum::<f64>() / whole;
    (mean, libm::sqrt(square))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row of value 1 of which the bases say `terms` and the trees on sums `sums`.
    fn row(group: usize, terms: f64, sums: f64) -> Unseen {
        let opinion = |value: f64, is_of_sums| Opinion {
            log_base: libm::log(value),
            correction: 0.0,
            spread: 0.1,
            excess: 1.0,
            is_of_sums,
        };
        Unseen {
            // Two bases count together as much as one forest.
            opinions: vec![opinion(sums, true), opinion(terms, false), opinion(terms, false)],
            value: 1.0,
            group,
            kin: Kin::Other,
        }
    }

    const ALL: [FeatureSet; 3] = [FeatureSet::Both, FeatureSet::Perf4sight, FeatureSet::Jetlag];

    #[test]
    fn both_stay_unless_left_out_groups_agree_that_one_is_better() {
        let chosen = |rows: &[Unseen]| best_trust(rows, &ALL).unwrap().features;
        let alike: Vec<Unseen> = (0..4).map(|group| row(group, 1.01, 1.3)).collect();
        assert_eq!(chosen(&alike), FeatureSet::Jetlag);
        let other: Vec<Unseen> = (0..4).map(|group| row(group, 1.3, 1.01)).collect();
        assert_eq!(chosen(&other), FeatureSet::Perf4sight);
        // The bases are better in the mean of these, by one of them.
        let one = [
            row(0, 1.0, 1.6),
            row(1, 1.2, 0.9),
            row(2, 1.2, 0.85),
            row(3, 1.15, 0.9),
        ];
        assert_eq!(chosen(&one), FeatureSet::Both);
        assert!(best_trust(&[], &ALL).is_none());
    }

    #[test]
    fn both_are_the_mean_of_logarithms() {
        let trust = |features| Trust {
            features,
            shrink: 0.0,
        };
        let own = row(0, 4.0, 1.0);
        let said = |features| libm::exp(joined(&own.opinions, trust(features)).0);
        assert!((said(FeatureSet::Both) - 2.0).abs() < 1e-12);
        assert!((said(FeatureSet::Jetlag) - 4.0).abs() < 1e-12);
        assert!((said(FeatureSet::Perf4sight) - 1.0).abs() < 1e-12);
    }
}
