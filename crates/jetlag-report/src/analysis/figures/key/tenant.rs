//! Every figure of a tenant: its name, unit, better way and meaning, and where the tenant's summary has it.
//!
//! Its support is said with its value: it was counted (`exact`), it is of this run (`of_run`), it has an interval (`between`), or it is an
//! estimate whose interval frames are lacking for (`lacking`).

use jetlag_figure::Unit;
use jetlag_stats::quantile::Quantile;

use super::found::{Absent, Found, Reading, between, count, exact, lacking, of_run};
use super::words::{figures, shown, words};
use super::{Better, Entry, Shown};
use crate::analysis::gathering::lack::Lack;
use crate::analysis::summary::{
    Energy, Estimate, Interpolated, MemorySummary, Slowdown, TenantSummary, Trimmed, Wander,
};

words! {
    /// A series of durations of a tenant.
    Series {
        Response "response" "finished − released, of completed frames",
        Service "service" "finished − started, of completed frames",
        Lateness "lateness" "how late the release itself was, of all offered frames",
        Age "age" "finished − captured, of completed frames whose releases follow a recording's time",
        Submission "submission" "the host's time to submit a frame to its device",
        Skew "synchronised.skew" "how far apart the sensors of a complete set were",
    }
}

figures! {
    /// A statistic of a series of durations.
    Statistic {
        Count "count" Count Neither "number of frames",
        Mean "mean" Ms Less "mean",
        Sd "sd" Ms Less "standard deviation",
        Min "min" Ms Less "shortest",
        P50 "p50" Ms Less "median",
        P90 "p90" Ms Less "90 % of frames take no longer",
        P95 "p95" Ms Less "95 % of frames take no longer",
        P99 "p99" Ms Less "99 % of frames take no longer",
        P99_9 "p99_9" Ms Less "99.9 % of frames take no longer",
        Max "max" Ms Less "longest",
    }
}

