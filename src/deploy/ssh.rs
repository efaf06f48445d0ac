//! The user's own `ssh`, with its config, keys and agent; every call is an argument list.
//!
//! One connection is made and shared (ssh's ControlMaster), so that a password is asked for once. What ssh says
//! goes through a file, since a shared connection that stays in the background would hold a pipe open.

use std::ffi::OsString;
use std::fs::{File, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::{DeployError, Stop};
use crate::shell;
use crate::units::Bytes;
use crate::whole;

/// What is asked of the board's shell.
const BOARD: &str = include_str!("board.sh");
/// ssh's own exit code where it is ssh that failed.
const SSH_FAILED: i32 = 255;
/// The exit code of `board.sh` where something could not be written.
const NOT_WRITTEN: i32 = 73;
/// The longest answer that is read of a board, and the most that is kept of what ssh says.
const ANSWER: u64 = 16 << 20;
const SAID: u64 = 1 << 20;
/// How long a board may take for an answer; and where its run is to end, so that a short one is still had.
const PATIENCE: Duration = Duration::from_secs(120);
const GRACE: Duration = Duration::from_secs(10);
/// Between two looks whether a call has ended.
const LOOK: Duration = Duration::from_millis(5);

/// A board, as ssh knows it.
pub struct Host {
    name: String,
    options: Vec<OsString>,
    /// Socket of the shared connection, and what ssh says; removed in the end.
    private: TempDir,
    calls: AtomicU32,
    stop: Stop,
}

impl Host {
    /// A board by the name that ssh takes (`user@host`, or one of its config); `options` are given to `ssh -o`. No call
    /// outlasts `stop` for long.
    ///
    /// # Errors
    /// [`DeployError::File`] where no private folder can be made for the connection.
    pub fn new(name: &str, options: &[String], stop: Stop) -> Result<Host, DeployError> {
        // Of a name that nobody can guess, and for this user alone.
        let private = tempfile::Builder::new()
            .prefix("jetlag-")
            .permissions(Permissions::from_mode(0o700))
            .tempdir()
            .map_err(|error| DeployError::File {
                path: std::env::temp_dir().display().to_string(),
                problem: format!(
                    "cannot create a folder there for the connection: {error}; set TMPDIR to another folder"
                ),
            })?;
        let mut arguments = Vec::new();
        let mut option = |value: OsString| arguments.extend(["-o".into(), value]);
        // The first value that ssh sees for an option is the one that counts: the user's come before ours.
        options.iter().for_each(|value| option(value.into()));
        let mut path = OsString::from("ControlPath=");
        path.push(private.path().join("c"));
        option(path);
        for ours in [
            "ControlMaster=auto",
            "ControlPersist=30",
            "ConnectTimeout=15",
            // A board that has gone is noticed within 15 seconds.
            "ServerAliveInterval=5",
            "ServerAliveCountMax=3",
        ] {
            option(ours.into());
        }
        Ok(Host {
            name: name.to_owned(),
            options: arguments,
            private,
            calls: AtomicU32::new(0),
            stop,
        })
    }

    /// When this program is to end.
    pub(super) fn stop(&self) -> &Stop {
        &self.stop
    }

    /// The name as given.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Runs `board.sh` with these words; its stdout.
    ///
    /// # Errors
    /// What ssh or the board said, sorted by what can be done about it.
    pub fn ask(&self, what: &'static str, words: &[&str]) -> Result<Vec<u8>, DeployError> {
        self.script(words, Stdio::piped())?.answer(what)
    }

    /// Starts `board.sh` with these words; its stdout goes where it is told.
    ///
    /// # Errors
    /// As [`Host::ask`].
    pub fn script(&self, words: &[&str], stdout: Stdio) -> Result<Call<'_>, DeployError> {
        let mut remote = vec!["sh", "-s", "--"];
        remote.extend(words);
        let mut call = self.start(&remote, Stdio::piped(), stdout)?;
        if let Some(mut input) = call.child.stdin.take() {
            // Where ssh has ended already, its exit code says more than this write.
            let _ = input.write_all(BOARD.as_bytes());
        }
        Ok(call)
    }

    /// Starts a program on the board by its words.
    ///
    /// # Errors
    /// [`DeployError::NoProgram`] where there is no ssh here.
    pub fn start(&self, remote: &[&str], stdin: Stdio, stdout: Stdio) -> Result<Call<'_>, DeployError> {
        let number = self.calls.fetch_add(1, Ordering::Relaxed);
        let said = self.private.path().join(format!("said-{number}"));
        let log = whole::create(&said, false).map_err(|error| DeployError::File {
            path: said.display().to_string(),
            problem: format!("cannot store ssh's output: {error}"),
        })?;
        // The board's shell splits what ssh hands over, so each word is quoted for it.
        let line: Vec<String> = remote.iter().map(|word| shell::quoted(word)).collect();
        let child = Command::new("ssh")
            .args(&self.options)
            .arg("-T")
            .arg("--")
            .arg(&self.name)
            .arg(line.join(" "))
            .stdin(stdin)
            .stdout(stdout)
            .stderr(log)
            .spawn()
            .map_err(|error| DeployError::NoProgram {
                program: "ssh",
                package: "openssh-client",
                error,
            })?;
        Ok(Call {
            host: self,
            child,
            said,
            first: number == 0,
        })
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        if self.private.path().join("c").exists() {
            let _ = Command::new("ssh")
                .args(&self.options)
                .args(["-O", "exit", "--"])
                .arg(&self.name)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
        }
    }
}

