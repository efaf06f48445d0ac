//! Predictions: what changes would do to each tenant's median response and service, and what that assumes.

use jetlag_figure::section::{Cell, Table, Tone};

use super::{Section, plain_time};
use crate::analysis::summary::what_if::{Predicted, WhatIf};
use crate::number::{self, TimeUnit};

/// Change that reads as none.
const NONE: f64 = 0.000_5;

/// The section.
pub(crate) fn section(found: &WhatIf) -> Section {
    let figures = || {
        let tenants = found.tenants.iter().enumerate();
        tenants.flat_map(|(number, tenant)| {
            let both = [("response", &tenant.response), ("service", &tenant.service)];
            both.map(|figure| (Cell::tenant(&tenant.tenant, number), figure))
        })
    };
    let unit = TimeUnit::for_millis(figures().filter_map(|(_, (_, figure))| figure.traced_ms));
    let of = match (&found.untraced, found.traces) {
        (Some(untraced), _) => format!("untraced frames of {untraced}"),
        (None, 0 | 1) => "one perturbed trace".to_owned(),
        (None, traces) => format!("{traces} perturbed traces"),
    };
    let note = format!("p50 in {}, of {}; change of {of}", unit.name(), found.phase);
    let has_untraced = figures().any(|(_, (_, figure))| figure.untraced_ms.is_some());
    let table = Table::new("")
        .words("tenant")
        .words("")
        .numbers(["traced", "then"]);
    let table = match has_untraced {
        true => table.numbers(["untraced", "then"]),
        false => table,
    };
    let mut table = table.number("change").words("95 %");
    for (tenant, (measure, figure)) in figures() {
        let time = |ms| plain_time(unit, ms);
        let mut row = vec![tenant, Cell::new(measure).tone(Tone::Dim)];
        row.extend([figure.traced_ms, figure.predicted_ms].map(time));
        if has_untraced {
            row.extend([figure.untraced_ms, figure.expected_ms].map(time));
        }
        row.push(change(figure));
        row.push(Cell::of(figure.change_ci95, number::change_range).tone(Tone::Dim));
        table.row(row);
    }
    Section::new("what-if", "What if", note)
        .texts(found.changes.iter().cloned())
        .table(table)
        .remarks(found.assumptions.iter().cloned())
}

/// A relative change in percent, with its sign.
fn signed(change: f64, interval: Option<[f64; 2]>) -> String {
    match interval {
        None if change.abs() < NONE => "±0 %".to_owned(),
        interval => number::change(change, interval),
    }
}

fn change(figure: &Predicted) -> Cell {
    let tone = match figure.change {
        Some(change) if change <= -NONE => Tone::Good,
        Some(change) if change >= NONE => Tone::Bad,
        Some(_) => Tone::Plain,
        None => Tone::Dim,
    };
    Cell::of(figure.change, |change| signed(change, figure.change_ci95)).tone(tone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_has_the_digits_of_its_interval_and_none_is_none() {
        assert_eq!(
            [0.0, 0.3, -0.0001].map(|change| signed(change, None)),
            ["±0 %", "+30 %", "±0 %"]
        );
        assert_eq!(signed(0.3, Some([0.297, 0.303])), "+30.0 %");
        let faster = Predicted {
            change: Some(-0.2),
            ..Predicted::default()
        };
        assert_eq!(change(&faster).tone, Tone::Good);
        assert_eq!(change(&Predicted::default()), Cell::unknown());
    }
}
