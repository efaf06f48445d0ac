//! Why the slowest frames of a tenant were slow: what was different while they ran, and which of it is the likely
//! cause, or that none stands out.
//!
//! The slow frames that `watch` kept are first gathered into incidents: frames that waited for the same one are one
//! incident. Then each is held against the tenant's usual frames. A circumstance (a throttled GPU, a lower clock, a
//! busy co-runner, a larger input) is named as the cause only where it was there during slow frames far more often
//! than chance would have it, judged over all incidents together: that a co-runner was busy during one slow frame says
//! nothing where it is busy a third of the time. Levels and limits are in docs/measurement.md.

mod machine;

use super::binomial::Binomial;
use super::stats::six_decimals;
use super::summary::{ActiveCoRunner, SlowFrame, SlowPart, TenantSummary};
use super::track::Tracks;
use super::watch::{Kept, Span, Watched};
use super::waterfall::{self, LATENESS, NAMES, PARTS, WAIT};
use crate::record::FrameRecord;
use crate::units::{Nanos, Stamp};
use machine::Machine;

/// Incidents told of a tenant.
const MOST_TOLD: usize = 8;
/// A frame is slow beyond its tenant's usual spread if it took longer than p50 + 4 · (p90 − p50) …
const FENCE: i64 = 4;
/// … and at least this much of the median.
const FENCE_SHARE: f64 = 1.25;
/// Usual frames without which nothing can be called unusual.
const LEAST_USUAL: usize = 50;
/// Chance of naming a throttled or slower GPU that had nothing to do with it, over all incidents of a tenant.
const LEVEL_OF_CLOCKS: f64 = 0.05;
/// The same of an input or a co-runner, divided by how many of these there are.
const LEVEL_OF_OTHERS: f64 = 0.01;
/// An input is large from this multiple of the usual on.
const LARGE_INPUT: f64 = 1.25;
/// A co-runner is active if it was in service for this share of the time that the frame would usually have taken.
const ACTIVE: f64 = 0.5;
/// A clock is low below this share of the usual.
const LOW_CLOCK: f64 = 0.95;
/// A frame held up others if its service took this multiple of the usual.
const HELD_UP: f64 = 2.0;

/// What is known of a tenant besides the frames that were kept.
struct Tenant {
    name: String,
    /// Of the response time.
    p50: Option<Nanos>,
    p90: Option<Nanos>,
}

/// Tells each tenant's slowest frames, for a run that was measured in `window`.
pub(super) fn explain(
    watched: &[Watched],
    summaries: &mut [TenantSummary],
    tracks: &Tracks,
    window: Option<(Stamp, Stamp)>,
) {
    let Some((zero, _)) = window else { return };
    let machine = Machine::new(tracks);
    let nanos = |ms: Option<f64>| ms.map(|ms| Nanos((ms * 1e6).round() as i64));
    let tenants: Vec<Tenant> = summaries
        .iter()
        .map(|tenant| Tenant {
            name: tenant.name.clone(),
            p50: nanos(tenant.response_ms.p50),
            p90: nanos(tenant.response_ms.p90),
        })
        .collect();
    for (number, (watched, summary)) in watched.iter().zip(summaries).enumerate() {
        if let Some(judge) = Judge::new(number, watched, &tenants, &machine) {
            summary.slowest = judge.told(watched, zero);
        }
    }
}

/// What a circumstance is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Circumstance {
    Throttled,
    LowClock,
    LargeInput,
    Active(usize),
}

/// A circumstance that was there during slow frames more often than chance has it.
#[derive(Clone, Copy, Debug)]
struct Suspect {
    circumstance: Circumstance,
    /// Incidents with it, those of which it is known, and the share of usual frames with it.
    incidents: usize,
    of: usize,
    usually: f64,
    chance: f64,
}

/// A tenant's usual frames, and what is held against them.
struct Judge<'a> {
    number: usize,
    tenants: &'a [Tenant],
    machine: &'a Machine<'a>,
    p50: Nanos,
    /// Slower than this is beyond the usual spread.
    fence: Option<Nanos>,
    /// Medians of the usual frames' parts, of their service, inputs and clocks.
    parts: Vec<Nanos>,
    service: Nanos,
    input: u32,
    clock: Option<f64>,
    /// Share of usual frames during which each tenant was active.
    usually_active: Vec<f64>,
    suspects: Vec<Suspect>,
}

