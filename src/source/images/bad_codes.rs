//! A JPEG with bits that are no Huffman code, made into one that its decoder reads as libjpeg reads the damaged one.
//!
//! libjpeg, and OpenCV and Pillow with it, warns "Corrupt JPEG data: bad Huffman code" and goes on: the 17 bits that it looked
//! at are taken for the symbol 0 (`jpeg_huff_decode` in its jdhuff.c), which is no difference of brightness, or the end of a
//! block. The decoder here gives up instead, or begins anew at the same bits. So the scans are walked, code by code and without
//! computing any pixel, and the code of 0 is put in the place of those bits.

/// The longest code, and how many bits libjpeg has taken when it knows that they are none.
const LONGEST: usize = 16;

/// The JPEG with the symbol 0 for each bad code; nothing where there is none, or in a file of a kind
/// that has no Huffman codes.
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
            [0xFF, kind @ 0xC0..=0xC2, _, _, frame @ ..] => {
                walk.is_progressive = *kind == 0xC2;
                walk.read_frame(frame)?;
            }
            [0xFF, 0xC3..=0xCF, ..] => return None,
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
    is_progressive: bool,
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
    /// Of each block, a bit for each place in the zigzag that an earlier scan has filled.
    filled: Vec<u64>,
}

/// What a scan says of a block.
#[derive(Clone, Copy)]
enum Pass {
    /// All of it.
    Whole,
    /// The upper bits of its mean.
    Mean,
    /// One more bit of it.
    MeanBit,
    /// The upper bits of places of the zigzag, from the first to the last.
    Places(usize, usize),
    /// One more bit of them.
    PlaceBits(usize, usize),
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
        // A second one would be of a size that nobody has looked at.
        if !self.components.is_empty() {
            return None;
        }
        self.size = [[*x0, *x1], [*y0, *y1]].map(|side| usize::from(u16::from_be_bytes(side)));
        let components = components.as_chunks::<3>().0.iter();
        self.components = components
            .map(|[id, sampling, _]| Component {
                id: *id,
                sampling: [sampling >> 4, sampling & 15].map(usize::from),
                filled: Vec::new(),
            })
            .collect();
        let sampled = |component: &Component| component.sampling.iter().all(|times| (1..=4).contains(times));
        (!self.components.is_empty() && self.components.iter().all(sampled)).then_some(())
    }

    /// Walks a scan, of which what follows its header is the beginning of `rest`; returns what is behind it.
    fn scan<'a>(&mut self, header: &[u8], mut rest: &'a [u8]) -> Option<&'a [u8]> {
        let [count, header @ ..] = header else { return None };
        let (named, [first, last, steps, ..]) = header.split_at_checked(2 * usize::from(*count))? else {
            return None;
        };
        let places = (usize::from(*first), usize::from(*last).min(63));
        let pass = match (self.is_progressive, *first, steps >> 4) {
            (false, ..) => Pass::Whole,
            (true, 0, 0) => Pass::Mean,
            (true, 0, _) => Pass::MeanBit,
            (true, _, 0) => Pass::Places(places.0, places.1),
            (true, ..) => Pass::PlaceBits(places.0, places.1),
        };
        let most = [0, 1].map(|side| {
            self.components
                .iter()
                .map(|c| c.sampling[side])
                .max()
                .unwrap_or(1)
        });
        let mut units = [0, 1].map(|side| self.size[side].div_ceil(8 * most[side]));
        let mut place = 0;
        let mut blocks = Vec::new();
        for [id, tables] in named.as_chunks::<2>().0 {
            place = self.components.iter().position(|component| component.id == *id)?;
            let sampling = self.components[place].sampling;
            let table = |class: usize, number: u8| self.tables[class].get(usize::from(number))?.as_ref();
            let pair = [table(0, tables >> 4), table(1, tables & 15)];
            let mut times = sampling[0] * sampling[1];
            if *count == 1 {
                // A component by itself comes block by block, without those that only fill a unit up.
                times = 1;
                units = [0, 1].map(|side| {
                    (self.size[side] * sampling[side])
                        .div_ceil(most[side])
                        .div_ceil(8)
                });
            }
            blocks.extend(std::iter::repeat_n(pair, times));
        }
        let mut filled = std::mem::take(&mut self.components.get_mut(place)?.filled);
        if let Pass::Places(..) | Pass::PlaceBits(..) = pass {
            // Only scans of one component say something of places.
            if *count != 1 {
                return None;
            }
            filled.resize(units[0] * units[1], 0);
        }
        let mut of_blocks = filled.as_mut_slice();
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
            let (own, others) = of_blocks.split_at_mut(now.min(of_blocks.len()));
            of_blocks = others;
            let mended = walked(&piece, pass, &blocks, now, own)?;
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
        self.components[place].filled = filled;
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
fn walked(
    piece: &[u8],
    pass: Pass,
    blocks: &[[Option<&Table>; 2]],
    units: usize,
    filled: &mut [u64],
) -> Option<Vec<u8>> {
    let mut piece = Piece::of(piece);
    // How many blocks have nothing more to say.
    let mut ended = 0;
    'units: for unit in 0..units {
        for &[mean, others] in blocks {
            // The decoder fills the rest up as libjpeg does.
            if piece.bits.is_short() || piece.bits.bytes.is_empty() {
                break 'units;
            }
            match pass {
                Pass::Whole => {
                    piece.mean(mean?)?;
                    piece.whole(others?)?;
                }
                Pass::Mean => piece.mean(mean?)?,
                Pass::MeanBit => _ = piece.bits.take(1),
                Pass::Places(first, last) => {
                    piece.places(others?, first, last, &mut ended, filled.get_mut(unit)?)?
                }
                Pass::PlaceBits(first, last) => {
                    piece.place_bits(others?, first, last, &mut ended, filled.get_mut(unit)?)?;
                }
            }
        }
    }
    Some(piece.mended())
}

