//! Statistics of a series of durations, and ratios of two such series.

use serde::Serialize;

use super::interference::Withheld;
use crate::analysis::lack::Lack;

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
    /// For each quantile without an interval, what the frames lack.
    pub lacks: Lacks,
}

/// What is lacking for the interval of each quantile; `None` if it is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the quantiles of Stats")]
pub struct Lacks {
    pub p50: Option<Lack>,
    pub p90: Option<Lack>,
    pub p95: Option<Lack>,
    pub p99: Option<Lack>,
    pub p99_9: Option<Lack>,
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

/// Ratio of response times together ÷ alone, for each statistic.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Slowdown {
    /// Ratio of the medians; `None` where it is withheld.
    pub p50: Option<f64>,
    /// Ratio of the p90; `None` where it is withheld.
    pub p90: Option<f64>,
    /// Ratio of the p99; `None` where it is withheld.
    pub p99: Option<f64>,
    /// 95 % interval of each ratio.
    pub ci95: SlowdownIntervals,
    /// Rounds of turns in which both sides completed frames.
    pub rounds: u64,
    /// The ratio of the medians of each of these rounds; `None` where no frame of one side is left of it.
    pub by_round: Vec<Option<f64>>,
    /// Share of each turn that is left out at its beginning, since the frames of its first part differed from the rest.
    pub left_out_share: f64,
    /// Why the first ratio that is withheld is.
    pub withheld: Option<Withheld>,
    /// Number of frames measured while the tenant ran alone.
    pub alone_count: u64,
    /// Ratio of the medians of these very frames, of at least 30 on each side, also where `p50` is withheld. Without an interval of
    /// its own it is no result: it is for models whose intervals come from measured values that were left out.
    #[serde(skip)]
    pub of_frames: Option<f64>,
}

/// Lower and upper bound of each slowdown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the fields of Slowdown")]
pub struct SlowdownIntervals {
    pub p50: Option<[f64; 2]>,
    pub p90: Option<[f64; 2]>,
    pub p99: Option<[f64; 2]>,
}
