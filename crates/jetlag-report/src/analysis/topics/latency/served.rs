//! From how many late, dropped or waiting frames on a phase says little of what was to be measured.

use crate::analysis::summary::FrameCounts;

/// Share of releases that may be late by more than the budget.
pub(in crate::analysis) const LATE_SHARE: f64 = 0.001;
/// Share of dropped frames above which p99 of the served ones says little about all offered ones.
const DROPPED_SHARE: f64 = 0.01;
/// Measured time below this share of the duration is a short run.
pub(in crate::analysis) const SHORT_SHARE: f64 = 0.99;

/// Whether so many frames were dropped that quantiles of the others say little about all of them.
pub(in crate::analysis) fn drops_matter(counts: &FrameCounts) -> bool {
    counts.dropped as f64 > counts.offered as f64 * DROPPED_SHARE
}

/// A few frames in flight at the end are normal; a queue of them shows a tenant that does not keep up, or chance.
pub(in crate::analysis) fn line_at_end(counts: &FrameCounts, in_flight: usize) -> bool {
    let waiting = counts.unfinished.saturating_add(counts.overdue);
    waiting > (in_flight as u64).saturating_mul(2).saturating_add(2)
        && waiting as f64 > counts.offered as f64 * 0.01
}
