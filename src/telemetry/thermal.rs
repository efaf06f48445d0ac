//! Temperatures, and what slows a machine down: cooling devices when it is too hot, and a Jetson's over-current guard.
//!
//! The guard's events are counted by the firmware since the board was started, and may be read by anyone (driver
//! `soctherm_oc`, Orin and later). The alarms of the INA3221 are not read: they are flags of one register that are
//! cleared by reading it, also for the board's own daemons.
//!
//! Zones are named by their type; numbers move. A zone whose domain is switched off answers with an error or
//! with nonsense, and then has no value. The PMIC zones of older boards are a constant and left out.

use std::collections::HashSet;

use super::file::NumberFile;
use super::files::{Channel, Files, Formula};
use crate::board::Roots;
use crate::record::{Averaging, Measurand, Part, Quantity, SignalRecord};
use crate::units::Nanos;

/// Shortest interval that is sampled: temperatures change slowly.
const SHORTEST: Nanos = Nanos::from_millis(500);
/// In °C; gated zones answer −256.
const PLAUSIBLE_C: (f64, f64) = (-60.0, 200.0);

/// The sampler of all zones; none where there are none.
pub(super) fn find(roots: &Roots, interval: Nanos) -> Option<Files> {
    let mut names = Names::default();
    let mut channels = Vec::new();
    for (folder, kind) in entries(roots, "thermal_zone") {
        // "PMIC-Die" and the like: 100 °C or 50 °C for ever.
        if kind.to_ascii_uppercase().starts_with("PMIC") {
            continue;
        }
        let kind = kind
            .trim_end_matches("-thermal")
            .trim_end_matches("-therm")
            .to_owned();
        let zone = Measurand::of_zone(&kind);
        channels.push(channel(
            roots,
            names.unique(kind),
            zone,
            "c",
            &format!("{folder}/temp"),
            1e-3,
            PLAUSIBLE_C,
        ));
    }
    for (folder, kind) in entries(roots, "cooling_device") {
        let device = Measurand::of_cooling_device(&kind);
        let name = names.unique(format!("{kind}_cooling"));
        let path = format!("{folder}/cur_state");
        channels.push(channel(roots, name, device, "state", &path, 1.0, (0.0, 1e6)));
    }
    channels.extend(over_current(roots));
    Files::new("thermal", interval.max(SHORTEST), channels)
}

/// The guard's counters: under-voltage (1), too much power on average (2), for a moment (3).
fn over_current(roots: &Roots) -> Vec<Channel> {
    let Some(folder) = guard(roots) else {
        return Vec::new();
    };
    let counters = (1..=3).map(|n| (n, format!("{folder}/oc{n}_event_cnt")));
    let there = counters.filter(|(_, path)| roots.file(path).exists());
    there
        .map(|(n, path)| Channel {
            signal: SignalRecord {
                source: "soctherm_oc".to_owned(),
                signal: format!("oc{n}_events"),
                unit: "count".to_owned(),
                measurand: Measurand::new(Quantity::OverCurrentEvents, Part::Guard(n)),
                origin: path.clone(),
                averaging: Averaging::Counter,
                ..SignalRecord::default()
            },
            formula: Formula::Scaled(NumberFile::new(roots.file(&path)), 1.0),
            plausible: (0.0, 1e18),
        })
        .collect()
}

/// The folder of the over-current guard.
fn guard(roots: &Roots) -> Option<String> {
    let folders = roots.names("/sys/class/hwmon").into_iter();
    folders
        .map(|name| format!("/sys/class/hwmon/{name}"))
        .find(|folder| roots.text(&format!("{folder}/name")).as_deref() == Some("soctherm_oc"))
}

/// The names that a source has given: what goes by one name is one signal, so equal ones must be told apart.
#[derive(Debug, Default)]
pub(super) struct Names {
    given: HashSet<String>,
}

impl Names {
    /// The name as it is for the first that asks, `name_2` for the second, and so on.
    pub(super) fn unique(&mut self, name: String) -> String {
        let numbered = (2..).map(|n| format!("{name}_{n}"));
        let free = std::iter::once(name.clone())
            .chain(numbered)
            .find(|name| !self.given.contains(name));
        let name = free.unwrap_or(name);
        self.given.insert(name.clone());
        name
    }
}

