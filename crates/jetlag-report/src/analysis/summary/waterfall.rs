//! Where a tenant's response time goes.

use serde::Serialize;

/// The response time of a tenant's completed frames, part by part.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Waterfall {
    /// Each part that occurred, in the order of a frame's way; their means add up to the mean response time.
    pub parts: Vec<Part>,
    /// The part with the largest mean.
    pub largest: Option<&'static str>,
    /// The slowest hundredth of frames, where there are frames enough for a p99.
    pub slowest: Option<Slowest>,
}

/// One part of a frame's way.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Part {
    /// `lateness`, `wait`, a stage, or `wakeup`.
    pub part: &'static str,
    /// Over all completed frames; one that lacks the part counts as zero.
    pub mean_ms: f64,
    /// Of the mean response time, from 0 to 1.
    pub share: f64,
    /// 99 % of the frames that have the part took at most this; of the part's own distribution.
    pub p99_ms: Option<f64>,
    /// Mean over the slowest hundredth of frames.
    pub slowest_mean_ms: Option<f64>,
}

/// The slowest hundredth of frames by response time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Slowest {
    /// How many frames these are.
    pub frames: u64,
    /// Their mean response time.
    pub mean_ms: f64,
    /// The part that takes most more than in the mean of all frames.
    pub grows_most: &'static str,
    /// Its mean in these frames less its mean in all frames.
    pub growth_ms: f64,
}
