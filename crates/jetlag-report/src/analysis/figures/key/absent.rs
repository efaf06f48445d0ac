//! Why a run does not have a figure, as a fact and as a sentence. `limit` says what would give it.

use super::Kind;
use jetlag_figure::{Known, number::percent};
use serde::{Serialize, Serializer};

use crate::analysis::gathering::lack::Lack;
use crate::analysis::summary::P95_VALUES;

/// Why a run does not have a figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Absent {
    /// Nothing measured it, or it does not apply.
    Nothing,
    /// There are too few frames.
    Frames(u64),
    /// It is withheld, for a reason of its own.
    Withheld(String),
    /// No power was measured.
    Power,
    /// These rails were, and nothing says which of them are the total.
    Total { rails: Vec<String> },
    /// No rail has this name.
    Rail { name: String, rails: Vec<String> },
    /// Several have it, with what tells them apart.
    Rails { name: String, rails: Vec<String> },
    /// No sensor has this name.
    Sensor {
        #[serde(serialize_with = "by_name")]
        kind: Kind,
        name: String,
        known: Vec<String>,
    },
    /// Several have it, of which only the lowest and the highest value can be told together.
    Several { name: String, sensors: Vec<String> },
    /// Too few values for a p95.
    Values {
        of: String,
        values: u64,
        /// How often there is one, if that is known.
        every_ms: Option<f64>,
    },
    /// It was measured for this share of the time, and the line would hold in that.
    Coverage { of: String, share: f64 },
    /// Power was not measured in the idle baseline.
    Idle,
    /// Nothing that this tenant ran on was measured, or it completed no frame.
    Tenant(String),
}

fn by_name<S: Serializer>(kind: &Kind, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_str(kind.name())
}

/// Names that a sentence lists; of more it tells how many.
const NAMED: usize = 12;

impl Absent {
    /// What frames lack.
    pub(in crate::analysis) fn of_frames(lack: Option<Lack>) -> Absent {
        match lack {
            None => Absent::Nothing,
            Some(Lack::Frames(needs)) => Absent::Frames(needs),
            Some(Lack::Spells(seen)) => Absent::Withheld(format!(
                "the run is too short for its states: the rarer one came {seen} times"
            )),
            Some(Lack::Wanders) => {
                Absent::Withheld("the machine wanders more slowly than the run is long".to_owned())
            }
        }
    }

    /// Why it is not there, to follow a colon.
    pub(in crate::analysis) fn message(&self) -> String {
        match self {
            Absent::Nothing => "the run has no such figure".to_owned(),
            Absent::Frames(needs) => format!("it needs {needs} frames"),
            Absent::Withheld(reason) => reason.clone(),
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
                format!("no {} was measured, so not that of `{name}`", kind.name())
            }
            Absent::Sensor { kind, name, known } => format!(
                "there is no {} `{name}`; those that were measured are {}",
                kind.name(),
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

    /// What a figure says of it.
    pub(in crate::analysis::figures) fn known(&self) -> Known {
        match self {
            Absent::Nothing | Absent::Power => Known::NotMeasured,
            Absent::Frames(needs) => Known::Needs(*needs),
            withheld => Known::Withheld(withheld.message()),
        }
    }
}

fn listed(names: &[String]) -> String {
    let shown = names.get(..NAMED).unwrap_or(names).join(", ");
    match names.len().saturating_sub(NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
