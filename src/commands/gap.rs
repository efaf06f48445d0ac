//! What a command could not have of what it was asked for, as facts, and the finding that each becomes: its code, message and
//! advice are made here.

use crate::record::{DAMAGED_SOURCE, Finding, NOT_TRACED};
use crate::units::Bytes;

/// Something that is missing in what a command shows or records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Gap {
    /// Idle power was to be measured in simulated time.
    NoIdlePower,
    /// A run file that is replayed was cut off.
    CutFile { read: Bytes, total: Bytes },
    /// A phase was to be traced.
    NotTraced { problem: String },
    /// A recording lacked something when a tenant opened it.
    DamagedSource { tenant: String, losses: Vec<String> },
}

impl From<Gap> for Finding {
    fn from(gap: Gap) -> Finding {
        let tenant = match &gap {
            Gap::DamagedSource { tenant, .. } => Some(tenant.clone()),
            _ => None,
        };
        let (code, message, advice) = match gap {
            Gap::NoIdlePower => (
                "idle-power-not-measured",
                "`baseline.idle` was requested, but there is no power to measure in simulated time."
                    .to_owned(),
                "Remove `baseline.idle`, or set `clock: Real`.",
            ),
            Gap::CutFile { read, total } => (
                "truncated-file",
                format!("The file was cut off: {read} of {total} could be read."),
                "What came later is missing; copy the file again if you have the original.",
            ),
            Gap::NotTraced { problem } => (
                NOT_TRACED,
                format!("The GPU was to be traced, but was not: {problem}."),
                "`jetlag doctor` says which CUPTI there is and what it needs; all other figures are as they would be.",
            ),
            Gap::DamagedSource { losses, .. } => (
                DAMAGED_SOURCE,
                format!("Its recording is damaged or incomplete: {}.", losses.join("; ")),
                "Its frames are those that could be read; copy the recording again if you have the original.",
            ),
        };
        Finding {
            code: code.to_owned(),
            tenant,
            message,
            advice: advice.to_owned(),
        }
    }
}
