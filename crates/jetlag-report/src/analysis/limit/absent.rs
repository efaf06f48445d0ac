//! What to say of a figure of the machine that a run does not have, and what would give it.

use std::borrow::Cow;

use super::super::machine::{Absent, Kind};
use super::super::summary::P95_VALUES;
use super::words::percent;

/// Names that a sentence lists; of more it tells how many.
const NAMED: usize = 12;

/// Why it is not there, to follow a colon.
pub(in super::super) fn message(absent: &Absent) -> String {
    match absent {
        Absent::Power => "no power was measured, so this run has no total and no rail".to_owned(),
        Absent::Total { rails } => format!(
            "there is no total on this machine: it is unknown which of its rails ({}) add up to it",
            listed(rails)
        ),
        Absent::Rail { name, rails } => format!(
            "there is no rail `{name}`; the rails that were measured are {}",
            listed(rails)
        ),
        Absent::Sensor { kind, name, known } if known.is_empty() => {
            format!("no {} was measured, so not that of `{name}`", noun(*kind))
        }
        Absent::Sensor { kind, name, known } => format!(
            "there is no {} `{name}`; those that were measured are {}",
            noun(*kind),
            listed(known)
        ),
        Absent::Rails { name, rails } => {
            format!("`{name}` names {} rails here ({})", rails.len(), listed(rails))
        }
        Absent::Several { name, sensors } => format!(
            "`{name}` is several here ({}), of which only the lowest and the highest value can be told together",
            listed(sensors)
        ),
        Absent::Values { of, values, .. } => {
            format!("a p95 needs {P95_VALUES} values of the sensor, and {of} gave {values}")
        }
        Absent::Coverage { of, share } => format!(
            "it would hold in the time in which {of} was measured, but that is {} of the run",
            percent(*share)
        ),
        Absent::Idle => "idle power was not measured".to_owned(),
        Absent::Tenant(name) => {
            format!("nothing that feeds what {name} ran on was measured, or it completed no frame")
        }
    }
}

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
        Absent::Tenant(_) => {
            "`jetlag doctor` shows which sensors this machine has, and which of them need root."
        }
    })
}

fn noun(kind: Kind) -> &'static str {
    match kind {
        Kind::Temperature => "temperature",
        Kind::Clock => "clock",
    }
}

fn listed(names: &[String]) -> String {
    let shown = names.get(..NAMED).unwrap_or(names).join(", ");
    match names.len().saturating_sub(NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
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
            message(&values),
            "a p95 needs 20 values of the sensor, and VDD_IN gave 7"
        );
        assert_eq!(advice(&values), "Set `duration` to at least 22 s.");
        let rail = Absent::Rail {
            name: "VDD".to_owned(),
            rails: names(14),
        };
        assert!(message(&rail).ends_with("r11 and 2 more"), "{}", message(&rail));
        assert!(advice(&Absent::Power).contains("jetlag doctor"));
        let none = Absent::Sensor {
            kind: Kind::Clock,
            name: "gpu".to_owned(),
            known: Vec::new(),
        };
        assert_eq!(message(&none), "no clock was measured, so not that of `gpu`");
    }
}
