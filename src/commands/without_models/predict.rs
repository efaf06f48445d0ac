//! In place of `predict`, where this jetlag was built without models.

use crate::built::LeftOut;
use crate::cli::PredictCommand;
use crate::commands::outcome::Outcome;

/// Not in this jetlag.
///
/// # Errors
/// Always.
pub(super) fn run(_: &PredictCommand) -> anyhow::Result<Outcome> {
    Err(LeftOut::MODELS.into())
}
