//! Samplers: quantities read at a steady pace beside the tenants.
//!
//! One thread runs all samplers of a run, each at its own period on an absolute schedule, and hands the
//! readings to the recorder. A sampler that fails ends, with a recorded reason, and the run goes on.
//! What is sampled is in one file a source; [`find`] looks for what a machine has. What readings mean is the
//! analysis's affair.
//!
//! Two ways lead to what Linux tells of a host. sysinfo lists the other programs (`processes`), which takes a walk through all of
//! `/proc`, and nothing else. What is read at each interval (processors, memory, our own share: `host`, `host_idle`, `children`)
//! comes from the kernel's files themselves, which stay open: sysinfo opens its files each time, looks at processors every 200 ms
//! at most, and between two looks gives the old reading again, which would then carry a new stamp. Facts that do not change
//! (`board`) come from files below a root, so that a test can be another machine.

mod children;
pub mod clocks;
mod cost;
mod emc;
mod examine;
mod fan;
mod file;
mod files;
mod gpu;
pub mod host;
mod host_idle;
mod ina3221;
mod nvml;
mod power_mode;
mod probe;
mod processes;
mod rails;
mod rapl;
mod resident;
mod schedule;
pub mod tegrastats;
#[cfg(test)]
mod testing;
mod thermal;
mod trouble;

pub use examine::examine;
pub use nvml::cards::{Cards, open as open_cards};
pub use nvml::open as open_nvml;
pub use probe::{Found, Unfound, find};
pub use resident::Resident;
pub use schedule::{Hush, NowReading, SamplerReport, sampler_loop};
pub(crate) use trouble::Trouble;

use crate::record::{Event, SampleRecord};
use crate::units::{Nanos, Stamp};

/// What a sampler does to the machine besides the time that it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disturbs {
    /// Reading it changes nothing else.
    Nothing,
    /// Each reading keeps the GPU from being switched off.
    WhileReading,
    /// As long as it is there, whether it is read or not.
    Always,
}

/// How long after the last work the sensors of power may still tell of it: 500 ms in which a Jetson's GPU is switched off,
/// and what its sensors average over.
pub fn idle_settles(roots: &crate::board::Roots) -> Nanos {
    Nanos::from_millis(500) + rails::settle(roots)
}

/// Reads some quantities each time it is asked.
pub trait Sampler: Send {
    /// The sampler's word in logs and findings: `host`.
    fn name(&self) -> &str;
    /// Time between two readings.
    fn period(&self) -> Nanos;
    /// Whether each reading is taken at a random moment of its period. So it is where a sensor looks for a part of the time:
    /// at equal distances its readings would meet a load that repeats in step with them always at the same point.
    fn at_random(&self) -> bool {
        false
    }
    /// What reading it does to what is measured.
    fn disturbs(&self) -> Disturbs {
        Disturbs::Nothing
    }
    /// Reads everything once and appends it to `out`. What could not be read this time has no value;
    /// what a machine does not have is not there at all. An error ends the sampler.
    fn sample(&mut self, at: Stamp, out: &mut Vec<SampleRecord>) -> Result<(), SamplerError>;
    /// What else is to be recorded, asked before each reading's values go out: what its signals mean, each
    /// once, and what happened to it.
    fn asides(&mut self, _out: &mut Vec<Event>) {}
}

/// Why a sampler cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum SamplerError {
    /// A file that must be there could not be read.
    #[error("cannot read {path}: {source}")]
    Io {
        /// The file that was to be read.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file that does not say what it should.
    #[error("{path} should contain {wanted}, but begins with `{found}`")]
    Format {
        /// The file that was read.
        path: String,
        /// What was looked for.
        wanted: &'static str,
        /// The first line of the file.
        found: String,
    },
    /// None of its files can be read any more.
    #[error("none of its {files} files can be read ({path} and others): {why}")]
    Silent {
        /// How many files it reads.
        files: usize,
        /// The path of one of them.
        path: String,
        /// What is wrong with the last one.
        why: &'static str,
    },
    /// A mistake of ours.
    #[error("it panicked; please report it with the output of `jetlag doctor`")]
    Panicked,
    /// NVIDIA's management library does not answer any more.
    #[error("NVML no longer answers: {0}")]
    Nvml(String),
    /// A program that it reads from cannot be had.
    #[error("{program}: {problem}")]
    Program {
        /// The program that was to be started.
        program: String,
        /// What the system or the program said.
        problem: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::Roots;

    #[test]
    fn the_idle_baseline_waits_until_the_sensors_have_forgotten_the_load() {
        let settles = |files: &[(&str, &str)]| {
            let root = testing::tree(files);
            idle_settles(&Roots::at(root.path())).as_millis_f64()
        };
        // Until the GPU is off.
        assert!((settles(&[]) - 500.0).abs() < 1e-9);
        let filter = [
            ("/sys/class/hwmon/hwmon1/name", "ina3221"),
            ("/sys/class/hwmon/hwmon1/samples", "512"),
            ("/sys/class/hwmon/hwmon1/update_interval", "430"),
            ("/sys/class/hwmon/hwmon1/in1_label", "VDD_IN"),
        ];
        // And five time constants of the filter, after which 0.7 % are left.
        assert!((settles(&filter) - (500.0 + 5.0 * 430.08)).abs() < 1e-6);
        // L4T R32 tells none: that of R35 is assumed.
        let older = [(
            "/sys/bus/i2c/drivers/ina3221x/6-0040/iio:device0/rail_name_0",
            "POM_5V_IN",
        )];
        assert!((settles(&older) - (500.0 + 5.0 * 430.08)).abs() < 1e-6);
    }
}
