//! What the dynamic loader and this process's maps say about libraries.

use std::ffi::{OsStr, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The loader's own words, without the path that an error names anyway.
pub(crate) fn words(file: &Path, error: &libloading::Error) -> String {
    let words = std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string);
    let prefix = format!("{}: ", file.display());
    words
        .strip_prefix(&prefix)
        .map_or_else(|| words.clone(), str::to_owned)
}

/// The file whose mapping holds an address; a bare name given to the loader does not say.
pub(crate) fn file_of(address: *const c_void) -> Option<PathBuf> {
    let maps = std::fs::read("/proc/self/maps").ok()?;
    lines(&maps).find_map(|line| {
        let (range, path) = mapping(line)?;
        range.contains(&address.addr()).then_some(path)
    })
}

/// The files of this process whose names begin so, each once.
pub(crate) fn mapped(stem: &str) -> Vec<PathBuf> {
    let maps = std::fs::read("/proc/self/maps").unwrap_or_default();
    mapped_in(&maps, stem)
}

fn mapped_in(maps: &[u8], stem: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for (_, path) in lines(maps).filter_map(mapping) {
        let name = path.file_name().unwrap_or_default().as_bytes();
        let is_it = name
            .strip_prefix(stem.as_bytes())
            .is_some_and(|rest| rest.is_empty() || rest[0] == b'.');
        if is_it && !found.contains(&path) {
            found.push(path);
        }
    }
    found
}

fn lines(maps: &[u8]) -> impl Iterator<Item = &[u8]> {
    maps.split(|byte| *byte == b'\n')
}

/// Range and file of one line: `start-end perms offset dev inode          path (which may hold blanks)`.
fn mapping(line: &[u8]) -> Option<(std::ops::Range<usize>, PathBuf)> {
    let range = line.get(..line.iter().position(|byte| *byte == b' ')?)?;
    let (start, end) = std::str::from_utf8(range).ok()?.split_once('-')?;
    let range = usize::from_str_radix(start, 16).ok()?..usize::from_str_radix(end, 16).ok()?;
    let path = line.get(line.iter().position(|byte| *byte == b'/')?..)?;
    Some((range, PathBuf::from(OsStr::from_bytes(path))))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &[u8] = b"7f00-7fff r-xp 00000000 08:01 42        /opt/a folder/libcupti.so.13\n\
        8000-9000 rw-p 00000000 00:00 0 \n\
        9000-a000 r--p 00001000 08:01 42        /opt/a folder/libcupti.so.13\n\
        a000-b000 r--p 00001000 08:01 43        /usr/lib/libcupti.so.2024.1.1\n\
        b000-c000 r--p 00001000 08:01 44        /usr/lib/libcuptisomething.so\n";

    #[test]
    fn a_line_gives_the_file_that_holds_an_address() {
        let line = MAPS.split(|byte| *byte == b'\n').next().expect("a line");
        let (range, path) = mapping(line).expect("a mapping");
        assert_eq!((range.start, range.end), (0x7f00, 0x7fff));
        assert_eq!(path, Path::new("/opt/a folder/libcupti.so.13"));
        assert_eq!(mapping(b"8000-9000 rw-p 00000000 00:00 0 "), None);
        assert_eq!(mapping(b""), None);
    }

    #[test]
    fn libraries_of_a_name_are_found_once_each() {
        let found = mapped_in(MAPS, "libcupti.so");
        let wanted = ["/opt/a folder/libcupti.so.13", "/usr/lib/libcupti.so.2024.1.1"];
        assert_eq!(found, wanted.map(PathBuf::from));
    }
}
