//! How ffmpeg and ffprobe are told which file to read.

use std::ffi::OsString;
use std::path::Path;

/// A file and nothing else, whatever its name looks like, and whatever it refers to.
pub(crate) fn local(path: &Path) -> [OsString; 6] {
    let mut file = OsString::from("file:");
    file.push(path);
    let [times, whitelist, protocol, input] =
        ["-fflags", "-protocol_whitelist", "file", "-i"].map(OsString::from);
    [times, "+genpts".into(), whitelist, protocol, input, file]
}
