//! In place of `variants`, where this jetlag was built without models.

use crate::built::LeftOut;
use crate::cli::VariantsArgs;
use crate::commands::outcome::Outcome;

/// Not in this jetlag.
///
/// # Errors
/// Always.
pub(in crate::commands) fn make(_: &VariantsArgs) -> anyhow::Result<Outcome> {
    Err(LeftOut::MODELS.into())
}
