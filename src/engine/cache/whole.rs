//! Files that are written whole or not at all: under another name first, forced to the disk, then renamed.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::super::manifest::{self, PlanManifest};

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

/// Writes a file under another name, forces it to the disk, and renames it.
///
/// # Errors
/// What the system says.
pub fn write_whole(path: &Path, content: &[u8]) -> io::Result<()> {
    Unfinished::write(path, content)?.rename(path)
}

/// A file that is whole on the disk and not yet under its name; removed if it never gets it.
struct Unfinished(PathBuf);

impl Unfinished {
    fn write(path: &Path, content: &[u8]) -> io::Result<Self> {
        // Process numbers alone repeat where containers share a folder.
        let random: u64 =
            std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), std::process::id());
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{random:016x}.unfinished"));
        let unfinished = Self(PathBuf::from(name));
        let mut file = File::create_new(&unfinished.0)?;
        file.write_all(content)?;
        file.sync_all()?;
        Ok(unfinished)
    }

    fn rename(self, path: &Path) -> io::Result<()> {
        fs::rename(&self.0, path)
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // After renaming there is nothing under this name any more.
        let _ = fs::remove_file(&self.0);
    }
}
