//! NVIDIA's management library (NVML): power, energy, clocks, load, limits and processes of each GPU.
//!
//! It is loaded when it is looked for, by libloading within nvml-wrapper. A library that loads and a device that
//! is counted say nothing yet: on Orin, NVML answers most questions with "Not Supported". So each question is
//! asked once, the answer remembered, and what is not supported is not sampled: a fact, and no error.
//!
//! Power is asked by field: the plain query is a mean over a second with some drivers and an instant value with
//! others. Published refreshes and windows are in [`WINDOWS`]; where a board is not in it, the analysis observes
//! the refresh from the values.

use std::path::PathBuf;

use nvml_wrapper::enum_wrappers::device::{Clock, PcieUtilCounter, TemperatureSensor};
use nvml_wrapper::enums::device::{SampleValue, UsedGpuMemory};
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::structs::device::FieldId;
use nvml_wrapper::{Device, Nvml};

use super::{Sampler, SamplerError};
use crate::board::{Roots, libraries};
use crate::record::{Averaging, Event, Finding, LogRecord, RailRole, SampleRecord, SignalRecord};
use crate::units::{Nanos, Stamp};

/// The word for this source in the run file.
pub(super) const SOURCE: &str = "nvml";
/// Values of the sensors change every 20 ms at most.
const SHORTEST: Nanos = Nanos::from_millis(10);
/// Time between two looks at what is slow to ask.
const SLOW: Nanos = Nanos::from_millis(2000);
/// Readings without any answer after which the library is given up.
const SILENT_READINGS: u32 = 5;

/// NVML's field numbers (nvml.h).
const POWER_AVERAGE: u32 = 185;
const POWER_INSTANT: u32 = 186;

/// Refresh and averaging window of the instant power, as measured on these boards by Z. Yang, K. Adamek and
/// W. Armour, "Part-time Power Measurements: nvidia-smi's Lack of Attention" (2024), and published with it.
const WINDOWS: [(&str, Nanos, Nanos); 6] = [
    ("H100", Nanos::from_millis(100), Nanos::from_millis(25)),
    ("A100", Nanos::from_millis(100), Nanos::from_millis(25)),
    ("RTX 3090", Nanos::from_millis(100), Nanos::from_millis(100)),
    ("RTX 3070 Ti", Nanos::from_millis(100), Nanos::from_millis(100)),
    ("RTX 2080 Ti", Nanos::from_millis(100), Nanos::from_millis(100)),
    ("GTX 1080", Nanos::from_millis(20), Nanos::from_millis(10)),
];

