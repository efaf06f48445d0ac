//! NUT written: one stream of packed RGB, whose frames carry their times. Only what stands around the pixels is made here.
//!
//! A syncpoint stands in front of each frame, since frames are longer than the longest distance between two that readers accept.

use super::{CHECKED, CHECKSUM, CODED, CODED_PTS, ID, MAIN, RGB24, SIZE_MSB, STREAM, SYNC};
use crate::size::Size;

/// A frame that can be decoded without any other, as all are here.
const KEY: u64 = 1;
/// Bits of a time's short form. All times are written whole, as numbers from this power of two on.
const SHORT_BITS: u32 = 7;
/// The largest that the format allows.
const FARTHEST_SYNC: u64 = 1 << 16;
/// Ticks a second: microseconds.
pub(crate) const TICKS: u64 = 1_000_000;

/// The begin of a stream of images of this size: all that comes before the first frame.
pub(crate) fn begin(size: Size, out: &mut Vec<u8>) {
    out.extend_from_slice(ID);
    let mut main = Vec::with_capacity(64);
    // Version, streams, farthest syncpoint, one time base.
    for value in [3, 1, FARTHEST_SYNC, 1, 1, TICKS] {
        number(value, &mut main);
    }
    // One run of codes, all alike: each frame says itself what holds for it. Flags, fields; time, factor of the size, stream, size,
    // reserved, codes.
    for value in [CODED, 6, 0, 1, 0, 0, 0, 255] {
        number(value, &mut main);
    }
    // No known headers, and no flags.
    number(0, &mut main);
    number(0, &mut main);
    packet(MAIN, &main, out);
    let mut stream = Vec::with_capacity(64);
    // Number and class.
    for value in [0, super::VIDEO, RGB24.len() as u64] {
        number(value, &mut stream);
    }
    stream.extend_from_slice(RGB24);
    // Time base, short form of times, farthest time, frames that wait to be decoded, flags, bytes for a decoder.
    for value in [0, SHORT_BITS.into(), FARTHEST_SYNC, 0, 0, 0] {
        number(value, &mut stream);
    }
    // The size, square pixels, an unknown kind of colours.
    for value in [size.width().into(), size.height().into(), 1, 1, 0] {
        number(value, &mut stream);
    }
    packet(STREAM, &stream, out);
}

/// What stands in front of the pixels of a frame that is shown at `ticks` microseconds.
pub(crate) fn frame(ticks: u64, bytes: u64, out: &mut Vec<u8>) {
    // Its time, and how far back another syncpoint is: nobody has to go back.
    let mut sync = [0; 16];
    let mut content = Content::new(&mut sync);
    content.number(ticks);
    content.number(0);
    let length = content.length;
    packet(SYNC, &sync[..length], out);
    let from = out.len();
    // The first code, which only says that flags follow. They are written as what differs from the code's own.
    out.push(0);
    number(CODED ^ (CODED | KEY | CODED_PTS | SIZE_MSB | CHECKSUM), out);
    number(ticks.saturating_add(1 << SHORT_BITS), out);
    number(bytes, out);
    let sum = checksum(&out[from..]);
    out.extend_from_slice(&sum.to_be_bytes());
}

/// A few numbers without memory of their own: this is done for each frame.
struct Content<'a> {
    bytes: &'a mut [u8; 16],
    length: usize,
}

impl<'a> Content<'a> {
    fn new(bytes: &'a mut [u8; 16]) -> Content<'a> {
        Content { bytes, length: 0 }
    }

    fn number(&mut self, value: u64) {
        // A time takes at most ten bytes, and zero one.
        digits(value, |byte| {
            if let Some(place) = self.bytes.get_mut(self.length) {
                *place = byte;
                self.length += 1;
            }
        });
    }
}

/// Seven bits in a byte, the most significant first; all but the last have the eighth.
fn digits(value: u64, mut put: impl FnMut(u8)) {
    let sevens = (u64::BITS - value.leading_zeros()).div_ceil(7).max(1);
    for seven in (1..sevens).rev() {
        put(((value >> (7 * seven)) & 127) as u8 | 128);
    }
    put((value & 127) as u8);
}

fn number(value: u64, out: &mut Vec<u8>) {
    digits(value, |byte| out.push(byte));
}

/// A packet of less than 4 KiB, whose length needs no checksum of its own.
fn packet(code: [u8; 8], content: &[u8], out: &mut Vec<u8>) {
    debug_assert!((content.len() as u64) < CHECKED);
    out.extend_from_slice(&code);
    number(content.len() as u64 + 4, out);
    out.extend_from_slice(content);
    out.extend_from_slice(&checksum(content).to_be_bytes());
}

/// CRC-32 as the format has it: polynomial 04C11DB7, the most significant bit first, from 0, nothing inverted.
fn checksum(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |sum, byte| {
        (0..8).fold(sum ^ (u32::from(*byte) << 24), |sum, _| {
            (sum << 1) ^ if sum >> 31 == 1 { 0x04c1_1db7 } else { 0 }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Head, Nut};
    use super::*;

    #[test]
    fn what_is_written_is_read_back_with_its_times() {
        let size = Size::new(5, 3).unwrap();
        let mut written = Vec::new();
        begin(size, &mut written);
        let times = [0, 33_367, 66_733, 1_000_000, u64::from(u32::MAX) * 1000];
        for ticks in times {
            frame(ticks, size.bytes() as u64, &mut written);
            written.extend(std::iter::repeat_n(b'N', size.bytes()));
        }
        let mut from = written.as_slice();
        let mut nut = Nut::open(&mut from).unwrap();
        assert_eq!(nut.size, size);
        for ticks in times {
            let head = nut.next(&mut from).unwrap();
            let wanted = Head {
                shown_ns: ticks as i64 * 1000,
                follow: size.bytes() as u64,
                known: Vec::new(),
            };
            assert_eq!(head, Some(wanted));
            from = &from[size.bytes()..];
        }
        assert_eq!(nut.next(&mut from).unwrap(), None);
    }

    #[test]
    fn numbers_and_the_checksum_are_those_of_the_format() {
        let written = |value| {
            let mut out = Vec::new();
            number(value, &mut out);
            out
        };
        assert_eq!(written(0), [0]);
        assert_eq!(written(127), [127]);
        assert_eq!(written(128), [0x81, 0]);
        assert_eq!(written(u64::MAX).len(), 10);
        // CRC-32/MPEG-2 without its first value; with its own checksum behind it, it comes to zero.
        let mut content = b"123456789".to_vec();
        let sum = checksum(&content);
        content.extend_from_slice(&sum.to_be_bytes());
        assert_eq!(checksum(&content), 0);
        assert_eq!(sum, 0x89a1_897f);
    }
}
