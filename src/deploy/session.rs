//! What runs on the board: its facts, a run that outlives the connection, and bringing its files back.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::DeployError;
use super::ssh::{Host, quote};
use super::unpack::{self, UnpackError, Unpacked};
use crate::scenario;
use crate::units::Bytes;

/// Between two looks whether the run has ended.
const LOOK: Duration = Duration::from_millis(50);
/// More processors than any board has: each is a number in a list.
const MOST_PROCESSORS: usize = 4096;
/// What may come beside the content of the files: headers, and files that are passed over.
const BESIDE: u64 = 64 << 20;
/// For how long a board may send nothing of a run while it is fetched; and how long a run may take to end that was told to.
const STALLED: Duration = Duration::from_secs(60);

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
            "processors" => board.processors = value.parse().unwrap_or(1).clamp(1, MOST_PROCESSORS),
            "glibc" => value.trim_start_matches("glibc ").clone_into(&mut board.glibc),
            "folder" => value.clone_into(&mut board.folder),
            "free_kib" => {
                // The last line of df; its heading is no number.
                if let Ok(kib) = value.parse::<u64>() {
                    board.free = Bytes(kib.saturating_mul(1024));
                }
            }
            "pty" => board.has_terminal = true,
            "last" => {
                // It becomes a file's name here.
                if !scenario::is_name(value) {
                    return Err(not_understood(host, "the name of its last run", value));
                }
                board.last = Some((value.to_owned(), State::Cut));
            }
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
        let mut asked = None;
        let status = loop {
            if let Some(status) = call.poll()? {
                break status;
            }
            self.end_where_asked(stop, &mut asked)?;
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
            self.end_where_asked(stop, &mut asked)?;
            std::thread::sleep(LOOK * 4);
        }
    }

    /// Asks the run once to end where `stop` is set; `asked` is when.
    ///
    /// # Errors
    /// It has not ended for a long time since.
    fn end_where_asked(&self, stop: &AtomicBool, asked: &mut Option<Instant>) -> Result<(), DeployError> {
        match asked {
            Some(asked) if asked.elapsed() > STALLED => Err(DeployError::Interrupted {
                what: "waiting for the run to end",
            }),
            None if stop.load(Ordering::Relaxed) => {
                *asked = Some(Instant::now());
                // It may have ended just now.
                let _ = self
                    .host
                    .ask("ending the run", &["stop", self.folder, &self.name]);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn state(&self) -> Result<State, DeployError> {
        let answer = self
            .host
            .ask("asking how the run stands", &["state", self.folder, &self.name])?;
        let text = String::from_utf8_lossy(&answer);
        state_of(&text).ok_or_else(|| not_understood(self.host, "the run's state", &text))
    }

    /// Brings the run file, the log and the plans' manifests into the folder `out`, `at_most` so much together.
    ///
    /// # Errors
    /// A connection that was lost, a disk here that is full, or what no run of ours sends.
    pub fn bring(&self, out: &Path, at_most: Bytes) -> Result<Brought, DeployError> {
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
        fs::create_dir_all(out).map_err(cannot(out))?;
        // Not a folder that somebody else made meanwhile.
        fs::create_dir(&work).map_err(cannot(&work))?;
        let moved = self
            .unpack(&work, at_most)
            .and_then(|found| self.settle(&found, out));
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

    /// Unpacks what the board sends, until it has sent all, sends nothing for a while, or this program is to end.
    fn unpack(&self, work: &Path, at_most: Bytes) -> Result<Unpacked, DeployError> {
        const WHAT: &str = "packing the run's files";
        let mut call = self
            .host
            .script(&["bring", self.folder, &self.name], Stdio::piped())?;
        let sent = call.child.stdout.take();
        let read = Arc::new(AtomicU64::new(0));
        // A run that was told to end is fetched all the same; a second signal ends this program at once.
        let ending = call.stopped();
        let unpacking = {
            let sent = Counted {
                from: sent,
                read: read.clone(),
                at_most: at_most.0.saturating_add(BESIDE),
            };
            let (name, work) = (self.name.clone(), work.to_owned());
            // A thread that nobody waits for where the board keeps it waiting.
            std::thread::spawn(move || unpack::unpack(sent, &name, &work, at_most))
        };
        let (mut seen, mut since) = (0, Instant::now());
        while !unpacking.is_finished() {
            std::thread::sleep(LOOK / 5);
            // What ssh says is bounded there.
            call.poll()?;
            let now = read.load(Ordering::Relaxed);
            if now != seen {
                (seen, since) = (now, Instant::now());
            }
            let interrupted = call.stopped() && !ending;
            if interrupted || since.elapsed() > STALLED {
                call.kill();
                return Err(match interrupted {
                    true => DeployError::Interrupted { what: WHAT },
                    false => DeployError::Silent {
                        host: self.host.name().to_owned(),
                        what: WHAT,
                        waited: STALLED.as_secs(),
                    },
                });
            }
        }
        // Ctrl-C on this terminal reaches ssh too, and breaks the archive off.
        if call.stopped() && !ending {
            call.kill();
            return Err(DeployError::Interrupted { what: WHAT });
        }
        match unpacking.join() {
            Ok(Ok(found)) => {
                call.finish(WHAT)?;
                Ok(found)
            }
            Ok(Err(UnpackError::NoArchive(error))) => {
                // What broke the archive off is the better reason; a board that goes on sending is not listened to.
                match call.poll()? {
                    Some(status) => call.judge(WHAT, status)?,
                    None => call.kill(),
                }
                Err(self.refused(&UnpackError::NoArchive(error)))
            }
            Ok(Err(UnpackError::Here { path, error })) => {
                call.kill();
                Err(DeployError::File {
                    path: path.display().to_string(),
                    problem: format!("cannot be written: {error}; give another folder with --out"),
                })
            }
            Ok(Err(why)) => {
                call.kill();
                Err(self.refused(&why))
            }
            Err(_) => Err(self.refused(&"unpacking it panicked; please report it")),
        }
    }

    fn refused(&self, why: &dyn std::fmt::Display) -> DeployError {
        DeployError::Refused {
            host: self.host.name().to_owned(),
            why: why.to_string(),
        }
    }

    /// Moves what was brought to its places: `NAME.mcap`, `NAME.log`, and `NAME.plans/` with the manifests. What lies there
    /// already is the same, or stays: the name is the board's word.
    fn settle(&self, found: &Unpacked, out: &Path) -> Result<Brought, DeployError> {
        let put = |from: &Option<PathBuf>, suffix: &str| -> Result<Option<PathBuf>, DeployError> {
            let Some(from) = from else { return Ok(None) };
            let to = out.join(format!("{}.{suffix}", self.name));
            if fs::symlink_metadata(&to).is_ok() {
                if same(from, &to) {
                    return Ok(Some(to));
                }
                return Err(DeployError::File {
                    path: to.display().to_string(),
                    problem: "is there already and is another than what the board sent; move it away, or give another \
                              folder with --out"
                        .to_owned(),
                });
            }
            fs::rename(from, &to).map_err(|error| DeployError::File {
                path: to.display().to_string(),
                problem: format!("cannot be written: {error}; give another folder with --out"),
            })?;
            Ok(Some(to))
        };
        Ok(Brought {
            run: put(&found.run, "mcap")?,
            log: put(&found.log, "log")?,
            manifests: put(&found.manifests, "plans")?,
        })
    }
}

/// Whether two files, or two folders of files, are of the same content; no link is followed.
fn same(a: &Path, b: &Path) -> bool {
    let (Ok(of_a), Ok(of_b)) = (fs::symlink_metadata(a), fs::symlink_metadata(b)) else {
        return false;
    };
    if of_a.is_dir() && of_b.is_dir() {
        let names = |folder: &Path| -> Option<Vec<OsString>> {
            let entries = fs::read_dir(folder).ok()?;
            let mut names: Vec<OsString> = entries
                .map(|entry| Some(entry.ok()?.file_name()))
                .collect::<Option<_>>()?;
            names.sort();
            Some(names)
        };
        let (Some(in_a), Some(in_b)) = (names(a), names(b)) else {
            return false;
        };
        return in_a == in_b && in_a.iter().all(|name| same(&a.join(name), &b.join(name)));
    }
    of_a.is_file() && of_b.is_file() && of_a.len() == of_b.len() && same_bytes(a, b).unwrap_or(false)
}

fn same_bytes(a: &Path, b: &Path) -> io::Result<bool> {
    let (mut a, mut b) = (BufReader::new(File::open(a)?), BufReader::new(File::open(b)?));
    loop {
        let (of_a, of_b) = (a.fill_buf()?, b.fill_buf()?);
        let n = of_a.len().min(of_b.len());
        if n == 0 {
            return Ok(of_a.len() == of_b.len());
        }
        if of_a[..n] != of_b[..n] {
            return Ok(false);
        }
        a.consume(n);
        b.consume(n);
    }
}

/// What is read, counted for who watches over it.
struct Counted {
    from: Option<ChildStdout>,
    read: Arc<AtomicU64>,
    at_most: u64,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = match &mut self.from {
            Some(from) => from.read(buffer)?,
            None => 0,
        };
        let before = self.read.fetch_add(got as u64, Ordering::Relaxed);
        if before.saturating_add(got as u64) > self.at_most {
            return Err(io::Error::other(format!("more than {}", Bytes(self.at_most))));
        }
        Ok(got)
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
    use std::process::Command;

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

    #[test]
    fn every_character_of_an_argument_arrives_whatever_shell_the_board_has() {
        let all: String = (1..=127u8).map(char::from).collect();
        let word = format!("{all}\\0047$(touch owned)\\0047`touch owned`\\n\\c%s'\"");
        let shells: [&[&str]; 3] = [&["dash"], &["bash", "--posix"], &["busybox", "sh"]];
        for shell in shells {
            if Command::new(shell[0]).arg("--help").output().is_err() {
                eprintln!("skipped: there is no {}", shell[0]);
                continue;
            }
            let folder = tempfile::tempdir().unwrap();
            // A name that echo would expand.
            let board = folder.path().join("board\\new");
            for below in ["bin", "files", "plans", "runs"] {
                fs::create_dir_all(board.join(below)).unwrap();
            }
            let run = ["printf", "%s", &word].map(quote).join(" ");
            let started = Command::new(shell[0])
                .args(&shell[1..])
                .args(["src/deploy/board.sh", "start"])
                .arg(&board)
                .args(["r", "0", "0", &run])
                .output()
                .unwrap();
            assert!(started.status.success(), "{shell:?}: {started:?}");
            let state = || {
                let answer = Command::new(shell[0])
                    .args(&shell[1..])
                    .args(["src/deploy/board.sh", "state"])
                    .arg(&board)
                    .arg("r")
                    .output()
                    .unwrap();
                state_of(&String::from_utf8_lossy(&answer.stdout))
            };
            while state() == Some(State::Running) {
                std::thread::sleep(LOOK);
            }
            assert_eq!(state(), Some(State::Ended(0)), "{shell:?}");
            let summary = fs::read_to_string(board.join("runs/r/summary")).unwrap();
            assert_eq!(summary, word, "{shell:?}");
            assert!(!board.join("runs/r/owned").exists() && !Path::new("owned").exists());
        }
    }
}
