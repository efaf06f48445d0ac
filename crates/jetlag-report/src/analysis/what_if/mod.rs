//! What if a kernel were faster, a copy gone, a tenant away, launches a graph: the traced frames run again with that changed.
//!
//! The dependency graph of `critical` is a model (`model`) that is run twice, as it is and changed (`apply`): frame after
//! frame, with the queueing that follows from when slots become free (`replay`). The prediction is the relative change of the
//! median response and service, with an interval from resampling frames in blocks. Applied to the untraced frames it gives what to
//! expect, since tracing itself costs time.

mod apply;
mod change;
mod model;
#[cfg(test)]
mod plant;
mod replay;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use rand_distr::{Distribution, Uniform};
use rand_pcg::Pcg64;
use rand_pcg::rand_core::SeedableRng;

use super::critical::{Member, build};
use super::quantile::Quantile;
use super::stats::{ns_to_ms, six_decimals};
use super::summary::what_if::{Predicted, PredictedTenant, WhatIf};
use super::traced::TracedPhase;
use crate::record::{Definition, Outcome};
pub use change::{Alteration, Change, ChangeError, Pattern, Scaled, parse};
use model::{Between, ENOUGH, Model};
use replay::{Ran, Successors, replay};

/// How often frames are drawn again for an interval.
const DRAWS: usize = 1000;
/// Difference between the model without a change and the trace from which the prediction is said to be doubtful.
const DOUBTFUL: f64 = 0.05;

/// A tenant's median response and service over the untraced frames, in milliseconds, where they are known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Untraced {
    /// From release to result.
    pub response_ms: Option<f64>,
    /// From start to result.
    pub service_ms: Option<f64>,
}

/// Predicts what changes do to the median of each tenant's response and service. `untraced` is in the scenario's order.
///
/// # Errors
/// A change says nothing about this trace.
pub fn what_if(
    phase: &TracedPhase,
    names: &BTreeMap<u32, Definition>,
    members: &[Member],
    changes: &[Change],
    untraced: &[Untraced],
) -> Result<WhatIf, ChangeError> {
    let (graph, _) = build(phase, names, members);
    let model = Model::new(&graph, members);
    let successors = Successors::of(&model);
    let before = replay(&model, &successors);
    let changed = |between| {
        let mut model = model.clone();
        let applied = apply::apply(&mut model, changes, names, members, between)?;
        Ok((replay(&model, &successors), applied))
    };
    let (after, applied) = changed(Between::Middle)?;
    let ends = match applied.is_open {
        true => vec![changed(Between::Least)?.0, changed(Between::Most)?.0],
        false => Vec::new(),
    };
    let mut assumptions = applied.assumed;
    if model.in_turn {
        assumptions.push(
            "Tenants had the device one at a time in this trace: it goes to whoever's work is ready first."
                .to_owned(),
        );
    } else if phase.spec.members.len() > 1 {
        let others = match changes.iter().any(|change| change.what == Alteration::Without) {
            true => "the others that still run",
            false => "other tenants",
        };
        assumptions.push(format!(
            "What {others} cost a tenant's work, in waiting and in slower kernels, stays what it was."
        ));
    }
    if phase.frames.iter().any(|frame| frame.outcome == Outcome::Dropped) {
        assumptions.push("Frames that were dropped stay dropped, and no others are.".to_owned());
    }
    let mut tenants = Vec::new();
    for (member, number) in members.iter().zip(0u16..) {
        let ran = |after: &[Option<Ran>]| -> Vec<[Ran; 3]> {
            let all = graph.frames.iter().zip(&before).zip(after);
            all.filter_map(|((frame, before), after)| {
                let record = &frame.record;
                let counts =
                    record.tenant == number && !record.warmup && record.outcome == Outcome::Completed;
                let traced = Ran {
                    released: record.released.0,
                    started: record.started.0,
                    finished: record.finished.0,
                };
                counts.then_some([traced, (*before)?, (*after)?])
            })
            .collect()
        };
        let frames = ran(&after);
        if frames.is_empty() {
            continue;
        }
        let ends: Vec<Vec<[Ran; 3]>> = ends.iter().map(|end| ran(end)).collect();
        let known = untraced.get(usize::from(number)).copied().unwrap_or_default();
        let figures = |of: fn(&Ran) -> i64, untraced| {
            let values = |ran: &Vec<[Ran; 3]>| -> Vec<[i64; 3]> {
                ran.iter().map(|ran| [0, 1, 2].map(|at| of(&ran[at]))).collect()
            };
            let ends: Vec<Vec<[i64; 3]>> = ends.iter().map(values).collect();
            predicted(&values(&frames), &ends, untraced)
        };
        tenants.push(PredictedTenant {
            tenant: member.name.clone(),
            frames: frames.len() as u64,
            response: figures(|ran| ran.finished - ran.released, known.response_ms),
            service: figures(|ran| ran.finished - ran.started, known.service_ms),
        });
    }
    for tenant in &tenants {
        if (tenant.frames as usize) < ENOUGH {
            assumptions.push(format!(
                "{}: {} traced frames are too few for a median; it needs {ENOUGH}.",
                tenant.tenant, tenant.frames
            ));
        }
        if let (Some(traced), Some(model)) = (tenant.service.traced_ms, tenant.service.model_ms)
            && (model / traced - 1.0).abs() > DOUBTFUL
        {
            assumptions.push(format!(
                "{}: the model without any change has a median service of {model:.3} ms, the trace one of {traced:.3} ms: \
                 doubt its prediction.",
                tenant.tenant
            ));
        }
    }
    Ok(WhatIf {
        phase: phase.spec.label.clone(),
        changes: changes
            .iter()
            .map(|change| apply::in_words(change, members))
            .collect(),
        tenants,
        assumptions,
    })
}

