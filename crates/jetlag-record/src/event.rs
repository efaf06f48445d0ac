//! Anything that a run file holds beside its manifest.

use serde::{Deserialize, Serialize};

use crate::activity::{ActivityBatch, Definition, TraceRecord};
use crate::frame::{DetectionsRecord, FrameRecord};
use crate::output::OutputRecord;
use crate::phase::{Phase, PhaseRecord, PhaseSpec};
use crate::signal::{SampleRecord, SignalRecord, WindowRecord};
use crate::units::{Nanos, Stamp};
use crate::work::WorkRecord;

/// A finding: something that limits the meaning of the run's figures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// A stable word for programs, such as `late-releases`.
    pub code: String,
    /// The tenant it concerns, if one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tenant: Option<String>,
    /// What was noticed, with its figure.
    pub message: String,
    /// What to do about it.
    pub advice: String,
}

/// Code of the finding that a tenant's recording lacks something, so that its frames are those that could be read.
pub const DAMAGED_SOURCE: &str = "source-damaged";

/// Code of the finding that a tenant could not be started and the others ran without it; recorded by the run.
pub const NOT_STARTED: &str = "not-started";

/// Code of the finding that a phase was to be traced and was not; recorded by the run.
pub const NOT_TRACED: &str = "not-traced";

/// A line of the run's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogRecord {
    /// When it was logged.
    pub at: Stamp,
    /// `error`, `warn` or `info`, in lower case.
    pub level: String,
    /// The line as it was shown, without its level.
    pub message: String,
}

/// The time of one node of a tenant's networks in one phase, over its measured frames; only if the backend was asked
/// for time per node. A tenant's nodes are recorded in order of execution, when the phase ends.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeRecord {
    /// Position of the tenant in the scenario.
    pub tenant: u16,
    /// The phase in which it was timed.
    pub phase: Phase,
    /// The node's name in the network; may be empty.
    pub name: String,
    /// Its operator: `Conv`, or `Conv+Relu` where the runtime fused the two.
    pub operator: String,
    /// Completed frames, without those of the warm-up, in which it was timed.
    pub count: u64,
    /// Its mean time over them.
    pub mean: Nanos,
    /// Its longest time in one of them.
    pub max: Nanos,
    /// Its covariance with the response time; `None` below two frames.
    pub with_response: Option<Covariance>,
}

/// Sample variances and covariance (divisor n − 1) of two durations over the same frames, in square nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Covariance {
    /// Variance of the node's time.
    pub variance: f64,
    /// Variance of the frame's response time.
    pub response_variance: f64,
    /// Covariance of the node's time and the frame's response time.
    pub covariance: f64,
}

/// One range of an application's own code. Ranges nest; inner ranges end, and are recorded, before the outer ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeRecord {
    /// Position of the tenant in the scenario.
    pub tenant: u16,
    /// Number of the thread (track), from 0; ranges of one track nest.
    pub track: u16,
    /// When the range began.
    pub from: Stamp,
    /// When the range ended.
    pub to: Stamp,
    /// Names from the outermost range to this one, separated by `/`.
    pub path: String,
    /// Index of the batch that it is, or that it lies in.
    pub batch: Option<u64>,
    /// Number of items, if it is a batch; else `None`.
    pub items: Option<u64>,
}

impl RangeRecord {
    /// How long the range took: `to − from`.
    pub fn duration(&self) -> Nanos {
        self.to - self.from
    }
}

/// Any record of a run file except the manifest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "see the types")]
pub enum Event {
    Frame(FrameRecord),
    Detections(DetectionsRecord),
    Sample(SampleRecord),
    Phase(PhaseRecord),
    PhaseSpec(PhaseSpec),
    Node(NodeRecord),
    Finding(Finding),
    Log(LogRecord),
    Signal(SignalRecord),
    Window(WindowRecord),
    Range(RangeRecord),
    Activities(ActivityBatch),
    Definition(Definition),
    Trace(TraceRecord),
    Work(WorkRecord),
    Output(OutputRecord),
}
