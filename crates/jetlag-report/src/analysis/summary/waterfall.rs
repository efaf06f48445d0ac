//! The parts of a tenant's response time.

use std::borrow::Cow;

use serde::Serialize;

/// The response time of a tenant's completed frames, part by part.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Waterfall {
    /// Each part that occurred, in the order of a frame's response; their means add up to the mean response time.
    pub parts: Vec<Part>,
    /// The part with the largest mean.
    pub largest: Option<Cow<'static, str>>,
    /// The slowest 1 % of frames, if there are enough frames for a p99.
    pub slowest: Option<Slowest>,
    /// Whether the stages that processors execute, *compute* among them, have waits for a processor in them: it was executed on processors that
    /// other programs used. How long these waits were is not measured.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub waits_for_processors: bool,
}

/// One part of the response time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    /// `lateness`, `wait`, a stage, a range directly within the batches of a program of somebody else's, or `unattributed`: the
    /// service time in none of these.
    pub part: Cow<'static, str>,
    /// Mean over all completed frames; a frame without the part counts as zero.
    pub mean_ms: f64,
    /// Share of the mean response time, from 0 to 1.
    pub share: f64,
    /// p99 of the frames that have the part; of the part's own distribution.
    pub p99_ms: Option<f64>,
    /// Mean over the slowest 1 % of frames.
    pub slowest_mean_ms: Option<f64>,
}

/// The slowest 1 % of frames by response time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Slowest {
    /// Number of these frames.
    pub frames: u64,
    /// Their mean response time.
    pub mean_ms: f64,
    /// The part whose mean exceeds that of all frames most.
    pub grows_most: Cow<'static, str>,
    /// Its mean in these frames less its mean in all frames.
    pub growth_ms: f64,
}
