//! Colours of a Bayer mosaic, by bilinear interpolation.
//!
//! Each sample of the sensor is of one colour. At a red sample, green is the mean of the four beside it and blue of the four at
//! its corners; at a green one, red and blue are each the mean of two. Beyond the border, the samples are mirrored about the
//! outermost row or column, which keeps their colours. Means are rounded to the nearest.

use super::Rows;

/// Samples of a row whose means are made together, which the compiler makes of it one instruction for many.
const BLOCK: usize = 64;

/// `red_x` and `red_y` say at which column and row of a square of two by two the red sample is. There are two rows and columns at
/// least.
pub(super) fn demosaic(rows: &Rows<'_>, red_x: usize, red_y: usize, rgb: &mut [u8]) {
    let (width, height) = (rows.width, rows.height);
    for (y, out) in rgb.chunks_exact_mut(width * 3).enumerate() {
        let three = [mirrored_before(y), y, mirrored_after(y, height)].map(|y| rows.row(y));
        let line = Line {
            is_red: y % 2 == red_y,
            red_x,
        };
        let pixels = out.as_chunks_mut::<3>().0;
        for (x, beside) in [(0, 1), (width - 1, width - 2)] {
            let samples = three.map(|row| [row[beside], row[x], row[beside]]);
            line.convert(samples.each_ref().map(|row| &row[..]), x, &mut pixels[x..=x]);
        }
        for from in (1..width - 1).step_by(BLOCK) {
            let to = (from + BLOCK).min(width - 1);
            let samples = three.map(|row| &row[from - 1..=to]);
            line.convert(samples, from, &mut pixels[from..to]);
        }
    }
}

fn mirrored_before(at: usize) -> usize {
    if at == 0 { 1 } else { at - 1 }
}

fn mirrored_after(at: usize, end: usize) -> usize {
    if at + 1 == end { at - 1 } else { at + 1 }
}

/// A row of the mosaic: red and green samples, or green and blue ones.
struct Line {
    is_red: bool,
    red_x: usize,
}

impl Line {
    /// Makes the pixels from column `x` on, at most [`BLOCK`], from samples of three rows that begin one column before and end one
    /// after.
    #[inline]
    fn convert(&self, [above, row, below]: [&[u8]; 3], x: usize, out: &mut [[u8; 3]]) {
        let count = out.len().min(BLOCK);
        let [above, row, below] =
            [above, row, below].map(|row| [0, 1, 2].map(|shift| &row[shift..shift + count]));
        let mut means = [[0; BLOCK]; 4];
        let [cross, corners, beside, vertical] = &mut means;
        for i in 0..count {
            cross[i] = mean([above[1][i], below[1][i], row[0][i], row[2][i]]);
            corners[i] = mean([above[0][i], above[2][i], below[0][i], below[2][i]]);
            beside[i] = mean([row[0][i], row[2][i]]);
            vertical[i] = mean([above[1][i], below[1][i]]);
        }
        // Red samples are in red rows, blue ones in the others at the other columns.
        let first = usize::from((x % 2 == self.red_x) != self.is_red);
        let mut set = |i: usize, own: u8, green: u8, other: u8| {
            out[i] = if self.is_red {
                [own, green, other]
            } else {
                [other, green, own]
            };
        };
        (first..count)
            .step_by(2)
            .for_each(|i| set(i, row[1][i], cross[i], corners[i]));
        (1 - first..count)
            .step_by(2)
            .for_each(|i| set(i, beside[i], row[1][i], vertical[i]));
    }
}

#[inline]
fn mean<const N: usize>(samples: [u8; N]) -> u8 {
    let half = N as u16 / 2;
    let sum = samples
        .iter()
        .fold(half, |sum, sample| sum.wrapping_add(u16::from(*sample)));
    (sum / N as u16) as u8
}
