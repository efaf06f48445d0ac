//! Power and energy: each rail over the measured time, the total, and the energy per frame.

use super::{dim, heading, name_of, plain};
use crate::Style;
use crate::analysis::Summary;
use crate::analysis::summary::{EnergySummary, RailSummary};
use crate::digits::plus_minus;
use crate::number::{UNKNOWN, measured, or_unknown, percent, short};
use crate::record::RailRole;
use crate::table::{Align, Grid, Ink, Text};

/// The section; empty where no power was measured.
pub(super) fn section(summary: &Summary, style: &Style) -> String {
    if summary.power.is_empty() {
        return String::new();
    }
    rails(summary, style) + &energy(summary, style)
}

fn rails(summary: &Summary, style: &Style) -> String {
    let mut grid = Grid::headed()
        .column("rail", Align::Left)
        .column("mean", Align::Right)
        .column("median", Align::Right)
        .column("p95", Align::Right)
        .column("peak", Align::Right)
        .column("idle", Align::Right)
        .column("energy", Align::Right)
        .optional("coverage", Align::Right)
        .optional("refresh", Align::Right)
        .optional("source", Align::Left)
        .optional("role", Align::Left);
    if let Some(energy) = summary.energy.as_ref().filter(|energy| energy.rails.len() > 1) {
        grid.row(total(energy));
    }
    for rail in &summary.power {
        let counted = summary
            .energy
            .as_ref()
            .is_some_and(|energy| energy.rails.contains(&format!("{}/{}", rail.source, rail.rail)));
        let ink = if counted { Ink::Bold } else { Ink::Plain };
        grid.row(vec![
            (rail.rail.clone(), ink),
            (mean(rail.mean_mw, rail.energy_mj, rail.ci95_mj), ink),
            plain(or_unknown(rail.median_mw, watts)),
            plain(or_unknown(rail.p95_mw, watts)),
            plain(watts(rail.peak_mw)),
            plain(or_unknown(rail.idle_mw, watts)),
            (format!("{} J", in_thousands(rail.energy_mj, rail.ci95_mj)), ink),
            plain(percent(rail.coverage)),
            plain(or_unknown(rail.refresh_ms, |ms| format!("{} ms", short(ms)))),
            dim(&rail.source),
            dim(role(rail)),
        ]);
    }
    heading(
        "POWER",
        "W and J over the measured time; coverage: sensed share of that time",
        style,
    ) + &grid.render(style)
        + &no_total(summary)
}

/// The row of a total that is the sum of several rails.
fn total(energy: &EnergySummary) -> Vec<Text> {
    vec![
        (format!("= {}", energy.of), Ink::Bold),
        (mean(energy.mean_mw, energy.total_mj, energy.ci95_mj), Ink::Bold),
        plain(or_unknown(energy.median_mw, watts)),
        plain(or_unknown(energy.p95_mw, watts)),
        plain(or_unknown(energy.peak_mw, watts)),
        plain(or_unknown(energy.idle_mw, watts)),
        (
            format!("{} J", in_thousands(energy.total_mj, energy.ci95_mj)),
            Ink::Bold,
        ),
        dim(""),
        dim(""),
        dim(""),
        dim("sum"),
    ]
}

/// Said where the eye looks for the total.
fn no_total(summary: &Summary) -> String {
    match summary.energy {
        Some(_) => String::new(),
        None => "  no total: which of these rails add up to it is unknown, or one of them was not read\n"
            .to_owned(),
    }
}

/// The time above the power budget, where one was given.
pub(super) fn budget(summary: &Summary, style: &Style) -> String {
    let Some(budget) = &summary.budget else {
        return String::new();
    };
    let title = format!("BUDGET {} W", short(budget.limit_mw / 1e3));
    let (Some(share), Some(above), Some(covered)) = (budget.share_above, budget.above_s, budget.covered)
    else {
        let why = budget.withheld.as_deref().unwrap_or("there is no total");
        let lines = super::wrapped(why, usize::from(style.width).saturating_sub(4).max(20));
        return heading(&title, "cannot be judged", style) + &format!("  {}\n", lines.join("\n  "));
    };
    let note = format!(
        "{} against it; moments above it, the longest first",
        budget.of.unwrap_or("total")
    );
    let mut text = heading(&title, &note, style);
    text.push_str(&format!(
        "  above it for {} ({} s){}\n",
        percent(share),
        short(above),
        match covered < 0.99 {
            true => format!(
                " of the time that was measured, which is {} of the run",
                percent(covered)
            ),
            false => String::new(),
        }
    ));
    if budget.moments.is_empty() {
        return text;
    }
    let mut grid = Grid::headed()
        .column("at s", Align::Right)
        .column("for s", Align::Right)
        .column("mean W", Align::Right)
        .column("peak W", Align::Right);
    for moment in &budget.moments {
        grid.row(vec![
            plain(short(moment.at_s)),
            plain(short(moment.length_s)),
            plain(watts(moment.mean_mw)),
            plain(watts(moment.peak_mw)),
        ]);
    }
    text.push_str(&grid.render(style));
    if budget.more_moments > 0 {
        text.push_str(&format!("  and {} shorter moments\n", budget.more_moments));
    }
    text
}

