//! How a picture is to be turned: EXIF's orientation, read and applied as OpenCV's imread does, so that a detector sees
//! the picture as whoever trained it did.

use std::cell::RefCell;

/// The tag, and the length of a directory's entry.
const ORIENTATION: u16 = 0x0112;
const ENTRY: usize = 12;

thread_local! {
    /// The buffer of a picture that changes its sides, exchanged with the picture's own, so that none is allocated a frame.
    static OTHER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// EXIF's orientation from 1 to 8, of EXIF as a TIFF header and what follows; 1 is as stored, and whatever is not said.
///
/// The first directory counts, as far as it reaches, and the low half of the value whatever its type.
pub(super) fn orientation(exif: &[u8]) -> u8 {
    read(exif).filter(|value| (1..=8).contains(value)).unwrap_or(1) as u8
}

fn read(exif: &[u8]) -> Option<u16> {
    let is_little = match exif.get(..4)? {
        b"II*\0" => true,
        b"MM\0*" => false,
        _ => return None,
    };
    let pair = |at: usize| {
        let bytes = exif.get(at..at.checked_add(2)?)?.try_into().ok()?;
        Some(match is_little {
            true => u16::from_le_bytes(bytes),
            false => u16::from_be_bytes(bytes),
        })
    };
    let (first, second) = (pair(4)?, pair(6)?);
    let [low, high] = if is_little {
        [first, second]
    } else {
        [second, first]
    };
    let begin = usize::from(high) << 16 | usize::from(low);
    let entries = usize::from(pair(begin)?);
    for entry in 0..entries {
        let at = begin + 2 + entry * ENTRY;
        if pair(at)? == ORIENTATION {
            return pair(at + 8);
        }
    }
    None
}

/// Turns an RGB picture of this width and height as its orientation says; returns its sides then.
pub(super) fn turn(rgb: &mut Vec<u8>, [width, height]: [usize; 2], orientation: u8) -> [usize; 2] {
    let (pixels, _) = rgb.as_chunks_mut::<3>();
    match orientation {
        2 => pixels.chunks_exact_mut(width).for_each(<[_]>::reverse),
        3 => pixels.reverse(),
        4 => {
            for upper in 0..height / 2 {
                let (above, below) = pixels.split_at_mut((height - 1 - upper) * width);
                above[upper * width..][..width].swap_with_slice(&mut below[..width]);
            }
        }
        5..=8 => {
            // Of the stored picture: from its right end, and from its bottom.
            let (mirrored, flipped) = (matches!(orientation, 7 | 8), matches!(orientation, 6 | 7));
            OTHER.with_borrow_mut(|other| {
                other.resize(rgb.len(), 0);
                exchange(rgb, other, [width, height], mirrored, flipped);
                std::mem::swap(rgb, other);
            });
            return [height, width];
        }
        _ => {}
    }
    [width, height]
}

/// Makes columns of rows. In tiles, because one of the two is always passed through by its rows' length.
fn exchange(from: &[u8], to: &mut [u8], [width, height]: [usize; 2], mirrored: bool, flipped: bool) {
    const TILE: usize = 32;
    let ((from, _), (to, _)) = (from.as_chunks::<3>(), to.as_chunks_mut::<3>());
    for top in (0..height).step_by(TILE) {
        for left in (0..width).step_by(TILE) {
            for y in top..height.min(top + TILE) {
                let column = if flipped { height - 1 - y } else { y };
                for x in left..width.min(left + TILE) {
                    let row = if mirrored { width - 1 - x } else { x };
                    to[row * height + column] = from[y * width + x];
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where the pixel at (x, y) of a stored picture comes to lie, by EXIF's words for each orientation: the side at which
    /// the stored first row and the stored first column are seen.
    fn place(x: usize, y: usize, [width, height]: [usize; 2], orientation: u8) -> [usize; 2] {
        let (right, bottom) = (width - 1 - x, height - 1 - y);
        match orientation {
            2 => [right, y],      // row at the top, column at the right
            3 => [right, bottom], // bottom, right
            4 => [x, bottom],     // bottom, left
            5 => [y, x],          // left, top
            6 => [bottom, x],     // right, top
            7 => [bottom, right], // right, bottom
            8 => [y, right],      // left, bottom
            _ => [x, y],
        }
    }

    #[test]
    fn each_orientation_turns_every_pixel_to_its_place() {
        for (sides, orientation) in [[70, 41], [1, 5], [5, 1], [32, 64], [2, 2]]
            .into_iter()
            .flat_map(|sides| (0..=9).map(move |orientation| (sides, orientation)))
        {
            let [width, height] = sides;
            let stored: Vec<u8> = (0..width * height * 3).map(|i| (i * 7 % 251) as u8).collect();
            let mut rgb = stored.clone();
            let [wide, high] = turn(&mut rgb, sides, orientation);
            assert_eq!((wide * high, rgb.len()), (width * height, stored.len()));
            for (i, pixel) in stored.chunks_exact(3).enumerate() {
                let [x, y] = place(i % width, i / width, sides, orientation);
                assert_eq!(rgb[(y * wide + x) * 3..][..3], *pixel, "{sides:?} {orientation}");
            }
        }
    }

    #[test]
    fn exif_that_says_nothing_or_is_damaged_leaves_the_picture_as_it_is() {
        let whole = b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0";
        assert_eq!(orientation(whole), 6);
        for end in 0..20 {
            assert_eq!(orientation(&whole[..end]), 1, "cut at {end}");
        }
        for (at, byte) in (0..whole.len()).flat_map(|at| [(at, 0), (at, 0xFF), (at, 0x2A)]) {
            let mut bytes = *whole;
            bytes[at] = byte;
            assert!((1..=8).contains(&orientation(&bytes)));
        }
        assert_eq!(orientation(b"MM\0*\xFF\xFF\xFF\xFF"), 1);
    }
}
