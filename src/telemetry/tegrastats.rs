//! NVIDIA's `tegrastats`: a process of its own, whose lines become readings.
//!
//! A thread reads its lines and stamps them when they come; the sampler hands over what has come since. The
//! process is started by the sampler's first reading and killed with it. Should jetlag itself be killed, the
//! kernel kills it too: it is started through `jetlag with-parent`, which asks the kernel for that and then
//! becomes tegrastats. If it ends by itself it is started again, unless it did so soon after each of its last six starts.
//!
//! Its averages of rails are means since it began, and no basis for energy: only the readings are recorded.

mod log;

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, TryRecvError, channel};

pub use log::read_log;
use rustix::param::clock_ticks_per_second;
use tegrastats_parser::{Activity, Core, LineError, Sample, Timestamp, parse_line};

use super::children::ticks;
use super::rails::{by_names, role};
use super::trouble::Trouble;
use super::{Disturbs, Sampler, SamplerError};
use crate::board::modules::Rails;
use crate::clock::{Clock, RealClock};
use crate::record::{Averaging, Event, LogRecord, Measurand, Part, Quantity, SampleRecord, SignalRecord};
use crate::units::{Nanos, Stamp};

/// The word for this source in the run file.
pub const SOURCE: &str = "tegrastats";
/// Below this tegrastats costs processor time and repeats values.
const SHORTEST_MS: i64 = 20;
/// What tegrastats itself takes of one core (percent), from its `stat`; the kernel counts in ticks of 10 ms.
const PROCESS_LOAD: &str = "process_load";
/// Between two looks at that.
const LOOKED_AT: Nanos = Nanos::from_secs(1);
/// Times in a row that it is started again though it ends soon.
const RESTARTS: u32 = 5;
/// Having run for so long, it is not one that keeps ending: a run of days may lose it now and then.
const SETTLED: Nanos = Nanos::from_secs(60);
/// A program that has given no reading for so long gives none.
const DUMB: Nanos = Nanos::from_secs(5);
/// Least time from one start to the next.
const BACK_OFF: Nanos = Nanos::from_secs(1);
/// A line longer than this is no tegrastats line, and is thrown away as it comes.
const LONGEST_LINE: u64 = 16 << 10;

/// How it is started.
#[derive(Clone, Debug)]
pub struct Start {
    /// Path of the tegrastats program.
    pub program: PathBuf,
    /// Our own program, if it is to make sure that tegrastats does not outlive us.
    pub guard: Option<PathBuf>,
}

/// Samples by way of tegrastats.
pub struct Tegrastats {
    start: Start,
    period: Nanos,
    rails: Option<&'static Rails>,
    running: Option<Running>,
    /// Starts in a row after which it ended soon, with the one that is running.
    started: u32,
    /// When it was started last.
    since: Stamp,
    not_before: Option<Stamp>,
    readings: Readings,
    asides: Vec<Event>,
    load_described: bool,
    /// That it gives no reading has been said.
    dumb_said: bool,
}

struct Running {
    child: Child,
    lines: Receiver<(Stamp, String)>,
    /// When its processor time was last looked at, and what it was.
    used: Option<(Stamp, u64)>,
}

