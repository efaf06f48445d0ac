//! How long each tenant took to start, part after part.

use jetlag_figure::section::{Cell, Table};

use super::{Section, plain_time};
use crate::analysis::Recorded;
use crate::analysis::summary::start_up::TenantStart;
use crate::number::TimeUnit;

/// The section; none where nothing is known.
pub(crate) fn section(tenants: &[TenantStart], recorded: Recorded) -> Option<Section> {
    let is_known = |tenant: &TenantStart| tenant.load_ms.is_some() || tenant.first_frame_ms.is_some();
    let mut table = Table::new("").words("tenant").numbers([
        "GPUs",
        "detector",
        "networks",
        "load",
        "allocate",
        "first frame",
    ]);
    for (number, tenant) in tenants.iter().enumerate() {
        let parts = [
            tenant.devices_ms,
            tenant.detector_ms,
            tenant.networks_ms,
            tenant.load_ms,
            tenant.allocate_ms,
            tenant.first_frame_ms,
        ];
        let parts = parts.map(|ms| plain_time(TimeUnit::Millis, ms));
        table.row(std::iter::once(Cell::tenant(&tenant.tenant, number)).chain(parts));
    }
    let why = match recorded {
        Recorded::Scenario | Recorded::Machine => {
            "The run file does not say how long loading took: in simulated time it takes none."
        }
        Recorded::Program => "A program loads for itself, so of its start the first batch alone is known.",
    };
    let is_unknown = tenants.iter().all(|tenant| tenant.load_ms.is_none());
    let note = "ms, part after part; GPUs are opened once for all tenants of a process";
    tenants.iter().any(is_known).then(|| {
        Section::new("start-up", "Start-up", note)
            .table(table)
            .remarks(is_unknown.then(|| why.to_owned()))
    })
}
