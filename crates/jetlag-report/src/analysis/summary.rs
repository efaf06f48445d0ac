//! What a run comes to: the one result type that every report is written from.
//!
//! Serialised, it is the machine form of docs/json.md, field by field and in this order. `None` is "not
//! known": not measured, not asked for, or not supported by the sample; it is `null` in JSON and `–` on
//! screen. Nothing here computes.

use serde::Serialize as DeriveSerialize;
use serde::ser::{Serialize, SerializeMap, Serializer};

pub use super::duty::DutyCycle;
pub use super::interference::Interference;
pub use super::phases::{PhaseSummary, PhaseTenant};
pub use super::plot::Plots;
pub use super::predictability::StagePredictability;
pub use super::submission::{Shares, Submitting};
pub use super::waterfall::Waterfall;
pub use crate::record::{Device, Finding, Stage};
use crate::record::{FrameRecord, NOT_STARTED, Outcome};

/// The version of the machine form; larger when a field changes its meaning or goes.
pub const SCHEMA: u32 = 1;

/// Code of the finding that a run file was cut short.
pub(super) const TRUNCATED_FILE: &str = "truncated-file";
/// Code of the finding that the recorder fell behind.
pub(super) const LOST_RECORDS: &str = "lost-records";
/// Code of the finding that a tenant completed nothing in a run that came to its end.
pub(super) const NO_FRAMES: &str = "no-frames";

/// A run in figures.
#[derive(Clone, Debug, PartialEq, DeriveSerialize)]
pub struct Summary {
    /// [`SCHEMA`].
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
        let none = |finding: &&Finding| finding.code == NO_FRAMES || finding.code == NOT_STARTED;
        self.run.findings.iter().filter(none)
    }

    /// Whether the record lacks frames that ran: its file was cut short, or the recorder fell behind.
    pub fn has_gaps(&self) -> bool {
        let gap = |finding: &Finding| finding.code == TRUNCATED_FILE || finding.code == LOST_RECORDS;
        self.run.findings.iter().any(gap)
    }
}

/// Whether the figures mean what they say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, DeriveSerialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Nothing was noticed that limits them.
    Valid,
    /// The findings limit them.
    Limited,
}

