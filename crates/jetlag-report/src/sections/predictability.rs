//! How predictable each tenant's response time is: spread, worst case, miss streaks, effective sample size.

use jetlag_figure::section::{Cell, Table};

use super::{Section, plain_time, tenant};
use crate::analysis::Summary;
use crate::analysis::summary::TenantSummary;
use crate::number::{TimeUnit, percent, short};

/// The section; none where no tenant completed a frame.
pub(super) fn section(summary: &Summary) -> Option<Section> {
    let all = summary.tenants.iter().enumerate();
    let completed = || all.clone().filter(|(_, tenant)| tenant.response_ms.count > 0);
    let unit = TimeUnit::for_millis(completed().filter_map(|(_, tenant)| tenant.jitter_ms.or(tenant.iqr_ms)));
    let mut table = Table::new("")
        .words("tenant")
        .numbers([
            "p99−p50",
            "of p50",
            "p75−p25",
            "max/p50",
            "miss streak",
            "frames",
            "effective",
        ])
        .optional_number("sd/mean");
    for (number, of) in completed() {
        let found = &of.predictability;
        table.row([
            tenant(number, of),
            plain_time(unit, of.jitter_ms),
            Cell::of(found.relative_spread, percent),
            plain_time(unit, of.iqr_ms),
            Cell::of(of.worst_over_median, |x| format!("×{}", short(x))),
            streak(of),
            Cell::new(of.response_ms.count.to_string()),
            Cell::of(found.effective_frames.p50, |frames| frames.to_string()),
            Cell::of(of.cv, percent),
        ]);
    }
    let correlated = completed().any(|(_, tenant)| {
        let effective = tenant.predictability.effective_frames.p50.unwrap_or(u64::MAX);
        effective < tenant.response_ms.count / 2
    });
    let remark = "effective: effective sample size for p50. Slow frames came in a row; the intervals take this into account";
    let note = format!("of the response time; in {} unless stated otherwise", unit.name());
    Section::new("predictability", "Predictability", note)
        .table(table)
        .remarks(correlated.then(|| remark.to_owned()))
        .unless_empty()
}

fn streak(tenant: &TenantSummary) -> Cell {
    match tenant.predictability.longest_miss_streak {
        0 if tenant.deadline_ms.is_none() => Cell::unknown(),
        frames => Cell::alarming(frames),
    }
}
