//! What would give a figure of the machine that a run does not have.

use std::borrow::Cow;

use crate::analysis::figures::Absent;
use crate::analysis::summary::P95_VALUES;

/// What to do about it.
pub(super) fn advice(absent: &Absent) -> Cow<'static, str> {
    Cow::Borrowed(match absent {
        Absent::Power | Absent::Sensor { .. } => {
            "`jetlag doctor` shows which sensors this machine has, and which of them need root; then they are sampled in every \
             run."
        }
        Absent::Total { .. } => "Expect something of one rail: `power.RAIL.mean`.",
        Absent::Rail { .. } | Absent::Rails { .. } | Absent::Several { .. } => "Use one of these names.",
        Absent::Values {
            every_ms: Some(every),
            ..
        } => {
            let enough = (P95_VALUES as f64 * every / 1e3).ceil();
            return format!("Set `duration` to at least {enough:.0} s.").into();
        }
        Absent::Values { every_ms: None, .. } => "Set a longer `duration`.",
        Absent::Coverage { .. } => {
            "The log says why the sensor was not read. Sample less often (`telemetry: (interval: …)`), or free a processor."
        }
        Absent::Idle => "Ask for it: `baseline: (idle: \"3s\")`.",
        Absent::Nothing | Absent::Withheld(_) => "Use a figure that this run has.",
        Absent::Frames(_) => "Set a longer `duration`.",
        Absent::Tenant(_) => {
            "`jetlag doctor` shows which sensors this machine has, and which of them need root."
        }
    })
}
