//! Power and energy: each rail over the measured time, the total, the energy per frame, and a budget.

use jetlag_figure::section::{Cell, Table, Tone};

use super::{Drawing, Section, tenant};
use crate::analysis::Summary;
use crate::analysis::summary::{EnergySummary, PowerBudget, RailSummary};
use crate::digits::plus_minus;
use crate::number::{measured, percent, short};
use crate::record::RailRole;

/// Rails, and clocks and temperatures as drawings; none where nothing was sampled.
pub(super) fn section(summary: &Summary) -> Option<Section> {
    let mut table = Table::new("")
        .words("rail")
        .numbers(["mean", "median", "p95", "peak", "idle", "energy"])
        .optional_number("coverage")
        .optional_number("refresh")
        .optional_words("source")
        .optional_words("role");
    let energy = summary.energy.as_ref();
    if let Some(energy) = energy.filter(|energy| energy.rails.len() > 1) {
        table.row(total(energy));
    }
    for rail in &summary.power {
        let name = format!("{}/{}", rail.source, rail.rail);
        let tone = match energy.is_some_and(|energy| energy.rails.contains(&name)) {
            true => Tone::Strong,
            false => Tone::Plain,
        };
        table.row(of_rail(rail, tone));
    }
    // Said where the eye looks for the total.
    let no_total = "no total: which of these rails add up to it is unknown, or one of them was not read";
    let is_missing = energy.is_none() && !summary.power.is_empty();
    let note = "W and J over the measured time; coverage: sensed share of that time";
    let section = Section::new("power", "Power", note)
        .table(table)
        .texts(is_missing.then(|| no_total.to_owned()));
    match summary.plots.signals.is_empty() {
        true => section.unless_empty(),
        false => Some(section.drawing(Drawing::Signals)),
    }
}

/// The row of a total that is the sum of several rails.
fn total(energy: &EnergySummary) -> [Cell; 11] {
    let strong = |text: String| Cell::new(text).tone(Tone::Strong);
    let none = Cell::default;
    [
        strong(format!("= {}", energy.of)),
        strong(mean(energy.mean_mw, energy.total_mj, energy.ci95_mj)),
        Cell::of(energy.median_mw, watts),
        Cell::of(energy.p95_mw, watts),
        Cell::of(energy.peak_mw, watts),
        Cell::of(energy.idle_mw, watts),
        strong(format!("{} J", in_thousands(energy.total_mj, energy.ci95_mj))),
        none(),
        none(),
        none(),
        Cell::new("sum").tone(Tone::Dim),
    ]
}

fn of_rail(rail: &RailSummary, tone: Tone) -> [Cell; 11] {
    [
        Cell::new(&rail.rail).tone(tone),
        Cell::new(mean(rail.mean_mw, rail.energy_mj, rail.ci95_mj)).tone(tone),
        Cell::of(rail.median_mw, watts),
        Cell::of(rail.p95_mw, watts),
        Cell::new(watts(rail.peak_mw)),
        Cell::of(rail.idle_mw, watts),
        Cell::new(format!("{} J", in_thousands(rail.energy_mj, rail.ci95_mj))).tone(tone),
        Cell::new(percent(rail.coverage)),
        Cell::of(rail.refresh_ms, |ms| format!("{} ms", short(ms))),
        Cell::new(&rail.source).tone(Tone::Dim),
        Cell::new(role(rail)).tone(Tone::Dim),
    ]
}

/// A rail's relation to the board's total, in words.
fn role(rail: &RailSummary) -> String {
    match (&rail.within, rail.role) {
        (Some(parent), _) => format!("within {parent}"),
        (None, RailRole::Summand) => "in total".to_owned(),
        (None, role) => role.to_string(),
    }
}

