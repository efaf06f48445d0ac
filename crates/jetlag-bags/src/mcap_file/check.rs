//! Checksums of chunks, held against what is there before a message is read: a bag that is copied gets new ones, which would hold.

use super::chunk::{Chunk, Trouble};
use super::indexed::message_front;
use super::{ChunkPlace, PlainChunk, Subject};
use crate::BagError;
use crate::completeness::Loss;
use crate::contents::{Contents, Entry, NO_CHUNK};
use crate::error::Damage;
use crate::positioned::read_at;

/// A chunk whose messages are left out.
struct Bad {
    at: u64,
    damage: Damage,
    messages: u64,
}

/// Leaves out the messages of compressed chunks that cannot be read; whether the index tells of the others what is in them.
pub(super) fn compressed(
    subject: &Subject<'_>,
    places: &[ChunkPlace],
    contents: &mut Contents,
) -> Result<bool, BagError> {
    let mut chunk = Chunk::default();
    let mut bad: Vec<(u32, Bad)> = Vec::new();
    // Of each topic: how many of its messages were looked at. They are noted chunk by chunk.
    let mut seen = vec![0; contents.topics.len()];
    for (number, place) in (0_u32..).zip(places) {
        match chunk.open(subject.file, place, subject.limits) {
            Ok(_) => {}
            Err(Trouble::Io(error)) => return Err(subject.io(error)),
            Err(Trouble::Damage(damage)) => bad.push((
                number,
                Bad {
                    at: place.at,
                    damage,
                    messages: 0,
                },
            )),
        }
        let is_bad = bad.last().is_some_and(|(last, _)| *last == number);
        for ((channel, topic), seen) in contents.topics.iter().zip(&mut seen) {
            let rest = topic.entries.get(*seen..).unwrap_or_default();
            let here = rest.iter().skip_while(|entry| entry.chunk == NO_CHUNK);
            let skipped = rest.iter().take_while(|entry| entry.chunk == NO_CHUNK).count();
            let here: Vec<&Entry> = here.take_while(|entry| entry.chunk == number).collect();
            *seen += if here.is_empty() { 0 } else { skipped + here.len() };
            if !is_bad && !here.iter().all(|entry| is_there(&chunk.records, *channel, entry)) {
                return Ok(false);
            }
        }
    }
    leave_out(subject, contents, &mut bad, |bad, entry| {
        bad.binary_search_by_key(&entry.chunk, |(number, _)| *number).ok()
    });
    Ok(true)
}

/// Whether a chunk has the message that the index tells of.
fn is_there(records: &[u8], channel: i64, entry: &Entry) -> bool {
    let front = usize::try_from(entry.place).ok().and_then(|at| records.get(at..));
    front
        .and_then(message_front)
        .is_some_and(|(_, header)| i64::from(header.channel) == channel && header.log_time == entry.log_time)
}

/// Leaves out the messages of chunks, not compressed, whose checksum does not hold.
pub(super) fn plain(
    subject: &Subject<'_>,
    chunks: &[PlainChunk],
    contents: &mut Contents,
) -> Result<(), BagError> {
    let mut piece = vec![0; 1 << 18];
    let mut bad: Vec<(PlainChunk, Bad)> = Vec::new();
    for chunk in chunks {
        let mut hasher = crc32fast::Hasher::new();
        let mut at = chunk.from;
        while at < chunk.to {
            let wanted = piece
                .len()
                .min(usize::try_from(chunk.to - at).unwrap_or(usize::MAX));
            let got = read_at(subject.file, at, &mut piece[..wanted]).map_err(|error| subject.io(error))?;
            if got == 0 {
                break;
            }
            hasher.update(&piece[..got]);
            at += got as u64;
        }
        let found = hasher.finalize();
        if found != chunk.crc {
            let damage = Damage::Checksum {
                wanted: chunk.crc,
                found,
            };
            let what = Bad {
                at: chunk.at,
                damage,
                messages: 0,
            };
            bad.push((*chunk, what));
        }
    }
    bad.sort_by_key(|(chunk, _)| chunk.from);
    leave_out(subject, contents, &mut bad, |bad, entry| {
        let after = bad.partition_point(|(chunk, _)| chunk.from <= entry.place);
        let before = after.checked_sub(1)?;
        let (chunk, _) = bad.get(before)?;
        (entry.chunk == NO_CHUNK && entry.place < chunk.to).then_some(before)
    });
    Ok(())
}

/// Leaves out the messages that are in one of these, and notes each with how many it had.
fn leave_out<C>(
    subject: &Subject<'_>,
    contents: &mut Contents,
    bad: &mut Vec<(C, Bad)>,
    of: impl Fn(&[(C, Bad)], &Entry) -> Option<usize>,
) {
    if bad.is_empty() {
        return;
    }
    for topic in contents.topics.values_mut() {
        topic.entries.retain(|entry| match of(bad, entry) {
            Some(place) => {
                bad[place].1.messages += 1;
                false
            }
            None => true,
        });
    }
    for (_, Bad { at, damage, messages }) in bad.drain(..) {
        contents.messages -= messages;
        contents.losses.push(Loss::Chunk {
            path: subject.path.to_owned(),
            at,
            damage,
            messages,
        });
    }
}
