//! The energy counters of Intel's and AMD's processors (RAPL), through the kernel's powercap files.
//!
//! They count microjoules, take root since 2020, and wrap at a value that stands beside them. The kernel renews
//! them about every millisecond. Power is made of two readings of the counter, and so a mean over their distance.
//!
//! A counter that goes back has wrapped or was reset, as when its driver is loaded again. What it counted up to a
//! reset is not known: there is no power for that step, and the sum that is published begins again at zero, so that
//! whoever reads it sees it go back.

use super::file::{NumberFile, Unread};
use super::{Sampler, SamplerError};
use crate::board::Roots;
use crate::record::{Averaging, Event, Measurand, Part, Quantity, RailRole, SampleRecord, SignalRecord};
use crate::units::{Nanos, Stamp};

/// Closer readings would mostly show the counter's own steps.
const SHORTEST: Nanos = Nanos::from_millis(20);
/// The counter's own period, by Intel's manual.
const REFRESH: Nanos = Nanos::from_millis(1);
/// More than any processor package takes: the largest are sold with 500 to 600 W and may take twice that for a
/// moment. A step back that would mean more is no wrap: the usual range is 262 kJ, an hour at 73 W. (A large machine's
/// `psys` may take more; then its wrap is called a reset, which loses a step and is said.)
const PLAUSIBLE_W: f64 = 2000.0;

/// Samples all zones. Signals, by zone: `package-0` (mw) and `package-0_energy` (mj since the first reading, or since a
/// reset).
pub(super) struct Rapl {
    period: Nanos,
    zones: Vec<Zone>,
    described: bool,
    denied: u32,
}

struct Zone {
    name: String,
    file: NumberFile,
    /// Where the counter wraps, µJ.
    range: Option<f64>,
    role: RailRole,
    within: Option<String>,
    before: Option<(Stamp, f64)>,
    /// Whether it could not be read since: it counted on, or was reset, all the same.
    unread: bool,
    sum_uj: f64,
}

/// What a counter did from one reading to the next.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    /// There is no reading, or none before it.
    First,
    /// It counted so many µJ in that time.
    By(f64, Nanos),
    /// It began anew; what it counted before that is not known.
    Reset,
}

/// The sampler; none where there are no counters.
pub(super) fn find(roots: &Roots, interval: Nanos) -> Option<Rapl> {
    let mut zones: Vec<Zone> = Vec::new();
    for folder in roots.names("/sys/class/powercap") {
        // `intel-rapl:0` is a package, `intel-rapl:0:1` something in it; intel-rapl-mmio repeats the package.
        if !folder.starts_with("intel-rapl:") && !folder.starts_with("amd-rapl:") {
            continue;
        }
        let path = format!("/sys/class/powercap/{folder}");
        let Some(name) = roots.text(&format!("{path}/name")) else {
            continue;
        };
        let parent = folder.rsplit_once(':').map(|(parent, _)| parent);
        let package = parent
            .filter(|parent| parent.contains(':'))
            .and_then(|parent| roots.text(&format!("/sys/class/powercap/{parent}/name")));
        let (role, within) = match (name.as_str(), &package) {
            ("psys", _) => (RailRole::Input, None),
            // Memory is a supply of its own beside the package.
            ("dram", _) => (RailRole::Total, None),
            (_, Some(package)) => (RailRole::Within, Some(package.clone())),
            _ => (RailRole::Total, None),
        };
        let name = match &package {
            Some(package) => format!("{package}_{name}"),
            None => name,
        };
        zones.push(Zone {
            file: NumberFile::new(roots.file(&format!("{path}/energy_uj"))),
            range: roots
                .text(&format!("{path}/max_energy_range_uj"))
                .and_then(|text| text.parse().ok())
                .filter(|range| *range > 0.0),
            name,
            role,
            within,
            before: None,
            unread: false,
            sum_uj: 0.0,
        });
    }
    (!zones.is_empty()).then_some(Rapl {
        period: interval.max(SHORTEST),
        zones,
        described: false,
        denied: 0,
    })
}

