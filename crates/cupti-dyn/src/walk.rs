//! Walks over the records of a buffer: bytes in, slices out, and where it had to stop.
//!
//! Records follow each other without a header; each begins with its kind, and how long it is only the library that wrote it
//! knows. So the walk takes a function from kind to length, and is pure: what stands in the bytes can neither make it panic
//! nor read beyond them.

use crate::sys::Kind;

/// How long the records of each kind are.
pub trait Lengths {
    /// The length in bytes; none for a kind that is not known.
    fn length(&self, kind: Kind) -> Option<usize>;
}

impl<F: Fn(Kind) -> Option<usize>> Lengths for F {
    fn length(&self, kind: Kind) -> Option<usize> {
        self(kind)
    }
}

/// One record as it lies in the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raw<'a> {
    /// Its kind.
    pub kind: Kind,
    /// All of it, the kind included.
    pub bytes: &'a [u8],
}

/// Why a walk ended before the end of the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Nobody knows how long a record of this kind is, so what follows cannot be found.
    UnknownKind {
        /// The kind.
        kind: Kind,
        /// Where the record begins.
        at: usize,
        /// Bytes that were not read.
        left: usize,
    },
    /// The record is longer than what is left of the buffer.
    Cut {
        /// The kind; 0 where not even that is whole.
        kind: Kind,
        /// Where the record begins.
        at: usize,
        /// How long it should be.
        wanted: usize,
        /// Bytes that were not read.
        left: usize,
    },
}

impl Stop {
    /// Bytes that were not read.
    #[must_use]
    pub fn left(self) -> usize {
        match self {
            Self::UnknownKind { left, .. } | Self::Cut { left, .. } => left,
        }
    }
}

/// The records of a buffer, in order.
#[derive(Clone, Debug)]
pub struct Walk<'a, L> {
    bytes: &'a [u8],
    at: usize,
    lengths: L,
    stop: Option<Stop>,
}

impl<'a, L: Lengths> Walk<'a, L> {
    /// Over the valid part of a buffer.
    pub fn new(bytes: &'a [u8], lengths: L) -> Self {
        Self {
            bytes,
            at: 0,
            lengths,
            stop: None,
        }
    }

    /// Why it ended, if that was before the end.
    #[must_use]
    pub fn stop(&self) -> Option<Stop> {
        self.stop
    }
}

/// What a record at least has: its kind. Less would not get ahead.
const LEAST: usize = size_of::<u32>();

impl<'a, L: Lengths> Iterator for Walk<'a, L> {
    type Item = Raw<'a>;

    fn next(&mut self) -> Option<Raw<'a>> {
        let rest = &self.bytes[self.at..];
        if rest.is_empty() || self.stop.is_some() {
            return None;
        }
        let (at, left) = (self.at, rest.len());
        let Some(kind) = rest.first_chunk().map(|word| Kind(u32::from_ne_bytes(*word))) else {
            let (kind, wanted) = (Kind(0), LEAST);
            self.stop = Some(Stop::Cut {
                kind,
                at,
                wanted,
                left,
            });
            return None;
        };
        let length = self.lengths.length(kind).filter(|length| *length >= LEAST);
        let Some(wanted) = length else {
            self.stop = Some(Stop::UnknownKind { kind, at, left });
            return None;
        };
        let Some(bytes) = rest.get(..wanted) else {
            self.stop = Some(Stop::Cut {
                kind,
                at,
                wanted,
                left,
            });
            return None;
        };
        self.at += wanted;
        Some(Raw { kind, bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn length(kind: Kind) -> Option<usize> {
        match kind.0 {
            5 => Some(40),
            37 => Some(24),
            99 => Some(0),
            _ => None,
        }
    }

    fn buffer(kinds: &[(u32, usize)]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (kind, length) in kinds {
            let end = bytes.len() + length;
            bytes.extend(kind.to_ne_bytes());
            bytes.resize(end, 0);
        }
        bytes
    }

    #[test]
    fn records_come_one_after_the_other() {
        let bytes = buffer(&[(5, 40), (37, 24), (5, 40)]);
        let mut walk = Walk::new(&bytes, length);
        let kinds: Vec<u32> = walk.by_ref().map(|raw| raw.kind.0).collect();
        assert_eq!(kinds, [5, 37, 5]);
        assert_eq!(walk.stop(), None);
    }

    #[test]
    fn a_record_that_is_cut_ends_the_walk_and_is_told() {
        let bytes = buffer(&[(37, 24), (5, 39)]);
        let mut walk = Walk::new(&bytes, length);
        assert_eq!(walk.by_ref().count(), 1);
        let (kind, at) = (Kind::RUNTIME, 24);
        assert_eq!(
            walk.stop(),
            Some(Stop::Cut {
                kind,
                at,
                wanted: 40,
                left: 39
            })
        );
        let mut walk = Walk::new(&[1, 2], length);
        assert_eq!(walk.next(), None);
        assert_eq!(walk.stop().map(Stop::left), Some(2));
    }

    #[test]
    fn a_kind_without_a_length_ends_it_too_and_one_of_no_length_does_not_hang_it() {
        for kind in [4711, 99, 0] {
            let bytes = buffer(&[(5, 40), (kind, 24), (5, 40)]);
            let mut walk = Walk::new(&bytes, length);
            assert_eq!(walk.by_ref().count(), 1);
            let kind = Kind(kind);
            assert_eq!(
                walk.stop(),
                Some(Stop::UnknownKind {
                    kind,
                    at: 40,
                    left: 64
                })
            );
        }
    }
}
