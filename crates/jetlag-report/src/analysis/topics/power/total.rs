//! The total power over time: the lines that make it up, added at each moment, and how their sum was spread.
//!
//! Which lines these are is decided by `power`; the arithmetic is in `curve`.

use crate::analysis::gathering::curve::Curve;
use crate::analysis::stats::six_decimals;
use crate::analysis::summary::{EnergySummary, P95_VALUES, RailSummary};
use crate::units::Nanos;

/// The total power over time.
#[derive(Clone, Debug)]
pub(in crate::analysis) struct Total {
    /// What it covers, as in [`EnergySummary::of`].
    pub(in crate::analysis) of: &'static str,
    pub(in crate::analysis) curve: Curve,
    /// The longest time that a sensor of it takes to renew its value; zero if unknown.
    pub(in crate::analysis) refresh: Nanos,
}

impl Total {
    /// The sum of these lines.
    pub(in crate::analysis) fn of(what: &'static str, members: &[(&RailSummary, &Curve)]) -> Total {
        let curves: Vec<&Curve> = members.iter().map(|(_, curve)| *curve).collect();
        let refreshes = members.iter().filter_map(|(rail, _)| rail.refresh_ms);
        Total {
            of: what,
            curve: Curve::sum(&curves),
            refresh: Nanos((refreshes.fold(0.0, f64::max) * 1e6) as i64),
        }
    }

    /// The energy, with how the total was spread over the time.
    pub(in crate::analysis) fn spread(
        &self,
        energy: EnergySummary,
        members: &[(&RailSummary, &Curve)],
    ) -> EnergySummary {
        let values = members.iter().map(|(rail, _)| rail.values).min().unwrap_or(0);
        let quantile = |share: f64| self.curve.quantile(share).map(six_decimals);
        EnergySummary {
            values,
            median_mw: quantile(0.5),
            p95_mw: quantile(0.95).filter(|_| values >= P95_VALUES),
            peak_mw: match members {
                // Readings that were merged have their highest with them; a sum of lines does not.
                [(only, _)] => Some(only.peak_mw),
                _ => self.curve.highest().map(six_decimals),
            },
            ..energy
        }
    }
}
