//! The figures of one run, taken from the machine form of its summary (docs/json.md): each by the name that `expect` has for it, with
//! its interval where it has one. Lists that differ in length from run to run (nodes, slowest frames, kernels) are left to the run file.

use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};
use std::collections::HashSet;
use std::fmt;

/// What a figure is called and measured in.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Column {
    /// As `expect` has it: `camera.response.p99`.
    pub name: String,
    /// `ms`, `fps`, `mj`, …; empty for counts, shares and ratios.
    pub unit: String,
}

impl Column {
    /// A name and its unit.
    pub fn new(name: impl Into<String>, unit: impl Into<String>) -> Self {
        Column {
            name: name.into(),
            unit: unit.into(),
        }
    }

    /// As the head of a table has it: `camera.response.p99_ms`.
    pub fn head(&self) -> String {
        match self.unit.is_empty() {
            true => self.name.clone(),
            false => format!("{}_{}", self.name, self.unit),
        }
    }
}

/// A figure's value in one run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figure {
    /// None where it is not known.
    pub value: Option<f64>,
    /// Its 95 % interval, where it has one.
    pub ci95: Option<[f64; 2]>,
}

impl Figure {
    /// A value without an interval.
    pub fn plain(value: f64) -> Self {
        Figure {
            value: Some(value),
            ci95: None,
        }
    }

    /// A value with its interval.
    pub fn with(value: f64, low: f64, high: f64) -> Self {
        Figure {
            value: Some(value),
            ci95: Some([low, high]),
        }
    }
}

/// As short as a journal wants it: `null`, `7.5` or `[7.5,7.1,8.2]`.
impl Serialize for Figure {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match (self.value, self.ci95) {
            (None, _) => to.serialize_none(),
            (Some(value), None) => to.serialize_f64(value),
            (Some(value), Some([low, high])) => [value, low, high].serialize(to),
        }
    }
}

impl<'de> Deserialize<'de> for Figure {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Short;
        impl<'de> Visitor<'de> for Short {
            type Value = Figure;
            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("null, a number, or [value, low, high]")
            }
            fn visit_unit<E>(self) -> Result<Figure, E> {
                Ok(Figure::default())
            }
            fn visit_f64<E>(self, value: f64) -> Result<Figure, E> {
                Ok(Figure::plain(value))
            }
            fn visit_u64<E>(self, value: u64) -> Result<Figure, E> {
                Ok(Figure::plain(value as f64))
            }
            fn visit_i64<E>(self, value: i64) -> Result<Figure, E> {
                Ok(Figure::plain(value as f64))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<Figure, A::Error> {
                let mut next = |place| {
                    all.next_element()?
                        .ok_or_else(|| de::Error::invalid_length(place, &Short))
                };
                Ok(Figure::with(next(0)?, next(1)?, next(2)?))
            }
        }
        from.deserialize_any(Short)
    }
}

/// The figures of one run, in the order of the summary.
pub type Figures = Vec<(Column, Figure)>;

/// Units that names of the machine form end with, and how they are called here.
const UNITS: [(&str, &str); 13] = [
    ("_ms", "ms"),
    ("_us", "us"),
    ("_fps", "fps"),
    ("_mw", "mw"),
    ("_mj", "mj"),
    ("_percent", "percent"),
    ("_bytes", "bytes"),
    ("_mhz", "mhz"),
    ("_c", "c"),
    ("_s", "s"),
    ("_mib", "mib"),
    ("_v", "v"),
    ("_rpm", "rpm"),
];

/// Objects of a tenant whose names are left out of a figure's: `frames.dropped` is `dropped`, as in `expect`.
const TRANSPARENT: [&str; 1] = ["frames"];

/// What is no figure, or is a list whose length differs from run to run.
const LEFT_OUT: [&str; 8] = [
    "lacks",
    "needs",
    "slowest",
    "nodes",
    "operators",
    "deadline_ms",
    "stages_predictability",
    "input_effect",
];