/// A rail's relation to the board's total, in words.
pub(crate) fn role(rail: &RailSummary) -> String {
    match (&rail.within, rail.role) {
        (Some(parent), _) => format!("within {parent}"),
        (None, RailRole::Summand) => "in total".to_owned(),
        (None, role) => role.to_string(),
    }
}

fn energy(summary: &Summary, style: &Style) -> String {
    let Some(energy) = &summary.energy else {
        return String::new();
    };
    let above = match (energy.above_idle_mj, energy.idle_mw) {
        (Some(above), Some(idle)) => format!(
            ", {} above idle ({} W)",
            joules_within(above, energy.above_idle_ci95_mj),
            watts(idle)
        ),
        _ => ", idle not measured".to_owned(),
    };
    let mut text = format!(
        "  {}: {}{above}; sensors uncalibrated\n",
        energy.of,
        joules_within(energy.total_mj, energy.ci95_mj)
    );
    if let Some(why) = energy.ci95_withheld {
        text.push_str(&format!("  no interval: {why}\n"));
    }
    if summary
        .tenants
        .iter()
        .all(|tenant| tenant.energy_mj_per_frame.is_none())
    {
        return text;
    }
    let mut grid = Grid::headed()
        .column("tenant", Align::Left)
        .column("mJ/frame", Align::Right)
        .column("above idle", Align::Right)
        .column("frames/J", Align::Right)
        .column("share", Align::Right);
    for tenant in &summary.tenants {
        let Some(per_frame) = &tenant.energy_mj_per_frame else {
            grid.row(vec![
                (name_of(tenant, style), Ink::Bold),
                dim(UNKNOWN),
                dim(UNKNOWN),
                dim(UNKNOWN),
                dim(UNKNOWN),
            ]);
            continue;
        };
        grid.row(vec![
            (name_of(tenant, style), Ink::Bold),
            plain(of_interval(per_frame.total, per_frame.ci95)),
            plain(or_unknown(per_frame.above_idle, |mj| {
                of_interval(mj, per_frame.above_idle_ci95)
            })),
            plain(or_unknown(per_frame.frames_per_joule, |frames| {
                measured(frames, per_frame.frames_per_joule_ci95())
            })),
            plain(percent(per_frame.share)),
        ]);
    }
    text.push('\n');
    let note = match energy.attribution {
        Some(_) => "attributed by share of compute time, not measured per tenant",
        None => "all charged to the only tenant",
    };
    text.push_str(&heading("ENERGY", note, style));
    text + &grid.render(style)
}

/// A power in mW, shown in W.
fn watts(mw: f64) -> String {
    short(mw / 1e3)
}

/// A mean power in mW, shown in W with the digits that its energy has.
pub(crate) fn mean(mw: f64, energy_mj: f64, interval: Option<[f64; 2]>) -> String {
    let scale = (energy_mj != 0.0).then(|| mw / energy_mj);
    in_thousands(
        mw,
        interval.zip(scale).map(|(ends, scale)| ends.map(|mj| mj * scale)),
    )
}

/// Thousandths of a unit, shown in the unit with the digits of their interval.
pub(crate) fn in_thousands(x: f64, interval: Option<[f64; 2]>) -> String {
    measured(x / 1e3, interval.map(|ends| ends.map(|end| end / 1e3)))
}

/// A figure with its interval, where it has one.
pub(crate) fn of_interval(x: f64, interval: Option<[f64; 2]>) -> String {
    match interval {
        Some(interval) => plus_minus(x, interval),
        None => measured(x, None),
    }
}

/// An energy in mJ, shown in J with its interval, where it has one.
pub(crate) fn joules_within(mj: f64, interval: Option<[f64; 2]>) -> String {
    match interval {
        Some(interval) => format!("{} J", plus_minus(mj / 1e3, interval.map(|mj| mj / 1e3))),
        None => format!("{} J", in_thousands(mj, None)),
    }
}
