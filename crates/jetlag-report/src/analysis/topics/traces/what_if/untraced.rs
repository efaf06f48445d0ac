//! Frames that were not traced, and what a change does to them, part by part.
//!
//! Tracing lengthens some parts of a frame and not others, so a change of the traced median says little of the untraced one. A
//! host stage changes by the factor that the model has for it; the wait for a slot by what it is longer or shorter. The rest, in
//! which the device works, changes by what it saved in the trace, or by the factor of it: both are in the interval, and so
//! is what tracing cost there, since nobody knows how much of that a change takes away; but no more than the change saved.

use jetlag_stats::bootstrap::{CircularBlocks, nearest_percentiles};
use jetlag_stats::quantile::Quantile;

use super::DRAWS;
use crate::record::{FrameRecord, Stage};

/// Frames that are kept of a tenant: every second one is left out as often as there are more.
const MOST: usize = 1 << 12;
/// The share of the rest below which a change leaves it alone.
const ALONE: f64 = 0.005;

/// How long the parts of a frame take: they add up to its response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Parts {
    /// From release to start.
    pub(super) wait: i64,
    /// Stages of the host, by their place in [`Stage::ALL`]; 0 where there is none.
    pub(super) stages: [i64; 9],
    /// The service time in none of these.
    pub(super) rest: i64,
}

impl Parts {
    pub(super) fn of(released: i64, started: i64, finished: i64, stages: [i64; 9]) -> Parts {
        let staged = stages.iter().fold(0i64, |sum, took| sum.saturating_add(*took));
        Parts {
            wait: started.saturating_sub(released),
            stages,
            rest: finished.saturating_sub(started).saturating_sub(staged),
        }
    }

    fn staged(&self) -> f64 {
        self.stages.iter().map(|took| *took as f64).sum()
    }

    fn of_frame(frame: &FrameRecord) -> Parts {
        let mut stages = [0; 9];
        for stage in Stage::ALL.into_iter().filter(|stage| is_on_host(*stage)) {
            stages[stage as usize] = frame.stages[stage as usize].map_or(0, |took| took.0);
        }
        Parts::of(frame.released.0, frame.started.0, frame.finished.0, stages)
    }
}

/// Whether the graph has the stage as a stretch of the host's time.
pub(super) fn is_on_host(stage: Stage) -> bool {
    matches!(
        stage,
        Stage::Acquire | Stage::Decode | Stage::Preprocess | Stage::Postprocess
    )
}

/// A tenant's frames that were not traced, in order.
#[derive(Clone, Debug)]
pub struct Untraced {
    frames: Vec<Parts>,
    seen: u64,
    every: u64,
    is_of_another_run: bool,
}

impl Default for Untraced {
    fn default() -> Self {
        Untraced {
            frames: Vec::new(),
            seen: 0,
            every: 1,
            is_of_another_run: false,
        }
    }
}

impl Untraced {
    /// Takes in a completed frame.
    pub fn push(&mut self, frame: &FrameRecord) {
        if self.seen.is_multiple_of(self.every) {
            if self.frames.len() >= MOST {
                let mut number = 0;
                self.frames.retain(|_| {
                    number += 1;
                    number % 2 == 1
                });
                self.every *= 2;
            }
            if self.seen.is_multiple_of(self.every) {
                self.frames.push(Parts::of_frame(frame));
            }
        }
        self.seen += 1;
    }

    /// Frames of another run than the trace: of a program that was started again.
    #[must_use]
    pub fn of_another_run(self) -> Untraced {
        Untraced {
            is_of_another_run: true,
            ..self
        }
    }

    pub(super) fn is_of_another_run(&self) -> bool {
        self.is_of_another_run
    }

    pub(super) fn frames(&self) -> &[Parts] {
        &self.frames
    }
}

/// From release, or from start, to the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Measure {
    Response,
    Service,
}

/// What the model's frames become: before and after the change, in order.
pub(super) type Pairs = Vec<[Parts; 2]>;

/// What is to be expected of untraced frames.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Expected {
    /// Their p50 without the change, ns.
    pub(super) p50: f64,
    /// That with it.
    pub(super) changed: f64,
    /// 95 % interval of the second.
    pub(super) ci95: [f64; 2],
    /// What tracing cost in the rest of a frame, if the change is in it.
    pub(super) cost: Option<f64>,
}

/// How the rest of a frame changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    /// By so much time: work of the device takes as long traced or not.
    Saved,
    /// By a factor: calls take longer while they are traced.
    Scaled,
}

/// What a change does to each part of a frame.
#[derive(Clone, Copy, Debug)]
struct Shift {
    wait: f64,
    stages: [f64; 9],
    saved: f64,
    factor: f64,
    /// What was saved of the stages.
    staged: f64,
}

