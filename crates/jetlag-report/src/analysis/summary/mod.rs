//! What a run comes to: the one result type that every report is written from.
//!
//! Serialised, it is the machine form of docs/json.md, field by field and in this order. `None` is "not
//! known": not measured, not asked for, or not supported by the sample; it is `null` in JSON and `–` on
//! screen. Nothing here computes.

pub mod duty;
pub mod interference;
mod phases;
mod power;
mod predictability;
mod stats;
mod submission;
mod tenant;
pub mod waterfall;

use serde::Serialize;

pub use duty::DutyCycle;
pub use interference::Interference;
pub use phases::{PhaseSummary, PhaseTenant};
pub use power::{Energy, EnergySummary, RailSummary};
pub use predictability::{
    ActiveCoRunner, EffectiveFrames, Interpolated, Predictability, Shift, SignalChange, SlowFrame, SlowPart,
    StagePredictability, Steady, Trimmed,
};
pub use stats::{Intervals, NeededFrames, Slowdown, SlowdownIntervals, SlowdownNeeds, Stats};
pub use submission::{Shares, Submitting};
pub use tenant::{FrameCounts, NodeResponse, NodeSummary, OperatorSummary, TenantSummary};

pub use waterfall::Waterfall;

use super::code::Code;
pub use super::plot::Plots;
use crate::record::NOT_STARTED;
pub use crate::record::{Device, Finding, Stage};

/// The version of the machine form; larger when a field changes its meaning or goes.
pub const SCHEMA: u32 = 1;

/// A run in figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Version of the JSON form, [`SCHEMA`].
    pub schema: u32,
    /// The run as a whole.
    pub run: RunSummary,
    /// Each tenant, in the scenario's order.
    pub tenants: Vec<TenantSummary>,
    /// Each power rail that was sampled.
    pub power: Vec<RailSummary>,
    /// The scenario's expectations, in order.
    pub expectations: Vec<ExpectationResult>,
    /// The machine while the tenants ran together, where it was sampled.
    pub host: Option<HostSummary>,
    /// The whole energy of the measured time, where it can be had.
    pub energy: Option<EnergySummary>,
    /// How the tenants slowed each other down.
    pub interference: Interference,
    /// One tenant at several rates, where that was asked for.
    pub duty_cycle: Option<DutyCycle>,
    /// Each phase, in the order in which they ran: what became of its frames.
    pub phases: Vec<PhaseSummary>,
    /// What is drawn of the run; not in the machine form.
    #[serde(skip)]
    pub plots: Plots,
}

impl Summary {
    /// Whether every expectation holds; true where there is none.
    pub fn expectations_hold(&self) -> bool {
        self.expectations.iter().all(|expectation| expectation.holds)
    }

    /// What is said of each tenant that produced nothing: a run that has one is not done.
    pub fn without_frames(&self) -> impl Iterator<Item = &Finding> {
        let none = |finding: &&Finding| finding.code == Code::NoFrames.word() || finding.code == NOT_STARTED;
        self.run.findings.iter().filter(none)
    }

    /// Whether the record lacks frames that ran: its file was cut short, or the recorder fell behind.
    pub fn has_gaps(&self) -> bool {
        let gaps = [Code::TruncatedFile, Code::LostRecords].map(Code::word);
        self.run
            .findings
            .iter()
            .any(|finding| gaps.contains(&finding.code.as_str()))
    }
}

/// Whether the figures mean what they say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Nothing was noticed that limits them.
    Valid,
    /// The findings limit them.
    Limited,
}

/// The run as a whole.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunSummary {
    /// Name of the scenario.
    pub name: String,
    /// The run file, where there is one.
    pub file: Option<String>,
    /// Measured time, without warm-up: of the tenant that was measured longest.
    pub duration_s: f64,
    /// Valid exactly where there is no finding.
    pub verdict: Verdict,
    /// What limits the figures.
    pub findings: Vec<Finding>,
    /// jetlag's own cost per frame on the `null` backend.
    pub overhead_us: Option<Overhead>,
    /// How latency is counted: `span from release`.
    pub latency: &'static str,
    /// The clock that the run used: `real` or `virtual`.
    pub clock: &'static str,
    /// How tenants in processes of their own shared the GPU, where there were such: `time-sliced`, `under MPS (…)`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processes: Option<String>,
    /// Whether quantiles are exact; in very long runs they are within 0.0062 %.
    pub exact: bool,
    /// What sampling cost, where it was read.
    pub sampling: Option<Sampling>,
}

/// What the samplers' thread took of one core.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sampling {
    /// All in all, handing over and waking included.
    pub percent_of_core: f64,
    /// Each sampler while it reads, the costliest first.
    pub samplers: Vec<SamplerCost>,
}

/// What one sampler took.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SamplerCost {
    /// Its word in logs and findings.
    pub name: String,
    /// CPU time while it reads, in percent of one core.
    pub percent_of_core: f64,
}

/// jetlag's own cost per frame, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Overhead {
    /// Median cost of a frame.
    pub p50: Option<f64>,
    /// 99 % of frames cost at most this.
    pub p99: Option<f64>,
}

/// The unit of an expectation's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// A time in milliseconds.
    Ms,
    /// A rate in frames per second.
    Fps,
    /// A share from 0 to 1.
    Ratio,
    /// A number of frames or objects.
    Count,
    /// A plain number, such as a slowdown.
    Factor,
}

/// Whether a promise held.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExpectationResult {
    /// As it stands in the scenario.
    pub text: String,
    /// Whether it held; false also where it cannot be decided.
    pub holds: bool,
    /// What was found; `None` where it cannot be decided.
    pub value: Option<f64>,
    /// The unit of `value` and `ci95`; `None` where the line could not be read.
    pub unit: Option<Unit>,
    /// The interval of `value`, where it has one.
    pub ci95: Option<[f64; 2]>,
    /// Whether the whole interval is on the same side of the limit.
    pub certain: Option<bool>,
}

/// The machine while the tenants ran together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct HostSummary {
    /// Mean load of all processors, 0 to 100.
    pub cpu_load_percent: Option<f64>,
    /// The part of it that was not jetlag's.
    pub others_percent: Option<f64>,
    /// Most memory in use.
    pub memory_peak_bytes: Option<u64>,
    /// Readings of the load.
    pub samples: u64,
}
