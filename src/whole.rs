//! Files that are written whole or not at all: under another name first, forced to the disk, then renamed.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// How the name ends that a file has until it is whole.
pub(crate) const UNFINISHED: &str = ".unfinished";

/// Writes a file under another name, forces it to the disk, and renames it.
///
/// # Errors
/// What the system says.
pub fn write_whole(path: &Path, content: &[u8]) -> io::Result<()> {
    Unfinished::write(path, content)?.rename(path)
}

/// A file that is whole on the disk and not yet under its name; removed if it never gets it.
pub(crate) struct Unfinished(PathBuf);

impl Unfinished {
    /// Writes it beside `path`, under a name that nobody has.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn write(path: &Path, content: &[u8]) -> io::Result<Self> {
        // Process numbers alone repeat where containers share a folder.
        let random: u64 =
            std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), std::process::id());
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{random:016x}{UNFINISHED}"));
        let name = PathBuf::from(name);
        // Never through a link, and what another left under this name stays.
        let mut file = File::create_new(&name)?;
        let unfinished = Self(name);
        file.write_all(content)?;
        file.sync_all()?;
        Ok(unfinished)
    }

    /// Gives it its name; what had it before is gone.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn rename(self, path: &Path) -> io::Result<()> {
        fs::rename(&self.0, path)
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // After renaming there is nothing under this name any more.
        let _ = fs::remove_file(&self.0);
    }
}