impl Running {
    /// What the process took of one core since it was last asked; none before a second has passed.
    fn load(&mut self, at: Stamp) -> Option<f64> {
        let (then, before) = match self.used {
            Some((then, _)) if at - then < LOOKED_AT => return None,
            Some(used) => used,
            None => {
                self.used = Some((at, ticks(self.child.id())?));
                return None;
            }
        };
        let now = ticks(self.child.id())?;
        self.used = Some((at, now));
        let seconds = now.saturating_sub(before) as f64 / clock_ticks_per_second() as f64;
        Some(100.0 * seconds / (at - then).as_secs_f64())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to kill.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Tegrastats {
    /// Over the program; it is started by the first reading.
    pub fn new(start: Start, interval: Nanos, rails: Option<&'static Rails>) -> Tegrastats {
        Tegrastats {
            start,
            period: interval.max(Nanos::from_millis(SHORTEST_MS)),
            rails,
            running: None,
            started: 0,
            since: Stamp(0),
            not_before: None,
            readings: Readings::default(),
            asides: Vec::new(),
            load_described: false,
            dumb_said: false,
        }
    }

    fn spawn(&self) -> std::io::Result<Running> {
        // Asked first, because nobody hears what our own program says of it.
        rustix::fs::access(&self.start.program, rustix::fs::Access::EXEC_OK)?;
        let interval = (self.period.0 / 1_000_000).max(1).to_string();
        let mut command = match &self.start.guard {
            Some(guard) => {
                let mut command = Command::new(guard);
                command.arg("with-parent").arg(std::process::id().to_string());
                command.arg(&self.start.program);
                command
            }
            None => Command::new(&self.start.program),
        };
        let mut child = command
            .args(["--interval", &interval])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            // Ctrl-C is for us: a group of its own keeps tegrastats until we have read its last line.
            .process_group(0)
            .spawn()?;
        let (sender, lines) = channel();
        if let Some(out) = child.stdout.take() {
            std::thread::Builder::new()
                .name("tegrastats".to_owned())
                .spawn(move || {
                    let mut reader = BufReader::new(out);
                    while let Some(line) = next_line(&mut reader) {
                        if sender.send((RealClock.now(), line)).is_err() {
                            break;
                        }
                    }
                })?;
        }
        Ok(Running {
            child,
            lines,
            used: None,
        })
    }

    fn note(&mut self, at: Stamp, level: &str, message: String) {
        self.asides.push(Event::Log(LogRecord {
            at,
            level: level.to_owned(),
            message: format!("tegrastats: {message}"),
        }));
    }

    fn problem(&self, problem: String) -> SamplerError {
        SamplerError::Program {
            program: self.start.program.display().to_string(),
            problem,
        }
    }
}

impl Sampler for Tegrastats {
    fn name(&self) -> &str {
        SOURCE
    }
    fn period(&self) -> Nanos {
        self.period
    }
    fn disturbs(&self) -> Disturbs {
        // It reads the GPU's load by itself, whether its lines are taken or not.
        Disturbs::Always
    }
    fn sample(&mut self, at: Stamp, out: &mut Vec<SampleRecord>) -> Result<(), SamplerError> {
        if self.running.is_none() && self.not_before.is_none_or(|then| at >= then) {
            if self.started > RESTARTS {
                let problem = format!(
                    "ended {} times soon after its start; not started again",
                    self.started
                );
                return Err(self.problem(problem));
            }
            self.started += 1;
            self.since = at;
            self.not_before = Some(at + BACK_OFF);
            let running = self
                .spawn()
                .map_err(|e| self.problem(format!("cannot be started: {e}")))?;
            self.running = Some(running);
        }
        let mut ended = false;
        if let Some(running) = &mut self.running {
            if let Some(load) = running.load(at) {
                if !std::mem::replace(&mut self.load_described, true) {
                    self.asides.push(Event::Signal(process_load_signal()));
                }
                out.push(SampleRecord {
                    at,
                    source: SOURCE.to_owned(),
                    signal: PROCESS_LOAD.to_owned(),
                    value: Some(load),
                    unit: "percent".to_owned(),
                });
            }
            loop {
                match running.lines.try_recv() {
                    Ok((stamp, line)) => {
                        self.readings.line(
                            &line,
                            stamp,
                            Some(self.period),
                            self.rails,
                            out,
                            &mut self.asides,
                        );
                    }
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => {
                        ended = true;
                        break;
                    }
                }
            }
        }
        if !self.dumb_said
            && !ended
            && self.readings.taken == 0
            && at - self.since >= DUMB.max(self.period * 3)
        {
            self.dumb_said = true;
            let unread = Trouble::TegrastatsUnread {
                program: self.start.program.clone(),
                first_problem: self.readings.first_problem.clone(),
            };
            self.asides.push(Event::Finding(unread.into()));
        }
        if ended {
            if at - self.since >= SETTLED {
                self.started = 0;
            }
            let status = self
                .running
                .take()
                .and_then(|mut running| running.child.wait().ok());
            let how = status.map_or("ended".to_owned(), |status| format!("ended with {status}"));
            self.note(at, "warn", format!("{how}; restarting it"));
        }
        Ok(())
    }
    fn asides(&mut self, out: &mut Vec<Event>) {
        out.append(&mut self.asides);
    }
}

fn process_load_signal() -> SignalRecord {
    SignalRecord {
        source: SOURCE.to_owned(),
        signal: PROCESS_LOAD.to_owned(),
        unit: "percent".to_owned(),
        measurand: Measurand::new(Quantity::Load, Part::Sampler),
        origin: "/proc/*/stat of the process tegrastats; of one core".to_owned(),
        period: Some(LOOKED_AT),
        averaging: Averaging::Mean,
        window: Some(LOOKED_AT),
        ..SignalRecord::default()
    }
}

impl Drop for Tegrastats {
    fn drop(&mut self) {
        self.running = None;
    }
}

/// The next line that ends in a newline; what is cut by the end is not used, because its last number may be.
fn next_line(reader: &mut impl BufRead) -> Option<String> {
    use std::io::Read;
    let mut bytes = Vec::new();
    reader
        .by_ref()
        .take(LONGEST_LINE)
        .read_until(b'\n', &mut bytes)
        .ok()?;
    match bytes.last() {
        Some(b'\n') => Some(String::from_utf8_lossy(&bytes).into_owned()),
        // Too long for a line of tegrastats: an empty one stands for it.
        Some(_) if bytes.len() as u64 == LONGEST_LINE => Some("\n".to_owned()),
        _ => None,
    }
}

/// Turns lines into readings, and counts those that are none.
#[derive(Debug, Default)]
pub struct Readings {
    /// Signals that were described.
    described: std::collections::HashSet<String>,
    /// Lines that are not tegrastats output.
    pub skipped: u64,
    /// Why the first of them was none.
    pub first_problem: Option<String>,
    /// How many lines were tegrastats output.
    pub taken: u64,
    /// Why a log could not be read to its end.
    pub cut_by: Option<String>,
}

impl Readings {
    /// Takes in one line, with its newline; whether it was one of tegrastats.
    pub fn line(
        &mut self,
        line: &str,
        at: Stamp,
        period: Option<Nanos>,
        rails: Option<&'static Rails>,
        out: &mut Vec<SampleRecord>,
        asides: &mut Vec<Event>,
    ) -> bool {
        self.row(line, at, period, rails, out, asides).is_ok()
    }

    /// The same; the stamp that the line begins with, if it has one, or what is wrong with it.
    fn row(
        &mut self,
        line: &str,
        at: Stamp,
        period: Option<Nanos>,
        rails: Option<&'static Rails>,
        out: &mut Vec<SampleRecord>,
        asides: &mut Vec<Event>,
    ) -> Result<Option<Timestamp>, LineError> {
        let line = line.trim_end();
        let sample = match parse_line(line) {
            Ok(sample) => sample,
            Err(error) => {
                self.skipped += 1;
                if !line.is_empty() {
                    self.first_problem.get_or_insert_with(|| error.to_string());
                }
                return Err(error);
            }
        };
        self.taken += 1;
        let rails = rails.or_else(|| by_names(sample.rails.iter().map(|rail| rail.name)));
        readings(&sample, at, |reading, measurand| {
            if self.described.insert(reading.signal.clone()) {
                let (role, within) = match measurand.quantity {
                    Quantity::Power => role(rails, &reading.signal),
                    _ => Default::default(),
                };
                asides.push(Event::Signal(SignalRecord {
                    source: SOURCE.to_owned(),
                    signal: reading.signal.clone(),
                    unit: reading.unit.clone(),
                    measurand,
                    origin: "tegrastats".to_owned(),
                    period,
                    averaging: match measurand.quantity {
                        // The monitor chip averages over a time that tegrastats does not tell.
                        Quantity::Power | Quantity::Load => Averaging::Mean,
                        _ => Averaging::Instant,
                    },
                    role,
                    within,
                    ..SignalRecord::default()
                }));
            }
            out.push(reading);
        });
        Ok(sample.timestamp)
    }
}

/// What a line says, as readings. What it does not say is not there; what it says cannot be read has no value.
fn readings(sample: &Sample<'_>, at: Stamp, mut out: impl FnMut(SampleRecord, Measurand)) {
    let mut put = |signal: String, quantity: Quantity, part: Part, value: Option<f64>, unit: &str| {
        let reading = SampleRecord {
            at,
            source: SOURCE.to_owned(),
            signal,
            value,
            unit: unit.to_owned(),
        };
        out(reading, Measurand::new(quantity, part));
    };
    const MB: f64 = 1024.0 * 1024.0;
    if let Some(ram) = sample.ram {
        put(
            "memory_used".into(),
            Quantity::MemoryUsed,
            Part::Board,
            Some(f64::from(ram.used_mb) * MB),
            "bytes",
        );
        put(
            "memory_total".into(),
            Quantity::MemoryTotal,
            Part::Board,
            Some(f64::from(ram.total_mb) * MB),
            "bytes",
        );
    }
    if let Some(swap) = sample.swap {
        put(
            "swap_used".into(),
            Quantity::MemoryUsed,
            Part::Swap,
            Some(f64::from(swap.used_mb) * MB),
            "bytes",
        );
    }
    for (n, core) in (0..).zip(&sample.cpus) {
        let processor = Part::Processor(n);
        match core {
            Core::Offline => put(
                format!("cpu{n}_online"),
                Quantity::On,
                processor,
                Some(0.0),
                "flag",
            ),
            Core::Online {
                load_percent,
                freq_mhz,
            } => {
                put(
                    format!("cpu{n}_online"),
                    Quantity::On,
                    processor,
                    Some(1.0),
                    "flag",
                );
                put(
                    format!("cpu{n}_load"),
                    Quantity::Load,
                    processor,
                    Some(f64::from(*load_percent)),
                    "percent",
                );
                if let Some(mhz) = freq_mhz {
                    put(
                        format!("cpu{n}_frequency"),
                        Quantity::Clock,
                        processor,
                        Some(f64::from(*mhz)),
                        "mhz",
                    );
                }
            }
        }
    }
    if let Some(emc) = &sample.emc {
        if let Some(load) = sample.emc_load_percent() {
            put(
                "emc_load".into(),
                Quantity::Load,
                Part::MemoryController,
                Some(f64::from(load)),
                "percent",
            );
        }
        for mhz in emc.freqs_mhz().iter().take(1) {
            put(
                "emc_frequency".into(),
                Quantity::Clock,
                Part::MemoryController,
                Some(f64::from(*mhz)),
                "mhz",
            );
        }
    }
    let gpus = [
        ("gpu", Part::Gpu(None), &sample.gr3d),
        ("gpu_2", Part::Engine, &sample.gr3d2),
    ];
    for (name, part, gpu) in gpus {
        let Some(gpu) = gpu else { continue };
        if let Some(load) = gpu.load_percent() {
            put(
                format!("{name}_load"),
                Quantity::Load,
                part,
                Some(f64::from(load)),
                "percent",
            );
        }
        for (n, mhz) in gpu.freqs_mhz().iter().enumerate() {
            let (signal, part) = match n {
                0 => (format!("{name}_frequency"), part),
                n => (format!("{name}_frequency_{n}"), Part::Engine),
            };
            put(signal, Quantity::Clock, part, Some(f64::from(*mhz)), "mhz");
        }
    }
    for engine in &sample.engines {
        let name = engine.name().to_ascii_lowercase();
        match &engine.activity {
            Activity::Off => put(
                format!("{name}_on"),
                Quantity::On,
                Part::Engine,
                Some(0.0),
                "flag",
            ),
            on @ Activity::On { .. } => {
                put(
                    format!("{name}_on"),
                    Quantity::On,
                    Part::Engine,
                    Some(1.0),
                    "flag",
                );
                if let Some(load) = on.load_percent() {
                    put(
                        format!("{name}_load"),
                        Quantity::Load,
                        Part::Engine,
                        Some(f64::from(load)),
                        "percent",
                    );
                }
                for mhz in on.freqs_mhz().iter().take(1) {
                    put(
                        format!("{name}_frequency"),
                        Quantity::Clock,
                        Part::Engine,
                        Some(f64::from(*mhz)),
                        "mhz",
                    );
                }
            }
        }
    }
    for zone in sample.temperatures.iter().filter(|zone| !zone.is_placeholder()) {
        let measurand = Measurand::of_zone(zone.name);
        put(
            format!("{}_temperature", zone.name.to_ascii_lowercase()),
            measurand.quantity,
            measurand.part,
            zone.c,
            "c",
        );
    }
    for rail in sample.rails.iter().filter(|rail| rail.name != "NC") {
        put(
            rail.name.to_owned(),
            Quantity::Power,
            Part::Board,
            Some(f64::from(rail.instant_mw)),
            "mw",
        );
    }
}

#[cfg(test)]
mod tests;
