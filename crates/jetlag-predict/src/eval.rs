//! How far off predictions are, on rows that were not fitted.

mod split;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::dataset::{Dataset, Failed, Row, STALL_RULE, Stall, Target, Undescribed};
use crate::error::PredictError;
use crate::features::{FeatureSet, Stage, TermsOfOne};
use crate::model::{Example, FitOptions, Kin, Prediction, fit_rows};
use crate::score::Errors;
use split::Split;

/// Which rows are fitted and which are scored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// perf4sight's split of each network by itself: levels 0, 30, 50, 70, 90 are fitted, the others scored.
    SameNetwork,
    /// The same split of all networks together.
    Pooled,
    /// Each network is scored by a model that was fitted on all others.
    LeaveOneNetworkOut,
    /// A model of so many power modes ([`EvalOptions::modes`]), drawn by the seed, scores all others.
    LeaveModesOut,
}

/// What is evaluated, and how.
#[derive(Debug, Clone, PartialEq)]
pub struct EvalOptions {
    /// Features, trees, seed, coverage.
    pub fit: FitOptions,
    /// Which rows are fitted; not used with a folder to fit on.
    pub protocol: Protocol,
    /// Power modes that are fitted where the others are left out.
    pub modes: usize,
    /// Only this stage.
    pub stage: Option<Stage>,
    /// Only these targets; empty means all.
    pub targets: Vec<Target>,
}

impl Default for EvalOptions {
    fn default() -> Self {
        Self {
            fit: FitOptions::default(),
            protocol: Protocol::SameNetwork,
            modes: 50,
            stage: None,
            targets: Vec::new(),
        }
    }
}

/// How often measured values lie in their intervals.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Coverage {
    /// Aimed at, %.
    pub aimed_pct: f64,
    /// Found, %.
    pub found_pct: f64,
    /// Rows with an interval.
    pub rows: usize,
    /// Median width over value, %.
    pub width_pct: f64,
}

/// Errors of one network and target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// Training or inference.
    pub stage: Stage,
    /// What was predicted.
    pub target: Target,
    /// The network scored; `all` where networks are pooled.
    pub network: String,
    /// Rows that were fitted.
    pub fit_rows: usize,
    /// Errors of all scored rows, with those that were taken for stalls.
    pub errors: Errors,
    /// Stalls among the scored rows.
    pub stalls: usize,
    /// Errors without them, where there are any.
    pub errors_without_stalls: Option<Errors>,
    /// Of the intervals; None where they are withheld.
    pub coverage: Option<Coverage>,
    /// Why intervals are withheld.
    pub withheld: Option<String>,
    /// Scored rows whose network the model took for another than the fitted ones, %.
    pub other_network_pct: f64,
}

/// The mean over networks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Mean {
    /// Training or inference.
    pub stage: Stage,
    /// What was predicted.
    pub target: Target,
    /// Networks.
    pub networks: usize,
    /// Mean over networks of their mean relative error, %.
    pub mean_pct: f64,
    /// The same without stalls, %.
    pub mean_without_stalls_pct: f64,
}

/// Scores of a folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// BLAKE3 of the files scored.
    pub data_hash: String,
    /// BLAKE3 of the files fitted on, where it is another folder.
    pub fit_hash: Option<String>,
    /// How networks were described; None where left-out networks chose.
    pub features: Option<FeatureSet>,
    /// Which rows were fitted; None with another folder.
    pub protocol: Option<Protocol>,
    /// Power modes that were fitted, where others were left out.
    pub modes: Option<usize>,
    /// The seed.
    pub seed: u64,
    /// Trees of each model.
    pub trees: usize,
    /// By stage, target and network.
    pub scores: Vec<Score>,
    /// By stage and target.
    pub means: Vec<Mean>,
    /// Rows that failed; neither fitted nor scored.
    pub failed_rows: usize,
    /// Rows without a layer table; neither fitted nor scored.
    pub undescribed: Vec<Undescribed>,
    /// Rows that were taken for stalls; scored, never fitted.
    pub stalls: Vec<Stall>,
    /// The rule for them.
    pub stall_rule: String,
}

