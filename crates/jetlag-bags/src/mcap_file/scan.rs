//! Finding the messages of an MCAP file by walking over it from the front, as far as it goes: for files that were not closed, were
//! cut off, or have no index. Compressed chunks are decompressed for that, one at a time; of what is not compressed, only the
//! front of each record is read.

use std::collections::HashMap;

use mcap::records::op;

use super::chunk::{Chunk, Trouble};
use super::indexed::message_front;
use super::record::{self, Channel, ChunkHeader, Fields};
use super::{ChunkPlace, DESCRIPTION, Found, MESSAGE_HEADER, PREFIX, PlainChunk, Subject};
use crate::BagError;
use crate::completeness::Loss;
use crate::compression::Compression;
use crate::contents::{Contents, Entry, NO_CHUNK};
use crate::error::Damage;
use crate::positioned::Window;

/// Chunks and contents of a file, as far as it goes.
pub(super) fn find(subject: &Subject<'_>, before: u64) -> Result<Found, BagError> {
    let mut scan = Scan {
        subject,
        contents: Contents::new(subject.limits.messages, before),
        types: HashMap::new(),
        places: Vec::new(),
        plain: Vec::new(),
        chunk: Chunk::default(),
        plain_end: None,
    };
    let mut window = Window::new(subject.file);
    let mut at = mcap::MAGIC.len() as u64;
    while let Some(next) = scan.step(&mut window, at)? {
        at = next;
    }
    Ok(Found {
        compressed: scan.places,
        plain: scan.plain,
        contents: scan.contents,
    })
}

struct Scan<'a> {
    subject: &'a Subject<'a>,
    contents: Contents,
    /// Names of types.
    types: HashMap<u16, record::Type>,
    places: Vec<ChunkPlace>,
    /// Those that are not compressed and have a checksum.
    plain: Vec<PlainChunk>,
    chunk: Chunk,
    /// Where the chunk ends whose records, which are not compressed, are being walked over.
    plain_end: Option<u64>,
}

