//! Tables whose columns are figures of tenants: which ones, says the table of figures.

use jetlag_figure::Unit;
use jetlag_figure::section::Cell;

use crate::analysis::figures::Absent;
use crate::analysis::figures::key::{Plain, Shown};
use crate::analysis::summary::TenantSummary;
use crate::number::short;
use crate::units::Bytes;

/// The figures of such a table, each with the head of its column.
pub(super) fn of(table: Shown) -> impl Iterator<Item = (Plain, &'static str)> {
    let all = Plain::ALL
        .iter()
        .filter_map(|figure| Some((*figure, figure.entry().shown?)));
    all.filter(move |(_, (shown, _))| *shown == table)
        .map(|(figure, (_, head))| (figure, head))
}

/// A tenant's cells in it. Empty where a tenant does not have the figure, which is not the same as one that is not known.
pub(super) fn cells(table: Shown, tenant: &TenantSummary) -> impl Iterator<Item = Cell> {
    of(table).map(|(figure, _)| match figure.read(tenant) {
        Ok(found) => Cell::new(show(figure.entry().unit, found.value)),
        Err(Absent::Nothing) => Cell::default(),
        Err(_) => Cell::unknown(),
    })
}

/// What a tenant has of it, in words: `30.0 frames/s`.
pub(crate) fn named(table: Shown, tenant: &TenantSummary) -> impl Iterator<Item = String> {
    of(table).filter_map(|(figure, head)| {
        let found = figure.read(tenant).ok()?;
        Some(format!("{} {head}", show(figure.entry().unit, found.value)))
    })
}

/// Why figures of it are not known, each reason with what it is of: `networks (camera)`.
pub(super) fn reasons(table: Shown, tenant: &TenantSummary) -> impl Iterator<Item = (&'static str, String)> {
    of(table).filter_map(|(figure, head)| match figure.read(tenant) {
        Err(Absent::Withheld(reason)) => Some((head, reason)),
        _ => None,
    })
}

/// A value below a head that says what it is of.
fn show(unit: Unit, value: f64) -> String {
    match unit {
        Unit::Fps | Unit::Factor => short(value),
        Unit::Bytes => Bytes(value as u64).to_string(),
        other => other.show(value),
    }
}
