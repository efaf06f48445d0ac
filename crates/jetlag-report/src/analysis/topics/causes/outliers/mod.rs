//! Why the slowest frames of a tenant were slow: what was different while they ran, and which of it is the likely
//! cause, if any.
//!
//! The slow frames that `watch` kept are first grouped into incidents: frames that waited for the same one are one
//! incident. Which part of the response grew is arithmetic. Why it grew is not: a circumstance (a throttled GPU, a
//! lower clock, a busy co-runner, a larger input) is named as the likely cause only where `suspects` finds it in slow
//! frames more often than by chance, judged over all incidents together. A co-runner that was busy during one slow
//! frame proves nothing if it is busy a third of the time. `told` puts what was found into words. Levels and limits are in docs/measurement.md.

mod chance;
mod machine;
mod suspects;
mod told;

use std::collections::{BTreeMap, HashMap};

use crate::analysis::gathering::track::Tracks;
use crate::analysis::gathering::watch::{Behind, Kept, Span, Watched};
use crate::analysis::summary::SlowPart;
use crate::analysis::topics::latency::tenant::Measured;
use crate::analysis::topics::latency::waterfall::{self, LATENESS, NAMES, PARTS, WAIT};
use crate::record::{FrameRecord, Stage};
use crate::scenario;
use crate::units::{Nanos, Stamp};
use machine::Machine;
use suspects::{Candidate, Circumstance, Suspect};

/// A frame is beyond its tenant's usual spread if it took longer than p50 + 4 · (p90 − p50) …
const FENCE: i64 = 4;
/// … and at least this multiple of the median.
const FENCE_SHARE: f64 = 1.25;
/// Usual frames needed to call anything unusual.
const LEAST_USUAL: usize = 50;
/// An input is large from this multiple of the usual size.
const LARGE_INPUT: f64 = 1.25;
/// A co-runner is active if it was in service for this share of the first stretch of a frame's service …
const ACTIVE: f64 = 0.5;
/// … a stretch so long that 1 % of frames are served faster.
const FIRST_STRETCH: f64 = 0.01;
/// A clock is low below this share of the usual clock.
const LOW_CLOCK: f64 = 0.95;
/// A frame held up others if its service took this multiple of the usual, and its excess is at least this share of
/// what they waited: a long queue contains slow frames just because it is long.
const HELD_UP: f64 = 2.0;
const HELD_UP_PART: f64 = 0.5;
/// How near counts as next to a frame, in usual response times.
const NEXT_TO: i64 = 4;
/// A part explains a slow response if it grew by at least this share of the response's excess over the median.
const EXPLAINS: f64 = 0.5;

/// What is known of a tenant besides its kept frames.
struct Tenant {
    name: String,
    /// Quantiles of the response time.
    p50: Option<Nanos>,
    p90: Option<Nanos>,
    /// Median time in which a usual frame is at work.
    work: Nanos,
}

