//! Series of durations in figures, and one over another.

use serde::Serialize;

/// A series of durations in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[allow(missing_docs, reason = "see docs/measurement.md")]
pub struct Stats {
    pub count: u64,
    pub mean: Option<f64>,
    pub sd: Option<f64>,
    pub min: Option<f64>,
    pub p50: Option<f64>,
    pub p90: Option<f64>,
    pub p95: Option<f64>,
    pub p99: Option<f64>,
    pub p99_9: Option<f64>,
    pub max: Option<f64>,
    /// 95 % interval of each quantile.
    pub ci95: Intervals,
    /// Of each quantile that is withheld, how many frames it takes.
    pub needs: NeededFrames,
}

/// Frames that a quantile takes that has no interval: those of independent frames, or more where frames repeat each other;
/// `None` where the interval is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the quantiles of Stats")]
pub struct NeededFrames {
    pub p50: Option<u64>,
    pub p90: Option<u64>,
    pub p95: Option<u64>,
    pub p99: Option<u64>,
    pub p99_9: Option<u64>,
}

/// Lower and upper bound for each quantile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the fields of Stats")]
pub struct Intervals {
    pub p50: Option<[f64; 2]>,
    pub p90: Option<[f64; 2]>,
    pub p95: Option<[f64; 2]>,
    pub p99: Option<[f64; 2]>,
    pub p99_9: Option<[f64; 2]>,
}

/// Response time together over alone, statistic by statistic.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Slowdown {
    /// Ratio of the medians; `None` where one is withheld.
    pub p50: Option<f64>,
    /// Of the 99 % quantiles.
    pub p99: Option<f64>,
    /// Interval of each, of at least 95 %.
    pub ci95: SlowdownIntervals,
    /// Of each that is withheld, how many frames it takes, together or alone.
    pub needs: SlowdownNeeds,
    /// Number of frames measured while the tenant ran alone.
    pub alone_count: u64,
}

/// Frames that a withheld slowdown takes; `None` where it is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the fields of Slowdown")]
pub struct SlowdownNeeds {
    pub p50: Option<u64>,
    pub p99: Option<u64>,
}

/// Bounds of a slowdown.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the fields of Slowdown")]
pub struct SlowdownIntervals {
    pub p50: Option<[f64; 2]>,
    pub p99: Option<[f64; 2]>,
}
