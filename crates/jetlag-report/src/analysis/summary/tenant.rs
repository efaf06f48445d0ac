//! The figures of one tenant: what became of its frames, how long they took and where the time went.

use serde::Serialize;

use super::OutputSummary;
use super::input_effect::InputEffect;
use super::map::as_map;
use super::{
    Device, Energy, MemorySummary, Predictability, SlowFrame, Slowdown, StagePredictability, Stats,
    Submitting, Waterfall,
};
use crate::record::{Failure, FrameRecord, Outcome, Sampled};

/// One tenant in figures. Frames of the warm-up are in none of them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TenantSummary {
    /// Name of the tenant.
    pub name: String,
    /// Name of the backend that executed its networks: `tensorrt`, `cpu`, ….
    pub backend: String,
    /// What that executed on.
    pub device: Device,
    /// What it ran, if it ran a detector.
    pub detector: Option<String>,
    /// What became of its frames.
    pub frames: FrameCounts,
    /// Completed frames per second of measured time.
    pub throughput_fps: Option<f64>,
    /// Missed frames over offered frames; `None` where none was offered.
    pub miss_rate: Option<f64>,
    /// The 95 % interval of `miss_rate`.
    pub miss_rate_ci95: Option<[f64; 2]>,
    /// Independent frames that would tell as much of it.
    #[serde(skip)]
    pub miss_rate_frames: f64,
    /// Objects reported in completed frames; `None` of a tenant that detects nothing, such as a simulated one.
    pub detections: Option<u64>,
    /// finished − released, of completed frames.
    pub response_ms: Stats,
    /// finished − started, of completed frames.
    pub service_ms: Stats,
    /// How far the release itself was off schedule, of all offered frames.
    pub lateness_ms: Stats,
    /// Each stage that occurred, in order, of completed frames.
    #[serde(serialize_with = "as_map")]
    pub stages_ms: Vec<(&'static str, Stats)>,
    /// p99 − p50 of the response time.
    pub jitter_ms: Option<f64>,
    /// Standard deviation over mean of the response time.
    pub cv: Option<f64>,
    /// Response time together over response time alone.
    pub slowdown: Option<Slowdown>,
    /// Energy for one completed frame.
    pub energy_mj_per_frame: Option<Energy>,
    /// p75 − p25 of the response time.
    pub iqr_ms: Option<f64>,
    /// Maximum over median of the response time.
    pub worst_over_median: Option<f64>,
    /// Where the mean response time went, as shares that add up to one: `queueing`, the stages, `other`.
    #[serde(serialize_with = "as_map")]
    pub time_share: Vec<(&'static str, f64)>,
    /// When frames were due, in words.
    pub arrival: String,
    /// Whether frames were released when the tenant was ready, so that no queueing can show.
    pub closed_loop: bool,
    /// The promise on the response time.
    pub deadline_ms: Option<f64>,
    /// What became of its network's outputs; empty where nothing was asked for (`record_outputs`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<OutputSummary>,
    /// Each node of its networks, largest mean first; empty where time per node was not asked for.
    pub nodes: Vec<NodeSummary>,
    /// Whose time that is; `None` where there is none.
    pub node_time: Option<NodeTime>,
    /// The same by operator, largest mean first.
    pub operators: Vec<OperatorSummary>,
    /// How predictable its response time is.
    pub predictability: Predictability,
    /// How predictable each stage is.
    #[serde(serialize_with = "as_map")]
    pub stages_predictability: Vec<(&'static str, StagePredictability)>,
    /// The parts of its response time, from release to result.
    pub waterfall: Waterfall,
    /// Its slowest frames and why they were slow, the slowest first; frames that waited for one another are told once.
    pub slowest: Vec<SlowFrame>,
    /// How long the host took to submit a frame to its device, of completed frames; `None` where that is not recorded.
    pub submission_ms: Option<Stats>,
    /// What of *compute* that was; `None` also where *compute* is too short to tell.
    pub submitting: Option<Submitting>,
    /// finished − captured, of completed frames: how old its result was; `None` where the releases do not follow a
    /// recording's time.
    pub age_ms: Option<Stats>,
    /// What a timer that takes the newest frame made of the frames that came; `None` for other arrivals.
    pub sampled: Option<Sampled>,
    /// What became of sets of sensors; absent where frames are of one sensor each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub synchronised: Option<Synchronised>,
    /// Its frames by camera, of a source of several; absent for any other.
    #[serde(skip_serializing_if = "Cameras::is_one")]
    pub cameras: Cameras,
    /// How its times go with the size of its input; `None` where no size is recorded.
    pub input_effect: Option<InputEffect>,
    /// Items of a frame, of a bare network with a batch; absent for others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<u64>,
    /// How it failed; absent of a tenant that did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<Failure>,
    /// The memory that it took, and the peaks while it ran; absent where the run file does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemorySummary>,
}

/// The frames of a source of several cameras, whose images come one after the other.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Cameras {
    /// Frames are of one sensor, or sets.
    #[default]
    One,
    /// There are several, and the run file does not say whose each frame is; null in JSON.
    Unknown,
    /// Each camera that has frames, in the order of the source's list.
    Known(Vec<CameraFrames>),
}

impl Cameras {
    /// Whether there is nothing to tell apart.
    pub fn is_one(&self) -> bool {
        *self == Cameras::One
    }
}

/// The frames of one of several cameras.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CameraFrames {
    /// Its position in the source's list, from 0.
    pub camera: u8,
    /// What the recording calls it; `None` where nobody knows.
    pub name: Option<String>,
    /// Released in the measured window, as the tenant's are counted.
    pub offered: u64,
    /// Ended with a result.
    pub completed: u64,
    /// Given up under overload.
    pub dropped: u64,
    /// Promise broken.
    pub missed: u64,
    /// finished − released, of completed frames.
    pub response_ms: Stats,
    /// finished − captured, of completed frames; `None` where the releases do not follow a recording's time.
    pub age_ms: Option<Stats>,
}

