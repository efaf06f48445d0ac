//! How predictable a tenant's response time is, and its slowest frames.

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
    /// Median of the GPU's clock over usual frames; `None` where no clock was sampled.
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
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SlowPart {
    /// `lateness`, `wait`, a stage, or `wakeup`, as in [`Waterfall`](super::Waterfall).
    pub name: &'static str,
    /// Its duration in this frame.
    pub ms: f64,
    /// What it usually takes.
    pub usual_ms: f64,
}

/// How busy another tenant was in the first stretch of a frame's service, which of a hundred frames one is shorter than.
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the quantiles")]
pub struct EffectiveFrames {
    pub p50: Option<u64>,
    pub p90: Option<u64>,
    pub p99: Option<u64>,
}

/// Whether a tenant was in its steady state while it was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
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
#[derive(Clone, Debug, PartialEq, Serialize)]
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

/// Published measures of predictability. Their percentiles are interpolated between neighbours, ours are not: the two
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
    /// This and all that is made of it: from 100 frames on.
    pub p99_ms: Option<f64>,
    pub iqr_ms: f64,
    /// p99 − minimum; `None` below 100 frames.
    pub p0_p99_range_ms: Option<f64>,
    /// The range over the median.
    pub normalized_range: Option<f64>,
    /// p99 − p50; `None` below 100 frames.
    pub spread_ms: Option<f64>,
    /// (p99 − p50) ÷ p50.
    pub relative_spread: Option<f64>,
    /// Fewer than 1000 frames.
    pub sparse: bool,
    /// The same under the P1–P99 policy.
    pub trimmed: Option<Trimmed>,
}

/// What remains of the frames between the 1st and the 99th percentile, both included.
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
    /// Fewer than 1000 remain.
    pub sparse: bool,
}

/// How predictable one stage is: what is said of the response time, as far as a stage has it.
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
    /// Independent frames that would say as much of a quantile.
    pub effective_frames: EffectiveFrames,
    /// The published measures, over interpolated percentiles.
    pub interpolated: Option<Interpolated>,
}
