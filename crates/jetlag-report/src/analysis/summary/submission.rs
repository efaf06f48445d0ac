//! How long submission took, and how much of it was within *compute*.

use serde::Serialize;

/// The relation of submission and *compute*, over the completed frames in which both are known.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Submitting {
    /// Mean time of *compute* in which the host was still submitting.
    pub mean_ms: f64,
    /// That time as a share of *compute*: quantiles over frames.
    pub share: Shares,
    /// Share of frames in which the host was submitting almost until the end of *compute*.
    pub bound_frames: f64,
    /// Whether the host's launches limit *compute*; `None` if it cannot be told.
    pub host_bound: Option<bool>,
    /// Whether the backend may wait for the device while it submits; `None` where that is not recorded.
    pub may_wait: Option<bool>,
}

/// Quantiles of a share.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the quantiles")]
pub struct Shares {
    pub p25: Option<f64>,
    pub p50: Option<f64>,
    pub p75: Option<f64>,
}
