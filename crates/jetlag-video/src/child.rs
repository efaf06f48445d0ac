//! A program that runs, and that never outlives whoever holds it.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::error::VideoError;
use crate::outlet::Outlet;
use crate::pipe::{Pipe, Stop};
use crate::program::{Guard, Launch, find};

/// How long one that closed its output may take to end.
const LINGERS: Duration = Duration::from_secs(1);
/// How long one that was killed may take. A driver may hold it for longer; the system then ends it when it lets go.
const DIES: Duration = Duration::from_secs(2);

/// The program. Dropped, it is killed with its group and waited for.
#[derive(Debug)]
pub(crate) struct Running(Child);

/// Starts a program; answers it and what it writes.
///
/// # Errors
/// It is not there, or the system does not start it.
pub(crate) fn start(
    launch: &Launch,
    guard: Option<&Guard>,
    patience: Duration,
    stop: Stop,
) -> Result<(Running, Pipe), VideoError> {
    let mut running = spawn(launch, guard, Stdio::null(), Stdio::piped())?;
    let not_started = |error| not_started(launch, error);
    let Some(out) = running.0.stdout.take() else {
        return Err(not_started(std::io::ErrorKind::BrokenPipe.into()));
    };
    let err = running.0.stderr.take();
    let pipe = Pipe::new(out, err, patience, stop).map_err(not_started)?;
    Ok((running, pipe))
}

/// Starts a program that is written to; answers it and where to.
///
/// # Errors
/// It is not there, or the system does not start it.
pub(crate) fn start_writing(
    launch: &Launch,
    guard: Option<&Guard>,
    patience: Duration,
    stop: Stop,
) -> Result<(Running, Outlet), VideoError> {
    let mut running = spawn(launch, guard, Stdio::piped(), Stdio::null())?;
    let not_started = |error| not_started(launch, error);
    let Some(to) = running.0.stdin.take() else {
        return Err(not_started(std::io::ErrorKind::BrokenPipe.into()));
    };
    let err = running.0.stderr.take();
    let outlet = Outlet::new(to, err, patience, stop).map_err(not_started)?;
    Ok((running, outlet))
}

fn spawn(launch: &Launch, guard: Option<&Guard>, input: Stdio, output: Stdio) -> Result<Running, VideoError> {
    let program = find(&launch.program)?;
    let mut command = match guard {
        Some(guard) => {
            let mut command = Command::new(&guard.program);
            command.args(&guard.arguments).arg(&program);
            command
        }
        None => Command::new(&program),
    };
    let child = command
        .args(&launch.arguments)
        .stdin(input)
        .stdout(output)
        .stderr(Stdio::piped())
        // Ctrl-C is for us, and what a program has started ends with it.
        .process_group(0)
        .spawn();
    child.map(Running).map_err(|error| not_started(launch, error))
}

fn not_started(launch: &Launch, error: std::io::Error) -> VideoError {
    VideoError::NotStarted {
        program: launch.name(),
        error,
    }
}

impl Running {
    /// Its number in the system.
    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    /// How one that wrote its last has ended: `None` if well.
    pub(crate) fn ended(&mut self) -> Option<String> {
        self.ended_within(LINGERS)
            .unwrap_or_else(|| Some("its output, and not itself".to_owned()))
    }

    /// How it has ended within this time: `None` if it goes on, and none within if it ended well.
    pub(crate) fn ended_within(&mut self, longest: Duration) -> Option<Option<String>> {
        let status = self.wait(longest)?;
        Some((!status.success()).then(|| status.to_string()))
    }

    fn wait(&mut self, longest: Duration) -> Option<std::process::ExitStatus> {
        let begin = Instant::now();
        loop {
            match self.0.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) if begin.elapsed() < longest => std::thread::sleep(Duration::from_millis(2)),
                Ok(None) | Err(_) => return None,
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Not waited for yet, its number is nobody else's.
        if let Ok(None) = self.0.try_wait() {
            if let Some(group) = Pid::from_raw(self.0.id() as i32) {
                let _ = kill_process_group(group, Signal::KILL);
            }
            let _ = self.0.kill();
        }
        self.wait(DIES);
    }
}
