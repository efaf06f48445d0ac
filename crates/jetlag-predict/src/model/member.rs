//! One hypothesis with its trees; the members of a target are averaged.

use crate::base::{self, Base, Form, Said};
use crate::dataset::Target;
use crate::error::PredictError;
use crate::features::{Device, FeatureSet, Stage, Term, Terms, numbers, perf4sight};
use crate::layers::LayerTable;
use crate::trees::{Forest, Predicted, Rows, TreeOptions};

/// A network with a batch on a board, as models see it.
#[derive(Debug, Clone)]
pub(crate) struct Example<'a> {
    pub(crate) table: &'a LayerTable,
    pub(crate) terms: Terms,
    pub(crate) device: &'a Device,
    pub(crate) batch: u32,
    pub(crate) stage: Stage,
    /// The latency that was measured for the same, where it was: energy and power across modes are fitted with it.
    pub(crate) time_ms: Option<f64>,
}

/// What a model of rows is made with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Recipe {
    pub(crate) target: Target,
    pub(crate) features: FeatureSet,
    pub(crate) form: Form,
    pub(crate) trees: TreeOptions,
}

/// Fewest times that a base of the time is fitted to.
const LEAST_TIMES: usize = 8;

/// One hypothesis: a base, and trees on the logarithm of what it leaves; without a base, trees on the value itself.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Member {
    pub(crate) base: Option<Base>,
    pub(crate) forest: Forest,
}

/// What a member says: logarithm of the base, correction by trees (mean and spread over trees), demand over value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Opinion {
    pub(crate) log_base: f64,
    pub(crate) correction: f64,
    pub(crate) spread: f64,
    pub(crate) excess: f64,
    /// Whether it comes from perf4sight's sums.
    pub(crate) is_of_sums: bool,
}

/// Energy is of a frame, and the terms are of a step.
fn step(target: Target, batch: u32) -> f64 {
    if target == Target::Energy {
        f64::from(batch)
    } else {
        1.0
    }
}

