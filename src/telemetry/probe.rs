//! Looks for what a machine has, and makes a sampler of each source that is there.

use super::tegrastats::{Start, Tegrastats};
use super::trouble::Trouble;
use super::{Sampler, emc, fan, gpu, host::Host, nvml, power_mode, processes, rails, rapl, thermal};
use crate::board::{Roots, libraries, modules};
use crate::record::Finding;
use crate::scenario::{Telemetry, TelemetrySource};
use crate::units::Nanos;

/// The samplers of the sources that are there, and the sources that are not.
pub struct Found {
    /// Samplers that can be started.
    pub samplers: Vec<Box<dyn Sampler>>,
    /// Sources that are not there.
    pub missing: Vec<Unfound>,
}

/// A source that is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfound {
    /// The source that was looked for.
    pub source: TelemetrySource,
    /// Why, where more is known than that.
    pub why: String,
    /// Whether the scenario asked for it by name.
    pub asked: bool,
}

impl Unfound {
    /// A finding, where the source was asked for.
    pub fn finding(&self) -> Option<Finding> {
        let trouble = || Trouble::SourceMissing {
            source: self.source,
            why: self.why.clone(),
        };
        self.asked.then(|| trouble().into())
    }
}

/// Looks for all sources that are wanted.
///
/// tegrastats costs a process of its own, so without being asked for it is taken only where it is there and
/// nothing else tells a Jetson's power. `guard` is our own program, by which tegrastats is made to end with us.
pub fn find(roots: &Roots, telemetry: &Telemetry, guard: Option<std::path::PathBuf>) -> Found {
    let mut found = Found {
        samplers: Vec::new(),
        missing: Vec::new(),
    };
    let mut rails_found = false;
    for source in TelemetrySource::ALL {
        let asked = telemetry
            .sources
            .as_ref()
            .is_some_and(|all| all.contains(&source));
        if telemetry.sources.is_some() && !asked {
            continue;
        }
        if source == TelemetrySource::Tegrastats && !asked && rails_found {
            continue;
        }
        match sampler(source, roots, telemetry.interval, &guard) {
            Ok(sampler) => {
                rails_found |= source == TelemetrySource::Rails;
                found.samplers.push(sampler);
            }
            Err(why) => found.missing.push(Unfound { source, why, asked }),
        }
    }
    found
}

fn sampler(
    source: TelemetrySource,
    roots: &Roots,
    interval: Nanos,
    guard: &Option<std::path::PathBuf>,
) -> Result<Box<dyn Sampler>, String> {
    fn there<S: Sampler + 'static>(sampler: Option<S>, why: &str) -> Result<Box<dyn Sampler>, String> {
        let boxed = |s| Box::new(s) as Box<dyn Sampler>;
        sampler.map(boxed).ok_or_else(|| why.to_owned())
    }
    match source {
        TelemetrySource::Host => Ok(Box::new(Host::new(
            interval,
            &roots.file("/proc"),
            &roots.file("/sys"),
        ))),
        TelemetrySource::Processes => Ok(Box::new(processes::new(interval))),
        TelemetrySource::Rails => there(
            rails::find(roots, interval),
            "no INA3221 or INA238 in /sys/class/hwmon or /sys/bus/i2c/drivers/ina3221x",
        ),
        TelemetrySource::Thermal => there(thermal::find(roots, interval), "nothing in /sys/class/thermal"),
        TelemetrySource::Gpu => there(
            gpu::find(roots, interval),
            "no Jetson GPU in /sys/class/devfreq or /sys/devices",
        ),
        TelemetrySource::Emc => there(
            emc::find(roots, interval),
            "the memory controller's clock cannot be read (/sys/kernel/debug needs root)",
        ),
        TelemetrySource::Fan => there(fan::find(roots, interval), "no fan in /sys/class/hwmon"),
        TelemetrySource::PowerMode => there(
            power_mode::find(roots, interval),
            "no /var/lib/nvpmodel/status, so this is no Jetson with nvpmodel",
        ),
        TelemetrySource::Nvml => match nvml::find(roots, interval) {
            Ok(sampler) => Ok(Box::new(sampler)),
            Err(why) => Err(why.to_string()),
        },
        TelemetrySource::Rapl => there(
            rapl::find(roots, interval),
            "no RAPL zone in /sys/class/powercap (usual in virtual machines and on Arm)",
        ),
        TelemetrySource::Tegrastats => {
            let program = libraries::program(roots, "tegrastats").ok_or("no tegrastats on the PATH")?;
            let start = Start {
                program,
                guard: guard.clone(),
            };
            let known = modules::rails_of_machine(roots);
            Ok(Box::new(Tegrastats::new(start, interval, known)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::testing::tree;

    fn names(found: &Found) -> Vec<&str> {
        found.samplers.iter().map(|s| s.name()).collect()
    }

    fn wanted(sources: Option<Vec<TelemetrySource>>) -> Telemetry {
        Telemetry {
            interval: Nanos::from_millis(100),
            sources,
        }
    }

    #[test]
    fn tegrastats_is_taken_by_itself_only_where_no_rail_can_be_read() {
        let program = ("/usr/bin/tegrastats", "");
        let bare = tree(&[program]);
        let found = find(&Roots::at(bare.path()), &wanted(None), None);
        assert_eq!(names(&found), ["host", "processes", "tegrastats"]);
        assert!(
            found.missing.iter().all(|m| m.finding().is_none()),
            "nobody asked"
        );
        let nano = tree(&[
            program,
            ("/sys/class/hwmon/hwmon0/name", "ina3221"),
            ("/sys/class/hwmon/hwmon0/in1_label", "VDD_IN"),
            ("/sys/class/hwmon/hwmon0/in1_input", "5000"),
            ("/sys/class/hwmon/hwmon0/curr1_input", "500"),
        ]);
        let roots = Roots::at(nano.path());
        assert_eq!(
            names(&find(&roots, &wanted(None), None)),
            ["host", "processes", "rails"]
        );
        let both = wanted(Some(vec![TelemetrySource::Tegrastats, TelemetrySource::Rails]));
        assert_eq!(names(&find(&roots, &both, None)), ["rails", "tegrastats"]);
    }

    #[test]
    fn a_source_that_was_asked_for_and_is_not_there_is_a_finding() {
        let empty = tree(&[]);
        let asked = wanted(Some(vec![TelemetrySource::Nvml, TelemetrySource::Rapl]));
        let found = find(&Roots::at(empty.path()), &asked, None);
        assert!(found.samplers.is_empty());
        let findings: Vec<Finding> = found.missing.iter().filter_map(Unfound::finding).collect();
        assert_eq!(findings.len(), 2);
        assert!(
            findings[0].message.contains("libnvidia-ml"),
            "{}",
            findings[0].message
        );
    }

    #[test]
    fn a_library_that_is_none_is_a_reason_and_no_crash() {
        let root = tree(&[("/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1", "not a library")]);
        let why = nvml::find(&Roots::at(root.path()), Nanos::from_millis(100))
            .err()
            .unwrap()
            .to_string();
        assert!(why.contains("cannot load"), "{why}");
    }
}
