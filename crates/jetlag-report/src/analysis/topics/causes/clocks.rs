//! Finds clocks that moved or fell while tenants executed on the unit that they drive.
//!
//! The clocks of GPUs and their memory count only where a tenant used the GPU, those of processors only where a
//! tenant executed on them. What a governor does with other clocks does not matter.

use std::collections::BTreeMap;

use crate::analysis::catalogue::{ClockOf, Limit, MachineLimit};
use crate::analysis::gathering::track::{Track, Tracks};
use crate::record::{Device, Part, Quantity};
use crate::units::Stamp;

/// Largest movement of a clock that is not a finding.
const CLOCK_SHARE: f64 = 0.05;

/// The devices that tenants executed on.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::analysis) struct Used {
    pub(in crate::analysis) gpu: bool,
    pub(in crate::analysis) host: bool,
}

impl Used {
    /// By the devices of all tenants.
    pub(in crate::analysis) fn by(devices: impl Iterator<Item = Device>) -> Used {
        devices.fold(Used::default(), |used, device| Used {
            gpu: used.gpu || device.is_gpu(),
            host: used.host || device == Device::Host,
        })
    }
}

/// A finding for each clock that moved or fell.
pub(in crate::analysis) fn derive(tracks: &Tracks, window: (Stamp, Stamp), used: Used) -> Vec<Limit> {
    let mut limits = Vec::new();
    if used.gpu {
        for track in tracks.iter() {
            if let Some(of) = of_gpu(track) {
                let values: Vec<f64> = track.within(window).iter().map(|point| point.value).collect();
                limits.extend(judged(of, &values));
            }
        }
    }
    if used.host {
        limits.extend(judged(ClockOf::Processors, &of_processors(tracks, window)));
    }
    limits
}

/// The unit whose clock a signal is; none if it is not a GPU's clock.
fn of_gpu(track: &Track) -> Option<ClockOf> {
    match (track.quantity(), track.part()) {
        (Quantity::Clock, Part::Gpu(gpu)) => Some(ClockOf::Gpu { gpu }),
        (Quantity::Clock, Part::MemoryController) => Some(ClockOf::MemoryController),
        (Quantity::Clock, Part::GpuMemory(gpu)) => Some(ClockOf::GpuMemory { gpu }),
        _ => None,
    }
}

/// The highest clock of all processors at each reading: a busy processor runs at it, an idle one falls below it.
fn of_processors(tracks: &Tracks, window: (Stamp, Stamp)) -> Vec<f64> {
    // Grouped by source: two sources that read the same clocks do so at different times, and not always all of them.
    let mut highest: BTreeMap<&str, BTreeMap<Stamp, f64>> = BTreeMap::new();
    for track in tracks.iter().filter(|track| track.is_processor_clock()) {
        let of_source = highest.entry(track.signal.source.as_str()).or_default();
        for point in track.within(window) {
            let most = of_source.entry(point.at).or_default();
            *most = most.max(point.value);
        }
    }
    let longest = highest
        .into_values()
        .max_by_key(BTreeMap::len)
        .unwrap_or_default();
    longest.into_values().collect()
}

