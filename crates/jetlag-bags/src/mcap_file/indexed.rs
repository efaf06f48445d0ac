//! Finding the messages of a whole MCAP file by its index, which leaves compressed chunks alone.
//!
//! Anything that the index does not say, or says wrongly as far as that can be seen here, is no reason to fail: the file is then
//! walked over as one without an index.

use std::collections::HashMap;

use mcap::records::op;

use super::record::{self, Channel, ChunkHeader, ChunkIndex, Fields};
use super::{ChunkPlace, Found, MESSAGE_HEADER, PREFIX, PlainChunk, Subject};
use crate::BagError;
use crate::compression::Compression;
use crate::contents::{Contents, Entry, NO_CHUNK};
use crate::positioned::{Window, read_at};
use crate::time::Time;

/// Bytes of the last record, with its prefix and the closing magic.
const FOOTER: usize = 9 + 20 + 8;
/// Bytes of the footer that its checksum covers: prefix and two offsets.
const FOOTER_HASHED: usize = 9 + 16;

/// Chunks and contents as the index tells them; none where it is missing, damaged or does not tell all.
pub(super) fn find(subject: &Subject<'_>, before: u64) -> Result<Option<Found>, BagError> {
    let Some(summary) = summary(subject)? else {
        return Ok(None);
    };
    let mut contents = Contents::new(subject.limits.messages, before);
    let Some(closing) = Closing::of(&summary, subject, &mut contents)? else {
        return Ok(None);
    };
    let mut window = Window::new(subject.file);
    let mut places = Vec::new();
    let mut plain = Vec::new();
    let mut messages = Vec::new();
    let mut block = Vec::new();
    for index in &closing.chunks {
        let Some(end) = index.at.checked_add(index.length) else {
            return Ok(None);
        };
        let is_within = end
            .checked_add(index.indices)
            .is_some_and(|end| end <= subject.length);
        if !is_within || index.indices > subject.limits.chunk_bytes.0 {
            return Ok(None);
        }
        block.resize(index.indices as usize, 0);
        if read_at(subject.file, end, &mut block).map_err(|error| subject.io(error))? < block.len() {
            return Ok(None);
        }
        messages.clear();
        if messages_of(&block, &mut messages).is_none() {
            return Ok(None);
        }
        // In the order in which they were recorded, where the distance tells the length.
        messages.sort_unstable_by_key(|message| message.at);
        let is_known = if index.is_compressed {
            places.push(ChunkPlace {
                at: index.at,
                length: index.length.saturating_sub(PREFIX),
                is_cut: false,
            });
            add_compressed(subject, index, places.len() - 1, &messages, &mut contents)?
        } else {
            let Some(chunk) = add_plain(subject, &mut window, index, &messages, &mut contents)? else {
                return Ok(None);
            };
            plain.extend((chunk.crc != 0).then_some(chunk));
            true
        };
        if !is_known {
            return Ok(None);
        }
    }
    let found = Found {
        compressed: places,
        plain,
        contents,
    };
    Ok((found.contents.messages == closing.count).then_some(found))
}

/// The bytes of the closing index, if the file ends with one that matches its checksum.
fn summary(subject: &Subject<'_>) -> Result<Option<Vec<u8>>, BagError> {
    let Some(footer_at) = subject.length.checked_sub(FOOTER as u64) else {
        return Ok(None);
    };
    let mut footer = [0; FOOTER];
    let got = read_at(subject.file, footer_at, &mut footer).map_err(|error| subject.io(error))?;
    let mut fields = Fields(&footer[9..]);
    let (Some(start), Some(_), Some(crc)) = (fields.u64(), fields.u64(), fields.u32()) else {
        return Ok(None);
    };
    let is_footer = footer[0] == op::FOOTER && footer[1..9] == 20u64.to_le_bytes();
    if got < FOOTER || !is_footer || fields.0 != mcap::MAGIC || start == 0 || start > footer_at {
        return Ok(None);
    }
    let length = footer_at - start;
    if length > subject.limits.chunk_bytes.0 {
        return Ok(None);
    }
    let mut summary = vec![0; length as usize];
    if read_at(subject.file, start, &mut summary).map_err(|error| subject.io(error))? < summary.len() {
        return Ok(None);
    }
    let mut found = crc32fast::Hasher::new();
    found.update(&summary);
    found.update(&footer[..FOOTER_HASHED]);
    Ok((crc == 0 || crc == found.finalize()).then_some(summary))
}

/// What the closing index says.
struct Closing {
    chunks: Vec<ChunkIndex>,
    count: u64,
}

