//! Which programs use the processors: those that take more than a twentieth of one, by name.
//!
//! The finding that the host is busy can then say with what. Looking at every process is not cheap, so it is
//! done every two seconds at most; jetlag itself is left out, its tenants'
//! processes too, and so is what took less. The only use of sysinfo; [`telemetry`](super) says why.

use sysinfo::{ProcessRefreshKind, ProcessesToUpdate, System};

use super::{Sampler, SamplerError};
use crate::record::{Averaging, Event, Measurand, Part, Quantity, SampleRecord, SignalRecord};
use crate::units::{Nanos, Stamp};

/// Looking at a few hundred processes takes some milliseconds.
const SHORTEST: Nanos = Nanos::from_millis(2000);
/// Percent of one processor from which a program is named.
const NAMED_FROM: f64 = 5.0;
/// Programs named at a time.
const MOST: usize = 5;

/// Samples the busiest programs. Signals: the program's name (percent of one processor; programs of one name are
/// added up).
pub(super) struct Processes {
    period: Nanos,
    system: System,
    own: Option<sysinfo::Pid>,
    /// Names that were described.
    known: Vec<String>,
    asides: Vec<Event>,
    begun: bool,
}

/// Makes the sampler of programs on the processors.
pub(super) fn new(interval: Nanos) -> Processes {
    // The library would keep a file open for each process of the machine, up to half of what this process may open.
    sysinfo::set_open_files_limit(0);
    Processes {
        period: interval.max(SHORTEST),
        system: System::new(),
        own: sysinfo::get_current_pid().ok(),
        known: Vec::new(),
        asides: Vec::new(),
        begun: false,
    }
}

impl Sampler for Processes {
    fn name(&self) -> &str {
        "processes"
    }
    fn period(&self) -> Nanos {
        self.period
    }
    fn sample(&mut self, at: Stamp, out: &mut Vec<SampleRecord>) -> Result<(), SamplerError> {
        let kind = ProcessRefreshKind::nothing().with_cpu().without_tasks();
        self.system
            .refresh_processes_specifics(ProcessesToUpdate::All, true, kind);
        // The first look has nothing to be compared with.
        if !std::mem::replace(&mut self.begun, true) {
            return Ok(());
        }
        let mut loads: Vec<(String, f64)> = Vec::new();
        let own_name = self.own.and_then(|own| Some(self.system.process(own)?.name()));
        for (pid, process) in self.system.processes() {
            let load = f64::from(process.cpu_usage());
            let tenant = process.parent() == self.own && Some(process.name()) == own_name;
            if load <= 0.0 || Some(*pid) == self.own || tenant {
                continue;
            }
            let name = process.name().to_string_lossy();
            match loads.iter_mut().find(|(known, _)| *known == name) {
                Some((_, sum)) => *sum += load,
                None => loads.push((name.into_owned(), load)),
            }
        }
        loads.retain(|(_, load)| *load >= NAMED_FROM);
        loads.sort_by(|a, b| b.1.total_cmp(&a.1));
        for (name, load) in loads.into_iter().take(MOST) {
            if !self.known.contains(&name) {
                self.known.push(name.clone());
                self.asides.push(Event::Signal(SignalRecord {
                    source: "processes".to_owned(),
                    signal: name.clone(),
                    unit: "percent".to_owned(),
                    measurand: Measurand::new(Quantity::Load, Part::Program),
                    origin: "/proc/*/stat, of one processor; recorded from 5 % on".to_owned(),
                    period: Some(self.period),
                    averaging: Averaging::Mean,
                    window: Some(self.period),
                    ..SignalRecord::default()
                }));
            }
            out.push(SampleRecord {
                at,
                source: "processes".to_owned(),
                signal: name,
                value: Some(load),
                unit: "percent".to_owned(),
            });
        }
        Ok(())
    }
    fn asides(&mut self, out: &mut Vec<Event>) {
        out.append(&mut self.asides);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_keeps_a_processor_busy_is_named() {
        let mut busy = std::process::Command::new("sh")
            .args(["-c", "while :; do :; done"])
            .spawn()
            .unwrap();
        let mut processes = new(Nanos::from_millis(100));
        let mut out = Vec::new();
        processes.sample(Stamp(0), &mut out).unwrap();
        assert!(out.is_empty(), "nothing to compare with yet");
        // Until it shows: how fast that is depends on what else runs.
        for _ in 0..600 {
            std::thread::sleep(std::time::Duration::from_millis(500));
            processes.sample(Stamp(1), &mut out).unwrap();
            if out.iter().any(|s| s.signal == "sh") {
                break;
            }
        }
        busy.kill().unwrap();
        busy.wait().unwrap();
        let sh = out.iter().find(|s| s.signal == "sh").expect("sh was busy");
        assert!(sh.value.is_some_and(|load| load >= NAMED_FROM), "{sh:?}");
        let mut asides = Vec::new();
        processes.asides(&mut asides);
        assert!(
            asides
                .iter()
                .any(|a| matches!(a, Event::Signal(s) if s.signal == "sh"))
        );
    }
}
