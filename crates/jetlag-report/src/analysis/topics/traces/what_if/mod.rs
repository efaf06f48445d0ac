//! What if a kernel were faster, a copy gone, a tenant away, launches a graph: the traced frames run again with that changed.
//!
//! The dependency graph of `critical` is a model (`model`) that is run twice, as it is and changed (`apply`): frame after
//! frame, with the queueing that follows from when slots become free (`replay`). The prediction is the relative change of the
//! median response and service, with an interval from resampling frames in blocks. What is to be expected is of untraced frames
//! (`untraced`), since tracing itself costs time. Where there are none, or one trace alone, the interval is as wide as traces of one
//! program were seen to differ; several traces show how far they do (`pooled`).

mod apply;
mod change;
mod model;
#[cfg(test)]
mod plant;
mod pooled;
mod replay;
#[cfg(test)]
mod tests;
mod untraced;

use std::collections::BTreeMap;

use jetlag_stats::bootstrap::{CircularBlocks, nearest_percentiles};
use jetlag_stats::quantile::Quantile;

use crate::analysis::gathering::traced::TracedPhase;
use crate::analysis::stats::{ns_to_ms, six_decimals};
use crate::analysis::summary::what_if::{Predicted, PredictedTenant, WhatIf};
use crate::analysis::topics::traces::critical::{Member, build};
use crate::record::{Definition, FrameRecord, Outcome};
use crate::units::Nanos;
pub use change::{Alteration, Change, ChangeError, Pattern, Scaled, parse};
use model::{Between, ENOUGH, Model};
pub use pooled::pool;
use replay::{Ran, Successors, replay};
pub use untraced::Untraced;
use untraced::{Measure, Pairs, Parts, Rest, expected, is_on_host};

/// How often frames are drawn again for an interval.
const DRAWS: usize = 1000;
/// Difference between the model without a change and the trace from which the prediction is said to be doubtful.
const DOUBTFUL: f64 = 0.05;

/// How far a change may be off that is of one run alone, traced or not, as a share of it. Of a PyTorch program under `jetlag trace`
/// on an H200 four traces predicted −38.8, −38.5, −34 and −28 %; when the change was made, it was −39.3 %, three times. Three more
/// programs there, nine traces: off by 2 to 30 % (docs/evidence/what-if.md). Started again, each had an untraced p50 up to half longer.
const RUNS_DIFFER: f64 = 0.41;

