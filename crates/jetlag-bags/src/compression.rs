//! Decompression into buffers that are used again: one frame of Zstandard or LZ4 at a time, never more than a limit.

use serde::Serialize;
use zstd::zstd_safe::{
    DCtx, ErrorCode, InBuffer, OutBuffer, ResetDirective, get_error_name, get_frame_content_size,
};

/// How the bytes of a topic are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Compression {
    /// Not at all.
    None,
    /// Chunks of an MCAP file, by Zstandard.
    ChunkZstd,
    /// Chunks of an MCAP file, by LZ4.
    ChunkLz4,
    /// Each message, by Zstandard.
    MessageZstd,
    /// Whole files, by Zstandard.
    FileZstd,
}

/// What a frame of Zstandard begins with. No CDR message does, whose first byte is 0.
pub(crate) const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// What a frame of LZ4 begins with.
pub(crate) const LZ4_MAGIC: [u8; 4] = [0x04, 0x22, 0x4d, 0x18];

/// Why bytes could not be decompressed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecompressError {
    /// What the library of Zstandard says.
    #[error("its zstd frame cannot be decompressed: {0}")]
    Zstd(&'static str),
    /// What is wrong with a frame of LZ4.
    #[error("its lz4 frame cannot be decompressed: {0}")]
    Lz4(&'static str),
    /// More comes out than was agreed on.
    #[error("more than {limit} bytes come out of it")]
    TooLong {
        /// The most that may.
        limit: usize,
    },
    /// The frame ends before its end.
    #[error("it is cut off: {got} bytes come out of what is there")]
    Cut {
        /// How many came out.
        got: usize,
    },
    /// No memory for the decompressor.
    #[error("there is no memory for a decompressor")]
    Memory,
}

/// A decompressor of Zstandard, made when it is first needed.
#[derive(Default)]
pub(crate) struct Zstd(Option<DCtx<'static>>);

impl Zstd {
    /// Replaces what `out` holds by the content of `stored`, one frame or several. After an error, `out` holds what came
    /// before it.
    pub(crate) fn decompress(
        &mut self,
        stored: &[u8],
        limit: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), DecompressError> {
        out.clear();
        let context = match &mut self.0 {
            Some(context) => context,
            none => none.insert(DCtx::try_create().ok_or(DecompressError::Memory)?),
        };
        context.reset(ResetDirective::SessionOnly).map_err(zstd_error)?;
        let claimed = get_frame_content_size(stored).ok().flatten();
        let claimed = claimed.and_then(|size| usize::try_from(size).ok());
        if claimed.is_some_and(|size| size > limit) {
            return Err(DecompressError::TooLong { limit });
        }
        out.reserve(claimed.unwrap_or_else(|| stored.len().saturating_mul(4).min(limit)));
        let mut input = InBuffer::around(stored);
        loop {
            let (taken, before) = (input.pos(), out.len());
            let mut output = OutBuffer::around_pos(out, before);
            let hint = context
                .decompress_stream(&mut output, &mut input)
                .map_err(zstd_error)?;
            if out.len() > limit {
                return Err(DecompressError::TooLong { limit });
            }
            let is_all_taken = input.pos() == stored.len();
            match hint {
                0 if is_all_taken => return Ok(()),
                _ if out.len() == out.capacity() => out.reserve(out.len().clamp(1 << 12, 1 << 24)),
                // Nothing went in and nothing came out.
                _ if (is_all_taken || input.pos() == taken) && out.len() == before => {
                    return Err(DecompressError::Cut { got: out.len() });
                }
                _ => {}
            }
        }
    }
}

fn zstd_error(code: ErrorCode) -> DecompressError {
    DecompressError::Zstd(get_error_name(code))
}

/// Replaces what `out` holds by the content of `stored`, one frame of LZ4 of at most `limit` bytes. After an error, `out` holds
/// what came before it.
///
/// The blocks go straight to where they belong in `out`; the frame decoder of `lz4_flex` has buffers of its own, which it
/// allocates again for each frame. Checksums of the frame are passed over, since a chunk has its own.
pub(crate) fn lz4(stored: &[u8], limit: usize, out: &mut Vec<u8>) -> Result<(), DecompressError> {
    let mut input = Input(stored);
    let blocks = Lz4Blocks::of(&mut input);
    let mut used = 0;
    let result = blocks.and_then(|blocks| {
        loop {
            match blocks.next(&mut input, limit, used, out)? {
                Some(length) => used += length,
                None => return Ok(()),
            }
        }
    });
    out.truncate(used);
    result.map_err(|error| match error {
        DecompressError::Cut { .. } => DecompressError::Cut { got: used },
        other => other,
    })
}

struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], DecompressError> {
        let (taken, rest) = self
            .0
            .split_at_checked(length)
            .ok_or(DecompressError::Cut { got: 0 })?;
        self.0 = rest;
        Ok(taken)
    }

    fn u32(&mut self) -> Result<u32, DecompressError> {
        let bytes = self.take(4)?;
        Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }
}

/// How the blocks of a frame are to be read: <https://github.com/lz4/lz4/blob/dev/doc/lz4_Frame_format.md>.
struct Lz4Blocks {
    largest: usize,
    are_linked: bool,
    have_checksums: bool,
}

/// How far back a linked block may refer.
const LZ4_WINDOW: usize = 64 << 10;

