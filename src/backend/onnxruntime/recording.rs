//! A session's profile while it is recorded: the folder that ONNX Runtime writes it to, and the stamps of the executions
//! that it is of.
//!
//! ONNX Runtime keeps a profile in memory and writes it once, when it is ended; after that the session records none. So
//! nothing is known before the run is over. The file lies in a folder of our own, which nobody else can read and which is
//! removed when the profile was read, or with the recording.
//!
//! The profile's clock is that of C++'s `high_resolution_clock`: the system's time with GNU's library, the monotonic
//! clock with others. Which it is shows when the profile begins, so each execution is stamped on both.

use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use tempfile::TempDir;

use super::profile::{Execution, Fault, Profile, Told};
use crate::clock::{Clock, RealClock};
use crate::record::Finding;
use crate::units::{Nanos, Stamp};

/// Executions that are stamped: each has at least one event, and the profile no more than these.
const MOST_EXECUTIONS: usize = super::profile::MOST_EVENTS;
/// Bytes of a profile that are read; a million events of usual length are 0.6 GB.
const MOST_BYTES: u64 = 4 << 30;

/// A moment on both clocks that a profile may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    ours: Stamp,
    system_ns: i64,
}

/// Readings of both clocks that are closer together than this are of one moment.
const CLOSE: Nanos = Nanos::from_micros(1);
/// So often they are read where the system takes the processor away in between: what it takes would put every node of the execution
/// out of its place.
const LOOKS: usize = 16;

impl Moment {
    pub(super) fn now() -> Self {
        let mut best = Moment::look();
        for _ in 1..LOOKS {
            if best.1 <= CLOSE {
                break;
            }
            let next = Moment::look();
            if next.1 < best.1 {
                best = next;
            }
        }
        best.0
    }

    /// The system's clock between two readings of ours, and how far these are apart.
    fn look() -> (Self, Nanos) {
        let before = RealClock.now();
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let apart = RealClock.now() - before;
        let moment = Moment {
            ours: before + Nanos(apart.0 / 2),
            system_ns: since.map_or(0, |since| i64::try_from(since.as_nanos()).unwrap_or(0)),
        };
        (moment, apart)
    }
}

/// The clock of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ItsClock {
    System,
    Monotonic,
}

impl ItsClock {
    /// The one on which the profile began between two moments.
    fn of(start_ns: i64, before: Moment, after: Moment) -> Option<Self> {
        let lies = |from: i64, to: i64| (from..=to).contains(&start_ns);
        if lies(before.system_ns, after.system_ns) {
            Some(ItsClock::System)
        } else {
            lies(before.ours.0, after.ours.0).then_some(ItsClock::Monotonic)
        }
    }

    fn ns(self, moment: Moment) -> i64 {
        match self {
            ItsClock::System => moment.system_ns,
            ItsClock::Monotonic => moment.ours.0,
        }
    }
}

/// One execution on both clocks.
struct Stamped {
    frame: Option<u64>,
    from: Moment,
    to: Moment,
}

/// A profile that is being recorded, and what it told when it was ended.
pub(super) struct Recording {
    folder: Mutex<Option<TempDir>>,
    start: OnceLock<Start>,
    executions: Mutex<Vec<Stamped>>,
    told: OnceLock<Result<Told, Trouble>>,
}

#[derive(Clone, Copy)]
struct Start {
    ns: i64,
    clock: Option<ItsClock>,
}

