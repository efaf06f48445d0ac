//! In place of `work`, where this jetlag was built without models.

use crate::built::LeftOut;
use crate::cli::InspectArgs;
use crate::commands::outcome::Outcome;

/// Not in this jetlag.
///
/// # Errors
/// Always.
pub(super) fn inspect(_: &InspectArgs, _: &str) -> anyhow::Result<Outcome> {
    Err(LeftOut::MODELS.into())
}
