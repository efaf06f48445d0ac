//! The result of a run: the one type from which every report is written.
//!
//! Serialised, it is the JSON of docs/json.md, field by field and in this order. `None` means "unknown": not
//! measured, not requested, or not supported by the sample; it is `null` in JSON and `–` on screen. Nothing is
//! computed here.

pub mod critical;
pub mod duty;
pub mod input_effect;
pub mod interference;
pub mod kernels;
mod map;
mod memory;
pub mod observer;
mod outputs;
mod phases;
mod power;
mod predictability;
pub mod start_up;
mod stats;
mod submission;
mod tenant;
pub mod waterfall;
pub mod what_if;

use serde::Serialize;

pub use crate::analysis::explained::Explained;
pub use crate::analysis::finding::{Facts, Finding};
pub use crate::analysis::gathering::lack::Lack;
pub use crate::analysis::gathering::uncertainty::NoInterval;
pub use duty::DutyCycle;
pub use input_effect::InputEffect;
pub use interference::Interference;
pub use jetlag_figure::Unit;
pub use kernels::Kernels;
pub use memory::{MemorySummary, UnknownMemory};
pub use observer::Observer;
pub use outputs::OutputSummary;
pub use phases::{PhaseSummary, PhaseTenant};
pub use power::{
    Charged, Energy, EnergySummary, P95_VALUES, PowerBudget, PowerMoment, RailSummary, SensorSummary,
};
pub use predictability::{
    ActiveCoRunner, Companion, EffectiveFrames, Interpolated, Predictability, Shift, SignalChange, SlowFrame,
    SlowPart, StagePredictability, Steady, Trimmed, Wander,
};
pub use stats::{Estimate, Slowdown, Stats};
pub use submission::{Shares, Submitting};
pub use tenant::{
    CameraFrames, Cameras, FrameCounts, NodeResponse, NodeSummary, NodeTime, OperatorSummary, Synchronised,
    TenantSummary,
};

pub use waterfall::{Part, Waterfall};

use crate::analysis::code::Code;
pub use crate::analysis::gathering::plot::Plots;
pub use crate::analysis::gathering::recorded::Recorded;
use crate::record::{DAMAGED_SOURCE, NOT_STARTED};
pub use crate::record::{Device, Stage};

/// Version of the JSON form; larger when a field changes its meaning or is removed.
pub const SCHEMA: u32 = 1;

/// The figures of a run.
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
    /// The machine's load while the tenants ran together, where it was sampled.
    pub host: Option<HostSummary>,
    /// The total energy of the measured time, where it is known.
    pub energy: Option<EnergySummary>,
    /// How the tenants slowed each other down.
    pub interference: Interference,
    /// One tenant at several rates, where that was requested.
    pub duty_cycle: Option<DutyCycle>,
    /// Each phase, in the order in which they ran: what became of its frames.
    pub phases: Vec<PhaseSummary>,
    /// Each clock and temperature that was sampled.
    pub sensors: Vec<SensorSummary>,
    /// The time above a power budget; absent where none was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<PowerBudget>,
    /// What the GPU did in traced phases; absent if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernels: Option<Kernels>,
    /// What tracing changed; absent likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observer: Option<Observer>,
    /// The data of the plots; not part of the JSON form.
    #[serde(skip)]
    pub plots: Plots,
}

impl Summary {
    /// Whether every expectation holds; true where there is none.
    pub fn expectations_hold(&self) -> bool {
        self.expectations.iter().all(|expectation| expectation.holds)
    }

    /// The finding for each tenant that completed nothing or could not go on: a run with such a tenant has failed.
    pub fn failures(&self) -> impl Iterator<Item = &Finding> {
        let codes = [Code::NoFrames.word(), Code::TenantFailed.word(), NOT_STARTED];
        self.run
            .findings
            .iter()
            .filter(move |finding| codes.contains(&finding.code.as_str()))
    }

    /// Whether the record lacks frames that ran: its file was cut short, or the recorder fell behind.
    pub fn has_gaps(&self) -> bool {
        self.run.findings.iter().any(Summary::is_gap)
    }