impl Closing {
    fn of(
        summary: &[u8],
        subject: &Subject<'_>,
        contents: &mut Contents,
    ) -> Result<Option<Closing>, BagError> {
        let mut types: HashMap<u16, record::Type> = HashMap::new();
        let mut channels = Vec::new();
        let (mut chunks, mut count) = (Vec::new(), None);
        let mut records = Fields(summary);
        while !records.0.is_empty() {
            let is_read = records.record().and_then(|(opcode, body)| {
                match opcode {
                    op::SCHEMA => types.extend([record::schema(body, contents)?]),
                    op::CHANNEL => channels.push(Channel::of(body)?),
                    op::CHUNK_INDEX => chunks.push(ChunkIndex::of(body)?),
                    op::STATISTICS => count = Some(record::statistics(body)?),
                    _ => {}
                }
                Some(())
            });
            if is_read.is_none() {
                return Ok(None);
            }
        }
        for channel in channels {
            let kind = types.get(&channel.schema).cloned().unwrap_or_default();
            contents.describe(subject.path, i64::from(channel.number), || channel.with(kind))?;
        }
        // As the file has them: then each is read after the one before.
        chunks.sort_by_key(|chunk: &ChunkIndex| chunk.at);
        Ok(count.map(|count| Closing { chunks, count }))
    }
}

struct Indexed {
    channel: u16,
    log_time: Time,
    /// Where its record begins among the chunk's.
    at: u64,
}

fn messages_of(block: &[u8], messages: &mut Vec<Indexed>) -> Option<()> {
    let mut records = Fields(block);
    while !records.0.is_empty() {
        let (opcode, body) = records.record()?;
        if opcode == op::MESSAGE_INDEX {
            let (channel, pairs) = record::message_index(body)?;
            messages.extend(pairs.map(|(log_time, at)| Indexed {
                channel,
                log_time,
                at,
            }));
        }
    }
    Some(())
}

/// Notes the messages of a compressed chunk; whether the index described all of them.
fn add_compressed(
    subject: &Subject<'_>,
    index: &ChunkIndex,
    chunk: usize,
    messages: &[Indexed],
    contents: &mut Contents,
) -> Result<bool, BagError> {
    let Ok(chunk) = u32::try_from(chunk) else {
        return Ok(false);
    };
    for (n, message) in messages.iter().enumerate() {
        let next = messages.get(n + 1).map_or(index.size, |next| next.at);
        let length = next.checked_sub(message.at);
        let Some(length) = length.and_then(|length| length.checked_sub(PREFIX + MESSAGE_HEADER)) else {
            return Ok(false);
        };
        let entry = Entry {
            log_time: message.log_time,
            place: message.at,
            length: u32::try_from(length).unwrap_or(u32::MAX),
            file: subject.number,
            chunk,
        };
        if !contents.add(subject.path, i64::from(message.channel), entry, index.compression)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Notes the messages of a chunk that is not compressed, which are read from the file directly; none where the index is wrong.
fn add_plain(
    subject: &Subject<'_>,
    window: &mut Window<'_>,
    index: &ChunkIndex,
    messages: &[Indexed],
    contents: &mut Contents,
) -> Result<Option<PlainChunk>, BagError> {
    let front = window
        .get(index.at, 9 + record::CHUNK_HEADER)
        .map_err(|error| subject.io(error))?;
    let header = front.get(9..).and_then(ChunkHeader::of);
    let (records, crc) = match header {
        Some(header) if front[0] == op::CHUNK && header.compression == Ok(Compression::None) => {
            let records = index.at + PREFIX + header.records_at as u64;
            // What it says of itself fits what the index says.
            let end = records.checked_add(header.stored);
            if header.size != header.stored || end != index.at.checked_add(index.length) {
                return Ok(None);
            }
            (records, header.crc)
        }
        _ => return Ok(None),
    };
    for message in messages {
        let Some(at) = records.checked_add(message.at) else {
            return Ok(None);
        };
        let front = window
            .get(at, (PREFIX + MESSAGE_HEADER) as usize)
            .map_err(|error| subject.io(error))?;
        let Some((length, header)) = message_front(front) else {
            return Ok(None);
        };
        let place = at + PREFIX + MESSAGE_HEADER;
        let is_right = header.channel == message.channel && header.log_time == message.log_time;
        if !is_right || place.checked_add(length).is_none_or(|end| end > subject.length) {
            return Ok(None);
        }
        let entry = Entry {
            log_time: message.log_time,
            place,
            length: u32::try_from(length).unwrap_or(u32::MAX),
            file: subject.number,
            chunk: NO_CHUNK,
        };
        if !contents.add(subject.path, i64::from(message.channel), entry, Compression::None)? {
            return Ok(None);
        }
    }
    Ok(Some(PlainChunk {
        at: index.at,
        from: records,
        to: index.at.saturating_add(index.length),
        crc,
    }))
}

/// The length of a message and what is before it, from the front of its record.
pub(super) fn message_front(front: &[u8]) -> Option<(u64, record::MessageHeader)> {
    let mut fields = Fields(front);
    let opcode = fields.u8()?;
    let length = fields.u64()?.checked_sub(MESSAGE_HEADER)?;
    let header = record::MessageHeader::of(fields.0)?;
    (opcode == op::MESSAGE).then_some((length, header))
}
