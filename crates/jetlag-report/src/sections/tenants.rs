//! How late each tenant's results were, and what became of its frames.

use jetlag_figure::section::{Cell, Table, Tone};

use super::{Drawing, Section, columns, plain_time, tenant, unit_of};
use crate::analysis::Summary;
use crate::analysis::figures::key::Shown;
use crate::analysis::summary::{Estimate, FrameCounts, Stats, TenantSummary};
use crate::number::{TimeUnit, percent, share_range, tells_of_others};

/// Response times with their intervals, and misses.
pub(super) fn responses(summary: &Summary) -> Option<Section> {
    let unit = unit_of(summary.tenants.iter().map(|tenant| &tenant.response_ms));
    let mut table = Table::new("")
        .words("tenant")
        .numbers(["p50", "p90", "p99", "max"])
        .optional_number("deadline")
        .number("missed");
    for (number, of) in summary.tenants.iter().enumerate() {
        let loops = if of.closed_loop { "closed loop" } else { "" };
        let stats = &of.response_ms;
        let mut row = vec![tenant(number, of)];
        row.extend(quantiles(stats, unit, summary.seconds_of(&of.name)));
        row.push(plain_time(unit, stats.max));
        row.push(plain_time(unit, of.deadline_ms).note(loops));
        row.push(missed(of));
        table.row(row);
    }
    let of_the_run = "this run: of these frames; for another run it takes longer, or a steadier machine";
    let closed = "closed loop: released when the tenant is ready, so no queueing is measured";
    let remarks = [
        (summary.tenants.iter().any(is_of_the_run), of_the_run),
        (summary.tenants.iter().any(|tenant| tenant.closed_loop), closed),
    ];
    let remarks = remarks.into_iter().filter(|(is_said, _)| *is_said);
    let note = format!(
        "{}, from release to result; 95 % interval below each quantile",
        unit.name()
    );
    (!summary.tenants.is_empty()).then(|| {
        Section::new("tenants", "Response time", note)
            .table(table)
            .remarks(remarks.map(|(_, remark)| remark.to_owned()))
    })
}

/// p50, p90 and p99, each with its interval or with what stands in place of it.
fn quantiles(stats: &Stats, unit: TimeUnit, seconds: Option<f64>) -> [Cell; 3] {
    [stats.p50, stats.p90, stats.p99].map(|of| super::quantile(unit, of, stats, seconds))
}

fn missed(tenant: &TenantSummary) -> Cell {
    let promised = tenant.deadline_ms.is_some();
    let cell = match tenant.miss_rate {
        Some(rate) if rate > 0.0 => Cell::new(percent(rate)).tone(Tone::Bad),
        Some(rate) if promised => Cell::new(percent(rate)),
        _ => return Cell::unknown(),
    };
    match tenant.miss_rate_ci95.filter(|_| promised) {
        Some(range) if tells_of_others(&range) => cell.note(share_range(range)),
        Some(_) => cell.note("this run"),
        None => cell,
    }
}

/// Whether a figure of a tenant is of these frames alone.
fn is_of_the_run(tenant: &TenantSummary) -> bool {
    let stats = &tenant.response_ms;
    let shown = [stats.p50, stats.p90, stats.p99];
    let lacks_interval = |of: &Estimate| of.value.is_some() && of.lack.is_some();
    let says_nothing = |range| tenant.deadline_ms.is_some() && !tells_of_others(&range);
    shown.iter().any(lacks_interval) || tenant.miss_rate_ci95.is_some_and(says_nothing)
}

/// Response times over time.
pub(super) fn over_time(summary: &Summary) -> Option<Section> {
    let is_drawn = summary
        .plots
        .tenants
        .iter()
        .any(|plot| !plot.over_time.is_empty());
    is_drawn.then(|| {
        Section::new("time", "Over time", "worst latency per time slice; × missed or dropped")
            .explained(
                "Every extreme is drawn, however long the run. Circles are the slowest frames, explained below by their numbers.",
            )
            .drawing(Drawing::OverTime)
    })
}

/// The distribution of response times.
pub(super) fn spread(summary: &Summary) -> Option<Section> {
    let is_drawn = summary.plots.tenants.iter().any(|plot| plot.spread.is_some());
    is_drawn.then(|| {
        Section::new("spread", "Distribution", "histogram of response times").drawing(Drawing::Spread)
    })
}

/// What became of the frames.
pub(super) fn frames(summary: &Summary) -> Option<Section> {
    let table = Table::new("")
        .words("tenant")
        .words("arrival")
        .numbers(["offered", "completed", "dropped", "failed"])
        // Seldom there, and then they must be: without them the columns would not add up.
        .number("overdue")
        .number("failed in warm-up");
    // Where there is no room, the last ones are left out first.
    let heads = columns::of(Shown::Frames).enumerate();
    let mut table = heads
        .fold(table, |table, (place, (_, head))| match place {
            0 => table.number(head),
            _ => table.optional_number(head),
        })
        .optional_words("backend");
    let any = |count: fn(&FrameCounts) -> u64| summary.tenants.iter().any(|of| count(&of.frames) > 0);
    let (overdue, before) = (any(|of| of.overdue), any(|of| of.failed_in_warmup));
    let seldom = |count: u64, is_there| {
        if is_there {
            Cell::alarming(count)
        } else {
            Cell::default()
        }
    };
    for (number, of) in summary.tenants.iter().enumerate() {
        let counts = &of.frames;
        let mut row = vec![
            tenant(number, of),
            Cell::new(&of.arrival),
            Cell::new(counts.offered.to_string()),
            Cell::new(counts.completed.to_string()),
            Cell::alarming(counts.dropped),
            Cell::alarming(counts.failed),
            seldom(counts.overdue, overdue),
            seldom(counts.failed_in_warmup, before),
        ];
        row.extend(columns::cells(Shown::Frames, of));
        row.push(Cell::new(&of.backend));
        table.row(row);
    }
    Section::new("frame-counts", "Frames", "released in the measured time")
        .table(table.without_empty_columns())
        .unless_empty()
}