/// The total and each frame's energy; none where no total is known.
pub(super) fn energy(summary: &Summary) -> Option<Section> {
    let energy = summary.energy.as_ref()?;
    let above = match (energy.above_idle_mj, energy.idle_mw) {
        (Some(above), Some(idle)) => format!(
            ", {} above idle ({} W)",
            joules(above, energy.above_idle_ci95_mj),
            watts(idle)
        ),
        _ => ", idle not measured".to_owned(),
    };
    let of_all = format!(
        "{}: {}{above}; sensors uncalibrated",
        energy.of,
        joules(energy.total_mj, energy.ci95_mj)
    );
    let no_interval = energy.ci95_withheld.map(|why| format!("no interval: {why}"));
    let mut table = Table::new("")
        .words("tenant")
        .numbers(["mJ/frame", "above idle", "frames/J", "share"]);
    let is_known = summary
        .tenants
        .iter()
        .any(|tenant| tenant.energy_mj_per_frame.is_some());
    for (number, of) in summary.tenants.iter().enumerate().filter(|_| is_known) {
        let per_frame = of.energy_mj_per_frame.as_ref();
        table.row([
            tenant(number, of),
            Cell::of(per_frame, |of| within(of.total, of.ci95)),
            Cell::of(per_frame.and_then(|of| Some((of, of.above_idle?))), |(of, mj)| {
                within(mj, of.above_idle_ci95)
            }),
            Cell::of(
                per_frame.and_then(|of| Some((of, of.frames_per_joule?))),
                |(of, frames)| measured(frames, of.frames_per_joule_ci95()),
            ),
            Cell::of(per_frame, |of| percent(of.share)),
        ]);
    }
    let note = match energy.attribution {
        Some(_) => "attributed by share of compute time, not measured per tenant",
        None if is_known => "all charged to the only tenant",
        None => "over the measured time",
    };
    Some(
        Section::new("energy", "Energy", note)
            .explained("Sensors are uncalibrated: gain and offset may be off by several percent.")
            .texts(std::iter::once(of_all).chain(no_interval))
            .drawing(Drawing::EnergyPerFrame)
            .table(table),
    )
}

/// The time above the power budget; none where none was given.
pub(super) fn budget(summary: &Summary) -> Option<Section> {
    let budget = summary.budget.as_ref()?;
    let title = format!("Budget {} W", short(budget.limit_mw / 1e3));
    let Some(above) = above(budget) else {
        let why = budget.withheld.as_deref().unwrap_or("there is no total");
        return Some(Section::new("budget", title, "cannot be judged").texts([why.to_owned()]));
    };
    let mut table = Table::new("").numbers(["at s", "for s", "mean W", "peak W"]);
    for moment in &budget.moments {
        let figures = [
            moment.at_s,
            moment.length_s,
            moment.mean_mw / 1e3,
            moment.peak_mw / 1e3,
        ];
        table.row(figures.map(|figure| Cell::new(short(figure))));
    }
    let more = budget.more_moments;
    let note = format!(
        "{} against it; moments above it, the longest first",
        budget.of.unwrap_or("total")
    );
    Some(
        Section::new("budget", title, note)
            .texts([above])
            .table(table)
            .texts((more > 0).then(|| format!("and {more} shorter moments"))),
    )
}

/// For how long power was above the budget, as far as that is known.
fn above(budget: &PowerBudget) -> Option<String> {
    let covered = budget.covered?;
    let of = match covered < 0.99 {
        true => format!(
            " of the time that was measured, which is {} of the run",
            percent(covered)
        ),
        false => String::new(),
    };
    Some(format!(
        "above it for {} ({} s){of}",
        percent(budget.share_above?),
        short(budget.above_s?)
    ))
}

/// A power in mW, shown in W.
fn watts(mw: f64) -> String {
    short(mw / 1e3)
}

/// A mean power in mW, shown in W with the digits that its energy has.
pub(super) fn mean(mw: f64, energy_mj: f64, interval: Option<[f64; 2]>) -> String {
    let scale = (energy_mj != 0.0).then(|| mw / energy_mj);
    in_thousands(
        mw,
        interval.zip(scale).map(|(ends, scale)| ends.map(|mj| mj * scale)),
    )
}

/// Thousandths of a unit, shown in the unit with the digits of their interval.
pub(super) fn in_thousands(x: f64, interval: Option<[f64; 2]>) -> String {
    measured(x / 1e3, interval.map(|ends| ends.map(|end| end / 1e3)))
}

/// A figure with its interval, where it has one.
fn within(x: f64, interval: Option<[f64; 2]>) -> String {
    match interval {
        Some(interval) => plus_minus(x, interval),
        None => measured(x, None),
    }
}

/// An energy in mJ, shown in J with its interval, where it has one.
fn joules(mj: f64, interval: Option<[f64; 2]>) -> String {
    format!(
        "{} J",
        within(mj / 1e3, interval.map(|ends| ends.map(|mj| mj / 1e3)))
    )
}
