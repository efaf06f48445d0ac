//! The frames of several cameras, camera by camera.

use super::{heading, name_of, plain};
use crate::Style;
use crate::analysis::Summary;
use crate::analysis::summary::{CameraFrames, Cameras, Stats, TenantSummary};
use crate::number::{TimeUnit, or_unknown};
use crate::table::{Align, Grid, Ink};

/// What is said where no frame tells whose it is.
const UNKNOWN: &str = "whose image each frame is, is unknown: the run file does not say it";

/// The section; empty where no tenant has several cameras.
pub(super) fn section(summary: &Summary, style: &Style) -> String {
    let known = || summary.tenants.iter().filter_map(known);
    let mut text = String::new();
    if known().next().is_some() {
        let unit = unit_of(known().flat_map(|(_, cameras)| cameras));
        let has_age = known()
            .flat_map(|(_, cameras)| cameras)
            .any(|of| of.age_ms.is_some());
        let mut grid = Grid::headed()
            .column("tenant", Align::Left)
            .column("camera", Align::Left)
            .column("offered", Align::Right)
            .column("dropped", Align::Right)
            .column("missed", Align::Right)
            .column("p50", Align::Right)
            .column("p99", Align::Right);
        if has_age {
            grid = grid
                .column("age p50", Align::Right)
                .column("age p99", Align::Right);
        }
        for (tenant, cameras) in known() {
            let mut name = name_of(tenant, style);
            for of in cameras {
                let mut row = vec![(std::mem::take(&mut name), Ink::Bold), plain(called(of))];
                row.extend([of.offered, of.dropped, of.missed].map(|count| plain(count.to_string())));
                let times = [Some(&of.response_ms), of.age_ms.as_ref()];
                for stats in times.into_iter().take(1 + usize::from(has_age)) {
                    row.extend(figures(stats).map(|ms| plain(or_unknown(ms, |ms| unit.show(ms)))));
                }
                grid.row(row);
            }
        }
        let note = format!("{}; response time from release to result", unit.name());
        text = heading("EACH CAMERA", &note, style) + &grid.render(style);
    }
    for sentence in unknown(summary) {
        text.push_str(&sentence);
        text.push('\n');
    }
    text
}

/// A sentence for each tenant of several cameras whose frames do not say theirs.
pub(crate) fn unknown(summary: &Summary) -> impl Iterator<Item = String> {
    let tenants = summary.tenants.iter();
    tenants
        .filter(|tenant| tenant.cameras == Cameras::Unknown)
        .map(|tenant| format!("{}: {UNKNOWN}", tenant.name))
}

/// A tenant's cameras, where frames say theirs.
pub(crate) fn known(tenant: &TenantSummary) -> Option<(&TenantSummary, &[CameraFrames])> {
    match &tenant.cameras {
        Cameras::Known(cameras) => Some((tenant, cameras)),
        Cameras::One | Cameras::Unknown => None,
    }
}

/// One unit for the times of all of them.
pub(crate) fn unit_of<'c>(cameras: impl Iterator<Item = &'c CameraFrames>) -> TimeUnit {
    TimeUnit::for_millis(cameras.filter_map(|of| of.response_ms.p50.or(of.response_ms.max)))
}

/// Its name, or its number.
pub(crate) fn called(of: &CameraFrames) -> String {
    of.name.clone().unwrap_or_else(|| of.camera.to_string())
}

/// p50 and p99.
pub(crate) fn figures(stats: Option<&Stats>) -> [Option<f64>; 2] {
    [stats.and_then(|of| of.p50), stats.and_then(|of| of.p99)]
}
