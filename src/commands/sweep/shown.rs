//! Prints tables of sweeps, knees and Pareto fronts: for people, as JSON, as CSV.

use std::path::Path;

use jetlag_sweep::knee::{Knee, KneeOfTable, dropped};
use jetlag_sweep::pareto::{Better, Metric, Standing};
use jetlag_sweep::table::{PointFigures, write_csv, write_json};
use jetlag_sweep::table::{State, Table};
use jetlag_sweep::{Pooled, Setting};
use serde_json::{Value, json};

use crate::cli::SweepFormat;
use crate::commands::outcome::WrongUse;
use crate::commands::output::{print, print_styled, say};
use crate::commands::report::style;
use crate::report::Style;
use crate::report::table::{Align, Grid, Ink};

/// Points that are printed; all are in the table.
const PRINTED: usize = 200;
/// Figures of each tenant that are printed.
const FIGURES: [&str; 3] = ["response.p50", "response.p99", "miss_rate"];
/// Version of the forms for programs.
const SCHEMA: u32 = 1;

/// A number of things: `1 run`, `2 runs`.
fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// The table of a sweep; `written` is where it is on disk.
pub(super) fn table(table: &Table, format: SweepFormat, written: Option<&Path>) -> anyhow::Result<()> {
    let mut out = Vec::new();
    match format {
        SweepFormat::Json => write_json(table, &mut out)?,
        SweepFormat::Csv => write_csv(table, &mut out)?,
        SweepFormat::Text => return text(table, written),
    }
    print(&String::from_utf8(out)?)
}

fn text(table: &Table, written: Option<&Path>) -> anyhow::Result<()> {
    let style = style();
    let points = table.points();
    let figures: Vec<_> = table
        .columns
        .iter()
        .filter(|column| {
            let key = column.key();
            key.is_some_and(|key| FIGURES.contains(&&*key.within()))
        })
        .collect();
    let grid_of = |beside: bool| {
        let mut grid = Grid::headed().column("point", Align::Right);
        for axis in table.axes.iter().filter(|_| beside) {
            grid = grid.column(short(axis).to_owned(), Align::Right);
        }
        grid = grid.column("runs", Align::Left);
        for column in &figures {
            grid = grid.optional(column.head(), Align::Right);
        }
        for point in points.iter().take(PRINTED) {
            let mut row = vec![plain(point.number.to_string())];
            row.extend(table.axes.iter().filter(|_| beside).map(|axis| {
                let of = point.settings().iter().find(|setting| setting.path == *axis);
                plain(of.map_or("–".to_owned(), |setting| setting.value.clone()))
            }));
            row.push(state(point));
            row.extend(
                figures
                    .iter()
                    .map(|column| plain(figure(point.pooled(&column.name).as_ref()))),
            );
            grid.row(row);
        }
        grid
    };
    // Many axes, or long values, would leave no room for what was measured.
    let beside = grid_of(true);
    let is_narrow = table.axes.len() > 1
        && (!beside.fits(&style) || beside.kept(&style) < figures.len().min(FIGURES.len()));
    let [done, failed, skipped, left] = table.counts();
    let mut text = Ink::Bold.paint("SWEEP", &style)
        + &format!(
            "  {} of {}: {} done",
            counted(points.len(), "point"),
            table.base,
            counted(done, "run")
        );
    for (count, what) in [
        (failed, "failed"),
        (skipped, "left out after a failure"),
        (left, "not made yet"),
    ] {
        if count > 0 {
            text += &format!(", {count} {what}");
        }
    }
    text += "\n";
    match is_narrow {
        false => text += &beside.render(&style),
        true => {
            text += &grid_of(false).render(&style);
            let shown = points.iter().take(PRINTED);
            let lines = shown.map(|point| (point.number, settings(point.settings())));
            text += &settings_below(lines, &style);
        }
    }
    if points.len() > PRINTED {
        text += &format!("  … and {} more\n", counted(points.len() - PRINTED, "point"));
    }
    text += &(failures(table) + &changed(table));
    print_styled(&text, style.colour)?;
    if let Some(written) = written {
        say(&format!(
            "all figures with their intervals: {}",
            written.display()
        ));
    }
    Ok(())
}

/// What each point sets, below a table that has no room for it.
fn settings_below(points: impl Iterator<Item = (usize, String)>, style: &Style) -> String {
    let mut below = Grid::headless().column("", Align::Right).column("", Align::Left);
    for (number, settings) in points {
        below.row(vec![plain(number.to_string()), plain(settings)]);
    }
    format!("  Settings:\n{}", below.render(style))
}

/// A path as people call it.
fn short(path: &str) -> &str {
    path.strip_prefix("tenants.").unwrap_or(path)
}

