//! Pairs of pixels with a brightness each and one colour for both, after ITU-R BT.601 in the range of video: black is 16, white 235.
//!
//! The coefficients have 20 bits after the point and are OpenCV's, so that what a robot's node sees with `cv_bridge` is seen here.

const BITS: i32 = 20;
const Y: i32 = 1_220_542;
const RED_V: i32 = 1_673_527;
const GREEN_U: i32 = -409_993;
const GREEN_V: i32 = -852_492;
const BLUE_U: i32 = 2_116_026;

/// A row of pairs, U Y V Y or Y U Y V.
pub(super) fn row(row: &[u8], is_luma_first: bool, out: &mut [u8]) {
    let pairs = row.as_chunks::<4>().0;
    for (pair, out) in pairs.iter().zip(out.as_chunks_mut::<6>().0) {
        let [y0, u, y1, v] = match is_luma_first {
            true => *pair,
            false => [pair[1], pair[0], pair[3], pair[2]],
        };
        pair_of([y0, y1], u, v, out);
    }
}

/// A row whose brightness and colours lie apart, U V or V U for each pair.
pub(super) fn planes(luma: &[u8], colours: &[u8], is_u_first: bool, out: &mut [u8]) {
    let pairs = luma.as_chunks::<2>().0.iter().zip(colours.as_chunks::<2>().0);
    for ((luma, colour), out) in pairs.zip(out.as_chunks_mut::<6>().0) {
        let [u, v] = match is_u_first {
            true => *colour,
            false => [colour[1], colour[0]],
        };
        pair_of(*luma, u, v, out);
    }
}

fn pair_of(luma: [u8; 2], u: u8, v: u8, out: &mut [u8; 6]) {
    let (u, v) = (i32::from(u) - 128, i32::from(v) - 128);
    let half = 1 << (BITS - 1);
    let (red, green, blue) = (
        half + RED_V * v,
        half + GREEN_V * v + GREEN_U * u,
        half + BLUE_U * u,
    );
    for (y, out) in luma.into_iter().zip(out.as_chunks_mut::<3>().0) {
        let y = (i32::from(y) - 16).max(0) * Y;
        *out = [red, green, blue].map(|colour| ((y + colour) >> BITS).clamp(0, 255) as u8);
    }
}
