//! The traced phases of a run, which another process runs (`traced_process`), and what becomes of its record.
//!
//! A tracer costs the process that it is in: on an H100 a CUDA graph's frames took 22 % longer from the moment that a library
//! had subscribed to CUPTI, or took in NVTX's ranges, and this stays until the process ends. So the run measures first, gives
//! its devices back, and then starts that process.

use std::fs::Permissions;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::gap::Gap;
use crate::record::{Event, PhaseSpec, RunReader};
use crate::scenario::{Clocks, Scenario};

/// How often it is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// What the traced process is told: nothing is measured in it but its phases.
fn told(scenario: &Scenario) -> Scenario {
    let mut told = scenario.clone();
    told.baseline.idle = None;
    // The run samples all the while, and holds the clocks.
    told.telemetry.sources = Some(Vec::new());
    told.clocks = Clocks::AsIs;
    told.power_mode = None;
    told.expect = Vec::new();
    told
}

/// Runs the traced phases of a scenario, whose devices are free, and passes on what was recorded.
pub(super) fn trace(scenario: &Scenario, stop: &AtomicBool, notes: &Sender<Event>) {
    let made = tempfile::Builder::new()
        .prefix("jetlag-traced-")
        .permissions(Permissions::from_mode(0o700))
        .tempdir();
    let folder = match made {
        Ok(folder) => folder,
        Err(error) => {
            let problem = format!("no folder can be made for what is traced: {error}");
            let _ = notes.send(Event::Finding(Gap::NotTraced { problem }.into()));
            return;
        }
    };
    let file = folder.path().join("traced.mcap");
    log::info!("tracing, in a process of its own");
    let outcome = start(scenario, &file).map(|child| wait(child, stop));
    let problem = match outcome {
        Ok(Ok(())) => take_over(&file, notes).err().map(|error| format!("{error:#}")),
        Ok(Err(ended)) => {
            // What it recorded until then is good.
            let _ = take_over(&file, notes);
            Some(ended)
        }
        Err(error) => Some(format!("the process that traces cannot be started: {error:#}")),
    };
    if let Some(problem) = problem.filter(|_| !stop.load(Ordering::Relaxed)) {
        let _ = notes.send(Event::Finding(Gap::NotTraced { problem }.into()));
    }
}

fn start(scenario: &Scenario, file: &Path) -> anyhow::Result<Child> {
    let mut child = Command::new(std::env::current_exe()?)
        .arg("traced-phases")
        .arg(std::process::id().to_string())
        .arg(file)
        .stdin(Stdio::piped())
        // Libraries print where they like; nothing of it may look like our results.
        .stdout(Stdio::null())
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // One that is dead already says so when it is waited for.
        let _ = stdin.write_all(&serde_json::to_vec(&told(scenario))?);
    }
    Ok(child)
}

/// Waits until it has ended; the first Ctrl-C ends its phase, too.
fn wait(mut child: Child, stop: &AtomicBool) -> Result<(), String> {
    let mut told = false;
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(format!("the process that traces ended with {status}")),
            Ok(None) => {}
            Err(error) => return Err(format!("the process that traces cannot be waited for: {error}")),
        }
        if stop.load(Ordering::Relaxed) && !told {
            told = true;
            let child = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
            // It may have ended by itself.
            let _ = child.map(|child| kill_process(child, Signal::INT));
        }
        std::thread::sleep(LOOK);
    }
}

/// Passes on what belongs to traced phases: their frames, their activities, what was noticed in them.
fn take_over(file: &Path, notes: &Sender<Event>) -> anyhow::Result<()> {
    let mut specs: Vec<PhaseSpec> = Vec::new();
    for event in RunReader::open(file)? {
        let event = event?;
        let of_traced = match &event {
            Event::PhaseSpec(spec) => {
                specs.push(spec.clone());
                true
            }
            Event::Frame(frame) => specs.iter().any(|spec| spec.phase == frame.phase),
            Event::Phase(end) => specs.iter().any(|spec| spec.phase == end.phase),
            Event::Activities(_)
            | Event::Definition(_)
            | Event::Trace(_)
            | Event::Finding(_)
            | Event::Log(_) => true,
            Event::Detections(_)
            | Event::Sample(_)
            | Event::Node(_)
            | Event::Work(_)
            | Event::Output(_)
            | Event::Signal(_)
            | Event::Window(_)
            | Event::Range(_) => false,
        };
        if of_traced {
            // The recorder may have stopped already, after an error that the run tells.
            let _ = notes.send(event);
        }
    }
    Ok(())
}