fn plain(text: String) -> (String, Ink) {
    (text, Ink::Plain)
}

/// How the runs of a point ended.
fn state(point: &PointFigures<'_>) -> (String, Ink) {
    let of = |wanted: fn(&State) -> bool| point.rows.iter().filter(|row| wanted(&row.state)).count();
    let failure = point.rows.iter().find_map(|row| row.state.failure());
    let done = of(|state| *state == State::Done);
    match failure {
        Some(failure) => (format!("failed: {}", failure.kind.word()), Ink::Bad),
        None if of(|state| matches!(state, State::Skipped { .. })) > 0 => ("left out".to_owned(), Ink::Dim),
        None => (format!("{done} of {}", point.rows.len()), Ink::Plain),
    }
}

/// A value with half of its interval's width; more digits than that are noise.
fn figure(pooled: Option<&Pooled>) -> String {
    match pooled {
        None => "–".to_owned(),
        Some(Pooled {
            value,
            ci95: Some([low, high]),
            ..
        }) => format!("{} ({}–{})", digits(*value), digits(*low), digits(*high)),
        Some(pooled) => digits(pooled.value),
    }
}

/// Four digits.
fn digits(value: f64) -> String {
    let decimals = match value.abs() {
        0.0 => 0,
        size if size >= 1000.0 => 0,
        size if size >= 100.0 => 1,
        size if size >= 10.0 => 2,
        size if size >= 0.1 => 3,
        _ => 5,
    };
    format!("{value:.decimals$}")
}

/// Points whose runs are not repeats of one another.
fn changed(table: &Table) -> String {
    let points: Vec<String> = table
        .points_of_changed_networks()
        .iter()
        .map(ToString::to_string)
        .collect();
    match points.is_empty() {
        true => String::new(),
        false => format!(
            "  ▲ networks-changed-between-runs: runs of the same point had different networks (column networks): point {}\n",
            points.join(", ")
        ),
    }
}

/// The message of each kind of failure, once.
fn failures(table: &Table) -> String {
    let mut told: Vec<(String, String, usize)> = Vec::new();
    for (row, failure) in table
        .rows
        .iter()
        .filter_map(|row| Some((row, row.state.failure()?)))
    {
        let kind = failure.to_string();
        match told.iter_mut().find(|(known, ..)| *known == kind) {
            Some((_, _, more)) => *more += 1,
            None => told.push((kind, format!("point {}: {}", row.point, failure.message), 0)),
        }
    }
    told.into_iter()
        .map(|(kind, message, more)| {
            let more = match more {
                0 => String::new(),
                more => format!(" (and {more} more runs)"),
            };
            format!("  ▲ {kind}: {message}{more}\n")
        })
        .collect()
}

