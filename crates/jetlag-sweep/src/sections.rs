//! Tables of sweeps, knees and Pareto fronts as sections, which terminal and Markdown show.

use std::convert::Infallible;

use jetlag_figure::section::{Cell, Section as OfReport, Table as Shown, Tone};

use crate::knee::{Dropped, Knee, KneeOfTable};
use crate::pareto::{Better, Metric, Standing};
use crate::plan::Setting;
use crate::pooled::Pooled;
use crate::table::{PointFigures, State, Table};

/// A section without drawings.
pub type Section = OfReport<Infallible>;

/// Points that are shown; all are in the table's files.
const SHOWN: usize = 200;
/// Figures of each tenant that are shown.
const FIGURES: [&str; 3] = ["response.p50", "response.p99", "miss_rate"];

/// All points with their main figures.
pub fn sweep(table: &Table) -> Section {
    let points = table.points();
    let figures: Vec<_> = table
        .columns
        .iter()
        .filter(|column| column.key().is_some_and(|key| FIGURES.contains(&&*key.within())))
        .collect();
    let mut shown = Shown::new("").number("point");
    for axis in &table.axes {
        let name = short(axis).to_owned();
        // One axis is what the reader looks along.
        shown = match table.axes.len() {
            1 => shown.number(name),
            _ => shown.number_or_below(name),
        };
    }
    shown = shown.words("runs");
    for column in &figures {
        shown = shown.optional_number(column.head());
    }
    for point in points.iter().take(SHOWN) {
        let settings = table.axes.iter().map(|axis| {
            let of = point.settings().iter().find(|setting| setting.path == *axis);
            Cell::of(of, |setting| setting.value.clone())
        });
        let values = figures
            .iter()
            .map(|column| figure(point.pooled(&column.name).as_ref()));
        let number = Cell::new(point.number.to_string());
        shown.row(
            [number]
                .into_iter()
                .chain(settings)
                .chain([ended(point)])
                .chain(values),
        );
    }
    let [done, failed, skipped, left] = table.counts();
    let mut note = format!(
        "{} of {}: {} done",
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
            note += &format!(", {count} {what}");
        }
    }
    Section::new("sweep", "Sweep", note)
        .table(shown)
        .remarks(more(points.len()))
        .texts(failures(table))
        .texts(changed(table))
}

/// The knee of a search over a path's values.
pub fn knee(
    path: &str,
    promises: &[String],
    [low, high]: [f64; 2],
    knee: &Knee,
    drops: &[Dropped],
) -> Section {
    let sentence = knee.sentence(path, low, high);
    Section::new(
        "knee",
        "Knee",
        format!("of {path}, while {}", promises.join(" and ")),
    )
    .texts([sentence])
    .remarks([format!("{} runs of {} values", knee.runs, knee.tried)])
    .remarks(
        knee.holds_at
            .into_iter()
            .flat_map(|at| drops.iter().map(move |one| one.sentence(path, at))),
    )
}

/// The knees of a finished table, one for each combination of the other axes.
pub fn knees(axis: &str, promises: &[String], found: &[KneeOfTable]) -> Section {
    let told = found.iter().map(|one| {
        let [low, high] = one.range;
        let sentence = one.knee.sentence(axis, low, high);
        match settings(&one.others) {
            others if others.is_empty() => sentence,
            others => format!("{others}: {sentence}"),
        }
    });
    Section::new(
        "knee",
        "Knee",
        format!("of {axis}, while {}", promises.join(" and ")),
    )
    .texts(told)
}

