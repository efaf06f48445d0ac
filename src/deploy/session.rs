//! What runs on the board: its facts, a run that outlives the connection, and bringing its files back.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::DeployError;
use super::ssh::{Host, quote};
use crate::units::Bytes;

/// Between two looks whether the run has ended.
const LOOK: Duration = Duration::from_millis(50);

/// What a board says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Board {
    /// `uname -m`.
    pub machine: String,
    /// How many processors it has.
    pub processors: usize,
    /// Its C library's version, where it is glibc.
    pub glibc: String,
    /// jetlag's folder, absolute.
    pub folder: String,
    /// What is free there.
    pub free: Bytes,
    /// Whether it has `script`, which gives a run a terminal to draw on.
    pub has_terminal: bool,
    /// The last run there, and how it stands.
    pub last: Option<(String, State)>,
}

/// How a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Under way.
    Running,
    /// Ended with this exit code.
    Ended(i32),
    /// It did not end by itself, or its code was not kept: the board went down, its disk was full, or somebody killed it.
    Cut,
}

/// Asks the board for its facts, and makes jetlag's folder.
///
/// # Errors
/// Where it is not reached, lacks a program, or has no room for a folder.
pub fn probe(host: &Host, folder: &str) -> Result<Board, DeployError> {
    let answer = host.ask("making the folder", &["probe", folder])?;
    let text = String::from_utf8_lossy(&answer);
    let mut board = Board::default();
    let mut state = None;
    for line in text.lines() {
        let (key, value) = line.split_once(' ').unwrap_or((line, ""));
        match key {
            "machine" => value.clone_into(&mut board.machine),
            "processors" => board.processors = value.parse().unwrap_or(1),
            "glibc" => value.trim_start_matches("glibc ").clone_into(&mut board.glibc),
            "folder" => value.clone_into(&mut board.folder),
            "free_kib" => {
                // The last line of df; its heading is no number.
                if let Ok(kib) = value.parse::<u64>() {
                    board.free = Bytes(kib.saturating_mul(1024));
                }
            }
            "pty" => board.has_terminal = true,
            "last" => board.last = Some((value.to_owned(), State::Cut)),
            "state" => state = state_of(value),
            "missing" => {
                let package = match value {
                    "find" => "findutils",
                    "setsid" => "util-linux",
                    "tail" => "coreutils",
                    _ => "tar",
                };
                return Err(DeployError::BoardLacks {
                    host: host.name().to_owned(),
                    program: value.to_owned(),
                    package,
                });
            }
            _ => {}
        }
    }
    if let (Some((_, last)), Some(state)) = (&mut board.last, state) {
        *last = state;
    }
    if board.machine.is_empty() || board.folder.is_empty() {
        return Err(not_understood(host, "its facts", &text));
    }
    Ok(board)
}

fn state_of(text: &str) -> Option<State> {
    match text.trim().split_once(' ') {
        Some(("ended", code)) => code.parse().ok().map(State::Ended),
        None if text.trim() == "running" => Some(State::Running),
        None if text.trim() == "lost" => Some(State::Cut),
        _ => None,
    }
}

fn not_understood(host: &Host, wanted: &'static str, said: &str) -> DeployError {
    DeployError::NotUnderstood {
        host: host.name().to_owned(),
        wanted,
        said: said.chars().take(200).collect(),
    }
}

/// A run on the board.
pub struct RemoteRun<'a> {
    host: &'a Host,
    folder: &'a str,
    name: String,
}