/// The run as a whole.
#[derive(Clone, Debug, PartialEq, DeriveSerialize)]
pub struct RunSummary {
    /// The scenario's name.
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
    /// `real` or `virtual`.
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
#[derive(Clone, Debug, PartialEq, DeriveSerialize)]
pub struct Sampling {
    /// All in all, handing over and waking included.
    pub percent_of_core: f64,
    /// Each sampler while it reads, the costliest first.
    pub samplers: Vec<SamplerCost>,
}

/// What one sampler took.
#[derive(Clone, Debug, PartialEq, DeriveSerialize)]
pub struct SamplerCost {
    /// Its word in logs and findings.
    pub name: String,
    /// Of one core.
    pub percent_of_core: f64,
}

/// jetlag's own cost per frame, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, DeriveSerialize)]
pub struct Overhead {
    /// Median.
    pub p50: Option<f64>,
    /// 99 % of frames cost at most this.
    pub p99: Option<f64>,
}

/// One tenant in figures. Frames of the warm-up are in none of them.
#[derive(Clone, Debug, PartialEq, DeriveSerialize)]
pub struct TenantSummary {
    /// Its name.
    pub name: String,
    /// What executed it.
    pub backend: String,
    /// What that executed on.
    pub device: Device,
    /// What it ran, if it ran a detector.
    pub detector: Option<String>,
    /// What became of its frames.
    pub frames: FrameCounts,
    /// Completed frames per second of measured time.
    pub throughput_fps: Option<f64>,
    /// Missed over offered.
    pub miss_rate: Option<f64>,
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
    /// Each node of its networks, largest mean first; empty where time per node was not asked for.
    pub nodes: Vec<NodeSummary>,
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
}

/// A slow frame, and what was different while it ran.
#[derive(Clone, Debug, PartialEq, DeriveSerialize)]
pub struct SlowFrame {
    /// Its number among the tenant's releases.
    pub sequence: u64,
    /// Seconds after the start of the measured time at which it was released.
    pub at_s: f64,
    /// Its response time.
    pub response_ms: f64,
    /// The tenant's median.
    pub usual_response_ms: f64,
    /// Whether it is beyond the tenant's usual spread; where it is not, no cause is looked for.
    pub beyond_spread: bool,
    /// Frames among the slowest that were slow together with it, because they waited for one another; 1 is itself.
    pub frames: u64,
    /// The frame that it waited for, where waiting is what grew.
    pub behind: Option<u64>,
    /// How late its release was.
    pub lateness_ms: f64,
    /// How long it waited for earlier frames.
    pub wait_ms: f64,
    /// The part of its response time that grew most against its median.
    pub grew: SlowPart,
    /// Points or pixels that entered preprocessing; `None` where nothing was preprocessed.
    pub input_size: Option<u32>,
    /// The median of all frames.
    pub usual_input_size: Option<u32>,
    /// The other tenants; of a frame that waited, while the one that it waited for was served.
    pub co_runners: Vec<ActiveCoRunner>,
    /// Clock of the GPU.
    pub clock_mhz: Option<f64>,
    /// Its median.
    pub usual_clock_mhz: Option<f64>,
    /// The GPU's temperature, or the highest where it has none of its own.
    pub temperature_c: Option<f64>,
    /// Whether a GPU or processor was slowed down; `None` where nothing told.
    pub throttled: Option<bool>,
    /// `late-release`, `backlog`, `waited`, `throttled`, `low-clock`, `larger-input`, `co-runner`, `locked` (a co-runner or
    /// anything else that has its rhythm), or none that stands out.
    pub cause: Option<&'static str>,
    /// The same in a sentence.
    pub explanation: String,
}

/// A part of a frame's response time against its median.
#[derive(Clone, Copy, Debug, PartialEq, DeriveSerialize)]
pub struct SlowPart {
    /// `lateness`, `wait`, a stage, or `wakeup`, as in [`Waterfall`].
    pub name: &'static str,
    /// What it took.
    pub ms: f64,
    /// What it usually takes.
    pub usual_ms: f64,
}

/// How busy another tenant was in the first stretch of a frame's service, which of a hundred frames one is shorter than.
#[derive(Clone, Debug, PartialEq, DeriveSerialize)]
pub struct ActiveCoRunner {
    /// Which.
    pub tenant: String,
    /// Share of that stretch in which it was at work: in service, and not waiting for its turn on the device.
    pub active: f64,
    /// Share of usual frames for which that is at least half.
    pub usually: f64,
}

/// How predictable a tenant's response time is, beyond `jitter_ms`, `cv`, `iqr_ms` and `worst_over_median`.
#[derive(Clone, Debug, PartialEq, DeriveSerialize)]
pub struct Predictability {
    /// (p99 − p50) ÷ p50.
    pub relative_spread: Option<f64>,
    /// Most frames in a row that broke their promise.
    pub longest_miss_streak: u64,
    /// Correlation of each response time with that of the next completed frame, from −1 to 1.
    pub autocorrelation: Option<f64>,
    /// Independent frames that would say as much of a quantile.
    pub effective_frames: EffectiveFrames,
    /// Whether it was in its steady state.
    pub steady: Steady,
    /// The published measures, over interpolated percentiles.
    pub interpolated: Option<Interpolated>,
}

/// Independent frames that would say as much of a quantile as the frames that there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, DeriveSerialize)]
#[allow(missing_docs, reason = "the quantiles")]
pub struct EffectiveFrames {
    pub p50: Option<u64>,
    pub p90: Option<u64>,
    pub p99: Option<u64>,
}

/// Whether a tenant was in its steady state while it was measured.
#[derive(Clone, Debug, Default, PartialEq, DeriveSerialize)]
pub struct Steady {
    /// Whether there were frames enough to tell.
    pub judged: bool,
    /// Seconds of measured time after which it had settled; 0 where the warm-up was enough.
    pub settled_after_s: Option<f64>,
    /// Median before it had settled over the median after, less one; `None` where it was settled from the start.
    pub settling: Option<f64>,
    /// Change from start to end along a straight line, over its start; `None` where no drift was found.
    pub drift: Option<f64>,
    /// Changes of level, in order.
    pub shifts: Vec<Shift>,
}

/// A change of the level of response times.
#[derive(Clone, Debug, PartialEq, DeriveSerialize)]
pub struct Shift {
    /// Seconds after the tenant's first measured release.
    pub at_s: f64,
    /// Median of the stretch before.
    pub before_ms: f64,
    /// Median of the stretch after.
    pub after_ms: f64,
    /// After over before, less one.
    pub change: f64,
    /// Clocks and temperatures that changed with it, the most changed first.
    pub with: Vec<SignalChange>,
}

/// A clock or temperature before and after a shift: medians of the two stretches.
#[derive(Clone, Debug, PartialEq, DeriveSerialize)]
pub struct SignalChange {
    /// The sampler.
    pub source: String,
    /// What was sampled.
    pub signal: String,
    /// `mhz` or `c`.
    pub unit: String,
    /// Before the shift.
    pub before: f64,
    /// After it.
    pub after: f64,
}

/// Published measures of predictability. Their percentiles are interpolated between neighbours, ours are not: the two
/// are never mixed.
#[derive(Clone, Copy, Debug, PartialEq, DeriveSerialize)]
#[allow(
    missing_docs,
    reason = "percentiles, and what docs/measurement.md makes of them"
)]
pub struct Interpolated {
    pub p1_ms: f64,
    pub p5_ms: f64,
    pub p25_ms: f64,
    pub p50_ms: f64,
    pub p75_ms: f64,
    pub p95_ms: f64,
    /// This and all that is made of it: from 100 frames on.
    pub p99_ms: Option<f64>,
    pub iqr_ms: f64,
    /// p99 − minimum.
    pub p0_p99_range_ms: Option<f64>,
    /// The range over the median.
    pub normalized_range: Option<f64>,
    /// p99 − p50.
    pub spread_ms: Option<f64>,
    /// (p99 − p50) ÷ p50.
    pub relative_spread: Option<f64>,
    /// Fewer than 1000 frames.
    pub sparse: bool,
    /// The same under the P1–P99 policy.
    pub trimmed: Option<Trimmed>,
}