/// Which points no other beats, those first.
pub fn pareto(points: &[PointFigures<'_>], metrics: &[Metric], standings: &[Standing]) -> Section {
    let number = |place: usize| points.get(place).map_or(0, |point| point.number);
    // What all points have tells none apart.
    let everywhere = |setting: &Setting| points.iter().all(|point| point.settings().contains(setting));
    let rank = |standing: &Standing| match standing {
        Standing::Front => 0,
        Standing::Undecided { .. } => 1,
        Standing::Unknown { .. } => 2,
        Standing::Out { .. } => 3,
    };
    let mut ranked: Vec<(&PointFigures<'_>, &Standing)> = points.iter().zip(standings).collect();
    ranked.sort_by_key(|(_, standing)| rank(standing));
    let mut shown = Shown::new("").number("point").words("standing");
    for metric in metrics {
        let way = match metric.better {
            Better::Lower => "↓",
            Better::Higher => "↑",
        };
        shown = shown.number(format!("{} {way}", metric.name));
    }
    shown = shown.words_or_below("settings");
    for (point, standing) in ranked.into_iter().take(SHOWN) {
        let standing = match standing {
            Standing::Front => Cell::new("front").tone(Tone::Good),
            Standing::Undecided { beside } => {
                Cell::new(format!("beside {}, not told apart", number(*beside))).tone(Tone::Warn)
            }
            Standing::Out { by } => Cell::new(format!("out: {} is better", number(*by))).tone(Tone::Dim),
            Standing::Unknown { metric } => Cell::new(format!("unknown: no {metric}")).tone(Tone::Dim),
        };
        let values = metrics
            .iter()
            .map(|metric| figure(point.pooled(&metric.name).as_ref()));
        let own = settings(point.settings().iter().filter(|one| !everywhere(one)));
        let number = Cell::new(point.number.to_string());
        shown.row(
            [number, standing]
                .into_iter()
                .chain(values)
                .chain([Cell::new(own)]),
        );
    }
    let front = standings
        .iter()
        .filter(|standing| **standing == Standing::Front)
        .count();
    let has_none = |metric: &Metric| {
        points.iter().all(|point| {
            point
                .pooled(&metric.name)
                .is_none_or(|pooled| pooled.ci95.is_none())
        })
    };
    let without = metrics.iter().any(has_none).then(|| {
        "A figure without an interval is taken as it is; three repeats or more give it one.".to_owned()
    });
    Section::new(
        "pareto",
        "Pareto",
        format!("{front} of {} points are on the front", points.len()),
    )
    .table(shown)
    .remarks(more(points.len()))
    .remarks(without)
}

/// A path as people call it.
fn short(path: &str) -> &str {
    path.strip_prefix("tenants.").unwrap_or(path)
}

/// Settings as they are given to a run.
pub fn settings<'a>(settings: impl IntoIterator<Item = &'a Setting>) -> String {
    let all = settings.into_iter();
    let all = all.map(|setting| format!("{}={}", short(&setting.path), setting.value));
    all.collect::<Vec<_>>().join(" ")
}

/// A number of things: `1 run`, `2 runs`.
fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn more(points: usize) -> Option<String> {
    (points > SHOWN).then(|| format!("… and {} more", counted(points - SHOWN, "point")))
}

/// How the runs of a point ended.
fn ended(point: &PointFigures<'_>) -> Cell {
    let of = |wanted: fn(&State) -> bool| point.rows.iter().filter(|row| wanted(&row.state)).count();
    let failure = point.rows.iter().find_map(|row| row.state.failure());
    let done = of(|state| *state == State::Done);
    match failure {
        Some(failure) => Cell::new(format!("failed: {}", failure.kind.word())).tone(Tone::Bad),
        None if of(|state| matches!(state, State::Skipped { .. })) > 0 => {
            Cell::new("left out").tone(Tone::Dim)
        }
        None => Cell::new(format!("{done} of {}", point.rows.len())),
    }
}

/// A value with its interval beside it.
fn figure(pooled: Option<&Pooled>) -> Cell {
    Cell::of(pooled, |pooled| match pooled.ci95 {
        Some([low, high]) => format!("{} ({}–{})", digits(pooled.value), digits(low), digits(high)),
        None => digits(pooled.value),
    })
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
fn changed(table: &Table) -> Option<String> {
    let points = table.points_of_changed_networks();
    let points: Vec<String> = points.iter().map(ToString::to_string).collect();
    (!points.is_empty()).then(|| {
        format!(
            "▲ networks-changed-between-runs: runs of the same point had different networks (column networks): point {}",
            points.join(", ")
        )
    })
}

/// The message of each kind of failure, once.
fn failures(table: &Table) -> Vec<String> {
    let mut told: Vec<(String, String, usize)> = Vec::new();
    let failed = table
        .rows
        .iter()
        .filter_map(|row| Some((row, row.state.failure()?)));
    for (row, failure) in failed {
        let kind = failure.to_string();
        match told.iter_mut().find(|(known, ..)| *known == kind) {
            Some((_, _, more)) => *more += 1,
            None => told.push((kind, format!("point {}: {}", row.point, failure.message), 0)),
        }
    }
    let told = told.into_iter().map(|(kind, message, more)| {
        let more = match more {
            0 => String::new(),
            more => format!(" (and {more} more runs)"),
        };
        format!("▲ {kind}: {message}{more}")
    });
    told.collect()
}