    /// The finding that somebody ended the run before its time.
    pub fn interruption(&self) -> Option<&Finding> {
        let code = Code::ShortRun.word();
        // Of a tenant that ended early it says more than that.
        let of_run = |finding: &&Finding| finding.code == code && finding.tenant.is_none();
        self.run.findings.iter().find(of_run)
    }

    /// Seconds of a measurement that would tell more of a tenant if it were longer. None where other programs take its processors, or
    /// its frames ask for more time than there is: more of the same answers nothing.
    pub fn seconds_of(&self, tenant: &str) -> Option<f64> {
        let (busy, overload) = (Code::HostBusy.word(), Code::Overload.word());
        let is_of = |finding: &Finding| finding.tenant.as_deref() == Some(tenant);
        // Frames may be dropped at any demand, where something stalls what serves them.
        let asks_too_much = |finding: &Finding| {
            finding.facts["demand"]
                .as_f64()
                .is_none_or(|demand| demand >= 1.0)
        };
        let explained = self.run.explained.iter().map(|explained| &explained.finding);
        let in_vain = self.run.findings.iter().chain(explained).any(|finding| {
            finding.code == busy || (finding.code == overload && is_of(finding) && asks_too_much(finding))
        });
        (!in_vain).then_some(self.run.duration_s)
    }

    /// Whether a finding says that the record lacks frames that ran, or that frames are missing in the recording that they are of.
    pub fn is_gap(finding: &Finding) -> bool {
        let gaps = [Code::TruncatedFile, Code::LostRecords, Code::ImpossibleStamps].map(Code::word);
        gaps.contains(&finding.code.as_str()) || finding.code == DAMAGED_SOURCE
    }
}

/// Whether anything limits the meaning of the figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// There is no finding.
    Valid,
    /// There are findings that limit them.
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
    /// Valid if and only if there is no finding.
    pub verdict: Verdict,
    /// The findings: what limits the figures.
    pub findings: Vec<Finding>,
    /// Findings that follow from one of these.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub explained: Vec<Explained>,
    /// jetlag's own cost per frame on the `null` backend.
    pub overhead_us: Option<Overhead>,
    /// How latency is counted: `span from release`.
    pub latency: &'static str,
    /// The clock that the run used: `real` or `virtual`.
    pub clock: &'static str,
    /// How tenants in their own processes shared the GPU: `time-sliced`, `under MPS (…)`; absent if there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processes: Option<String>,
    /// Whether quantiles are exact; in very long runs they are within 0.0062 %.
    pub exact: bool,
    /// What sampling cost, where it was read.
    pub sampling: Option<Sampling>,
    /// What was recorded, which decides what advice fits; not part of the JSON form.
    #[serde(skip)]
    pub recorded: Recorded,
}

/// The CPU time of the samplers' thread, relative to one core.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sampling {
    /// All of it, including handing over readings and waking up.
    pub percent_of_core: f64,
    /// Each sampler, the costliest first.
    pub samplers: Vec<SamplerCost>,
}

/// The CPU time of one sampler.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SamplerCost {
    /// Its name, as in logs and findings.
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

/// The result of an expectation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExpectationResult {
    /// The line as it stands in the scenario.
    pub text: String,
    /// Whether it held; false also if it cannot be decided.
    pub holds: bool,
    /// The measured value; `None` if it cannot be decided.
    pub value: Option<f64>,
    /// The unit of `value` and `ci95`; `None` if the line could not be parsed.
    pub unit: Option<Unit>,
    /// The interval of `value`, where it has one.
    pub ci95: Option<[f64; 2]>,
    /// Whether the whole interval is on the same side of the limit.
    pub certain: Option<bool>,
}

/// The machine's load while the tenants ran together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct HostSummary {
    /// Mean load of all processors, 0 to 100.
    pub cpu_load_percent: Option<f64>,
    /// The part of it that was not jetlag's: other programs.
    pub others_percent: Option<f64>,
    /// Largest memory use, in bytes.
    pub memory_peak_bytes: Option<u64>,
    /// Number of readings of the load.
    pub samples: u64,
}
