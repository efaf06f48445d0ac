//! The name of a range, made for each frame without an allocation.

use std::ffi::CStr;
use std::io::Write;

/// Longest name of a range, with the zero at its end; longer ones are cut.
const NAME_BYTES: usize = 128;

/// A name on the stack: a frame's name is made for each, and allocates nothing.
pub(super) struct Name {
    bytes: [u8; NAME_BYTES],
    length: usize,
}

impl Default for Name {
    fn default() -> Self {
        Name {
            bytes: [0; NAME_BYTES],
            length: 0,
        }
    }
}

impl Name {
    pub(super) fn as_c_str(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.bytes).unwrap_or(c"")
    }
}

impl Write for Name {
    fn write(&mut self, text: &[u8]) -> std::io::Result<usize> {
        // The last byte stays zero.
        let room = NAME_BYTES - 1 - self.length;
        let taken = text.len().min(room);
        self.bytes[self.length..self.length + taken].copy_from_slice(&text[..taken]);
        self.length += taken;
        Ok(text.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_cut_and_end() {
        let mut name = Name::default();
        let _ = write!(name, "{} {}", "x".repeat(200), 1);
        assert_eq!(name.as_c_str().to_bytes().len(), NAME_BYTES - 1);
    }
}