figures! {
    /// A figure of a tenant that stands for itself.
    Plain of TenantSummary {
        Offered "offered" Count More "frames released in the measured time whose fate is known"
            |of| exact(of.frames.offered),
        Completed "completed" Count More "frames that ended with a result" |of| exact(of.frames.completed),
        Dropped "dropped" Count Less "frames given up under overload" |of| exact(of.frames.dropped),
        Missed "missed" Count Less "frames that broke the promise: late, dropped, failed or overdue"
            |of| exact(of.frames.missed),
        Failed "failed" Count Less "frames that ended with an error, in the warm-up too"
            |of| exact(of.frames.failed + of.frames.failed_in_warmup),
        LostRecords "lost_records" Count Less "frames that ran and were not recorded"
            |of| exact(of.frames.lost_records),
        Overdue "overdue" Count Less "frames cut off by the end, past their deadline"
            |of| exact(of.frames.overdue),
        Unfinished "unfinished" Count Less "frames cut off by the end, in no other figure"
            |of| exact(of.frames.unfinished),
        FailedInWarmup "failed_in_warmup" Count Less "frames that failed in the warm-up"
            |of| exact(of.frames.failed_in_warmup),
        Throughput "throughput" Fps More "completed frames per second of measured time" in Frames "frames/s"
            |of| of_run(of.throughput_fps),
        Detections "detections" Count More "objects reported in completed frames" in Frames "detections"
            |of| count(of.detections),
        MissRate "miss_rate" Ratio Less "missed ÷ offered"
            |of| between(of.miss_rate, of.miss_rate_ci95),
        Jitter "jitter" Ms Less "p99 − p50 of the response time"
            |of| lacking(of.jitter_ms, of.response_ms.p99.lack),
        InterquartileRange "iqr" Ms Less "p75 − p25 of the response time"
            |of| lacking(of.iqr_ms, Some(for_quartiles(of))),
        Cv "cv" Factor Less "standard deviation ÷ mean of the response time" |of| of_run(of.cv),
        WorstOverMedian "worst_over_median" Factor Less "longest ÷ median response time"
            |of| lacking(of.worst_over_median, of.response_ms.p50.lack),
        SlowdownP50 "slowdown.p50" Factor Less "median response time together ÷ alone"
            |of| slowdown(of, |ratio| ratio.p50),
        SlowdownP90 "slowdown.p90" Factor Less "p90 of the response time together ÷ alone"
            |of| slowdown(of, |ratio| ratio.p90),
        SlowdownP99 "slowdown.p99" Factor Less "p99 of the response time together ÷ alone"
            |of| slowdown(of, |ratio| ratio.p99),
        SlowdownRounds "slowdown.rounds" Count Neither "complete rounds of turns"
            |of| count(of.slowdown.as_ref().map(|ratio| ratio.rounds)),
        SlowdownLeftOut "slowdown.left_out_share" Ratio Neither "share of each turn that is left out at its beginning"
            |of| of_run(of.slowdown.as_ref().map(|ratio| ratio.left_out_share)),
        SlowdownAlone "slowdown.alone_count" Count Neither "frames measured alone"
            |of| count(of.slowdown.as_ref().map(|ratio| ratio.alone_count)),
        Batch "batch" Count Neither "items of a frame of a bare network" |of| count(of.batch),
        ThroughputItems "throughput_items" Factor More "items of completed frames per second" in Frames "items/s"
            |of| of_run(of.throughput_fps.zip(of.batch).map(|(rate, items)| rate * items as f64)),
        SampledRepeated "sampled.repeated" Count Less "releases for which no new frame had come"
            |of| count(of.sampled.as_ref().map(|sampled| sampled.repeated)),
        SampledSkipped "sampled.skipped" Count Less "frames never taken, since a newer one was there"
            |of| count(of.sampled.as_ref().map(|sampled| sampled.skipped)),
        SetsComplete "synchronised.complete" Count More "complete sets of sensors"
            |of| count(of.synchronised.as_ref().map(|sets| sets.complete)),
        SetsIncomplete "synchronised.incomplete" Count Less "sets of which a sensor is missing"
            |of| count(of.synchronised.as_ref().map(|sets| sets.incomplete)),
        SetsIncompleteShare "synchronised.incomplete_share" Ratio Less "incomplete sets ÷ all sets"
            |of| of_run(of.synchronised.as_ref().and_then(|sets| sets.incomplete_share)),
        SetsRate "synchronised.rate" Fps More "complete sets per second of measured time"
            |of| of_run(of.synchronised.as_ref().and_then(|sets| sets.rate_hz)),
        SubmittingMean "submitting.mean" Ms Less "mean time of *compute* in which the host was still submitting"
            |of| of_run(of.submitting.as_ref().map(|one| one.mean_ms)),
        SubmittingP25 "submitting.share.p25" Ratio Less "that time as a share of *compute*: a quarter of frames have no more"
            |of| of_run(of.submitting.as_ref().and_then(|one| one.share.p25)),
        SubmittingP50 "submitting.share.p50" Ratio Less "its median"
            |of| of_run(of.submitting.as_ref().and_then(|one| one.share.p50)),
        SubmittingP75 "submitting.share.p75" Ratio Less "three quarters of frames have no more"
            |of| of_run(of.submitting.as_ref().and_then(|one| one.share.p75)),
        SubmittingBound "submitting.bound_frames" Ratio Less "share of frames in which the host submitted almost to the end"
            |of| of_run(of.submitting.as_ref().map(|one| one.bound_frames)),
        MemoryNetworks "memory.networks" Bytes Less "memory of its networks where they execute" in Memory "networks"
            |of| memory(of, "networks", |memory| memory.networks_bytes),
        MemoryContexts "memory.contexts" Bytes Less "working memory of its execution contexts" in Memory "contexts"
            |of| memory(of, "contexts", |memory| memory.contexts_bytes),
        MemoryDeviceTensors "memory.device_tensors" Bytes Less "its tensors in device memory" in Memory "GPU tensors"
            |of| memory(of, "device_tensors", |memory| memory.device_tensors_bytes),
        MemoryPinned "memory.pinned" Bytes Less "its tensors in host memory that the device reaches" in Memory "pinned"
            |of| memory(of, "pinned", |memory| memory.pinned_bytes),
        MemoryHostTensors "memory.host_tensors" Bytes Less "its tensors in ordinary host memory" in Memory "host tensors"
            |of| memory(of, "host_tensors", |memory| memory.host_tensors_bytes),
        MemoryDevice "memory.device" Bytes Less "by how much the device's free memory sank for it" in Memory "GPU in all"
            |of| memory(of, "device", |memory| memory.device_bytes),
        MemoryDevicePeak "memory.device_peak" Bytes Less "the most in use on its device" in Memory "GPU peak"
            |of| memory(of, "device_peak", |memory| memory.device_peak_bytes),
        MemoryProcessPeak "memory.process_peak" Bytes Less "the most that its process had resident" in Memory "process peak"
            |of| memory(of, "process_peak", |memory| memory.process_peak_bytes),
        RelativeSpread "predictability.relative_spread" Factor Less "(p99 − p50) ÷ p50 of the response time"
            |of| lacking(of.predictability.relative_spread, of.response_ms.p99.lack),
        LongestMissStreak "predictability.longest_miss_streak" Count Less "longest run of consecutive misses"
            |of| exact(of.predictability.longest_miss_streak),
        Autocorrelation "predictability.autocorrelation" Factor Neither "correlation of each response time with the next"
            |of| of_run(of.predictability.autocorrelation),
        EffectiveP50 "predictability.effective_frames.p50" Count Neither "independent frames that would tell as much of the median"
            |of| of_run(of.predictability.effective_frames.p50.map(|frames| frames as f64)),
        EffectiveP90 "predictability.effective_frames.p90" Count Neither "the same of the p90"
            |of| of_run(of.predictability.effective_frames.p90.map(|frames| frames as f64)),
        EffectiveP99 "predictability.effective_frames.p99" Count Neither "the same of the p99"
            |of| of_run(of.predictability.effective_frames.p99.map(|frames| frames as f64)),
        SettledAfter "predictability.steady.settled_after" S Less "measured time until it had settled"
            |of| of_run(of.predictability.steady.settled_after_s),
        Settling "predictability.steady.settling" Factor Neither "relative difference of the median before it had settled"
            |of| of_run(of.predictability.steady.settling),
        Drift "predictability.steady.drift" Factor Neither "relative change from start to end along a line"
            |of| of_run(of.predictability.steady.drift),
        WanderSlot "predictability.wander.slot" S Neither "length of the slots whose medians are compared"
            |of| wander(of, |wander| wander.slot_s),
        WanderSlots "predictability.wander.slots" Count Neither "number of slots"
            |of| count(of.predictability.wander.as_ref().map(|wander| wander.slots)),
        WanderLow "predictability.wander.low" Ms Less "a tenth of the slots' medians are no higher"
            |of| wander(of, |wander| wander.low_ms),
        WanderHigh "predictability.wander.high" Ms Less "nine tenths of the slots' medians are no higher"
            |of| wander(of, |wander| wander.high_ms),
        WanderFirst "predictability.wander.first" Ms Less "median of the first quarter of the slots"
            |of| wander(of, |wander| wander.first_ms),
        WanderLast "predictability.wander.last" Ms Less "median of the last quarter of the slots"
            |of| wander(of, |wander| wander.last_ms),
        WanderBetween "predictability.wander.between" Factor Less "deviation of the slots' medians over the median"
            |of| wander(of, |wander| wander.between),
        WanderWithin "predictability.wander.within" Factor Less "deviation of frames within a slot over the median"
            |of| wander(of, |wander| wander.within),
        InterpolatedP1 "predictability.interpolated.p1" Ms Less "1st percentile, interpolated as published measures have it"
            |of| interpolated(of, |all| Some(all.p1_ms)),
        InterpolatedP5 "predictability.interpolated.p5" Ms Less "5th percentile, interpolated"
            |of| interpolated(of, |all| Some(all.p5_ms)),
        InterpolatedP25 "predictability.interpolated.p25" Ms Less "25th percentile, interpolated"
            |of| interpolated(of, |all| Some(all.p25_ms)),
        InterpolatedP50 "predictability.interpolated.p50" Ms Less "median, interpolated"
            |of| interpolated(of, |all| Some(all.p50_ms)),
        InterpolatedP75 "predictability.interpolated.p75" Ms Less "75th percentile, interpolated"
            |of| interpolated(of, |all| Some(all.p75_ms)),
        InterpolatedP95 "predictability.interpolated.p95" Ms Less "95th percentile, interpolated"
            |of| interpolated(of, |all| Some(all.p95_ms)),
        InterpolatedP99 "predictability.interpolated.p99" Ms Less "99th percentile, interpolated"
            |of| interpolated(of, |all| all.p99_ms),
        InterpolatedIqr "predictability.interpolated.iqr" Ms Less "interquartile range, interpolated"
            |of| interpolated(of, |all| Some(all.iqr_ms)),
        InterpolatedRange "predictability.interpolated.p0_p99_range" Ms Less "p99 − shortest, interpolated"
            |of| interpolated(of, |all| all.p0_p99_range_ms),
        NormalizedRange "predictability.interpolated.normalized_range" Factor Less "that range ÷ median"
            |of| interpolated(of, |all| all.normalized_range),
        InterpolatedSpread "predictability.interpolated.spread" Ms Less "p99 − p50, interpolated"
            |of| interpolated(of, |all| all.spread_ms),
        InterpolatedRelative "predictability.interpolated.relative_spread" Factor Less "that spread ÷ median"
            |of| interpolated(of, |all| all.relative_spread),
        TrimmedLow "predictability.interpolated.trimmed.low" Ms Less "1st percentile, the lower bound of what remains"
            |of| trimmed(of, |rest| Some(rest.low_ms)),
        TrimmedHigh "predictability.interpolated.trimmed.high" Ms Less "99th percentile, the upper bound of what remains"
            |of| trimmed(of, |rest| Some(rest.high_ms)),
        TrimmedFrames "predictability.interpolated.trimmed.frames" Count Neither "frames that remain between them"
            |of| trimmed(of, |rest| Some(rest.frames as f64)),
        TrimmedP50 "predictability.interpolated.trimmed.p50" Ms Less "median of what remains"
            |of| trimmed(of, |rest| Some(rest.p50_ms)),
        TrimmedP99 "predictability.interpolated.trimmed.p99" Ms Less "99th percentile of what remains"
            |of| trimmed(of, |rest| rest.p99_ms),
        TrimmedSpread "predictability.interpolated.trimmed.spread" Ms Less "p99 − p50 of what remains"
            |of| trimmed(of, |rest| rest.spread_ms),
        TrimmedRelative "predictability.interpolated.trimmed.relative_spread" Factor Less "that spread ÷ median"
            |of| trimmed(of, |rest| rest.relative_spread),
    }
}

