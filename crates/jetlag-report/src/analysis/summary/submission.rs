//! What submitting took, and how much of it was within *compute*.

use serde::Serialize;

/// How submission and *compute* lie to each other, over the completed frames in which both are known.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Submitting {
    /// Mean of the part of *compute* in which the host was still submitting.
    pub mean_ms: f64,
    /// That part as a share of *compute*: quantiles over frames.
    pub share: Shares,
    /// Share of frames in which that is all but the last moments.
    pub bound_frames: f64,
    /// Whether launches by the host are the limit of *compute*; `None` where it cannot be told.
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
