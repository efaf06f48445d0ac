//! The scenario's expectations, and whether each held.

use jetlag_figure::section::{Cell, Table, Tone};

use super::Section;
use crate::analysis::Summary;
use crate::analysis::summary::ExpectationResult;
use crate::number::or_unknown;

/// The section; none where the scenario expects nothing.
pub(super) fn section(summary: &Summary) -> Option<Section> {
    let mut table = Table::new("")
        .words("")
        .words("expectation")
        .number("found")
        .words("");
    for result in &summary.expectations {
        let (mark, tone) = match (result.value, result.holds) {
            (None, _) => ("? undecided", Tone::Warn),
            (_, true) => ("✓ holds", Tone::Good),
            (_, false) => ("✗ broken", Tone::Bad),
        };
        let remark = match (result.value, result.certain) {
            (None, _) => "see the findings",
            (_, Some(false)) => "close: the interval contains the limit",
            _ => "",
        };
        table.row([
            Cell::new(mark).tone(tone),
            Cell::new(&result.text),
            Cell::new(value_of(result)),
            Cell::new(remark).tone(Tone::Dim),
        ]);
    }
    let held = summary.expectations.iter().filter(|result| result.holds).count();
    let note = format!("{held} of {} hold", summary.expectations.len());
    Section::new("expectations", "Expectations", note)
        .table(table)
        .unless_empty()
}

/// The measured value with its unit.
pub(crate) fn value_of(result: &ExpectationResult) -> String {
    or_unknown(result.value.zip(result.unit), |(value, unit)| unit.show(value))
}
