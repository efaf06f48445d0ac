//! What is told of an incident: its figures, its cause, and the sentence that explains it.

use super::suspects::{Circumstance, Suspect};
use super::{Judge, Story, incidents, parts};
use crate::analysis::gathering::watch::{Behind, Kept};
use crate::analysis::stats::six_decimals;
use crate::analysis::summary::{ActiveCoRunner, SlowFrame, SlowPart};
use crate::analysis::topics::latency::waterfall::{NAMES, UNATTRIBUTED_NAME, WAIT};
use crate::units::{Nanos, Stamp};

/// Incidents reported per tenant.
const MOST_TOLD: usize = 8;

/// A queue is due to slow work, and not to many frames, from this multiple of the usual service time.
const SLOW_SPELL: f64 = 1.25;

impl Judge<'_> {
    pub(super) fn told(&self, zero: Stamp) -> Vec<SlowFrame> {
        incidents(&self.watched.slowest)
            .iter()
            .take(MOST_TOLD)
            .map(|incident| self.tell(incident, zero))
            .collect()
    }

    pub(super) fn tell(&self, incident: &[&Kept], zero: Stamp) -> SlowFrame {
        let slowest = incident[0];
        let frame = &slowest.frame;
        let grown = self.grown(frame);
        let story = self.story(incident);
        let root = match story {
            Story::Work(root) => root,
            _ => slowest,
        };
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
            (true, _) => self.cause(slowest, story, &grown),
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
        // Those that it was looked at beside: of many tenants, not all.
        let others = self
            .usually_active
            .iter()
            .filter(|(other, _)| **other != self.number);
        others
            .filter_map(|(other, usually)| {
                Some(ActiveCoRunner {
                    tenant: self.tenants.get(*other)?.name.clone(),
                    active: six_decimals(self.active(kept, *other)),
                    usually: six_decimals(*usually),
                })
            })
            .collect()
    }

    /// The cause and a sentence about it; for a frame that waited, those of the frame that it waited for.
    fn cause(&self, slowest: &Kept, story: Story<'_>, grown: &SlowPart) -> (Option<&'static str>, String) {
        let waited = parts(&slowest.frame)[WAIT];
        let held_up = |behind: Behind| {
            format!(
                "It waited {waited} behind frame {}, which took {} instead of {}",
                behind.sequence, behind.service, self.service
            )
        };
        match story {
            Story::Late => {
                let late = slowest.frame.lateness;
                let text = format!(
                    "Its release came {late} late: the host's timer or scheduler held it up, not its work."
                );
                (Some("late-release"), text)
            }
            Story::Waited => (
                None,
                format!("It waited {waited} before its work began; the cause is unknown."),
            ),
            Story::Line(behind) => self.line(waited, behind),
            Story::HeldUp(behind) => (
                Some("waited"),
                held_up(behind) + "; the details of that frame were not kept.",
            ),
            Story::Work(root) if root.frame.sequence != slowest.frame.sequence => {
                let behind = slowest.behind.map_or_else(String::new, held_up);
                match self.suspect(root) {
                    Some(suspect) => self.because(&behind, suspect, root),
                    None => {
                        let grew = self.grown(&root.frame).name;
                        (
                            Some("waited"),
                            format!("{behind}, mostly in {grew}; the cause is unknown."),
                        )
                    }
                }
            }
            Story::Work(root) => {
                let what = in_words(grown);
                match self.suspect(root) {
                    Some(suspect) => self.because(&what, suspect, root),
                    None => (
                        None,
                        format!("{what}; nothing else that was measured was unusual."),
                    ),
                }
            }
        }
    }

    /// A frame that waited for many frames, not for a single one.
    pub(super) fn line(&self, waited: Nanos, behind: Behind) -> (Option<&'static str>, String) {
        let mean = Nanos(behind.work.0 / behind.frames.max(1) as i64);
        let text = format!(
            "It waited {waited} in a queue of {} without a gap",
            frames(behind.frames)
        );
        if mean.0 as f64 >= self.service.0 as f64 * SLOW_SPELL {
            let text = format!(
                "{text}, which took {mean} each instead of {}; the cause is unknown.",
                self.service
            );
            return (Some("waited"), text);
        }
        let text = format!(
            "{text}: frames arrived faster than they were served. They took {mean} each (usually {}), the longest \
             {}.",
            self.service, behind.service
        );
        (Some("backlog"), text)
    }

    fn suspect(&self, kept: &Kept) -> Option<&Suspect> {
        let mut there = self.suspects.iter();
        there.find(|suspect| self.is_to_blame(suspect.circumstance, kept) == Some(true))
    }

    /// The cause, and the sentence that names it. The sentence says what was there at the same time, and how often
    /// that is so.
    fn because(&self, what: &str, suspect: &Suspect, kept: &Kept) -> (Option<&'static str>, String) {
        let how_often = format!(
            "as in {} of {} slow incidents and {} of usual frames",
            suspect.incidents,
            suspect.of,
            share_in_words(suspect.usually)
        );
        let there = match suspect.circumstance {
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
                format!("{name} was in service when it started, {how_often}")
            }
        };
        if suspect.locked {
            let text = format!(
                "{what}; {there}. Their releases have a rhythm in common, so any cause with the same period looks the same: give \
                 them rates that are no multiples, or release one at random (`Poisson`), to tell them apart."
            );
            return (Some("locked"), text);
        }
        (
            Some(cause_name(suspect.circumstance)),
            format!("{what}: {there}."),
        )
    }
}

fn frames(count: u64) -> String {
    match count {
        1 => "1 frame".to_owned(),
        count => format!("{count} frames"),
    }
}

pub(super) fn share_in_words(share: f64) -> String {
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

/// The duration of a part compared with its usual one, in words.
fn in_words(part: &SlowPart) -> String {
    let ms = |ms: f64| Nanos((ms * 1e6) as i64);
    let name = match part.name {
        UNATTRIBUTED_NAME => "The time in no stage".to_owned(),
        stage => {
            let mut letters = stage.chars();
            letters.next().map_or_else(String::new, |first| {
                first.to_uppercase().collect::<String>() + letters.as_str()
            })
        }
    };
    format!("{name} took {} instead of {}", ms(part.ms), ms(part.usual_ms))
}
