//! Records of MCAP as far as they are needed: their fields, checked against the record's length.

use std::sync::Arc;

use crate::compression::Compression;
use crate::contents::{Contents, TopicContents};
use crate::definition::Definition;
use crate::time::Time;

/// Reads the fields of a record in turn; none where it is too short for one.
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

impl<'a> Fields<'a> {
    pub(super) fn bytes(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }
    pub(super) fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }
    pub(super) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }
    pub(super) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }
    pub(super) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }
    /// Bytes after their length.
    pub(super) fn sized(&mut self) -> Option<&'a [u8]> {
        let length = self.u32()?;
        self.bytes(usize::try_from(length).ok()?)
    }
    /// What is not UTF-8 in it is replaced: a name to be shown is better than none.
    fn text(&mut self) -> Option<String> {
        self.sized()
            .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    }
    /// A record within records: its operation code and body.
    pub(super) fn record(&mut self) -> Option<(u8, &'a [u8])> {
        let opcode = self.u8()?;
        let length = self.u64()?;
        Some((opcode, self.bytes(usize::try_from(length).ok()?)?))
    }
}

/// A type of messages: its name, and the definition as stored.
#[derive(Clone, Default)]
pub(super) struct Type {
    pub(super) name: String,
    pub(super) definition: Option<Arc<Definition>>,
}

/// A type with its number.
pub(super) fn schema(body: &[u8], contents: &mut Contents) -> Option<(u16, Type)> {
    let mut fields = Fields(body);
    let (number, name) = (fields.u16()?, fields.text()?);
    // Its absence is no damage.
    let definition = fields.sized().zip(fields.sized());
    let definition = definition.and_then(|(encoding, text)| contents.definition(encoding, text));
    Some((number, Type { name, definition }))
}

/// A channel, which is a topic with a type.
pub(super) struct Channel {
    pub(super) number: u16,
    pub(super) schema: u16,
    topic: String,
    encoding: String,
    qos: String,
}

impl Channel {
    pub(super) fn of(body: &[u8]) -> Option<Channel> {
        let mut fields = Fields(body);
        Some(Channel {
            number: fields.u16()?,
            schema: fields.u16()?,
            topic: fields.text()?,
            encoding: fields.text()?,
            qos: qos(fields.sized().unwrap_or_default()).unwrap_or_default(),
        })
    }

    /// With its type.
    pub(super) fn with(self, kind: Type) -> TopicContents {
        TopicContents {
            name: self.topic,
            kind: kind.name,
            serialization: self.encoding,
            definition: kind.definition,
            qos: self.qos,
            entries: Vec::new(),
            compression: Vec::new(),
        }
    }
}

/// `offered_qos_profiles` among a channel's metadata.
fn qos(metadata: &[u8]) -> Option<String> {
    let mut fields = Fields(metadata);
    while !fields.0.is_empty() {
        let (name, value) = (fields.sized()?, fields.text()?);
        if name == b"offered_qos_profiles" {
            return Some(value);
        }
    }
    None
}

/// What a message record begins with.
pub(super) struct MessageHeader {
    pub(super) channel: u16,
    pub(super) log_time: Time,
}

impl MessageHeader {
    pub(super) fn of(body: &[u8]) -> Option<MessageHeader> {
        let mut fields = Fields(body);
        let channel = fields.u16()?;
        fields.u32()?;
        let log_time = Time::of_unsigned(fields.u64()?);
        fields.u64()?;
        Some(MessageHeader { channel, log_time })
    }
}

/// What the front of a chunk record says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ChunkHeader {
    /// Bytes of its records, decompressed.
    pub(super) size: u64,
    /// The checksum of its records; 0 where none was computed.
    pub(super) crc: u32,
    /// How the records are compressed, or the unknown name of it.
    pub(super) compression: Result<Compression, String>,
    /// Bytes of its records as stored.
    pub(super) stored: u64,
    /// Where the records begin, from the beginning of the record's body.
    pub(super) records_at: usize,
}

/// Bytes of the front of a chunk record whose compression has a short name.
pub(super) const CHUNK_HEADER: usize = 64;

impl ChunkHeader {
    /// Start time, end time, size, checksum, compression's name, compressed size; then the records.
    pub(super) fn of(body: &[u8]) -> Option<ChunkHeader> {
        let mut fields = Fields(body);
        fields.bytes(16)?;
        let (size, crc) = (fields.u64()?, fields.u32()?);
        let name = fields.sized()?;
        let stored = fields.u64()?;
        let compression = match name {
            b"" => Ok(Compression::None),
            b"zstd" => Ok(Compression::ChunkZstd),
            b"lz4" => Ok(Compression::ChunkLz4),
            other => Err(String::from_utf8_lossy(other).into_owned()),
        };
        Some(ChunkHeader {
            size,
            crc,
            compression,
            stored,
            records_at: 40 + name.len(),
        })
    }
}

/// Where the index says that a chunk and the indices of its messages are.
#[derive(Clone, Copy)]
pub(super) struct ChunkIndex {
    /// Where the chunk's record begins.
    pub(super) at: u64,
    /// Bytes of the whole record.
    pub(super) length: u64,
    /// Bytes of the records behind it that index its messages.
    pub(super) indices: u64,
    pub(super) is_compressed: bool,
    pub(super) compression: Compression,
    /// Bytes of its records, decompressed.
    pub(super) size: u64,
}

impl ChunkIndex {
    pub(super) fn of(body: &[u8]) -> Option<ChunkIndex> {
        let mut fields = Fields(body);
        fields.bytes(16)?;
        let (at, length) = (fields.u64()?, fields.u64()?);
        fields.sized()?;
        let indices = fields.u64()?;
        let compression = match fields.sized()? {
            b"" => Compression::None,
            b"lz4" => Compression::ChunkLz4,
            // Any other is refused where the chunk is opened.
            _ => Compression::ChunkZstd,
        };
        fields.u64()?;
        Some(ChunkIndex {
            at,
            length,
            indices,
            is_compressed: compression != Compression::None,
            compression,
            size: fields.u64()?,
        })
    }
}

/// The indices of one channel's messages in a chunk: log time and where the record begins in the decompressed chunk.
pub(super) fn message_index(body: &[u8]) -> Option<(u16, impl Iterator<Item = (Time, u64)>)> {
    let mut fields = Fields(body);
    let channel = fields.u16()?;
    let (pairs, rest) = fields.sized()?.as_chunks::<16>();
    rest.is_empty().then_some(())?;
    let pair = |pair: &[u8; 16]| {
        let mut fields = Fields(pair);
        let time = Time::of_unsigned(fields.u64().unwrap_or_default());
        (time, fields.u64().unwrap_or_default())
    };
    Some((channel, pairs.iter().map(pair)))
}

/// How many messages a file says that it has.
pub(super) fn statistics(body: &[u8]) -> Option<u64> {
    Fields(body).u64()
}
