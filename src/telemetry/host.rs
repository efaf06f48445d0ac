//! The host's own quantities: processor load and clock, memory, and what this run takes of them.
//!
//! All of it is read from files of the kernel's that stay open; why not by sysinfo stands in [`telemetry`](super). The kernel
//! counts load in hundredths of a second, so at a period of 100 ms it comes in steps of 10 %.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::time::{ClockId, clock_gettime};

use super::children::Children;
use super::file::NumberFile;
use super::host_idle::{IdleStates, SHORTEST};
use super::{Sampler, SamplerError};
use crate::files;
use crate::record::{Averaging, Event, Measurand, Part, Quantity, SampleRecord, SignalRecord};
use crate::units::{Nanos, Stamp};

/// The word for this source in the run file.
pub const SOURCE: &str = "host";

/// Samples the host. Signals: `cpu_load`, `cpu<n>_load` (percent busy since the last reading),
/// `cpu<n>_frequency` (mhz, where the kernel says), `cpu<n>_online` (flag, where a processor can be switched
/// off), `memory_used`, `memory_available`, `own_memory`
/// (bytes), `own_cpu_load` (percent of all processors since the last reading, its tenants' processes included),
/// `cpu_idle_<state>` and `cpu_deep_idle_<state>` (percent, where the kernel says).
pub struct Host {
    period: Nanos,
    stat_path: PathBuf,
    /// Opened at the first reading, so that what is against it is that reading's error.
    stat: Option<fs::File>,
    /// Total first, then each processor.
    loads: Vec<LoadCounters>,
    /// Each processor's clock and switch.
    files: Vec<ProcessorFile>,
    /// What one look finds; kept for its room.
    found: Vec<(SampleRecord, Measurand)>,
    /// Signals that were described.
    described: std::collections::HashSet<String>,
    asides: Vec<Event>,
    meminfo: Option<fs::File>,
    statm: Option<fs::File>,
    /// Room for what is read, kept from one reading to the next.
    text: String,
    /// When switches were last looked at: they move by hand.
    switches_due: Stamp,
    idle: IdleStates,
    /// When idle states are looked at next.
    idle_due: Stamp,
    process: Option<(Stamp, Nanos)>,
    tenants: Children,
}

/// What a processor's load is computed from.
struct LoadCounters {
    signal: String,
    of: Part,
    /// At the last reading.
    before: Option<Ticks>,
}

/// A number that the kernel has of a processor.
struct ProcessorFile {
    signal: String,
    measurand: Measurand,
    file: NumberFile,
    factor: f64,
    unit: &'static str,
}

/// Counters of one processor, in ticks since boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ticks {
    busy: u64,
    total: u64,
}

impl Host {
    /// Over the file systems at `proc` and `sys` (`/proc` and `/sys`).
    pub fn new(period: Nanos, proc: &Path, sys: &Path) -> Self {
        let cpus = sys.join("devices/system/cpu");
        let numbers = processors(&cpus);
        Host {
            period,
            stat_path: proc.join("stat"),
            stat: None,
            loads: Vec::new(),
            files: files(&cpus, &numbers),
            found: Vec::new(),
            idle: IdleStates::find(&cpus, &numbers),
            idle_due: Stamp(i64::MIN),
            described: Default::default(),
            asides: Vec::new(),
            meminfo: files::open(&proc.join("meminfo")).ok(),
            statm: fs::File::open("/proc/self/statm").ok(),
            text: String::new(),
            switches_due: Stamp(i64::MIN),
            process: None,
            // The main thread has the process's own number.
            tenants: Children::of(rustix::process::getpid()),
        }
    }

    fn loads(&mut self, at: Stamp, out: &mut Vec<(SampleRecord, Measurand)>) -> Result<(), SamplerError> {
        let path = || self.stat_path.display().to_string();
        let io = |source| SamplerError::Io { path: path(), source };
        let file = match &mut self.stat {
            Some(file) => file,
            closed => closed.insert(files::open(&self.stat_path).map_err(io)?),
        };
        let mut text = std::mem::take(&mut self.text);
        read_from_start(file, &mut text).map_err(io)?;
        let mut lines = text.lines().map_while(cpu_line).peekable();
        if lines.peek().is_none() {
            return Err(SamplerError::Format {
                path: path(),
                wanted: "a line `cpu` with at least four counters",
                found: text.lines().next().unwrap_or_default().to_owned(),
            });
        }
        for (name, ticks) in lines {
            let known = self.loads.iter().position(|load| is_load_of(&load.signal, name));
            let position = known.unwrap_or_else(|| {
                let number = name.strip_prefix("cpu").and_then(|number| number.parse().ok());
                self.loads.push(LoadCounters {
                    signal: format!("{name}_load"),
                    of: number.map_or(Part::Processors, Part::Processor),
                    before: None,
                });
                self.loads.len() - 1
            });
            let LoadCounters { signal, of, before } = &mut self.loads[position];
            // The first reading has nothing to be compared with: it is no measurement yet.
            let load = before.and_then(|before| load_percent(before, ticks));
            *before = Some(ticks);
            out.push(reading(at, signal, (Quantity::Load, *of), load, "percent"));
        }
        self.text = text;
        Ok(())
    }

