//! The energy counters of Intel's and AMD's processors (RAPL), through the kernel's powercap files.
//!
//! They count microjoules, take root since 2020, and wrap at a value that stands beside them. The kernel renews
//! them about every millisecond. Power is made of two readings of the counter, and so a mean over their distance.

use super::file::{NumberFile, Unread};
use super::{Sampler, SamplerError};
use crate::board::Roots;
use crate::record::{Averaging, Event, RailRole, SampleRecord, SignalRecord};
use crate::units::{Nanos, Stamp};

/// Closer readings would mostly show the counter's own steps.
const SHORTEST: Nanos = Nanos::from_millis(20);
/// The counter's own period, by Intel's manual.
const REFRESH: Nanos = Nanos::from_millis(1);

/// Samples all zones. Signals, by zone: `package-0` (mw) and `package-0_energy` (mj since the first reading).
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
    sum_uj: f64,
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
    /// The counter's growth since the last reading, over its wrap; none for a first reading, or where it went
    /// back and does not say where it wraps.
    fn growth(&mut self, at: Stamp, counter: f64) -> Option<(f64, Nanos)> {
        let (then, before) = self.before.replace((at, counter))?;
        let mut growth = counter - before;
        if growth < 0.0 {
            growth += self.range?;
        }
        (growth >= 0.0).then_some((growth, at - then))
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
            let growth = match read {
                Ok(counter) => zone.growth(at, counter),
                Err(_) => {
                    zone.before = None;
                    None
                }
            };
            let power = growth.filter(|(_, time)| *time > Nanos::ZERO);
            // µJ over ns is 10⁹ mW … over 10⁶: a thousand kilowatts a µJ/ns.
            let power = power.map(|(uj, time)| uj / time.0 as f64 * 1e6);
            let sum = growth.map(|(uj, _)| {
                zone.sum_uj += uj;
                zone.sum_uj * 1e-3
            });
            out.push(sample(at, zone.name.clone(), power, "mw"));
            out.push(sample(at, format!("{}_energy", zone.name), sum, "mj"));
        }
        self.denied = if denied { self.denied + 1 } else { 0 };
        if self.denied >= 3 {
            return Err(SamplerError::Silent {
                files: self.zones.len(),
                path: self.zones[0].file.path().display().to_string(),
                why: "permission denied; run as root, or let your group read energy_uj",
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
            second["package-0_core"], None,
            "went back, and nothing says where it wraps"
        );
        write("intel-rapl:0", "x");
        assert_eq!(readings_at(&mut rapl, 200_000_000)["package-0"], None);
        write("intel-rapl:0", "300000");
        assert_eq!(
            readings_at(&mut rapl, 300_000_000)["package-0"],
            None,
            "no pair yet"
        );
        write("intel-rapl:0", "300000");
        assert_eq!(
            readings_at(&mut rapl, 400_000_000)["package-0"],
            Some(0.0),
            "a measured zero"
        );
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