/// Fits and scores a folder by a protocol; with `fit`, a model of all rows of that folder scores all rows of `data`.
///
/// # Errors
/// Equal data to fit on and to score, an option outside of its range, nothing to score, one network where one is left out, a split that leaves nothing; and those
/// of fitting.
pub fn eval(
    data: &Dataset,
    fit: Option<&Dataset>,
    options: &EvalOptions,
) -> Result<Evaluation, PredictError> {
    options.fit.check()?;
    if let Some(fit) = fit.filter(|fit| fit.hash == data.hash) {
        return Err(PredictError::EqualData {
            hash: fit.hash.clone(),
        });
    }
    if fit.is_none() && options.protocol == Protocol::LeaveModesOut && options.modes < 2 {
        return Err(PredictError::Option {
            option: "modes",
            found: options.modes.to_string(),
            wanted: "2 or more, since one mode tells nothing of another",
        });
    }
    let is_asked = |stage: Stage, target: Target| {
        options.stage.is_none_or(|wanted| wanted == stage)
            && (options.targets.is_empty() || options.targets.contains(&target))
    };
    let kinds: BTreeSet<(Stage, Target)> = data.rows.iter().map(|row| (row.stage, row.target)).collect();
    let asked: Vec<_> = kinds
        .iter()
        .copied()
        .filter(|(stage, target)| is_asked(*stage, *target))
        .collect();
    if asked.is_empty() {
        return Err(nothing_asked(options, &kinds, data));
    }
    let mut scores = Vec::new();
    for (stage, target) in &asked {
        let of = |rows: &'_ [Row]| -> Vec<usize> {
            (0..rows.len())
                .filter(|at| (rows[*at].stage, rows[*at].target) == (*stage, *target))
                .collect()
        };
        let rows = of(&data.rows);
        let splits = match fit {
            Some(fit) => split::other_folder(&of(&fit.rows), data, &rows),
            None => split::by_protocol(options, data, &rows, &format!("{stage} {target}"))?,
        };
        for split in splits {
            scores.push(score(
                data,
                fit.unwrap_or(data),
                &split,
                *stage,
                *target,
                options,
            )?);
        }
    }
    let mean = |(stage, target): &(Stage, Target)| {
        let own: Vec<&Score> = scores
            .iter()
            .filter(|score| (score.stage, score.target) == (*stage, *target))
            .collect();
        let count = own.len().max(1) as f64;
        let without = |score: &&Score| score.errors_without_stalls.unwrap_or(score.errors).mean_pct;
        Mean {
            stage: *stage,
            target: *target,
            networks: own.len(),
            mean_pct: own.iter().map(|score| score.errors.mean_pct).sum::<f64>() / count,
            mean_without_stalls_pct: own.iter().map(without).sum::<f64>() / count,
        }
    };
    let means = asked.iter().map(mean).collect();
    Ok(Evaluation {
        data_hash: data.hash.clone(),
        fit_hash: fit.map(|fit| fit.hash.clone()),
        features: options.fit.features,
        protocol: fit.is_none().then_some(options.protocol),
        modes: (fit.is_none() && options.protocol == Protocol::LeaveModesOut).then_some(options.modes),
        seed: options.fit.seed,
        trees: options.fit.trees,
        scores,
        means,
        failed_rows: data.failed.len(),
        undescribed: data.undescribed.clone(),
        stalls: data.stalls.clone(),
        stall_rule: STALL_RULE.to_owned(),
    })
}

fn nothing_asked(options: &EvalOptions, kinds: &BTreeSet<(Stage, Target)>, data: &Dataset) -> PredictError {
    if kinds.is_empty() {
        return PredictError::NoRows {
            what: "any target".to_owned(),
            why: crate::model::why_none(data),
        };
    }
    let stage = options
        .stage
        .map_or("any stage".to_owned(), |stage| stage.to_string());
    let targets: Vec<String> = options.targets.iter().map(Target::to_string).collect();
    PredictError::NothingAsked {
        wanted: format!(
            "{stage} {}",
            if targets.is_empty() {
                "of any target".to_owned()
            } else {
                targets.join(", ")
            }
        ),
        found: kinds
            .iter()
            .map(|(stage, target)| format!("{stage} {target}"))
            .collect::<Vec<_>>()
            .join(", "),
    }
}

