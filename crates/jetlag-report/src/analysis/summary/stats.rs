//! Statistics of a series of durations, and ratios of two such series.

use jetlag_stats::quantile::Quantile;
use serde::{Serialize, Serializer};

use super::interference::Withheld;
use crate::analysis::gathering::lack::Lack;

/// A value of this run with what it says of others.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// `None` where these frames do not support it.
    pub value: Option<f64>,
    /// Its 95 % interval.
    pub ci95: Option<[f64; 2]>,
    /// What the frames lack for the interval; `None` if it is there.
    pub lack: Option<Lack>,
}

impl Estimate {
    /// A value without an interval.
    pub fn of_run(value: f64) -> Self {
        Estimate {
            value: Some(value),
            ..Estimate::default()
        }
    }

    /// A value between the ends of its interval.
    pub fn between(value: f64, ci95: [f64; 2]) -> Self {
        Estimate {
            value: Some(value),
            ci95: Some(ci95),
            lack: None,
        }
    }
}

/// A series of durations in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[allow(missing_docs, reason = "see docs/measurement.md")]
pub struct Stats {
    pub count: u64,
    pub mean: Estimate,
    pub sd: Option<f64>,
    pub min: Option<f64>,
    pub p50: Estimate,
    pub p90: Estimate,
    pub p95: Estimate,
    pub p99: Estimate,
    pub p99_9: Estimate,
    pub max: Option<f64>,
}

impl Stats {
    /// A usual duration: the median, or the longest where too few support that.
    pub fn usual(&self) -> Option<f64> {
        self.p50.value.or(self.max)
    }

    /// One of its quantiles; `None` of one that it does not have.
    pub fn at(&self, quantile: Quantile) -> Option<&Estimate> {
        match quantile {
            Quantile::P50 => Some(&self.p50),
            Quantile::P90 => Some(&self.p90),
            Quantile::P95 => Some(&self.p95),
            Quantile::P99 => Some(&self.p99),
            Quantile::P99_9 => Some(&self.p99_9),
            _ => None,
        }
    }
}

/// As docs/json.md has it: values, then their intervals, then what lacks.
impl Serialize for Stats {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Of<T> {
            mean: Option<T>,
            p50: Option<T>,
            p90: Option<T>,
            p95: Option<T>,
            p99: Option<T>,
            p99_9: Option<T>,
        }
        #[derive(Serialize)]
        struct Form {
            count: u64,
            mean: Option<f64>,
            sd: Option<f64>,
            min: Option<f64>,
            p50: Option<f64>,
            p90: Option<f64>,
            p95: Option<f64>,
            p99: Option<f64>,
            p99_9: Option<f64>,
            max: Option<f64>,
            ci95: Of<[f64; 2]>,
            lacks: Of<Lack>,
        }
        impl<T> Of<T> {
            fn each(stats: &Stats, of: fn(&Estimate) -> Option<T>) -> Self {
                Of {
                    mean: of(&stats.mean),
                    p50: of(&stats.p50),
                    p90: of(&stats.p90),
                    p95: of(&stats.p95),
                    p99: of(&stats.p99),
                    p99_9: of(&stats.p99_9),
                }
            }
        }
        Form {
            count: self.count,
            mean: self.mean.value,
            sd: self.sd,
            min: self.min,
            p50: self.p50.value,
            p90: self.p90.value,
            p95: self.p95.value,
            p99: self.p99.value,
            p99_9: self.p99_9.value,
            max: self.max,
            ci95: Of::each(self, |of| of.ci95),
            lacks: Of::each(self, |of| of.lack),
        }
        .serialize(to)
    }
}

/// Ratio of response times together ÷ alone, for each statistic.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Slowdown {
    /// Ratio of the medians.
    pub p50: Estimate,
    /// Ratio of the p90.
    pub p90: Estimate,
    /// Ratio of the p99.
    pub p99: Estimate,
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
    pub of_frames: Option<f64>,
}

/// As docs/json.md has it: the ratios, then their intervals.
impl Serialize for Slowdown {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Of<T> {
            p50: Option<T>,
            p90: Option<T>,
            p99: Option<T>,
        }
        #[derive(Serialize)]
        struct Form<'a> {
            #[serde(flatten)]
            ratios: Of<f64>,
            ci95: Of<[f64; 2]>,
            rounds: u64,
            by_round: &'a [Option<f64>],
            left_out_share: f64,
            withheld: &'a Option<Withheld>,
            alone_count: u64,
        }
        let Slowdown { p50, p90, p99, .. } = self;
        Form {
            ratios: Of {
                p50: p50.value,
                p90: p90.value,
                p99: p99.value,
            },
            ci95: Of {
                p50: p50.ci95,
                p90: p90.ci95,
                p99: p99.ci95,
            },
            rounds: self.rounds,
            by_round: &self.by_round,
            left_out_share: self.left_out_share,
            withheld: &self.withheld,
            alone_count: self.alone_count,
        }
        .serialize(to)
    }
}
