//! Findings that another one explains: told before the figures by that one alone, and here each by itself.

use jetlag_figure::section::{Cell, Table};

use super::{Section, named};
use crate::analysis::Summary;

/// By which a terminal knows what it leaves out: it names their codes with the finding that explains them.
pub(crate) const ID: &str = "explained";

/// The section; none where no finding explains another.
pub(super) fn section(summary: &Summary) -> Option<Section> {
    let explained = &summary.run.explained;
    let mut causes: Vec<&str> = explained.iter().map(|of| of.explained_by.as_str()).collect();
    causes.dedup();
    let mut table = Table::new("")
        .words("finding")
        .words("tenant")
        .words("what was seen");
    for of in explained {
        let finding = &of.finding;
        let tenant = finding.tenant.as_deref();
        table.row([
            Cell::new(&finding.code).code(),
            tenant.map_or_else(Cell::default, |tenant| named(summary, tenant)),
            Cell::new(&finding.message).note(&finding.advice),
        ]);
    }
    Section::new(
        ID,
        format!("What follows from {}", causes.join(" and ")),
        "findings that it explains, each with what would be to do without it",
    )
    .table(table)
    .unless_empty()
}