figures! {
    /// Energy of a tenant's completed frames.
    PerFrame of Energy {
        Total "per_frame" Mj Less "energy for one completed frame, idle power included"
            |of| between(Some(of.total), of.ci95),
        AboveIdle "per_frame_above_idle" Mj Less "energy for one completed frame above idle"
            |of| between(Some(of.above_idle.ok_or(Absent::Idle)?), of.above_idle_ci95),
        FramesPerJoule "frames_per_joule" FramesPerJoule More "completed frames for each joule"
            |of| between(of.frames_per_joule, of.frames_per_joule_ci95()),
    }
}

/// The interquartile range needs what the median needs, and in addition enough independent frames for the quartiles.
pub(in crate::analysis::figures) fn for_quartiles(tenant: &TenantSummary) -> Lack {
    let quartiles = Lack::Frames(Quantile::P75.needs());
    tenant.response_ms.p50.lack.unwrap_or(quartiles).max(quartiles)
}

fn slowdown(tenant: &TenantSummary, ratio: fn(&Slowdown) -> Estimate) -> Reading {
    let slowdown = tenant.slowdown.as_ref().ok_or(Absent::Nothing)?;
    let withheld = || match &slowdown.withheld {
        Some(withheld) => Absent::Withheld(withheld.message.clone()),
        None => Absent::Nothing,
    };
    let ratio = ratio(slowdown);
    Ok(Found::between(ratio.value.ok_or_else(withheld)?, ratio.ci95))
}

fn memory(tenant: &TenantSummary, part: &str, bytes: fn(&MemorySummary) -> Option<u64>) -> Reading {
    let memory = tenant.memory.as_ref().ok_or(Absent::Nothing)?;
    let unknown = || memory.unknown.iter().find(|unknown| unknown.part == part);
    let absent = || unknown().map_or(Absent::Nothing, |part| Absent::Withheld(part.reason.clone()));
    let bytes = bytes(memory).ok_or_else(absent)?;
    Ok(Found::of_run(bytes as f64))
}

fn wander(tenant: &TenantSummary, of: fn(&Wander) -> f64) -> Reading {
    of_run(tenant.predictability.wander.as_ref().map(of))
}

fn interpolated(tenant: &TenantSummary, of: fn(&Interpolated) -> Option<f64>) -> Reading {
    of_run(tenant.predictability.interpolated.as_ref().and_then(of))
}

fn trimmed(tenant: &TenantSummary, of: fn(&Trimmed) -> Option<f64>) -> Reading {
    let interpolated = tenant.predictability.interpolated.as_ref();
    of_run(interpolated.and_then(|all| all.trimmed.as_ref()).and_then(of))
}
