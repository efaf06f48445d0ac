//! An MCAP file with chunks, indices and checksums: <https://mcap.dev/spec>.
//!
//! The `mcap` crate's writer compresses by LZ4 with a C library; here the one that also decompresses does it.

use std::collections::BTreeMap;
use std::io::{Result, Write};

use lz4_flex::frame::{BlockSize, FrameEncoder, FrameInfo};
use mcap::records::op;

use super::topic::Described;
use crate::time::Time;

/// How the chunks of an MCAP file are compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChunkCompression {
    /// Not at all: fastest to read.
    #[default]
    None,
    /// By Zstandard, at its fastest level.
    Zstd,
    /// By LZ4.
    Lz4,
}

/// Bytes after which a chunk is closed.
const CHUNK: usize = 1 << 20;

/// Writes an MCAP file.
pub(super) struct McapWriter<W: Write> {
    out: W,
    compression: ChunkCompression,
    /// Bytes written so far.
    at: u64,
    /// Checksum of them.
    crc: crc32fast::Hasher,
    chunk: Chunk,
    /// Records of the closing index, by kind.
    types: Vec<u8>,
    channels: Vec<u8>,
    chunks: Vec<u8>,
    chunk_count: u32,
    /// By channel, which is also the type's number but for one.
    counts: Vec<u64>,
    span: Option<(u64, u64)>,
}

#[derive(Default)]
struct Chunk {
    records: Vec<u8>,
    span: Option<(u64, u64)>,
    /// Log time and position of each message, by channel.
    messages: BTreeMap<u16, Vec<(u64, u64)>>,
}

fn widen(span: &mut Option<(u64, u64)>, time: u64) {
    *span = Some(span.map_or((time, time), |(first, last)| (first.min(time), last.max(time))));
}

/// Puts together the body of a record.
#[derive(Default)]
struct Body(Vec<u8>);

impl Body {
    fn u16(mut self, value: u16) -> Self {
        self.0.extend(value.to_le_bytes());
        self
    }
    fn u32(mut self, value: u32) -> Self {
        self.0.extend(value.to_le_bytes());
        self
    }
    fn u64(mut self, value: u64) -> Self {
        self.0.extend(value.to_le_bytes());
        self
    }
    fn sized(self, bytes: &[u8]) -> Self {
        // Texts, and lists of a chunk: far below 4 GiB.
        let mut with = self.u32(bytes.len() as u32);
        with.0.extend(bytes);
        with
    }
    fn record(self, opcode: u8, to: &mut Vec<u8>) {
        to.push(opcode);
        to.extend((self.0.len() as u64).to_le_bytes());
        to.extend(self.0);
    }
}

