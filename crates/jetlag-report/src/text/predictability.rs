//! How predictable each tenant's response time is: spread, worst case, miss streaks, effective sample size.

use super::{dim, heading, name_of, plain, wrapped};
use crate::Style;
use crate::analysis::Summary;
use crate::number::{TimeUnit, UNKNOWN, or_unknown, percent, short};
use crate::table::{Align, Grid, Ink};

/// The section; empty where no tenant completed a frame.
pub(super) fn section(summary: &Summary, style: &Style) -> String {
    let completed = || {
        summary
            .tenants
            .iter()
            .filter(|tenant| tenant.response_ms.count > 0)
    };
    if completed().next().is_none() {
        return String::new();
    }
    let unit = TimeUnit::for_millis(completed().filter_map(|tenant| tenant.jitter_ms.or(tenant.iqr_ms)));
    let note = format!("of the response time; in {} unless stated otherwise", unit.name());
    let mut grid = Grid::headed()
        .column("tenant", Align::Left)
        .column("p99−p50", Align::Right)
        .column("of p50", Align::Right)
        .column("p75−p25", Align::Right)
        .column("max/p50", Align::Right)
        .column("miss streak", Align::Right)
        .column("frames", Align::Right)
        .column("effective", Align::Right)
        .optional("sd/mean", Align::Right);
    for tenant in completed() {
        let of = &tenant.predictability;
        let streak = match of.longest_miss_streak {
            0 if tenant.deadline_ms.is_none() => dim(UNKNOWN),
            0 => plain("0"),
            frames => (frames.to_string(), Ink::Bad),
        };
        grid.row(vec![
            (name_of(tenant, style), Ink::Bold),
            plain(or_unknown(tenant.jitter_ms, |ms| unit.show(ms))),
            plain(or_unknown(of.relative_spread, percent)),
            plain(or_unknown(tenant.iqr_ms, |ms| unit.show(ms))),
            plain(or_unknown(tenant.worst_over_median, |x| format!("×{}", short(x)))),
            streak,
            plain(tenant.response_ms.count.to_string()),
            plain(or_unknown(of.effective_frames.p50, |frames| frames.to_string())),
            plain(or_unknown(tenant.cv, percent)),
        ]);
    }
    let mut text = heading("PREDICTABILITY", &note, style) + &grid.render(style);
    let correlated = completed().any(|tenant| {
        let effective = tenant.predictability.effective_frames.p50.unwrap_or(u64::MAX);
        effective < tenant.response_ms.count / 2
    });
    if correlated {
        let note = "effective: effective sample size for p50. Slow frames came in a row; the intervals take this into \
                    account";
        for line in wrapped(note, usize::from(style.width.max(60)) - 2) {
            text.push_str(&format!("  {}\n", Ink::Dim.paint(&line, style)));
        }
    }
    text
}