/// Explains each tenant's slowest frames, for a run that was measured in `window`.
pub(in crate::analysis) fn explain(
    watched: &[Watched],
    measured: &mut [Measured<'_>],
    tracks: &Tracks,
    window: Option<(Stamp, Stamp)>,
) {
    let Some((zero, _)) = window else { return };
    let machines: Vec<Machine<'_>> = measured
        .iter()
        .map(|tenant| Machine::new(tracks, tenant.summary.device))
        .collect();
    let nanos = |ms: Option<f64>| ms.map(|ms| Nanos((ms * 1e6).round() as i64));
    let tenants: Vec<Tenant> = measured
        .iter()
        .zip(watched)
        .map(
            |(
                Measured {
                    scenario, summary, ..
                },
                watched,
            )| Tenant {
                name: scenario.name.clone(),
                p50: nanos(summary.response_ms.p50.value),
                p90: nanos(summary.response_ms.p90.value),
                work: middle_of(&watched.usual, |frame| {
                    let span = Span::at_work(frame);
                    (span.finished - span.started).0
                })
                .map_or(Nanos::ZERO, Nanos),
            },
        )
        .collect();
    let mut judges: Vec<Option<Judge<'_>>> = watched
        .iter()
        .zip(&machines)
        .enumerate()
        .map(|(number, (watched, machine))| Judge::new(number, watched, &tenants, machine))
        .collect();
    let slow_alone: Vec<BTreeMap<usize, Vec<Span>>> = (0..judges.len())
        .map(|number| {
            let company = watched.get(number).map(|watched| watched.company(judges.len()));
            let others = company.unwrap_or_default().into_iter();
            let of = |other: usize| Some((other, judges.get(other)?.as_ref()?.slow_without(number)));
            others.filter_map(of).collect()
        })
        .collect();
    for (judge, slow_alone) in judges.iter_mut().zip(slow_alone) {
        if let Some(judge) = judge {
            judge.slow_alone = slow_alone;
        }
    }
    let scenarios: Vec<&scenario::Tenant> = measured.iter().map(|tenant| tenant.scenario).collect();
    let candidates: Vec<Vec<Candidate>> = judges
        .iter()
        .map(|judge| {
            judge
                .as_ref()
                .map_or_else(Vec::new, |judge| suspects::candidates(judge, &scenarios))
        })
        .collect();
    let looked_at = candidates.iter().map(Vec::len).sum();
    for ((judge, candidates), tenant) in judges.iter_mut().zip(candidates).zip(measured) {
        if let Some(judge) = judge {
            judge.suspects = suspects::find(candidates, looked_at);
            tenant.summary.slowest = judge.told(zero);
        }
    }
}

/// A tenant's usual frames, and what slow ones are compared with.
struct Judge<'a> {
    number: usize,
    tenants: &'a [Tenant],
    machine: &'a Machine<'a>,
    watched: &'a Watched,
    p50: Nanos,
    /// A response time beyond this is outside of the usual spread.
    fence: Option<Nanos>,
    /// Medians of the usual frames' parts, of their service, inputs and clocks.
    parts: Vec<Nanos>,
    service: Nanos,
    input: u32,
    clock: Option<f64>,
    /// The first stretch of service in which co-runners are looked for.
    first_stretch: Nanos,
    /// Share of usual frames at whose start each tenant was active, of those that it was looked at beside.
    usually_active: BTreeMap<usize, f64>,
    /// Kept frames beyond the usual spread, by number.
    far: HashMap<u64, &'a Kept>,
    /// Of each other tenant, when it was slow without meeting this one.
    slow_alone: BTreeMap<usize, Vec<Span>>,
    /// Of each incident whose cause is not in its own stamps, the frame at which it began.
    asked: Vec<&'a Kept>,
    suspects: Vec<Suspect>,
}

impl<'a> Judge<'a> {
    fn new(
        number: usize,
        watched: &'a Watched,
        tenants: &'a [Tenant],
        machine: &'a Machine<'a>,
    ) -> Option<Self> {
        let tenant = tenants.get(number)?;
        let usual = &watched.usual;
        let p50 = match tenant.p50 {
            Some(p50) => p50,
            None => Nanos(middle_of(usual, |frame| frame.response().0)?),
        };
        let fence = tenant.p90.filter(|_| usual.len() >= LEAST_USUAL).map(|p90| {
            let least = Nanos((p50.0 as f64 * FENCE_SHARE) as i64);
            (p50 + (p90 - p50) * FENCE).max(least)
        });
        let parts = (0..PARTS)
            .map(|part| middle_of(usual, |frame| parts(frame)[part].0).map_or(Nanos::ZERO, Nanos))
            .collect();
        let mut clocks: Vec<f64> = usual
            .iter()
            .filter_map(|kept| machine.clock(kept.frame.started))
            .collect();
        let mut judge = Judge {
            number,
            tenants,
            machine,
            watched,
            p50,
            fence,
            parts,
            service: Nanos(middle_of(usual, |frame| frame.service().0)?),
            input: middle_of(usual, |frame| i64::from(frame.input_size))? as u32,
            clock: jetlag_stats::median::median(&mut clocks),
            first_stretch: Nanos(value_at(usual, FIRST_STRETCH, |frame| frame.service().0)?).max(Nanos(1)),
            usually_active: BTreeMap::new(),
            far: HashMap::new(),
            slow_alone: BTreeMap::new(),
            asked: Vec::new(),
            suspects: Vec::new(),
        };
        let active = |other: usize| {
            let active = usual.iter().filter(|kept| judge.active(kept, other) >= ACTIVE);
            active.count() as f64 / usual.len() as f64
        };
        let company = watched.company(tenants.len()).into_iter();
        judge.usually_active = company.map(|other| (other, active(other))).collect();
        let kept = || watched.slowest.iter().chain(usual);
        judge.far = kept()
            .filter(|kept| judge.is_far(kept))
            .map(|kept| (kept.frame.sequence, kept))
            .collect();
        judge.asked = incidents(&watched.slowest)
            .iter()
            .filter(|incident| judge.is_far(incident[0]))
            .filter_map(|incident| match judge.story(incident) {
                Story::Work(root) => Some(root),
                _ => None,
            })
            .collect();
        Some(judge)
    }

