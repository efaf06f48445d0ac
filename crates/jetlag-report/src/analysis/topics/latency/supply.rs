//! Predicts how many frames a tenant completes in a given time, so that a finding can say how long to run.

use crate::analysis::summary::TenantSummary;
use crate::scenario::{Arrival, Tenant};
use crate::units::Nanos;

/// How many frames a tenant completes per time.
pub(in crate::analysis) struct Supply {
    /// Released frames per second.
    rate: Option<f64>,
    /// Share of released frames that are completed.
    completed: f64,
    /// Index of dispersion of the count, variance over mean: 0 for a fixed schedule, 1 for a Poisson process.
    scatter: f64,
    /// Frames from which dispersion or rate was estimated; `None` if both come from the scenario.
    seen: Option<f64>,
    /// Frames that are cut off at the end of a run.
    cut_off: f64,
}

impl Supply {
    /// For a tenant that was measured for this long; `has` are the frames that count: all that were completed, or those of them that
    /// have a stage.
    pub(in crate::analysis) fn of(
        scenario: &Tenant,
        summary: &TenantSummary,
        measured: Nanos,
        has: u64,
    ) -> Supply {
        let counts = summary.frames;
        let released = (counts.offered + counts.unfinished) as f64;
        let seen = has.max(1) as f64;
        let seconds = measured.as_secs_f64();
        let as_it_came = (seconds > 0.0).then(|| has as f64 / seconds);
        let completed = (seen / released.max(seen)).min(1.0);
        let (rate, scatter) = match scenario.arrival {
            // The number of dropped frames varies more than if each were dropped independently.
            Arrival::Periodic { hz, .. } | Arrival::Sampled { hz, .. } => (Some(hz), 2.0 * (1.0 - completed)),
            Arrival::Poisson { hz } => (Some(hz), 1.0 + (1.0 - completed)),
            Arrival::Replay { .. } | Arrival::Live => (as_it_came, 1.0),
            // Few frames show little of a long tail: use twice the observed value.
            Arrival::Closed => (as_it_came, 2.0 * summary.cv.unwrap_or(1.0).powi(2)),
        };
        let states_it = matches!(
            scenario.arrival,
            Arrival::Periodic { .. } | Arrival::Poisson { .. }
        );
        let from_scenario = states_it && completed == 1.0;
        Supply {
            rate: rate.filter(|rate| *rate > 0.0),
            completed,
            scatter,
            seen: (!from_scenario).then_some(seen),
            cut_off: (counts.unfinished + counts.overdue) as f64,
        }
    }

    /// Expected frames such that at least `needs` are completed in 199 of 200 runs.
    fn frames_for(&self, needs: u64) -> f64 {
        const DEVIATIONS: f64 = 2.6;
        let needs = needs as f64;
        let seen = self.seen.map_or(1.0, |seen| 1.0 + needs / seen);
        let (spread, half) = (self.scatter * seen, DEVIATIONS * DEVIATIONS / 2.0);
        if spread == 0.0 {
            return needs;
        }
        needs + half * spread + DEVIATIONS * (spread * needs + half / 2.0 * spread * spread).sqrt()
    }

    /// Number of frames that must be released for that.
    pub(in crate::analysis) fn released_for(&self, needs: u64) -> f64 {
        (self.frames_for(needs) / self.completed).ceil()
    }

    /// Whole seconds. One frame at each end may fall outside of the measured time.
    pub(in crate::analysis) fn seconds_for(&self, needs: u64) -> Option<f64> {
        let frames = self.frames_for(needs) + 2.0 + self.cut_off;
        Some((frames / (self.rate? * self.completed)).ceil())
    }
}