fn score(
    data: &Dataset,
    fitted: &Dataset,
    split: &Split,
    stage: Stage,
    target: Target,
    options: &EvalOptions,
) -> Result<Score, PredictError> {
    let rows: Vec<&Row> = split
        .fit
        .iter()
        .filter_map(|at| fitted.rows.get(*at))
        .filter(|row| !row.stalled)
        .collect();
    // Failures of fitted networks alone: those of a left-out one are not known either.
    let networks: BTreeSet<(&str, &str)> = rows
        .iter()
        .map(|row| (row.network.as_str(), row.variant.as_str()))
        .collect();
    let is_fitted = |failed: &&Failed| {
        (failed.stage, failed.target) == (stage, target)
            && networks.contains(&(&failed.network, &failed.variant))
    };
    let failed: Vec<&Failed> = fitted.failed.iter().filter(is_fitted).collect();
    let model = fit_rows(fitted, &rows, &failed, &options.fit)?;
    let scored: Vec<&Row> = split.score.iter().filter_map(|at| data.rows.get(*at)).collect();
    let predictions = model.predict_rows(data, &scored, options.fit.level)?;
    let pairs: Vec<(&Row, &Prediction)> = scored.iter().copied().zip(&predictions).collect();
    let errors = |with_stalls: bool| {
        let kept = pairs.iter().filter(|(row, _)| with_stalls || !row.stalled);
        Errors::of(kept.map(|(row, said)| (said.value, row.value)))
    };
    let stalls = scored.iter().filter(|row| row.stalled).count();
    let no_rows = || PredictError::NoRows {
        what: format!("{stage} {target}"),
        why: "nothing is left to score".to_owned(),
    };
    let others = predictions.iter().filter(|said| said.kin == Kin::Other).count();
    Ok(Score {
        stage,
        target,
        network: split.network.clone(),
        fit_rows: rows.len(),
        errors: errors(true).ok_or_else(no_rows)?,
        stalls,
        errors_without_stalls: if stalls > 0 { errors(false) } else { None },
        coverage: coverage(&pairs, options.fit.level),
        withheld: predictions
            .iter()
            .find_map(|said| said.withheld.as_ref())
            .map(ToString::to_string),
        other_network_pct: 100.0 * others as f64 / predictions.len().max(1) as f64,
    })
}

/// Of rows that are no stalls: an interval is of what the network does.
fn coverage(pairs: &[(&Row, &Prediction)], level: f64) -> Option<Coverage> {
    let with: Vec<(f64, f64, f64, f64)> = pairs
        .iter()
        .filter(|(row, _)| !row.stalled)
        .filter_map(|(row, said)| {
            said.interval
                .map(|own| (row.value, said.value, own.low, own.high))
        })
        .collect();
    let inside = with
        .iter()
        .filter(|(value, _, low, high)| (low..=high).contains(&value))
        .count();
    let widths: Vec<f64> = with
        .iter()
        .map(|(_, said, low, high)| 100.0 * (high - low) / said)
        .collect();
    Some(Coverage {
        aimed_pct: 100.0 * level,
        found_pct: 100.0 * inside as f64 / with.len() as f64,
        rows: with.len(),
        width_pct: crate::score::quantile(&widths, 0.5)?,
    })
}

impl crate::model::TargetModel {
    /// Predictions for rows of a folder, in order.
    fn predict_rows(
        &self,
        data: &Dataset,
        rows: &[&Row],
        level: f64,
    ) -> Result<Vec<Prediction>, PredictError> {
        let mut terms = std::collections::BTreeMap::new();
        for row in rows {
            let name = (row.network.clone(), row.variant.clone());
            let table = data.networks.get(&name);
            if let (false, Some(table)) = (terms.contains_key(&name), table) {
                let table = if self.only_weights() {
                    table.with_weights()?
                } else {
                    table.clone()
                };
                let of_one = TermsOfOne::of(&table);
                terms.insert(name, (table, of_one));
            }
        }
        let example = |row: &&Row| {
            let (table, of_one) = terms.get(&(row.network.clone(), row.variant.clone()))?;
            let device = data.devices.get(row.device)?;
            Some(Example {
                table,
                terms: of_one.at(row.batch),
                device,
                batch: row.batch,
                stage: row.stage,
                time_ms: None,
            })
        };
        let examples: Vec<Example<'_>> = rows.iter().filter_map(example).collect();
        self.predict(&examples.iter().collect::<Vec<_>>(), level)
    }
}
