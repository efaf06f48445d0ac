//! An MCAP file as a plain series of records, from the front, as far as it goes.
//!
//! The mcap crate's readers decompress record by record, and give up where a file is cut off. A run file
//! is read a chunk at a time, which is what makes ten million frames a matter of seconds, and a chunk
//! that was only half written still gives what can be decompressed of it. Memory is bounded by one chunk.
//! What the records mean is the reader's affair.

use std::io::{BufReader, ErrorKind, Read};

use mcap::records::op;

/// Records and chunks larger than this are taken for damage: ours are about a MiB.
const MAX_RECORD: u64 = 64 << 20;
/// Bytes of a record's operation code and length.
const PREFIX: usize = 9;
/// Bytes of a footer that its checksum covers: two offsets.
const FOOTER_HASHED: usize = 16;

/// What is wrong with the content of a file.
#[derive(Debug, thiserror::Error)]
pub enum Damage {
    /// A length beyond the limit.
    #[error("a record claims {bytes} bytes, more than the limit of {MAX_RECORD}")]
    TooLong {
        /// The length that the record's header claims.
        bytes: u64,
    },
    /// A chunk whose content does not match its checksum.
    #[error("a chunk has the checksum {found:08x}, not {wanted:08x}")]
    Checksum {
        /// The CRC-32 stored beside the chunk.
        wanted: u32,
        /// The CRC-32 of the bytes that are there.
        found: u32,
    },
    /// A chunk without a checksum, so that it cannot be verified.
    #[error("a chunk has no checksum, so it cannot be verified")]
    NoChecksum,
    /// A chunk whose decompressed length is not the stated one.
    #[error("a chunk has {found} bytes, not {wanted}")]
    Size {
        /// The decompressed length that the chunk's header states.
        wanted: u64,
        /// How many bytes decompressing gave.
        found: u64,
    },
    /// The checksum of everything before the closing index is wrong.
    #[error("the data before the closing index has the checksum {found:08x}, not {wanted:08x}")]
    DataChecksum {
        /// The CRC-32 stored where the data ends.
        wanted: u32,
        /// The CRC-32 of all bytes before that.
        found: u32,
    },
    /// The closing index does not match its checksum, or has none.
    #[error("the closing index has the checksum {found:08x}, not {wanted:08x}")]
    IndexChecksum {
        /// The stored checksum; 0 means none.
        wanted: u32,
        /// The CRC-32 of the bytes that are there.
        found: u32,
    },
    /// The closing index does not say how many messages there are.
    #[error("the closing index has no message count, so completeness cannot be verified")]
    NoStatistics,
    /// A count differs from the one in the closing index.
    #[error("the closing index counts {wanted} {what}, but the file has {found}")]
    Count {
        /// What is counted, as the message calls it: `messages`, `chunks`, ….
        what: &'static str,
        /// The count in the closing index.
        wanted: u64,
        /// The count that was read.
        found: u64,
    },
    /// Messages are missing, repeated or out of order.
    #[error(
        "{topic} has message {found} where message {wanted} is expected: messages are missing, repeated or out of order"
    )]
    Sequence {
        /// The topic of the channel.
        topic: String,
        /// The sequence number that was due on the channel.
        wanted: u32,
        /// The sequence number of the message.
        found: u32,
    },
    /// A message of a channel that the file does not describe.
    #[error("a message is on channel {0}, which was not declared before it")]
    Channel(u16),
    /// Zeros where a record should begin.
    #[error("there are zeros where a record should begin, as after a power cut")]
    Zeros,
    /// A record of unknown kind, or at a place where its kind is not allowed.
    #[error("there is a record with the operation code {opcode:#04x} {}", section.words())]
    Misplaced {
        /// The record's operation code in MCAP.
        opcode: u8,
        /// The section of the file, if the kind is not allowed in it.
        section: Section,
    },
    /// The file does not end after its last record.
    #[error("the file does not end as its last record says")]
    End,
    /// A chunk that cannot be decompressed.
    #[error("a chunk cannot be decompressed: {0}")]
    Decompress(std::io::Error),
    /// A compression that we never use.
    #[error("a chunk is compressed by `{0}`, which is not supported: rewrite the file with `mcap compress`")]
    Compression(String),
    /// A record whose inner lengths contradict each other.
    #[error("a record is shorter than its fields")]
    Short,
    /// A record that the format does not allow.
    #[error("{0}")]
    Record(#[from] mcap::McapError),
    /// A message that is not what its schema says.
    #[error("a message on {topic} cannot be decoded: {error}")]
    Message {
        /// The topic of the channel.
        topic: String,
        /// What in the message cannot be decoded.
        error: crate::cdr::CdrError,
    },
}