/// How much more than a stage of the host saves, or costs, a frame may save or cost, as a share of it: what comes after the stage changes
/// too, and no trace tells by how much. Of these three programs, which lost a stage of 0.4 ms, two became 0.53 and 0.54 ms faster, up to
/// 2.04 times what was predicted.
const AFTER_A_STAGE: f64 = 1.1;

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
    // What kernels and copies take is the same whether they are traced; what calls take is not.
    let of_device = |change: &Change| match &change.what {
        Alteration::Scale { work, .. } => !matches!(work, Scaled::Call(_)),
        Alteration::Without | Alteration::Graph => false,
    };
    let rest = match changes.iter().all(of_device) {
        true => Rest::Saved,
        false => Rest::Scaled,
    };
    let of_host = |change: &Change| {
        matches!(
            change.what,
            Alteration::Scale {
                work: Scaled::Stage(_),
                ..
            }
        )
    };
    let is_of_host = changes.iter().any(of_host);
    let (mut is_of_runs, mut has_another_run) = (false, false);
    let (mut tenants, mut costs) = (Vec::new(), Vec::new());
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
                    stages: on_host(record),
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
        let known = untraced.get(usize::from(number));
        let [pairs, least, most] = [Some(&frames), ends.first(), ends.last()]
            .map(|ran| ran.map_or_else(Pairs::new, |ran| pairs(ran)));
        let mut cost = None;
        let mut figures = |measure: Measure| {
            let of = |ran: &Ran| match measure {
                Measure::Response => ran.finished - ran.released,
                Measure::Service => ran.finished - ran.started,
            };
            let values = |ran: &Vec<[Ran; 3]>| -> Vec<[i64; 3]> {
                ran.iter().map(|ran| [0, 1, 2].map(|at| of(&ran[at]))).collect()
            };
            let ends: Vec<Vec<[i64; 3]>> = ends.iter().map(values).collect();
            let mut figure = predicted(&values(&frames), &ends);
            let ends = [least.clone(), most.clone()];
            let found = known
                .filter(|known| frames.len() >= ENOUGH && known.frames().len() >= ENOUGH)
                .and_then(|known| expected(&pairs, &ends, known.frames(), rest, measure));
            match found {
                Some(found) => {
                    cost = found.cost;
                    figure.untraced(found.p50, found.changed, found.ci95);
                }
                None => figure.of_a_perturbed_trace(rest),
            }
            // The frames of one run are beside its own trace.
            if found.is_none() || known.is_some_and(Untraced::is_of_another_run) {
                is_of_runs = true;
                if found.is_some() {
                    has_another_run = true;
                    figure.reach(-RUNS_DIFFER, RUNS_DIFFER);
                }
                if is_of_host {
                    figure.reach(-1.0, AFTER_A_STAGE);
                }
            }
            figure.common_ci95 = figure.change_ci95.filter(|_| found.is_some() || is_of_host);
            figure
        };
        tenants.push(PredictedTenant {
            tenant: member.name.clone(),
            frames: frames.len() as u64,
            response: figures(Measure::Response),
            service: figures(Measure::Service),
        });
        if let Some(cost) = cost {
            costs.push((member.name.as_str(), cost));
        }
    }
    match tenants.iter().any(|tenant| tenant.service.untraced_ms.is_some()) {
        true => assumptions.extend(of_untraced(&costs)),
        false => assumptions.push(
            format!(
                "The trace is a perturbed one, and no untraced frames are beside it. Traces of one program differ: four predicted −28 to \
             −38.8 % where it was −39.3 %. So the interval is ± {:.0} % of the change{}. `--untraced FILE` of the same program untraced \
             (`jetlag trace --no-gpu`), or several traces, make it narrower.",
                RUNS_DIFFER * 100.0,
                match rest {
                    Rest::Saved => "",
                    Rest::Scaled => ", and goes to none: what calls took may all have been the tracer's",
                }
            ),
        ),
    }
    if has_another_run {
        assumptions.push(format!(
            "The untraced frames are of another run. Runs of one program differ by more than their frames tell, so the interval is at least ± \
             {:.0} % of the change.",
            RUNS_DIFFER * 100.0
        ));
    }
    if is_of_runs && is_of_host {
        assumptions.push(format!(
            "What comes after a stage of the host changes with it, and no trace tells by how much: the interval goes from none to {:.1} times \
             the change. Of three programs that lost a stage, two gained 1.3 to 2 times what was predicted.",
            1.0 + AFTER_A_STAGE
        ));
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
        traces: 1,
        untraced: None,
        assumptions,
    })
}

/// Why the interval of a prediction is as wide as it is.
fn of_untraced(costs: &[(&str, f64)]) -> impl Iterator<Item = String> {
    let changed: Vec<String> = costs
        .iter()
        .filter(|(_, cost)| cost.abs() >= 1_000.0)
        .map(|(tenant, cost)| format!("{tenant} {}", Nanos(*cost as i64)))
        .collect();
    let why = (!changed.is_empty()).then(|| {
        format!(
            "Beside its stages, a traced frame took longer than an untraced one by: {}. Nobody knows how much of that a change takes away: \
             the interval has it on both sides, but no more than what the change saves.",
            changed.join(", ")
        )
    });
    let how = "The changes are applied to the frames that were not traced, part by part: to each stage by its factor, to the rest by \
               what it saved in the trace, or by its factor.";
    std::iter::once(how.to_owned()).chain(why)
}