impl<W: Write> McapWriter<W> {
    pub(super) fn new(out: W, compression: ChunkCompression) -> Result<Self> {
        let mut writer = McapWriter {
            out,
            compression,
            at: 0,
            crc: crc32fast::Hasher::new(),
            chunk: Chunk::default(),
            types: Vec::new(),
            channels: Vec::new(),
            chunks: Vec::new(),
            chunk_count: 0,
            counts: Vec::new(),
            span: None,
        };
        let mut start = mcap::MAGIC.to_vec();
        let library = concat!("jetlag-bags ", env!("CARGO_PKG_VERSION"));
        Body::default()
            .sized(b"ros2")
            .sized(library.as_bytes())
            .record(op::HEADER, &mut start);
        writer.put(&start)?;
        Ok(writer)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes)?;
        self.crc.update(bytes);
        self.at += bytes.len() as u64;
        Ok(())
    }

    /// Describes a topic, whose channel is the next number from 0 on.
    pub(super) fn topic(&mut self, topic: &Described<'_>) -> Result<()> {
        // There are fewer topics than numbers: the bag counts them.
        let channel = self.counts.len() as u16;
        self.counts.push(0);
        let number = channel + 1; // 0 means no type.
        let (types, channels) = (self.types.len(), self.channels.len());
        let (encoding, definition) = topic.definition;
        Body::default()
            .u16(number)
            .sized(topic.kind.as_bytes())
            .sized(encoding.as_bytes())
            .sized(definition)
            .record(op::SCHEMA, &mut self.types);
        let mut metadata = Vec::new();
        if !topic.qos.is_empty() {
            let pair = Body::default().sized(b"offered_qos_profiles");
            metadata = pair.sized(topic.qos.as_bytes()).0;
        }
        Body::default()
            .u16(channel)
            .u16(number)
            .sized(topic.name.as_bytes())
            .sized(topic.serialization.as_bytes())
            .sized(&metadata)
            .record(op::CHANNEL, &mut self.channels);
        // Before the first message, and in the closing index.
        self.chunk.records.extend_from_slice(&self.types[types..]);
        self.chunk.records.extend_from_slice(&self.channels[channels..]);
        Ok(())
    }

    pub(super) fn message(&mut self, channel: u16, time: Time, message: &[u8]) -> Result<()> {
        let time = u64::try_from(time.0).unwrap_or_default();
        let position = self.chunk.records.len() as u64;
        let records = &mut self.chunk.records;
        records.push(op::MESSAGE);
        records.extend((22 + message.len() as u64).to_le_bytes());
        records.extend(channel.to_le_bytes());
        let count = &mut self.counts[usize::from(channel)];
        records.extend((*count as u32).to_le_bytes());
        records.extend(time.to_le_bytes());
        records.extend(time.to_le_bytes());
        records.extend_from_slice(message);
        *count += 1;
        self.chunk
            .messages
            .entry(channel)
            .or_default()
            .push((time, position));
        widen(&mut self.chunk.span, time);
        widen(&mut self.span, time);
        match self.chunk.records.len() >= CHUNK {
            true => self.close_chunk(),
            false => Ok(()),
        }
    }

    fn close_chunk(&mut self) -> Result<()> {
        let chunk = std::mem::take(&mut self.chunk);
        if chunk.records.is_empty() {
            return Ok(());
        }
        let (name, stored) = match self.compression {
            ChunkCompression::None => ("", None),
            ChunkCompression::Zstd => ("zstd", Some(zstd::bulk::compress(&chunk.records, 1)?)),
            ChunkCompression::Lz4 => ("lz4", Some(lz4(&chunk.records)?)),
        };
        let stored = stored.as_deref().unwrap_or(&chunk.records);
        let (size, stored_size) = (chunk.records.len() as u64, stored.len() as u64);
        let (first, last) = chunk.span.unwrap_or_default();
        let at = self.at;
        let front = Body::default()
            .u64(first)
            .u64(last)
            .u64(size)
            .u32(crc32fast::hash(&chunk.records))
            .sized(name.as_bytes())
            .u64(stored_size);
        let mut prefix = vec![op::CHUNK];
        prefix.extend((front.0.len() as u64 + stored_size).to_le_bytes());
        self.put(&prefix)?;
        self.put(&front.0)?;
        self.put(stored)?;
        let length = self.at - at;
        let (mut indices, mut offsets) = (Vec::new(), Vec::new());
        for (channel, messages) in &chunk.messages {
            offsets.extend(channel.to_le_bytes());
            offsets.extend((self.at + indices.len() as u64).to_le_bytes());
            let pairs: Vec<u8> = messages
                .iter()
                .flat_map(|(time, at)| [time.to_le_bytes(), at.to_le_bytes()].concat())
                .collect();
            Body::default()
                .u16(*channel)
                .sized(&pairs)
                .record(op::MESSAGE_INDEX, &mut indices);
        }
        self.put(&indices)?;
        self.chunk_count += 1;
        Body::default()
            .u64(first)
            .u64(last)
            .u64(at)
            .u64(length)
            .sized(&offsets)
            .u64(indices.len() as u64)
            .sized(name.as_bytes())
            .u64(stored_size)
            .u64(size)
            .record(op::CHUNK_INDEX, &mut self.chunks);
        Ok(())
    }

    /// Closes the file with its index.
    pub(super) fn finish(mut self) -> Result<()> {
        self.close_chunk()?;
        let crc = std::mem::take(&mut self.crc).finalize();
        let mut end = Vec::new();
        Body::default().u32(crc).record(op::DATA_END, &mut end);
        self.put(&end)?;
        self.crc = crc32fast::Hasher::new();
        let start = self.at;
        let counts: Vec<u8> = (0u16..)
            .zip(&self.counts)
            .flat_map(|(channel, count)| [&channel.to_le_bytes()[..], &count.to_le_bytes()].concat())
            .collect();
        let (first, last) = self.span.unwrap_or_default();
        let topics = self.counts.len() as u32;
        let mut statistics = Vec::new();
        Body::default()
            .u64(self.counts.iter().sum())
            .u16(topics as u16)
            .u32(topics)
            .u32(0) // attachments
            .u32(0) // metadata
            .u32(self.chunk_count)
            .u64(first)
            .u64(last)
            .sized(&counts)
            .record(op::STATISTICS, &mut statistics);
        let groups = [
            (op::SCHEMA, std::mem::take(&mut self.types)),
            (op::CHANNEL, std::mem::take(&mut self.channels)),
            (op::STATISTICS, statistics),
            (op::CHUNK_INDEX, std::mem::take(&mut self.chunks)),
        ];
        let mut offsets = Vec::new();
        for (opcode, records) in groups.iter().filter(|(_, records)| !records.is_empty()) {
            let mut body = Body::default();
            body.0.push(*opcode);
            body.u64(self.at)
                .u64(records.len() as u64)
                .record(op::SUMMARY_OFFSET, &mut offsets);
            self.put(records)?;
        }
        let offsets_at = self.at;
        self.put(&offsets)?;
        let mut footer = vec![op::FOOTER];
        footer.extend(20u64.to_le_bytes());
        footer.extend(start.to_le_bytes());
        footer.extend(offsets_at.to_le_bytes());
        self.put(&footer)?;
        let crc = std::mem::take(&mut self.crc).finalize();
        self.put(&crc.to_le_bytes())?;
        self.put(mcap::MAGIC)?;
        self.out.flush()
    }
}

fn lz4(bytes: &[u8]) -> Result<Vec<u8>> {
    // Small blocks: of a chunk that is cut off, whole ones can be read.
    let info = FrameInfo::new().block_size(BlockSize::Max64KB);
    let mut encoder = FrameEncoder::with_frame_info(info, Vec::new());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?)
}