/// A piece of a scan, walked and written anew as far as a bad code was met.
struct Piece<'a> {
    bits: Bits<'a>,
    written: Written,
    /// How many of its bits are written.
    copied: usize,
    found: bool,
}

impl<'a> Piece<'a> {
    fn of(bytes: &'a [u8]) -> Piece<'a> {
        Piece {
            bits: Bits { bytes, at: 0 },
            written: Written::default(),
            copied: 0,
            found: false,
        }
    }

    fn copy(&mut self, end: usize) {
        let bytes = self.bits.bytes;
        let mut from = Bits {
            bytes,
            at: self.copied,
        };
        (self.copied..end.min(bytes.len() * 8)).for_each(|_| self.written.push(from.take(1), 1));
    }

    /// The next symbol.
    fn symbol(&mut self, table: &Table) -> Option<usize> {
        let begin = self.bits.at;
        let symbol = table.symbol(&mut self.bits);
        if symbol.is_none() {
            self.copy(begin);
            let (code, length) = table.zero()?;
            self.written.push(code, length);
            self.copied = self.bits.at;
            self.found = true;
        }
        Some(usize::from(symbol.unwrap_or(0)))
    }

    fn mean(&mut self, table: &Table) -> Option<()> {
        let size = self.symbol(table)?;
        self.bits.take(size.min(LONGEST));
        Some(())
    }

    fn whole(&mut self, table: &Table) -> Option<()> {
        let mut place = 1;
        while place < 64 {
            let both = self.symbol(table)?;
            let (run, size) = (both >> 4, both & 15);
            self.bits.take(size);
            place += match (run, size) {
                (15, 0) => 16,
                (_, 0) => break,
                _ => run + 1,
            };
        }
        Some(())
    }

    fn places(
        &mut self,
        table: &Table,
        first: usize,
        last: usize,
        ended: &mut usize,
        filled: &mut u64,
    ) -> Option<()> {
        if *ended > 0 {
            *ended -= 1;
            return Some(());
        }
        let mut place = first;
        while place <= last {
            let both = self.symbol(table)?;
            let (run, size) = (both >> 4, both & 15);
            match (run, size) {
                (15, 0) => place += 16,
                (_, 0) => {
                    *ended = (1 << run) + self.bits.take(run) - 1;
                    break;
                }
                _ => {
                    self.bits.take(size);
                    place += run;
                    *filled |= 1 << place.min(63);
                    place += 1;
                }
            }
        }
        Some(())
    }

    fn place_bits(
        &mut self,
        table: &Table,
        first: usize,
        last: usize,
        ended: &mut usize,
        filled: &mut u64,
    ) -> Option<()> {
        let mut place = first;
        while *ended == 0 && place <= last {
            let both = self.symbol(table)?;
            let (mut run, size) = (both >> 4, both & 15);
            if size == 0 && run < 15 {
                *ended = (1 << run) + self.bits.take(run);
                break;
            }
            if size > 0 {
                self.bits.take(1);
            }
            // Past so many places that are empty; each of the others has a bit.
            while place <= last {
                if *filled >> place & 1 == 1 {
                    self.bits.take(1);
                } else if run == 0 {
                    break;
                } else {
                    run -= 1;
                }
                place += 1;
            }
            if size > 0 {
                *filled |= 1 << place.min(63);
            }
            place += 1;
        }
        if *ended > 0 {
            let places = (place..=last).filter(|place| *filled >> place & 1 == 1);
            self.bits.take(places.count());
            *ended -= 1;
        }
        Some(())
    }

    /// What is written; empty where no bad code was met.
    fn mended(mut self) -> Vec<u8> {
        if !self.found {
            return Vec::new();
        }
        self.copy(self.bits.at);
        // Ones behind what is whole, as JPEG asks; where bits are missing, the zeros that libjpeg takes.
        let fill = if self.bits.is_short() { 0 } else { 0x7F };
        self.written.push(fill, (8 - self.written.count) % 8);
        self.written.bytes
    }
}
