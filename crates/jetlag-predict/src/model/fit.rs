//! Models from measurements.

use std::collections::{BTreeMap, BTreeSet};

use super::cross::{Trust, best_trust, leave_out};
use super::held_out::HeldOut;
use super::interval::{
    Intervals, LEAST_MODES, LEAST_NETWORKS, LEAST_VARIANTS, Width, Withheld, few_variants,
};
use super::member::{self, Example, Recipe};
use super::modes::Modes;
use super::unlike::{Kin, Known};
use super::{Facts, Model, TargetModel, Trusts};
use crate::base::{Across, Form};
use crate::dataset::{Dataset, Failed, Row, Target};
use crate::error::PredictError;
use crate::features::{FeatureSet, Stage, TermsOfOne};
use crate::layers::LayerTable;
use crate::trees::TreeOptions;

/// Fewest rows that a model is made of.
const LEAST_ROWS: usize = 8;
/// Folds of variants that are left out together.
const FOLDS: usize = 5;
/// Leaves of a tree grow with the rows, up to this many rows; beyond, each leaf holds more rows, so that a model file stays small.
const ROWS_OF_SINGLE_LEAVES: usize = 500;

/// How a model is fitted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FitOptions {
    /// How networks are described; None leaves it to networks and variants that are left out, of each target anew.
    pub features: Option<FeatureSet>,
    /// Trees of each target.
    pub trees: usize,
    /// The seed; equal seeds and data give equal models on every machine.
    pub seed: u64,
    /// Coverage that intervals aim at, above 0 and below 1.
    pub level: f64,
    /// Threads; 0 means as many as the machine has. They change nothing but the time.
    pub threads: usize,
}

impl Default for FitOptions {
    fn default() -> Self {
        Self {
            features: None,
            trees: 300,
            seed: 0,
            level: 0.9,
            threads: 0,
        }
    }
}

impl FitOptions {
    /// Whether the numbers are in their ranges.
    ///
    /// # Errors
    /// Trees outside 1 to 10000, a level outside 0.5 to 0.99.
    pub fn check(&self) -> Result<(), PredictError> {
        let wrong = |option, found: String, wanted| PredictError::Option {
            option,
            found,
            wanted,
        };
        if !(1..=10_000).contains(&self.trees) {
            return Err(wrong("trees", self.trees.to_string(), "1 to 10000"));
        }
        if !(0.5..=0.99).contains(&self.level) {
            return Err(wrong("level", self.level.to_string(), "0.5 to 0.99"));
        }
        Ok(())
    }
}

/// Fits a model to all targets and stages of a folder. Stalls and failed rows are not fitted.
///
/// # Errors
/// An option outside of its range; no rows, too few, or all of one value, in any target.
pub fn fit(data: &Dataset, options: &FitOptions) -> Result<Model, PredictError> {
    options.check()?;
    let kinds: BTreeSet<(Stage, Target)> = data.rows.iter().map(|row| (row.stage, row.target)).collect();
    if kinds.is_empty() {
        return Err(PredictError::NoRows {
            what: "any target".to_owned(),
            why: why_none(data),
        });
    }
    let mut targets = Vec::with_capacity(kinds.len());
    let mut networks = BTreeSet::new();
    for (stage, target) in kinds {
        let rows: Vec<&Row> = data
            .rows
            .iter()
            .filter(|row| (row.stage, row.target) == (stage, target) && !row.stalled)
            .collect();
        networks.extend(rows.iter().map(|row| row.network.clone()));
        let failed: Vec<&Failed> = data
            .failed
            .iter()
            .filter(|row| (row.stage, row.target) == (stage, target))
            .collect();
        targets.push(fit_rows(data, &rows, &failed, options)?);
    }
    let facts = Facts {
        data_hash: data.hash.clone(),
        features: options.features,
        seed: options.seed,
        trees: options.trees,
        level: options.level,
        devices: data.devices.clone(),
        networks: networks.into_iter().collect(),
    };
    Ok(Model { facts, targets })
}

