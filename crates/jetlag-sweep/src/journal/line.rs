//! One line of a journal: an entry with the checksum of its text.

use super::entry::Entry;

const HEAD: &str = "{\"crc32\":";
const MIDDLE: &str = ",\"entry\":";

/// The line of an entry, with its end.
///
/// # Errors
/// A figure is no number that JSON has.
pub fn encode(entry: &Entry) -> Result<String, serde_json::Error> {
    let text = serde_json::to_string(entry)?;
    let sum = crc32fast::hash(text.as_bytes());
    Ok(format!("{HEAD}{sum}{MIDDLE}{text}}}\n"))
}

/// Whether this is what a sudden end leaves of a line: its beginning, or nothing, and zeros that the disk has in the rest's place.
pub(super) fn is_half(line: &[u8]) -> bool {
    let zeros = line.iter().rev().take_while(|byte| **byte == 0).count();
    let begun = &line[..line.len() - zeros];
    begun.starts_with(HEAD.as_bytes()) || HEAD.as_bytes().starts_with(begun)
}

/// The entry of a line without its end; none where the line is not whole.
pub fn decode(line: &[u8]) -> Option<Entry> {
    let line = std::str::from_utf8(line).ok()?;
    let (sum, text) = line.strip_prefix(HEAD)?.split_once(MIDDLE)?;
    let text = text.strip_suffix('}')?;
    let sum: u32 = sum.parse().ok()?;
    if crc32fast::hash(text.as_bytes()) != sum {
        return None;
    }
    serde_json::from_str(text).ok()
}
