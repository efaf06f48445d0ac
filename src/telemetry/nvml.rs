//! NVIDIA's management library (NVML): power, energy, clocks, load, limits and processes of each GPU.
//!
//! It is loaded when it is looked for, by libloading within nvml-wrapper. A library that loads and a device that
//! is counted say nothing yet: on Orin, NVML answers most questions with "Not Supported". So each question is
//! asked once, the answer remembered, and what is not supported is not sampled: a fact, and no error.
//!
//! What changes slowly or is slow to tell is asked every two seconds, and what costs most every five ([`questions`]).
//!
//! Power is asked by field: the plain query is a mean over a second with some drivers and an instant value with
//! others. Published refreshes and windows are in [`WINDOWS`]; where a board is not in it, the analysis observes
//! the refresh from the values.

pub(super) mod cards;
mod questions;

use std::path::PathBuf;

use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml};

use self::questions::{Look, QUERIES, Query, RARE_QUERIES, SLOW_QUERIES};
use super::trouble::Trouble;
use super::{Disturbs, Sampler, SamplerError};
use crate::board::{Roots, libraries};
use crate::record::{
    Averaging, Event, LogRecord, Measurand, Part, Quantity, RailRole, SampleRecord, SignalRecord,
};
use crate::units::{Nanos, Stamp};

/// The word for this source in the run file.
pub(super) const SOURCE: &str = "nvml";
/// Values of the sensors change every 20 ms at most.
const SHORTEST: Nanos = Nanos::from_millis(10);
/// Time between two looks at what is slow to ask or to change.
const SLOW: Nanos = Nanos::from_millis(2000);
/// Time between two looks at what costs most.
const RARE: Nanos = Nanos::from_millis(5000);
/// Readings without any answer after which the library is given up.
const SILENT_READINGS: u32 = 5;

/// Refresh and averaging window of the instant power, as measured on these boards by Z. Yang, K. Adamek and
/// W. Armour, "Part-time Power Measurements: nvidia-smi's Lack of Attention" (2024), and published with it; of the H200 by
/// `scripts/gpu/power_window.py` (28 and 29 ms on two cards, docs/power.md).
const WINDOWS: [(&str, Nanos, Nanos); 7] = [
    // Not GH200, whose module has other sensors.
    (" H200", Nanos::from_millis(100), Nanos::from_millis(28)),
    ("H100", Nanos::from_millis(100), Nanos::from_millis(25)),
    ("A100", Nanos::from_millis(100), Nanos::from_millis(25)),
    ("RTX 3090", Nanos::from_millis(100), Nanos::from_millis(100)),
    ("RTX 3070 Ti", Nanos::from_millis(100), Nanos::from_millis(100)),
    ("RTX 2080 Ti", Nanos::from_millis(100), Nanos::from_millis(100)),
    ("GTX 1080", Nanos::from_millis(20), Nanos::from_millis(10)),
];

/// Why NVML tells nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoNvml {
    /// There is no library.
    #[error("no libnvidia-ml.so")]
    Absent,
    /// The loader does not take it.
    #[error("cannot load {}", path.display())]
    NotLoaded {
        /// The library file that was found.
        path: PathBuf,
    },
    /// It does not start.
    #[error("{}: {problem}", path.display())]
    NotStarted {
        /// The library file that was loaded.
        path: PathBuf,
        /// The error in NVML's words.
        problem: String,
    },
    /// It does not count the cards.
    #[error("{problem}")]
    NoCount {
        /// The error in NVML's words.
        problem: String,
    },
    /// NVML works, but lists no GPU.
    #[error("NVML finds no GPU")]
    NoGpu,
    /// It answers for none.
    #[error("{}", problems.join("; "))]
    Silent {
        /// What it said of each, and of all.
        problems: Vec<String>,
    },
}

/// Loads the library and starts it.
///
/// # Errors
/// There is none that can be used.
pub fn open(roots: &Roots) -> Result<Nvml, NoNvml> {
    let candidates: Vec<PathBuf> = match (&roots.nvml, roots.is_this_machine()) {
        (Some(path), _) => vec![path.clone()],
        // By name, so that the loader finds it wherever the driver put it.
        (None, true) => vec!["libnvidia-ml.so.1".into(), "libnvidia-ml.so".into()],
        (None, false) => libraries::library(roots, "libnvidia-ml")
            .map(|path| roots.file(&path.to_string_lossy()))
            .into_iter()
            .collect(),
    };
    let mut why = NoNvml::Absent;
    for path in candidates {
        match Nvml::builder().lib_path(path.as_os_str()).init() {
            Ok(nvml) => return Ok(nvml),
            Err(NvmlError::LibloadingError(_)) => why = NoNvml::NotLoaded { path },
            Err(error) => {
                why = NoNvml::NotStarted {
                    path,
                    problem: sentence(&error),
                }
            }
        }
    }
    Err(why)
}

