//! The numbers of a weight in the file: read, measured, and written with fewer channels.

use std::borrow::Cow;

use crate::element::Element;
use crate::error::WorkError;
use crate::onnx::splice::{Fate, Piece, fields, ints, put, splice};
use crate::onnx::{Data, from_raw};
use crate::value::product;

/// Bytes of an element; none of those that share a byte, or are text.
pub(super) fn width(element: Element) -> Option<usize> {
    let bits = element.bits().filter(|_| element != Element::String)?;
    (bits > 0 && bits % 8 == 0).then_some(bits as usize / 8)
}

/// A tensor's message as rows of little-endian numbers, `width` bytes each, however the file has them.
///
/// # Errors
/// The message is damaged, or has another number of elements than its dimensions.
pub(super) fn raw<'a>(message: &'a [u8], width: usize, dims: &[u64]) -> Result<Cow<'a, [u8]>, WorkError> {
    let mut raw: Cow<[u8]> = Cow::Borrowed(&[]);
    fields(message, |field, piece| {
        match (field, piece) {
            // Singles and doubles lie in a packed list as they do in a tensor.
            (4 | 9 | 10, Piece::Bytes(bytes)) if raw.is_empty() => raw = Cow::Borrowed(bytes),
            (4 | 9 | 10, Piece::Bytes(bytes)) => raw.to_mut().extend(bytes),
            (4, Piece::Four(bytes)) => raw.to_mut().extend(bytes),
            (10, Piece::Eight(bytes)) => raw.to_mut().extend(bytes),
            (5 | 7 | 11, piece) => {
                let mut numbers = Vec::new();
                ints(piece, &mut numbers)?;
                for number in numbers {
                    let bytes = number.to_le_bytes();
                    raw.to_mut().extend(bytes.iter().take(width));
                }
            }
            _ => {}
        }
        Ok(())
    })?;
    let wanted = product(dims).and_then(|elements| elements.checked_mul(width as u64));
    match wanted == Some(raw.len() as u64) {
        true => Ok(raw),
        false => Err(WorkError::Damaged {
            at: 0,
            problem: format!(
                "a tensor of {dims:?} elements of {width} bytes has {} bytes",
                raw.len()
            ),
        }),
    }
}

/// The rows that stay, on each axis those that its list keeps.
pub(super) fn select(raw: &[u8], dims: &[u64], keeps: &[Option<Vec<bool>>]) -> Vec<u8> {
    let mut out = Vec::new();
    take(raw, dims, keeps, &mut out);
    out
}

fn take(raw: &[u8], dims: &[u64], keeps: &[Option<Vec<bool>>], out: &mut Vec<u8>) {
    let (Some((size, dims)), Some((keep, keeps))) = (dims.split_first(), keeps.split_first()) else {
        out.extend(raw);
        return;
    };
    if keep.is_none() && keeps.iter().all(Option::is_none) {
        out.extend(raw);
        return;
    }
    let each = raw.len() / (*size).max(1) as usize;
    if each == 0 {
        return;
    }
    for (at, row) in raw.chunks(each).enumerate() {
        if keep.as_ref().is_none_or(|keep| keep.get(at) == Some(&true)) {
            take(row, dims, keeps, out);
        }
    }
}

/// The sum of absolute numbers at each place of an axis; none for elements that are no plain numbers.
pub(super) fn norms(raw: &[u8], element: Element, dims: &[u64], axis: usize) -> Option<Vec<f64>> {
    let size = *dims.get(axis)? as usize;
    let behind = product(dims.get(axis + 1..)?)? as usize * width(element)?;
    let mut sums = vec![0.0; size];
    if behind == 0 {
        return Some(sums);
    }
    for (at, row) in raw.chunks(behind).enumerate() {
        let sum: f64 = match from_raw(element, row)? {
            Data::Floats(numbers) => numbers.iter().map(|number| number.abs()).sum(),
            Data::Ints(numbers) => numbers.iter().map(|number| (*number as f64).abs()).sum(),
        };
        if let Some(own) = sums.get_mut(at % size) {
            *own += sum;
        }
    }
    Some(sums)
}

/// The message of a tensor with other dimensions and numbers; whatever else it says stays.
///
/// # Errors
/// It is damaged.
pub(super) fn rewritten(message: &[u8], dims: &[u64], raw: &[u8]) -> Result<Vec<u8>, WorkError> {
    let mut out = Vec::with_capacity(raw.len() + 64);
    for dim in dims {
        put(&mut out, 1, Piece::Number(*dim));
    }
    splice(message, &mut out, |field, _| {
        Ok(match field {
            1 | 4 | 5 | 7 | 9 | 10 | 11 => Fate::Dropped,
            _ => Fate::Copied,
        })
    })?;
    put(&mut out, 9, Piece::Bytes(raw));
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_taken_on_every_axis() {
        let raw: Vec<u8> = (0..24).collect();
        let keeps = [None, Some(vec![true, false, true]), Some(vec![false, true])];
        assert_eq!(select(&raw, &[2, 3, 2], &keeps), [2, 3, 10, 11, 14, 15, 22, 23]);
        assert_eq!(select(&raw, &[2, 3, 2], &[None, None, None]), raw);
    }

    #[test]
    fn numbers_are_read_from_every_field_that_has_them() {
        let mut packed = Vec::new();
        put(
            &mut packed,
            4,
            Piece::Bytes(&[1.5_f32.to_le_bytes(), 2.0_f32.to_le_bytes()].concat()),
        );
        let mut single = Vec::new();
        put(&mut single, 4, Piece::Four(1.5_f32.to_le_bytes()));
        put(&mut single, 4, Piece::Four(2.0_f32.to_le_bytes()));
        assert_eq!(raw(&packed, 4, &[2]).unwrap(), raw(&single, 4, &[2]).unwrap());
        let mut halves = Vec::new();
        put(&mut halves, 5, Piece::Number(0x3c00));
        put(&mut halves, 5, Piece::Number(0xc000));
        let halves = raw(&halves, 2, &[2]).unwrap().into_owned();
        assert_eq!(norms(&halves, Element::Float16, &[2], 0).unwrap(), [1.0, 2.0]);
        assert!(raw(&packed, 4, &[3]).is_err());
    }

    #[test]
    fn norms_are_of_the_axis_that_is_asked_for() {
        let raw: Vec<u8> = [1.0_f32, -2.0, 3.0, -4.0]
            .iter()
            .flat_map(|x| x.to_le_bytes())
            .collect();
        assert_eq!(norms(&raw, Element::Float, &[2, 2], 0).unwrap(), [3.0, 7.0]);
        assert_eq!(norms(&raw, Element::Float, &[2, 2], 1).unwrap(), [4.0, 6.0]);
    }
}
