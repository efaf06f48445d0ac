//! How a command ends: its exit code, and the error that means wrong use. docs/ci.md has the codes.

use crate::engine::network::NetworkError;

/// How a command ended; its number is the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Outcome {
    /// The command did what was asked.
    Done = 0,
    /// Failed; the error has been said. Also a run of which a tenant produced nothing or could not go on: its report is there,
    /// and it is not done.
    Failed = 1,
    /// Wrong use or wrong config; nothing was started. Also runs that cannot be compared.
    WrongUse = 2,
    /// Done, and an expectation did not hold.
    ExpectationBroken = 3,
    /// Done, and the record has gaps.
    Gaps = 4,
    /// Interrupted by the user; what was done before is saved.
    Interrupted = 130,
}

impl Outcome {
    /// How a command ends that returns an error. One rule for all commands: what was asked for and cannot be done as it stands is wrong
    /// use, be it an option, a file that is not there, of another kind or damaged, or what stands in it; all else failed on the way.
    pub(super) fn of_error(error: &anyhow::Error) -> Outcome {
        let is_wrong_use = |cause: &(dyn std::error::Error + 'static)| cause.is::<NetworkError>();
        match error.is::<WrongUse>() || error.chain().any(is_wrong_use) {
            true => Outcome::WrongUse,
            false => Outcome::Failed,
        }
    }
}

/// A mistake of the user's, found before anything was started: exit code 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct WrongUse(pub String);

impl WrongUse {
    /// Another error that was the user's mistake here.
    pub(super) fn because(error: impl std::error::Error) -> Self {
        WrongUse(error.to_string())
    }
}