impl Shift {
    fn of<'a>(pairs: impl Iterator<Item = &'a [Parts; 2]> + Clone) -> Shift {
        let sum = |of: &dyn Fn(&Parts) -> i64, which: usize| -> f64 {
            pairs.clone().map(|pair| of(&pair[which]) as f64).sum()
        };
        let count = pairs.clone().count().max(1) as f64;
        let middle = |of: &dyn Fn(&[Parts; 2]) -> f64| median(pairs.clone().map(of).collect());
        let mut stages = [1.0; 9];
        for (place, factor) in stages.iter_mut().enumerate() {
            let before = sum(&|parts| parts.stages[place], 0);
            if before > 0.0 {
                *factor = sum(&|parts| parts.stages[place], 1) / before;
            }
        }
        Shift {
            wait: (sum(&|parts| parts.wait, 1) - sum(&|parts| parts.wait, 0)) / count,
            stages,
            saved: middle(&|[before, after]| (before.rest - after.rest) as f64),
            staged: middle(&|[before, after]| before.staged() - after.staged()),
            factor: middle(&|[before, after]| match before.rest {
                0 => 1.0,
                rest => after.rest as f64 / rest as f64,
            }),
        }
    }

    /// Whether the rest is longer because stages are shorter: a frame then waits for another one instead.
    fn waits(&self) -> bool {
        self.staged > 0.0 && self.saved < 0.0
    }

    fn apply(&self, frame: &Parts, rest: Rest, measure: Measure) -> f64 {
        let stages = frame.stages.iter().zip(self.stages);
        let staged: f64 = stages.map(|(took, factor)| *took as f64 * factor).sum();
        let left = match rest {
            _ if self.waits() => frame.rest as f64 - self.saved * (frame.staged() - staged) / self.staged,
            Rest::Saved => frame.rest as f64 - self.saved,
            Rest::Scaled => frame.rest as f64 * self.factor,
        };
        let wait = match measure {
            Measure::Response => (frame.wait as f64 + self.wait).max(0.0),
            Measure::Service => 0.0,
        };
        wait + staged + left.max(0.0)
    }
}

/// What becomes of untraced frames, by the model's frames before and after the change. `ends` are the same where what the trace
/// leaves open is at its least and at its most. None without frames.
pub(super) fn expected(
    pairs: &Pairs,
    ends: &[Pairs],
    frames: &[Parts],
    rest: Rest,
    measure: Measure,
) -> Option<Expected> {
    if pairs.is_empty() || frames.is_empty() {
        return None;
    }
    let own = |parts: &Parts| match measure {
        Measure::Response => parts.wait as f64 + parts.rest as f64 + parts.staged(),
        Measure::Service => parts.rest as f64 + parts.staged(),
    };
    let shift = Shift::of(pairs.iter());
    let usual = median(pairs.iter().map(|[before, _]| before.rest as f64).collect());
    let cost = usual - median(frames.iter().map(|frame| frame.rest as f64).collect());
    let is_in_rest = shift.saved.abs() > ALONE * usual.abs() && !shift.waits();
    let cost = is_in_rest.then_some(cost);
    let ways: &[Rest] = if cost.is_some() {
        &[Rest::Saved, Rest::Scaled]
    } else {
        &[Rest::Scaled]
    };
    let mut all: Vec<[f64; 2]> = Vec::new();
    for pairs in std::iter::once(pairs)
        .chain(ends)
        .filter(|pairs| !pairs.is_empty())
    {
        all.extend(ways.iter().map(|way| interval(pairs, frames, *way, measure)));
    }
    let low = all.iter().map(|ends| ends[0]).fold(f64::INFINITY, f64::min);
    let high = all.iter().map(|ends| ends[1]).fold(f64::NEG_INFINITY, f64::max);
    let more = cost.unwrap_or(0.0).abs().min(shift.saved.abs());
    let point = if cost.is_some() { rest } else { Rest::Scaled };
    Some(Expected {
        p50: median(frames.iter().map(own).collect()),
        changed: median(
            frames
                .iter()
                .map(|frame| shift.apply(frame, point, measure))
                .collect(),
        ),
        ci95: [(low - more).max(0.0), high + more],
        cost,
    })
}

/// The interval for which frames were traced, and which were not: both are drawn again, in blocks.
fn interval(pairs: &Pairs, frames: &[Parts], rest: Rest, measure: Measure) -> [f64; 2] {
    // Always the same draws, so that the same file gives the same answer.
    let mut blocks = CircularBlocks::new((pairs.len() + frames.len()) as u64);
    let mut medians: Vec<f64> = (0..DRAWS)
        .map(|_| {
            let chosen = blocks.draw(pairs.len());
            let shift = Shift::of(chosen.iter().map(|&at| &pairs[at]));
            let chosen = blocks.draw(frames.len());
            median(
                chosen
                    .iter()
                    .map(|&at| shift.apply(&frames[at], rest, measure))
                    .collect(),
            )
        })
        .collect();
    nearest_percentiles(&mut medians, 0.95).unwrap_or_default()
}

/// The middle one; of none, nothing.
fn median(mut values: Vec<f64>) -> f64 {
    Quantile::P50.of(&mut values, f64::total_cmp).unwrap_or(0.0)
}
