//! Messages written anew field by field: what nobody asks for is copied as it is, known or not.

use std::io::Cursor;

use super::wire::{Content, Wire};
use crate::error::WorkError;

/// A field's content within the bytes of its message.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Piece<'a> {
    Number(u64),
    Four([u8; 4]),
    Eight([u8; 8]),
    Bytes(&'a [u8]),
}

/// What becomes of a field.
pub(crate) enum Fate {
    Copied,
    Dropped,
    /// Replaced by these bytes, as the same field.
    Bytes(Vec<u8>),
}

/// Reads the fields of a message in order.
///
/// # Errors
/// It is no message, or what `each` says.
pub(crate) fn fields<'a>(
    message: &'a [u8],
    mut each: impl FnMut(u64, Piece<'a>) -> Result<(), WorkError>,
) -> Result<(), WorkError> {
    let mut wire = Wire::new(Cursor::new(message));
    wire.message(message.len() as u64, |wire, field, content| {
        let piece = match content {
            Content::Number(number) => Piece::Number(number),
            Content::Four(bytes) => Piece::Four(bytes),
            Content::Eight(bytes) => Piece::Eight(bytes),
            Content::Bytes(length) => {
                let begin = usize::try_from(wire.at()).unwrap_or(usize::MAX);
                let end = begin.saturating_add(usize::try_from(length).unwrap_or(usize::MAX));
                let bytes = message.get(begin..end);
                Piece::Bytes(bytes.ok_or_else(|| wire.damaged("a field is longer than its message"))?)
            }
        };
        each(field, piece)
    })
}

/// Appends a message to `out`, with what `each` makes of its fields.
///
/// # Errors
/// As [`fields`].
pub(crate) fn splice<'a>(
    message: &'a [u8],
    out: &mut Vec<u8>,
    mut each: impl FnMut(u64, Piece<'a>) -> Result<Fate, WorkError>,
) -> Result<(), WorkError> {
    fields(message, |field, piece| {
        match each(field, piece)? {
            Fate::Copied => put(out, field, piece),
            Fate::Dropped => {}
            Fate::Bytes(bytes) => put(out, field, Piece::Bytes(&bytes)),
        }
        Ok(())
    })
}

/// Appends a field.
pub(crate) fn put(out: &mut Vec<u8>, field: u64, piece: Piece) {
    match piece {
        Piece::Number(number) => {
            varint(out, field << 3);
            varint(out, number);
        }
        Piece::Eight(bytes) => {
            varint(out, field << 3 | 1);
            out.extend(bytes);
        }
        Piece::Bytes(bytes) => {
            varint(out, field << 3 | 2);
            varint(out, bytes.len() as u64);
            out.extend(bytes);
        }
        Piece::Four(bytes) => {
            varint(out, field << 3 | 5);
            out.extend(bytes);
        }
    }
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// The text of a field as the rest of the crate reads names.
///
/// # Errors
/// It is a number, or too long.
pub(crate) fn text(piece: Piece) -> Result<String, WorkError> {
    match piece {
        Piece::Bytes(bytes) => Wire::new(Cursor::new(bytes)).text(&Content::Bytes(bytes.len() as u64)),
        _ => Wire::new(Cursor::new(&[][..])).text(&Content::Number(0)),
    }
}

/// The whole numbers of a field, one or a packed list.
///
/// # Errors
/// They are cut off, or too many.
pub(crate) fn ints(piece: Piece, into: &mut Vec<i64>) -> Result<(), WorkError> {
    match piece {
        Piece::Bytes(bytes) => Wire::new(Cursor::new(bytes)).ints(&Content::Bytes(bytes.len() as u64), into),
        Piece::Number(number) => {
            into.push(number.cast_signed());
            Ok(())
        }
        Piece::Four(_) | Piece::Eight(_) => {
            Wire::new(Cursor::new(&[][..])).ints(&Content::Four([0; 4]), into)
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn piece() -> impl Strategy<Value = (u64, Vec<u8>, u8)> {
        (1_u64..1000, prop::collection::vec(any::<u8>(), 0..40), 0_u8..4)
    }

    proptest! {
        #[test]
        fn what_nobody_asks_for_is_copied_as_it_is(all in prop::collection::vec(piece(), 0..20)) {
            let mut message = Vec::new();
            for (field, bytes, kind) in &all {
                let number = bytes.len() as u64 * 0x1234_5678_9abc;
                put(&mut message, *field, match kind {
                    0 => Piece::Number(number),
                    1 => Piece::Eight(number.to_le_bytes()),
                    2 => Piece::Four((number as u32).to_le_bytes()),
                    _ => Piece::Bytes(bytes),
                });
            }
            let mut copy = Vec::new();
            splice(&message, &mut copy, |_, _| Ok(Fate::Copied)).unwrap();
            prop_assert_eq!(copy, message);
        }

        #[test]
        fn bytes_that_are_no_message_are_an_error_and_no_panic(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let mut copy = Vec::new();
            let _ = splice(&bytes, &mut copy, |_, _| Ok(Fate::Copied));
        }
    }
}