/// The section of a file that a record stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// Within a chunk, compressed or not.
    Chunk,
    /// Before the closing index, and in no chunk.
    Data,
    /// In the closing index.
    Index,
}

impl Section {
    fn words(self) -> &'static str {
        match self {
            Section::Chunk => "in a chunk",
            Section::Data => "between chunks",
            Section::Index => "in the closing index",
        }
    }
}

/// The result of reading one step further.
pub(super) enum Item<'a> {
    /// A record, in or out of a chunk.
    Record {
        /// The part of the file that it stands in.
        section: Section,
        /// The record's operation code in MCAP.
        opcode: u8,
        /// The bytes behind the operation code and the length.
        body: &'a [u8],
    },
    /// The end of the file; `whole` if it has its footer and closing magic.
    End {
        /// Whether nothing is missing.
        whole: bool,
    },
}

/// Why reading stopped before the end of the file.
pub(super) enum Stop {
    /// The system refused to read.
    Io(std::io::Error),
    /// The content is damaged.
    Damage(Damage),
}

impl From<Damage> for Stop {
    fn from(damage: Damage) -> Self {
        Stop::Damage(damage)
    }
}

pub(super) struct Container<R: Read> {
    input: BufReader<R>,
    /// End of the last whole record outside of chunks.
    pub(super) offset: u64,
    /// Whole chunks so far.
    pub(super) chunks: u64,
    body: Vec<u8>,
    /// The current chunk, decompressed, and how far it has been read.
    chunk: Vec<u8>,
    chunk_at: usize,
    /// Whether the current chunk was cut off.
    cut: bool,
    /// The current section: [`Section::Data`], then [`Section::Index`].
    section: Section,
    /// Checksum of the current section so far.
    crc: crc32fast::Hasher,
    zstd: Option<zstd::bulk::Decompressor<'static>>,
}

impl<R: Read> Container<R> {
    /// After the opening magic, which the caller has read and checked.
    pub(super) fn new(input: R) -> Self {
        let mut crc = crc32fast::Hasher::new();
        crc.update(mcap::MAGIC);
        Container {
            input: BufReader::with_capacity(1 << 18, input),
            offset: mcap::MAGIC.len() as u64,
            chunks: 0,
            body: Vec::new(),
            chunk: Vec::new(),
            chunk_at: 0,
            cut: false,
            section: Section::Data,
            crc,
            zstd: None,
        }
    }

