//! Relative errors and their summary.

use jetlag_stats::quantile::interpolated;
use serde::{Deserialize, Serialize};

/// The quantile of values, between the two nearest ones (NumPy's default); None of no values.
pub fn quantile(values: &[f64], part: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    interpolated(&sorted, part)
}

/// Relative errors |predicted − measured| / measured, in %.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Errors {
    /// Rows scored.
    pub rows: usize,
    /// Arithmetic mean, %.
    pub mean_pct: f64,
    /// Median, %.
    pub median_pct: f64,
    /// 95th percentile, %.
    pub p95_pct: f64,
}

impl Errors {
    /// Of pairs (predicted, measured); None of no pairs.
    pub fn of(pairs: impl Iterator<Item = (f64, f64)>) -> Option<Self> {
        let errors: Vec<f64> = pairs
            .map(|(predicted, measured)| 100.0 * (predicted - measured).abs() / measured)
            .collect();
        Some(Self {
            rows: errors.len(),
            mean_pct: errors.iter().sum::<f64>() / (!errors.is_empty()).then_some(errors.len() as f64)?,
            median_pct: quantile(&errors, 0.5)?,
            p95_pct: quantile(&errors, 0.95)?,
        })
    }
}
