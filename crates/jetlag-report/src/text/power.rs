//! Power and energy: each rail over the measured time, the total, and the energy per frame.

use super::number::{UNKNOWN, or_unknown, percent, short};
use super::{dim, heading, name_of, plain};
use crate::Style;
use crate::analysis::Summary;
use crate::analysis::summary::RailSummary;
use crate::record::RailRole;
use crate::table::{Align, Grid, Ink};

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
        .column("peak", Align::Right)
        .column("idle", Align::Right)
        .column("energy", Align::Right)
        .optional("refresh", Align::Right)
        .optional("coverage", Align::Right)
        .optional("source", Align::Left)
        .optional("role", Align::Left);
    for rail in &summary.power {
        let counted = summary
            .energy
            .as_ref()
            .is_some_and(|energy| energy.rails.contains(&format!("{}/{}", rail.source, rail.rail)));
        let ink = if counted { Ink::Bold } else { Ink::Plain };
        grid.row(vec![
            (rail.rail.clone(), ink),
            (watts(rail.mean_mw), ink),
            plain(watts(rail.peak_mw)),
            plain(or_unknown(rail.idle_mw, watts)),
            (joules(rail.energy_mj), ink),
            plain(or_unknown(rail.refresh_ms, |ms| format!("{} ms", short(ms)))),
            plain(percent(rail.coverage)),
            dim(&rail.source),
            dim(role(rail)),
        ]);
    }
    heading(
        "POWER",
        "W and J over the measured time; coverage: sensed share of that time",
        style,
    ) + &grid.render(style)
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
    let interval = |bounds: Option<[f64; 2]>| {
        bounds.map_or(String::new(), |[low, high]| {
            format!(" ± {}", joules((high - low) / 2.0))
        })
    };
    let above = match (energy.above_idle_mj, energy.idle_mw) {
        (Some(above), Some(idle)) => format!(
            ", {}{} above idle ({} W)",
            joules(above),
            interval(energy.above_idle_ci95_mj),
            watts(idle)
        ),
        _ => ", idle not measured".to_owned(),
    };
    let mut text = format!(
        "  {}: {}{}{above}; sensors uncalibrated\n",
        energy.of,
        joules(energy.total_mj),
        interval(energy.ci95_mj)
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
        .column("share", Align::Right);
    for tenant in &summary.tenants {
        let Some(per_frame) = &tenant.energy_mj_per_frame else {
            grid.row(vec![
                (name_of(tenant, style), Ink::Bold),
                dim(UNKNOWN),
                dim(UNKNOWN),
                dim(UNKNOWN),
            ]);
            continue;
        };
        grid.row(vec![
            (name_of(tenant, style), Ink::Bold),
            plain(short(per_frame.total)),
            plain(or_unknown(per_frame.above_idle, short)),
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

/// An energy in mJ, shown in J.
fn joules(mj: f64) -> String {
    format!("{} J", short(mj / 1e3))
}