impl<'a> Judge<'a> {
    fn new(
        number: usize,
        watched: &Watched,
        tenants: &'a [Tenant],
        machine: &'a Machine<'a>,
    ) -> Option<Self> {
        let tenant = tenants.get(number)?;
        let usual = &watched.usual;
        let middle_of = |value: &dyn Fn(&FrameRecord) -> i64| {
            let mut values: Vec<i64> = usual.iter().map(|kept| value(&kept.frame)).collect();
            let middle = values.len() / 2;
            (!values.is_empty()).then(|| *values.select_nth_unstable(middle).1)
        };
        let p50 = match tenant.p50 {
            Some(p50) => p50,
            None => Nanos(middle_of(&|frame| frame.response().0)?),
        };
        let fence = tenant.p90.filter(|_| usual.len() >= LEAST_USUAL).map(|p90| {
            let least = Nanos((p50.0 as f64 * FENCE_SHARE) as i64);
            (p50 + (p90 - p50) * FENCE).max(least)
        });
        let parts = (0..PARTS)
            .map(|part| middle_of(&|frame| parts(frame)[part].0).map_or(Nanos::ZERO, Nanos))
            .collect();
        let mut clocks: Vec<f64> = usual
            .iter()
            .filter_map(|kept| machine.clock(kept.frame.started))
            .collect();
        let mut judge = Judge {
            number,
            tenants,
            machine,
            p50,
            fence,
            parts,
            service: Nanos(middle_of(&|frame| frame.service().0)?),
            input: middle_of(&|frame| i64::from(frame.input_size))? as u32,
            clock: super::changepoint::median(&mut clocks),
            usually_active: Vec::new(),
            suspects: Vec::new(),
        };
        judge.usually_active = (0..tenants.len())
            .map(|other| {
                let active = usual
                    .iter()
                    .filter(|kept| judge.active(kept, other) >= ACTIVE)
                    .count();
                active as f64 / usual.len() as f64
            })
            .collect();
        judge.suspects = judge.suspects(watched);
        Some(judge)
    }