/// What a clock's readings, in order of time, show.
fn judged(of: ClockOf, values: &[f64]) -> Option<Limit> {
    // Zero is a unit that is switched off between frames, and not a clock.
    let running: Vec<f64> = values.iter().copied().filter(|mhz| *mhz > 0.0).collect();
    let (low, high) = (
        running.iter().copied().reduce(f64::min)?,
        running.iter().copied().reduce(f64::max)?,
    );
    if low >= high * (1.0 - CLOCK_SHARE) {
        return None;
    }
    let third = running.len() / 3;
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len().max(1) as f64;
    let (from, to) = (mean(&running[..third]), mean(&running[running.len() - third..]));
    Some(Limit::Machine(if to < from * (1.0 - CLOCK_SHARE) {
        MachineLimit::ClockFell { of, from, to }
    } else {
        MachineLimit::ClockMoved { of, low, high }
    }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::analysis::finding::Finding;
    use crate::record::SampleRecord;

    const GPU: Used = Used {
        gpu: true,
        host: false,
    };
    const HOST: Used = Used {
        gpu: false,
        host: true,
    };
    const WINDOW: (Stamp, Stamp) = (Stamp(0), Stamp(10_000_000_000));

    type Value = fn(i64) -> f64;

    /// Ten seconds of readings at 10 Hz.
    fn tracks(signals: &[(&str, Value)]) -> Tracks {
        let mut tracks = Tracks::default();
        for (signal, value) in signals {
            for i in 0..100 {
                tracks.sample(&SampleRecord {
                    at: Stamp(i * 100_000_000),
                    source: "host".into(),
                    signal: (*signal).into(),
                    value: Some(value(i)),
                    unit: "mhz".into(),
                });
            }
        }
        tracks.finish()
    }

    fn found(signals: &[(&str, Value)], used: Used) -> Vec<Finding> {
        let findings = derive(&tracks(signals), WINDOW, used);
        findings.into_iter().map(Finding::from).collect()
    }

    fn codes(signals: &[(&str, Value)], used: Used) -> Vec<String> {
        found(signals, used).into_iter().map(|f| f.code).collect()
    }

    const HOPPING: Value = |i| if i % 2 == 0 { 306.0 } else { 1300.0 };
    const FALLING: Value = |i| if i < 50 { 1300.0 } else { 918.0 };
    const STEADY: Value = |_| 1300.0;

    #[test]
    fn clocks_that_move_and_clocks_that_fall_are_told_apart_and_gating_is_neither() {
        for signal in [
            "gpu_frequency",
            "gpu0_sm_frequency",
            "gpu1_memory_frequency",
            "emc_frequency",
        ] {
            assert!(codes(&[(signal, STEADY)], GPU).is_empty(), "{signal}");
            let gated: Value = |i| if i % 2 == 0 { 0.0 } else { 1300.0 };
            assert!(codes(&[(signal, gated)], GPU).is_empty(), "{signal}");
            assert_eq!(codes(&[(signal, HOPPING)], GPU), ["clocks-moved"], "{signal}");
            assert_eq!(codes(&[(signal, FALLING)], GPU), ["clock-fell"], "{signal}");
            assert!(
                codes(&[(signal, HOPPING)], HOST).is_empty(),
                "{signal}: no tenant runs on it"
            );
        }
        let facts = &found(&[("gpu1_memory_frequency", HOPPING)], GPU)[0].facts;
        assert_eq!(
            (&facts["clock"], &facts["gpu"]),
            (&json!("gpu-memory"), &json!(1))
        );
        assert_eq!(
            (&facts["low_mhz"], &facts["high_mhz"]),
            (&json!(306.0), &json!(1300.0))
        );
        let facts = &found(&[("emc_frequency", FALLING)], GPU)[0].facts;
        assert_eq!(facts["clock"], "memory-controller");
        assert_eq!(
            (&facts["from_mhz"], &facts["to_mhz"]),
            (&json!(1300.0), &json!(918.0))
        );
    }

    #[test]
    fn of_processors_the_highest_counts() {
        // One idles half of the time; another has work throughout.
        assert!(codes(&[("cpu0_frequency", HOPPING), ("cpu1_frequency", STEADY)], HOST).is_empty());
        assert_eq!(
            codes(&[("cpu0_frequency", HOPPING), ("cpu1_frequency", HOPPING)], HOST),
            ["clocks-moved"]
        );
        let all = [("cpu0_frequency", FALLING), ("cpu1_frequency", FALLING)];
        let fell = &found(&all, HOST)[0];
        assert_eq!(fell.code, "clock-fell");
        assert_eq!(fell.facts["clock"], "processors");
        assert!(codes(&all, GPU).is_empty(), "tenants execute on the GPU");
        assert!(
            codes(&[("cpufreq_frequency", HOPPING)], HOST).is_empty(),
            "no processor"
        );
    }

    #[test]
    fn a_cards_memory_has_a_clock_and_its_other_units_are_not_judged() {
        let moving: Value = |i| if i % 2 == 0 { 405.0 } else { 9_501.0 };
        let memory = found(&[("gpu1_memory_frequency", moving)], GPU);
        assert_eq!(memory.len(), 1);
        assert_eq!(memory[0].facts["clock"], "gpu-memory");
        for other in ["gpu0_video_frequency", "dla_memory_frequency"] {
            assert_eq!(found(&[(other, moving)], GPU), [], "{other}");
        }
    }

    #[test]
    fn a_clock_fell_where_its_last_third_is_more_than_a_twentieth_below_its_first() {
        let code =
            |values: &[f64]| judged(ClockOf::Gpu { gpu: None }, values).map(|found| found.code().word());
        assert_eq!(
            code(&[1_000.0, 1_000.0, 900.0, 900.0, 950.0, 950.0]),
            Some("clocks-moved")
        );
        assert_eq!(
            code(&[1_000.0, 1_000.0, 900.0, 900.0, 948.0, 950.0]),
            Some("clock-fell")
        );
        assert_eq!(
            code(&[1_000.0, 900.0]),
            Some("clocks-moved"),
            "two readings have no thirds"
        );
        assert_eq!(code(&[1_000.0, 960.0, 1_000.0]), None);
    }
}