/// What NVML tells of a machine, for `doctor`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct NvmlFacts {
    /// Version of the driver.
    pub(super) driver: Option<String>,
    /// Name of each device, with the questions that it answers and those that it does not.
    pub(super) devices: Vec<(String, Vec<&'static str>, Vec<&'static str>)>,
    /// Devices that it counts and that do not answer, with why.
    pub(super) lost: Vec<String>,
}

/// Asks every device every question once.
pub(super) fn examine(nvml: &Nvml) -> NvmlFacts {
    let mut lost = Vec::new();
    let devices = (0..nvml.device_count().unwrap_or(0)).filter_map(|n| {
        let device = match nvml.device_by_index(n) {
            Ok(device) => device,
            Err(error) => {
                lost.push(format!("GPU {n}: {}", sentence(&error)));
                return None;
            }
        };
        let look = Look::at(&device);
        let (told, silent) = QUERIES
            .iter()
            .chain(&SLOW_QUERIES)
            .chain(&RARE_QUERIES)
            .partition::<Vec<_>, _>(|q| (q.read)(&look).is_ok());
        let names = |queries: Vec<&Query>| queries.iter().map(|q| q.name).collect();
        let name = device.name().unwrap_or_else(|_| format!("GPU {n}"));
        Some((name, names(told), names(silent)))
    });
    let devices = devices.collect();
    NvmlFacts {
        driver: nvml.sys_driver_version().ok(),
        devices,
        lost,
    }
}

/// Samples all devices. Signals: `gpu0_power_instant`, …; see the tables above.
pub(super) struct NvmlSampler {
    nvml: Nvml,
    period: Nanos,
    devices: Vec<Gpu>,
    due: Due,
    asides: Vec<Event>,
    silent: u32,
    /// On a Jetson the GPU is a part of what the board's own rails tell.
    jetson: bool,
}

struct Gpu {
    index: u32,
    /// What is asked at each reading, every two seconds, and every five.
    fast: Vec<Asked>,
    slow: Vec<Asked>,
    rare: Vec<Asked>,
    /// Signals of processes that were described.
    described: Vec<String>,
    /// NVML's stamp of the latest load of a process.
    loads_seen: Option<u64>,
    /// Readings in a row without any answer.
    silent: u32,
}

/// A question that the device answers.
struct Asked {
    query: &'static Query,
    signal: String,
}

/// When what is not asked at each reading is asked next.
#[derive(Debug, Default)]
struct Due {
    slow: Stamp,
    rare: Stamp,
}

impl Due {
    /// Whether a reading at this moment asks the slow and the rare questions. The first asks all; later the rare ones
    /// wait for a reading without the slow ones, so that none holds up the other samplers for longer than it must.
    fn at(&mut self, at: Stamp, period: Nanos) -> (bool, bool) {
        // What is due before the middle between this reading and the next is due now.
        let soon = at + Nanos(period.0 / 2);
        let slow = soon >= self.slow;
        if slow {
            self.slow = at + SLOW;
        }
        let first = self.rare == Stamp(0);
        // Where every reading has the slow ones, they are asked together.
        let crowded = period >= SLOW || soon >= self.rare + period;
        let rare = soon >= self.rare && (!slow || first || crowded);
        if rare {
            self.rare = at + RARE;
        }
        (slow, rare)
    }
}