    /// Share of the time that a frame would usually have taken in which another tenant was in service. A slow frame
    /// meets more of the others' frames only because it is longer: that is no cause, and the rest of it does not count.
    fn active(&self, kept: &Kept, other: usize) -> f64 {
        let window = Span {
            started: kept.frame.started,
            finished: kept.frame.started + self.service.max(Nanos(1)),
        };
        let spans = kept.beside.get(other).map_or(&[][..], Vec::as_slice);
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

    /// The circumstances that incidents have in common beyond chance, the least likely first.
    fn suspects(&self, watched: &Watched) -> Vec<Suspect> {
        let incidents: Vec<Vec<&Kept>> = incidents(&watched.slowest)
            .into_iter()
            .filter(|incident| self.is_far(incident[0]))
            .collect();
        let others = (0..self.tenants.len()).filter(|other| *other != self.number);
        let all: Vec<Circumstance> = [
            Circumstance::Throttled,
            Circumstance::LowClock,
            Circumstance::LargeInput,
        ]
        .into_iter()
        .chain(others.map(Circumstance::Active))
        .collect();
        let tested = all.len() as f64 - 2.0;
        let mut suspects: Vec<Suspect> = all
            .into_iter()
            .filter_map(|circumstance| {
                let usual = watched.usual.iter().filter(|kept| !self.is_far(kept));
                let known: Vec<bool> = usual.filter_map(|kept| self.is(circumstance, kept)).collect();
                let with = known.iter().filter(|is| **is).count();
                // One more than was seen: what did not occur in a sample is not impossible.
                let usually = (with as f64 + 1.0) / (known.len() as f64 + 2.0);
                let roots = incidents.iter().map(|incident| root(incident, self.service));
                let told: Vec<bool> = roots.filter_map(|kept| self.is(circumstance, kept)).collect();
                let met = told.iter().filter(|is| **is).count();
                let level = match circumstance {
                    Circumstance::Throttled | Circumstance::LowClock => LEVEL_OF_CLOCKS,
                    _ => LEVEL_OF_OTHERS / tested,
                };
                let chance = 1.0 - Binomial::new(told.len() as u64, usually).below(met as u64);
                (met > 0 && known.len() >= LEAST_USUAL && chance <= level).then_some(Suspect {
                    circumstance,
                    incidents: met,
                    of: told.len(),
                    usually: with as f64 / known.len() as f64,
                    chance,
                })
            })
            .collect();
        suspects.sort_by(|a, b| a.chance.total_cmp(&b.chance));
        suspects
    }

    fn told(&self, watched: &Watched, zero: Stamp) -> Vec<SlowFrame> {
        incidents(&watched.slowest)
            .iter()
            .take(MOST_TOLD)
            .map(|incident| self.tell(incident, zero))
            .collect()
    }

    fn tell(&self, incident: &[&Kept], zero: Stamp) -> SlowFrame {
        let slowest = incident[0];
        let frame = &slowest.frame;
        let grown = self.grown(frame);
        let root = root(incident, self.service);
        let far = self.is_far(slowest);
        let (cause, explanation) = match (far, self.fence) {
            (_, None) => (None, "Too few frames to say what is unusual.".to_owned()),
            (false, _) => (
                None,
                format!(
                    "Within the usual spread: {} where {} is the median.",
                    frame.response(),
                    self.p50
                ),
            ),
            (true, _) => self.cause(slowest, root, &grown),
        };
        let ms = Nanos::as_millis_f64;
        SlowFrame {
            sequence: frame.sequence,
            at_s: (frame.released - zero).as_secs_f64(),
            response_ms: ms(frame.response()),
            usual_response_ms: ms(self.p50),
            beyond_spread: far,
            frames: incident.len() as u64,
            behind: slowest
                .behind
                .filter(|_| grown.name == NAMES[WAIT])
                .map(|behind| behind.sequence),
            lateness_ms: ms(frame.lateness),
            wait_ms: ms(parts(frame)[WAIT]),
            grew: grown,
            input_size: (self.input > 0).then_some(frame.input_size),
            usual_input_size: (self.input > 0).then_some(self.input),
            co_runners: self.co_runners(root),
            clock_mhz: self.machine.clock(root.frame.started),
            usual_clock_mhz: self.clock,
            temperature_c: self.machine.temperature(root.frame.started),
            throttled: self.machine.throttled(root.frame.started),
            cause,
            explanation,
        }
    }

    fn co_runners(&self, kept: &Kept) -> Vec<ActiveCoRunner> {
        let others = self
            .tenants
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != self.number);
        others
            .map(|(other, tenant)| ActiveCoRunner {
                tenant: tenant.name.clone(),
                active: six_decimals(self.active(kept, other)),
                usually: self.usually_active.get(other).copied().map_or(0.0, six_decimals),
            })
            .collect()
    }

    /// The part of a frame's response that grew most against the median of that part.
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

    /// The cause and a sentence on it; of a frame that waited, those of the frame that it waited for.
    fn cause(&self, slowest: &Kept, root: &Kept, grown: &SlowPart) -> (Option<&'static str>, String) {
        if grown.name == NAMES[LATENESS] {
            let late = slowest.frame.lateness;
            return (
                Some("late-release"),
                format!(
                    "Its release came {late} late: the host's timer or scheduler held it up, not its work."
                ),
            );
        }
        if grown.name == NAMES[WAIT] {
            return self.cause_of_waiting(slowest, root);
        }
        let what = in_words(grown);
        match self.suspect(root) {
            Some(suspect) => (
                Some(cause_name(suspect.circumstance)),
                format!("{what}: {}.", self.because(suspect, root)),
            ),
            None => (
                None,
                format!("{what}; nothing else that was measured stands out."),
            ),
        }
    }