impl<'a> RemoteRun<'a> {
    /// One that was started before.
    pub fn named(host: &'a Host, folder: &'a str, name: &str) -> RemoteRun<'a> {
        RemoteRun {
            host,
            folder,
            name: name.to_owned(),
        }
    }

    /// Starts jetlag with these words, detached from the connection; on a terminal of its own where `terminal` says
    /// its rows and columns.
    ///
    /// # Errors
    /// A full disk, or a connection that was lost.
    pub fn start(
        host: &'a Host,
        folder: &'a str,
        name: &str,
        words: &[String],
        terminal: Option<(u16, u16)>,
    ) -> Result<RemoteRun<'a>, DeployError> {
        let command: Vec<String> = words.iter().map(|word| quote(word)).collect();
        let (rows, columns) = terminal.unwrap_or((0, 0));
        host.ask(
            "starting the run",
            &[
                "start",
                folder,
                name,
                &rows.to_string(),
                &columns.to_string(),
                &command.join(" "),
            ],
        )?;
        Ok(RemoteRun::named(host, folder, name))
    }

    /// Shows what the run says on `screen`, until it has ended. When `stop` is set, the run is asked to end, and is
    /// still waited for.
    ///
    /// # Errors
    /// A connection that was lost: the run goes on.
    pub fn follow(&self, screen: Stdio, stop: &AtomicBool) -> Result<State, DeployError> {
        let mut call = self.host.script(&["follow", self.folder, &self.name], screen)?;
        let mut asked = false;
        let status = loop {
            let ended = call.child.try_wait().map_err(|error| DeployError::NoProgram {
                program: "ssh",
                package: "openssh-client",
                error,
            })?;
            if let Some(status) = ended {
                break status;
            }
            if stop.load(Ordering::Relaxed) && !asked {
                asked = true;
                // It may have ended just now.
                let _ = self
                    .host
                    .ask("ending the run", &["stop", self.folder, &self.name]);
            }
            std::thread::sleep(LOOK);
        };
        // Ctrl-C on this terminal reaches the ssh that shows the run too; what became of the run is then asked anew.
        if !stop.load(Ordering::Relaxed) {
            call.judge("following the run", status)?;
        }
        loop {
            let state = self.state()?;
            if state != State::Running {
                return Ok(state);
            }
            if stop.load(Ordering::Relaxed) && !asked {
                asked = true;
                let _ = self
                    .host
                    .ask("ending the run", &["stop", self.folder, &self.name]);
            }
            std::thread::sleep(LOOK * 4);
        }
    }

    fn state(&self) -> Result<State, DeployError> {
        let answer = self
            .host
            .ask("asking how the run stands", &["state", self.folder, &self.name])?;
        let text = String::from_utf8_lossy(&answer);
        state_of(&text).ok_or_else(|| not_understood(self.host, "the run's state", &text))
    }

    /// Brings the run file, the log and the plans' manifests into the folder `out`.
    ///
    /// # Errors
    /// A connection that was lost, or a disk here that is full.
    pub fn bring(&self, out: &Path) -> Result<Brought, DeployError> {
        let cannot = |path: &Path| {
            let path = path.display().to_string();
            move |error: std::io::Error| DeployError::File {
                path: path.clone(),
                problem: format!("cannot be written: {error}; give another folder with --out"),
            }
        };
        // Unpacked beside its place and then moved there, so that a fetch that breaks off leaves nothing half.
        let work = out.join(format!(".{}.part", self.name));
        let _ = fs::remove_dir_all(&work);
        fs::create_dir_all(&work).map_err(cannot(&work))?;
        let mut tar = Command::new("tar")
            .args(["-x", "-f", "-", "--no-same-owner", "-C"])
            .arg(&work)
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| DeployError::NoProgram {
                program: "tar",
                package: "tar",
                error,
            })?;
        let Some(archive) = tar.stdin.take() else {
            return Err(cannot(&work)(std::io::ErrorKind::BrokenPipe.into()));
        };
        let sent = self
            .host
            .script(&["bring", self.folder, &self.name], archive.into())
            .and_then(|call| call.finish("packing the run's files"));
        let unpacked = tar.wait_with_output().map_err(cannot(&work))?;
        if !unpacked.status.success() {
            let said = String::from_utf8_lossy(&unpacked.stderr);
            let _ = fs::remove_dir_all(&work);
            sent?;
            return Err(DeployError::File {
                path: out.display().to_string(),
                problem: format!("the run's files could not be unpacked: {}", said.trim()),
            });
        }
        sent?;
        let moved = self.settle(&work, out);
        let _ = fs::remove_dir_all(&work);
        // The board may forget a run that is here. Where that cannot be said, it only keeps it longer.
        if moved.as_ref().is_ok_and(|brought| brought.run.is_some()) {
            let _ = self.host.ask(
                "marking the run as fetched",
                &["fetched", self.folder, &self.name],
            );
        }
        moved
    }

    /// Moves what was brought to its places: `NAME.mcap`, `NAME.log`, and `NAME.plans/` with the manifests.
    fn settle(&self, work: &Path, out: &Path) -> Result<Brought, DeployError> {
        let place = |suffix: &str| out.join(format!("{}.{suffix}", self.name));
        let run = work.join("runs").join(&self.name);
        let put = |from: &Path, to: PathBuf| -> Result<Option<PathBuf>, DeployError> {
            if !from.exists() {
                return Ok(None);
            }
            fs::rename(from, &to).map_err(|error| DeployError::File {
                path: to.display().to_string(),
                problem: format!("cannot be written: {error}; give another folder with --out"),
            })?;
            Ok(Some(to))
        };
        let plans = place("plans");
        let _ = fs::remove_dir_all(&plans);
        Ok(Brought {
            run: put(&run.join(format!("{}.mcap", self.name)), place("mcap"))?,
            log: put(&run.join("log"), place("log"))?,
            manifests: put(&work.join("plans"), plans)?,
        })
    }
}

/// What was brought back, and where it lies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Brought {
    /// The run file; none where the run failed before it had one.
    pub run: Option<PathBuf>,
    /// What the run said.
    pub log: Option<PathBuf>,
    /// The folder of the manifests of the plans that the board's cache holds; none where it holds none.
    pub manifests: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_states_of_a_run_are_read() {
        assert_eq!(state_of("running\n"), Some(State::Running));
        assert_eq!(state_of("ended 3\n"), Some(State::Ended(3)));
        assert_eq!(state_of("lost"), Some(State::Cut));
        assert_eq!(state_of("ended"), None);
        assert_eq!(state_of("motd: welcome"), None);
    }

    #[test]
    fn a_run_whose_code_found_no_room_was_cut() {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("runs/full");
        fs::create_dir_all(&run).unwrap();
        let state = |code: &str| {
            fs::write(run.join("exit"), code).unwrap();
            let answer = Command::new("sh")
                .args(["src/deploy/board.sh", "state"])
                .arg(folder.path())
                .arg("full")
                .output()
                .unwrap();
            state_of(&String::from_utf8_lossy(&answer.stdout))
        };
        assert_eq!(state(""), Some(State::Cut));
        assert_eq!(state("3\n"), Some(State::Ended(3)));
    }

    #[test]
    fn what_is_asked_of_the_board_is_a_posix_script() {
        let checked = Command::new("sh")
            .args(["-n", "src/deploy/board.sh"])
            .output()
            .unwrap();
        assert!(checked.status.success(), "{checked:?}");
    }
}