/// Folder and type of each entry whose name begins so.
fn entries(roots: &Roots, prefix: &str) -> Vec<(String, String)> {
    let base = ["/sys/class/thermal", "/sys/devices/virtual/thermal"]
        .into_iter()
        .find(|base| roots.names(base).iter().any(|name| name.starts_with(prefix)));
    let Some(base) = base else { return Vec::new() };
    let mut found: Vec<(u32, String, String)> = roots
        .names(base)
        .into_iter()
        .filter_map(|name| {
            let number = name.strip_prefix(prefix)?.parse().ok()?;
            let folder = format!("{base}/{name}");
            let kind = roots.text(&format!("{folder}/type"))?;
            Some((number, folder, kind))
        })
        .collect();
    found.sort();
    found
        .into_iter()
        .map(|(_, folder, kind)| (folder, kind))
        .collect()
}

fn channel(
    roots: &Roots,
    signal: String,
    measurand: Measurand,
    unit: &str,
    path: &str,
    factor: f64,
    plausible: (f64, f64),
) -> Channel {
    Channel {
        signal: SignalRecord {
            source: "thermal".to_owned(),
            signal,
            unit: unit.to_owned(),
            measurand,
            origin: path.to_owned(),
            averaging: Averaging::Instant,
            ..SignalRecord::default()
        },
        formula: Formula::Scaled(NumberFile::new(roots.file(path)), factor),
        plausible,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::testing::{readings, tree};

    #[test]
    fn equal_names_are_numbered_and_never_given_twice() {
        let mut names = Names::default();
        let given = ["a", "a_2", "a", "b", "a"].map(|name| names.unique(name.to_owned()));
        assert_eq!(given, ["a", "a_2", "a_3", "b", "a_4"]);
    }

    #[test]
    fn events_of_the_over_current_guard_are_counted() {
        let root = tree(&[
            ("/sys/class/hwmon/hwmon2/name", "soctherm_oc"),
            ("/sys/class/hwmon/hwmon2/oc1_event_cnt", "0"),
            ("/sys/class/hwmon/hwmon2/oc1_throt_en", "1"),
            ("/sys/class/hwmon/hwmon2/oc3_event_cnt", "27390"),
        ]);
        let mut thermal = find(&Roots::at(root.path()), Nanos::from_millis(100)).unwrap();
        assert!(
            thermal
                .signals()
                .all(|s| s.averaging == Averaging::Counter && s.source == "soctherm_oc")
        );
        let values = readings(&mut thermal);
        let wanted = [("oc1_events", Some(0.0)), ("oc3_events", Some(27_390.0))];
        assert_eq!(
            values,
            wanted.map(|(name, value)| (name.to_owned(), value)).into()
        );
    }

    #[test]
    fn zones_go_by_their_type_and_what_is_gated_or_constant_has_no_value() {
        let root = tree(&[
            ("/sys/class/thermal/thermal_zone0/type", "cpu-thermal"),
            ("/sys/class/thermal/thermal_zone0/temp", "45375"),
            ("/sys/class/thermal/thermal_zone10/type", "cv0-thermal"),
            ("/sys/class/thermal/thermal_zone10/temp", "-256000"),
            ("/sys/class/thermal/thermal_zone2/type", "PMIC-Die"),
            ("/sys/class/thermal/thermal_zone2/temp", "100000"),
            ("/sys/class/thermal/thermal_zone3/type", "cpu-thermal"),
            ("/sys/class/thermal/thermal_zone3/temp", "0"),
            ("/sys/class/thermal/cooling_device0/type", "cpufreq-cpu0"),
            ("/sys/class/thermal/cooling_device0/cur_state", "3"),
        ]);
        let mut thermal = find(&Roots::at(root.path()), Nanos::from_millis(100)).unwrap();
        let values = readings(&mut thermal);
        let wanted = [
            ("cpu", Some(45.375)),
            ("cpu_2", Some(0.0)),
            ("cpufreq-cpu0_cooling", Some(3.0)),
            ("cv0", None),
        ];
        assert_eq!(
            values,
            wanted.map(|(name, value)| (name.to_owned(), value)).into()
        );
    }
}
