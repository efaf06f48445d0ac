//! In place of `bag`, where this jetlag was built without recordings.

use std::path::Path;

use super::outcome::Outcome;
use crate::built::LeftOut;
use crate::cli::Format;

/// Not in this jetlag.
///
/// # Errors
/// Always.
pub(super) fn inspect(_: &Path, _: Format) -> anyhow::Result<Outcome> {
    Err(LeftOut::RECORDINGS.into())
}
