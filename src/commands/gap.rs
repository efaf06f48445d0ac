//! What a command could not have of what it was asked for, as facts, and the finding that each becomes: its code, message and
//! advice are made here.

use crate::record::Finding;
use crate::units::Bytes;

/// Something that is missing in what a command shows or records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gap {
    /// Idle power was to be measured in simulated time.
    NoIdlePower,
    /// A run file that is replayed was cut off.
    CutFile { read: Bytes, total: Bytes },
}

impl From<Gap> for Finding {
    fn from(gap: Gap) -> Finding {
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
        };
        Finding {
            code: code.to_owned(),
            tenant: None,
            message,
            advice: advice.to_owned(),
        }
    }
}
