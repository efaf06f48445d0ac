//! What a board says of itself, and how its last run stands.

use super::super::DeployError;
use super::super::ssh::Host;
use crate::scenario;
use crate::units::Bytes;

/// More processors than any board has: each is a number in a list.
const MOST_PROCESSORS: usize = 4096;

/// What a board says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Board {
    /// What `uname -m` says there: the processor's kind.
    pub machine: String,
    /// How many processors it has.
    pub processors: usize,
    /// Its C library's version, where it is glibc.
    pub glibc: String,
    /// The folder of jetlag's files there, absolute.
    pub folder: String,
    /// What is free there.
    pub free: Bytes,
    /// Whether it has `script`, which gives a run a terminal to draw on.
    pub has_terminal: bool,
    /// The last run there, and how it stands.
    pub last: Option<(String, State)>,
    /// The folder of its results, where the last run is a sweep.
    pub sweep: Option<String>,
}

/// How a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It is under way.
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
            "sweep" => {
                if !scenario::is_name(value) {
                    return Err(not_understood(host, "the name of its last sweep", value));
                }
                board.sweep = Some(value.to_owned());
            }
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

pub(super) fn state_of(text: &str) -> Option<State> {
    match text.trim().split_once(' ') {
        Some(("ended", code)) => code.parse().ok().map(State::Ended),
        None if text.trim() == "running" => Some(State::Running),
        None if text.trim() == "lost" => Some(State::Cut),
        _ => None,
    }
}

pub(super) fn not_understood(host: &Host, wanted: &'static str, said: &str) -> DeployError {
    DeployError::NotUnderstood {
        host: host.name().to_owned(),
        wanted,
        said: said.chars().take(200).collect(),
    }
}
