//! The figures of one run as tables have them: names of columns, and short values.

use std::fmt;

use jetlag_figure::Unit;
use jetlag_report::analysis::figures::{Figure, Key};
use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What a figure is called and measured in. A table may have columns that jetlag does not know.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Column {
    /// As `expect` has it: `camera.response.p99`.
    pub name: String,
    /// A plain number, where it is not known.
    pub unit: Unit,
}

impl Column {
    /// A name and its unit.
    pub fn new(name: impl Into<String>, unit: Unit) -> Self {
        Column {
            name: name.into(),
            unit,
        }
    }

    /// As the head of a table has it: `camera.response.p99_ms`.
    pub fn head(&self) -> String {
        match self.unit.symbol() {
            "" => self.name.clone(),
            symbol => format!("{}_{symbol}", self.name),
        }
    }

    /// From the head of a table.
    pub fn of_head(head: &str) -> Self {
        match Unit::split(head) {
            Some((name, unit)) => Column::new(name, unit),
            None => Column::new(head, Unit::Factor),
        }
    }

    /// The figure that it is, if it is one of jetlag's.
    pub fn key(&self) -> Option<Key> {
        Key::guess(&self.name)
    }
}

/// A figure's value in one run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// None where it is not known.
    pub value: Option<f64>,
    /// Its 95 % interval, where it has one.
    pub ci95: Option<[f64; 2]>,
}

impl Estimate {
    /// A value without an interval.
    pub fn plain(value: f64) -> Self {
        Estimate {
            value: Some(value),
            ci95: None,
        }
    }

    /// A value with its interval.
    pub fn with(value: f64, low: f64, high: f64) -> Self {
        Estimate {
            value: Some(value),
            ci95: Some([low, high]),
        }
    }
}

/// As short as a journal wants it: `null`, `7.5` or `[7.5,7.1,8.2]`.
impl Serialize for Estimate {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match (self.value, self.ci95) {
            (None, _) => to.serialize_none(),
            (Some(value), None) => to.serialize_f64(value),
            (Some(value), Some([low, high])) => [value, low, high].serialize(to),
        }
    }
}

impl<'de> Deserialize<'de> for Estimate {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Short;
        impl<'de> Visitor<'de> for Short {
            type Value = Estimate;
            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("null, a number, or [value, low, high]")
            }
            fn visit_unit<E>(self) -> Result<Estimate, E> {
                Ok(Estimate::default())
            }
            fn visit_f64<E>(self, value: f64) -> Result<Estimate, E> {
                Ok(Estimate::plain(value))
            }
            fn visit_u64<E>(self, value: u64) -> Result<Estimate, E> {
                Ok(Estimate::plain(value as f64))
            }
            fn visit_i64<E>(self, value: i64) -> Result<Estimate, E> {
                Ok(Estimate::plain(value as f64))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<Estimate, A::Error> {
                let mut next = |place| {
                    all.next_element()?
                        .ok_or_else(|| de::Error::invalid_length(place, &Short))
                };
                Ok(Estimate::with(next(0)?, next(1)?, next(2)?))
            }
        }
        from.deserialize_any(Short)
    }
}

/// The figures of one run, in its order.
pub type Figures = Vec<(Column, Estimate)>;

/// The figures of a run as a journal keeps them: those that it does not know are there without a value.
pub fn of_run(figures: &[Figure]) -> Figures {
    let of = |figure: &Figure| {
        let estimate = Estimate {
            value: figure.value(),
            ci95: figure.support.interval(),
        };
        (Column::new(figure.key.to_string(), figure.key.unit()), estimate)
    };
    figures.iter().map(of).collect()
}
