//! In place of `recordings`, where this jetlag was built without it.

use crate::built::LeftOut;
use crate::cli::{ConvertArgs, SynthArgs};
use crate::commands::outcome::Outcome;

/// Not in this jetlag.
///
/// # Errors
/// Always.
pub(super) fn drive(_: &SynthArgs, _: u32) -> anyhow::Result<Outcome> {
    Err(LeftOut::RECORDINGS.into())
}

/// Not in this jetlag.
///
/// # Errors
/// Always.
pub(super) fn convert(_: &ConvertArgs) -> anyhow::Result<Outcome> {
    Err(LeftOut::RECORDINGS.into())
}
