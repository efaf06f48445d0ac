//! `jetlag deploy`'s half on this machine: what a scenario needs ([`payload`]), bringing it to a board ([`copy`]),
//! a run there that outlives the connection ([`session`]), and the results of a sweep ([`results`]), all over the user's own `ssh` ([`ssh`]). What a run there shows
//! is drawn by [`screen`].
//!
//! Nothing is installed on the board but jetlag itself; what is asked of its shell is in `board.sh`. What is shown
//! and in which order is the command's ([`crate::commands::deploy`]).

pub mod copy;
pub mod part;
pub mod payload;
mod receive;
pub mod results;
pub mod screen;
pub mod session;
pub mod ssh;
pub mod unpack;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::shell;
use crate::units::Bytes;

/// When this program is to end.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    /// It is to end in good order: a run is asked to end and is still fetched.
    pub asked: Arc<AtomicBool>,
    /// It is to end without waiting for anything of the board.
    pub at_once: Arc<AtomicBool>,
}

/// What is known of the run on the board where something breaks off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RunThere {
    /// Nothing: the board has not been asked yet.
    #[default]
    Unknown,
    /// No run was begun there.
    NotBegun,
    /// The board was asked to begin it, and has not said that it did.
    Beginning,
    /// A run is under way there.
    UnderWay,
    /// It has begun, and was asked to end.
    Ending,
    /// It has ended, and its files are there.
    Ended,
}

impl RunThere {
    /// What to know of it and what to do, for people.
    pub fn sentence(self, host: &str) -> Option<String> {
        let fetch = format!("jetlag deploy {} --fetch", shell::word(host));
        Some(match self {
            RunThere::Unknown => return None,
            RunThere::NotBegun => "nothing was started on the board; run the same command again".to_owned(),
            RunThere::Beginning => format!("the run may have started on the board; check with: {fetch}"),
            RunThere::UnderWay => {
                format!("unless the board went down, the run continues there; fetch it with: {fetch}")
            }
            RunThere::Ending => format!("the run on the board was asked to stop; fetch it with: {fetch}"),
            RunThere::Ended => {
                format!("the run on the board has ended; fetch its files with: {fetch}")
            }
        })
    }
}

