//! Findings about a run as a whole.

use std::borrow::Cow;

use serde::Serialize;

use super::absent;
use super::fields::Length;
use super::words::percent;
use crate::analysis::code::Code;
use crate::analysis::expectation::ExpectationError;
use crate::analysis::figures::Absent;
use crate::record::UnknownWord;

/// Something that limits a run as a whole.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(in super::super) enum RunLimit {
    /// The file was cut short; the reader's sentence on how much it got.
    TruncatedFile { recovered: String },
    /// The scenario has parts that only newer versions of jetlag know: fields, and what stands there.
    NewerScenario {
        /// The version that wrote the file.
        version: String,
        unknown: Vec<UnknownWord>,
    },
    /// Somebody ended it before its time.
    Interrupted(Length),
    /// Other programs took the processors.
    HostBusy {
        /// Their share of the time of all processors, in percent.
        others_percent: f64,
        /// The programs that took most.
        busiest: Vec<BusyProgram>,
        /// Whether every tenant has processors of its own.
        pinned: bool,
    },
    /// jetlag's own cost is a share of what is measured.
    OwnCost {
        own_us: f64,
        /// The tenant with the shortest median response time.
        tenant: String,
        /// Its median response time.
        median_us: f64,
    },
    /// A line of `expect` cannot be read.
    UnreadableExpectation {
        line: String,
        #[serde(skip)]
        error: ExpectationError,
    },
    /// The run has no such figure.
    UndecidedExpectation {
        #[serde(skip)]
        tenant: String,
        line: String,
        #[serde(flatten)]
        lacking: Lacking,
    },
    /// The run does not have this figure of the machine.
    MachineUnknown { line: String, absent: Absent },
}

/// A program that used processors, and how many.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(in super::super) struct BusyProgram {
    pub(in super::super) program: String,
    pub(in super::super) processors: f64,
}

/// What an expectation would have needed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "lacking", rename_all = "kebab-case")]
pub(in super::super) enum Lacking {
    /// Frames: a share this small shows in no fewer.
    Misses { needs: u64, has: u64 },
    /// Each tenant alone, which was not measured.
    Baseline,
    /// Frames of every tenant in each phase.
    Frames,
    /// A slowdown that is withheld, and why.
    Slowdown { why: String },
    /// A figure that this backend and scenario do not have.
    Figure,
    /// A deadline, without which nothing can be missed.
    Deadline,
    /// Releases at times of their own, without which none can be late.
    Schedule,
}

impl RunLimit {
    pub(super) fn code(&self) -> Code {
        match self {
            RunLimit::TruncatedFile { .. } => Code::TruncatedFile,
            RunLimit::NewerScenario { .. } => Code::NewerScenario,
            RunLimit::Interrupted(_) => Code::ShortRun,
            RunLimit::HostBusy { .. } => Code::HostBusy,
            RunLimit::OwnCost { .. } => Code::OwnCost,
            RunLimit::UnreadableExpectation { .. }
            | RunLimit::UndecidedExpectation { .. }
            | RunLimit::MachineUnknown { .. } => Code::ExpectationUndecided,
        }
    }

    pub(super) fn tenant(&self) -> Option<&str> {
        match self {
            RunLimit::UndecidedExpectation { tenant, .. } => Some(tenant),
            _ => None,
        }
    }

    pub(super) fn message(&self) -> String {
        match self {
            RunLimit::TruncatedFile { recovered } => recovered.clone(),
            RunLimit::NewerScenario { version, unknown } => {
                let word = |word: &UnknownWord| format!("`{}` is `{}`", word.field, word.text);
                let told: Vec<String> = unknown.iter().map(word).collect();
                format!(
                    "The file was written by jetlag {version}, and its scenario has what this version does not know: {}. Its frames \
                     are summarised all the same.",
                    told.join("; ")
                )
            }
            RunLimit::Interrupted(Length { measured, planned }) => {
                format!("The run was interrupted after {measured} of {planned}.")
            }
            RunLimit::HostBusy {
                others_percent,
                busiest,
                ..
            } => {
                let named: Vec<String> = busiest
                    .iter()
                    .map(|BusyProgram { program, processors }| format!("{program} {processors:.1}"))
                    .collect();
                let which = match named.is_empty() {
                    true => String::new(),
                    false => format!(" (busiest, in processors: {})", named.join(", ")),
                };
                format!(
                    "Other programs used {others_percent:.0} % of the processors during the run{which}, so frames waited for \
                     processors and these times are longer than the tenants' own."
                )
            }
            RunLimit::OwnCost {
                own_us,
                tenant,
                median_us,
            } => format!(
                "jetlag itself takes {own_us:.1} µs per frame, {} of {tenant}'s median response time.",
                percent(own_us / median_us)
            ),
            RunLimit::UnreadableExpectation { error, .. } => format!("Expectation {error}."),
            RunLimit::UndecidedExpectation {
                tenant,
                line,
                lacking,
            } => {
                let why = match lacking {
                    Lacking::Deadline => format!("{tenant} has no `deadline`, so no frame can miss it"),
                    Lacking::Schedule => format!(
                        "{tenant} runs in a closed loop, in which a frame is released when the tenant is ready and is never \
                         late"
                    ),
                    Lacking::Misses { needs, has } => {
                        format!(
                            "a share this small needs {needs} frames, as they depend on each other, and there are {has}"
                        )
                    }
                    Lacking::Slowdown { why } => why.clone(),
                    Lacking::Baseline | Lacking::Frames | Lacking::Figure => {
                        "the run has no such figure".to_owned()
                    }
                };
                format!("`{line}` cannot be decided: {why}.")
            }
            RunLimit::MachineUnknown { line, absent } => {
                format!("`{line}` cannot be decided: {}.", absent.message())
            }
        }
    }

    pub(super) fn advice(&self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            RunLimit::MachineUnknown { absent, .. } => return absent::advice(absent),
            RunLimit::TruncatedFile { .. } => {
                "The figures cover what was recovered; run again if the rest matters."
            }
            RunLimit::NewerScenario { .. } => "Update jetlag to read the rest.",
            RunLimit::Interrupted(_) => "Let it run to its end, or set a shorter `duration`.",
            RunLimit::HostBusy { pinned: true, .. } => {
                "Stop them, or keep them off the tenants' `cpus`, and run again."
            }
            RunLimit::HostBusy { pinned: false, .. } => "Stop them and run again.",
            RunLimit::OwnCost { .. } => {
                "Subtract it when comparing, and run a release build on an otherwise quiet machine."
            }
            RunLimit::UnreadableExpectation { .. } => "Correct the line in `expect`.",
            RunLimit::UndecidedExpectation { lacking, .. } => match lacking {
                Lacking::Baseline => "Measure each tenant alone, too: `baseline: (alone: true)`.",
                Lacking::Misses { needs, has } if *has > 0 => {
                    return format!("Run {} times as long.", needs.div_ceil(*has)).into();
                }
                Lacking::Misses { .. } => "Run for longer.",
                Lacking::Slowdown { .. } => "The slowdown's own place says what it takes.",
                Lacking::Frames => {
                    "Make sure that every tenant completes frames in each phase: a phase in which one completes \
                     none is not compared."
                }
                Lacking::Figure => "Use a figure that this backend and scenario provide.",
                Lacking::Deadline => {
                    "Give the tenant a `deadline`; if only drops matter, expect `dropped == 0`."
                }
                Lacking::Schedule => {
                    "Release at a rate (`arrival: Periodic(hz: …)`), or expect something of `response`."
                }
            },
        })
    }
}
