//! The outputs of bare networks: how far they are from their reference, and where they were kept.

use jetlag_figure::section::{Cell, Table, Tone};

use super::{Section, tenant};
use crate::analysis::Summary;

/// The section; none where no tenant compares or keeps outputs.
pub(super) fn section(summary: &Summary) -> Option<Section> {
    let mut table = Table::new("")
        .words("tenant")
        .words("output")
        .words("type")
        .words("shape")
        .numbers(["NaN", "differing", "max |Δ|", "max |Δ|/|ref|"])
        .words("");
    let mut notes = Vec::new();
    for (number, of) in summary.tenants.iter().enumerate() {
        for output in &of.outputs {
            let far = |distance: Option<f64>| Cell::of(distance, |far| format!("{far:.2e}"));
            let verdict = match output.within {
                Some(true) => Cell::new("✓ within").tone(Tone::Good),
                Some(false) => Cell::new("✗ differs").tone(Tone::Bad),
                None => Cell::default(),
            };
            let extents: Vec<String> = output.shape.iter().map(u64::to_string).collect();
            table.row([
                tenant(number, of),
                Cell::new(&output.name),
                Cell::new(output.element.to_string()),
                Cell::new(extents.join("x")),
                Cell::new(output.not_numbers.to_string()),
                Cell::of(output.differing, |count| {
                    format!("{count} of {}", output.elements)
                }),
                far(output.largest_absolute),
                far(output.largest_relative),
                verdict,
            ]);
            let of_it = |what: &str| format!("{}: output {}{what}", of.name, output.name);
            notes.extend(
                output
                    .problem
                    .as_ref()
                    .map(|problem| of_it(&format!(": {problem}"))),
            );
            notes.extend(output.kept.as_ref().map(|kept| of_it(&format!(" is in {kept}"))));
        }
    }
    Section::new("outputs", "Outputs", "of the last frame, beside the reference")
        .table(table)
        .texts(notes)
        .unless_empty()
}