impl Lz4Blocks {
    fn of(input: &mut Input<'_>) -> Result<Lz4Blocks, DecompressError> {
        let magic = input.take(4)?;
        if magic != LZ4_MAGIC {
            return Err(DecompressError::Lz4("it has not the magic number of a frame"));
        }
        let descriptor = input.take(2)?;
        let (flags, sizes) = (descriptor[0], descriptor[1]);
        if flags >> 6 != 1 {
            return Err(DecompressError::Lz4("it has an unknown version"));
        }
        if flags & 1 != 0 {
            return Err(DecompressError::Lz4("it needs a dictionary"));
        }
        let size = if flags & 8 != 0 { 8 } else { 0 };
        input.take(size + 1)?;
        let largest = match (sizes >> 4) & 7 {
            code @ 4..=7 => 1 << (8 + 2 * code),
            _ => return Err(DecompressError::Lz4("it has an unknown size of blocks")),
        };
        Ok(Lz4Blocks {
            largest,
            are_linked: flags & 32 == 0,
            have_checksums: flags & 16 != 0,
        })
    }

    /// Decompresses the next block to `out` from `used` on; its length, or none at the end of the frame.
    fn next(
        &self,
        input: &mut Input<'_>,
        limit: usize,
        used: usize,
        out: &mut Vec<u8>,
    ) -> Result<Option<usize>, DecompressError> {
        let head = input.u32()?;
        if head == 0 {
            return Ok(None);
        }
        let (is_plain, length) = (head >> 31 == 1, (head & 0x7fff_ffff) as usize);
        if length > self.largest {
            return Err(DecompressError::Lz4("a block is longer than its frame says"));
        }
        let block = input.take(length)?;
        if self.have_checksums {
            input.take(4)?;
        }
        let room = if is_plain { length } else { self.largest };
        if out.len() < used + room {
            out.resize(used + room, 0);
        }
        let (before, after) = out.split_at_mut(used);
        let after = &mut after[..room];
        let length = if is_plain {
            after.copy_from_slice(block);
            length
        } else {
            let window = if self.are_linked { used.min(LZ4_WINDOW) } else { 0 };
            lz4_flex::block::decompress_into_with_dict(block, after, &before[used - window..])
                .map_err(|_| DecompressError::Lz4("a block is damaged"))?
        };
        if used + length > limit {
            return Err(DecompressError::TooLong { limit });
        }
        Ok(Some(length))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use lz4_flex::frame::{BlockMode, BlockSize, FrameEncoder, FrameInfo};

    use super::*;

    fn content(length: usize) -> Vec<u8> {
        (0..length).map(|n| (n / 7 % 97 + n % 3) as u8).collect()
    }

    fn lz4_frame(content: &[u8], mode: BlockMode, sums: bool) -> Vec<u8> {
        let info = FrameInfo::new()
            .block_mode(mode)
            .block_size(BlockSize::Max64KB)
            .block_checksums(sums)
            .content_checksum(sums);
        let mut encoder = FrameEncoder::with_frame_info(info, Vec::new());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn frames_of_lz4_come_out_whole_however_their_blocks_are_made() {
        let noise: Vec<u8> = (0..70_000u32)
            .map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8)
            .collect();
        let mut out = vec![9; 10];
        for content in [content(0), content(100), content(300_000), noise] {
            for mode in [BlockMode::Independent, BlockMode::Linked] {
                for sums in [false, true] {
                    let frame = lz4_frame(&content, mode, sums);
                    lz4(&frame, content.len(), &mut out).unwrap();
                    assert!(out == content, "{} bytes, {mode:?}", content.len());
                }
            }
        }
    }

    #[test]
    fn a_cut_frame_gives_what_came_before_the_cut() {
        let content = content(300_000);
        let mut out = Vec::new();
        let frame = lz4_frame(&content, BlockMode::Linked, false);
        for cut in 0..frame.len() {
            assert!(lz4(&frame[..cut], 1 << 20, &mut out).is_err());
            assert!(content.starts_with(&out));
        }
        let mut zstd = Zstd::default();
        let frame = zstd::bulk::compress(&content, 1).unwrap();
        for cut in 0..frame.len() {
            let error = zstd.decompress(&frame[..cut], 1 << 20, &mut out).unwrap_err();
            assert!(matches!(error, DecompressError::Cut { .. }), "{error}");
            assert!(content.starts_with(&out));
        }
        zstd.decompress(&frame, 1 << 20, &mut out).unwrap();
        assert!(out == content);
    }

    #[test]
    fn frames_that_do_not_say_their_size_and_several_in_a_row_come_out() {
        let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 3).unwrap();
        encoder.write_all(&content(500_000)).unwrap();
        let frame = encoder.finish().unwrap();
        let (mut zstd, mut out) = (Zstd::default(), Vec::new());
        zstd.decompress(&frame, 500_000, &mut out).unwrap();
        assert!(out == content(500_000));
        zstd.decompress(&[&frame[..], &frame].concat(), 1_000_000, &mut out)
            .unwrap();
        assert_eq!(out.len(), 1_000_000);
    }

    #[test]
    fn no_more_comes_out_than_was_agreed_on() {
        let mut out = Vec::new();
        let bomb = zstd::bulk::compress(&vec![0; 50 << 20], 1).unwrap();
        let refused = Zstd::default().decompress(&bomb, 1 << 16, &mut out).unwrap_err();
        assert_eq!(refused, DecompressError::TooLong { limit: 1 << 16 });
        let frame = lz4_frame(&content(300_000), BlockMode::Linked, false);
        assert!(lz4(&frame, 100_000, &mut out).is_err());
        assert!(out.capacity() < 1 << 20);
    }

    proptest::proptest! {
        #[test]
        fn bytes_at_random_are_errors(mut bytes: Vec<u8>, is_lz4: bool) {
            let magic = if is_lz4 { LZ4_MAGIC } else { ZSTD_MAGIC };
            bytes.splice(0..0, magic);
            let mut out = Vec::new();
            let _ = Zstd::default().decompress(&bytes, 1 << 16, &mut out);
            let _ = lz4(&bytes, 1 << 16, &mut out);
        }
    }
}
