//! The sections of a run's report, each made once from the summary; every format shows the same ones.
//!
//! A section that can say nothing is absent. Nothing is computed here: figures are the summary's.

pub(crate) mod answer;
mod cameras;
pub(crate) mod columns;
pub(crate) mod counters;
pub(crate) mod critical;
mod duty;
mod expectations;
pub(crate) mod explained;
mod input_effect;
mod interference;
pub(crate) mod layers;
mod memory;
mod outputs;
mod phases;
mod power;
mod predictability;
pub(crate) mod roofline;
mod sensors;
pub(crate) mod setup;
mod slowdown;
mod slowest;
mod stages;
pub(crate) mod start_up;
mod tenants;
pub(crate) mod traced;
pub(crate) mod what_if;
pub(crate) mod work;

use jetlag_figure::section::{Cell, Section as OfReport};

use crate::analysis::Summary;
use crate::analysis::summary::{Estimate, Stats, TenantSummary};
use crate::number::TimeUnit;

pub(crate) use expectations::value_of;

/// What a format may draw beside tables and sentences. What it shows is in the summary, or in its plots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Drawing {
    /// Response times of each tenant over time.
    OverTime,
    /// Their distribution, alone and together.
    Spread,
    /// Each round of the slowdowns.
    Rounds,
    /// Times of the tenant of this number by the size of its inputs.
    Sizes(usize),
    /// Power, clocks and temperatures over time.
    Signals,
    /// Energy of a frame of each tenant.
    EnergyPerFrame,
    /// Traced frames.
    TracedFrames,
}

/// How many of a tenant's layers are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Those that take most: some on a terminal, more on a page. JSON has all.
    Most,
    /// All, under their whole names.
    All,
}

/// A section of a run's report.
pub(crate) type Section = OfReport<Drawing>;

/// All sections that a run has something to say in, in the order in which they are read.
pub(crate) fn all(summary: &Summary) -> Vec<Section> {
    let made = [
        tenants::responses(summary),
        expectations::section(summary),
        tenants::over_time(summary),
        tenants::spread(summary),
        tenants::frames(summary),
        stages::section(summary),
        cameras::section(summary),
        input_effect::section(summary),
        slowest::section(summary),
        slowdown::section(summary),
        slowdown::sensitivity(summary),
        interference::inputs(summary),
        interference::overlap(summary),
        duty::section(summary),
        phases::section(summary),
        predictability::section(summary),
        power::section(summary),
        power::energy(summary),
        power::budget(summary),
        memory::section(summary),
        outputs::section(summary),
        layers::section(summary),
    ];
    let of_machine = sensors::sections(summary);
    let explained = explained::section(summary);
    made.into_iter()
        .flatten()
        .chain(of_machine)
        .chain(explained)
        .collect()
}

/// The cell that names a tenant by its place.
fn tenant(number: usize, tenant: &TenantSummary) -> Cell {
    Cell::tenant(&tenant.name, number)
}

/// The cell that names a tenant, or a load that is none.
fn named(summary: &Summary, name: &str) -> Cell {
    let number = summary.tenants.iter().position(|tenant| tenant.name == name);
    Cell::tenant(name, number.unwrap_or_default())
}

/// One unit for a table, from the usual durations in it; a single long one does not decide.
fn unit_of<'a>(series: impl Iterator<Item = &'a Stats>) -> TimeUnit {
    TimeUnit::for_millis(series.filter_map(|stats| stats.usual()))
}

/// A time with its interval below it.
fn time(unit: TimeUnit, ms: Option<f64>, interval: Option<[f64; 2]>) -> Cell {
    Cell::of(ms, |ms| unit.show_beside(ms, interval))
        .note(interval.map_or(String::new(), |interval| unit.show_interval(interval)))
}

/// A quantile of a series, with its interval or with what stands in place of it below it.
fn quantile(unit: TimeUnit, one: Estimate, of: &Stats, seconds: Option<f64>) -> Cell {
    let cell = time(unit, one.value, one.ci95);
    match (one.ci95, one.lack) {
        (None, Some(lack)) => cell.note(lack.in_words(one.value.is_some(), of.count, seconds)),
        _ => cell,
    }
}

/// A time without an interval.
fn plain_time(unit: TimeUnit, ms: Option<f64>) -> Cell {
    Cell::of(ms, |ms| unit.show(ms))
}

/// A slowdown with its interval below it, warmer the larger it is.
fn factor(slowdown: Estimate) -> Cell {
    /// The slowdown from which a cell has the warmest colour.
    const HOTTEST: f64 = 3.0;
    let cell = Cell::figure(slowdown.value, slowdown.ci95);
    Cell {
        text: match slowdown.value {
            Some(_) => format!("×{}", cell.text),
            None => cell.text,
        },
        warmth: Some(
            slowdown
                .value
                .map_or(0.0, |x| ((x - 1.0) / (HOTTEST - 1.0)).clamp(0.0, 1.0)),
        ),
        ..cell
    }
}

/// A sentence for each thing that is said, with all that it is said of: `camera, lidar: …`.
fn grouped(said: impl Iterator<Item = (String, String)>) -> Vec<String> {
    let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
    for (of, reason) in said {
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, all)) => all.push(of),
            None => reasons.push((reason, vec![of])),
        }
    }
    let sentences = reasons.into_iter();
    sentences
        .map(|(reason, of)| format!("{}: {reason}", of.join(", ")))
        .collect()
}
