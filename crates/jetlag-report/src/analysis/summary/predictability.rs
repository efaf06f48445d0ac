//! Figures of how predictable a tenant's response time is, and its slowest frames.

use serde::Serialize;

/// A slow frame, and what was different while it ran.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SlowFrame {
    /// Its number among the tenant's releases.
    pub sequence: u64,
    /// Seconds after the start of the measured time at which it was released.
    pub at_s: f64,
    /// Its response time, ms.
    pub response_ms: f64,
    /// The median response time of its tenant, ms.
    pub usual_response_ms: f64,
    /// Whether it is beyond the tenant's usual spread; if not, no cause is searched.
    pub beyond_spread: bool,
    /// Number of the slowest frames that belong to the same incident, because they waited for one another; 1 is only
    /// itself.
    pub frames: u64,
    /// Sequence number of the frame that it waited for, if waiting is what grew.
    pub behind: Option<u64>,
    /// How late its release was.
    pub lateness_ms: f64,
    /// How long it waited for earlier frames.
    pub wait_ms: f64,
    /// The part of its response time that exceeds its median most.
    pub grew: SlowPart,
    /// Points or pixels that entered preprocessing; `None` where nothing was preprocessed.
    pub input_size: Option<u32>,
    /// Median input size over all frames.
    pub usual_input_size: Option<u32>,
    /// The other tenants while it was served; if it waited, while the frame that it waited for was served.
    pub co_runners: Vec<ActiveCoRunner>,
    /// The GPU's clock at its start, MHz; `None` where no clock was sampled.
    pub clock_mhz: Option<f64>,
    /// Median of the GPU's clock over usual frames; `None` where no clock was sampled.
    pub usual_clock_mhz: Option<f64>,
    /// The GPU's temperature, or the highest where it has none of its own.
    pub temperature_c: Option<f64>,
    /// Whether a GPU or processor was throttled; `None` if no signal shows it.
    pub throttled: Option<bool>,
    /// The likely cause: `late-release`, `backlog`, `waited`, `throttled`, `low-clock`, `larger-input`, `co-runner`,
    /// `locked` (a co-runner or anything else with the same rhythm); `None` if none was found.
    pub cause: Option<&'static str>,
    /// The cause in a sentence.
    pub explanation: String,
}

/// A part of a frame's response time, compared with its median.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SlowPart {
    /// `lateness`, `wait`, a stage, or `unattributed`: the time in no stage.
    pub name: &'static str,
    /// Its duration in this frame.
    pub ms: f64,
    /// Its median duration over usual frames.
    pub usual_ms: f64,
}

/// How busy another tenant was in the first stretch of a frame's service; 1 % of frames are shorter than that stretch.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ActiveCoRunner {
    /// Name of that tenant.
    pub tenant: String,
    /// Share of that stretch in which it was at work: in service, and not waiting for its turn on the device.
    pub active: f64,
    /// Share of usual frames for which that is at least half.
    pub usually: f64,
}

/// How predictable a tenant's response time is, beyond `jitter_ms`, `cv`, `iqr_ms` and `worst_over_median`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Predictability {
    /// (p99 − p50) ÷ p50.
    pub relative_spread: Option<f64>,
    /// The longest run of consecutive misses.
    pub longest_miss_streak: u64,
    /// Correlation of each response time with that of the next completed frame, from −1 to 1.
    pub autocorrelation: Option<f64>,
    /// Effective sample size for each quantile.
    pub effective_frames: EffectiveFrames,
    /// Whether it was in a steady state.
    pub steady: Steady,
    /// How much its speed wanders over seconds; `None` where the run is too short to tell.
    pub wander: Option<Wander>,
    /// The published measures, from interpolated percentiles.
    pub interpolated: Option<Interpolated>,
}

/// Effective sample size for each quantile: the number of independent frames that would give the same precision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the quantiles")]
pub struct EffectiveFrames {
    pub p50: Option<u64>,
    pub p90: Option<u64>,
    pub p99: Option<u64>,
}

/// How much a tenant's speed wanders: the medians of the response times of slots of a second or more.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Wander {
    /// Length of a slot, s.
    pub slot_s: f64,
    /// Number of slots.
    pub slots: u64,
    /// The median that a tenth of the slots do not exceed.
    pub low_ms: f64,
    /// The median that nine tenths of the slots do not exceed.
    pub high_ms: f64,
    /// The median of the slots of the first quarter of the run.
    pub first_ms: f64,
    /// The median of the slots of its last quarter.
    pub last_ms: f64,
    /// Standard deviation of the slots' medians, beyond what the frames' own differences explain, over the median.
    pub between: f64,
    /// Standard deviation of frames within a slot, by their quartiles, over the median.
    pub within: f64,
    /// The sampled signal that goes with the medians; `None` where none does by more than chance.
    pub with: Option<Companion>,
}

