//! Colours of a Bayer mosaic, by bilinear interpolation.
//!
//! Each sample of the sensor is of one colour. At a red sample, green is the mean of the four beside it and blue of the four at
//! its corners; at a green one, red and blue are each the mean of two. Beyond the border, the samples are mirrored about the
//! outermost row or column, which keeps their colours. Means are rounded to the nearest.

use super::Rows;

/// `red_x` and `red_y` say at which column and row of a square of two by two the red sample is. There are two rows and columns at
/// least.
pub(super) fn demosaic(rows: &Rows<'_>, red_x: usize, red_y: usize, rgb: &mut [u8]) {
    let (width, height) = (rows.width, rows.height);
    for (y, out) in rgb.chunks_exact_mut(width * 3).enumerate() {
        let [above, row, below] = [mirrored_before(y), y, mirrored_after(y, height)].map(|y| rows.row(y));
        let three = Three { above, row, below };
        let is_red_row = y % 2 == red_y;
        let mut pixel = |x: usize, before: usize, after: usize| {
            // Red samples are in red rows, blue ones in the others at the other columns.
            let is_own_colour = (x % 2 == red_x) == is_red_row;
            let at = [before, x, after];
            let (own, green, other) = match is_own_colour {
                true => (row[x], three.cross(at), three.corners(at)),
                false => (three.beside(at), row[x], three.above_below(at)),
            };
            let (red, blue) = if is_red_row { (own, other) } else { (other, own) };
            out[x * 3..][..3].copy_from_slice(&[red, green, blue]);
        };
        pixel(0, 1, 1);
        (1..width - 1).for_each(|x| pixel(x, x - 1, x + 1));
        pixel(width - 1, width - 2, width - 2);
    }
}

fn mirrored_before(at: usize) -> usize {
    if at == 0 { 1 } else { at - 1 }
}

fn mirrored_after(at: usize, end: usize) -> usize {
    if at + 1 == end { at - 1 } else { at + 1 }
}

struct Three<'a> {
    above: &'a [u8],
    row: &'a [u8],
    below: &'a [u8],
}

impl Three<'_> {
    fn cross(&self, [before, x, after]: [usize; 3]) -> u8 {
        mean([self.above[x], self.below[x], self.row[before], self.row[after]])
    }
    fn corners(&self, [before, _, after]: [usize; 3]) -> u8 {
        mean([
            self.above[before],
            self.above[after],
            self.below[before],
            self.below[after],
        ])
    }
    fn beside(&self, [before, _, after]: [usize; 3]) -> u8 {
        mean([self.row[before], self.row[after]])
    }
    fn above_below(&self, [_, x, _]: [usize; 3]) -> u8 {
        mean([self.above[x], self.below[x]])
    }
}

#[inline]
fn mean<const N: usize>(samples: [u8; N]) -> u8 {
    let sum: u32 = samples.iter().map(|sample| u32::from(*sample)).sum();
    ((sum + N as u32 / 2) / N as u32) as u8
}
