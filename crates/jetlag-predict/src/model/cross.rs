//! What a recipe says of rows that it has not seen: of left-out variants, and of left-out networks. How far to trust the trees,
//! and how wide intervals are, is decided on these.

use super::member::{Example, Opinion, Recipe, fit};
use super::unlike::{Kin, Known};
use crate::error::PredictError;

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

/// The part of the correction with the least mean relative error, each group counting alike; the least of equals.
pub(crate) fn best_shrink(unseen: &[Unseen]) -> f64 {
    let groups = unseen
        .iter()
        .map(|row| row.group)
        .max()
        .map_or(0, |most| most + 1);
    let loss = |shrink: f64| -> f64 {
        let mut sums = vec![[0.0_f64; 2]; groups];
        for row in unseen {
            let (log, _) = joined(&row.opinions, shrink);
            let error = (libm::exp(log) - row.value).abs() / row.value;
            sums[row.group][0] += error;
            sums[row.group][1] += 1.0;
        }
        sums.iter()
            .filter(|[_, rows]| *rows > 0.0)
            .map(|[sum, rows]| sum / rows)
            .sum()
    };
    let mut best = (f64::INFINITY, 1.0);
    for shrink in SHRINKS {
        let loss = loss(shrink);
        if loss < best.0 {
            best = (loss, shrink);
        }
    }
    best.1
}

/// The members' mean of logarithms, and how uncertain they are: the spread over trees and over members.
pub(crate) fn joined(opinions: &[Opinion], shrink: f64) -> (f64, f64) {
    let count = opinions.len().max(1) as f64;
    let logs: Vec<f64> = opinions
        .iter()
        .map(|said| said.log_base + shrink * said.correction)
        .collect();
    let mean = logs.iter().sum::<f64>() / count;
    let between = logs.iter().map(|log| (log - mean) * (log - mean)).sum::<f64>() / count;
    let within = opinions.iter().map(|said| said.spread * said.spread).sum::<f64>() / count;
    (mean, libm::sqrt(between + within))
}