/// Fits all members to examples and their values.
pub(crate) fn fit(
    recipe: Recipe,
    examples: &[&Example<'_>],
    values: &[f64],
    ceiling: Option<f64>,
) -> Result<Vec<Member>, PredictError> {
    let mut members = Vec::new();
    if recipe.features.has_sums() {
        let rows = Rows::new(&published(examples))?;
        // As published: to single rows.
        let options = TreeOptions {
            min_leaf: 1,
            ..recipe.trees
        };
        members.push(Member {
            base: None,
            forest: Forest::fit(&rows, values, options)?,
        });
    }
    if !recipe.features.has_terms() {
        return Ok(members);
    }
    let points: Vec<base::Point<'_>> = examples
        .iter()
        .zip(values)
        .map(|(example, value)| {
            (
                &example.terms,
                example.device,
                value * step(recipe.target, example.batch),
            )
        })
        .collect();
    let time = time(recipe, examples);
    let bases = base::fitted(recipe.target, recipe.form, &points, ceiling, time.as_ref());
    let count = bases.len();
    for (number, base) in bases.into_iter().enumerate() {
        let said: Vec<Said> = examples
            .iter()
            .map(|example| base.say(&example.terms, example.device))
            .collect();
        let left: Vec<f64> = points
            .iter()
            .zip(&said)
            .map(|((_, _, value), said)| libm::log(value / said.value))
            .collect();
        let rows = rows(&base, recipe.target, examples, &said)?;
        let options = TreeOptions {
            trees: recipe.trees.trees.div_ceil(count),
            // Seeds of members must differ, or their trees err alike.
            seed: recipe.trees.seed.wrapping_add(number as u64),
            ..recipe.trees
        };
        members.push(Member {
            base: Some(base),
            forest: Forest::fit(&rows, &left, options)?,
        });
    }
    Ok(members)
}

/// What a step takes, for energy and power across modes.
fn time(recipe: Recipe, examples: &[&Example<'_>]) -> Option<Base> {
    let wanted = recipe.form == Form::Modes && matches!(recipe.target, Target::Energy | Target::Power);
    let measured = examples
        .iter()
        .filter_map(|example| Some((&example.terms, example.device, example.time_ms?)));
    let points: Vec<base::Point<'_>> = measured.collect();
    if !wanted || points.len() < LEAST_TIMES {
        return None;
    }
    base::fitted(Target::Latency, recipe.form, &points, None, None)
        .into_iter()
        .next()
}

impl Member {
    /// How many features its trees must have; None where there is no such member.
    pub(crate) fn width(&self, target: Target, stage: Stage) -> usize {
        match (&self.base, stage) {
            (None, Stage::Training) => 56,
            (None, Stage::Inference) => 15,
            (Some(base), _) => width(base, target),
        }
    }

    /// What it says of examples.
    pub(crate) fn opinions(
        &self,
        target: Target,
        examples: &[&Example<'_>],
    ) -> Result<Vec<Opinion>, PredictError> {
        let Some(base) = &self.base else {
            let plain = |said: Predicted| Opinion {
                log_base: libm::log(said.mean.max(f64::MIN_POSITIVE)),
                correction: 0.0,
                spread: said.spread / said.mean.max(f64::MIN_POSITIVE),
                excess: 1.0,
                is_of_sums: true,
            };
            let rows = Rows::new(&published(examples))?;
            return Ok(self.forest.predict(&rows).into_iter().map(plain).collect());
        };
        let said: Vec<Said> = examples
            .iter()
            .map(|example| base.say(&example.terms, example.device))
            .collect();
        let corrections = self.forest.predict(&rows(base, target, examples, &said)?);
        let opinion = |((example, said), correction): ((&&Example<'_>, &Said), Predicted)| Opinion {
            log_base: libm::log(said.value / step(target, example.batch)),
            correction: correction.mean,
            spread: correction.spread,
            excess: said.demand / said.value,
            is_of_sums: false,
        };
        Ok(examples.iter().zip(&said).zip(corrections).map(opinion).collect())
    }
}

fn published(examples: &[&Example<'_>]) -> Vec<Vec<f64>> {
    let vector = |example: &&Example<'_>| perf4sight(example.table, example.batch, example.stage);
    examples.iter().map(vector).collect()
}

fn rows(base: &Base, target: Target, examples: &[&Example<'_>], said: &[Said]) -> Result<Rows, PredictError> {
    let rows: Vec<Vec<f64>> = examples
        .iter()
        .zip(said)
        .map(|(example, said)| match target {
            Target::Memory => of_memory(&example.terms, example.device, said),
            _ => {
                let mut row = of_time(&example.terms, example.device, said);
                if base.is_across_modes() {
                    let clocks = example.device.clocks();
                    row.extend(clocks.map_or([0.0; MODE_WIDTH], numbers));
                }
                row
            }
        })
        .collect();
    Rows::new(&rows)
}

fn width(base: &Base, target: Target) -> usize {
    match target {
        Target::Memory => MEMORY_WIDTH,
        _ if base.is_across_modes() => TIME_WIDTH + MODE_WIDTH,
        Target::Latency | Target::Energy | Target::Power => TIME_WIDTH,
    }
}

const TIME_WIDTH: usize = 15;
const MEMORY_WIDTH: usize = 13;
/// Clocks, of models across modes.
const MODE_WIDTH: usize = 5;

/// What trees see beside a base of time: the batch, how large the base says that the work is, what a layer is like, and how well
/// channels fill tiles.
fn of_time(terms: &Terms, device: &Device, said: &Said) -> Vec<f64> {
    let (batch, layers) = (terms.get(Term::Batch), terms.get(Term::Layers).max(1.0));
    let mut row = vec![batch, said.value, said.floor_over_line];
    row.push(terms.get(Term::Written) / batch / layers);
    row.push(terms.work() / batch / layers);
    row.push(terms.get(Term::Weights) / layers);
    let padding = |padded: Term, plain: Term| ratio(terms.get(padded), terms.get(plain));
    row.push(padding(Term::Pointwise32, Term::Pointwise));
    row.push(padding(Term::Pointwise64, Term::Pointwise));
    row.push(padding(Term::Pointwise128, Term::Pointwise));
    row.push(padding(Term::Spatial32, Term::Spatial));
    row.push(padding(Term::Spatial64, Term::Spatial));
    row.push(padding(Term::Spatial128, Term::Spatial));
    row.push(padding(Term::WrittenTile32, Term::Written));
    row.extend([device.tflops, device.gb_s]);
    debug_assert_eq!(row.len(), TIME_WIDTH);
    row
}

/// What trees see beside a base of memory: the batch, what the base wants, and the tensors that blocks are made for.
fn of_memory(terms: &Terms, device: &Device, said: &Said) -> Vec<f64> {
    let mut row = vec![said.demand, said.floor_over_line];
    row.extend(
        [
            Term::Batch,
            Term::LivePeak,
            Term::LargestTransform,
            Term::LargestPatches,
            Term::LargestTensor,
            Term::Written,
            Term::Weights,
            Term::Transform,
            Term::ReadPointwise,
            Term::Layers,
        ]
        .map(|term| terms.get(term)),
    );
    row.push(device.memory_mib.unwrap_or(0.0));
    debug_assert_eq!(row.len(), MEMORY_WIDTH);
    row
}

/// 1 where there is nothing to compare.
fn ratio(a: f64, b: f64) -> f64 {
    if b > 0.0 { a / b } else { 1.0 }
}
