//! The outputs of bare networks: how far they are from their reference, and where they were kept.

use super::scaled::paragraph;
use super::{heading, name_of, plain};
use crate::Style;
use crate::analysis::Summary;
use crate::number::UNKNOWN;
use crate::table::{Align, Grid, Ink};

pub(super) fn section(summary: &Summary, style: &Style) -> String {
    let mut rows = summary
        .tenants
        .iter()
        .flat_map(|tenant| tenant.outputs.iter().map(move |output| (tenant, output)))
        .peekable();
    if rows.peek().is_none() {
        return String::new();
    }
    let mut grid = Grid::headed()
        .column("tenant", Align::Left)
        .column("output", Align::Left)
        .column("type", Align::Left)
        .column("shape", Align::Left)
        .column("NaN", Align::Right)
        .column("differing", Align::Right)
        .column("max |Δ|", Align::Right)
        .column("max |Δ|/|ref|", Align::Right)
        .column("", Align::Left);
    let mut notes = Vec::new();
    for (tenant, output) in rows {
        let far = |distance: Option<f64>| distance.map_or(UNKNOWN.to_owned(), |far| format!("{far:.2e}"));
        let verdict = match output.within {
            Some(true) => ("✓ within".to_owned(), Ink::Good),
            Some(false) => ("✗ differs".to_owned(), Ink::Bad),
            None => plain(""),
        };
        let extents: Vec<String> = output.shape.iter().map(u64::to_string).collect();
        let differing = output.differing.map_or(UNKNOWN.to_owned(), |count| {
            format!("{count} of {}", output.elements)
        });
        grid.row(vec![
            plain(name_of(tenant, style)),
            plain(&output.name),
            plain(&output.element),
            plain(extents.join("x")),
            plain(output.not_numbers.to_string()),
            plain(differing),
            plain(far(output.largest_absolute)),
            plain(far(output.largest_relative)),
            verdict,
        ]);
        if let Some(problem) = &output.problem {
            notes.push(format!("{}: output {}: {problem}", tenant.name, output.name));
        }
        if let Some(kept) = &output.kept {
            notes.push(format!("{}: output {} is in {kept}", tenant.name, output.name));
        }
    }
    let notes: String = notes.iter().map(|note| paragraph(note, "  ", style)).collect();
    heading("OUTPUTS", "of the last frame, beside the reference", style) + &grid.render(style) + &notes
}
