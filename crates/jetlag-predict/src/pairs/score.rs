//! How far off slowdowns of left-out pairs are.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::data::{Measured, PairData, PairError};
use super::model::{LEAST_NETWORKS, LEAST_ROWS, fit, paired, suffice};
use crate::model::FitOptions;
use crate::score::Errors;

/// What is left out together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LeftOut {
    /// Both slowdowns of a pair.
    Pair,
    /// All pairs of a network.
    Network,
}

/// Errors under one way of leaving out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PairScore {
    /// What was left out of the fit in turn, and scored.
    pub left_out: LeftOut,
    /// Errors of slowdowns.
    pub errors: Errors,
    /// Coverage of intervals aimed at, %.
    pub aimed_pct: f64,
    /// And found; None where there are none.
    pub found_pct: Option<f64>,
    /// Mean relative error where every pair is taken for as slow as the mean of fitted ones: what a model has to beat.
    pub without_model_pct: f64,
}

/// Scores of a model's recipe.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PairEvaluation {
    /// The device and the way of sharing.
    pub place: String,
    /// Networks in the data.
    pub networks: usize,
    /// Slowdowns of pairs.
    pub rows: usize,
    /// The seed.
    pub seed: u64,
    /// By left-out pair, then by left-out network.
    pub scores: Vec<PairScore>,
}

/// Leaves out each pair, and then each network, and scores what a model of the rest says.
///
/// # Errors
/// As of fitting; too little is left without some pair or network.
pub fn eval_pairs(data: &PairData, options: &FitOptions) -> Result<PairEvaluation, PairError> {
    let mut groups: [BTreeSet<(&str, &str)>; 2] = Default::default();
    for pair in &data.pairs {
        let (a, b) = (pair.network.as_str(), pair.beside.as_str());
        groups[0].insert((a.min(b), a.max(b)));
        groups[1].extend([(a, a), (b, b)]);
    }
    check(data, &groups)?;
    let mut scores = Vec::new();
    for (left_out, groups) in [LeftOut::Pair, LeftOut::Network].into_iter().zip(groups) {
        scores.push(score(data, left_out, &groups, options)?);
    }
    Ok(PairEvaluation {
        place: data.place.clone(),
        networks: data.networks.len(),
        rows: data.pairs.len(),
        seed: options.seed,
        scores,
    })
}

/// Whether a model can be made of all pairs, and without each group. All are looked at before any is fitted, which takes long.
fn check(data: &PairData, groups: &[BTreeSet<(&str, &str)>; 2]) -> Result<(), PairError> {
    let all: Vec<&Measured> = data.pairs.iter().collect();
    let networks = paired(&all).len();
    if !suffice(all.len(), networks) {
        return Err(PairError::TooFew {
            pairs: all.len(),
            networks,
            wanted: LEAST_ROWS,
            networks_wanted: LEAST_NETWORKS,
        });
    }
    for (left_out, groups) in [LeftOut::Pair, LeftOut::Network].into_iter().zip(groups) {
        for (a, b) in groups {
            let kept: Vec<&Measured> = all
                .iter()
                .copied()
                .filter(|pair| !left_out.has(a, b, pair))
                .collect();
            let networks = paired(&kept).len();
            if !suffice(kept.len(), networks) {
                return Err(PairError::TooFewLeft {
                    left_out: match left_out {
                        LeftOut::Pair => format!("the pair of {a} and {b}"),
                        LeftOut::Network => (*a).to_owned(),
                    },
                    pairs: kept.len(),
                    networks,
                    wanted: LEAST_ROWS,
                    networks_wanted: LEAST_NETWORKS,
                });
            }
        }
    }
    Ok(())
}

impl LeftOut {
    /// Whether a slowdown is left out with `a` and `b`.
    fn has(self, a: &str, b: &str, pair: &Measured) -> bool {
        let ends = [pair.network.as_str(), pair.beside.as_str()];
        match self {
            Self::Pair => [a, b] == ends || [b, a] == ends,
            Self::Network => ends.contains(&a),
        }
    }
}

fn score(
    data: &PairData,
    left_out: LeftOut,
    groups: &BTreeSet<(&str, &str)>,
    options: &FitOptions,
) -> Result<PairScore, PairError> {
    let (mut said, mut mean, mut inside, mut with) = (Vec::new(), Vec::new(), 0, 0);
    for (a, b) in groups {
        let (held, kept): (Vec<&Measured>, Vec<&Measured>) =
            data.pairs.iter().partition(|pair| left_out.has(a, b, pair));
        let model = fit(data, &kept, options)?;
        let logs: f64 = kept.iter().map(|pair| libm::log(pair.slowdown)).sum();
        let usual = libm::exp(logs / kept.len() as f64);
        for pair in held {
            let answer = model.apply(&pair.network, &pair.beside)?;
            said.push((answer.slowdown, pair.slowdown));
            mean.push((usual, pair.slowdown));
            if let Some(interval) = answer.interval {
                with += 1;
                inside += usize::from((interval.low..=interval.high).contains(&pair.slowdown));
            }
        }
    }
    let none = || PairError::TooFew {
        pairs: 0,
        networks: data.networks.len(),
        wanted: 1,
        networks_wanted: 2,
    };
    Ok(PairScore {
        left_out,
        errors: Errors::of(said.into_iter()).ok_or_else(none)?,
        aimed_pct: 100.0 * options.level,
        found_pct: (with > 0).then(|| 100.0 * inside as f64 / with as f64),
        without_model_pct: Errors::of(mean.into_iter()).ok_or_else(none)?.mean_pct,
    })
}