    /// The next record, chunks opened.
    pub(super) fn next(&mut self) -> Result<Item<'_>, Stop> {
        while self.chunk_at >= self.chunk.len() {
            if self.cut {
                return Ok(Item::End { whole: false });
            }
            let Some(opcode) = self.read_record()? else {
                return Ok(Item::End { whole: false });
            };
            match (self.section, opcode) {
                (Section::Data, op::CHUNK) => self.open_chunk()?,
                (Section::Index, op::FOOTER) => return self.close(),
                (section, opcode) => {
                    if (section, opcode) == (Section::Data, op::DATA_END) {
                        self.end_data()?;
                    }
                    return Ok(Item::Record {
                        section,
                        opcode,
                        body: &self.body,
                    });
                }
            }
        }
        let rest = &self.chunk[self.chunk_at..];
        let record = rest.split_first_chunk::<PREFIX>().and_then(|(prefix, rest)| {
            let (opcode, length) = split_prefix(prefix);
            Some((opcode, rest.get(..usize::try_from(length).ok()?)?))
        });
        match record {
            Some((opcode, body)) => {
                self.chunk_at += PREFIX + body.len();
                Ok(Item::Record {
                    section: Section::Chunk,
                    opcode,
                    body,
                })
            }
            None => {
                self.chunk_at = self.chunk.len();
                match self.cut {
                    true => Ok(Item::End { whole: false }),
                    false => Err(Damage::Short.into()),
                }
            }
        }
    }

    /// Reads a record outside of chunks into `body`; none where the file ends. Of a chunk that is cut
    /// off, what there is.
    fn read_record(&mut self) -> Result<Option<u8>, Stop> {
        let mut prefix = [0; PREFIX];
        if read_up_to(&mut self.input, &mut prefix).map_err(Stop::Io)? < PREFIX {
            return Ok(None);
        }
        let (opcode, length) = split_prefix(&prefix);
        if length > MAX_RECORD {
            return Err(Damage::TooLong { bytes: length }.into());
        }
        self.body.clear();
        let got = (&mut self.input)
            .take(length)
            .read_to_end(&mut self.body)
            .map_err(Stop::Io)?;
        if (got as u64) < length {
            self.cut = true;
            return Ok((opcode == op::CHUNK).then_some(opcode));
        }
        // The two records that hold a checksum are not part of what it is of, or not whole.
        match opcode {
            op::DATA_END if self.section == Section::Data => {}
            op::FOOTER => {
                self.crc.update(&prefix);
                self.crc.update(&self.body[..self.body.len().min(FOOTER_HASHED)]);
            }
            _ => {
                self.crc.update(&prefix);
                self.crc.update(&self.body);
            }
        }
        self.offset += PREFIX as u64 + length;
        Ok(Some(opcode))
    }

    /// Checks what came before the closing index, whose checksum is in `body`.
    fn end_data(&mut self) -> Result<(), Damage> {
        self.section = Section::Index;
        let found = std::mem::take(&mut self.crc).finalize();
        let wanted = u32::from_le_bytes(*self.body.first_chunk().ok_or(Damage::Short)?);
        // Zero means that none was computed: chunks have checksums of their own.
        if wanted != 0 && wanted != found {
            return Err(Damage::DataChecksum { wanted, found });
        }
        Ok(())
    }

    /// Checks the closing index, whose checksum is in `body`, and the end of the file.
    fn close(&mut self) -> Result<Item<'_>, Stop> {
        self.cut = true;
        let wanted = self.body.get(FOOTER_HASHED..).and_then(|crc| crc.first_chunk());
        let wanted = u32::from_le_bytes(*wanted.ok_or(Damage::Short)?);
        let found = std::mem::take(&mut self.crc).finalize();
        if wanted != found {
            return Err(Damage::IndexChecksum { wanted, found }.into());
        }
        // One byte more, to see that nothing follows.
        let mut end = [0; mcap::MAGIC.len() + 1];
        let got = read_up_to(&mut self.input, &mut end).map_err(Stop::Io)?;
        match &end[..got] {
            all if all == mcap::MAGIC => {
                self.offset += got as u64;
                Ok(Item::End { whole: true })
            }
            part if mcap::MAGIC.starts_with(part) => Ok(Item::End { whole: false }),
            _ => Err(Damage::End.into()),
        }
    }

    /// Decompresses the chunk in `body`.
    fn open_chunk(&mut self) -> Result<(), Stop> {
        self.chunk.clear();
        self.chunk_at = 0;
        let header = match ChunkHeader::of(&self.body) {
            Some(header) => header,
            None if self.cut => return Ok(()),
            None => return Err(Damage::Short.into()),
        };
        if header.uncompressed > MAX_RECORD {
            return Err(Damage::TooLong {
                bytes: header.uncompressed,
            }
            .into());
        }
        let stored = &self.body[header.records_at..];
        let stored = match usize::try_from(header.compressed) {
            Ok(length) if length == stored.len() => stored,
            _ if self.cut => stored,
            _ => return Err(Damage::Short.into()),
        };
        match header.compression.as_slice() {
            b"" => self.chunk.extend_from_slice(stored),
            b"zstd" if self.cut => salvage(stored, header.uncompressed, &mut self.chunk),
            b"zstd" => {
                let zstd = match &mut self.zstd {
                    Some(zstd) => zstd,
                    none => none.insert(zstd::bulk::Decompressor::new().map_err(Damage::Decompress)?),
                };
                self.chunk.reserve(header.uncompressed as usize);
                zstd.decompress_to_buffer(stored, &mut self.chunk)
                    .map_err(Damage::Decompress)?;
            }
            other => return Err(Damage::Compression(String::from_utf8_lossy(other).into_owned()).into()),
        }
        if self.cut {
            return Ok(());
        }
        let checked = header.check(&self.chunk);
        if checked.is_err() {
            self.chunk.clear();
        }
        checked?;
        self.chunks += 1;
        Ok(())
    }
}