/// A question that NVML may answer, and what the answer means.
struct Query {
    /// The signal's name, after `gpu0_`.
    name: &'static str,
    unit: &'static str,
    averaging: Averaging,
    origin: &'static str,
    read: fn(&Device<'_>) -> Result<f64, NvmlError>,
}

const fn query(
    name: &'static str,
    unit: &'static str,
    averaging: Averaging,
    origin: &'static str,
    read: fn(&Device<'_>) -> Result<f64, NvmlError>,
) -> Query {
    Query {
        name,
        unit,
        averaging,
        origin,
        read,
    }
}

use Averaging::{Counter, Instant, Mean, Unknown};

/// What is asked at each reading, the best measure of power first.
static QUERIES: [Query; 9] = [
    query(
        "power_instant",
        "mw",
        Unknown,
        "NVML field 186, power.draw.instant",
        |d| field(d, POWER_INSTANT),
    ),
    query(
        "power_average",
        "mw",
        Mean,
        "NVML field 185, power.draw.average",
        |d| field(d, POWER_AVERAGE),
    ),
    query("power", "mw", Unknown, "nvmlDeviceGetPowerUsage", |d| {
        d.power_usage().map(f64::from)
    }),
    query(
        "load",
        "percent",
        Mean,
        "nvmlDeviceGetUtilizationRates, gpu",
        |d| d.utilization_rates().map(|u| f64::from(u.gpu)),
    ),
    query(
        "memory_load",
        "percent",
        Mean,
        "nvmlDeviceGetUtilizationRates, memory",
        |d| d.utilization_rates().map(|u| f64::from(u.memory)),
    ),
    query(
        "sm_frequency",
        "mhz",
        Instant,
        "nvmlDeviceGetClockInfo, SM",
        |d| d.clock_info(Clock::SM).map(f64::from),
    ),
    query(
        "memory_frequency",
        "mhz",
        Instant,
        "nvmlDeviceGetClockInfo, memory",
        |d| d.clock_info(Clock::Memory).map(f64::from),
    ),
    query(
        "throttle_reasons",
        "bits",
        Instant,
        "nvmlDeviceGetCurrentClocksThrottleReasons",
        |d| d.current_throttle_reasons().map(|reasons| reasons.bits() as f64),
    ),
    query(
        "temperature",
        "c",
        Instant,
        "nvmlDeviceGetTemperature, GPU",
        |d| d.temperature(TemperatureSensor::Gpu).map(f64::from),
    ),
];

/// What is asked every two seconds: the energy counter takes the driver 4.5 ms of processor time to read (seen on an
/// H200, driver 580), NVML measures for 20 ms to tell of PCIe, and the rest changes slowly.
static SLOW_QUERIES: [Query; 7] = [
    query(
        "energy",
        "mj",
        Counter,
        "nvmlDeviceGetTotalEnergyConsumption",
        |d| d.total_energy_consumption().map(|mj| mj as f64),
    ),
    query("memory_used", "bytes", Instant, "nvmlDeviceGetMemoryInfo", |d| {
        d.memory_info().map(|m| m.used as f64)
    }),
    query(
        "power_limit",
        "mw",
        Instant,
        "nvmlDeviceGetEnforcedPowerLimit",
        |d| d.enforced_power_limit().map(f64::from),
    ),
    query(
        "encoder_load",
        "percent",
        Mean,
        "nvmlDeviceGetEncoderUtilization",
        |d| d.encoder_utilization().map(|u| f64::from(u.utilization)),
    ),
    query(
        "decoder_load",
        "percent",
        Mean,
        "nvmlDeviceGetDecoderUtilization",
        |d| d.decoder_utilization().map(|u| f64::from(u.utilization)),
    ),
    query(
        "pcie_sent",
        "kb_s",
        Mean,
        "nvmlDeviceGetPcieThroughput, TX (over 20 ms)",
        |d| d.pcie_throughput(PcieUtilCounter::Send).map(f64::from),
    ),
    query(
        "pcie_received",
        "kb_s",
        Mean,
        "nvmlDeviceGetPcieThroughput, RX (over 20 ms)",
        |d| d.pcie_throughput(PcieUtilCounter::Receive).map(f64::from),
    ),
];

fn field(device: &Device<'_>, id: u32) -> Result<f64, NvmlError> {
    let values = device.field_values_for(&[FieldId(id)])?;
    let sample = values.into_iter().next().ok_or(NvmlError::NotFound)??;
    match sample.value? {
        SampleValue::U32(value) => Ok(f64::from(value)),
        SampleValue::U64(value) => Ok(value as f64),
        SampleValue::I64(value) => Ok(value as f64),
        SampleValue::F64(value) => Ok(value),
    }
}

/// Loads the library and counts its devices; why not, in words, where that fails.
pub fn open(roots: &Roots) -> Result<Nvml, String> {
    let candidates: Vec<PathBuf> = match (&roots.nvml, roots.is_this_machine()) {
        (Some(path), _) => vec![path.clone()],
        // By name, so that the loader finds it wherever the driver put it.
        (None, true) => vec!["libnvidia-ml.so.1".into(), "libnvidia-ml.so".into()],
        (None, false) => libraries::library(roots, "libnvidia-ml")
            .map(|path| roots.file(&path.to_string_lossy()))
            .into_iter()
            .collect(),
    };
    let mut why = "no libnvidia-ml.so".to_owned();
    for path in &candidates {
        match Nvml::builder().lib_path(path.as_os_str()).init() {
            Ok(nvml) => return Ok(nvml),
            Err(NvmlError::LibloadingError(_)) => why = format!("{} cannot be loaded", path.display()),
            Err(error) => why = format!("{}: {}", path.display(), sentence(&error)),
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
}

/// Asks every device every question once.
pub(super) fn examine(nvml: &Nvml) -> NvmlFacts {
    let devices = (0..nvml.device_count().unwrap_or(0)).filter_map(|n| {
        let device = nvml.device_by_index(n).ok()?;
        let (told, silent) = QUERIES
            .iter()
            .chain(&SLOW_QUERIES)
            .partition::<Vec<_>, _>(|q| (q.read)(&device).is_ok());
        let names = |queries: Vec<&Query>| queries.iter().map(|q| q.name).collect();
        let name = device.name().unwrap_or_else(|_| format!("GPU {n}"));
        Some((name, names(told), names(silent)))
    });
    NvmlFacts {
        driver: nvml.sys_driver_version().ok(),
        devices: devices.collect(),
    }
}

/// Samples all devices. Signals: `gpu0_power_instant`, …; see the tables above.
pub(super) struct NvmlSampler {
    nvml: Nvml,
    period: Nanos,
    devices: Vec<Gpu>,
    slow_due: Stamp,
    asides: Vec<Event>,
    silent: u32,
    /// On a Jetson the GPU is a part of what the board's own rails tell.
    jetson: bool,
}

struct Gpu {
    index: u32,
    fast: Vec<Asked>,
    slow: Vec<Asked>,
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

/// The sampler, or why there is none.
pub(super) fn find(roots: &Roots, interval: Nanos) -> Result<NvmlSampler, String> {
    let nvml = open(roots)?;
    let count = nvml.device_count().map_err(|error| sentence(&error))?;
    if count == 0 {
        return Err("NVML is there and finds no GPU".to_owned());
    }
    let mut sampler = NvmlSampler {
        nvml,
        period: interval.max(SHORTEST),
        devices: Vec::new(),
        slow_due: Stamp(0),
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
        .all(|gpu| gpu.fast.is_empty() && gpu.slow.is_empty())
    {
        problems.push("NVML is there and answers no question about this GPU".to_owned());
        return Err(problems.join("; "));
    }
    for problem in problems {
        sampler.note("warn", problem);
    }
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
        let mut silent = Vec::new();
        let mut ask = |queries: &'static [Query]| -> Vec<Asked> {
            let answered = |query: &&'static Query| match (query.read)(&device) {
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
        let (fast, slow) = (ask(&QUERIES), ask(&SLOW_QUERIES));
        let published = WINDOWS.iter().find(|(board, ..)| name.contains(board));
        // The first measure of power in the table is the rail; the others are the same line once more.
        let rail = fast
            .iter()
            .find(|a| a.query.unit == "mw" && a.query.name != "power_limit");
        let rail = rail.map(|asked| asked.signal.clone());
        for asked in fast.iter().chain(&slow) {
            let query = asked.query;
            let is_rail = Some(&asked.signal) == rail.as_ref();
            let measures_power = (query.unit == "mw" && query.name != "power_limit") || query.unit == "mj";
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
                origin: format!("{}, {name}", query.origin),
                period: Some(if slow.iter().any(|s| s.signal == asked.signal) {
                    SLOW.max(self.period)
                } else {
                    self.period
                }),
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
            self.note("info", format!("GPU {index} does not tell {}", silent.join(", ")));
        }
        Ok(Gpu {
            index,
            fast,
            slow,
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

    /// What can be asked quickly; whether anything was answered.
    fn sample(&self, device: &Device<'_>, at: Stamp, slow: bool, out: &mut Vec<SampleRecord>) -> bool {
        let slow = self.slow.iter().filter(|_| slow);
        let mut answered = false;
        for asked in self.fast.iter().chain(slow) {
            let value = (asked.query.read)(device).ok();
            answered |= value.is_some();
            out.push(SampleRecord {
                at,
                source: SOURCE.to_owned(),
                signal: asked.signal.clone(),
                value,
                unit: asked.query.unit.to_owned(),
            });
        }
        answered
    }

    /// Memory and load of each process on the device.
    fn processes(
        &mut self,
        device: &Device<'_>,
        at: Stamp,
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
                asides.push(Event::Signal(process_signal(&signal, pid, unit)));
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

/// Of several devices one does not answer any more.
fn silent_device(index: u32, why: &str) -> Finding {
    Finding {
        code: "sampler-ended".to_owned(),
        tenant: None,
        message: format!("the nvml sampler gets no answer of GPU {index} any more: {why}"),
        advice: "The other GPUs are still sampled. See the kernel's log (dmesg) and nvidia-smi for what became of it."
            .to_owned(),
    }
}

/// What a process's signal means, and which program it is.
fn process_signal(signal: &str, pid: u32, unit: &str) -> SignalRecord {
    let program = std::fs::read_to_string(format!("/proc/{pid}/comm"));
    let program = program.map_or("a program that cannot be seen from here".to_owned(), |name| {
        name.trim().to_owned()
    });
    let (question, averaging) = match unit {
        "bytes" => ("nvmlDeviceGetComputeRunningProcesses", Averaging::Instant),
        _ => ("nvmlDeviceGetProcessUtilization, sm", Averaging::Mean),
    };
    SignalRecord {
        source: SOURCE.to_owned(),
        signal: signal.to_owned(),
        unit: unit.to_owned(),
        origin: format!("{question}, {program}"),
        period: Some(SLOW),
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
    fn sample(&mut self, at: Stamp, out: &mut Vec<SampleRecord>) -> Result<(), SamplerError> {
        let slow = at >= self.slow_due;
        if slow {
            self.slow_due = at + SLOW;
        }
        let mut answered = false;
        let mut last = "no answer".to_owned();
        for gpu in &mut self.devices {
            match self.nvml.device_by_index(gpu.index) {
                Ok(device) if gpu.sample(&device, at, slow, out) => {
                    gpu.silent = 0;
                    answered = true;
                    if slow {
                        gpu.processes(&device, at, out, &mut self.asides);
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
            self.asides.push(Event::Finding(silent_device(gpu.index, &last)));
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