    /// Share of the first stretch of a frame's service in which another tenant was at work. After it, a slow frame
    /// overlaps more just because it is longer; hardly any frame is shorter than that stretch.
    fn active(&self, kept: &Kept, other: usize) -> f64 {
        let window = Span {
            started: kept.frame.started,
            finished: kept.frame.started + self.first_stretch,
        };
        let spans = self.watched.beside(kept, other).unwrap_or_default();
        let busy: i64 = spans
            .iter()
            .map(|span| {
                (span.finished.min(window.finished) - span.started.max(window.started))
                    .0
                    .max(0)
            })
            .fold(0, i64::saturating_add);
        (busy as f64 / (window.finished - window.started).0 as f64).min(1.0)
    }

    /// When this tenant was slow without overlapping another.
    fn slow_without(&self, other: usize) -> Vec<Span> {
        let alone = self
            .far
            .values()
            .filter(|kept| self.watched.beside(kept, other).is_none_or(<[Span]>::is_empty));
        alone.map(|kept| Span::of(&kept.frame)).collect()
    }

    /// Whether a circumstance was there and could have caused the slowdown. A co-runner is not the cause if frames
    /// next to this one that did not overlap it were slow too, or if it was slow itself just before or after without
    /// overlapping this tenant: then the cause does not need both of them.
    fn is_to_blame(&self, circumstance: Circumstance, kept: &Kept) -> Option<bool> {
        let is = self.is(circumstance, kept)?;
        let other = match circumstance {
            Circumstance::Active(other) => other,
            Circumstance::Throttled | Circumstance::LowClock => {
                return (self.grown(&kept.frame).name != Stage::Acquire.name()).then_some(is);
            }
            Circumstance::LargeInput => return Some(is),
        };
        let calm = |next: &dyn Fn(u64) -> Option<u64>| {
            let mut sequence = kept.frame.sequence;
            while let Some(neighbour) = next(sequence) {
                match self.far.get(&neighbour) {
                    None => break,
                    Some(slow) if self.watched.beside(slow, other).is_none_or(<[Span]>::is_empty) => {
                        return false;
                    }
                    Some(_) => sequence = neighbour,
                }
            }
            true
        };
        let reach = self.p50.max(self.tenants[other].work) * NEXT_TO;
        let (own, slow_alone) = (Span::of(&kept.frame), self.slow_alone.get(&other));
        let both_slow = slow_alone.is_some_and(|spans| {
            let near =
                |span: &&Span| own.finished + reach > span.started && span.finished + reach > own.started;
            spans.iter().any(|span| near(&span) && !span.meets(own))
        });
        Some(
            is && !both_slow
                && calm(&|sequence| sequence.checked_sub(1))
                && calm(&|sequence| sequence.checked_add(1)),
        )
    }

    fn is(&self, circumstance: Circumstance, kept: &Kept) -> Option<bool> {
        match circumstance {
            Circumstance::Throttled => self.machine.throttled(kept.frame.started),
            Circumstance::LowClock => {
                let clock = self.machine.clock(kept.frame.started)?;
                Some(clock < self.clock? * LOW_CLOCK)
            }
            Circumstance::LargeInput => {
                let large = f64::from(self.input) * LARGE_INPUT;
                (self.input > 0).then(|| f64::from(kept.frame.input_size) >= large)
            }
            Circumstance::Active(other) => Some(self.active(kept, other) >= ACTIVE),
        }
    }