/// Frames that are sets of several sensors.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Synchronised {
    /// Sets that became complete, whatever came of them then.
    pub complete: u64,
    /// Sets that were given up because a sensor's frame did not come within the tolerance; they are among the dropped frames.
    pub incomplete: u64,
    /// Those of all sets; `None` where there were none.
    pub incomplete_share: Option<f64>,
    /// Complete sets per second of measured time.
    pub rate_hz: Option<f64>,
    /// How far apart the captures of a completed set lie, in the recording's time; `None` without completed sets.
    pub skew_ms: Option<Stats>,
}

/// What a node's time is the time of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum NodeTime {
    /// Its execution.
    Execution,
    /// The host's submission of it to a device, which executes it later.
    Submission,
}

/// What one node of a network took in the frames that were measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NodeSummary {
    /// As the network has it; may be empty.
    pub name: String,
    /// Its operator: `Conv`, or `Conv+Relu` where the runtime fused the two.
    pub operator: String,
    /// Frames in which it was timed.
    pub count: u64,
    /// Its mean time over them.
    pub mean_ms: f64,
    /// Its longest time in one of them.
    pub max_ms: f64,
    /// Its share of the time of all the tenant's nodes.
    pub share: f64,
    /// How it goes with the response time; `None` where that is not known, or one of the two never changes.
    pub response: Option<NodeResponse>,
}

/// How the time of one node goes with the response time of the frames.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct NodeResponse {
    /// Their correlation, from −1 to 1.
    pub correlation: f64,
    /// Its 95 % interval; `None` where there are too few frames.
    pub ci95: Option<[f64; 2]>,
    /// The node's part in the variance of the response time: its covariance with it over that variance.
    pub variance_share: f64,
    /// Whether the node has clearly more of the variance of the response time than of the time.
    pub stands_out: bool,
}

/// What all nodes of one operator took together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OperatorSummary {
    /// The operator, as in [`NodeSummary`].
    pub operator: String,
    /// Number of nodes with this operator.
    pub layers: u64,
    /// The sum of their means.
    pub mean_ms: f64,
    /// Its share of the time of all the tenant's nodes.
    pub share: f64,
}

/// What became of a tenant's frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FrameCounts {
    /// Released in the measured window, and known to have kept or broken its promise: completed + dropped + failed
    /// + overdue.
    pub offered: u64,
    /// Ended with a result.
    pub completed: u64,
    /// Given up under overload.
    pub dropped: u64,
    /// Promise broken: late, dropped, failed under a deadline, or overdue.
    pub missed: u64,
    /// Ended with an error.
    pub failed: u64,
    /// Measured and not recorded, because the recorder fell behind.
    pub lost_records: u64,
    /// Still waiting when the measured time ended, and past its deadline by then.
    pub overdue: u64,
    /// Still waiting when the measured time ended, within its deadline or without one: in no other figure.
    pub unfinished: u64,
    /// Ended with an error in the warm-up: in no other figure.
    pub failed_in_warmup: u64,
}

impl FrameCounts {
    /// Adds the counts of another phase.
    pub(in crate::analysis) fn add(&mut self, other: &FrameCounts) {
        let FrameCounts {
            offered,
            completed,
            dropped,
            missed,
            failed,
            lost_records,
            overdue,
            unfinished,
            failed_in_warmup,
        } = self;
        for (sum, more) in [
            (offered, other.offered),
            (completed, other.completed),
            (dropped, other.dropped),
            (missed, other.missed),
            (failed, other.failed),
            (lost_records, other.lost_records),
            (overdue, other.overdue),
            (unfinished, other.unfinished),
            (failed_in_warmup, other.failed_in_warmup),
        ] {
            *sum = sum.saturating_add(more);
        }
    }

    /// Adds a frame to the counts, by its outcome.
    pub(in crate::analysis) fn note(&mut self, frame: &FrameRecord) {
        if frame.warmup {
            self.failed_in_warmup += u64::from(frame.outcome == Outcome::Failed);
            return;
        }
        match frame.outcome {
            Outcome::Unfinished if frame.missed() => self.overdue += 1,
            Outcome::Unfinished => {
                self.unfinished += 1;
                return;
            }
            Outcome::Completed => self.completed += 1,
            Outcome::Dropped => self.dropped += 1,
            Outcome::Failed => self.failed += 1,
        }
        self.offered += 1;
        self.missed += u64::from(frame.missed());
    }
}
