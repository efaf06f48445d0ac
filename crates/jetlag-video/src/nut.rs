//! NUT, ffmpeg's own container, as far as it carries one stream of bare pixels: which frame comes next, when it is to be shown, and
//! how long it is. The pixels themselves are left to the caller.
//!
//! After the format's specification (<https://ffmpeg.org/nut.html>), version 3; versions 2 and 4 differ in what is not needed here. A
//! file is an id, and packets and frames after it. A packet begins with an `N`, which no frame does, and its length is in front.
//! Numbers (`v` in the specification) have 7 bits in a byte, the most significant first. Most of a frame's header is said once for
//! all of them, in a table with an entry for each value of its first byte.

pub(crate) mod write;

use std::io::{Error, ErrorKind, Read};

use crate::error::Nut as Problem;
use crate::size::Size;

const ID: &[u8; 25] = b"nut/multimedia container\0";
/// How the packets begin that are read.
const MAIN: [u8; 8] = *b"NM\x7a\x56\x1f\x5f\x04\xad";
const STREAM: [u8; 8] = *b"NS\x11\x40\x5b\xf2\xf9\xdb";
const SYNC: [u8; 8] = *b"NK\xe4\xad\xee\xca\x45\x69";
/// Headers have some hundred bytes; what claims more is damaged.
const LONGEST_PACKET: u64 = 1 << 20;
/// Longer packets have a checksum of their header.
const CHECKED: u64 = 4096;
/// Packed RGB of 8 bits.
const RGB24: &[u8] = b"RGB\x18";
/// Planes of brightness and of two colours at half the width and height.
const PLANES: &[u8] = b"I420";
const VIDEO: u64 = 0;

const CODED_PTS: u64 = 1 << 3;
const STREAM_ID: u64 = 1 << 4;
const SIZE_MSB: u64 = 1 << 5;
const CHECKSUM: u64 = 1 << 6;
const RESERVED: u64 = 1 << 7;
const SIDE_DATA: u64 = 1 << 8;
const HEADER_INDEX: u64 = 1 << 10;
const MATCH_TIME: u64 = 1 << 11;
const CODED: u64 = 1 << 12;
const INVALID: u64 = 1 << 13;

/// Why a stream cannot be read on.
#[derive(Debug)]
pub(crate) enum Failure {
    Io(Error),
    Nut(Problem),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Io(error)
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Failure {
        Failure::Nut(problem)
    }
}

/// What stands in front of a frame's pixels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// When it is to be shown, in nanoseconds.
    pub(crate) shown_ns: i64,
    /// Bytes that follow.
    pub(crate) follow: u64,
    /// Bytes of its content that do not, since every reader knows them; at most 256, of small frames alone.
    pub(crate) known: Vec<u8>,
}

/// A tick in seconds, as a fraction.
#[derive(Clone, Copy, Debug)]
struct Base {
    num: u64,
    den: u64,
}

impl Base {
    fn nanoseconds(self, ticks: i64) -> i64 {
        let all = i128::from(ticks) * i128::from(self.num) * 1_000_000_000 / i128::from(self.den);
        all.clamp(i64::MIN.into(), i64::MAX.into()) as i64
    }

    /// Ticks of another base in ticks of this, rounded down.
    fn of(self, ticks: u64, other: Base) -> i64 {
        let all = u128::from(ticks) * u128::from(other.num) * u128::from(self.den);
        let each = u128::from(other.den) * u128::from(self.num);
        i64::try_from(all / each).unwrap_or(i64::MAX)
    }
}

/// What the first byte of a frame says of it.
#[derive(Clone, Copy, Debug, Default)]
struct Code {
    flags: u64,
    pts_delta: i64,
    stream: u64,
    size_mul: u64,
    size_lsb: u64,
    reserved: u64,
    header: u64,
}

