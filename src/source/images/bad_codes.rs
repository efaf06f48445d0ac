//! A JPEG with bits that are no Huffman code, made into one that its decoder reads as libjpeg reads the damaged one.
//!
//! libjpeg, and OpenCV and Pillow with it, warns "Corrupt JPEG data: bad Huffman code" and goes on: the 17 bits that it looked
//! at are taken for the symbol 0 (`jpeg_huff_decode` in its jdhuff.c), which is no difference of brightness, or the end of a
//! block. The decoder here gives up instead, or begins anew at the same bits. So the scan is walked, code by code and without
//! computing any pixel, and the code of 0 is put in the place of those bits. Only sequential scans are walked: what refines an
//! earlier scan depends on its coefficients.

/// The longest code, and how many bits libjpeg has taken when it knows that they are none.
const LONGEST: usize = 16;

/// The JPEG with the symbol 0 for each bad code; nothing where there is none, or where a scan of this kind is not walked.
pub(super) fn without_bad_codes(jpeg: &[u8]) -> Option<Vec<u8>> {
    let mut walk = Walk {
        mended: jpeg.get(..2)?.to_vec(),
        ..Walk::default()
    };
    let mut rest = &jpeg[2..];
    loop {
        let length = match rest {
            [0xFF, 0xD9, ..] => break,
            [0xFF, 0xFF, ..] => 1,
            [0xFF, 0x01 | 0xD0..=0xD8, ..] => 2,
            [0xFF, _, high, low, ..] => 2 + usize::from(u16::from_be_bytes([*high, *low])),
            // libjpeg skips what lies between segments.
            [_, _, ..] => 1,
            _ => break,
        };
        let segment = rest.get(..length)?;
        rest = &rest[length..];
        walk.mended.extend_from_slice(segment);
        match segment {
            [0xFF, 0xC4, _, _, tables @ ..] => walk.read_tables(tables)?,
            [0xFF, 0xC0 | 0xC1, _, _, frame @ ..] => walk.read_frame(frame)?,
            [0xFF, 0xC2..=0xCF, ..] => return None,
            [0xFF, 0xDD, _, _, high, low, ..] => {
                walk.restarts = usize::from(u16::from_be_bytes([*high, *low]))
            }
            [0xFF, 0xDA, _, _, scan @ ..] => rest = walk.scan(scan, rest)?,
            _ => {}
        }
    }
    walk.mended.extend_from_slice(rest);
    walk.found.then_some(walk.mended)
}

/// What the segments have said so far, and what is written of the file.
#[derive(Default)]
struct Walk {
    /// By class (brightness, the others) and number.
    tables: [[Option<Table>; 4]; 2],
    size: [usize; 2],
    components: Vec<Component>,
    /// Units between two restart markers; 0 without any.
    restarts: usize,
    mended: Vec<u8>,
    found: bool,
}

struct Component {
    id: u8,
    /// How often it is sampled across and down in a unit.
    sampling: [usize; 2],
}

/// A code: how many codes each length has, and their symbols in order.
struct Table {
    counts: [u8; LONGEST],
    symbols: Vec<u8>,
}

impl Table {
    /// The next symbol; nothing where the bits are no code.
    fn symbol(&self, bits: &mut Bits) -> Option<u8> {
        let (mut code, mut first, mut before) = (0, 0, 0);
        for count in self.counts.map(usize::from) {
            code = code << 1 | bits.take(1);
            if code >= first && code - first < count {
                return self.symbols.get(before + code - first).copied();
            }
            before += count;
            first = (first + count) << 1;
        }
        bits.take(1);
        None
    }

    /// The code of the symbol 0 and its length.
    fn zero(&self) -> Option<(usize, usize)> {
        let place = self.symbols.iter().position(|symbol| *symbol == 0)?;
        let (mut first, mut before) = (0, 0);
        for (length, count) in (1..).zip(self.counts.map(usize::from)) {
            if place < before + count {
                return Some((first + place - before, length));
            }
            before += count;
            first = (first + count) << 1;
        }
        None
    }
}

