//! How long each tenant took to start, for `jetlag report --critical-path`.

use std::io::{self, Write};

use super::{cut, heading, paragraph, plain};
use crate::Style;
use crate::analysis::Recorded;
use crate::analysis::summary::start_up::TenantStart;
use crate::number::{TimeUnit, or_unknown};
use crate::table::{Align, Grid, Ink};

/// Writes the parts of each tenant's start; nothing where nothing is known.
pub fn write(
    tenants: &[TenantStart],
    recorded: Recorded,
    out: &mut dyn Write,
    style: &Style,
) -> io::Result<()> {
    let known = tenants
        .iter()
        .any(|tenant| tenant.load_ms.is_some() || tenant.first_frame_ms.is_some());
    if !known {
        return Ok(());
    }
    let mut grid = Grid::headed()
        .column("tenant", Align::Left)
        .column("GPUs", Align::Right)
        .column("detector", Align::Right)
        .column("networks", Align::Right)
        .column("load", Align::Right)
        .column("allocate", Align::Right)
        .column("first frame", Align::Right);
    let unit = TimeUnit::Millis;
    for tenant in tenants {
        let mut row = vec![(cut(&tenant.tenant, style), Ink::Bold)];
        row.extend(
            [
                tenant.devices_ms,
                tenant.detector_ms,
                tenant.networks_ms,
                tenant.load_ms,
                tenant.allocate_ms,
                tenant.first_frame_ms,
            ]
            .map(|ms| plain(or_unknown(ms, |ms| unit.show(ms)))),
        );
        grid.row(row);
    }
    let mut text = heading(
        "START-UP",
        "ms, part after part; GPUs are opened once for all tenants of a process",
        style,
    );
    text += &grid.render(style);
    if tenants.iter().all(|tenant| tenant.load_ms.is_none()) {
        text += &paragraph(
            match recorded {
                Recorded::Scenario | Recorded::Machine => {
                    "The run file does not say how long loading took: in simulated time it takes none."
                }
                Recorded::Program => {
                    "A program loads for itself, so of its start the first batch alone is known."
                }
            },
            Ink::Dim,
            style,
        );
    }
    writeln!(out)?;
    out.write_all(text.as_bytes())
}
