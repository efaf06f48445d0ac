//! Run files as bytes: their records found, taken out, doubled, zeroed, and chunks made anew.

use std::ops::Range;

use mcap::records::op;

/// Operation code and length.
const PREFIX: usize = 9;

/// Where the records outside of chunks begin, with their operation codes; the closing magic is not among them.
pub(crate) fn records(bytes: &[u8]) -> Vec<(usize, u8)> {
    let mut at = mcap::MAGIC.len();
    let mut found = Vec::new();
    while at < bytes.len() - mcap::MAGIC.len() {
        found.push((at, bytes[at]));
        at += PREFIX + u64::from_le_bytes(bytes[at + 1..at + 9].try_into().unwrap()) as usize;
    }
    found
}

/// The records of this kind, each from where to where.
pub(crate) fn of(bytes: &[u8], opcode: u8) -> Vec<Range<usize>> {
    let records = records(bytes);
    let ends = records.iter().skip(1).map(|(at, _)| *at);
    let ends = ends.chain([bytes.len() - mcap::MAGIC.len()]);
    let all = records.iter().zip(ends);
    all.filter(|((_, found), _)| *found == opcode)
        .map(|((from, _), to)| *from..to)
        .collect()
}

pub(crate) fn without(bytes: &[u8], range: Range<usize>) -> Vec<u8> {
    [&bytes[..range.start], &bytes[range.end..]].concat()
}

pub(crate) fn doubled(bytes: &[u8], range: Range<usize>) -> Vec<u8> {
    [&bytes[..range.end], &bytes[range.start..]].concat()
}

pub(crate) fn zeroed(bytes: &[u8], range: Range<usize>) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[range].fill(0);
    bytes
}

/// What is in a chunk.
pub(crate) fn content(bytes: &[u8], chunk: Range<usize>) -> Vec<u8> {
    // Times, size and checksum; the compression's name, `zstd`; the compressed size.
    zstd::decode_all(&bytes[chunk][PREFIX + 28 + 4 + 4 + 8..]).unwrap()
}

/// With this in a chunk instead, and a checksum that says so; that over all of the file is left out.
pub(crate) fn made_anew(bytes: &[u8], chunk: Range<usize>, content: &[u8]) -> Vec<u8> {
    let times = &bytes[chunk.start + PREFIX..][..16];
    let size = (content.len() as u64).to_le_bytes();
    let (crc, no_name) = (crc32fast::hash(content).to_le_bytes(), 0u32.to_le_bytes());
    let body = [times, &size, &crc, &no_name, &size, content].concat();
    let length = (body.len() as u64).to_le_bytes();
    let bytes = [
        &bytes[..chunk.start],
        &[op::CHUNK],
        &length,
        &body,
        &bytes[chunk.end..],
    ]
    .concat();
    let end = of(&bytes, op::DATA_END)[0].clone();
    zeroed(&bytes, end.start + PREFIX..end.end)
}
