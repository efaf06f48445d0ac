//! A Jetson's memory controller: its clock, and the share of it that is used. All but Thor's clock takes root.
//!
//! Activity is counted against the present clock, and counts every client: processors, GPU, display, cameras.

use super::file::NumberFile;
use super::files::{Channel, Files, Formula};
use crate::board::Roots;
use crate::files;
use crate::record::{Averaging, Measurand, Part, Quantity, SignalRecord};
use crate::units::Nanos;

/// Files of the clock and what makes MHz of it.
const CLOCKS: [(&str, f64); 3] = [
    // The firmware's own; Thor's devfreq need not follow it.
    ("/sys/kernel/debug/bpmp/debug/clk/emc/rate", 1e-6),
    ("/sys/kernel/debug/clk/override.emc/clk_rate", 1e-6),
    ("/sys/class/devfreq/bwmgr/cur_freq", 1e-6),
];
/// Files of the activity, in kHz of the clock.
const ACTIVITIES: [&str; 3] = [
    "/sys/kernel/debug/cactmon/mc_all",
    "/sys/kernel/actmon_avg_activity/mc_all",
    "/sys/kernel/debug/bpmp/debug/actmon/mc_all_avg_activity",
];
/// debugfs is not cheap to ask.
const SHORTEST: Nanos = Nanos::from_millis(100);

/// The sampler; none where nothing can be read, as without root.
pub(super) fn find(roots: &Roots, interval: Nanos) -> Option<Files> {
    // What cannot be opened now is left out: without root, debugfs cannot even be looked into.
    let readable = |path: &str| files::open(&roots.file(path)).is_ok();
    let clock = CLOCKS.into_iter().find(|(path, _)| readable(path));
    let activity = ACTIVITIES.into_iter().find(|path| readable(path));
    let signal = |name: &str, quantity, unit: &str, origin: &str, averaging| SignalRecord {
        source: "emc".to_owned(),
        signal: name.to_owned(),
        unit: unit.to_owned(),
        measurand: Measurand::new(quantity, Part::MemoryController),
        origin: origin.to_owned(),
        averaging,
        ..SignalRecord::default()
    };
    let file = |path: &str| NumberFile::new(roots.file(path));
    let mut channels = Vec::new();
    if let Some((path, factor)) = clock {
        channels.push(Channel {
            signal: signal("emc_frequency", Quantity::Clock, "mhz", path, Averaging::Instant),
            formula: Formula::Scaled(file(path), factor),
            plausible: (0.0, 20_000.0),
        });
        if let Some(busy) = activity {
            let origin = format!("{busy} ÷ {path}");
            channels.push(Channel {
                signal: signal("emc_load", Quantity::Load, "percent", &origin, Averaging::Mean),
                // kHz over MHz × factor, in percent.
                formula: Formula::Ratio(file(busy), file(path), 1e-3 / factor * 100.0),
                plausible: (0.0, 100.0),
            });
        }
    }
    Files::new("emc", interval.max(SHORTEST), channels)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::testing::{readings, tree};

    #[test]
    fn load_is_activity_over_the_present_clock() {
        let root = tree(&[
            ("/sys/kernel/debug/bpmp/debug/clk/emc/rate", "2133000000"),
            ("/sys/kernel/debug/cactmon/mc_all", "533250"),
        ]);
        let mut emc = find(&Roots::at(root.path()), Nanos::from_millis(10)).unwrap();
        let values = readings(&mut emc);
        assert_eq!(values["emc_frequency"], Some(2133.0));
        assert!((values["emc_load"].unwrap() - 25.0).abs() < 1e-9);
        let thor = tree(&[("/sys/class/devfreq/bwmgr/cur_freq", "4266000000")]);
        let mut emc = find(&Roots::at(thor.path()), Nanos::from_millis(10)).unwrap();
        assert_eq!(
            readings(&mut emc).len(),
            1,
            "a load that cannot be had is not there"
        );
        assert!(find(&Roots::at(tree(&[]).path()), Nanos::from_millis(10)).is_none());
    }
}
