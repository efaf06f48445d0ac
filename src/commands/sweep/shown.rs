//! Prints tables of sweeps, knees and Pareto fronts: for people, as Markdown, as JSON, as CSV.

use std::path::Path;

use jetlag_sweep::Setting;
use jetlag_sweep::knee::{Knee, KneeOfTable, dropped};
use jetlag_sweep::pareto::{Better, Metric, Standing};
use jetlag_sweep::sections::{self, Section};
use jetlag_sweep::table::{PointFigures, Table, write_csv, write_json};
use serde_json::{Value, json};

use crate::cli::SweepFormat;
use crate::commands::outcome::WrongUse;
use crate::commands::output::{print, say};
use crate::commands::section::{Medium, print_sections};

/// Version of the forms for programs.
const SCHEMA: u32 = 1;

fn for_people(section: Section, format: SweepFormat) -> anyhow::Result<()> {
    let medium = match format {
        SweepFormat::Markdown => Medium::Markdown,
        _ => Medium::Terminal,
    };
    print_sections(&[section], medium)
}

/// The table of a sweep; `written` is where it is on disk.
pub(super) fn table(table: &Table, format: SweepFormat, written: Option<&Path>) -> anyhow::Result<()> {
    let mut out = Vec::new();
    match format {
        SweepFormat::Json => write_json(table, &mut out)?,
        SweepFormat::Csv => write_csv(table, &mut out)?,
        SweepFormat::Text | SweepFormat::Markdown => {
            for_people(sections::sweep(table), format)?;
            if let (SweepFormat::Text, Some(written)) = (format, written) {
                say(&format!(
                    "all figures with their intervals: {}",
                    written.display()
                ));
            }
            return Ok(());
        }
    }
    print(&String::from_utf8(out)?)
}

/// The knee of a search.
pub(super) fn knee(
    path: &str,
    promises: &[String],
    range: [f64; 2],
    step: f64,
    knee: &Knee,
    table: &Table,
    format: SweepFormat,
) -> anyhow::Result<()> {
    let drops = knee
        .holds_at
        .map_or_else(Vec::new, |at| dropped(table, path, at, promises));
    match format {
        SweepFormat::Json => {
            let [low, high] = range;
            let mut whole = knee_json(knee, range, &knee.sentence(path, low, high));
            if let Value::Object(fields) = &mut whole {
                let notes = drops
                    .iter()
                    .map(|one| one.sentence(path, knee.holds_at.unwrap_or(low)));
                fields.insert("notes".to_owned(), json!(notes.collect::<Vec<_>>()));
                fields.insert("schema".to_owned(), json!(SCHEMA));
                fields.insert("path".to_owned(), json!(path));
                fields.insert("while".to_owned(), json!(promises));
                fields.insert("step".to_owned(), json!(step));
            }
            print(&(serde_json::to_string_pretty(&whole)? + "\n"))
        }
        SweepFormat::Csv => self::table(table, SweepFormat::Csv, None),
        SweepFormat::Text | SweepFormat::Markdown => {
            for_people(sections::knee(path, promises, range, knee, &drops), format)
        }
    }
}

fn knee_json(knee: &Knee, range: [f64; 2], sentence: &str) -> Value {
    json!({
        "range": range,
        "holds_at": knee.holds_at,
        "breaks_at": knee.breaks_at,
        "unclear": knee.unclear,
        "holds_again_at": knee.again,
        "unknown": knee.unknown,
        "tried": knee.tried,
        "runs": knee.runs,
        "sentence": sentence,
    })
}

fn set(settings: &[Setting]) -> Value {
    let all = settings
        .iter()
        .map(|setting| (setting.path.clone(), json!(setting.value)));
    Value::Object(all.collect())
}

/// The knees of a finished table.
pub(super) fn knees(
    axis: &str,
    promises: &[String],
    found: &[KneeOfTable],
    format: SweepFormat,
) -> anyhow::Result<()> {
    refuse_csv(format)?;
    if format != SweepFormat::Json {
        return for_people(sections::knees(axis, promises, found), format);
    }
    let all = found.iter().map(|one| {
        let [low, high] = one.range;
        let mut whole = knee_json(&one.knee, one.range, &one.knee.sentence(axis, low, high));
        if let Value::Object(fields) = &mut whole {
            fields.insert("set".to_owned(), set(&one.others));
        }
        whole
    });
    let all: Vec<Value> = all.collect();
    let whole = json!({"schema": SCHEMA, "path": axis, "while": promises, "knees": all});
    print(&(serde_json::to_string_pretty(&whole)? + "\n"))
}

fn refuse_csv(format: SweepFormat) -> Result<(), WrongUse> {
    match format {
        SweepFormat::Csv => Err(WrongUse(
            "--format csv is for the table; take text, markdown or json".to_owned(),
        )),
        SweepFormat::Text | SweepFormat::Markdown | SweepFormat::Json => Ok(()),
    }
}

/// Which points no other beats.
pub(super) fn pareto(
    points: &[PointFigures<'_>],
    metrics: &[Metric],
    standings: &[Standing],
    format: SweepFormat,
) -> anyhow::Result<()> {
    refuse_csv(format)?;
    let number = |place: usize| points.get(place).map_or(0, |point| point.number);
    if format != SweepFormat::Json {
        return for_people(sections::pareto(points, metrics, standings), format);
    }
    let whole = json!({
        "schema": SCHEMA,
        "metrics": metrics.iter().map(|metric| json!({
            "name": metric.name,
            "unit": metric.unit.symbol(),
            "better": match metric.better { Better::Lower => "lower", Better::Higher => "higher" },
        })).collect::<Vec<_>>(),
        "points": points.iter().zip(standings).map(|(point, standing)| {
            let (word, other) = match standing {
                Standing::Front => ("front", None),
                Standing::Undecided { beside } => ("undecided", Some(number(*beside))),
                Standing::Out { by } => ("out", Some(number(*by))),
                Standing::Unknown { .. } => ("unknown", None),
            };
            let values: serde_json::Map<String, Value> = metrics.iter().map(|metric| {
                let pooled = point.pooled(&metric.name);
                let value = json!({
                    "value": pooled.map(|pooled| pooled.value),
                    "ci95": pooled.and_then(|pooled| pooled.ci95),
                });
                (metric.name.clone(), value)
            }).collect();
            json!({
                "point": point.number,
                "set": set(point.settings()),
                "standing": word,
                "beside": other,
                "figures": values,
            })
        }).collect::<Vec<_>>(),
    });
    print(&(serde_json::to_string_pretty(&whole)? + "\n"))
}
