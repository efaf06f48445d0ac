//! The place where something is written: free, or made free of what was written there before. Nothing else is ever removed.

use std::fs;
use std::path::Path;

use crate::commands::outcome::WrongUse;

/// Makes a place ready: there is nothing under its name then, and the folder above it is there.
///
/// # Errors
/// Something is there, and is not to be replaced, or is not what `is_ours` says that it may replace.
pub(super) fn make_ready(out: &Path, force: bool, is_ours: fn(&Path) -> bool) -> Result<(), WrongUse> {
    let refused = |what: String| Err(WrongUse(format!("{} {what}", out.display())));
    let failed = |error: std::io::Error| WrongUse(format!("cannot write {}: {error}", out.display()));
    match out.symlink_metadata() {
        Err(_) => {
            if let Some(above) = out.parent().filter(|above| !above.as_os_str().is_empty()) {
                fs::create_dir_all(above).map_err(failed)?;
            }
            Ok(())
        }
        Ok(there) if there.is_dir() && is_empty(out) => fs::remove_dir(out).map_err(failed),
        Ok(_) if !force => refused("exists; name another place, or replace it with --force".to_owned()),
        Ok(there) if there.is_file() => fs::remove_file(out).map_err(failed),
        Ok(there) if there.is_dir() && is_ours(out) => fs::remove_dir_all(out).map_err(failed),
        Ok(_) => refused("holds something else than what would replace it; name another place".to_owned()),
    }
}

/// Whether what is read would be replaced by what is written.
///
/// # Errors
/// It would.
pub(super) fn apart(input: &Path, out: &Path) -> Result<(), WrongUse> {
    let (Ok(input), Ok(place)) = (input.canonicalize(), out.canonicalize()) else {
        return Ok(());
    };
    match input.starts_with(&place) || place.starts_with(&input) {
        false => Ok(()),
        true => Err(WrongUse(format!(
            "{} is what is read; write to another place",
            out.display()
        ))),
    }
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}

/// Whether all entries of a folder have names like these.
fn has_only(folder: &Path, is_known: impl Fn(&str) -> bool) -> bool {
    let Ok(entries) = fs::read_dir(folder) else {
        return false;
    };
    entries
        .map(|entry| entry.ok()?.file_name().into_string().ok())
        .all(|name| name.is_some_and(|name| is_known(&name)))
}

/// A bag in a folder.
pub(super) fn is_bag(folder: &Path) -> bool {
    has_only(folder, |name| {
        name == "metadata.yaml" || name.ends_with(".mcap") || name.ends_with(".db3")
    })
}

/// A nuScenes folder with a single version, as a drive is written.
pub(super) fn is_nuscenes(folder: &Path) -> bool {
    let known = ["samples", "sweeps", "maps", jetlag_world::files::VERSION];
    has_only(folder, |name| known.contains(&name))
}

/// A folder with a single raw drive of KITTI, as one is written.
pub(super) fn is_raw_kitti(folder: &Path) -> bool {
    has_only(folder, |name| name == jetlag_world::files::DATE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_written_before_is_replaced_and_only_if_asked() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("a/b");
        make_ready(&out, false, is_bag).unwrap();
        fs::create_dir(&out).unwrap();
        make_ready(&out, false, is_bag).unwrap();
        fs::create_dir(&out).unwrap();
        fs::write(out.join("b_0.mcap"), "x").unwrap();
        let error = make_ready(&out, false, is_bag).unwrap_err().to_string();
        assert!(
            error.ends_with("exists; name another place, or replace it with --force"),
            "{error}"
        );
        fs::write(out.join("notes.txt"), "x").unwrap();
        let error = make_ready(&out, true, is_bag).unwrap_err().to_string();
        assert!(error.contains("holds something else"), "{error}");
        fs::remove_file(out.join("notes.txt")).unwrap();
        make_ready(&out, true, is_bag).unwrap();
        assert!(!out.exists());
    }

    #[test]
    fn what_is_read_is_not_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let bag = folder.path().join("bag.mcap");
        fs::write(&bag, "x").unwrap();
        assert!(apart(&bag, &bag).is_err());
        assert!(apart(&bag, folder.path()).is_err());
        assert!(apart(&bag, &folder.path().join("other.mcap")).is_ok());
    }
}
