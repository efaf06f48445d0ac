//! Where the video goes: nothing is at its path before it is whole.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use tempfile::NamedTempFile;

use super::sink::Written;
use crate::cli::AnnotateArgs;
use crate::commands::outcome::WrongUse;

/// Containers that keep each frame's time.
const ENDINGS: [&str; 3] = ["mp4", "mkv", "mov"];

/// The path that was asked for.
pub(super) struct Place {
    path: PathBuf,
    replace: bool,
    ending: &'static str,
}

impl Place {
    /// # Errors
    /// [`WrongUse`]: another kind of file, one that is there, or the video itself.
    pub(super) fn of(args: &AnnotateArgs) -> Result<Place, WrongUse> {
        let (input, path) = (&args.input, &args.output);
        if let Err(error) = std::fs::metadata(input) {
            return Err(WrongUse(format!("{}: {error}", input.display())));
        }
        let ending = path
            .extension()
            .and_then(|ending| ending.to_str())
            .map(str::to_ascii_lowercase);
        let Some(ending) = ENDINGS
            .into_iter()
            .find(|known| Some(*known) == ending.as_deref())
        else {
            return Err(WrongUse(format!(
                "{}: its name must end in .{}, whose files keep each frame's time",
                path.display(),
                ENDINGS.join(", .")
            )));
        };
        let same = |one: &Path, other: &Path| {
            one.canonicalize()
                .ok()
                .is_some_and(|one| Some(one) == other.canonicalize().ok())
        };
        if same(input, path) {
            return Err(WrongUse(format!(
                "{} is the video itself; name another file with --output",
                path.display()
            )));
        }
        if path.is_dir() {
            return Err(WrongUse(format!(
                "{} is a folder; name a file in it",
                path.display()
            )));
        }
        if path.symlink_metadata().is_ok() && !args.force {
            return Err(WrongUse(format!(
                "{} exists; choose another name, or --force",
                path.display()
            )));
        }
        Ok(Place {
            path: path.clone(),
            replace: args.force,
            ending,
        })
    }

    /// A file beside it, for the encoder; it goes with what is returned.
    ///
    /// # Errors
    /// The folder is not there, or cannot be written to.
    pub(super) fn file(&self) -> anyhow::Result<NamedTempFile> {
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let file = tempfile::Builder::new()
            .prefix(".jetlag-")
            .suffix(&format!(".part.{}", self.ending))
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(folder.unwrap_or(Path::new(".")));
        Ok(file.map_err(|error| WrongUse(format!("cannot write {}: {error}", self.path.display())))?)
    }

    /// Puts the written file there. One without frames goes; answers whether there is one.
    ///
    /// # Errors
    /// Another came there meanwhile, or the system refuses.
    pub(super) fn put(&self, file: NamedTempFile, written: &Written) -> anyhow::Result<bool> {
        if written.frames == 0 {
            return Ok(false);
        }
        let put = match self.replace {
            true => file.persist(&self.path),
            false => file.persist_noclobber(&self.path),
        };
        put.map_err(|failed| failed.error)
            .with_context(|| format!("cannot write {}", self.path.display()))?;
        Ok(true)
    }
}

/// `a-baseline.mcap` of `a.mcap`.
pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(suffix);
    if let Some(ending) = path.extension() {
        name.push(".");
        name.push(ending);
    }
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_baseline_has_a_run_file_of_its_own() {
        assert_eq!(
            with_suffix(Path::new("a/b.mcap"), "-baseline"),
            Path::new("a/b-baseline.mcap")
        );
        assert_eq!(with_suffix(Path::new("b"), "-baseline"), Path::new("b-baseline"));
    }
}