/// The figures of one measure, from its values in the trace, in the model and in the changed model, in the order of frames. `ends`
/// are the same where what the trace leaves open is at its least and at its most: the interval has both.
fn predicted(values: &[[i64; 3]], ends: &[Vec<[i64; 3]>], untraced_ms: Option<f64>) -> Predicted {
    if values.len() < ENOUGH {
        return Predicted::default();
    }
    let every: Vec<usize> = (0..values.len()).collect();
    let p50 = |which: usize| p50(values, &every, which);
    let (traced, model, changed) = (p50(0), p50(1), p50(2));
    let change = relative(model, changed);
    Predicted {
        traced_ms: Some(ns_to_ms(traced)),
        model_ms: Some(ns_to_ms(model)),
        predicted_ms: change.map(|change| ns_to_ms(traced * (1.0 + change))),
        change: change.map(six_decimals),
        change_ci95: ends
            .iter()
            .try_fold(interval(values), |known, end| {
                let (known, end) = (known?, interval(end)?);
                Some(Some([known[0].min(end[0]), known[1].max(end[1])]))
            })
            .flatten(),
        untraced_ms,
        expected_ms: change
            .zip(untraced_ms)
            .map(|(change, ms)| six_decimals(ms * (1.0 + change))),
    }
}

fn relative(before: f64, after: f64) -> Option<f64> {
    (before > 0.0).then(|| after / before - 1.0)
}

/// The median of one of the three series, over these frames.
fn p50(values: &[[i64; 3]], frames: &[usize], which: usize) -> f64 {
    let mut chosen: Vec<i64> = frames.iter().map(|&frame| values[frame][which]).collect();
    let rank = Quantile::P50.rank(chosen.len() as u64).max(1) as usize;
    *chosen.select_nth_unstable(rank - 1).1 as f64
}

/// The 95 % interval of the relative change, by a circular block bootstrap of frames (D. N. Politis and J. P. Romano, 1992):
/// each draw takes the same frames of both series, in blocks, because neighbours resemble each other.
fn interval(values: &[[i64; 3]]) -> Option<[f64; 2]> {
    let count = values.len();
    let block = (count as f64).cbrt().ceil() as usize;
    let begin = Uniform::new(0, count).ok()?;
    // Always the same draws, so that the same file gives the same answer.
    let mut random = Pcg64::seed_from_u64(count as u64);
    let mut changes = Vec::with_capacity(DRAWS);
    let mut frames = Vec::with_capacity(count + block);
    for _ in 0..DRAWS {
        frames.clear();
        while frames.len() < count {
            let from = begin.sample(&mut random);
            frames.extend((from..from + block).map(|frame| frame % count));
        }
        frames.truncate(count);
        changes.push(relative(p50(values, &frames, 1), p50(values, &frames, 2))?);
    }
    changes.sort_by(f64::total_cmp);
    let at = |share: f64| changes[((DRAWS - 1) as f64 * share).round() as usize];
    Some([six_decimals(at(0.025)), six_decimals(at(0.975))])
}
