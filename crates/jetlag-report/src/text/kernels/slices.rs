//! How tenants had a GPU in turns.

use super::paragraph;
use crate::Style;
use crate::analysis::summary::kernels::KernelPhase;
use crate::table::{Align, Grid, Ink};
use crate::text::number::{or_unknown, percent, short};
use crate::text::{cut, dim, heading, plain};

/// The time slices of a phase; empty where there is nothing to say of them.
pub(super) fn section(phase: &KernelPhase, style: &Style) -> String {
    if let Some(needs) = &phase.slices_needs {
        return heading("TIME SLICES", "", style)
            + &paragraph(&format!("Withheld; needs {needs}."), Ink::Dim, style);
    }
    if phase.slices.is_empty() {
        return String::new();
    }
    let several = phase.slices.iter().any(|row| row.gpu != phase.slices[0].gpu);
    let mut grid = Grid::headed().column("tenant", Align::Left);
    if several {
        grid = grid.column("GPU", Align::Right);
    }
    let mut grid = grid
        .column("slices", Align::Right)
        .column("share", Align::Right)
        .column("mean", Align::Right)
        .column("p99", Align::Right)
        .column("gap", Align::Right)
        .column("gap p99", Align::Right);
    for row in &phase.slices {
        let mut cells = vec![match &row.tenant {
            Some(tenant) => (cut(tenant, style), Ink::Bold),
            None => dim("several tenants, or none"),
        }];
        if several {
            cells.push(plain(row.gpu.to_string()));
        }
        cells.extend([
            plain(row.slices.to_string()),
            plain(percent(row.share)),
            plain(short(row.mean_us)),
            plain(or_unknown(row.p99_us, short)),
            plain(or_unknown(row.gap_mean_us, short)),
            plain(or_unknown(row.gap_p99_us, short)),
        ]);
        grid.row(cells);
    }
    let note = "µs; the GPU was switched to a tenant's context";
    heading("TIME SLICES", note, style) + &grid.render(style) + &limits(phase, style)
}

/// How certain the places are, and what made no slice.
fn limits(phase: &KernelPhase, style: &Style) -> String {
    let mut said = String::new();
    for trace in &phase.traces {
        let Some(slices) = &trace.slices else {
            continue;
        };
        let place = match slices.within_us {
            Some(within) => format!("placed by kernels within {} µs", short(within)),
            None => "lengths are right, places unknown: too few kernels".to_owned(),
        };
        let mut line = format!("Process {}: {place}", trace.process);
        for (count, what) in [
            (slices.unpaired, "switches without their other half"),
            (slices.unknown, "slices of unknown contexts"),
        ] {
            if count > 0 {
                line += &format!("; {count} {what}");
            }
        }
        said += &paragraph(&(line + "."), Ink::Dim, style);
    }
    said
}
