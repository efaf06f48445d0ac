//! What rows are computed from: of each tenant, per stage, layer or kernel, one time a frame.
//!
//! Stages are of the measured frames, layers and kernels of the traced ones. A frame in which a layer did not run has 0 there.

use std::collections::BTreeMap;

use super::By;
use crate::analysis::gathering::timeline::Timeline;
use crate::analysis::gathering::traced::{Traced, TracedPhase};
use crate::record::activity::Work;
use crate::record::{Event, FrameRecord, Outcome, Phase, Stage};
use crate::scenario::Scenario;

/// What a row is of: a stage, a layer, or a kernel of a layer.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    /// The layer; `None` where there is none or it is not known.
    pub(super) layer: Option<String>,
    /// The stage, the kernel; empty for a layer as a whole.
    pub(super) name: String,
}

/// Times of one key: frames in which it was, and for how long, in nanoseconds.
pub(super) type Times = Vec<(u32, i64)>;

/// The times of a tenant in one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::analysis) struct OfTenant {
    pub(super) times: BTreeMap<Key, Times>,
    /// Frames that they are of.
    pub(super) frames: usize,
}

impl OfTenant {
    /// Times of several keys together, one a frame.
    pub(super) fn series<'k>(&self, keys: impl Iterator<Item = &'k Key>) -> Vec<i64> {
        let mut all = vec![0i64; self.frames];
        for (frame, took) in keys.filter_map(|key| self.times.get(key)).flatten() {
            if let Some(sum) = all.get_mut(*frame as usize) {
                *sum = sum.saturating_add(*took);
            }
        }
        all
    }

    /// Mean time of a frame in these, in nanoseconds.
    pub(super) fn mean<'k>(&self, keys: impl Iterator<Item = &'k Key>) -> f64 {
        let times = keys.filter_map(|key| self.times.get(key)).flatten();
        let sum: i128 = times.map(|(_, took)| i128::from(*took)).sum();
        sum as f64 / self.frames.max(1) as f64
    }
}

/// The times of a run, or why there are none.
pub(in crate::analysis) type OfRun = Result<BTreeMap<String, OfTenant>, Lacking>;

/// What a run has not got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::analysis) enum Lacking {
    /// Nobody asked for rows when the run was read.
    Unread,
    /// No phase was traced.
    Trace,
    /// Nothing on a GPU was traced.
    Work,
    /// No layer of any kernel is known.
    Layers,
}

/// Collects what rows need while a run is read.
pub(in crate::analysis) enum Collector {
    Stages(Vec<Timeline<{ Stage::ALL.len() }>>),
    Traced(By, Box<Traced>),
}

impl Collector {
    pub(in crate::analysis) fn new(by: By, tenants: usize) -> Collector {
        match by {
            By::Stages => Collector::Stages((0..tenants).map(|_| Timeline::of_one_of(tenants)).collect()),
            By::Layers | By::Kernels => Collector::Traced(by, Box::default()),
        }
    }

    pub(in crate::analysis) fn push(&mut self, event: &Event) {
        match (self, event) {
            (Collector::Stages(tenants), Event::Frame(frame)) => {
                if is_measured(frame)
                    && let Some(timeline) = tenants.get_mut(usize::from(frame.tenant))
                {
                    let stages = || frame.stages.map(|took| took.map(|took| took.0.max(0)));
                    timeline.push(frame.sequence, frame.released, stages);
                }
            }
            (Collector::Traced(_, traced), event) => traced.event(event),
            _ => {}
        }
    }

    /// The times of the run, by the names of its tenants.
    pub(in crate::analysis) fn finish(self, plan: &Scenario) -> OfRun {
        match self {
            Collector::Stages(tenants) => Ok(plan
                .tenants
                .iter()
                .zip(tenants)
                .map(|(tenant, timeline)| (tenant.name.clone(), stages(timeline)))
                .collect()),
            Collector::Traced(by, mut traced) => {
                traced.settle();
                let (_, phase) = traced.principal().ok_or(Lacking::Trace)?;
                let found = works(&traced, phase, by, plan);
                let mut keys = found.values().flat_map(|tenant| tenant.times.keys()).peekable();
                if keys.peek().is_none() {
                    return Err(Lacking::Work);
                }
                if by == By::Layers && keys.all(|key| key.layer.is_none()) {
                    return Err(Lacking::Layers);
                }
                Ok(found)
            }
        }
    }
}

fn is_measured(frame: &FrameRecord) -> bool {
    frame.phase == Phase::Together && !frame.warmup && frame.outcome == Outcome::Completed
}

fn stages(mut timeline: Timeline<{ Stage::ALL.len() }>) -> OfTenant {
    timeline.sort();
    let mut of = OfTenant::default();
    for (row, frame) in timeline.rows().zip(0u32..) {
        of.frames += 1;
        for (stage, took) in Stage::ALL.into_iter().zip(row) {
            if let Some(took) = took {
                let key = Key {
                    layer: None,
                    name: stage.name().to_owned(),
                };
                of.times.entry(key).or_default().push((frame, took));
            }
        }
    }
    of
}

/// A piece of work: layer and name by number, what it is called without a name, and how long it took.
type Piece = (Option<u32>, Option<u32>, &'static str, i64);

/// Time on a GPU per layer or kernel of each measured frame with any.
fn works(traced: &Traced, phase: &TracedPhase, by: By, plan: &Scenario) -> BTreeMap<String, OfTenant> {
    // Frames with work, in order; the number of each is its place.
    let mut worked: BTreeMap<(u16, u64), Vec<Piece>> = traced
        .measured(phase)
        .iter()
        .map(|frame| ((frame.tenant, frame.sequence), Vec::new()))
        .collect();
    for activity in phase.processes.values().flatten() {
        let owner = activity.owner;
        if let Some(frame) = owner.tenant.zip(owner.frame)
            && let Some(works) = worked.get_mut(&frame)
            && activity.work.on_device().is_some()
        {
            let kind = match activity.work {
                Work::Copy { .. } => "copies",
                work => work.word(),
            };
            works.push((owner.layer, activity.name, kind, activity.duration().0.max(0)));
        }
    }
    let mut found: BTreeMap<String, OfTenant> = BTreeMap::new();
    for ((tenant, _), works) in worked {
        let Some(name) = plan
            .tenants
            .get(usize::from(tenant))
            .map(|tenant| tenant.name.clone())
        else {
            continue;
        };
        if works.is_empty() {
            continue;
        }
        let of = found.entry(name).or_default();
        let mut sums: BTreeMap<Key, i64> = BTreeMap::new();
        for (layer, name, kind, took) in works {
            let is_copy = kind == "copies";
            let key = Key {
                layer: traced.text(layer).filter(|_| !is_copy).map(str::to_owned),
                name: match (by, is_copy) {
                    (_, true) => kind.to_owned(),
                    (By::Kernels, false) => traced.text(name).unwrap_or(kind).to_owned(),
                    _ => String::new(),
                },
            };
            let sum = sums.entry(key).or_default();
            *sum = sum.saturating_add(took);
        }
        let frame = u32::try_from(of.frames).unwrap_or(u32::MAX);
        of.frames += 1;
        for (key, took) in sums {
            of.times.entry(key).or_default().push((frame, took));
        }
    }
    found
}