/// The figures of a summary in its machine form; those that it does not know are there without a value.
pub fn of_summary(summary: &Value) -> Figures {
    let mut figures = Figures::new();
    for tenant in list(summary, "tenants") {
        if let Some(name) = tenant.get("name").and_then(Value::as_str) {
            object(tenant, name, "", &mut figures);
            energy_of(tenant, name, &mut figures);
        }
    }
    if let Some(energy) = summary.get("energy").filter(|energy| energy.is_object()) {
        let interval = |name: &str| energy.get(name).and_then(interval);
        let mut put = |name: &str, unit: &str, field: &str, ci95| {
            let value = energy.get(field).and_then(Value::as_f64);
            figures.push((Column::new(name, unit), Figure { value, ci95 }));
        };
        put("energy.total", "mj", "total_mj", interval("ci95_mj"));
        put(
            "energy.above_idle",
            "mj",
            "above_idle_mj",
            interval("above_idle_ci95_mj"),
        );
        put("power.total.mean", "mw", "mean_mw", None);
        put("power.total.idle", "mw", "idle_mw", None);
    }
    for rail in list(summary, "power") {
        if let Some(name) = rail.get("rail").and_then(Value::as_str) {
            object(rail, &format!("power.{name}"), "", &mut figures);
        }
    }
    for sensor in list(summary, "sensors") {
        let word = |field: &str| sensor.get(field).and_then(Value::as_str);
        if let (Some(kind), Some(name)) = (word("unit"), word("signal").or(word("name"))) {
            let family = match kind {
                "c" => "temperature",
                "mhz" => "clock",
                _ => "sensor",
            };
            for statistic in ["min", "mean", "median", "p95", "max"] {
                if let Some(value) = sensor.get(statistic).and_then(Value::as_f64) {
                    let column = Column::new(format!("{family}.{name}.{statistic}"), kind);
                    figures.push((column, Figure::plain(value)));
                }
            }
        }
    }
    if let Some(host) = summary.get("host") {
        object(host, "host", "", &mut figures);
    }
    // Two samplers may name a signal alike: the first is taken, as elsewhere.
    let mut seen = HashSet::new();
    figures.retain(|(column, _)| seen.insert(column.name.clone()));
    figures
}

/// Energy of a frame, under the names of `expect`.
fn energy_of(tenant: &Value, name: &str, figures: &mut Figures) {
    let Some(energy) = tenant
        .get("energy_mj_per_frame")
        .filter(|energy| energy.is_object())
    else {
        return;
    };
    let value = |field: &str| energy.get(field).and_then(Value::as_f64);
    let total = Figure {
        value: value("total"),
        ci95: energy.get("ci95").and_then(interval),
    };
    let of = |value| Figure { value, ci95: None };
    for (word, unit, figure) in [
        ("per_frame", "mj", total),
        ("per_frame_above_idle", "mj", of(value("above_idle"))),
        ("frames_per_joule", "", of(value("frames_per_joule"))),
    ] {
        figures.push((Column::new(format!("energy.{name}.{word}"), unit), figure));
    }
}

fn list<'v>(value: &'v Value, field: &str) -> &'v [Value] {
    value
        .get(field)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn interval(value: &Value) -> Option<[f64; 2]> {
    match value.as_array()?.as_slice() {
        [low, high] => Some([low.as_f64()?, high.as_f64()?]),
        _ => None,
    }
}

/// The numbers of an object, and of the objects in it.
fn object(value: &Value, within: &str, unit: &str, figures: &mut Figures) {
    let Some(fields) = value.as_object() else { return };
    let intervals = fields.get("ci95").and_then(Value::as_object);
    for (field, value) in fields {
        if LEFT_OUT.contains(&field.as_str())
            || field == "ci95"
            || field.starts_with("ci95_")
            || field == "energy_mj_per_frame"
        {
            continue;
        }
        let (word, own) = split_unit(field);
        let unit = if own.is_empty() { unit } else { own };
        let name = match TRANSPARENT.contains(&word) {
            true => within.to_owned(),
            false => format!("{within}.{word}"),
        };
        match value {
            Value::Object(_) => object(value, &name, unit, figures),
            Value::Number(_) | Value::Null => {
                let ci95 = match intervals {
                    Some(intervals) => intervals.get(field).and_then(interval),
                    None if is_energy(field) => fields.get("ci95_mj").and_then(interval),
                    None => fields.get(&format!("{field}_ci95")).and_then(interval),
                };
                // A count has no unit, whatever its series is measured in.
                let unit = if is_count(word, fields) { "" } else { unit };
                let value = value.as_f64();
                // What is `null` here may be a number or an object in another run: objects are known by their numbers.
                if value.is_some() || unit_is_known(field, intervals) {
                    figures.push((
                        Column::new(name, unit),
                        Figure {
                            value,
                            ci95: ci95.filter(|_| value.is_some()),
                        },
                    ));
                }
            }
            _ => {}
        }
    }
}

/// Of a rail, `ci95_mj` is the interval of its energy alone.
fn is_energy(field: &str) -> bool {
    field == "energy_mj"
}

fn is_count(word: &str, fields: &Map<String, Value>) -> bool {
    word == "count" || (word.ends_with("_count") && fields.contains_key(word))
}

/// Whether a `null` stands for a number: quantiles and what has a unit do.
fn unit_is_known(field: &str, intervals: Option<&Map<String, Value>>) -> bool {
    intervals.is_some()
        || (!split_unit(field).1.is_empty() && !field.ends_with("_ms"))
        || field == "jitter_ms"
        || field == "iqr_ms"
}

fn split_unit(field: &str) -> (&str, &'static str) {
    UNITS
        .iter()
        .filter_map(|(ending, unit)| Some((field.strip_suffix(ending)?, *unit)))
        .find(|(word, _)| !word.is_empty())
        .unwrap_or((field, ""))
}