/// What the front of a chunk record says.
struct ChunkHeader {
    uncompressed: u64,
    crc: u32,
    compression: Vec<u8>,
    compressed: u64,
    /// Where the compressed records begin.
    records_at: usize,
}

impl ChunkHeader {
    /// Start time, end time, size, checksum, compression's name, compressed size; then the records.
    fn of(body: &[u8]) -> Option<ChunkHeader> {
        let u64_at = |at: usize| Some(u64::from_le_bytes(*body.get(at..)?.first_chunk()?));
        let u32_at = |at: usize| Some(u32::from_le_bytes(*body.get(at..)?.first_chunk()?));
        let name = usize::try_from(u32_at(28)?).ok()?;
        let compression = body.get(32..)?.get(..name)?.to_vec();
        Some(ChunkHeader {
            uncompressed: u64_at(16)?,
            crc: u32_at(24)?,
            compression,
            compressed: u64_at(32 + name)?,
            records_at: 40 + name,
        })
    }

    /// Whether what was decompressed is what was written.
    fn check(&self, chunk: &[u8]) -> Result<(), Damage> {
        let (wanted, found) = (self.uncompressed, chunk.len() as u64);
        if wanted != found {
            return Err(Damage::Size { wanted, found });
        }
        // Zero means that none was computed.
        let (wanted, found) = (self.crc, crc32fast::hash(chunk));
        match wanted {
            _ if wanted == found => Ok(()),
            0 => Err(Damage::NoChecksum),
            _ => Err(Damage::Checksum { wanted, found }),
        }
    }
}

/// As much of a cut chunk as decompresses.
fn salvage(stored: &[u8], limit: u64, out: &mut Vec<u8>) {
    if let Ok(decoder) = zstd::stream::read::Decoder::with_buffer(stored) {
        // The error is the cut; what came before it is in `out`.
        let _ = decoder.take(limit).read_to_end(out);
    }
}

fn split_prefix(prefix: &[u8; PREFIX]) -> (u8, u64) {
    let [opcode, length @ ..] = *prefix;
    (opcode, u64::from_le_bytes(length))
}

/// Fills `buffer`, or as much of it as there is input.
pub(super) fn read_up_to(input: &mut impl Read, buffer: &mut [u8]) -> std::io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match input.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives three bytes, each after an interruption.
    struct Interrupted(u8);

    impl Read for Interrupted {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            self.0 += 1;
            match self.0 {
                7.. => Ok(0),
                odd if odd % 2 == 1 => Err(ErrorKind::Interrupted.into()),
                even => {
                    into[0] = even;
                    Ok(1)
                }
            }
        }
    }

    #[test]
    fn a_signal_while_reading_loses_nothing() {
        let mut buffer = [0; 5];
        assert_eq!(read_up_to(&mut Interrupted(0), &mut buffer).unwrap(), 3);
        assert_eq!(buffer, [2, 4, 6, 0, 0]);
    }

    /// Cannot be read.
    struct Refused;

    impl Read for Refused {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(ErrorKind::PermissionDenied.into())
        }
    }

    #[test]
    fn what_cannot_be_read_is_no_end() {
        let error = read_up_to(&mut Refused, &mut [0; 5]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PermissionDenied);
    }
}
