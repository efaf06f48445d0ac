//! What was changed, kept in a file until it is given back.

use std::fs;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::ClockError;
use crate::board::Roots;
use crate::{files, whole};

/// The path of the state file, below the machine's root.
pub const STATE: &str = "/run/jetlag/clocks.json";

/// One setting that was changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The file, as the machine calls it.
    pub path: String,
    /// What it held before, to be written back.
    pub earlier: String,
    /// What it is set to.
    pub value: String,
}

/// What was changed of one card.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Card {
    /// The card's number, as NVML counts.
    pub(super) index: u32,
    /// The clock that it is held at, MHz.
    pub(super) mhz: u32,
    /// Whether the driver stayed loaded without users; none where the card does not say.
    pub(super) persistence: Option<bool>,
    /// Whether its clock is locked; files of earlier versions do not say, and it was.
    #[serde(default = "is_locked")]
    pub(super) locked: bool,
}

fn is_locked() -> bool {
    true
}

/// Everything that was changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct State {
    schema: u32,
    /// The process that will give it back.
    pub(super) owner: Option<u32>,
    /// When that process began, in ticks since the machine's start: another may have its number by now.
    #[serde(default)]
    owner_began: Option<u64>,
    /// The power mode that was, where another was set.
    pub(super) mode: Option<u32>,
    /// The process of nvpmodel that is setting a mode, and when it began, as the owner.
    #[serde(default)]
    setter: Option<(u32, Option<u64>)>,
    pub(super) changes: Vec<Change>,
    pub(super) cards: Vec<Card>,
}

impl State {
    pub(super) fn new(owner: Option<u32>) -> State {
        State {
            schema: 1,
            owner,
            owner_began: owner.and_then(began),
            mode: None,
            setter: None,
            changes: Vec::new(),
            cards: Vec::new(),
        }
    }

    fn path(roots: &Roots) -> PathBuf {
        roots.file(STATE)
    }

    /// Whether a process was to give it back, and is no more.
    pub(super) fn is_orphaned(&self) -> bool {
        self.owner.is_some_and(|pid| !is_there(pid, self.owner_began))
    }

    /// Notes who is setting a power mode.
    pub(super) fn set_by(&mut self, pid: Option<u32>) {
        self.setter = pid.map(|pid| (pid, began(pid)));
    }

    /// The process that is setting a power mode; none where it came to its end.
    pub(super) fn setter(&self) -> Option<u32> {
        let (pid, began) = self.setter?;
        is_there(pid, began).then_some(pid)
    }

    /// What was left; none where nothing was.
    pub(super) fn load(roots: &Roots) -> Result<Option<State>, ClockError> {
        let path = State::path(roots);
        match files::read(&path, files::TEXT) {
            Ok(text) => {
                let unclear = |problem: String| ClockError::State {
                    path: path.clone(),
                    problem,
                };
                let state: State =
                    serde_json::from_slice(&text).map_err(|error| unclear(error.to_string()))?;
                // The unit jetlag-scenario@ writes it as a user of its own, and root may give back what it holds.
                match state.changes.iter().find(|change| !is_setting(&change.path)) {
                    Some(change) => Err(unclear(format!("{} is not a clock setting", change.path))),
                    None => Ok(Some(state)),
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(why) => Err(ClockError::Unread { path, why }),
        }
    }

    /// Writes it so that it is whole or not there.
    pub(super) fn save(&self, roots: &Roots) -> Result<(), ClockError> {
        let path = State::path(roots);
        let write = || -> std::io::Result<()> {
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder)?;
            }
            whole::write_whole(&path, serde_json::to_string_pretty(self)?.as_bytes())
        };
        write().map_err(|why| ClockError::Keep {
            path: path.clone(),
            why,
        })
    }

    pub(super) fn remove(&self, roots: &Roots) {
        // What cannot be removed is given back once more at the next start: to the same values.
        let _ = fs::remove_file(State::path(roots));
    }
}

/// Whether a process is still there, by when it began; where that is not known, its number alone decides.
fn is_there(pid: u32, then: Option<u64>) -> bool {
    match (began(pid), then) {
        (Some(now), Some(then)) => now == then,
        (now, _) => now.is_some(),
    }
}

/// When a process of this machine began, in ticks since its start (proc(5), field 22 of `stat`); none where there is
/// no such process, or one that has ended and waits for its parent. Never of a made-up root: processes are not made up.
fn began(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, field 2, may hold blanks and brackets.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    if fields.next()? == "Z" {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

/// Whether it is a file of the kernel's, where all settings are.
fn is_setting(path: &str) -> bool {
    path.starts_with("/sys/") && !path.split('/').any(|part| part == "..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_another_process_has_by_now_is_not_its_owner() {
        let own = std::process::id();
        let mut state = State::new(Some(own));
        assert!(!state.is_orphaned());
        state.owner_began = state.owner_began.map(|began| began - 1);
        assert!(state.is_orphaned());
        // Written by an earlier version: the number alone decides.
        state.owner_began = None;
        assert!(!state.is_orphaned());
        // No process has the highest number (pid_max is at most 2^22).
        state.owner = Some(u32::MAX);
        assert!(state.is_orphaned());
        assert!(!State::new(None).is_orphaned());
    }
}
