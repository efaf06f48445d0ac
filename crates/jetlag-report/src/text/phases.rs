//! What became of the frames in phases other than the measurement, where frames were lost or late.

use super::{cut, dim, heading, plain};
use crate::Style;
use crate::analysis::Summary;
use crate::number::or_unknown;
use crate::table::{Align, Grid, Ink};

/// The section; empty where every frame of every phase was served in time.
pub(super) fn section(summary: &Summary, style: &Style) -> String {
    let others = || summary.phases.iter().filter(|phase| phase.kind != "together");
    let mut grid = Grid::headed()
        .column("phase", Align::Left)
        .optional("turns", Align::Right)
        .column("tenant", Align::Left)
        .column("offered", Align::Right)
        .column("dropped", Align::Right)
        .column("missed", Align::Right)
        .column("failed", Align::Right)
        .column("late", Align::Right)
        .column("measured", Align::Right);
    let mut any = false;
    let alarming = |count: u64| match count {
        0 => plain("0"),
        _ => (count.to_string(), Ink::Bad),
    };
    for phase in others() {
        let mut label = cut(&phase.label, style);
        let mut turns = phase.turns.map_or(String::new(), |turns| turns.to_string());
        for part in phase.tenants.iter().filter(|part| part.notable) {
            any = true;
            let frames = &part.frames;
            grid.row(vec![
                plain(std::mem::take(&mut label)),
                plain(std::mem::take(&mut turns)),
                (cut(&part.tenant, style), Ink::Bold),
                plain(frames.offered.to_string()),
                alarming(frames.dropped),
                plain(frames.missed.to_string()),
                alarming(frames.failed + frames.failed_in_warmup),
                dim(or_unknown(part.late_releases, |late| late.to_string())),
                plain(or_unknown(part.measured_s, |seconds| format!("{seconds:.1} s"))),
            ]);
        }
    }
    if !any {
        return String::new();
    }
    let note = "other phases with dropped, missed, failed or late frames";
    heading("PHASES", note, style) + &grid.render(style)
}