/// The sampler, or why there is none.
pub(super) fn find(roots: &Roots, interval: Nanos) -> Result<NvmlSampler, NoNvml> {
    let nvml = open(roots)?;
    let count = nvml.device_count().map_err(|error| NoNvml::NoCount {
        problem: sentence(&error),
    })?;
    if count == 0 {
        return Err(NoNvml::NoGpu);
    }
    let mut sampler = NvmlSampler {
        nvml,
        period: interval.max(SHORTEST),
        devices: Vec::new(),
        due: Due::default(),
        asides: Vec::new(),
        silent: 0,
        jetson: roots.text("/etc/nv_tegra_release").is_some() || crate::board::facts::module(roots).is_some(),
    };
    let mut problems = Vec::new();
    for index in 0..count {
        match sampler.probe(index) {
            Ok(gpu) => sampler.devices.push(gpu),
            Err(error) => problems.push(format!("GPU {index}: {}", sentence(&error))),
        }
    }
    if sampler
        .devices
        .iter()
        .all(|gpu| gpu.fast.is_empty() && gpu.slow.is_empty() && gpu.rare.is_empty())
    {
        problems.push("NVML has no data about this GPU".to_owned());
        return Err(NoNvml::Silent { problems });
    }
    let lost = |problem: String| Event::Finding(Trouble::CardUnanswered { problem }.into());
    sampler.asides.extend(problems.into_iter().map(lost));
    Ok(sampler)
}

impl NvmlSampler {
    fn note(&mut self, level: &str, message: String) {
        self.asides.push(Event::Log(LogRecord {
            at: Stamp(0),
            level: level.to_owned(),
            message: format!("nvml: {message}"),
        }));
    }

    /// Asks a device everything once, and remembers what it answers.
    fn probe(&mut self, index: u32) -> Result<Gpu, NvmlError> {
        let device = self.nvml.device_by_index(index)?;
        let name = device.name().unwrap_or_default();
        let look = Look::at(&device);
        let mut silent = Vec::new();
        let mut ask = |queries: &'static [Query]| -> Vec<Asked> {
            let answered = |query: &&'static Query| match (query.read)(&look) {
                Ok(_) => true,
                Err(error) => {
                    silent.push(format!("{} ({})", query.name, sentence(&error)));
                    false
                }
            };
            let asked = |query: &'static Query| Asked {
                query,
                signal: format!("gpu{index}_{}", query.name),
            };
            queries.iter().filter(answered).map(asked).collect()
        };
        let (mut fast, mut slow, rare) = (ask(&QUERIES), ask(&SLOW_QUERIES), ask(&RARE_QUERIES));
        let published = WINDOWS.iter().find(|(board, ..)| name.contains(board));
        // The first measure of power in the table is the rail; the others are the same line once more.
        let rail = fast.iter().find(|asked| asked.query.is_power());
        let rail = rail.map(|asked| asked.signal.clone());
        let again = |asked: &mut Asked| asked.query.is_power() && Some(&asked.signal) != rail.as_ref();
        slow.extend(fast.extract_if(.., again));
        let paces = [
            (&fast, self.period),
            (&slow, SLOW.max(self.period)),
            (&rare, RARE.max(self.period)),
        ];
        let asked = paces
            .into_iter()
            .flat_map(|(asked, every)| asked.iter().map(move |a| (a, every)));
        for (asked, every) in asked {
            let query = asked.query;
            let is_rail = Some(&asked.signal) == rail.as_ref();
            let measures_power = query.is_power() || query.unit == "mj";
            let (refresh, window) = match (query.name, published) {
                ("power_instant", Some((_, refresh, window))) => (Some(*refresh), Some(*window)),
                ("power_average", _) => (None, Some(Nanos::from_secs(1))),
                ("pcie_sent" | "pcie_received", _) => (None, Some(Nanos::from_millis(20))),
                _ => (None, None),
            };
            self.asides.push(Event::Signal(SignalRecord {
                source: SOURCE.to_owned(),
                signal: asked.signal.clone(),
                unit: query.unit.to_owned(),
                measurand: query.measurand(index),
                origin: format!("{}, {name}", query.origin),
                period: Some(every),
                refresh,
                averaging: match (query.averaging, window) {
                    (Averaging::Unknown, Some(_)) => Averaging::Mean,
                    (averaging, _) => averaging,
                },
                window,
                step: measures_power.then_some(1.0),
                role: match (measures_power, is_rail, self.jetson) {
                    (false, ..) => RailRole::None,
                    (true, true, false) => RailRole::Total,
                    (true, true, true) => RailRole::Part,
                    (true, false, _) => RailRole::Within,
                },
                within: rail.clone().filter(|_| measures_power && !is_rail),
            }));
        }
        let driver = self
            .nvml
            .sys_driver_version()
            .unwrap_or_else(|_| "unknown".to_owned());
        self.note("info", format!("GPU {index} is {name}, driver {driver}"));
        if !silent.is_empty() {
            self.note(
                "info",
                format!("GPU {index} does not report {}", silent.join(", ")),
            );
        }
        Ok(Gpu {
            index,
            fast,
            slow,
            rare,
            described: Vec::new(),
            loads_seen: None,
            silent: 0,
        })
    }
}