/// A stream whose headers were read.
#[derive(Debug)]
pub(crate) struct Nut {
    codes: Box<[Code; 256]>,
    bases: Vec<Base>,
    /// What small frames may begin with; the first is empty.
    headers: Vec<Vec<u8>>,
    base: Base,
    msb_shift: u32,
    last_pts: i64,
    /// Of its images.
    pub(crate) size: Size,
    /// Whether they are planes of brightness and colour; otherwise they are packed RGB.
    pub(crate) is_planar: bool,
}

impl Nut {
    /// Reads the headers, up to the first frame.
    pub(crate) fn open(from: &mut impl Read) -> Result<Nut, Failure> {
        let mut id = [0; ID.len()];
        from.read_exact(&mut id)?;
        if id != *ID {
            return Err(Problem::NoBegin.into());
        }
        let main = packet(from, None)?;
        if main.code != MAIN {
            return Err(Problem::Damaged("main header").into());
        }
        let (codes, bases, headers) =
            main_header(main.content.bytes()).ok_or(Problem::Damaged("main header"))??;
        let stream = packet(from, None)?;
        if stream.code != STREAM {
            return Err(Problem::Damaged("stream header").into());
        }
        let (base, msb_shift, size, is_planar) =
            stream_header(stream.content.bytes(), &bases).ok_or(Problem::Damaged("stream header"))??;
        Ok(Nut {
            codes,
            bases,
            headers,
            base,
            msb_shift,
            last_pts: 0,
            size,
            is_planar,
        })
    }

    /// The next frame; `None` at the end.
    pub(crate) fn next(&mut self, from: &mut impl Read) -> Result<Option<Head>, Failure> {
        loop {
            let Some(first) = first_byte(from)? else {
                return Ok(None);
            };
            if first != b'N' {
                return self.head(first, from).map(Some);
            }
            let packet = packet(from, Some(first))?;
            if packet.code == SYNC {
                self.synchronise(packet.content.bytes())
                    .ok_or(Problem::Damaged("syncpoint"))?;
            }
            // The headers come again now and then, for readers that begin in the middle.
        }
    }

    fn synchronise(&mut self, mut content: &[u8]) -> Option<()> {
        let time = number(&mut content)?;
        let bases = self.bases.len() as u64;
        let base = *self.bases.get(usize::try_from(time % bases).ok()?)?;
        self.last_pts = self.base.of(time / bases, base);
        Some(())
    }

    fn head(&mut self, first: u8, from: &mut impl Read) -> Result<Head, Failure> {
        const DAMAGED: Problem = Problem::Damaged("frame header");
        let code = self.codes[usize::from(first)];
        if code.flags & INVALID != 0 {
            return Err(DAMAGED.into());
        }
        let mut flags = code.flags;
        if flags & CODED != 0 {
            flags ^= read_number(from)?;
        }
        let stream = match flags & STREAM_ID {
            0 => code.stream,
            _ => read_number(from)?,
        };
        let pts = match flags & CODED_PTS {
            0 => self.last_pts.checked_add(code.pts_delta).ok_or(DAMAGED)?,
            _ => self.pts(read_number(from)?).ok_or(DAMAGED)?,
        };
        let msb = match flags & SIZE_MSB {
            0 => 0,
            _ => read_number(from)?,
        };
        if flags & MATCH_TIME != 0 {
            read_number(from)?;
        }
        let header = match flags & HEADER_INDEX {
            0 => code.header,
            _ => read_number(from)?,
        };
        let reserved = match flags & RESERVED {
            0 => code.reserved,
            _ => read_number(from)?,
        };
        if stream != 0 || flags & SIDE_DATA != 0 || reserved > 64 {
            return Err(DAMAGED.into());
        }
        for _ in 0..reserved {
            read_number(from)?;
        }
        if flags & CHECKSUM != 0 {
            from.read_exact(&mut [0; 4])?;
        }
        let size = msb
            .checked_mul(code.size_mul)
            .and_then(|size| size.checked_add(code.size_lsb))
            .ok_or(DAMAGED)?;
        let header = if size > CHECKED { 0 } else { header };
        let known = usize::try_from(header)
            .ok()
            .and_then(|header| self.headers.get(header))
            .ok_or(DAMAGED)?;
        let follow = size.checked_sub(known.len() as u64).ok_or(DAMAGED)?;
        self.last_pts = pts;
        Ok(Head {
            shown_ns: self.base.nanoseconds(pts),
            follow,
            // Nearly always empty, which takes no memory.
            known: known.clone(),
        })
    }