/// What remains of the frames between the 1st and the 99th percentile, both included.
#[derive(Clone, Copy, Debug, PartialEq, DeriveSerialize)]
#[allow(missing_docs, reason = "the fields of Interpolated")]
pub struct Trimmed {
    /// The 1st percentile of all.
    pub low_ms: f64,
    /// The 99th percentile of all.
    pub high_ms: f64,
    /// Frames that remain.
    pub frames: u64,
    pub p50_ms: f64,
    pub p99_ms: Option<f64>,
    pub spread_ms: Option<f64>,
    pub relative_spread: Option<f64>,
    /// Fewer than 1000 remain.
    pub sparse: bool,
}

/// What one node of a network took in the frames that were measured.
#[derive(Clone, Debug, PartialEq, DeriveSerialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, DeriveSerialize)]
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
#[derive(Clone, Debug, PartialEq, DeriveSerialize)]
pub struct OperatorSummary {
    /// As in [`NodeSummary`].
    pub operator: String,
    /// Nodes of it.
    pub layers: u64,
    /// The sum of their means.
    pub mean_ms: f64,
    /// Its share of the time of all the tenant's nodes.
    pub share: f64,
}

/// What became of a tenant's frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, DeriveSerialize)]
pub struct FrameCounts {
    /// Released in the measured window, and known to have kept or broken its promise: completed + dropped + failed
    /// + overdue.
    pub offered: u64,
    /// With a result.
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
    /// Counts a frame.
    pub(super) fn note(&mut self, frame: &FrameRecord) {
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

/// A series of durations in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, DeriveSerialize)]
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, DeriveSerialize)]
#[allow(missing_docs, reason = "the quantiles of Stats")]
pub struct NeededFrames {
    pub p50: Option<u64>,
    pub p90: Option<u64>,
    pub p95: Option<u64>,
    pub p99: Option<u64>,
    pub p99_9: Option<u64>,
}

/// Lower and upper bound for each quantile.
#[derive(Clone, Copy, Debug, Default, PartialEq, DeriveSerialize)]
#[allow(missing_docs, reason = "the fields of Stats")]
pub struct Intervals {
    pub p50: Option<[f64; 2]>,
    pub p90: Option<[f64; 2]>,
    pub p95: Option<[f64; 2]>,
    pub p99: Option<[f64; 2]>,
    pub p99_9: Option<[f64; 2]>,
}

/// Response time together over alone, statistic by statistic.
#[derive(Clone, Copy, Debug, PartialEq, DeriveSerialize)]
pub struct Slowdown {
    /// Of the medians.
    pub p50: Option<f64>,
    /// Of the 99 % quantiles.
    pub p99: Option<f64>,
    /// Interval of each, of at least 95 %.
    pub ci95: SlowdownIntervals,
    /// Of each that is withheld, how many frames it takes, together or alone.
    pub needs: SlowdownNeeds,
    /// Frames measured alone.
    pub alone_count: u64,
}

/// Frames that a withheld slowdown takes; `None` where it is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, DeriveSerialize)]
#[allow(missing_docs, reason = "the fields of Slowdown")]
pub struct SlowdownNeeds {
    pub p50: Option<u64>,
    pub p99: Option<u64>,
}

/// Bounds of a slowdown.
#[derive(Clone, Copy, Debug, PartialEq, DeriveSerialize)]
#[allow(missing_docs, reason = "the fields of Slowdown")]
pub struct SlowdownIntervals {
    pub p50: Option<[f64; 2]>,
    pub p99: Option<[f64; 2]>,
}

