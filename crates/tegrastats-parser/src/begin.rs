//! Where a line's own text begins: behind a user's prefix and the stamp.

use crate::cursor::{is_blank, Cursor};
use crate::fields;
use crate::sample::Timestamp;

/// Where tegrastats's own text begins, and what stands before it.
pub(crate) struct Begin<'a> {
    pub(crate) prefix: Option<&'a str>,
    pub(crate) timestamp: Option<Timestamp>,
    /// First byte behind the stamp, if there is one, and behind blanks.
    pub(crate) at: usize,
    /// Where the memory field begins.
    pub(crate) ram: Option<usize>,
}

impl<'a> Begin<'a> {
    pub(crate) fn find(line: &'a str) -> Self {
        if let Some(at) = find_ram(line) {
            return Self {
                ram: Some(at),
                ..Self::at(line, at)
            };
        }
        // No memory field. The stamp still counts where it stands first.
        let mut cur = Cursor::new(line, 0);
        cur.skip_blanks();
        let start = cur.at();
        let timestamp = line.get(start..start + STAMP_LEN).and_then(fields::timestamp);
        if timestamp.is_some() {
            cur = Cursor::new(line, start + STAMP_LEN);
            cur.skip_blanks();
        }
        Self {
            prefix: None,
            timestamp,
            at: cur.at(),
            ram: None,
        }
    }

    /// The first field is at byte `at`: what stands before is the stamp, and before that the prefix.
    pub(crate) fn at(line: &'a str, at: usize) -> Self {
        let (prefix, timestamp) = split_stamp(line.get(..at).unwrap_or_default());
        Self {
            prefix: (!prefix.bytes().all(is_blank)).then_some(prefix),
            timestamp,
            at,
            ram: None,
        }
    }

    /// The memory field, where other fields may stand before it: text without a stamp does, and a blank parts them.
    pub(crate) fn ram_behind_text(&self, line: &str) -> Option<usize> {
        let at = self
            .ram
            .filter(|_| self.prefix.is_some() && self.timestamp.is_none())?;
        let parted = line
            .as_bytes()
            .get(at.checked_sub(1)?)
            .copied()
            .is_some_and(is_blank);
        parted.then_some(at)
    }

    /// Whether the line may have lost its left part, in the middle of a name even: nothing says that it begins here.
    pub(crate) fn is_open(&self) -> bool {
        self.ram.is_none() && self.timestamp.is_none()
    }
}

const STAMP_LEN: usize = "MM-DD-YYYY HH:MM:SS".len();

/// Splits off a stamp at the end of `before`.
fn split_stamp(before: &str) -> (&str, Option<Timestamp>) {
    let text = before.trim_end_matches(|c: char| u8::try_from(c).is_ok_and(is_blank));
    let stamp = text
        .len()
        .checked_sub(STAMP_LEN)
        .and_then(|at| Some((at, fields::timestamp(text.get(at..)?)?)));
    match stamp {
        // A digit in front would make it the tail of something else.
        Some((at, stamp))
            if !text.as_bytes()[..at]
                .last()
                .is_some_and(u8::is_ascii_alphanumeric) =>
        {
            (text.get(..at).unwrap_or_default(), Some(stamp))
        }
        _ => (before, None),
    }
}

/// First `RAM` as a word of its own with `used/` behind it. The word alone may stand in a user's prefix.
fn find_ram(line: &str) -> Option<usize> {
    // Where tegrastats puts it: first, or behind the stamp.
    let usual = [0, STAMP_LEN + 1].into_iter().find(|at| ram_at(line, *at));
    usual.or_else(|| {
        line.match_indices('R')
            .map(|(at, _)| at)
            .find(|at| ram_at(line, *at))
    })
}

#[inline]
fn ram_at(line: &str, at: usize) -> bool {
    let mut cur = Cursor::new(line, at);
    if cur.eat_text("RAM").is_none() || !cur.token_ends() {
        return false;
    }
    let in_word = at > 0
        && line
            .as_bytes()
            .get(at - 1)
            .is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
    cur.skip_blanks();
    !in_word && cur.number().is_some() && cur.eat(b'/').is_some()
}
