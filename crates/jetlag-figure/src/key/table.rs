//! Every figure that there is: its name, its unit, which way it is better, and what it means. To add one, add its line here, and where the
//! run's summary has it (`figures` of jetlag-report).

use crate::Unit;

/// Which way a figure is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Times, energies, misses.
    Less,
    /// Rates, frames a joule.
    More,
    /// A fact that is neither good nor bad.
    Neither,
}

/// What a table says of one of its figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its part of the key's name.
    pub name: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// Which way it is better.
    pub better: Better,
    /// What it is, in a line.
    pub doc: &'static str,
}

/// Words of a key with their meanings.
macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($variant:ident $word:literal $doc:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $(#[doc = $doc] $variant,)* }

        impl $name {
            /// All of them, in the order of tables.
            pub const ALL: &'static [$name] = &[$($name::$variant,)*];

            /// Its part of a key's name.
            pub const fn name(self) -> &'static str {
                match self { $($name::$variant => $word,)* }
            }

            /// What it is.
            pub const fn doc(self) -> &'static str {
                match self { $($name::$variant => $doc,)* }
            }

            /// The one of this name.
            pub fn named(name: &str) -> Option<$name> {
                $name::ALL.iter().copied().find(|known| known.name() == name)
            }
        }
    };
}