impl Recording {
    /// Makes the folder.
    ///
    /// # Errors
    /// It cannot be made.
    pub(super) fn new() -> io::Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("jetlag-onnxruntime-")
            .permissions(Permissions::from_mode(0o700))
            .tempdir()?;
        Ok(Recording {
            folder: Mutex::new(Some(folder)),
            start: OnceLock::new(),
            executions: Mutex::default(),
            told: OnceLock::new(),
        })
    }

    /// What the file's path begins with.
    pub(super) fn prefix(&self) -> PathBuf {
        let folder = self.folder.lock().unwrap_or_else(PoisonError::into_inner);
        folder
            .as_ref()
            .map_or_else(PathBuf::new, |folder| folder.path().join("profile"))
    }

    /// The session was made between these moments, and says that its profile began then.
    pub(super) fn began(&self, start_ns: u64, before: Moment, after: Moment) {
        let ns = i64::try_from(start_ns).unwrap_or(i64::MAX);
        let clock = ItsClock::of(ns, before, after);
        let _ = self.start.set(Start { ns, clock });
    }

    /// An execution is over; answers its number, none where the profile cannot hold more.
    pub(super) fn executed(&self, from: Moment) -> Option<usize> {
        let to = Moment::now();
        let mut executions = self.executions.lock().unwrap_or_else(PoisonError::into_inner);
        let number = executions.len();
        (number < MOST_EXECUTIONS).then(|| {
            let frame = None;
            executions.push(Stamped { frame, from, to });
            number
        })
    }

    /// An execution was for this frame, whose nodes are to be told.
    pub(super) fn was_for(&self, execution: usize, frame: u64) -> bool {
        let mut executions = self.executions.lock().unwrap_or_else(PoisonError::into_inner);
        let execution = executions.get_mut(execution);
        execution.is_some_and(|execution| {
            execution.frame = Some(frame);
            true
        })
    }

    /// What the profile tells. The first call ends it, by `end`, which answers the file's path as ONNX Runtime names it.
    pub(super) fn told(&self, end: impl FnOnce() -> Result<String, String>) -> Result<&Told, &Trouble> {
        self.told.get_or_init(|| self.read(end)).as_ref()
    }

    fn read(&self, end: impl FnOnce() -> Result<String, String>) -> Result<Told, Trouble> {
        let ended = end();
        // Removed when this is over.
        let folder = self.folder.lock().unwrap_or_else(PoisonError::into_inner).take();
        let named = PathBuf::from(ended.map_err(Trouble::NotEnded)?);
        let (Some(folder), Some(name)) = (&folder, named.file_name()) else {
            return Err(Trouble::NotEnded("ONNX Runtime names no file".to_owned()));
        };
        let profile = open(&folder.path().join(name)).and_then(|file| Ok(Profile::read(file)?))?;
        let start = self.start.get().copied();
        let Some((ns, clock)) = start.and_then(|start| Some((start.ns, start.clock?))) else {
            return Err(Trouble::UnknownClock);
        };
        let stamped = std::mem::take(&mut *self.executions.lock().unwrap_or_else(PoisonError::into_inner));
        let executions = stamped.into_iter().map(|stamped| Execution {
            frame: stamped.frame,
            ours: [stamped.from.ours, stamped.to.ours],
            theirs: [clock.ns(stamped.from), clock.ns(stamped.to)],
        });
        Ok(Told::new(profile, ns, executions.collect())?)
    }

    /// Removes the folder, for a session whose destructor never runs.
    pub(super) fn abandon(&self) {
        drop(self.folder.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

fn open(path: &Path) -> Result<File, Trouble> {
    let file = File::open(path).map_err(Trouble::NotThere)?;
    let bytes = file.metadata().map_err(Trouble::NotThere)?.len();
    match bytes {
        ..=MOST_BYTES => Ok(file),
        _ => Err(Trouble::TooLarge(bytes)),
    }
}

/// Why a tenant has no time per node, or not for all of its frames.
#[derive(Debug, thiserror::Error)]
pub(super) enum Trouble {
    #[error("ONNX Runtime did not end it: {0}")]
    NotEnded(String),
    #[error("its file is not there: {0}")]
    NotThere(io::Error),
    #[error("its file has {0} bytes; jetlag reads at most {MOST_BYTES}")]
    TooLarge(u64),
    #[error("it uses a clock that jetlag does not know")]
    UnknownClock,
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl Trouble {
    fn advice(&self) -> &'static str {
        match self {
            Trouble::NotEnded(_) | Trouble::NotThere(_) => {
                "Make room in the temporary folder (set TMPDIR to choose another), and run again."
            }
            Trouble::TooLarge(_) | Trouble::Fault(Fault::TooMany) => {
                "Shorten the run, or lower the tenant's rate."
            }
            Trouble::Fault(Fault::ClockWasSet) => "Run again while nobody sets the system's time.",
            Trouble::UnknownClock | Trouble::Fault(_) => {
                "If it is not cut off by a full disk, use another release of ONNX Runtime, or time the network's \
                 nodes with `backend: Cpu(profile: true)`."
            }
        }
    }

    pub(super) fn finding(&self, network: &str) -> Finding {
        Finding {
            code: "no-node-times".to_owned(),
            tenant: None,
            message: format!(
                "ONNX Runtime's profile of {network} is of no use, so there is no time per node: {self}."
            ),
            advice: self.advice().to_owned(),
        }
    }
}

/// A profile that ONNX Runtime stopped before the end of the run.
pub(super) fn stopped(network: &str, told: &Told) -> Option<Finding> {
    let (known, all) = told.coverage();
    told.is_full().then(|| Finding {
        code: "few-node-times".to_owned(),
        tenant: None,
        message: format!(
            "ONNX Runtime stopped its profile of {network} at {} events: time per node covers the first {known} of \
             {all} frames.",
            super::profile::MOST_EVENTS
        ),
        advice: "Shorten the run, or lower the tenant's rate.".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(ours: i64, system_ns: i64) -> Moment {
        Moment {
            ours: Stamp(ours),
            system_ns,
        }
    }

    #[test]
    fn the_profile_s_clock_is_the_one_on_which_it_began_meanwhile() {
        let (before, after) = (moment(1_000, 900_000), moment(1_500, 900_500));
        let of = |start| ItsClock::of(start, before, after);
        assert_eq!(of(900_250), Some(ItsClock::System));
        assert_eq!(of(1_250), Some(ItsClock::Monotonic));
        assert_eq!(of(7), None);
    }

    /// As a session would write it.
    fn ended(recording: &Recording, text: Option<&str>) -> Result<String, String> {
        let path = format!("{}_2026.json", recording.prefix().display());
        if let Some(text) = text {
            std::fs::write(&path, text).expect("the folder is there");
        }
        Ok(path)
    }

    fn recording() -> Recording {
        let recording = Recording::new().expect("a folder");
        recording.began(5_000, moment(1, 4_000), moment(2, 6_000));
        recording
    }

    #[test]
    fn a_profile_is_read_once_and_its_folder_removed() {
        let recording = recording();
        let folder = recording.prefix().parent().expect("a folder").to_owned();
        let mode = folder.metadata().expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        let number = recording.executed(Moment::now()).expect("a number");
        assert!(recording.was_for(number, 3));
        assert!(!recording.was_for(number + 1, 4));
        let told = recording.told(|| ended(&recording, Some("[]"))).expect("told");
        assert_eq!(told.coverage(), (0, 1));
        assert!(!folder.exists());
        assert!(recording.told(|| panic!("it is ended")).is_ok());
    }

    #[test]
    fn what_goes_wrong_is_a_finding_and_leaves_no_folder() {
        type End = fn(&Recording) -> Result<String, String>;
        let cases: [(End, &str); 5] = [
            (|_| Err("no".to_owned()), "did not end it: no"),
            (|of| ended(of, None), "its file is not there: No such file"),
            (|of| ended(of, Some("[{\"cat\"")), "it cannot be parsed: EOF"),
            (|_| Ok(String::new()), "names no file"),
            (
                |of| {
                    let path = ended(of, Some(""))?;
                    let file = File::options().write(true).open(&path).expect("it is there");
                    file.set_len(MOST_BYTES + 1).expect("a file with a hole");
                    Ok(path)
                },
                "has 4294967297 bytes",
            ),
        ];
        for (end, said) in cases {
            let recording = recording();
            let folder = recording.prefix().parent().expect("a folder").to_owned();
            let trouble = recording.told(|| end(&recording)).expect_err(said);
            let finding = trouble.finding("camera.onnx");
            assert!(finding.message.contains(said), "{}", finding.message);
            assert!(!folder.exists(), "{said}");
        }
    }

    #[test]
    fn a_profile_on_an_unknown_clock_is_of_no_use() {
        let recording = Recording::new().expect("a folder");
        recording.began(7, moment(1_000, 4_000), moment(2_000, 6_000));
        let trouble = recording
            .told(|| ended(&recording, Some("[]")))
            .expect_err("a clock");
        assert!(matches!(trouble, Trouble::UnknownClock));
    }

    #[test]
    fn a_folder_that_nobody_ends_can_be_removed() {
        let recording = recording();
        let folder = recording.prefix().parent().expect("a folder").to_owned();
        recording.abandon();
        assert!(!folder.exists());
    }
}
