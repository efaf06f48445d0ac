//! What the system tells of processes that are not ours, from `/proc`.

use std::path::Path;

/// The fields of a process's `stat` that come after its name, which may hold anything: state, parent, group, …. `process` is a
/// number, or `self`. None where there is no such process, or `/proc` does not show it.
pub(super) fn stat(process: &str) -> Option<Vec<String>> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    Some(rest.split_whitespace().map(str::to_owned).collect())
}

/// When a process was started, in ticks since the machine was: with it, a number means one process alone.
pub(super) fn started(process: u32) -> Option<u64> {
    const START: usize = 19;
    stat(&process.to_string())?.get(START)?.parse().ok()
}

/// Whether the process of this number that was started at this moment has not ended; whether its end has been noticed or not.
pub(super) fn lives(process: u32, started: u64) -> bool {
    let has_ended = || stat(&process.to_string()).is_none_or(|stat| matches!(stat[0].as_str(), "Z" | "X"));
    self::started(process) == Some(started) && !has_ended()
}

/// Whether a process has this file open; false where that cannot be seen.
pub(super) fn has_open(process: u32, file: &Path) -> bool {
    let (Ok(open), Ok(file)) = (
        std::fs::read_dir(format!("/proc/{process}/fd")),
        file.canonicalize(),
    ) else {
        return false;
    };
    open.flatten()
        .any(|number| std::fs::read_link(number.path()).is_ok_and(|of| of == file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_was_started_and_has_open_what_it_opened() {
        let own = std::process::id();
        assert!(started(own).is_some_and(|at| at > 0));
        assert_eq!(started(u32::MAX), None);
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(has_open(own, file.path()) && !has_open(u32::MAX, file.path()));
        let path = file.into_temp_path();
        assert!(!has_open(own, &path), "it was closed");
    }
}
