//! Reading at a position. Several readers share one open file, so that none may move it; and a file that becomes shorter while
//! it is read gives fewer bytes, where a mapped one would end the process.

use std::fs::File;
use std::io::{ErrorKind, Result};

#[cfg(unix)]
use std::os::unix::fs::FileExt;

#[cfg(unix)]
fn once(file: &File, at: u64, into: &mut [u8]) -> Result<usize> {
    file.read_at(into, at)
}

#[cfg(windows)]
fn once(file: &File, at: u64, into: &mut [u8]) -> Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, into, at)
}

/// Fills `into` from a position, or as much of it as the file has; how much that was.
pub(crate) fn read_at(file: &File, at: u64, into: &mut [u8]) -> Result<usize> {
    let mut filled = 0;
    while filled < into.len() {
        match once(file, at.saturating_add(filled as u64), &mut into[filled..]) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Makes `buffer` this long, without clearing what was used before: the caller overwrites it.
pub(crate) fn resize_for_overwriting(buffer: &mut Vec<u8>, length: usize) {
    if buffer.len() < length {
        buffer.resize(length, 0);
    } else {
        buffer.truncate(length);
    }
}

/// Bytes that a [`Window`] reads at once: the headers of many small records, and little of a large one.
const WINDOW: usize = 16 << 10;

/// Walks over a file, reading small pieces at growing positions with few calls.
pub(crate) struct Window<'a> {
    file: &'a File,
    start: u64,
    bytes: Vec<u8>,
}

impl<'a> Window<'a> {
    pub(crate) fn new(file: &'a File) -> Self {
        Window {
            file,
            start: 0,
            bytes: Vec::new(),
        }
    }

    /// The `length` bytes at a position; fewer where the file ends. The caller has bounded `length`.
    pub(crate) fn get(&mut self, at: u64, length: usize) -> Result<&[u8]> {
        let within = at
            .checked_sub(self.start)
            .and_then(|skip| usize::try_from(skip).ok());
        let from = match within {
            Some(skip)
                if skip
                    .checked_add(length)
                    .is_some_and(|end| end <= self.bytes.len()) =>
            {
                skip
            }
            _ => {
                resize_for_overwriting(&mut self.bytes, length.max(WINDOW));
                let got = read_at(self.file, at, &mut self.bytes)?;
                self.bytes.truncate(got);
                self.start = at;
                0
            }
        };
        let end = self.bytes.len().min(from + length);
        Ok(&self.bytes[from..end])
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_window_gives_what_lies_at_a_position_whatever_was_read_before() {
        let bytes: Vec<u8> = (0..100_000u32).map(|n| (n % 251) as u8).collect();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&bytes).unwrap();
        let mut window = Window::new(&file);
        for (at, length) in [
            (0, 9),
            (9, 22),
            (16_380, 40),
            (5, 3),
            (99_990, 50),
            (50, 70_000),
            (200_000, 4),
        ] {
            let wanted = &bytes[at.min(bytes.len())..(at + length).min(bytes.len())];
            assert_eq!(window.get(at as u64, length).unwrap(), wanted, "{length} at {at}");
        }
        assert!(window.get(u64::MAX - 3, 9).is_ok_and(<[u8]>::is_empty) || cfg!(unix));
    }
}