impl Scan<'_> {
    /// Looks at the record at a position; where the next one begins, or none at the end.
    fn step(&mut self, window: &mut Window<'_>, at: u64) -> Result<Option<u64>, BagError> {
        let io = |error| self.subject.io(error);
        let Some((opcode, length)) = prefix(window.get(at, PREFIX as usize).map_err(io)?) else {
            return Ok(self.cut(at));
        };
        let body_at = at + PREFIX;
        let end = match body_at.checked_add(length) {
            Some(end) if end <= self.subject.length => end,
            _ if opcode == op::CHUNK && self.plain_end.is_none() => {
                return self.chunk(window, at, self.subject.length, true);
            }
            _ => return Ok(self.resume(at, Damage::Cut)),
        };
        match self.plain_end {
            Some(chunk_end) if end > chunk_end => return Ok(self.resume(at, Damage::Short)),
            Some(chunk_end) if end == chunk_end => self.plain_end = None,
            _ => {}
        }
        let damage = match opcode {
            op::DATA_END | op::FOOTER => return Ok(None),
            op::SCHEMA | op::CHANNEL if length > DESCRIPTION => Some(Damage::Short),
            op::SCHEMA | op::CHANNEL => {
                let body = window.get(body_at, length as usize).map_err(io)?;
                self.describe(opcode, body)?
            }
            op::MESSAGE => {
                let front = window.get(at, (PREFIX + MESSAGE_HEADER) as usize).map_err(io)?;
                let place = body_at + MESSAGE_HEADER;
                self.message(front, place, NO_CHUNK, Compression::None)?
            }
            op::CHUNK => return self.chunk(window, at, end, false),
            0 => Some(Damage::NoRecord),
            _ => None,
        };
        if let Some(damage) = damage {
            let is_end = matches!(damage, Damage::NoRecord);
            self.damaged(at, damage);
            if is_end {
                return Ok(None);
            }
        }
        Ok(Some(end))
    }

    /// A chunk that ends at `end`, which is where the file ends if it `is_cut`.
    fn chunk(
        &mut self,
        window: &mut Window<'_>,
        at: u64,
        end: u64,
        is_cut: bool,
    ) -> Result<Option<u64>, BagError> {
        let body_at = at + PREFIX;
        let next = (!is_cut).then_some(end);
        let wanted = record::CHUNK_HEADER.min(usize::try_from(end - body_at).unwrap_or(usize::MAX));
        let front = window
            .get(body_at, wanted)
            .map_err(|error| self.subject.io(error))?;
        let Some(header) = ChunkHeader::of(front) else {
            if !is_cut {
                self.damaged(at, Damage::Short);
            }
            return Ok(next.or_else(|| self.cut(at)));
        };
        if header.compression == Ok(Compression::None) {
            // Its records follow each other like those outside of chunks; its size is told where it is wrong, and is not needed.
            self.plain_end = next;
            let first = body_at + header.records_at as u64;
            let found = end.saturating_sub(first);
            if !is_cut && (header.stored != found || header.size != found) {
                let wanted = if header.stored == found {
                    header.size
                } else {
                    header.stored
                };
                self.damaged(at, Damage::Size { wanted, found });
            }
            if !is_cut && header.crc != 0 {
                self.plain.push(PlainChunk {
                    at,
                    from: first,
                    to: end,
                    crc: header.crc,
                });
            }
            if next == Some(first) {
                self.plain_end = None;
            }
            return Ok(Some(first));
        }
        let place = ChunkPlace {
            at,
            length: end - body_at,
            is_cut,
        };
        if is_cut {
            self.cut(at);
        }
        match self.chunk.open(self.subject.file, &place, self.subject.limits) {
            Ok(compression) => self.records_of(place, compression)?,
            Err(Trouble::Io(error)) => return Err(self.subject.io(error)),
            Err(Trouble::Damage(_)) if is_cut => {}
            Err(Trouble::Damage(damage)) => self.damaged(at, damage),
        }
        Ok(next)
    }

    /// Walks over the records of the chunk that was opened.
    fn records_of(&mut self, place: ChunkPlace, compression: Compression) -> Result<(), BagError> {
        let Ok(number) = u32::try_from(self.places.len()) else {
            return Ok(());
        };
        self.places.push(place);
        let records = std::mem::take(&mut self.chunk.records);
        let mut rest = Fields(&records);
        while !rest.0.is_empty() {
            let at = (records.len() - rest.0.len()) as u64;
            let front = rest.0;
            let damage = match rest.record() {
                Some((opcode @ (op::SCHEMA | op::CHANNEL), body)) => self.describe(opcode, body)?,
                Some((op::MESSAGE, _)) => self.message(front, at, number, compression)?,
                Some(_) => None,
                None => {
                    if !place.is_cut {
                        self.damaged(place.at, Damage::Short);
                    }
                    break;
                }
            };
            if let Some(damage) = damage {
                self.damaged(place.at, damage);
            }
        }
        self.chunk.records = records;
        Ok(())
    }

    fn describe(&mut self, opcode: u8, body: &[u8]) -> Result<Option<Damage>, BagError> {
        let is_read = match opcode {
            op::SCHEMA => record::schema(body, &mut self.contents).map(|schema| self.types.extend([schema])),
            _ => match Channel::of(body) {
                Some(channel) => {
                    let number = i64::from(channel.number);
                    let kind = self.types.get(&channel.schema).cloned().unwrap_or_default();
                    self.contents
                        .describe(self.subject.path, number, || channel.with(kind))?;
                    Some(())
                }
                None => None,
            },
        };
        Ok(is_read.is_none().then_some(Damage::Short))
    }

    /// Notes the message whose record begins with `front`.
    fn message(
        &mut self,
        front: &[u8],
        place: u64,
        chunk: u32,
        compression: Compression,
    ) -> Result<Option<Damage>, BagError> {
        let Some((length, header)) = message_front(front) else {
            return Ok(Some(Damage::Short));
        };
        let entry = Entry {
            log_time: header.log_time,
            place,
            length: u32::try_from(length).unwrap_or(u32::MAX),
            file: self.subject.number,
            chunk,
        };
        let channel = header.channel;
        let is_known = self
            .contents
            .add(self.subject.path, i64::from(channel), entry, compression)?;
        Ok((!is_known).then_some(Damage::Channel(channel)))
    }

    fn damaged(&mut self, at: u64, damage: Damage) {
        // The completeness of the bag keeps fewer; one damaged file is not to fill the memory.
        if self.contents.losses.len() < 1000 {
            self.contents.losses.push(Loss::Damaged {
                path: self.subject.path.to_owned(),
                at,
                damage,
            });
        }
    }

    /// The file ends at or after `at`; what comes next is nothing.
    fn cut(&mut self, at: u64) -> Option<u64> {
        let already = self
            .contents
            .losses
            .iter()
            .any(|loss| matches!(loss, Loss::Cut { .. }));
        if !already {
            self.contents.losses.push(Loss::Cut {
                path: self.subject.path.to_owned(),
                at,
                bytes: self.subject.length,
            });
        }
        None
    }

    /// Goes on behind the chunk in which something is wrong; where there is none, that is the end.
    fn resume(&mut self, at: u64, damage: Damage) -> Option<u64> {
        match self.plain_end.take() {
            Some(end) => {
                self.damaged(at, damage);
                Some(end)
            }
            None => self.cut(at),
        }
    }
}

fn prefix(bytes: &[u8]) -> Option<(u8, u64)> {
    let mut fields = Fields(bytes);
    Some((fields.u8()?, fields.u64()?))
}