/// The bits of a piece of a scan, and as libjpeg zeros behind them.
struct Bits<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Bits<'_> {
    fn take(&mut self, count: usize) -> usize {
        (0..count).fold(0, |value, _| {
            let byte = self.bytes.get(self.at / 8).copied().unwrap_or(0);
            let bit = usize::from(byte >> (7 - self.at % 8) & 1);
            self.at += 1;
            value << 1 | bit
        })
    }

    fn is_short(&self) -> bool {
        self.at > self.bytes.len() * 8
    }
}

/// Bits written one after the other, with a zero behind each byte of ones.
#[derive(Default)]
struct Written {
    bytes: Vec<u8>,
    last: u8,
    count: usize,
}

impl Written {
    fn push(&mut self, value: usize, count: usize) {
        for place in (0..count).rev() {
            self.last = self.last << 1 | (value >> place & 1) as u8;
            self.count += 1;
            if self.count == 8 {
                self.bytes.push(self.last);
                if self.last == 0xFF {
                    self.bytes.push(0);
                }
                (self.last, self.count) = (0, 0);
            }
        }
    }
}

impl Walk {
    fn read_tables(&mut self, mut rest: &[u8]) -> Option<()> {
        while let [kind, counts @ ..] = rest {
            let (counts, symbols) = counts.split_first_chunk::<LONGEST>()?;
            let total = counts.iter().map(|count| usize::from(*count)).sum();
            let table = Table {
                counts: *counts,
                symbols: symbols.get(..total)?.to_vec(),
            };
            *self
                .tables
                .get_mut(usize::from(kind >> 4))?
                .get_mut(usize::from(kind & 15))? = Some(table);
            rest = &symbols[total..];
        }
        Some(())
    }

    fn read_frame(&mut self, frame: &[u8]) -> Option<()> {
        let [_, y0, y1, x0, x1, _, components @ ..] = frame else {
            return None;
        };
        self.size = [[*x0, *x1], [*y0, *y1]].map(|side| usize::from(u16::from_be_bytes(side)));
        let components = components.as_chunks::<3>().0.iter();
        self.components = components
            .map(|[id, sampling, _]| Component {
                id: *id,
                sampling: [sampling >> 4, sampling & 15].map(usize::from),
            })
            .collect();
        let sampled = |component: &Component| component.sampling.iter().all(|times| (1..=4).contains(times));
        (!self.components.is_empty() && self.components.iter().all(sampled)).then_some(())
    }

    /// Walks a scan, of which what follows its header is the beginning of `rest`; returns what is behind it.
    fn scan<'a>(&mut self, header: &[u8], mut rest: &'a [u8]) -> Option<&'a [u8]> {
        let [count, header @ ..] = header else { return None };
        let mut blocks = Vec::new();
        let most = [0, 1].map(|side| {
            self.components
                .iter()
                .map(|c| c.sampling[side])
                .max()
                .unwrap_or(1)
        });
        let mut units = [0, 1].map(|side| self.size[side].div_ceil(8 * most[side]));
        for [id, tables] in header.as_chunks::<2>().0.iter().take(usize::from(*count)) {
            let component = self.components.iter().find(|component| component.id == *id)?;
            let table = |class: usize, number: u8| self.tables[class].get(usize::from(number))?.as_ref();
            let pair = [table(0, tables >> 4)?, table(1, tables & 15)?];
            let mut times = component.sampling[0] * component.sampling[1];
            if *count == 1 {
                // A component by itself comes block by block, without those that only fill a unit up.
                times = 1;
                units = [0, 1].map(|side| {
                    (self.size[side] * component.sampling[side])
                        .div_ceil(most[side])
                        .div_ceil(8)
                });
            }
            blocks.extend(std::iter::repeat_n(pair, times));
        }
        let mut left = units[0] * units[1];
        let mut expected = 0;
        while left > 0 {
            let now = if self.restarts == 0 {
                left
            } else {
                left.min(self.restarts)
            };
            left -= now;
            let (piece, length) = piece(rest);
            let mended = walked(&piece, &blocks, now)?;
            self.found |= !mended.is_empty();
            let whole = if mended.is_empty() {
                &rest[..length]
            } else {
                &mended
            };
            self.mended.extend_from_slice(whole);
            rest = &rest[length..];
            if left > 0 {
                let [0xFF, marker, ..] = rest else { return None };
                // How many numbers it is ahead of the one that must come.
                match (marker, marker.wrapping_sub(0xD0 + expected) & 7) {
                    (0xD0..=0xD7, 0) => rest = &rest[2..],
                    // Some are gone: to libjpeg the piece before this one has no bits.
                    (0xD0..=0xD7, 1 | 2) | (0xC0..=0xCF | 0xD8..=0xFE, _) => {}
                    _ => return None,
                }
                self.mended.extend_from_slice(&[0xFF, 0xD0 + expected]);
                expected = (expected + 1) & 7;
            }
        }
        Some(rest)
    }
}

