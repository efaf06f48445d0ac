//! A plan and its manifest, written together.

use std::fs;
use std::io;
use std::path::Path;

use super::super::manifest::{self, PlanManifest};
use crate::whole::Unfinished;

/// Writes a plan and its manifest beside it: both whole, or neither, and then what was there before stays.
///
/// # Errors
/// What the system says.
pub fn write_plan(path: &Path, plan: &[u8], manifest: &PlanManifest) -> io::Result<()> {
    let json = serde_json::to_vec_pretty(manifest).map_err(io::Error::other)?;
    let beside = manifest::path_of(path);
    let (plan, json) = (Unfinished::write(path, plan)?, Unfinished::write(&beside, &json)?);
    // An older manifest must not describe the new plan, not even for a moment.
    match fs::remove_file(&beside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    plan.rename(path)?;
    json.rename(&beside).inspect_err(|_| {
        let _ = fs::remove_file(path);
    })
}