/// Energy in millijoules.
#[derive(Clone, Copy, Debug, PartialEq, DeriveSerialize)]
pub struct Energy {
    /// All of it.
    pub total: f64,
    /// Without what the idle machine takes, where that was measured.
    pub above_idle: Option<f64>,
    /// 95 % interval of `total`, as far as the sensors' scatter and steps go.
    pub ci95: Option<[f64; 2]>,
    /// The tenant's share of the whole, from 0 to 1.
    pub share: f64,
    /// Whether any of it was divided among several tenants, and so is an attribution and no measurement.
    pub attributed: bool,
}

/// The energy of all that was measured together.
#[derive(Clone, Debug, PartialEq, DeriveSerialize)]
pub struct EnergySummary {
    /// What it is the energy of: `module`, `GPU and processor`, ….
    pub of: &'static str,
    /// The lines that were added, each as `source/rail`.
    pub rails: Vec<String>,
    /// All of it.
    pub total_mj: f64,
    /// Without what the idle machine takes, where that was measured.
    pub above_idle_mj: Option<f64>,
    /// 95 % interval of `total_mj`, as far as the sensors' scatter and steps go.
    pub ci95_mj: Option<[f64; 2]>,
    /// The same of `above_idle_mj`: what the idle baseline may be off by is in it.
    pub above_idle_ci95_mj: Option<[f64; 2]>,
    /// Why there is no interval, where there is none.
    pub ci95_withheld: Option<&'static str>,
    /// Over the measured time.
    pub mean_mw: f64,
    /// Over the idle baseline.
    pub idle_mw: Option<f64>,
    /// How long the idle baseline was.
    pub idle_s: Option<f64>,
    /// What the rails within come to, over the total; where the board has such rails.
    pub rails_share: Option<f64>,
    /// Whether the sensors were calibrated; they never are, so gain and offset may be off by several percent.
    pub calibrated: bool,
    /// How it was divided among the tenants, where there are several.
    pub attribution: Option<&'static str>,
    /// Whether it is a board's own rails.
    #[serde(skip)]
    pub board: bool,
}

/// One power line over the measured time.
#[derive(Clone, Debug, PartialEq, DeriveSerialize)]
pub struct RailSummary {
    /// The sampler.
    pub source: String,
    /// The board's own name for it.
    pub rail: String,
    /// Mean power.
    pub mean_mw: f64,
    /// Highest reading.
    pub peak_mw: f64,
    /// Mean power before the run, where it was measured.
    pub idle_mw: Option<f64>,
    /// Integral of power.
    pub energy_mj: f64,
    /// How often the sensor renews its value; where it neither says nor shows it, not known.
    pub refresh_ms: Option<f64>,
    /// Share of time that the sensor saw.
    pub coverage: f64,
    /// Energy without what it takes when idle.
    pub above_idle_mj: Option<f64>,
    /// 95 % interval of `energy_mj`, as far as the sensor's scatter and steps go.
    pub ci95_mj: Option<[f64; 2]>,
    /// Why there is no interval, where there is none.
    pub ci95_withheld: Option<&'static str>,
    /// `counter` or `power`: where `energy_mj` comes from.
    pub energy_from: &'static str,
    /// Power integrated over the window.
    pub integrated_mj: f64,
    /// The growth of its counter.
    pub counter_mj: Option<f64>,
    /// `total`, `summand`, `part`, `within`, `input` or `unknown`: its place in the whole.
    pub role: &'static str,
    /// The line that it hangs off.
    pub within: Option<String>,
    /// `stated` or `observed`: where `refresh_ms` comes from.
    pub refresh_from: Option<&'static str>,
    /// `instant`, `mean` or `unknown`: what one reading is.
    pub averaging: &'static str,
    /// What a mean is over.
    pub window_ms: Option<f64>,
    /// The sensor's smallest difference.
    pub step_mw: Option<f64>,
    /// Share of time in which readings followed one another without a gap.
    pub sampled: f64,
    /// Readings in the window.
    pub readings: u64,
    /// Readings in it that had no value.
    pub unread: u64,
}

/// The unit of an expectation's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, DeriveSerialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Milliseconds.
    Ms,
    /// Frames per second.
    Fps,
    /// A share from 0 to 1.
    Ratio,
    /// A number of frames or objects.
    Count,
    /// A plain number, such as a slowdown.
    Factor,
}

/// Whether a promise held.
#[derive(Clone, Debug, PartialEq, DeriveSerialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, DeriveSerialize)]
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

/// Pairs as a JSON object that keeps their order.
fn as_map<S: Serializer, V: Serialize>(pairs: &[(&'static str, V)], out: S) -> Result<S::Ok, S::Error> {
    let mut map = out.serialize_map(Some(pairs.len()))?;
    for (name, value) in pairs {
        map.serialize_entry(name, value)?;
    }
    map.end()
}
