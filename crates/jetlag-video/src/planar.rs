//! Planes of brightness and colour, as decoders have them (`yuv420p`: a brightness for each pixel, two colours for each four), made
//! into packed RGB. On the pipe they have half the bytes of RGB, and ffmpeg need not convert.
//!
//! The formulas are those of ITU-R BT.601 and BT.709 with 16 bits after the point: every value is the exact one, rounded. All four
//! pixels of a square have its colour, as in ffmpeg's own fast conversion.

use multiversion::multiversion;

use crate::size::Size;

/// Which numbers stand for black and white.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Range {
    /// 16 and 235; colours from 16 to 240.
    Limited,
    /// 0 and 255.
    Full,
}

/// How brightness and colours make red, green and blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matrix {
    /// Of standard definition, and of files that say nothing.
    Bt601,
    /// Of high definition.
    Bt709,
}

/// What a video's numbers mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colours {
    /// Which stand for black and white.
    pub range: Range,
    /// How they make red, green and blue.
    pub matrix: Matrix,
}

/// Planes as a decoder gives them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Planes {
    /// ffmpeg's name of them; by another name it would convert.
    pub(crate) format: &'static str,
    pub(crate) colours: Colours,
}

impl Planes {
    /// As a file describes itself in ffmpeg's words; none where ffmpeg is to convert. What a file leaves out is taken as ffmpeg
    /// takes it.
    pub(crate) fn of(pixels: &str, range: Option<&str>, matrix: Option<&str>) -> Option<Planes> {
        let (format, range) = match (pixels, range) {
            ("yuvj420p", _) => ("yuvj420p", Range::Full),
            ("yuv420p", Some("pc")) => ("yuv420p", Range::Full),
            ("yuv420p", _) => ("yuv420p", Range::Limited),
            _ => return None,
        };
        let matrix = match matrix {
            Some("bt709") => Matrix::Bt709,
            None | Some("unknown" | "smpte170m" | "bt470bg") => Matrix::Bt601,
            Some(_) => return None,
        };
        let colours = Colours { range, matrix };
        Some(Planes { format, colours })
    }
}

/// Bytes of such an image: brightness, then two planes of colours at half the width and height, rounded up.
pub(crate) fn bytes(size: Size) -> usize {
    let [(width, height), (halves, rows)] = sides(size);
    width * height + 2 * halves * rows
}

fn sides(size: Size) -> [(usize, usize); 2] {
    let (width, height) = (size.width() as usize, size.height() as usize);
    [(width, height), (width.div_ceil(2), height.div_ceil(2))]
}

/// Makes RGB of an image's planes. `planes` has [`bytes`] of the size, and `rgb` those of its RGB.
pub(crate) fn to_rgb(planes: &[u8], size: Size, colours: Colours, rgb: &mut [u8]) {
    let [(width, height), (halves, rows)] = sides(size);
    let (bright, colour) = planes.split_at(width * height);
    let (blue, red) = colour.split_at(halves * rows);
    let factors = Factors::of(colours);
    for (y, out) in rgb.chunks_exact_mut(width * 3).enumerate() {
        let half = (y / 2 * halves)..(y / 2 + 1) * halves;
        row(
            &bright[y * width..][..width],
            &blue[half.clone()],
            &red[half],
            out,
            factors,
        );
    }
}

/// In 65 536ths.
#[derive(Clone, Copy, Debug)]
struct Factors {
    black: i32,
    bright: i32,
    red: i32,
    green_of_blue: i32,
    green_of_red: i32,
    blue: i32,
}

const BITS: u32 = 16;

impl Factors {
    fn of(colours: Colours) -> Factors {
        let (black, bright, colour) = match colours.range {
            Range::Limited => (16, 255.0 / 219.0, 255.0 / 224.0),
            Range::Full => (0, 1.0, 1.0),
        };
        // What red and blue have of the brightness; green has the rest.
        let (red, blue): (f64, f64) = match colours.matrix {
            Matrix::Bt601 => (0.299, 0.114),
            Matrix::Bt709 => (0.2126, 0.0722),
        };
        let green = 1.0 - red - blue;
        let whole = |factor: f64| (factor * f64::from(1 << BITS)).round() as i32; // Below 3.
        Factors {
            black,
            bright: whole(bright),
            red: whole(2.0 * (1.0 - red) * colour),
            green_of_blue: whole(-2.0 * blue * (1.0 - blue) / green * colour),
            green_of_red: whole(-2.0 * red * (1.0 - red) / green * colour),
            blue: whole(2.0 * (1.0 - blue) * colour),
        }
    }
}

/// Pairs of pixels that are converted at once.
const PAIRS: usize = 32;

// Loops over arrays of a known length, one for each step, or they are not compiled to vectors.
#[multiversion(targets("x86_64+avx2"))]
fn row(bright: &[u8], blue: &[u8], red: &[u8], out: &mut [u8], factors: Factors) {
    let (steps, last) = bright.as_chunks::<{ 2 * PAIRS }>();
    // An odd width may fill the last step's colours and not its brightnesses.
    let (blues, last_blue) = blue.split_at(steps.len() * PAIRS);
    let (reds, last_red) = red.split_at(steps.len() * PAIRS);
    let (outs, last_out) = out.as_chunks_mut::<{ 6 * PAIRS }>();
    let colours = blues
        .as_chunks::<PAIRS>()
        .0
        .iter()
        .zip(reds.as_chunks::<PAIRS>().0);
    for ((bright, (blue, red)), out) in steps.iter().zip(colours).zip(outs) {
        pairs(bright, blue, red, out, factors);
    }
    if last.is_empty() {
        return;
    }
    let (mut bright, mut blue, mut red) = ([0; 2 * PAIRS], [0; PAIRS], [0; PAIRS]);
    let mut out = [0; 6 * PAIRS];
    bright[..last.len()].copy_from_slice(last);
    blue[..last_blue.len()].copy_from_slice(last_blue);
    red[..last_red.len()].copy_from_slice(last_red);
    pairs(&bright, &blue, &red, &mut out, factors);
    last_out.copy_from_slice(&out[..last_out.len()]);
}

#[inline(always)]
fn pairs(
    bright: &[u8; 2 * PAIRS],
    blue: &[u8; PAIRS],
    red: &[u8; PAIRS],
    out: &mut [u8; 6 * PAIRS],
    by: Factors,
) {
    const HALF: i32 = 1 << (BITS - 1);
    let mut colours = [[0_i32; 2 * PAIRS]; 3];
    for n in 0..PAIRS {
        let (b, r) = (i32::from(blue[n]) - 128, i32::from(red[n]) - 128);
        let of_pair = [
            by.red * r + HALF,
            by.green_of_blue * b + by.green_of_red * r + HALF,
            by.blue * b + HALF,
        ];
        for (colour, of_pair) in colours.iter_mut().zip(of_pair) {
            colour[2 * n] = of_pair;
            colour[2 * n + 1] = of_pair;
        }
    }
    let mut rgb = [[0_u8; 2 * PAIRS]; 3];
    for n in 0..2 * PAIRS {
        let bright = (i32::from(bright[n]) - by.black) * by.bright;
        for (rgb, colour) in rgb.iter_mut().zip(&colours) {
            rgb[n] = ((bright + colour[n]) >> BITS).clamp(0, 255) as u8;
        }
    }
    for n in 0..2 * PAIRS {
        for (k, rgb) in rgb.iter().enumerate() {
            out[3 * n + k] = rgb[n];
        }
    }
}

#[cfg(test)]
mod tests;