/// What a program on the board wrote to stdout, and how it ended.
pub struct Output {
    /// What the command wrote to stdout.
    pub out: Vec<u8>,
    /// Its failure in plain words, if it failed.
    pub ended: Result<(), DeployError>,
}

/// A program that runs on the board. Dropped before its end, the local ssh ends; what runs on the board goes on.
pub struct Call<'a> {
    host: &'a Host,
    /// The process of ssh on this machine.
    pub child: Child,
    said: PathBuf,
    first: bool,
}

impl Call<'_> {
    /// Waits for its end, and says what it wrote to stdout, which was piped.
    ///
    /// # Errors
    /// As [`Call::finish`]; an answer that is too long.
    pub fn answer(self, what: &'static str) -> Result<Vec<u8>, DeployError> {
        let output = self.output(what)?;
        output.ended.map(|()| output.out)
    }

    /// As [`Call::answer`], also where the program failed.
    ///
    /// # Errors
    /// An answer that is too long.
    pub fn output(mut self, what: &'static str) -> Result<Output, DeployError> {
        let out = self.child.stdout.take();
        // Beside the wait, so that a board that says nothing and does not end is not waited for without end.
        let reading = std::thread::spawn(move || {
            let mut answer = Vec::new();
            // A connection that breaks off shows in the exit code.
            let _ = out.map(|out| out.take(ANSWER + 1).read_to_end(&mut answer));
            answer
        });
        let host = self.host.name.clone();
        let ended = self.within(Some(PATIENCE), what);
        if matches!(
            ended,
            Err(DeployError::Silent { .. } | DeployError::Interrupted { .. })
        ) {
            // Nobody waits for the rest.
            return Ok(Output {
                out: Vec::new(),
                ended,
            });
        }
        let out = reading.join().unwrap_or_default();
        if out.len() as u64 > ANSWER {
            return Err(DeployError::NotUnderstood {
                host,
                wanted: what,
                said: format!("more than {}", Bytes(ANSWER)),
            });
        }
        Ok(Output { out, ended })
    }

    /// Waits for its end, however long what it copies takes.
    ///
    /// # Errors
    /// Its failure in plain words: the connection's, the disk's, or its own; or that this program is to end.
    pub fn finish(self, what: &'static str) -> Result<(), DeployError> {
        self.within(None, what)
    }

    /// As [`Call::finish`], and no longer than a board may take for an answer.
    fn within(mut self, patience: Option<Duration>, what: &'static str) -> Result<(), DeployError> {
        let since = Instant::now();
        // Where the run was told to end, its results are still fetched.
        let ending = self.stopped();
        let status = loop {
            if let Some(status) = self.poll()? {
                break status;
            }
            let waited = since.elapsed();
            if let Some(patience) = patience.filter(|patience| waited > *patience) {
                self.kill();
                return Err(DeployError::Silent {
                    host: self.host.name.clone(),
                    what,
                    waited: patience.as_secs(),
                });
            }
            if self.at_once() || self.stopped() && (!ending || waited > GRACE) {
                self.kill();
                return Err(DeployError::Interrupted { what });
            }
            std::thread::sleep(LOOK);
        };
        // Ctrl-C on this terminal reaches ssh too, and ends it as a lost connection does.
        if !status.success() && self.stopped() && !ending {
            return Err(DeployError::Interrupted { what });
        }
        self.judge(what, status)
    }

    /// The board's name.
    pub(super) fn host(&self) -> &str {
        &self.host.name
    }

    /// Whether this program is to end.
    pub(super) fn stopped(&self) -> bool {
        self.host.stop.asked.load(Ordering::Relaxed)
    }

    /// Whether it is to end without waiting for anything.
    pub(super) fn at_once(&self) -> bool {
        self.host.stop.at_once.load(Ordering::Relaxed)
    }

    /// Ends the local ssh; what runs on the board goes on.
    pub(super) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Its exit status, once it has ended. A board that says more than is kept is not listened to any longer.
    ///
    /// # Errors
    /// [`DeployError::NoProgram`] where ssh cannot be asked.
    pub(super) fn poll(&mut self) -> Result<Option<ExitStatus>, DeployError> {
        if std::fs::metadata(&self.said).is_ok_and(|said| said.len() > SAID) {
            let _ = self.child.kill();
        }
        self.child.try_wait().map_err(|error| DeployError::NoProgram {
            program: "ssh",
            package: "openssh-client",
            error,
        })
    }

    /// What an exit status means.
    ///
    /// # Errors
    /// As [`Call::finish`].
    pub fn judge(&self, what: &'static str, status: ExitStatus) -> Result<(), DeployError> {
        if status.success() {
            return Ok(());
        }
        let mut said = Vec::new();
        if let Ok(file) = File::open(&self.said) {
            let _ = file.take(SAID).read_to_end(&mut said);
        }
        let said = String::from_utf8_lossy(&said).trim().to_owned();
        let host = self.host.name.clone();
        // A signal ends ssh as a lost connection does.
        if status.code().is_none_or(|code| code == SSH_FAILED) {
            return Err(if self.first {
                let (said, fix) = not_reached(&host, &said);
                DeployError::NotReached { host, said, fix }
            } else {
                let said = last_line(&said);
                DeployError::Lost { host, said }
            });
        }
        Err(match disk_full(status.code(), &said) {
            Some(found) => DeployError::DiskFull { host, found },
            None => DeployError::Board { what, host, said },
        })
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        // An ssh that was waited for is not signalled: std knows that it has ended.
        self.kill();
        let _ = std::fs::remove_file(&self.said);
    }
}

