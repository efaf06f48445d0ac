//! jetlag itself as a process that may crash, hang or be killed without taking the self-test along.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Seek};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// Time between two looks at whether the process has ended.
const LOOK: Duration = Duration::from_millis(10);
/// From being asked to end to being ended: a run that was asked saves what it has.
const SAVES_WITHIN: Duration = Duration::from_secs(5);
/// The most that is read of what a process printed.
const MOST_READ: u64 = 32 << 20;
/// The most of its words that go into a report.
const MOST_TOLD: usize = 500;

/// What every time limit of a check is multiplied by: machines may be slow, or busy.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience(pub(super) u32);

impl Patience {
    /// The limit for what usually takes no longer than this.
    pub(super) fn allow(self, usual: Duration) -> Duration {
        usual.saturating_mul(self.0)
    }
}

/// How a process ended.
pub(super) struct Ended {
    status: Option<ExitStatus>,
    pub(super) why: Why,
    pub(super) out: String,
    err: String,
}

/// Why the process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// It ended by itself.
    Itself,
    /// It was not done in its time.
    Late(Duration),
    /// Somebody stopped the self-test.
    Stopped,
    /// What it was run for was seen, and it was asked to end.
    Enough,
}

impl Ended {
    /// Its exit code, where it ended by itself or when it had done enough, and by no signal.
    pub(super) fn code(&self) -> Option<i32> {
        match self.why {
            Why::Itself | Why::Enough => self.status?.code(),
            Why::Late(_) | Why::Stopped => None,
        }
    }

    /// How it ended and what it said last, for a report.
    pub(super) fn words(&self) -> String {
        let how = match (self.why, self.status) {
            (Why::Late(limit), _) => format!("not finished after {:.0} s, and stopped", limit.as_secs_f64()),
            (Why::Stopped, _) => "interrupted".to_owned(),
            (Why::Itself | Why::Enough, Some(status)) => status.to_string(),
            (Why::Itself | Why::Enough, None) => "ended".to_owned(),
        };
        match self.said() {
            said if said.is_empty() => how,
            said => format!("{how}: {said}"),
        }
    }

    /// Its error message, else its last lines; no more than a report has room for.
    pub(super) fn said(&self) -> String {
        let error = self
            .err
            .rfind("error: ")
            .map(|at| &self.err[at + "error: ".len()..]);
        let text = error.map_or_else(|| last_lines(&self.err, 4), str::to_owned);
        let mut text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if text.chars().count() > MOST_TOLD {
            text = text.chars().take(MOST_TOLD).collect::<String>() + " …";
        }
        text
    }
}

fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(count)..].join(" ")
}

/// jetlag, to be started again and again.
pub(super) struct Program<'a> {
    pub(super) path: PathBuf,
    /// For what a process leaves; it goes with the self-test.
    pub(super) folder: &'a Path,
    pub(super) stop: &'a AtomicBool,
    /// Where TensorRT is, as `--tensorrt` has it.
    pub(super) tensorrt: Option<PathBuf>,
    pub(super) patience: Patience,
}

impl Program<'_> {
    /// Runs `jetlag ARGUMENTS…` until it ends, or its time is over, or the self-test is stopped. The kernel ends it with the
    /// thread that calls this.
    pub(super) fn run<S: AsRef<str>>(&self, arguments: &[S], limit: Duration) -> std::io::Result<Ended> {
        self.run_until(arguments, limit, &AtomicBool::new(false))
    }

    /// The same, which is asked to end once this is set, too.
    pub(super) fn run_until<S: AsRef<str>>(
        &self,
        arguments: &[S],
        limit: Duration,
        enough: &AtomicBool,
    ) -> std::io::Result<Ended> {
        let (mut out, mut err) = (tempfile::tempfile()?, tempfile::tempfile()?);
        let words = arguments.iter().map(|argument| OsString::from(argument.as_ref()));
        let mut child = Command::new(&self.path)
            .arg("with-parent")
            .arg(std::process::id().to_string())
            .arg(&self.path)
            .args(words)
            // Plans are built anew, and the user's own cache is left alone.
            .env("JETLAG_CACHE", self.folder.join("cache"))
            .env("NO_COLOR", "1")
            .envs(self.tensorrt.iter().map(|folder| ("JETLAG_TENSORRT", folder)))
            .stdin(Stdio::null())
            .stdout(out.try_clone()?)
            .stderr(err.try_clone()?)
            // Ctrl-C comes to us and is handed on once: twice would end a run before it has saved.
            .process_group(0)
            .spawn()?;
        let (status, why) = self.wait(&mut child, limit, enough)?;
        Ok(Ended {
            status,
            why,
            out: text(&mut out)?,
            err: text(&mut err)?,
        })
    }

    fn wait(
        &self,
        child: &mut Child,
        limit: Duration,
        enough: &AtomicBool,
    ) -> std::io::Result<(Option<ExitStatus>, Why)> {
        let begun = Instant::now();
        let why = loop {
            if let Some(status) = child.try_wait()? {
                return Ok((Some(status), Why::Itself));
            }
            if self.stop.load(Ordering::Relaxed) {
                break Why::Stopped;
            }
            if enough.load(Ordering::Relaxed) {
                break Why::Enough;
            }
            if begun.elapsed() > limit {
                break Why::Late(limit);
            }
            std::thread::sleep(LOOK);
        };
        let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let tell = |signal| group.map(|group| kill_process_group(group, signal));
        tell(Signal::TERM);
        let told = Instant::now();
        while told.elapsed() < self.patience.allow(SAVES_WITHIN) {
            if let Some(status) = child.try_wait()? {
                // What it started may still be there.
                tell(Signal::KILL);
                return Ok((Some(status), why));
            }
            std::thread::sleep(LOOK);
        }
        tell(Signal::KILL);
        // A process that waits for a device in the kernel cannot be ended; it is left.
        std::thread::sleep(LOOK * 10);
        Ok((child.try_wait()?, why))
    }
}

fn text(file: &mut File) -> std::io::Result<String> {
    file.rewind()?;
    let mut bytes = Vec::new();
    file.take(MOST_READ).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(err: &str) -> Ended {
        Ended {
            status: None,
            why: Why::Itself,
            out: String::new(),
            err: err.to_owned(),
        }
    }

    #[test]
    fn the_last_error_is_told_and_otherwise_the_last_lines() {
        assert_eq!(
            ended("[WARN ] x\nerror: no GPU\n  looked  here\n").said(),
            "no GPU looked here"
        );
        assert_eq!(ended("1\n2\n\n3\n4\n5\n").said(), "2 3 4 5");
        assert_eq!(ended("").words(), "ended");
        assert!(ended(&"long ".repeat(1000)).said().chars().count() < MOST_TOLD + 5);
    }
}
