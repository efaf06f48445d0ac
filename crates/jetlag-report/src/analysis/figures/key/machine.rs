//! Every figure of the machine: its name, unit, better way and meaning, and where the summary has it. Rails and sensors are found by their
//! names elsewhere (`figures::machine`), since only the run knows them.

use jetlag_figure::Unit;

use super::found::{Absent, Found, Reading, between, exact, of_run};
use super::words::{figures, shown, words};
use super::{Better, Entry};
use crate::analysis::summary::{EnergySummary, HostSummary, RailSummary};

figures! {
    /// Energy of all that was measured.
    Whole of EnergySummary {
        Total "total" Mj Less "energy of the measured time, idle power included"
            |of| between(Some(of.total_mj), of.ci95_mj),
        AboveIdle "above_idle" Mj Less "energy of the measured time above idle"
            |of| between(Some(of.above_idle_mj.ok_or(Absent::Idle)?), of.above_idle_ci95_mj),
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
    OfRail of RailSummary {
        Energy "energy" Mj Less "energy of the measured time"
            |of| between(Some(of.energy_mj), of.ci95_mj),
        AboveIdle "above_idle" Mj Less "the same without idle power"
            |of| Ok(Found::of_run(of.above_idle_mj.ok_or(Absent::Idle)?)),
        Integrated "integrated" Mj Less "power integrated over the measured time"
            |of| Ok(Found::of_run(of.integrated_mj)),
        Counter "counter" Mj Less "growth of its energy counter"
            |of| of_run(of.counter_mj),
        Refresh "refresh" Ms Neither "how often the sensor renews its value"
            |of| of_run(of.refresh_ms),
        Coverage "coverage" Ratio Neither "share of time that the sensor measured"
            |of| Ok(Found::of_run(of.coverage)),
        Window "window" Ms Neither "averaging window of a reading"
            |of| of_run(of.window_ms),
        Step "step" Mw Neither "the sensor's smallest difference"
            |of| of_run(of.step_mw),
        Sampled "sampled" Ratio Neither "share of time with readings without a gap"
            |of| Ok(Found::of_run(of.sampled)),
        Readings "readings" Count Neither "readings in the measured time"
            |of| exact(of.readings),
        Unread "unread" Count Neither "readings that had no value"
            |of| exact(of.unread),
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
    Host of HostSummary {
        CpuLoad "cpu_load" Percent Neither "mean load of all processors"
            |of| of_run(of.cpu_load_percent),
        Others "others" Percent Less "the part of it that was other programs'"
            |of| of_run(of.others_percent),
        MemoryPeak "memory_peak" Bytes Less "largest memory use"
            |of| of_run(of.memory_peak_bytes.map(|bytes| bytes as f64)),
        Samples "samples" Count Neither "readings of the load"
            |of| exact(of.samples),
    }
}