/// Words that are figures: with a unit, and a way to be better.
macro_rules! figures {
    ($(#[$about:meta])* $name:ident { $($variant:ident $word:literal $unit:ident $better:ident $doc:literal,)* }) => {
        words! { $(#[$about])* $name { $($variant $word $doc,)* } }

        impl $name {
            /// Its line of the table.
            pub const fn entry(self) -> Entry {
                match self {
                    $($name::$variant => Entry {
                        name: $word,
                        unit: Unit::$unit,
                        better: Better::$better,
                        doc: $doc,
                    },)*
                }
            }
        }
    };
}

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
    Plain {
        Offered "offered" Count More "frames released in the measured time whose fate is known",
        Completed "completed" Count More "frames that ended with a result",
        Dropped "dropped" Count Less "frames given up under overload",
        Missed "missed" Count Less "frames that broke the promise: late, dropped, failed or overdue",
        Failed "failed" Count Less "frames that ended with an error, in the warm-up too",
        LostRecords "lost_records" Count Less "frames that ran and were not recorded",
        Overdue "overdue" Count Less "frames cut off by the end, past their deadline",
        Unfinished "unfinished" Count Less "frames cut off by the end, in no other figure",
        FailedInWarmup "failed_in_warmup" Count Less "frames that failed in the warm-up",
        Detections "detections" Count More "objects reported in completed frames",
        Throughput "throughput" Fps More "completed frames per second of measured time",
        MissRate "miss_rate" Ratio Less "missed ÷ offered",
        Jitter "jitter" Ms Less "p99 − p50 of the response time",
        InterquartileRange "iqr" Ms Less "p75 − p25 of the response time",
        Cv "cv" Factor Less "standard deviation ÷ mean of the response time",
        WorstOverMedian "worst_over_median" Factor Less "longest ÷ median response time",
        SlowdownP50 "slowdown.p50" Factor Less "median response time together ÷ alone",
        SlowdownP90 "slowdown.p90" Factor Less "p90 of the response time together ÷ alone",
        SlowdownP99 "slowdown.p99" Factor Less "p99 of the response time together ÷ alone",
        SlowdownRounds "slowdown.rounds" Count Neither "complete rounds of turns",
        SlowdownLeftOut "slowdown.left_out_share" Ratio Neither "share of each turn that is left out at its beginning",
        SlowdownAlone "slowdown.alone_count" Count Neither "frames measured alone",
        Batch "batch" Count Neither "items of a frame of a bare network",
        ThroughputItems "throughput_items" Factor More "items of completed frames per second",
        SampledRepeated "sampled.repeated" Count Less "releases for which no new frame had come",
        SampledSkipped "sampled.skipped" Count Less "frames never taken, since a newer one was there",
        SetsComplete "synchronised.complete" Count More "complete sets of sensors",
        SetsIncomplete "synchronised.incomplete" Count Less "sets of which a sensor is missing",
        SetsIncompleteShare "synchronised.incomplete_share" Ratio Less "incomplete sets ÷ all sets",
        SetsRate "synchronised.rate" Fps More "complete sets per second of measured time",
        SubmittingMean "submitting.mean" Ms Less "mean time of *compute* in which the host was still submitting",
        SubmittingP25 "submitting.share.p25" Ratio Less "that time as a share of *compute*: a quarter of frames have no more",
        SubmittingP50 "submitting.share.p50" Ratio Less "its median",
        SubmittingP75 "submitting.share.p75" Ratio Less "three quarters of frames have no more",
        SubmittingBound "submitting.bound_frames" Ratio Less "share of frames in which the host submitted almost to the end",
        MemoryNetworks "memory.networks" Bytes Less "memory of its networks where they execute",
        MemoryContexts "memory.contexts" Bytes Less "working memory of its execution contexts",
        MemoryDeviceTensors "memory.device_tensors" Bytes Less "its tensors in device memory",
        MemoryPinned "memory.pinned" Bytes Less "its tensors in host memory that the device reaches",
        MemoryHostTensors "memory.host_tensors" Bytes Less "its tensors in ordinary host memory",
        MemoryDevice "memory.device" Bytes Less "by how much the device's free memory sank for it",
        MemoryDevicePeak "memory.device_peak" Bytes Less "the most in use on its device",
        MemoryProcessPeak "memory.process_peak" Bytes Less "the most that its process had resident",
        RelativeSpread "predictability.relative_spread" Factor Less "(p99 − p50) ÷ p50 of the response time",
        LongestMissStreak "predictability.longest_miss_streak" Count Less "longest run of consecutive misses",
        Autocorrelation "predictability.autocorrelation" Factor Neither "correlation of each response time with the next",
        EffectiveP50 "predictability.effective_frames.p50" Count Neither "independent frames that would tell as much of the median",
        EffectiveP90 "predictability.effective_frames.p90" Count Neither "the same of the p90",
        EffectiveP99 "predictability.effective_frames.p99" Count Neither "the same of the p99",
        SettledAfter "predictability.steady.settled_after" S Less "measured time until it had settled",
        Settling "predictability.steady.settling" Factor Neither "relative difference of the median before it had settled",
        Drift "predictability.steady.drift" Factor Neither "relative change from start to end along a line",
        WanderSlot "predictability.wander.slot" S Neither "length of the slots whose medians are compared",
        WanderSlots "predictability.wander.slots" Count Neither "number of slots",
        WanderLow "predictability.wander.low" Ms Less "a tenth of the slots' medians are no higher",
        WanderHigh "predictability.wander.high" Ms Less "nine tenths of the slots' medians are no higher",
        WanderFirst "predictability.wander.first" Ms Less "median of the first quarter of the slots",
        WanderLast "predictability.wander.last" Ms Less "median of the last quarter of the slots",
        WanderBetween "predictability.wander.between" Factor Less "deviation of the slots' medians over the median",
        WanderWithin "predictability.wander.within" Factor Less "deviation of frames within a slot over the median",
        InterpolatedP1 "predictability.interpolated.p1" Ms Less "1st percentile, interpolated as published measures have it",
        InterpolatedP5 "predictability.interpolated.p5" Ms Less "5th percentile, interpolated",
        InterpolatedP25 "predictability.interpolated.p25" Ms Less "25th percentile, interpolated",
        InterpolatedP50 "predictability.interpolated.p50" Ms Less "median, interpolated",
        InterpolatedP75 "predictability.interpolated.p75" Ms Less "75th percentile, interpolated",
        InterpolatedP95 "predictability.interpolated.p95" Ms Less "95th percentile, interpolated",
        InterpolatedP99 "predictability.interpolated.p99" Ms Less "99th percentile, interpolated",
        InterpolatedIqr "predictability.interpolated.iqr" Ms Less "interquartile range, interpolated",
        InterpolatedRange "predictability.interpolated.p0_p99_range" Ms Less "p99 − shortest, interpolated",
        NormalizedRange "predictability.interpolated.normalized_range" Factor Less "that range ÷ median",
        InterpolatedSpread "predictability.interpolated.spread" Ms Less "p99 − p50, interpolated",
        InterpolatedRelative "predictability.interpolated.relative_spread" Factor Less "that spread ÷ median",
        TrimmedLow "predictability.interpolated.trimmed.low" Ms Less "1st percentile, the lower bound of what remains",
        TrimmedHigh "predictability.interpolated.trimmed.high" Ms Less "99th percentile, the upper bound of what remains",
        TrimmedFrames "predictability.interpolated.trimmed.frames" Count Neither "frames that remain between them",
        TrimmedP50 "predictability.interpolated.trimmed.p50" Ms Less "median of what remains",
        TrimmedP99 "predictability.interpolated.trimmed.p99" Ms Less "99th percentile of what remains",
        TrimmedSpread "predictability.interpolated.trimmed.spread" Ms Less "p99 − p50 of what remains",
        TrimmedRelative "predictability.interpolated.trimmed.relative_spread" Factor Less "that spread ÷ median",
    }
}

figures! {
    /// Energy of a tenant's completed frames.
    PerFrame {
        Total "per_frame" Mj Less "energy for one completed frame, idle power included",
        AboveIdle "per_frame_above_idle" Mj Less "energy for one completed frame above idle",
        FramesPerJoule "frames_per_joule" FramesPerJoule More "completed frames for each joule",
    }
}

figures! {
    /// Energy of all that was measured.
    Whole {
        Total "total" Mj Less "energy of the measured time, idle power included",
        AboveIdle "above_idle" Mj Less "energy of the measured time above idle",
    }
}

figures! {
    /// Power of the total or of a rail.
    Power {
        Mean "mean" Mw Less "energy ÷ measured time",
        Median "median" Mw Less "median over the time that readings cover",
        P95 "p95" Mw Less "what it stayed at or below in 95 % of that time",
        Peak "peak" Mw Less "the highest reading",
        Idle "idle" Mw Less "mean over the idle baseline",
    }
}

figures! {
    /// What else there is of a rail.
    OfRail {
        Energy "energy" Mj Less "energy of the measured time",
        AboveIdle "above_idle" Mj Less "the same without idle power",
        Integrated "integrated" Mj Less "power integrated over the measured time",
        Counter "counter" Mj Less "growth of its energy counter",
        Refresh "refresh" Ms Neither "how often the sensor renews its value",
        Coverage "coverage" Ratio Neither "share of time that the sensor measured",
        Window "window" Ms Neither "averaging window of a reading",
        Step "step" Mw Neither "the sensor's smallest difference",
        Sampled "sampled" Ratio Neither "share of time with readings without a gap",
        Readings "readings" Count Neither "readings in the measured time",
        Unread "unread" Count Neither "readings that had no value",
    }
}

figures! {
    /// What a sensor measures.
    Kind {
        Temperature "temperature" C Less "of a temperature",
        Clock "clock" Mhz More "of a clock, without the time in which it was off",
        Load "load" Percent Neither "of the load of a processor, a GPU or a memory",
    }
}

words! {
    /// How high a sensor was over the measured time.
    Level {
        Min "min" "the lowest reading",
        Mean "mean" "mean over the time that readings cover",
        Median "median" "median over that time",
        P95 "p95" "what it stayed at or below in 95 % of that time",
        Max "max" "the highest reading",
    }
}

figures! {
    /// The machine's load while the tenants ran together.
    Host {
        CpuLoad "cpu_load" Percent Neither "mean load of all processors",
        Others "others" Percent Less "the part of it that was other programs'",
        MemoryPeak "memory_peak" Bytes Less "largest memory use",
        Samples "samples" Count Neither "readings of the load",
    }
}