    /// Says what signals mean that were not there before.
    fn describe(&mut self, found: &[(SampleRecord, Measurand)]) {
        for (reading, measurand) in found {
            if !self.described.insert(reading.signal.clone()) {
                continue;
            }
            let is_share = reading.unit == "percent";
            let (origin, period) = match (measurand.quantity, measurand.part) {
                (Quantity::Load, Part::Jetlag) => (
                    "CLOCK_PROCESS_CPUTIME_ID; of tenants' processes /proc/*/stat",
                    self.period,
                ),
                (Quantity::MemoryUsed, Part::Jetlag) => ("/proc/self/statm", self.period),
                (Quantity::MemoryUsed | Quantity::MemoryAvailable, _) => ("/proc/meminfo", self.period),
                (Quantity::ShallowIdle | Quantity::DeepIdle, _) => {
                    ("/sys/devices/system/cpu/cpu*/cpuidle", self.period.max(SHORTEST))
                }
                (Quantity::Load, _) => ("/proc/stat", self.period),
                _ => ("/sys/devices/system/cpu", self.period),
            };
            self.asides.push(Event::Signal(SignalRecord {
                source: SOURCE.to_owned(),
                signal: reading.signal.clone(),
                unit: reading.unit.clone(),
                measurand: *measurand,
                origin: origin.to_owned(),
                period: Some(period),
                averaging: match is_share {
                    true => Averaging::Mean,
                    false => Averaging::Instant,
                },
                window: is_share.then_some(period),
                ..SignalRecord::default()
            }));
        }
    }

    fn memory(&mut self, at: Stamp, out: &mut Vec<(SampleRecord, Measurand)>) {
        let mut text = std::mem::take(&mut self.text);
        let read = |file: &mut fs::File| read_from_start(file, &mut text).ok();
        let kib = self.meminfo.as_mut().and_then(read).map(|()| {
            let field = |name: &str| -> Option<f64> {
                let line = text.lines().find_map(|line| line.strip_prefix(name))?;
                line.split_ascii_whitespace().next()?.parse().ok()
            };
            (field("MemTotal:"), field("MemAvailable:"))
        });
        self.text = text;
        let (total, available) = kib.unwrap_or((None, None));
        let bytes = |kib: Option<f64>| kib.map(|kib| kib * 1024.0);
        let used = total.zip(available).map(|(total, available)| total - available);
        let mut put = |signal, quantity, kib| {
            out.push(reading(at, signal, (quantity, Part::Board), bytes(kib), "bytes"));
        };
        put("memory_used", Quantity::MemoryUsed, used);
        put("memory_available", Quantity::MemoryAvailable, available);
    }

    fn process(&mut self, at: Stamp, out: &mut Vec<(SampleRecord, Measurand)>) {
        let t = clock_gettime(ClockId::ProcessCPUTime);
        let used = Nanos(t.tv_sec * 1_000_000_000 + t.tv_nsec) + self.tenants.used();
        let before = self.process.replace((at, used));
        // Of all processors together, as `cpu_load` is, so that the two can be subtracted.
        let processors = self.loads.len().saturating_sub(1).max(1) as f64;
        let load = before
            .filter(|(then, _)| at > *then)
            .map(|(then, used_then)| (used - used_then).as_secs_f64() / (at - then).as_secs_f64())
            .map(|busy| 100.0 * busy / processors);
        out.push(reading(
            at,
            "own_cpu_load",
            (Quantity::Load, Part::Jetlag),
            load,
            "percent",
        ));
        let mut text = std::mem::take(&mut self.text);
        // The second figure is what is resident, in pages.
        let read = |file: &mut fs::File| read_from_start(file, &mut text).ok();
        let pages: Option<f64> = self
            .statm
            .as_mut()
            .and_then(read)
            .and_then(|()| text.split_ascii_whitespace().nth(1)?.parse().ok());
        self.text = text;
        let rss = pages.map(|pages| pages * rustix::param::page_size() as f64);
        out.push(reading(
            at,
            "own_memory",
            (Quantity::MemoryUsed, Part::Jetlag),
            rss,
            "bytes",
        ));
    }
}

