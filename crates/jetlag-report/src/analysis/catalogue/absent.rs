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

#[cfg(test)]
mod tests {
    use crate::analysis::figures::key::Kind;

    use super::*;

    #[test]
    fn each_says_what_is_missing_and_what_would_give_it() {
        let names = |count: usize| (0..count).map(|n| format!("r{n}")).collect::<Vec<_>>();
        let values = Absent::Values {
            of: "VDD_IN".to_owned(),
            values: 7,
            every_ms: Some(1_100.0),
        };
        assert_eq!(
            values.message(),
            "a p95 needs 20 values of the sensor, and VDD_IN gave 7"
        );
        assert_eq!(advice(&values), "Set `duration` to at least 22 s.");
        let rail = Absent::Rail {
            name: "VDD".to_owned(),
            rails: names(14),
        };
        assert!(rail.message().ends_with("r11 and 2 more"), "{}", rail.message());
        assert!(advice(&Absent::Power).contains("jetlag doctor"));
        let none = Absent::Sensor {
            kind: Kind::Clock,
            name: "gpu".to_owned(),
            known: Vec::new(),
        };
        assert_eq!(none.message(), "no clock was measured, so not that of `gpu`");
    }
}