/// The knee of a search.
pub(super) fn knee(
    path: &str,
    promises: &[String],
    [low, high]: [f64; 2],
    step: f64,
    knee: &Knee,
    table: &Table,
    format: SweepFormat,
) -> anyhow::Result<()> {
    let sentence = knee.sentence(path, low, high);
    let drops: Vec<String> = knee.holds_at.map_or_else(Vec::new, |at| {
        let all = dropped(table, path, at, promises);
        all.iter().map(|one| one.sentence(path, at)).collect()
    });
    match format {
        SweepFormat::Json => {
            let mut whole = knee_json(knee, [low, high], &sentence);
            if let Value::Object(fields) = &mut whole {
                fields.insert("notes".to_owned(), json!(drops));
                fields.insert("schema".to_owned(), json!(SCHEMA));
                fields.insert("path".to_owned(), json!(path));
                fields.insert("while".to_owned(), json!(promises));
                fields.insert("step".to_owned(), json!(step));
            }
            print(&(serde_json::to_string_pretty(&whole)? + "\n"))
        }
        SweepFormat::Csv => self::table(table, SweepFormat::Csv, None),
        SweepFormat::Text => {
            let style = style();
            let mut text = Ink::Bold.paint("KNEE", &style) + &format!("  {sentence}\n");
            text += &format!(
                "  while {}; {} runs of {} values\n",
                promises.join(" and "),
                knee.runs,
                knee.tried
            );
            for note in drops {
                text += &format!("  {note}\n");
            }
            print_styled(&text, style.colour)
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

fn settings<'a>(settings: impl IntoIterator<Item = &'a Setting>) -> String {
    let all = settings
        .into_iter()
        .map(|setting| format!("{}={}", short(&setting.path), setting.value));
    all.collect::<Vec<_>>().join(" ")
}

/// The knees of a finished table.
pub(super) fn knees(
    axis: &str,
    promises: &[String],
    found: &[KneeOfTable],
    format: SweepFormat,
) -> anyhow::Result<()> {
    refuse_csv(format)?;
    let sentence = |one: &KneeOfTable| {
        let [low, high] = one.range;
        one.knee.sentence(axis, low, high)
    };
    if format == SweepFormat::Json {
        let all: Vec<Value> = found
            .iter()
            .map(|one| {
                let mut whole = knee_json(&one.knee, one.range, &sentence(one));
                if let Value::Object(fields) = &mut whole {
                    fields.insert("set".to_owned(), set(&one.others));
                }
                whole
            })
            .collect();
        let whole = json!({"schema": SCHEMA, "path": axis, "while": promises, "knees": all});
        return print(&(serde_json::to_string_pretty(&whole)? + "\n"));
    }
    let style = style();
    let mut text =
        Ink::Bold.paint("KNEE", &style) + &format!("  of {axis}, while {}\n", promises.join(" and "));
    for one in found {
        let others = settings(&one.others);
        let gap = if others.is_empty() { "" } else { ": " };
        text += &format!("  {others}{gap}{}\n", sentence(one));
    }
    print_styled(&text, style.colour)
}

fn refuse_csv(format: SweepFormat) -> Result<(), WrongUse> {
    match format {
        SweepFormat::Csv => Err(WrongUse(
            "--format csv is for the table; take text or json".to_owned(),
        )),
        SweepFormat::Text | SweepFormat::Json => Ok(()),
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
    if format == SweepFormat::Json {
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
        return print(&(serde_json::to_string_pretty(&whole)? + "\n"));
    }
    let style = style();
    // What all points have tells none apart.
    let everywhere = |setting: &Setting| points.iter().all(|point| point.settings().contains(setting));
    let own = |point: &PointFigures<'_>| settings(point.settings().iter().filter(|one| !everywhere(one)));
    let rank = |standing: &Standing| match standing {
        Standing::Front => 0,
        Standing::Undecided { .. } => 1,
        Standing::Unknown { .. } => 2,
        Standing::Out { .. } => 3,
    };
    let mut order: Vec<usize> = (0..points.len().min(standings.len())).collect();
    order.sort_by_key(|&place| standings.get(place).map_or(4, rank));
    let front = standings
        .iter()
        .filter(|standing| **standing == Standing::Front)
        .count();
    let ranked: Vec<(&PointFigures<'_>, &Standing)> = order
        .iter()
        .take(PRINTED)
        .filter_map(|&place| Some((points.get(place)?, standings.get(place)?)))
        .collect();
    let grid_of = |beside: bool| {
        let mut grid = Grid::headed()
            .column("point", Align::Right)
            .column("standing", Align::Left);
        for metric in metrics {
            let way = match metric.better {
                Better::Lower => "↓",
                Better::Higher => "↑",
            };
            grid = grid.column(format!("{} {way}", metric.name), Align::Right);
        }
        if beside {
            grid = grid.column("settings", Align::Left);
        }
        for (point, standing) in &ranked {
            let (word, ink) = match standing {
                Standing::Front => ("front".to_owned(), Ink::Good),
                Standing::Undecided { beside } => {
                    (format!("beside {}, not told apart", number(*beside)), Ink::Warn)
                }
                Standing::Out { by } => (format!("out: {} is better", number(*by)), Ink::Dim),
                Standing::Unknown { metric } => (format!("unknown: no {metric}"), Ink::Dim),
            };
            let mut row = vec![plain(point.number.to_string()), (word, ink)];
            row.extend(
                metrics
                    .iter()
                    .map(|metric| plain(figure(point.pooled(&metric.name).as_ref()))),
            );
            row.extend(beside.then(|| plain(own(point))));
            grid.row(row);
        }
        grid
    };
    let mut text = Ink::Bold.paint("PARETO", &style)
        + &format!("  {front} of {} points are on the front\n", points.len());
    let beside = grid_of(true);
    match beside.fits(&style) {
        true => text += &beside.render(&style),
        false => {
            text += &grid_of(false).render(&style);
            let lines = ranked.iter().map(|(point, _)| (point.number, own(point)));
            text += &settings_below(lines, &style);
        }
    }
    if points.len() > PRINTED {
        text += &format!("  … and {} more points\n", points.len() - PRINTED);
    }
    if metrics.iter().any(|metric| {
        points.iter().all(|point| {
            point
                .pooled(&metric.name)
                .is_none_or(|pooled| pooled.ci95.is_none())
        })
    }) {
        text += "  A figure without an interval is taken as it is; three repeats or more give it one.\n";
    }
    print_styled(&text, style.colour)
}