    /// A coded time is whole, or its last bits: the time with these that is nearest to the one before.
    fn pts(&self, coded: u64) -> Option<i64> {
        let limit = 1_u64 << self.msb_shift;
        if coded >= limit {
            return i64::try_from(coded - limit).ok();
        }
        let mask = (limit - 1) as i64; // The shift is below 32.
        let delta = self.last_pts.checked_sub(mask / 2)?;
        (coded as i64)
            .wrapping_sub(delta)
            .wrapping_rem_euclid(mask + 1)
            .checked_add(delta)
    }
}

struct Packet {
    code: [u8; 8],
    content: Content,
}

/// What is in a packet.
enum Content {
    /// All of a header.
    Whole(Vec<u8>),
    /// The begin of another packet. A syncpoint, which has less, stands in front of each large frame: no memory for it.
    Begin([u8; 32]),
}

impl Content {
    fn bytes(&self) -> &[u8] {
        match self {
            Content::Whole(bytes) => bytes,
            Content::Begin(bytes) => bytes,
        }
    }
}

/// A packet, whose first byte may have been read.
fn packet(from: &mut impl Read, first: Option<u8>) -> Result<Packet, Failure> {
    let mut code = [0; 8];
    let mut begin = 0;
    if let Some(first) = first {
        code[0] = first;
        begin = 1;
    }
    from.read_exact(&mut code[begin..])?;
    let length = read_number(from)?;
    if !(4..=LONGEST_PACKET).contains(&length) {
        return Err(Problem::Damaged("packet").into());
    }
    if length > CHECKED {
        from.read_exact(&mut [0; 4])?;
    }
    if [MAIN, STREAM].contains(&code) {
        let mut whole = vec![0; length as usize]; // At most a mebibyte.
        from.read_exact(&mut whole)?;
        whole.truncate(whole.len() - 4); // Its checksum.
        let content = Content::Whole(whole);
        return Ok(Packet { code, content });
    }
    let mut begin = [0; 32];
    let kept = (length - 4).min(begin.len() as u64) as usize;
    from.read_exact(&mut begin[..kept])?;
    let rest = length - kept as u64;
    if std::io::copy(&mut from.by_ref().take(rest), &mut std::io::sink())? < rest {
        return Err(Error::from(ErrorKind::UnexpectedEof).into());
    }
    let content = Content::Begin(begin);
    Ok(Packet { code, content })
}

type Main = (Box<[Code; 256]>, Vec<Base>, Vec<Vec<u8>>);

/// `None` where it is damaged.
fn main_header(mut content: &[u8]) -> Option<Result<Main, Problem>> {
    let c = &mut content;
    let version = number(c)?;
    if !(2..=4).contains(&version) {
        return Some(Err(Problem::Version(version)));
    }
    if version > 3 {
        number(c)?; // The minor version.
    }
    let streams = number(c)?;
    if streams != 1 {
        return Some(Err(Problem::Streams(streams)));
    }
    number(c)?; // The longest distance between syncpoints.
    let count = number(c)?;
    let mut bases = Vec::new();
    for _ in 0..count {
        let base = Base {
            num: number(c)?,
            den: number(c)?,
        };
        if !(1..1 << 31).contains(&base.num) || !(1..1 << 31).contains(&base.den) {
            return None;
        }
        bases.push(base);
    }
    if bases.is_empty() {
        return None;
    }
    let codes = codes(c)?;
    let mut headers = vec![Vec::new()];
    for _ in 0..number(c)? {
        headers.push(bytes(c)?.to_vec());
    }
    Some(Ok((codes, bases, headers)))
}