impl Zone {
    /// The counter's step since the last reading, over its wrap. Where it could not be read meanwhile, as while its driver is
    /// loaded again, one that went back was reset.
    fn step(&mut self, at: Stamp, counter: f64, unread: bool) -> Step {
        let Some((then, before)) = self.before.replace((at, counter)) else {
            return Step::First;
        };
        let time = at - then;
        if counter >= before {
            return Step::By(counter - before, time);
        }
        let most = PLAUSIBLE_W * 1e6 * time.as_secs_f64();
        match self.range.map(|range| counter - before + range) {
            Some(growth) if !unread && (0.0..=most).contains(&growth) => Step::By(growth, time),
            _ => Step::Reset,
        }
    }
}

impl Sampler for Rapl {
    fn name(&self) -> &str {
        "rapl"
    }
    fn period(&self) -> Nanos {
        self.period
    }
    fn sample(&mut self, at: Stamp, out: &mut Vec<SampleRecord>) -> Result<(), SamplerError> {
        let mut denied = true;
        for zone in &mut self.zones {
            let read = zone.file.read();
            denied &= matches!(read, Err(Unread::Denied | Unread::Missing));
            let unread = std::mem::replace(&mut zone.unread, read.is_err());
            let step = read.map_or(Step::First, |counter| zone.step(at, counter, unread));
            let (power, sum) = match step {
                Step::First => (None, None),
                Step::By(uj, time) => {
                    zone.sum_uj += uj;
                    // µJ over ns is 10⁹ mW … over 10⁶: a thousand kilowatts a µJ/ns. Over a time in which nothing could
                    // be read it is no reading of now.
                    let power = (time > Nanos::ZERO && !unread).then(|| uj / time.0 as f64 * 1e6);
                    (power, Some(zone.sum_uj * 1e-3))
                }
                Step::Reset => {
                    zone.sum_uj = 0.0;
                    (None, Some(0.0))
                }
            };
            out.push(sample(at, zone.name.clone(), power, "mw"));
            out.push(sample(at, format!("{}_energy", zone.name), sum, "mj"));
        }
        self.denied = if denied { self.denied + 1 } else { 0 };
        if self.denied >= 3 {
            return Err(SamplerError::Silent {
                files: self.zones.len(),
                path: self.zones[0].file.path().display().to_string(),
                why: "permission denied; run as root, or make energy_uj readable for your group",
            });
        }
        Ok(())
    }
    fn asides(&mut self, out: &mut Vec<Event>) {
        if std::mem::replace(&mut self.described, true) {
            return;
        }
        for zone in &self.zones {
            let power = SignalRecord {
                source: "rapl".to_owned(),
                signal: zone.name.clone(),
                unit: "mw".to_owned(),
                measurand: Measurand::new(Quantity::Power, Part::Board),
                origin: zone.file.path().display().to_string(),
                period: Some(self.period),
                refresh: Some(REFRESH),
                averaging: Averaging::Mean,
                window: Some(self.period),
                step: None,
                role: zone.role,
                within: zone.within.clone(),
            };
            let counter = SignalRecord {
                signal: format!("{}_energy", zone.name),
                unit: "mj".to_owned(),
                measurand: Measurand::new(Quantity::Energy, Part::Board),
                averaging: Averaging::Counter,
                window: None,
                within: Some(zone.name.clone()),
                ..power.clone()
            };
            out.extend([Event::Signal(power), Event::Signal(counter)]);
        }
    }
}