impl Gpu {
    /// A reading of a device that cannot be asked: nothing was measured.
    fn unread(&self, at: Stamp, out: &mut Vec<SampleRecord>) {
        out.extend(self.fast.iter().map(|asked| SampleRecord {
            at,
            source: SOURCE.to_owned(),
            signal: asked.signal.clone(),
            value: None,
            unit: asked.query.unit.to_owned(),
        }));
    }

    /// Asks what is due; whether the device is there: anything was answered, or nothing asked.
    fn sample(
        &self,
        device: &Device<'_>,
        at: Stamp,
        (slow, rare): (bool, bool),
        out: &mut Vec<SampleRecord>,
    ) -> bool {
        let look = Look::at(device);
        let slow = self.slow.iter().filter(|_| slow);
        let rare = self.rare.iter().filter(|_| rare);
        let (mut any, mut answered) = (false, false);
        for asked in self.fast.iter().chain(slow).chain(rare) {
            let value = (asked.query.read)(&look).ok();
            any = true;
            answered |= value.is_some();
            out.push(SampleRecord {
                at,
                source: SOURCE.to_owned(),
                signal: asked.signal.clone(),
                value,
                unit: asked.query.unit.to_owned(),
            });
        }
        // A device of which nothing was asked this time is not silent.
        answered || !any
    }

    /// Memory and load of each process on the device.
    fn processes(
        &mut self,
        device: &Device<'_>,
        (at, period): (Stamp, Nanos),
        out: &mut Vec<SampleRecord>,
        asides: &mut Vec<Event>,
    ) {
        // Not supported, or none: there is nothing to say of processes then.
        let mut readings: Vec<(u32, &str, &str, Option<f64>)> = Vec::new();
        for process in device.running_compute_processes().unwrap_or_default() {
            let bytes = match process.used_gpu_memory {
                UsedGpuMemory::Used(bytes) => Some(bytes as f64),
                UsedGpuMemory::Unavailable => None,
            };
            readings.push((process.pid, "memory", "bytes", bytes));
        }
        let mut samples = device
            .process_utilization_stats(self.loads_seen)
            .unwrap_or_default();
        // Several of one process may have come since; the latest counts.
        samples.sort_by_key(|sample| std::cmp::Reverse(sample.timestamp));
        self.loads_seen = samples.first().map(|latest| latest.timestamp).or(self.loads_seen);
        let mut seen = Vec::new();
        for sample in samples {
            if !seen.contains(&sample.pid) {
                seen.push(sample.pid);
                readings.push((sample.pid, "load", "percent", Some(f64::from(sample.sm_util))));
            }
        }
        for (pid, what, unit, value) in readings {
            let signal = format!("gpu{}_process_{pid}_{what}", self.index);
            if !self.described.contains(&signal) {
                self.described.push(signal.clone());
                asides.push(Event::Signal(process_signal(
                    &signal, self.index, pid, unit, period,
                )));
            }
            out.push(SampleRecord {
                at,
                source: SOURCE.to_owned(),
                signal,
                value,
                unit: unit.to_owned(),
            });
        }
    }
}

/// What a process's signal means, and which program it is.
fn process_signal(signal: &str, gpu: u32, pid: u32, unit: &str, period: Nanos) -> SignalRecord {
    let program = std::fs::read_to_string(format!("/proc/{pid}/comm"));
    let program = program.map_or("a program that is not visible from here".to_owned(), |name| {
        name.trim().to_owned()
    });
    let (question, quantity, averaging) = match unit {
        "bytes" => (
            "nvmlDeviceGetComputeRunningProcesses",
            Quantity::MemoryUsed,
            Averaging::Instant,
        ),
        _ => (
            "nvmlDeviceGetProcessUtilization, sm",
            Quantity::Load,
            Averaging::Mean,
        ),
    };
    SignalRecord {
        source: SOURCE.to_owned(),
        signal: signal.to_owned(),
        unit: unit.to_owned(),
        measurand: Measurand::new(quantity, Part::ProgramOnGpu(Some(gpu))),
        origin: format!("{question}, {program}"),
        period: Some(RARE.max(period)),
        averaging,
        ..SignalRecord::default()
    }
}