    fn cause_of_waiting(&self, slowest: &Kept, root: &Kept) -> (Option<&'static str>, String) {
        let waited = parts(&slowest.frame)[WAIT];
        let Some(behind) = slowest.behind else {
            return (
                None,
                format!("It waited {waited} before its work began; nothing says for what."),
            );
        };
        if (behind.service.0 as f64) < self.service.0 as f64 * HELD_UP {
            let text = format!(
                "It waited {waited}: frames came faster than they were served, and none of those before it was slow \
                 by itself."
            );
            return (Some("backlog"), text);
        }
        let text = format!(
            "It waited {waited} behind frame {}, which took {}",
            behind.sequence, behind.service
        );
        if root.frame.sequence != behind.sequence {
            return (Some("waited"), format!("{text}; that frame was not kept."));
        }
        let grown = self.grown(&root.frame);
        match self.suspect(root) {
            Some(suspect) => (
                Some(cause_name(suspect.circumstance)),
                format!("{text}: {}.", self.because(suspect, root)),
            ),
            None => (
                Some("waited"),
                format!("{text}, mostly in {}; why is not known.", grown.name),
            ),
        }
    }

    fn suspect(&self, kept: &Kept) -> Option<&Suspect> {
        let mut there = self.suspects.iter();
        there.find(|suspect| self.is(suspect.circumstance, kept) == Some(true))
    }

    fn because(&self, suspect: &Suspect, kept: &Kept) -> String {
        let how_often = format!(
            "as in {} of {} slow incidents and {} of usual frames",
            suspect.incidents,
            suspect.of,
            share_in_words(suspect.usually)
        );
        match suspect.circumstance {
            Circumstance::Throttled => format!("the GPU was throttled, {how_often}"),
            Circumstance::LowClock => format!(
                "the GPU's clock was at {:.0} MHz instead of {:.0}, {how_often}",
                self.machine.clock(kept.frame.started).unwrap_or_default(),
                self.clock.unwrap_or_default()
            ),
            Circumstance::LargeInput => format!(
                "its input was {:.1} times the usual ({} instead of {} points or pixels), {how_often}",
                f64::from(kept.frame.input_size) / f64::from(self.input.max(1)),
                kept.frame.input_size,
                self.input
            ),
            Circumstance::Active(other) => {
                let name = self
                    .tenants
                    .get(other)
                    .map_or("another tenant", |tenant| &tenant.name);
                format!("{name} was in service at the same time, {how_often}")
            }
        }
    }
}

fn share_in_words(share: f64) -> String {
    match share * 100.0 {
        0.0 => "none".to_owned(),
        percent if percent < 1.0 => "less than 1 %".to_owned(),
        percent => format!("{percent:.0} %"),
    }
}

fn cause_name(circumstance: Circumstance) -> &'static str {
    match circumstance {
        Circumstance::Throttled => "throttled",
        Circumstance::LowClock => "low-clock",
        Circumstance::LargeInput => "larger-input",
        Circumstance::Active(_) => "co-runner",
    }
}

/// What a part came to against what it usually does.
fn in_words(part: &SlowPart) -> String {
    let ms = |ms: f64| Nanos((ms * 1e6) as i64);
    let name = match part.name {
        "notice" => "The time between its stages".to_owned(),
        stage => {
            let mut letters = stage.chars();
            letters.next().map_or_else(String::new, |first| {
                first.to_uppercase().collect::<String>() + letters.as_str()
            })
        }
    };
    format!("{name} took {} instead of {}", ms(part.ms), ms(part.usual_ms))
}

/// Frames that were slow for the same reason, because they waited for one another, are one incident: its slowest
/// frame first, and the incident with the slowest frame first.
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

/// The frame of an incident that the others waited for, where one did and was kept; else its slowest.
fn root<'a>(incident: &[&'a Kept], usual_service: Nanos) -> &'a Kept {
    let slowest = incident[0];
    let Some(behind) = slowest.behind else {
        return slowest;
    };
    let held_up = behind.service.0 as f64 >= usual_service.0 as f64 * HELD_UP;
    let waited = parts(&slowest.frame)[WAIT] > slowest.frame.service();
    let found = incident
        .iter()
        .find(|kept| kept.frame.sequence == behind.sequence);
    found.filter(|_| held_up && waited).copied().unwrap_or(slowest)
}

/// The parts of a frame's response, as the waterfall has them; what did not occur took no time.
fn parts(frame: &FrameRecord) -> [Nanos; PARTS] {
    waterfall::parts_of(frame).map(|part| Nanos(part.unwrap_or(0)))
}
