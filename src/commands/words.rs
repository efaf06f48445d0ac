//! Words that find their way: a file that is not there and the one beside it that was probably meant, the newest run.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::outcome::WrongUse;
use super::output::say;
use crate::cli::ReportArgs;
use crate::nearest::nearest;

/// Names of a folder that are compared; beyond them nobody mistyped one.
const MOST_NAMES: usize = 10_000;

/// Refuses a file that is not there; `wanted` is what it should be.
///
/// # Errors
/// [`WrongUse`], with the file beside it whose name is nearest.
pub(super) fn there(path: &Path, wanted: &str) -> Result<(), WrongUse> {
    match path.exists() {
        true => Ok(()),
        false => Err(WrongUse(format!(
            "{} does not exist{}; wanted is {wanted}",
            path.display(),
            did_you_mean(path)
        ))),
    }
}

/// `; did you mean configs/demo.ron?`, where there is such a file.
pub(super) fn did_you_mean(path: &Path) -> String {
    match neighbour(path) {
        Some(meant) => format!("; did you mean {}?", meant.display()),
        None => String::new(),
    }
}

/// The file or folder beside `path` whose name is nearest to its own.
fn neighbour(path: &Path) -> Option<PathBuf> {
    let folder = match path.parent()? {
        folder if folder.as_os_str().is_empty() => Path::new("."),
        folder => folder,
    };
    let names: Vec<String> = std::fs::read_dir(folder)
        .ok()?
        .take(MOST_NAMES)
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    let name = path.file_name()?.to_str()?;
    // Of equals the first by name, whatever order the folder is in.
    let mut sorted: Vec<&str> = names.iter().map(String::as_str).collect();
    sorted.sort_unstable();
    nearest(name, sorted).map(|meant| path.with_file_name(meant))
}

/// Where a report names no run, the newest of `runs/` is meant.
///
/// # Errors
/// [`WrongUse`] where there is none.
pub(super) fn or_newest(mut args: ReportArgs) -> anyhow::Result<ReportArgs> {
    if !args.runs.is_empty() || args.trtexec.from_trtexec.is_some() {
        return Ok(args);
    }
    let newest = newest(Path::new("runs")).ok_or_else(|| {
        WrongUse("name a run file (.mcap): there is none in runs/, where `jetlag run` writes them".to_owned())
    })?;
    say(&format!("the newest run: {}", newest.display()));
    args.runs.push(newest);
    Ok(args)
}

/// The run file of a folder that was written last.
pub(super) fn newest(folder: &Path) -> Option<PathBuf> {
    let runs = std::fs::read_dir(folder).ok()?.filter_map(|entry| {
        let path = entry.ok()?.path();
        let facts = path.metadata().ok()?;
        let is_run = facts.is_file() && path.extension().is_some_and(|ending| ending == "mcap");
        let written: SystemTime = facts.modified().ok()?;
        is_run.then_some((written, path))
    });
    runs.max().map(|(_, path)| path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_beside_it_with_the_nearest_name_is_meant() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["demo.ron", "sim.ron", "camera.onnx"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let meant = |name: &str| {
            neighbour(&folder.path().join(name)).map(|path| path.file_name().unwrap().to_owned())
        };
        assert_eq!(meant("dmeo.ron"), Some("demo.ron".into()));
        assert_eq!(meant("demo"), Some("demo.ron".into()));
        assert_eq!(meant("camrea.onnx"), Some("camera.onnx".into()));
        assert_eq!(meant("entirely-other.txt"), None);
        assert_eq!(neighbour(Path::new("/nowhere/at/all")), None);
        let told = there(&folder.path().join("dmeo.ron"), "a scenario")
            .unwrap_err()
            .to_string();
        assert!(told.contains("demo.ron?; wanted is a scenario"), "{told}");
    }
}