fn sample(at: Stamp, signal: String, value: Option<f64>, unit: &str) -> SampleRecord {
    SampleRecord {
        at,
        source: "rapl".to_owned(),
        signal,
        value,
        unit: unit.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::testing::{readings_at, tree};

    #[test]
    fn power_is_the_counters_growth_also_over_its_wrap() {
        let root = tree(&[
            ("/sys/class/powercap/intel-rapl/enabled", "1"),
            ("/sys/class/powercap/intel-rapl:0/name", "package-0"),
            ("/sys/class/powercap/intel-rapl:0/energy_uj", "900000"),
            ("/sys/class/powercap/intel-rapl:0/max_energy_range_uj", "1000000"),
            ("/sys/class/powercap/intel-rapl:0:0/name", "core"),
            ("/sys/class/powercap/intel-rapl:0:0/energy_uj", "5000"),
        ]);
        let write = |zone: &str, uj: &str| {
            let path = format!("sys/class/powercap/{zone}/energy_uj");
            std::fs::write(root.path().join(path), uj).unwrap();
        };
        let mut rapl = find(&Roots::at(root.path()), Nanos::from_millis(100)).unwrap();
        let first = readings_at(&mut rapl, 0);
        assert_eq!(first["package-0"], None, "one reading of a counter is no power");
        write("intel-rapl:0", "100000");
        write("intel-rapl:0:0", "4000");
        let second = readings_at(&mut rapl, 100_000_000);
        // 200 000 µJ in 100 ms are 2 W.
        assert_eq!(second["package-0"], Some(2000.0));
        assert_eq!(second["package-0_energy"], Some(200.0));
        assert_eq!(
            (second["package-0_core"], second["package-0_core_energy"]),
            (None, Some(0.0)),
            "went back, and nothing says where it wraps"
        );
        write("intel-rapl:0", "x");
        assert_eq!(readings_at(&mut rapl, 200_000_000)["package-0"], None);
        write("intel-rapl:0", "300000");
        let after = readings_at(&mut rapl, 300_000_000);
        assert_eq!(after["package-0"], None, "no pair yet");
        assert_eq!(
            after["package-0_energy"],
            Some(400.0),
            "it counted while it could not be read"
        );
        write("intel-rapl:0", "300000");
        assert_eq!(
            readings_at(&mut rapl, 400_000_000)["package-0"],
            Some(0.0),
            "a measured zero"
        );
    }

    #[test]
    fn a_counter_that_went_back_is_a_wrap_only_where_that_is_a_power_that_a_package_can_have() {
        let root = tree(&[
            ("/sys/class/powercap/intel-rapl:0/name", "package-0"),
            ("/sys/class/powercap/intel-rapl:0/energy_uj", "4000000"),
            (
                "/sys/class/powercap/intel-rapl:0/max_energy_range_uj",
                "262143328850",
            ),
        ]);
        let mut rapl = find(&Roots::at(root.path()), Nanos::from_millis(100)).unwrap();
        let mut read = |ms: i64, uj: &str| {
            let path = root.path().join("sys/class/powercap/intel-rapl:0/energy_uj");
            std::fs::write(path, uj).unwrap();
            let values = readings_at(&mut rapl, ms * 1_000_000);
            (values["package-0"], values["package-0_energy"])
        };
        assert_eq!(read(0, "4000000"), (None, None));
        assert_eq!(read(100, "5000000"), (Some(10_000.0), Some(1000.0)));
        // Back by a joule: as a wrap it would be 2.6 MW. The sum goes back, and counts on from there.
        assert_eq!(read(200, "4000000"), (None, Some(0.0)));
        assert_eq!(read(300, "4500000"), (Some(5000.0), Some(500.0)));
        // To within ten joules of its end, and over it: 12 J in 100 ms are 120 W.
        read(400, "262133328850");
        let (_, before) = read(500, "262133328850");
        let (power, after) = read(600, "2000000");
        assert_eq!(power, Some(120_000.0));
        assert!((after.unwrap() - before.unwrap() - 12_000.0).abs() < 1e-3);
        // A driver that was away for a while, and counts from the start.
        read(650, "gone");
        assert_eq!(read(700, "1000000"), (None, Some(0.0)));
        // A reset from near the end, so that a wrap would be 2.1 kW for a second.
        read(1600, "262143328850");
        assert_eq!(read(2600, "2100000000"), (None, Some(0.0)));
    }

    #[test]
    fn what_is_within_the_package_is_marked_so() {
        let root = tree(&[
            ("/sys/class/powercap/intel-rapl:0/name", "package-0"),
            ("/sys/class/powercap/intel-rapl:0:0/name", "core"),
            ("/sys/class/powercap/intel-rapl:0:1/name", "dram"),
            ("/sys/class/powercap/intel-rapl:1/name", "psys"),
        ]);
        let rapl = find(&Roots::at(root.path()), Nanos::from_millis(100)).unwrap();
        let roles: Vec<_> = rapl.zones.iter().map(|z| (z.name.as_str(), z.role)).collect();
        assert_eq!(
            roles,
            [
                ("package-0", RailRole::Total),
                ("package-0_core", RailRole::Within),
                ("package-0_dram", RailRole::Total),
                ("psys", RailRole::Input)
            ]
        );
    }
}