/// Why a folder has no rows to fit.
pub(crate) fn why_none(data: &Dataset) -> String {
    let undescribed: usize = data.undescribed.iter().map(|network| network.rows).sum();
    format!(
        "{} failed, {undescribed} are of networks whose layers are not known, {} were taken for stalls",
        data.failed.len(),
        data.stalls.len()
    )
}

/// Fits one stage and target to these rows, which must be of one.
pub(crate) fn fit_rows(
    data: &Dataset,
    rows: &[&Row],
    failed: &[&Failed],
    options: &FitOptions,
) -> Result<TargetModel, PredictError> {
    let Some(first) = rows.first() else {
        return Err(PredictError::NoRows {
            what: "this target".to_owned(),
            why: why_none(data),
        });
    };
    let (stage, target) = (first.stage, first.target);
    let what = format!("{stage} {target}");
    let variants: BTreeMap<(&str, &str), usize> = {
        let names: BTreeSet<_> = rows
            .iter()
            .map(|row| (row.network.as_str(), row.variant.as_str()))
            .collect();
        names
            .into_iter()
            .enumerate()
            .map(|(at, name)| (name, at))
            .collect()
    };
    let modes = Modes::of(rows.iter().filter_map(|row| data.devices.get(row.device)));
    let candidates = candidates(rows, variants.len(), &modes, options);
    // Members of all candidates.
    let features = candidates.first().copied().unwrap_or(FeatureSet::Jetlag);
    let across = modes.across(features);
    let are_many = across == Across::Modes && modes.len() >= LEAST_MODES;
    if rows.len() < LEAST_ROWS || (variants.len() < 2 && !are_many) {
        return Err(PredictError::TooFew {
            what,
            found: rows.len(),
            variants: variants.len(),
            wanted: LEAST_ROWS,
        });
    }
    if rows.iter().all(|row| row.value == first.value) {
        return Err(PredictError::Constant {
            what,
            rows: rows.len(),
            value: first.value,
        });
    }
    let described = Described::of(data, rows, features)?;
    let examples = described.examples(data, rows)?;
    let examples: Vec<&Example<'_>> = examples.iter().collect();
    let values: Vec<f64> = rows.iter().map(|row| row.value).collect();
    let ceiling = ceiling(target, rows, failed);
    let trees = TreeOptions {
        trees: options.trees,
        min_leaf: rows.len().div_ceil(ROWS_OF_SINGLE_LEAVES),
        seed: options.seed,
        threads: options.threads,
    };
    let recipe = Recipe {
        target,
        features,
        form: Form::of(target, stage, across),
        trees,
    };
    let members = member::fit(recipe, &examples, &values, ceiling)?;

    // A third of the trees suffices to see how far off left-out rows are.
    let fewer = Recipe {
        trees: TreeOptions {
            trees: options.trees.div_ceil(3),
            ..trees
        },
        ..recipe
    };
    let networks: Vec<usize> = {
        let names: BTreeSet<&str> = rows.iter().map(|row| row.network.as_str()).collect();
        let names: Vec<&str> = names.into_iter().collect();
        rows.iter()
            .map(|row| names.binary_search(&row.network.as_str()).unwrap_or(0))
            .collect()
    };
    let network_count = networks.iter().max().map_or(0, |most| most + 1);
    let folds: Vec<usize> = rows
        .iter()
        .map(|row| {
            variants
                .get(&(row.network.as_str(), row.variant.as_str()))
                .map_or(0, |at| at % FOLDS)
        })
        .collect();
    let names: Vec<(&str, &str)> = rows
        .iter()
        .map(|row| (row.network.as_str(), row.variant.as_str()))
        .collect();
    // Without left-out networks nothing speaks for trees where they have seen nothing.
    let blind = Trust {
        features: candidates.last().copied().unwrap_or(FeatureSet::Jetlag),
        shrink: 0.0,
    };
    // Left-out variants chose worse than always taking ours (5.2 instead of 4.9 % of perf4sight's latencies).
    let for_variants = Recipe {
        features: blind.features,
        ..fewer
    };
    let mut near = leave_out(
        for_variants,
        &examples,
        &names,
        &values,
        &folds,
        &networks,
        ceiling,
    )?;
    // A variant at the edge of what was measured is no longer near when it is left out; what is near is judged by those that are.
    let count = near.iter().filter(|row| row.kin == Kin::Fitted).count();
    if count >= LEAST_ROWS {
        near.retain(|row| row.kin == Kin::Fitted);
    }
    let far = match network_count >= LEAST_NETWORKS {
        true => leave_out(fewer, &examples, &names, &values, &networks, &networks, ceiling)?,
        false => Vec::new(),
    };
    let elsewhere = match are_many {
        true => {
            let places = modes.places(examples.iter().map(|example| example.device));
            let folds = modes.folds(options.seed);
            let folds: Vec<usize> = places.iter().map(|at| folds[*at]).collect();
            leave_out(fewer, &examples, &names, &values, &folds, &places, ceiling)?
        }
        false => Vec::new(),
    };
    let mut trust = Trusts {
        near: best_trust(&near, &[blind.features]).unwrap_or(Trust { shrink: 1.0, ..blind }),
        far: best_trust(&far, &candidates).unwrap_or(blind),
        modes: best_trust(&elsewhere, &candidates).unwrap_or(blind),
    };
    // Left-out variants lie twice as far from fitted ones as those asked about, which speaks against trees: half of the way.
    trust.near.shrink = 0.5 + 0.5 * trust.near.shrink;
    let too_few = Withheld::FewVariants {
        variants: variants.len(),
        rows: rows.len(),
    };
    let intervals = Intervals {
        near: match few_variants(variants.len(), rows.len()) {
            Some(why) => Err(why),
            None => Width::of(&near, trust.near, options.level, false).ok_or(too_few),
        },
        far: Width::of(&far, trust.far, options.level, true).ok_or(Withheld::FewNetworks {
            found: network_count,
            wanted: LEAST_NETWORKS,
        }),
        modes: (across == Across::Modes).then(|| {
            Width::of(&elsewhere, trust.modes, options.level, true).ok_or(Withheld::FewModes {
                found: modes.len(),
                wanted: LEAST_MODES,
            })
        }),
    };
    let named: Vec<_> = names
        .iter()
        .zip(&examples)
        .map(|((network, variant), example)| (*network, *variant, &example.terms))
        .collect();
    Ok(TargetModel {
        stage,
        target,
        features,
        only_weights: described.only_weights,
        rows: rows.len(),
        variants: variants.len(),
        trust,
        intervals,
        known: Known::of(&named),
        held_out: HeldOut::of(&far, &candidates, options.level),
        modes,
        members,
    })
}