/// A signal that goes with a tenant's speed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Companion {
    /// Name of the sampler.
    pub source: String,
    /// Name of the signal, as the sampler gives it.
    pub signal: String,
    /// `clock` or `temperature`.
    pub kind: &'static str,
    /// Rank correlation with the median response time of a slot, from −1 to 1.
    pub correlation: f64,
}

/// Whether a tenant was in a steady state while it was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Steady {
    /// Whether there were enough frames to tell.
    pub judged: bool,
    /// Measured seconds until it had settled; 0 if the warm-up was long enough.
    pub settled_after_s: Option<f64>,
    /// Relative difference of the median before it had settled from that after; `None` if it was settled from the
    /// start.
    pub settling: Option<f64>,
    /// Relative change from start to end along a straight line; `None` if no drift was found.
    pub drift: Option<f64>,
    /// Changes of level, in order.
    pub shifts: Vec<Shift>,
}

/// A change of the response time's level.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Shift {
    /// Seconds after the tenant's first measured release.
    pub at_s: f64,
    /// Median of the stretch before.
    pub before_ms: f64,
    /// Median of the stretch after.
    pub after_ms: f64,
    /// Relative change: after over before, less one.
    pub change: f64,
    /// Clocks and temperatures that changed at the same time, the largest change first.
    pub with: Vec<SignalChange>,
}

/// A clock or temperature before and after a shift: medians of the two stretches.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SignalChange {
    /// Name of the sampler.
    pub source: String,
    /// Name of the signal, as the sampler gives it.
    pub signal: String,
    /// Unit of both medians: `mhz` or `c` (°C).
    pub unit: String,
    /// Median of the readings in the stretch before the shift.
    pub before: f64,
    /// Median of the readings in the stretch after the shift.
    pub after: f64,
}

/// Published measures of predictability. Their percentiles are interpolated between neighbours, ours are not; the two
/// are never mixed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
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
    /// From 100 frames on, like everything derived from it.
    pub p99_ms: Option<f64>,
    pub iqr_ms: f64,
    /// p99 − minimum; `None` below 100 frames.
    pub p0_p99_range_ms: Option<f64>,
    /// The range divided by the median.
    pub normalized_range: Option<f64>,
    /// p99 − p50; `None` below 100 frames.
    pub spread_ms: Option<f64>,
    /// (p99 − p50) ÷ p50.
    pub relative_spread: Option<f64>,
    /// Whether there are fewer than 1000 frames.
    pub sparse: bool,
    /// The same measures under the P1–P99 policy.
    pub trimmed: Option<Trimmed>,
}

/// The frames between the 1st and the 99th percentile, both included.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the fields of Interpolated")]
pub struct Trimmed {
    /// The 1st percentile of all.
    pub low_ms: f64,
    /// The 99th percentile of all.
    pub high_ms: f64,
    /// Number of frames that remain.
    pub frames: u64,
    pub p50_ms: f64,
    pub p99_ms: Option<f64>,
    pub spread_ms: Option<f64>,
    pub relative_spread: Option<f64>,
    /// Whether fewer than 1000 frames remain.
    pub sparse: bool,
}

/// How predictable one stage is: the same measures as for the response time, as far as they apply.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StagePredictability {
    /// p99 − p50 of the stage's time; `None` where one of them is withheld.
    pub jitter_ms: Option<f64>,
    /// Standard deviation over mean.
    pub cv: Option<f64>,
    /// p75 − p25 of the stage's time (interquartile range).
    pub iqr_ms: Option<f64>,
    /// Maximum over median of the stage's time.
    pub worst_over_median: Option<f64>,
    /// (p99 − p50) ÷ p50.
    pub relative_spread: Option<f64>,
    /// Correlation of each time with that of the next frame that has the stage, from −1 to 1.
    pub autocorrelation: Option<f64>,
    /// Effective sample size for each quantile.
    pub effective_frames: EffectiveFrames,
    /// The published measures, from interpolated percentiles.
    pub interpolated: Option<Interpolated>,
}
