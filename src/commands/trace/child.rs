//! The command's processes: started, sent the signals that jetlag is sent, and waited for.

use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;
use rustix::fs::{Access, access};
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};

use super::system;

/// How often processes are looked at.
const LOOK: Duration = Duration::from_millis(10);

/// The signals that are passed on, and whether a terminal sends them to the command, too.
const SIGNALS: [(i32, Signal, bool); 6] = [
    (SIGINT, Signal::INT, true),
    (SIGQUIT, Signal::QUIT, true),
    (SIGHUP, Signal::HUP, true),
    (SIGTERM, Signal::TERM, false),
    (SIGUSR1, Signal::USR1, false),
    (SIGUSR2, Signal::USR2, false),
];

/// Listens for signals, in place of what they would do to jetlag.
pub(super) struct Signals(Vec<(Arc<AtomicBool>, Signal, bool)>);

impl Signals {
    /// From now on.
    pub(super) fn listen() -> anyhow::Result<Self> {
        let mut all = Vec::new();
        for (number, signal, of_terminal) in SIGNALS {
            let came = Arc::new(AtomicBool::new(false));
            signal_hook::flag::register(number, Arc::clone(&came)).context("cannot listen for signals")?;
            all.push((came, signal, of_terminal));
        }
        Ok(Signals(all))
    }

    /// Passes on what has come.
    fn pass_on(&self, children: &[(Child, Option<ExitStatus>)]) {
        for (came, signal, of_terminal) in &self.0 {
            // A terminal has sent it to every process in the foreground already.
            if !came.swap(false, Ordering::Relaxed) || (*of_terminal && is_in_foreground()) {
                continue;
            }
            for (child, ended) in children {
                let process = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
                if let (None, Some(process)) = (ended, process) {
                    // It may be about to end.
                    let _ = kill_process(process, *signal);
                }
            }
        }
    }
}

/// Whether jetlag is of the group that its terminal sends signals to.
fn is_in_foreground() -> bool {
    // State, parent, group, session, terminal, the terminal's group.
    let fields = system::stat("self").unwrap_or_default();
    matches!((fields.get(2), fields.get(5)), (Some(own), Some(of_terminal)) if own == of_terminal)
}

/// Why a command did not start, and the exit code that shells have for it.
#[derive(Debug, thiserror::Error)]
#[error("cannot start {program}: {error}{}", if *.code == 127 { "; name a program that is in PATH, or its path" } else { "" })]
pub(super) struct NotStarted {
    program: String,
    error: std::io::Error,
    pub(super) code: u8,
}

/// Starts a command with these variables beside its environment; standard input and output are jetlag's own. The kernel kills it when
/// jetlag dies.
pub(super) fn start(command: &[OsString], variables: &[(&str, OsString)]) -> Result<Child, NotStarted> {
    let (program, arguments) = command
        .split_first()
        .map_or((None, &[][..]), |(p, a)| (Some(p), a));
    let program = program.cloned().unwrap_or_default();
    // Asked first: what becomes of it is said by another process.
    let started = can_be_started(&program).and_then(|()| {
        let mut child = Command::new(std::env::current_exe()?);
        child.arg("with-parent").arg(std::process::id().to_string());
        child.arg(&program).args(arguments);
        for (name, value) in variables {
            child.env(name, value);
        }
        child.spawn()
    });
    started.map_err(|error| NotStarted {
        program: program.to_string_lossy().into_owned(),
        code: match error.kind() {
            ErrorKind::NotFound => 127,
            _ => 126,
        },
        error,
    })
}

/// Looks for a program as the system does when it starts one: a name without a slash in the folders of `PATH`.
fn can_be_started(program: &OsStr) -> std::io::Result<()> {
    let is_program = |path: &Path| {
        access(path, Access::EXEC_OK)?;
        match path.is_file() {
            true => Ok(()),
            false => Err(std::io::Error::from(ErrorKind::PermissionDenied)),
        }
    };
    if program.as_bytes().contains(&b'/') {
        return is_program(Path::new(program));
    }
    let folders = std::env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    let mut found = Err(std::io::Error::from(ErrorKind::NotFound));
    for folder in std::env::split_paths(&folders) {
        match is_program(&folder.join(program)) {
            Ok(()) if !program.is_empty() => return Ok(()),
            Err(error) if error.kind() == ErrorKind::PermissionDenied => found = Err(error),
            _ => {}
        }
    }
    found
}

/// Waits until all have ended, and passes on what signals come meanwhile.
pub(super) fn wait(children: Vec<Child>, signals: &Signals) -> anyhow::Result<Vec<ExitStatus>> {
    let mut children: Vec<(Child, Option<ExitStatus>)> =
        children.into_iter().map(|child| (child, None)).collect();
    loop {
        signals.pass_on(&children);
        for (child, ended) in &mut children {
            if ended.is_none() {
                *ended = child.try_wait().context("cannot wait for the command")?;
            }
        }
        let ended: Option<Vec<ExitStatus>> = children.iter().map(|(_, ended)| *ended).collect();
        if let Some(ended) = ended {
            return Ok(ended);
        }
        std::thread::sleep(LOOK);
    }
}

/// The exit code that shells give for this end: the command's own, or 128 and the signal's number.
pub(super) fn code(status: ExitStatus) -> u8 {
    let code = status.code().or(status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}
