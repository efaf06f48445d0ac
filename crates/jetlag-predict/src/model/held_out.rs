//! How far off predictions are on networks that were left out, told with each of them.

use serde::{Deserialize, Serialize};

use super::cross::{Unseen, best_trust, errors};
use super::interval::Width;
use crate::features::FeatureSet;

/// Errors on networks of which no row was fitted, and how often their intervals held. Each network counts alike. Neither what a network
/// is described by nor its interval was chosen with its own rows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct HeldOut {
    /// Networks that were left out, one after the other.
    pub networks: usize,
    /// Mean relative error, %.
    pub mean_pct: f64,
    /// Rows in their intervals, %.
    pub inside_pct: f64,
    /// Coverage that the intervals aim at, %.
    pub aimed_pct: f64,
}

impl HeldOut {
    /// Of rows of left-out networks; None of fewer than two.
    pub(super) fn of(unseen: &[Unseen], candidates: &[FeatureSet], level: f64) -> Option<Self> {
        let groups = unseen.iter().map(|row| row.group + 1).max()?;
        let (mut networks, mut error, mut inside) = (0, 0.0, 0.0);
        for group in 0..groups {
            let (own, others): (Vec<Unseen>, Vec<Unseen>) =
                unseen.iter().cloned().partition(|row| row.group == group);
            let Some(own_error) = own
                .first()
                .and(best_trust(&others, candidates))
                .and_then(|trust| {
                    let width = Width::of(&others, trust, level, true)?;
                    let held = own.iter().filter(|row| width.holds(row, trust, level)).count();
                    inside += held as f64 / own.len() as f64;
                    errors(&own, trust).into_iter().flatten().next()
                })
            else {
                continue;
            };
            networks += 1;
            error += own_error;
        }
        let mean = |sum: f64| 100.0 * sum / networks as f64;
        (networks > 1).then(|| Self {
            networks,
            mean_pct: mean(error),
            inside_pct: mean(inside),
            aimed_pct: 100.0 * level,
        })
    }
}
