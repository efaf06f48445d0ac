//! The frames of several cameras, camera by camera.

use jetlag_figure::section::{Cell, Table};

use super::{Section, plain_time, tenant, unit_of};
use crate::analysis::Summary;
use crate::analysis::summary::{CameraFrames, Cameras, TenantSummary};

/// What is said where no frame tells whose it is.
const UNKNOWN: &str = "whose image each frame is, is unknown: the run file does not say it";

/// The section; none where no tenant has several cameras.
pub(super) fn section(summary: &Summary) -> Option<Section> {
    let all = || summary.tenants.iter().enumerate().filter_map(known);
    let unit = unit_of(all().flat_map(|(.., cameras)| cameras.iter().map(|of| &of.response_ms)));
    let mut table = Table::new("")
        .words("tenant")
        .words("camera")
        .number("offered")
        .optional_number("completed")
        .numbers(["dropped", "missed", "p50", "p99", "age p50", "age p99"]);
    for (number, of, cameras) in all() {
        for camera in cameras {
            let age = |pick: fn(&CameraFrames) -> Option<f64>| {
                let is_known = camera.age_ms.is_some();
                if is_known {
                    plain_time(unit, pick(camera))
                } else {
                    Cell::default()
                }
            };
            let counts = [camera.offered, camera.completed, camera.dropped, camera.missed];
            let times = [camera.response_ms.p50, camera.response_ms.p99];
            let mut row = vec![tenant(number, of), Cell::new(called(camera))];
            row.extend(counts.map(|count| Cell::new(count.to_string())));
            row.extend(times.map(|of| plain_time(unit, of.value)));
            row.push(age(|camera| camera.age_ms.as_ref()?.p50.value));
            row.push(age(|camera| camera.age_ms.as_ref()?.p99.value));
            table.row(row);
        }
    }
    let unknown = summary
        .tenants
        .iter()
        .filter(|tenant| tenant.cameras == Cameras::Unknown);
    let note = format!("{}; response time from release to result", unit.name());
    Section::new("cameras", "Each camera", note)
        .table(table.without_empty_columns())
        .texts(unknown.map(|tenant| format!("{}: {UNKNOWN}", tenant.name)))
        .unless_empty()
}

/// A tenant's cameras, where frames say theirs.
fn known((number, tenant): (usize, &TenantSummary)) -> Option<(usize, &TenantSummary, &[CameraFrames])> {
    match &tenant.cameras {
        Cameras::Known(cameras) => Some((number, tenant, cameras)),
        Cameras::One | Cameras::Unknown => None,
    }
}

/// Its name, or its number.
fn called(of: &CameraFrames) -> String {
    of.name.clone().unwrap_or_else(|| of.camera.to_string())
}
