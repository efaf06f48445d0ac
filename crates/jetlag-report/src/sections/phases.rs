//! What became of the frames of each phase; on a terminal, of those where frames were lost or late.

use jetlag_figure::section::{Cell, Table, Tone};

use super::{Section, named};
use crate::analysis::Summary;
use crate::number::or_unknown;

/// The section; none of a run of one phase.
pub(super) fn section(summary: &Summary) -> Option<Section> {
    if summary.phases.len() < 2 {
        return None;
    }
    let mut table = Table::new("")
        .words("phase")
        .optional_number("turns")
        .words("tenant")
        .number("offered")
        .optional_number("completed")
        .numbers(["dropped", "missed", "failed", "late", "measured"]);
    for phase in &summary.phases {
        for part in &phase.tenants {
            let frames = &part.frames;
            let row = [
                Cell::group(&phase.label).note(phase.sharing.clone().unwrap_or_default()),
                Cell::group(phase.turns.map_or(String::new(), |turns| turns.to_string())),
                named(summary, &part.tenant),
                Cell::new(frames.offered.to_string()),
                Cell::new(frames.completed.to_string()),
                Cell::alarming(frames.dropped),
                Cell::new(frames.missed.to_string()),
                Cell::alarming(frames.failed + frames.failed_in_warmup),
                Cell::new(or_unknown(part.late_releases, |late| late.to_string())).tone(Tone::Dim),
                Cell::of(part.measured_s, |seconds| format!("{seconds:.1} s")),
            ];
            match part.notable && phase.kind != "together" {
                true => table.row(row),
                false => table.detail(row),
            }
        }
    }
    Section::new(
        "phases",
        "Phases",
        "frames released in each phase, or in all its turns",
    )
    .explained("Comparisons between phases use only the time in which all tenants of a phase ran.")
    .table(table)
    .unless_empty()
}
