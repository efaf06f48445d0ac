//! A process of ours beside each trace that makes its run file if the trace is killed, and does nothing otherwise.
//!
//! It waits on a pipe whose other end only the trace holds, so the kernel wakes it whatever ends the trace. Signals of the terminal do
//! not reach it. If it is killed as well, the next trace does the same (`recover`).

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::folder::{Abandoned, abandoned};
use super::{recover, spools};

/// How often it looks whether the trace and its command are gone.
const LOOK: Duration = Duration::from_millis(20);
/// A process that was killed is gone so soon, but on a machine that is all but standing still.
const MOST_TO_DIE: Duration = Duration::from_secs(30);
/// How long processes of the command may go on before they count as having outlived it.
const MOST_TO_FOLLOW: Duration = Duration::from_secs(2);

/// Ends with the trace that it was made for, if that comes so far.
pub(super) struct Successor(Option<Child>);

impl Successor {
    /// One that knows the folder of this trace. Without one, the next trace has to do.
    pub(super) fn of(folder: &Path) -> Self {
        let started = std::env::current_exe().and_then(|jetlag| {
            Command::new(jetlag)
                .args(["trace", "--succeed"])
                .arg(folder)
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .process_group(0)
                .spawn()
        });
        if let Err(error) = &started {
            log::warn!(
                "if jetlag trace is killed, only the next one makes its run file: no process can be started: {error}"
            );
        }
        Successor(started.ok())
    }
}

impl Drop for Successor {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            // It may have ended.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Waits for the end of the trace that holds the other end of standard input, and makes its run file if it left none; whether that went
/// well.
pub(super) fn succeed(folder: &Path) -> anyhow::Result<bool> {
    std::io::stdin().read_to_end(&mut Vec::new())?;
    match left(folder) {
        Some(left) => {
            follow(folder)?;
            Ok(recover::make(&left))
        }
        None => Ok(true),
    }
}

/// The folder, once its trace is gone; none if it is gone as well, or somebody else took it over.
fn left(folder: &Path) -> Option<Abandoned> {
    let from = Instant::now();
    while folder.exists() && from.elapsed() < MOST_TO_DIE {
        if let Some(left) = abandoned(folder.to_owned()) {
            return Some(left);
        }
        std::thread::sleep(LOOK);
    }
    None
}

/// Waits for the end of what the trace started: the kernel kills that with it.
fn follow(folder: &Path) -> anyhow::Result<()> {
    let from = Instant::now();
    while spools::look(folder)?.traced.iter().any(|traced| traced.is_alive) && from.elapsed() < MOST_TO_FOLLOW
    {
        std::thread::sleep(LOOK);
    }
    Ok(())
}