/// The bytes of a scan up to the next marker, without the zeros behind bytes of ones, and how many they are in the file.
fn piece(rest: &[u8]) -> (Vec<u8>, usize) {
    let mut bytes = Vec::new();
    let mut at = 0;
    while let Some(byte) = rest.get(at) {
        let mut end = at + 1;
        if *byte == 0xFF {
            end += rest[end..].iter().take_while(|byte| **byte == 0xFF).count();
            if rest.get(end) != Some(&0) {
                break;
            }
            end += 1;
        }
        bytes.push(*byte);
        at = end;
    }
    (bytes, at)
}

/// A piece of so many units with the symbol 0 for what is no code; empty where every code is one, nothing where the table has
/// no 0.
fn walked(piece: &[u8], blocks: &[[&Table; 2]], units: usize) -> Option<Vec<u8>> {
    if piece.is_empty() {
        return Some(Vec::new());
    }
    let mut bits = Bits { bytes: piece, at: 0 };
    let mut written = Written::default();
    let mut copied = 0;
    let copy = |written: &mut Written, copied: usize, end: usize| {
        let mut from = Bits {
            bytes: piece,
            at: copied,
        };
        (copied..end.min(piece.len() * 8)).for_each(|_| written.push(from.take(1), 1));
    };
    let mut found = false;
    let mut symbol = |table: &Table, bits: &mut Bits| {
        let begin = bits.at;
        let symbol = table.symbol(bits);
        if symbol.is_none() {
            copy(&mut written, copied, begin);
            let (code, length) = table.zero()?;
            written.push(code, length);
            copied = bits.at;
            found = true;
        }
        Some(usize::from(symbol.unwrap_or(0)))
    };
    'units: for _ in 0..units {
        for [brightness, others] in blocks {
            let size = symbol(brightness, &mut bits)?;
            bits.take(size.min(LONGEST));
            let mut place = 1;
            while place < 64 {
                let both = symbol(others, &mut bits)?;
                let (run, size) = (both >> 4, both & 15);
                bits.take(size);
                place += match (run, size) {
                    (15, 0) => 16,
                    (_, 0) => break,
                    _ => run + 1,
                };
            }
            // The decoder fills the rest up as libjpeg does.
            if bits.is_short() {
                break 'units;
            }
        }
    }
    if !found {
        return Some(Vec::new());
    }
    copy(&mut written, copied, bits.at);
    // Ones behind what is whole, as JPEG asks; where bits are missing, the zeros that libjpeg takes.
    let fill = if bits.is_short() { 0 } else { 0x7F };
    written.push(fill, (8 - written.count) % 8);
    Some(written.bytes)
}