/// Which features other networks are to choose from; the first one needs members of all, and the last one describes variants of fitted networks.
/// Perf4sight's sums know neither boards nor power modes, and trees on them need variants: of whole networks alone they were worse.
fn candidates(rows: &[&Row], variants: usize, modes: &Modes, options: &FitOptions) -> Vec<FeatureSet> {
    let is_one_board = rows.windows(2).all(|pair| pair[0].device == pair[1].device);
    let networks: BTreeSet<&str> = rows.iter().map(|row| row.network.as_str()).collect();
    let has_variants = networks.len() >= LEAST_NETWORKS && variants >= LEAST_VARIANTS * networks.len();
    match options.features {
        Some(asked) => vec![asked],
        None if is_one_board && modes.len() < 2 && has_variants => {
            vec![FeatureSet::Both, FeatureSet::Perf4sight, FeatureSet::Jetlag]
        }
        None => vec![FeatureSet::Jetlag],
    }
}

/// Most memory that the board has, where rows show it: failures above several variants' last success.
fn ceiling(target: Target, rows: &[&Row], failed: &[&Failed]) -> Option<f64> {
    /// So many variants must have reached it.
    const VARIANTS: usize = 3;
    if target != Target::Memory {
        return None;
    }
    let mut most: BTreeMap<(usize, &str, &str), (u32, f64)> = BTreeMap::new();
    for row in rows {
        let last = most
            .entry((row.device, &row.network, &row.variant))
            .or_insert((0, 0.0));
        *last = (last.0.max(row.batch), last.1.max(row.value));
    }
    let reached = failed.iter().filter_map(|failed| {
        let key = (failed.device, failed.network.as_str(), failed.variant.as_str());
        most.get(&key)
            .filter(|(batch, _)| failed.batch > *batch)
            .map(|_| key)
    });
    let reached: BTreeSet<_> = reached.collect();
    let devices: BTreeSet<usize> = rows.iter().map(|row| row.device).collect();
    // Boards differ in memory; one ceiling cannot serve several.
    if reached.len() < VARIANTS || devices.len() > 1 {
        return None;
    }
    Some(rows.iter().map(|row| row.value).fold(0.0, f64::max))
}

