//! What was changed, kept in a file until it is given back.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::ClockError;
use crate::board::Roots;

/// Where it lies.
pub const STATE: &str = "/run/jetlag/clocks.json";

/// One setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The file, as the machine calls it.
    pub path: String,
    /// What it held.
    pub earlier: String,
    /// What it is set to.
    pub value: String,
}

/// One card.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Card {
    /// NVML's number.
    pub(super) index: u32,
    /// The clock that it is held at, MHz.
    pub(super) mhz: u32,
    /// Whether the driver stayed loaded without users; none where the card does not say.
    pub(super) persistence: Option<bool>,
}

/// Everything that was changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct State {
    schema: u32,
    /// The process that will give it back.
    pub(super) owner: Option<u32>,
    /// The power mode that was, where another was set.
    pub(super) mode: Option<u32>,
    pub(super) changes: Vec<Change>,
    pub(super) cards: Vec<Card>,
}

impl State {
    pub(super) fn new(owner: Option<u32>) -> State {
        State {
            schema: 1,
            owner,
            mode: None,
            changes: Vec::new(),
            cards: Vec::new(),
        }
    }

    fn path(roots: &Roots) -> PathBuf {
        roots.file(STATE)
    }

    /// What was left; none where nothing was.
    pub(super) fn load(roots: &Roots) -> Result<Option<State>, ClockError> {
        let path = State::path(roots);
        match fs::read(&path) {
            Ok(text) => serde_json::from_slice(&text)
                .map(Some)
                .map_err(|error| ClockError::State {
                    path,
                    problem: error.to_string(),
                }),
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
            let partial = path.with_extension("json.part");
            let mut file = fs::File::create(&partial)?;
            file.write_all(serde_json::to_string_pretty(self)?.as_bytes())?;
            file.sync_all()?;
            fs::rename(&partial, &path)
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