/// Why a deployment could not go on.
#[derive(Debug, thiserror::Error)]
pub enum DeployError {
    /// This machine cannot start a program that is needed.
    #[error("`{program}` cannot be started here: {error}; install it (Debian: {package})")]
    NoProgram {
        /// Name of the program, such as `ssh`.
        program: &'static str,
        /// The Debian package that has it.
        package: &'static str,
        /// What the system said.
        error: std::io::Error,
    },
    /// ssh reached no shell on the board.
    #[error("cannot reach {host}: {said}; {fix}")]
    NotReached {
        /// The board, as it was named on the command line.
        host: String,
        /// What ssh or the board printed.
        said: String,
        /// What to do about it.
        fix: String,
    },
    /// The connection ended while something was under way.
    #[error("the connection to {host} was lost ({said})")]
    Lost {
        /// The board, as it was named on the command line.
        host: String,
        /// What ssh or the board printed.
        said: String,
    },
    /// The board's disk is full, or would be.
    #[error("the disk of {host} is full: {found}; free some space, or use another folder with --folder")]
    DiskFull {
        /// The board, as it was named on the command line.
        host: String,
        /// What is free and what is wanted, or the board's own words.
        found: String,
    },
    /// A command on the board failed.
    #[error("{what} failed on {host}: {said}")]
    Board {
        /// The step that failed, in the words that begin the message.
        what: &'static str,
        /// The board, as it was named on the command line.
        host: String,
        /// The board's own words.
        said: String,
    },
    /// The board lacks what deploying takes.
    #[error("{host} has no `{program}`, which deploy needs; install it there (Debian, Ubuntu: {package})")]
    BoardLacks {
        /// The board, as it was named on the command line.
        host: String,
        /// The name of the missing program.
        program: String,
        /// The Debian package that has it.
        package: &'static str,
    },
    /// The binary is for other processors than the board's.
    #[error(
        "{binary} is for {binary_is}, but {host} is {board_is}; build it with `scripts/cross.sh --arch {arch}`, or name \
         another with --binary"
    )]
    Architecture {
        /// The path of the binary here.
        binary: String,
        /// What it is for.
        binary_is: &'static str,
        /// The board, as it was named on the command line.
        host: String,
        /// The board's `uname -m`.
        board_is: String,
        /// What `cross.sh` calls it.
        arch: &'static str,
    },
    /// No binary for the board is at hand.
    #[error(
        "no jetlag binary for {board_is} found (looked for {tried}); build it with `scripts/cross.sh --arch {arch}`, or name one with --binary"
    )]
    NoBinary {
        /// The board's `uname -m`.
        board_is: String,
        /// Where one was looked for.
        tried: String,
        /// What `cross.sh` calls it.
        arch: &'static str,
    },
    /// The board's C library is older than the binary needs.
    #[error("{binary} needs glibc {needs}, but {host} has {has}; {fix}")]
    OldGlibc {
        /// The path of the binary here.
        binary: String,
        /// The newest version that it asked for.
        needs: String,
        /// The board, as it was named on the command line.
        host: String,
        /// The version of the board's glibc.
        has: String,
        /// What builds one that starts there.
        fix: String,
    },
    /// There is no jetlag for the board's processors.
    #[error(
        "{host} is {board_is}, but jetlag is built only for aarch64 and x86_64; a 64-bit system on the board may help"
    )]
    Processors {
        /// The board, as it was named on the command line.
        host: String,
        /// The board's `uname -m`.
        board_is: String,
    },
    /// A run is under way on the board.
    #[error(
        "the run {name} is still running on {host}, and a second one would disturb it; wait for it with `jetlag deploy {} --fetch` (Ctrl-C there stops it)",
        shell::word(.host)
    )]
    Busy {
        /// The board, as it was named on the command line.
        host: String,
        /// The name of the run that is under way.
        name: String,
    },
    /// There is nothing to fetch.
    #[error("there is no run on {host} in {folder}; start one with `jetlag deploy {} SCENARIO`", shell::word(.host))]
    NoRun {
        /// The board, as it was named on the command line.
        host: String,
        /// The folder on the board.
        folder: String,
    },
    /// The board did not answer in time.
    #[error("{host} did not answer within {waited} s ({what}); see what keeps it busy, and try again")]
    Silent {
        /// The board, as it was named on the command line.
        host: String,
        /// The step that got no answer.
        what: &'static str,
        /// How long it was waited for, in seconds.
        waited: u64,
    },
    /// This program was told to end.
    #[error("interrupted ({what})")]
    Interrupted {
        /// What was under way.
        what: &'static str,
    },
    /// What the board sent of a run is not taken.
    #[error("refused the files that {host} sent: {why}. None of them was kept")]
    Refused {
        /// The board, as it was named on the command line.
        host: String,
        /// What was wrong with what it sent.
        why: String,
    },
    /// A file of the scenario cannot be brought.
    #[error("{path}: {problem}")]
    File {
        /// The path, as the scenario or a spec names it.
        path: String,
        /// What is wrong, and what to do.
        problem: String,
    },
    /// What the board said was not understood.
    #[error(
        "{host} answered {said:?} when asked for {wanted}; is its login shell a POSIX shell that prints nothing at login?"
    )]
    NotUnderstood {
        /// The board, as it was named on the command line.
        host: String,
        /// What was asked for.
        wanted: &'static str,
        /// What it answered instead.
        said: String,
    },
}

impl DeployError {
    /// Whether it says nothing of the run on the board, which [`RunThere`] then does.
    pub fn leaves_run_open(&self) -> bool {
        matches!(
            self,
            DeployError::Lost { .. } | DeployError::Silent { .. } | DeployError::Interrupted { .. }
        )
    }

    /// The disk would be full: so much is free, so much is wanted.
    fn would_be_full(host: &str, folder: &str, free: Bytes, wanted: Bytes) -> DeployError {
        DeployError::DiskFull {
            host: host.to_owned(),
            found: format!("{folder} has {free} free, but {wanted} are needed"),
        }
    }
}