    fn is_far(&self, kept: &Kept) -> bool {
        self.fence.is_some_and(|fence| kept.frame.response() > fence)
    }

    /// What an incident's own timestamps show.
    fn story<'k>(&self, incident: &[&'k Kept]) -> Story<'k> {
        let slowest = incident[0];
        let parts = parts(&slowest.frame);
        let grew = self.grown(&slowest.frame).name;
        let more = (slowest.frame.response() - self.p50).0 as f64;
        let explains = |part: usize| (parts[part] - self.parts[part]).0 as f64 >= more * EXPLAINS;
        if grew == NAMES[LATENESS] && explains(LATENESS) {
            return Story::Late;
        }
        if grew != NAMES[WAIT] || !explains(WAIT) {
            return Story::Work(slowest);
        }
        let Some(behind) = slowest.behind else {
            return Story::Waited;
        };
        let more = (behind.service - self.service).0 as f64;
        if (behind.service.0 as f64) < self.service.0 as f64 * HELD_UP
            || more < parts[WAIT].0 as f64 * HELD_UP_PART
        {
            return Story::Line(behind);
        }
        let root = incident
            .iter()
            .find(|kept| kept.frame.sequence == behind.sequence);
        root.map_or(Story::HeldUp(behind), |root| Story::Work(root))
    }

    /// The part of a frame's response that exceeds its median most.
    fn grown(&self, frame: &FrameRecord) -> SlowPart {
        let grown = parts(frame)
            .into_iter()
            .zip(&self.parts)
            .zip(NAMES)
            .max_by_key(|((part, usual), _)| (*part - **usual).0);
        let ((part, usual), name) = grown.unwrap_or(((Nanos::ZERO, &Nanos::ZERO), NAMES[WAIT]));
        SlowPart {
            name,
            ms: part.as_millis_f64(),
            usual_ms: usual.as_millis_f64(),
        }
    }
}

/// What the timestamps of an incident's frames show.
#[derive(Clone, Copy)]
enum Story<'a> {
    /// It was released late.
    Late,
    /// It waited, but the frame that it waited for is unknown.
    Waited,
    /// It waited in a queue that no single frame held up.
    Line(Behind),
    /// It waited for one slow frame, which was not kept.
    HeldUp(Behind),
    /// This frame's own work was slow; it is the slowest itself, or the one that it waited for.
    Work(&'a Kept),
}

/// Groups frames that waited for one another into incidents: within an incident the slowest frame comes first, and the
/// incident with the slowest frame comes first.
fn incidents(slowest: &[Kept]) -> Vec<Vec<&Kept>> {
    let mut all: Vec<&Kept> = slowest.iter().collect();
    all.sort_by_key(|kept| (std::cmp::Reverse(kept.frame.response()), kept.frame.sequence));
    let mut incidents: Vec<Vec<&Kept>> = Vec::new();
    for kept in all {
        match incidents
            .iter_mut()
            .find(|incident| incident[0].head == kept.head)
        {
            Some(incident) => incident.push(kept),
            None => incidents.push(vec![kept]),
        }
    }
    incidents
}

/// The median of a figure over frames.
fn middle_of(frames: &[Kept], value: impl Fn(&FrameRecord) -> i64) -> Option<i64> {
    value_at(frames, 0.5, value)
}

/// The quantile that this share of frames does not reach.
fn value_at(frames: &[Kept], share: f64, value: impl Fn(&FrameRecord) -> i64) -> Option<i64> {
    let mut values: Vec<i64> = frames.iter().map(|kept| value(&kept.frame)).collect();
    let place = (values.len() as f64 * share) as usize;
    (!values.is_empty()).then(|| *values.select_nth_unstable(place).1)
}

/// The parts of a frame's response, as in the waterfall; a part that did not occur took no time.
fn parts(frame: &FrameRecord) -> [Nanos; PARTS] {
    waterfall::parts_of(frame).map(|part| Nanos(part.unwrap_or(0)))
}

#[cfg(test)]
mod tests;