/// The table of what a frame's first byte says, which is written in runs of like entries.
fn codes(c: &mut &[u8]) -> Option<Box<[Code; 256]>> {
    let mut codes = Box::new([Code::default(); 256]);
    let (mut pts_delta, mut size_mul, mut stream, mut header) = (0, 1, 0, 0);
    let mut n = 0;
    while n < 256 {
        let flags = number(c)?;
        let fields = number(c)?;
        if fields > 0 {
            pts_delta = signed(c)?;
        }
        if fields > 1 {
            size_mul = number(c)?;
        }
        if fields > 2 {
            stream = number(c)?;
        }
        let size_lsb = if fields > 3 { number(c)? } else { 0 };
        let reserved = if fields > 4 { number(c)? } else { 0 };
        let count = match fields > 5 {
            true => number(c)?,
            false => size_mul.checked_sub(size_lsb)?,
        };
        if fields > 6 {
            number(c)?; // For streams that belong together.
        }
        if fields > 7 {
            header = number(c)?;
        }
        for _ in 8..fields {
            number(c)?;
        }
        if !(1..=256).contains(&count) {
            return None;
        }
        let mut next = 0;
        while next < count && n < 256 {
            if n == usize::from(b'N') {
                codes[n].flags = INVALID;
                n += 1;
                continue;
            }
            codes[n] = Code {
                flags,
                pts_delta,
                stream,
                size_mul,
                size_lsb: size_lsb.checked_add(next)?,
                reserved,
                header,
            };
            n += 1;
            next += 1;
        }
    }
    codes[usize::from(b'N')].flags = INVALID;
    Some(codes)
}

type Stream = (Base, u32, Size, bool);

/// `None` where it is damaged.
fn stream_header(mut content: &[u8], bases: &[Base]) -> Option<Result<Stream, Problem>> {
    let c = &mut content;
    number(c)?; // Its number, of one.
    let class = number(c)?;
    let kind = bytes(c)?;
    if class != VIDEO || ![RGB24, PLANES].contains(&kind) {
        let kind: String = kind.iter().map(|byte| byte.escape_ascii().to_string()).collect();
        return Some(Err(Problem::NotRgb(kind.chars().take(40).collect())));
    }
    let is_planar = kind == PLANES;
    let base = *bases.get(usize::try_from(number(c)?).ok()?)?;
    let msb_shift = u32::try_from(number(c)?).ok().filter(|shift| *shift < 32)?;
    number(c)?; // The longest distance of times.
    number(c)?; // Of decoding.
    number(c)?; // Flags.
    bytes(c)?; // For a decoder; there is none.
    let side = |c: &mut &[u8]| u32::try_from(number(c)?).ok();
    let size = Size::new(side(c)?, side(c)?)?;
    Some(Ok((base, msb_shift, size, is_planar)))
}

/// The first byte of what comes next; `None` at the end.
fn first_byte(from: &mut impl Read) -> std::io::Result<Option<u8>> {
    let mut byte = [0];
    loop {
        match from.read(&mut byte) {
            Ok(0) => return Ok(None),
            Ok(_) => return Ok(Some(byte[0])),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn read_number(from: &mut impl Read) -> Result<u64, Failure> {
    let mut value: u64 = 0;
    loop {
        let mut byte = [0];
        from.read_exact(&mut byte)?;
        value = value
            .checked_mul(128)
            .ok_or(Problem::Damaged("length of a number"))?
            | u64::from(byte[0] & 127);
        if byte[0] < 128 {
            return Ok(value);
        }
    }
}

fn number(content: &mut &[u8]) -> Option<u64> {
    read_number(content).ok()
}

fn signed(content: &mut &[u8]) -> Option<i64> {
    let value = i64::try_from(number(content)?.checked_add(1)?).ok()?;
    Some(match value & 1 {
        0 => value >> 1,
        _ => -(value >> 1),
    })
}

fn bytes<'a>(content: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(number(content)?).ok()?;
    let (bytes, rest) = content.split_at_checked(length)?;
    *content = rest;
    Some(bytes)
}

#[cfg(test)]
mod tests;