impl Sampler for NvmlSampler {
    fn name(&self) -> &str {
        SOURCE
    }
    fn period(&self) -> Nanos {
        self.period
    }
    fn disturbs(&self) -> Disturbs {
        // A Jetson's GPU sleeps by itself and is woken by a question; the board's own sensors tell its power.
        match self.jetson {
            true => Disturbs::WhileReading,
            false => Disturbs::Nothing,
        }
    }
    fn sample(&mut self, at: Stamp, out: &mut Vec<SampleRecord>) -> Result<(), SamplerError> {
        let due @ (_, rare) = self.due.at(at, self.period);
        let mut answered = false;
        let mut last = "no answer".to_owned();
        for gpu in &mut self.devices {
            match self.nvml.device_by_index(gpu.index) {
                Ok(device) if gpu.sample(&device, at, due, out) => {
                    gpu.silent = 0;
                    answered = true;
                    if rare {
                        gpu.processes(&device, (at, self.period), out, &mut self.asides);
                    }
                }
                asked => {
                    if let Err(error) = asked {
                        gpu.unread(at, out);
                        last = sentence(&error);
                    }
                    gpu.silent += 1;
                }
            }
        }
        // Where none answers, the sampler ends and says so itself.
        for gpu in self
            .devices
            .iter()
            .filter(|gpu| answered && gpu.silent == SILENT_READINGS)
        {
            // Of several devices one does not answer any more.
            let silent = Trouble::CardSilent {
                gpu: gpu.index,
                error: last.clone(),
            };
            self.asides.push(Event::Finding(silent.into()));
        }
        self.silent = if answered { 0 } else { self.silent + 1 };
        if self.silent >= SILENT_READINGS {
            return Err(SamplerError::Nvml(last));
        }
        Ok(())
    }
    fn asides(&mut self, out: &mut Vec<Event>) {
        out.append(&mut self.asides);
    }
}

/// An error of NVML's without its Rust clothes.
fn sentence(error: &NvmlError) -> String {
    match error {
        NvmlError::NotSupported => "not supported".to_owned(),
        NvmlError::NoPermission => "no permission".to_owned(),
        NvmlError::DriverNotLoaded => "the NVIDIA driver is not loaded".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// When the slow and the rare questions are asked in 30 s, in milliseconds.
    fn asked(period: i64) -> [Vec<i64>; 2] {
        let mut due = Due::default();
        let mut asked = [Vec::new(), Vec::new()];
        // A reading begins a little after it is due, now more and now less.
        for (n, ms) in (0..=30_000).step_by(usize::try_from(period).unwrap()).enumerate() {
            let at = Stamp(1_000_000_000 + ms * 1_000_000 + (n as i64 * 7_919) % 400_000);
            let (slow, rare) = due.at(at, Nanos::from_millis(period));
            asked[0].extend(slow.then_some(ms));
            asked[1].extend(rare.then_some(ms));
        }
        asked
    }

    #[test]
    fn slow_and_rare_questions_keep_their_distance_and_do_not_meet_after_the_first_reading() {
        let [slow, rare] = asked(100);
        assert_eq!(slow, (0..=15).map(|n| n * 2_000).collect::<Vec<i64>>());
        assert_eq!(
            rare,
            [0, 5_000, 10_100, 15_100, 20_100, 25_100],
            "at 10 s it waited for the next reading"
        );
        let [_, rare] = asked(10);
        assert_eq!(rare.len(), 6, "{rare:?}");
    }

    #[test]
    fn readings_rarer_than_the_slow_questions_ask_all_that_is_due() {
        let [slow, rare] = asked(3_000);
        assert_eq!(slow.len(), 11, "each");
        assert_eq!(rare, [0, 6_000, 12_000, 18_000, 24_000, 30_000]);
        let [slow, rare] = asked(1_500);
        assert_eq!(slow.len(), 21, "each");
        assert_eq!(rare, [0, 6_000, 12_000, 18_000, 24_000, 30_000]);
        let [slow, rare] = asked(6_000);
        assert_eq!((slow.len(), rare.len()), (6, 6));
    }
}