impl Sampler for Host {
    fn name(&self) -> &str {
        SOURCE
    }
    fn period(&self) -> Nanos {
        self.period
    }
    fn sample(&mut self, at: Stamp, out: &mut Vec<SampleRecord>) -> Result<(), SamplerError> {
        let mut found = std::mem::take(&mut self.found);
        found.clear();
        self.loads(at, &mut found)?;
        let switches = at >= self.switches_due;
        if switches {
            self.switches_due = at + Nanos::from_secs(1);
        }
        for of in &mut self.files {
            if of.measurand.quantity == Quantity::On && !switches {
                continue;
            }
            let value = of.file.read().ok().map(|number| number * of.factor);
            let Measurand { quantity, part } = of.measurand;
            found.push(reading(at, &of.signal, (quantity, part), value, of.unit));
        }
        if at >= self.idle_due {
            self.idle_due = at + SHORTEST;
            self.idle.read(at, |signal, quantity, value| {
                found.push(reading(
                    at,
                    signal,
                    (quantity, Part::Processors),
                    value,
                    "percent",
                ));
            });
        }
        self.memory(at, &mut found);
        self.process(at, &mut found);
        if found.len() > self.described.len() {
            self.describe(&found);
        }
        out.extend(found.drain(..).map(|(sample, _)| sample));
        self.found = found;
        Ok(())
    }
    fn asides(&mut self, out: &mut Vec<Event>) {
        out.append(&mut self.asides);
    }
}

fn reading(
    at: Stamp,
    signal: &str,
    (quantity, part): (Quantity, Part),
    value: Option<f64>,
    unit: &str,
) -> (SampleRecord, Measurand) {
    let sample = SampleRecord {
        at,
        source: SOURCE.to_owned(),
        signal: signal.to_owned(),
        value,
        unit: unit.to_owned(),
    };
    (sample, Measurand::new(quantity, part))
}

/// Reads a file of the kernel's anew from its start.
fn read_from_start(file: &mut fs::File, text: &mut String) -> std::io::Result<()> {
    use std::io::{Read, Seek};
    text.clear();
    file.rewind()?;
    file.take(files::KERNEL.0).read_to_string(text).map(|_| ())
}

/// Whether `signal` is `<cpu>_load`.
fn is_load_of(signal: &str, cpu: &str) -> bool {
    signal.strip_suffix("_load") == Some(cpu)
}

/// A line of /proc/stat about processors: `cpu0 user nice system idle iowait irq softirq steal guest …`.
/// Guest time is within user time already.
fn cpu_line(line: &str) -> Option<(&str, Ticks)> {
    let mut fields = line.split_ascii_whitespace();
    let name = fields.next().filter(|name| name.starts_with("cpu"))?;
    let mut ticks = [0u64; 8];
    let mut found = 0;
    for (tick, field) in ticks.iter_mut().zip(fields) {
        *tick = field.parse().ok()?;
        found += 1;
    }
    let total = ticks.iter().fold(0u64, |sum, t| sum.saturating_add(*t));
    let idle = ticks[3].saturating_add(ticks[4]);
    (found >= 4).then_some((
        name,
        Ticks {
            busy: total.saturating_sub(idle),
            total,
        },
    ))
}

/// Share of ticks that were busy; none if no tick passed, or if the counters went back.
fn load_percent(before: Ticks, after: Ticks) -> Option<f64> {
    let total = after.total.checked_sub(before.total).filter(|t| *t > 0)?;
    // A processor's wait for disks may be counted back, and busy with it.
    let busy = after.busy.checked_sub(before.busy)?.min(total);
    Some(100.0 * busy as f64 / total as f64)
}

/// The processors by number.
fn processors(cpus: &Path) -> Vec<u32> {
    let mut numbers: Vec<u32> = fs::read_dir(cpus)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.strip_prefix("cpu")?.parse().ok())
        .collect();
    numbers.sort_unstable();
    numbers
}

