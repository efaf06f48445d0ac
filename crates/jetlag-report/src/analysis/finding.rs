//! A finding of a summary, with the facts behind its words.

use std::ops::Index;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::number::six_decimals;
use crate::record;

/// Something that limits the meaning of the run's figures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// A stable word for programs, such as `late-releases`.
    pub code: String,
    /// The tenant it concerns, if one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// What was noticed, with its figure.
    pub message: String,
    /// What to do about it.
    pub advice: String,
    /// What its message and advice are made of; nothing of a finding that the run recorded, which has its words alone.
    #[serde(skip_serializing_if = "Facts::is_empty")]
    pub facts: Facts,
}

/// Names and values, ordered by name. A name says the unit; `kind` says which case of the finding's code it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Facts(Map<String, Value>);

impl Facts {
    /// The fields of what a finding is made from. What had none by name would have no facts, and not end a report.
    pub(in crate::analysis) fn of(fields: &impl Serialize) -> Facts {
        let Ok(Value::Object(mut facts)) = serde_json::to_value(fields) else {
            debug_assert!(false, "what a finding is made from has named fields");
            return Facts::default();
        };
        facts.values_mut().for_each(round);
        Facts(facts)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A fact by its name; null where there is none.
impl Index<&str> for Facts {
    type Output = Value;

    fn index(&self, name: &str) -> &Value {
        static NONE: Value = Value::Null;
        self.0.get(name).unwrap_or(&NONE)
    }
}

/// As the summary's own figures are.
fn round(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            *value = number.as_f64().map(six_decimals).into();
        }
        Value::Array(values) => values.iter_mut().for_each(round),
        Value::Object(fields) => fields.values_mut().for_each(round),
        _ => {}
    }
}

impl From<record::Finding> for Finding {
    fn from(recorded: record::Finding) -> Finding {
        Finding {
            code: recorded.code,
            tenant: recorded.tenant,
            message: recorded.message,
            advice: recorded.advice,
            facts: Facts::default(),
        }
    }
}
