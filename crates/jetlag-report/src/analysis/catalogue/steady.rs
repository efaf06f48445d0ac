//! Findings about response times that were not steady: they had not settled, drifted or changed their level.

use std::borrow::Cow;

use serde::Serialize;

use super::fields;
use crate::analysis::code::Code;
use crate::analysis::summary::{Shift, Wander};
use crate::units::Nanos;

/// Something that changed a tenant's response times while it was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(in super::super) enum SteadyLimit {
    /// The warm-up was too short.
    NotSettled {
        after_s: f64,
        /// Before over after, less one.
        change: f64,
        /// The scenario's; none where there was no scenario that could set another.
        #[serde(rename = "warmup_s", serialize_with = "fields::seconds_if_any")]
        warmup: Option<Nanos>,
    },
    /// They rose or fell all along; by which share.
    Drift { change: f64 },
    /// They changed their level.
    Shift {
        #[serde(flatten)]
        largest: Shift,
        /// How many changes there were.
        shifts: usize,
    },
    /// They differ from second to second by more than within one.
    Wanders {
        #[serde(flatten)]
        wander: Wander,
        /// Whether the host's launches take as long as its work on a device.
        host_bound: bool,
    },
}

impl SteadyLimit {
    pub(super) fn code(&self) -> Code {
        match self {
            SteadyLimit::NotSettled { .. } => Code::NotSettled,
            SteadyLimit::Drift { .. } => Code::Drift,
            SteadyLimit::Shift { .. } => Code::LatencyShift,
            SteadyLimit::Wanders { .. } => Code::Wanders,
        }
    }

    pub(super) fn message(&self, name: &str) -> String {
        match self {
            SteadyLimit::NotSettled {
                after_s,
                change,
                warmup,
            } => {
                let way = if *change > 0.0 { "slower" } else { "faster" };
                let by_then = match warmup {
                    Some(_) => " when the warm-up ended",
                    None => "",
                };
                format!(
                    "{name}: the first {after_s:.1} s of the measured time were {:.0} % {way} than the rest: it had not \
                     settled{by_then}.",
                    change.abs() * 100.0
                )
            }
            SteadyLimit::Drift { change } => {
                let way = if *change > 0.0 { "rose" } else { "fell" };
                format!(
                    "{name}: its response time {way} by {:.0} % from start to end; the quantiles depend on the duration.",
                    change.abs() * 100.0
                )
            }
            SteadyLimit::Shift { largest, shifts } => {
                let states = match shifts {
                    1 => "two states".to_owned(),
                    n => format!("{} states", n + 1),
                };
                let way = match largest.after_ms > largest.before_ms {
                    true => "slower",
                    false => "faster",
                };
                format!(
                    "{name} became {way} after {:.1} s: its median went from {:.2} to {:.2} ms{}; its quantiles are of {states} together.",
                    largest.at_s,
                    largest.before_ms,
                    largest.after_ms,
                    at_the_same_time(largest)
                )
            }
            SteadyLimit::Wanders { wander, .. } => {
                let slots = match wander.slot_s {
                    1.0 => "single seconds".to_owned(),
                    seconds => format!("{seconds:.0} s each"),
                };
                let with = match &wander.with {
                    Some(with) => format!(", together with {} ({})", with.signal, with.kind),
                    None => String::new(),
                };
                let trend = match wander.last_ms / wander.first_ms - 1.0 {
                    change if change.abs() > wander.between => format!(
                        ", and not about one level: {:.2} ms in the first quarter of the run, {:.2} ms in the last",
                        wander.first_ms, wander.last_ms
                    ),
                    _ => String::new(),
                };
                format!(
                    "{name}: the machine's speed wanders: medians of {slots} lie between {:.2} and {:.2} ms (four in \
                     five){with}{trend}. This, and not the number of frames, decides how wide the intervals are.",
                    wander.low_ms, wander.high_ms
                )
            }
        }
    }

    pub(super) fn advice(&self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            SteadyLimit::NotSettled { warmup: None, .. } => {
                "Leave more batches out at the start: `jetlag trace -w N` leaves out N of each process."
            }
            SteadyLimit::NotSettled {
                after_s,
                warmup: Some(warmup),
                ..
            } => {
                let enough = (warmup.as_secs_f64() + after_s).ceil();
                return format!("Warm up for longer (`--set warmup={enough}s`).").into();
            }
            SteadyLimit::Drift { .. } => {
                "Run until response times are stable, and check clocks and temperatures: a machine that heats up \
                 slows down."
            }
            SteadyLimit::Wanders { wander, host_bound } => match wander.with.as_ref().map(|with| with.kind) {
                Some("clock") => {
                    "Hold the clocks (`clocks: Max`), and compare in turns: `baseline: (alone: true)`."
                }
                Some(_) => {
                    "Let the machine warm up or cool it, and compare in turns: `baseline: (alone: true)`."
                }
                None if *host_bound => {
                    "The host's launches set its time: hold the processors' clocks (`clocks: Max`), pin the tenant (`cpus`), or \
                     launch a frame in one call (`graph: On`)."
                }
                None => {
                    "No sampled signal goes with it. Hold the clocks (`clocks: Max`), pin the tenant (`cpus`), and compare in turns \
                     (`baseline: (alone: true)`), which it does not disturb."
                }
            },
            SteadyLimit::Shift { largest, .. } => match largest.with.first() {
                Some(other) if other.unit == "mhz" => {
                    "Hold the clocks, or reduce what heats the machine, and run again."
                }
                Some(_) => {
                    "Check clocks and throttling: temperature affects response times only through them, and no \
                     change in them was seen."
                }
                None => {
                    "Find out what changed then: other programs, the content of the input, or clocks that were not \
                     sampled."
                }
            },
        })
    }
}

fn at_the_same_time(shift: &Shift) -> String {
    match shift.with.first() {
        Some(other) if other.unit == "mhz" => format!(
            ", and at the same time {} went from {:.0} to {:.0} MHz",
            other.signal, other.before, other.after
        ),
        Some(other) => format!(
            ", and at the same time {} went from {:.1} to {:.1} °C",
            other.signal, other.before, other.after
        ),
        None => String::new(),
    }
}