/// The clock and the switch of each processor that has one, in order.
fn files(cpus: &Path, numbers: &[u32]) -> Vec<ProcessorFile> {
    let kinds = [
        (
            "frequency",
            Quantity::Clock,
            "cpufreq/scaling_cur_freq",
            1e-3,
            "mhz",
        ),
        ("online", Quantity::On, "online", 1.0, "flag"),
    ];
    let all = numbers.iter().flat_map(|&n| kinds.map(|kind| (n, kind)));
    all.filter_map(|(n, (what, quantity, file, factor, unit))| {
        let path = cpus.join(format!("cpu{n}")).join(file);
        path.exists().then(|| ProcessorFile {
            signal: format!("cpu{n}_{what}"),
            measurand: Measurand::new(quantity, Part::Processor(n)),
            file: NumberFile::new(path),
            factor,
            unit,
        })
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value<'a>(out: &'a [SampleRecord], signal: &str) -> &'a SampleRecord {
        out.iter()
            .find(|s| s.signal == signal)
            .unwrap_or_else(|| panic!("no {signal}"))
    }

    #[test]
    fn load_is_the_busy_share_since_the_last_reading() {
        let root = tempfile::tempdir().unwrap();
        let cpu = root.path().join("devices/system/cpu");
        for (n, khz) in [(0, "1510400\n"), (10, "gated\n")] {
            let folder = cpu.join(format!("cpu{n}/cpufreq"));
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("scaling_cur_freq"), khz).unwrap();
        }
        fs::create_dir_all(cpu.join("cpu1")).unwrap();
        let stat = root.path().join("stat");
        let mut host = Host::new(Nanos::from_millis(100), root.path(), root.path());
        let mut out = Vec::new();

        fs::write(
            &stat,
            "cpu  100 0 50 850 0 0 0 0 0 0\ncpu0 100 0 50 850\nintr 1\n",
        )
        .unwrap();
        host.sample(Stamp(0), &mut out).unwrap();
        assert_eq!(value(&out, "cpu_load").value, None, "nothing to compare with yet");
        assert_eq!(value(&out, "own_cpu_load").value, None);
        assert_eq!(value(&out, "cpu0_frequency").value, Some(1510.4));
        assert_eq!(
            value(&out, "cpu10_frequency").value,
            None,
            "unreadable is not zero"
        );
        assert!(
            out.iter().all(|s| s.signal != "cpu1_frequency"),
            "a clock that is not there"
        );

        out.clear();
        fs::write(
            &stat,
            "cpu  120 0 60 920 0 0 0 0 0 0\ncpu0 100 0 50 850\nintr 1\n",
        )
        .unwrap();
        host.sample(Stamp(100_000_000), &mut out).unwrap();
        assert_eq!(value(&out, "cpu_load").value, Some(30.0));
        assert_eq!(value(&out, "cpu0_load").value, None, "no tick passed");
    }

    #[test]
    fn waiting_for_disks_is_not_busy_and_counters_that_go_back_are_no_reading() {
        let (_, before) = cpu_line("cpu 10 0 10 60 20 0 0 0 5 5").unwrap();
        let (_, after) = cpu_line("cpu 20 0 10 100 70 0 0 0 5 5").unwrap();
        assert_eq!(load_percent(before, after), Some(10.0));
        assert_eq!(load_percent(after, before), None);
        assert_eq!(cpu_line("cpu 1 2"), None);
        assert_eq!(cpu_line("intr 1 2 3 4 5"), None);
        assert_eq!(cpu_line("cpu x y z w"), None);
    }

    #[test]
    fn this_machine_is_sampled_for_real() {
        let mut host = Host::new(Nanos::from_millis(100), Path::new("/proc"), Path::new("/sys"));
        let mut out = Vec::new();
        host.sample(Stamp(1), &mut out).unwrap();
        let rss = value(&out, "own_memory").value.unwrap();
        let used = value(&out, "memory_used").value.unwrap();
        assert!(0.0 < rss && rss < used, "{rss} of {used}");
        assert!(value(&out, "memory_available").value.unwrap() > 0.0);
        assert!(out.iter().all(|s| s.source == "host" && !s.unit.is_empty()));
    }

    #[test]
    fn a_missing_or_foreign_proc_stat_is_an_error_with_its_path() {
        let root = tempfile::tempdir().unwrap();
        let mut host = Host::new(Nanos::from_millis(100), root.path(), root.path());
        let missing = host.sample(Stamp(0), &mut Vec::new()).unwrap_err().to_string();
        assert!(missing.contains("stat"), "{missing}");
        fs::write(root.path().join("stat"), "hello\n").unwrap();
        let foreign = host.sample(Stamp(0), &mut Vec::new()).unwrap_err().to_string();
        assert!(foreign.contains("begins with `hello`"), "{foreign}");
    }
}
