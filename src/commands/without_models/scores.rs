//! In place of `scores`, where this jetlag was built without models.

use std::path::{Path, PathBuf};

use crate::built::LeftOut;
use crate::cli::{EvalArgs, ExportArgs, ExportFormat, ViewArgs};
use crate::commands::outcome::Outcome;
use crate::report::html::Pictures;

/// Not in this jetlag.
///
/// # Errors
/// Always.
pub(super) fn run(_: &EvalArgs) -> anyhow::Result<Outcome> {
    Err(LeftOut::MODELS.into())
}

/// Not in this jetlag.
///
/// # Errors
/// Always.
pub(super) fn export(_: &Path, _: &ExportArgs, _: ExportFormat) -> anyhow::Result<Outcome> {
    Err(LeftOut::MODELS.into())
}

/// Not in this jetlag.
///
/// # Errors
/// Always.
pub(super) fn view(_: &ViewArgs) -> anyhow::Result<Outcome> {
    Err(LeftOut::MODELS.into())
}

/// Not in this jetlag.
///
/// # Errors
/// Always.
pub(super) fn pictures(_: &[PathBuf], _: usize) -> anyhow::Result<Vec<Pictures>> {
    Err(LeftOut::MODELS.into())
}