/// The host's stages of a frame.
fn on_host(frame: &FrameRecord) -> [i64; 9] {
    let mut stages = [0; 9];
    for stage in crate::record::Stage::ALL
        .into_iter()
        .filter(|stage| is_on_host(*stage))
    {
        stages[stage as usize] = frame.stages[stage as usize].map_or(0, |took| took.0.max(0));
    }
    stages
}

/// The parts of each frame before and after the change. A stage is as long as its record says, less what the change saved of it.
fn pairs(frames: &[[Ran; 3]]) -> Pairs {
    let of = |ran: &Ran, stages: [i64; 9]| Parts::of(ran.released, ran.started, ran.finished, stages);
    let pair = |[traced, before, after]: &[Ran; 3]| {
        let mut changed = traced.stages;
        for (place, took) in changed.iter_mut().enumerate() {
            *took = (*took + after.stages[place] - before.stages[place]).max(0);
        }
        [of(before, traced.stages), of(after, changed)]
    };
    frames.iter().map(pair).collect()
}

/// The figures of one measure, from its values in the trace, in the model and in the changed model, in the order of frames. `ends`
/// are the same where what the trace leaves open is at its least and at its most: the interval has both.
fn predicted(values: &[[i64; 3]], ends: &[Vec<[i64; 3]>]) -> Predicted {
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
        ..Predicted::default()
    }
}

impl Predicted {
    /// The change is that of the untraced frames.
    fn untraced(&mut self, p50: f64, changed: f64, ci95: [f64; 2]) {
        let of = |ns: f64| relative(p50, ns).map(six_decimals);
        self.untraced_ms = Some(ns_to_ms(p50));
        self.expected_ms = Some(ns_to_ms(changed));
        self.change = of(changed);
        self.change_ci95 = of(ci95[0]).zip(of(ci95[1])).map(|(low, high)| [low, high]);
    }

    /// The change is that of traced frames alone, and one trace is not like another. Of calls that a change takes away nobody knows
    /// how much of their time was the tracer's: it may be all.
    fn of_a_perturbed_trace(&mut self, rest: Rest) {
        if let (Some(change), Some([low, high])) = (self.change, &mut self.change_ci95) {
            let none = match rest {
                Rest::Saved => change,
                Rest::Scaled => 0.0,
            };
            *low = low.min(none);
            *high = high.max(none);
        }
        self.reach(-RUNS_DIFFER, RUNS_DIFFER);
    }

    /// Makes the interval reach that much less than the change, and that much more of it, as shares of it.
    fn reach(&mut self, less: f64, more: f64) {
        if let (Some(change), Some([low, high])) = (self.change, &mut self.change_ci95) {
            let ends = [change * (1.0 + less), change * (1.0 + more)];
            *low = six_decimals(ends.into_iter().fold(*low, f64::min).max(-1.0));
            // No change at all has no sign.
            *high = six_decimals(ends.into_iter().fold(*high, f64::max)) + 0.0;
        }
    }
}

fn relative(before: f64, after: f64) -> Option<f64> {
    (before > 0.0).then(|| after / before - 1.0)
}

/// The median of one of the three series, over these frames.
fn p50(values: &[[i64; 3]], frames: &[usize], which: usize) -> f64 {
    let mut chosen: Vec<i64> = frames.iter().map(|&frame| values[frame][which]).collect();
    Quantile::P50.of(&mut chosen, Ord::cmp).unwrap_or(0) as f64
}

/// The 95 % interval of the relative change, by a circular block bootstrap of frames (D. N. Politis and J. P. Romano, 1992):
/// each draw takes the same frames of both series, in blocks, because neighbours resemble each other.
fn interval(values: &[[i64; 3]]) -> Option<[f64; 2]> {
    let count = values.len();
    // Always the same draws, so that the same file gives the same answer.
    let mut blocks = CircularBlocks::new(count as u64);
    let mut changes = Vec::with_capacity(DRAWS);
    for _ in 0..DRAWS {
        let frames = blocks.draw(count);
        changes.push(relative(p50(values, &frames, 1), p50(values, &frames, 2))?);
    }
    Some(nearest_percentiles(&mut changes, 0.95)?.map(six_decimals))
}
