//! Findings about the phases that a measurement is compared with.

use serde::Serialize;

use super::words::quoted;
use crate::analysis::code::Code;
use crate::record::EndReason;

/// Phases that a finding names; of more, it tells how many.
const NAMED: usize = 4;

/// What happened to a tenant in a phase.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(in super::super) struct InPhase<T> {
    /// The phase, in words.
    pub(in super::super) phase: String,
    /// What happened in it.
    #[serde(flatten)]
    pub(in super::super) what: T,
}

/// Something that limits what phases say beside each other, of one tenant.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(in super::super) enum PhasesLimit {
    /// Frames were given up or waited.
    Overload { phases: Vec<InPhase<Lost>> },
    /// Frames ended with an error; why the first did.
    Failed {
        phases: Vec<InPhase<Failures>>,
        cause: Option<String>,
    },
    /// Releases were behind schedule.
    LateReleases { phases: Vec<InPhase<Late>> },
    /// It ended before its co-runners; why in the first phase.
    EndedEarly {
        phases: Vec<InPhase<Ended>>,
        reason: Option<EndReason>,
    },
}

/// Frames that an overloaded tenant did not serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(in super::super) enum Lost {
    /// Frames that were dropped under overload.
    Dropped { dropped: u64, offered: u64 },
    /// Still waiting at the end.
    Waiting { waiting: u64 },
}

/// Frames that ended with an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(in super::super) enum Failures {
    /// None but these before the measured time.
    InWarmup { failed_in_warmup: u64 },
    /// In the measured time.
    Measured { failed: u64, offered: u64 },
}

/// Releases that were behind schedule, of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(in super::super) struct Late {
    pub(in super::super) late: u64,
    pub(in super::super) releases: u64,
}

/// When a tenant's part in a phase was over.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(in super::super) struct Ended {
    pub(in super::super) after_s: f64,
}

impl PhasesLimit {
    pub(super) fn code(&self) -> Code {
        match self {
            PhasesLimit::Overload { .. } => Code::PhaseOverload,
            PhasesLimit::Failed { .. } => Code::PhaseFailed,
            PhasesLimit::LateReleases { .. } => Code::PhaseLateReleases,
            PhasesLimit::EndedEarly { .. } => Code::PhaseEndedEarly,
        }
    }

    pub(super) fn message(&self, name: &str) -> String {
        match self {
            PhasesLimit::Overload { phases } => {
                let named = named(phases, |lost| match lost {
                    Lost::Dropped { dropped, offered } => format!("{dropped} of {offered} dropped"),
                    Lost::Waiting { waiting } => format!("{waiting} still waiting at the end"),
                });
                format!(
                    "{name} was overloaded in phases that are compared: {named}; response times there describe only the frames \
                     that were served."
                )
            }
            PhasesLimit::Failed { phases, cause } => {
                let named = named(phases, |failures| match failures {
                    Failures::InWarmup { failed_in_warmup } => format!("{failed_in_warmup} in the warm-up"),
                    Failures::Measured { failed, offered } => format!("{failed} of {offered}"),
                });
                let quoted = quoted("; first error: ", cause.as_deref());
                format!("{name}: frames failed in phases that are compared: {named}{quoted}.")
            }
            PhasesLimit::LateReleases { phases } => {
                let named = named(phases, |Late { late, releases }| format!("{late} of {releases}"));
                format!(
                    "{name}: releases were late in phases that are compared: {named}; response times there include \
                     the delay."
                )
            }
            PhasesLimit::EndedEarly { phases, .. } => {
                let named = named(phases, |Ended { after_s }| format!("after {after_s:.2} s"));
                format!(
                    "{name} ended before its co-runners: {named}. Comparisons between phases use only the time in \
                     which all ran."
                )
            }
        }
    }

    pub(super) fn advice(&self) -> &'static str {
        match self {
            PhasesLimit::Overload { .. } => {
                "Lower the rate, or run a faster detector: a dropped frame has no response time to compare."
            }
            PhasesLimit::Failed { .. } => {
                "`jetlag inspect` shows the whole log; remove the frames that fail, or repair their files."
            }
            PhasesLimit::LateReleases { .. } => {
                "Set `release: Spin`, give the tenant processors of its own (`cpus`), or stop other programs."
            }
            PhasesLimit::EndedEarly { reason, .. } => match reason {
                Some(EndReason::Count) => "Remove its `frames`, or set a shorter `duration`.",
                Some(EndReason::EndOfSource) => {
                    "Set `repeat: true` on its source, give it more frames, or set a shorter `duration`."
                }
                _ => "`jetlag inspect` shows the log, which says why.",
            },
        }
    }
}

/// `camera alone (60 of 300 dropped), camera + lidar (…) and 3 more`.
fn named<T>(phases: &[InPhase<T>], in_words: impl Fn(&T) -> String) -> String {
    let first: Vec<String> = phases
        .iter()
        .take(NAMED)
        .map(|InPhase { phase, what }| format!("{phase} ({})", in_words(what)))
        .collect();
    let more = match phases.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", first.join(", "))
}