/// What tells rows apart beside their target.
type Key<'a> = (usize, Stage, &'a str, &'a str, u32);

fn key(row: &Row) -> Key<'_> {
    (row.device, row.stage, &row.network, &row.variant, row.batch)
}

/// Latencies by row; of several the mean. Of no use but to power modes, so only where there are any.
fn times(data: &Dataset) -> BTreeMap<Key<'_>, f64> {
    let mut sums: BTreeMap<Key<'_>, (f64, f64)> = BTreeMap::new();
    if data.devices.iter().any(|device| device.mode.is_some()) {
        let measured = |row: &&Row| row.target == Target::Latency && !row.stalled;
        for row in data.rows.iter().filter(measured) {
            let (sum, count) = sums.entry(key(row)).or_default();
            *sum += row.value;
            *count += 1.0;
        }
    }
    sums.into_iter()
        .map(|(key, (sum, count))| (key, sum / count))
        .collect()
}

/// Layer tables as a model sees them, with their terms.
pub(super) struct Described {
    pub(super) only_weights: bool,
    tables: BTreeMap<(String, String), (LayerTable, TermsOfOne)>,
}

impl Described {
    fn of(data: &Dataset, rows: &[&Row], features: FeatureSet) -> Result<Self, PredictError> {
        let mut tables = BTreeMap::new();
        for row in rows {
            let name = (row.network.clone(), row.variant.clone());
            if let (false, Some(table)) = (tables.contains_key(&name), data.networks.get(&name)) {
                tables.insert(name, table.clone());
            }
        }
        let only_weights = features.has_terms() && tables.values().all(LayerTable::has_only_weights);
        let with_terms = |table: LayerTable| {
            let terms = TermsOfOne::of(&table);
            (table, terms)
        };
        let tables = tables
            .into_iter()
            .map(|(name, table)| (name, with_terms(table)))
            .collect();
        Ok(Self { only_weights, tables })
    }

    fn examples<'a>(&'a self, data: &'a Dataset, rows: &[&Row]) -> Result<Vec<Example<'a>>, PredictError> {
        let times = times(data);
        let example = |row: &&Row| {
            let (table, terms) = self.tables.get(&(row.network.clone(), row.variant.clone()))?;
            let device = data.devices.get(row.device)?;
            Some(Example {
                table,
                terms: terms.at(row.batch),
                device,
                batch: row.batch,
                stage: row.stage,
                time_ms: times.get(&key(row)).copied(),
            })
        };
        let examples: Option<Vec<Example<'a>>> = rows.iter().map(example).collect();
        examples.ok_or_else(|| PredictError::NoRows {
            what: "rows".to_owned(),
            why: "a row names a network or board that the folder does not describe".to_owned(),
        })
    }
}
