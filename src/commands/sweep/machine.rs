//! Failures of the machine, which are no point's: another run would fail as well, and this one would not fail elsewhere. They are not
//! written down as what came of a point; the sweep stops, and the same line goes on from there.

use std::path::Path;

use anyhow::anyhow;

/// The system's own words: no space left, a quota that is used up, a disk that fails, one that may only be read.
const WORDS: [&str; 4] = ["os error 28", "os error 122", "os error 5)", "os error 30"];

/// What was said of a disk that cannot be written to; none where something else kept the run from its end.
pub(super) fn disk(said: &str) -> Option<&str> {
    let is_of_writing = |line: &&str| {
        line.contains("cannot write") || line.contains("cannot create") || line.contains("saved")
    };
    let mut lines = said
        .lines()
        .filter(|line| WORDS.iter().any(|words| line.contains(words)));
    let line = lines.clone().find(is_of_writing).or_else(|| {
        // Without a word on what failed, only a lack of room is known to be the disk's.
        lines.find(|line| WORDS[..2].iter().any(|words| line.contains(words)))
    })?;
    Some(line.strip_prefix("error: ").unwrap_or(line))
}

/// Why the sweep stops.
pub(super) fn stops(line: &str, folder: &Path) -> anyhow::Error {
    anyhow!(
        "{line}\n       That is the machine's failure and not a point's, so the sweep stops here. What is finished is kept in {}; \
         free some space, and the same line goes on from there",
        folder.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_without_room_is_told_from_what_a_point_does() {
        let full = "error: cannot write to the run file a.mcap: No space left on device (os error 28). Free some space";
        assert!(disk(full).is_some_and(|line| line.starts_with("cannot write to the run file")));
        assert!(disk("warning: x\nerror: y: Disk quota exceeded (os error 122)").is_some());
        assert!(
            disk("error: cannot write to the run file a.mcap: Read-only file system (os error 30)").is_some()
        );
        // A camera that fails, a file that is larger than this process may make, an error of another number.
        assert!(disk("error: the camera /dev/video0: Input/output error (os error 5)").is_none());
        assert!(disk("error: cannot write to the run file a.mcap: File too large (os error 27)").is_none());
        assert!(disk("error: out of memory (os error 12)").is_none());
    }
}
