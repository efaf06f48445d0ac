//! In place of `annotate`, where this jetlag was built without models or without recordings.

use crate::built::LeftOut;
use crate::cli::AnnotateArgs;
use crate::commands::outcome::Outcome;

/// Not in this jetlag.
///
/// # Errors
/// Always.
pub(super) fn run(_: &AnnotateArgs) -> anyhow::Result<Outcome> {
    Err(match cfg!(feature = "models") {
        true => LeftOut::RECORDINGS.into(),
        false => LeftOut::MODELS.into(),
    })
}