fn last_line(said: &str) -> String {
    let last = said.lines().rev().find(|line| !line.trim().is_empty());
    last.map_or_else(|| "ssh printed nothing".to_owned(), |line| line.trim().to_owned())
}

/// What the board says of a full disk, if it says that.
fn disk_full(code: Option<i32>, said: &str) -> Option<String> {
    let line = |phrase: &str| said.lines().find(|line| line.contains(phrase));
    // dash has no other words for it; from another program they may mean a broken disk.
    let dash = || line("I/O error").filter(|_| code == Some(NOT_WRITTEN));
    line("No space left on device")
        .or_else(dash)
        .map(|line| line.trim().to_owned())
}

/// The name under which ssh remembers a board whose key has changed: neither the alias of its config nor without a port.
fn remembered(said: &str) -> Option<&str> {
    // `Host key for [192.168.55.1]:2222 has changed and you have requested strict checking.`
    said.lines().find_map(|line| {
        let (_, rest) = line.split_once("ost key for ")?;
        let (name, _) = rest.split_once(" has changed and you have requested")?;
        Some(name)
    })
}

/// ssh's words in short, and what to do.
fn not_reached(host: &str, said: &str) -> (String, String) {
    let bare = host.rsplit('@').next().unwrap_or(host);
    let asked = shell::word(host);
    let has = |phrase: &str| said.contains(phrase);
    if has("REMOTE HOST IDENTIFICATION HAS CHANGED") {
        let name = remembered(said);
        let said = "its host key differs from the one in ssh's known_hosts".to_owned();
        let known = shell::quoted(name.unwrap_or(bare));
        let fix = format!(
            "if the board was reinstalled, run `ssh-keygen -R {known}` and then `ssh {asked}` once to accept the new key; otherwise another machine answers at that address"
        );
        return (said, fix);
    }
    let fix = if has("Host key verification failed") {
        format!("run `ssh {asked}` once and accept its key")
    } else if has("Permission denied") || has("Too many authentication failures") {
        format!("copy your key there with `ssh-copy-id {asked}`, or name the right user as USER@HOST")
    } else if has("Could not resolve hostname") {
        "check the name, or use its address".to_owned()
    } else if has("Connection refused") {
        "start an ssh server there (sudo apt install openssh-server), or set its port with --ssh-option Port=N".to_owned()
    } else if has("timed out") || has("No route to host") || has("Network is unreachable") {
        "check that it is running and on this network".to_owned()
    } else {
        format!("find out with `ssh -v {asked}`")
    };
    (last_line(said), fix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_known_by_what_the_board_says() {
        let both = "sh: 1: echo: echo: I/O error\nNo space left on device: 12 KiB free\n";
        let found = disk_full(Some(NOT_WRITTEN), both);
        assert_eq!(found.as_deref(), Some("No space left on device: 12 KiB free"));
        let dash = "sh: 1: echo: echo: I/O error";
        assert_eq!(disk_full(Some(NOT_WRITTEN), dash).as_deref(), Some(dash));
        assert_eq!(disk_full(Some(1), dash), None);
        assert_eq!(disk_full(Some(NOT_WRITTEN), "mkdir: File exists"), None);
    }

    #[test]
    fn what_ssh_says_is_told_with_the_way_out() {
        for (said, way_out) in [
            (
                "@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\n…\nHost key verification failed.",
                "ssh-keygen -R 'orin'",
            ),
            (
                "@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\r\n…\r\nHost key for [192.168.55.1]:2222 has changed \
                 and you have requested strict checking.\r\nHost key verification failed.",
                "ssh-keygen -R '[192.168.55.1]:2222'",
            ),
            (
                "@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nECDSA host key for 10.0.0.7 has changed and you have \
                 requested strict checking.\nHost key verification failed.",
                "ssh-keygen -R '10.0.0.7'",
            ),
            ("Host key verification failed.", "`ssh nvidia@orin` once"),
            (
                "nvidia@orin: Permission denied (publickey,password).",
                "ssh-copy-id nvidia@orin",
            ),
            (
                "ssh: Could not resolve hostname orin: Name or service not known",
                "use its address",
            ),
            (
                "ssh: connect to host orin port 22: Connection refused",
                "openssh-server",
            ),
            (
                "ssh: connect to host orin port 22: No route to host",
                "on this network",
            ),
            (
                "kex_exchange_identification: banner line too long",
                "ssh -v nvidia@orin",
            ),
        ] {
            let (_, fix) = not_reached("nvidia@orin", said);
            assert!(fix.contains(way_out), "{said}: {fix}");
        }
    }
}
