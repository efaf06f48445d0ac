//! A process's ranges, as they nest: tracks, paths, batches and their stages. Pure.
//!
//! As in `jetlag-range`: a batch is a range with the batches' name that lies in no other batch, ranges directly within it that are
//! named like a stage are its stages, and the path of a range has the names of those around it.

use std::cmp::Reverse;
use std::collections::HashMap;

use jetlag_activity::spool::Range;

use crate::record::{RangeRecord, Stage};
use crate::units::{Nanos, Stamp};

/// A piece of work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Batch {
    /// The thread that began it.
    pub(super) thread: u32,
    pub(super) from: Stamp,
    pub(super) to: Stamp,
    /// 0 marks the end of a stream.
    pub(super) items: u64,
    pub(super) stages: [Option<Nanos>; 9],
    /// Whether it was started and ended by number.
    pub(super) started: bool,
}

/// A process's ranges in order.
#[derive(Debug, Default)]
pub(super) struct Nested {
    /// By index, in the order of their begin.
    pub(super) batches: Vec<Batch>,
    /// Of tenant 0; inner ranges before those around them.
    pub(super) ranges: Vec<RangeRecord>,
}

/// Whether a range of this name is a batch: the name itself, or with an index as CV-CUDA's samples have it (`batch_7`).
pub(super) fn is_batch(name: &str, batch: &str) -> bool {
    match name.strip_prefix(batch) {
        Some("") => true,
        Some(rest) => rest
            .strip_prefix('_')
            .is_some_and(|index| !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit())),
        None => false,
    }
}

/// A range that is around those that come.
struct Around {
    to: Stamp,
    path: String,
    /// Place in the batches, and how many ranges are between.
    batch: Option<(usize, u32)>,
}

/// A range with its place among tracks, before batches have their index.
struct Placed {
    record: RangeRecord,
    batch: Option<usize>,
    depth: usize,
}

/// Ranges of one track nest.
#[derive(Default)]
struct Track {
    number: u16,
    around: Vec<Around>,
}

impl Track {
    /// Whether a range fits into those that are open when it begins.
    fn fits(&mut self, range: &Range) -> bool {
        while self.around.last().is_some_and(|around| around.to <= range.from) {
            self.around.pop();
        }
        self.around.last().is_none_or(|around| around.to >= range.to)
    }
}

/// Puts ranges in order, by the thread that began them; ranges that cross each other get tracks of their own.
pub(super) fn nest<'a>(ranges: &[Range], text: impl Fn(u32) -> Option<&'a str>, batch: &str) -> Nested {
    // Of ranges with the same stamps the inner one was written first.
    let mut order: Vec<&Range> = ranges.iter().rev().collect();
    order.sort_by_key(|range| (range.from, Reverse(range.to)));
    let mut tracks: HashMap<(u32, bool), Vec<Track>> = HashMap::new();
    let mut count = 0u16;
    let mut batches: Vec<Batch> = Vec::new();
    let mut placed: Vec<Placed> = Vec::with_capacity(order.len());
    for range in order {
        let own = tracks.entry((range.thread, range.started)).or_default();
        let at = match own.iter_mut().position(|track| track.fits(range)) {
            Some(at) => at,
            None => {
                own.push(Track {
                    number: count,
                    ..Track::default()
                });
                count = count.saturating_add(1);
                own.len() - 1
            }
        };
        let track = &mut own[at];
        let name = range.name.and_then(&text).unwrap_or("(no name)");
        let is_one = is_batch(name, batch);
        let above = track.around.last();
        let within = above.and_then(|above| above.batch);
        // The index is the export's to add.
        let called = if is_one { batch } else { name };
        let path = match above {
            Some(above) => format!("{}/{called}", above.path),
            None => called.to_owned(),
        };
        let (batch, items) = match within {
            None if is_one => {
                let items = range.payload.map_or(1, |items| u64::try_from(items).unwrap_or(1));
                batches.push(Batch {
                    thread: range.thread,
                    from: range.from,
                    to: range.to,
                    items,
                    stages: [None; 9],
                    started: range.started,
                });
                (Some((batches.len() - 1, 0)), Some(items))
            }
            None => (None, None),
            Some((place, depth)) => {
                let stage = Stage::ALL.into_iter().find(|stage| stage.name() == name);
                if let Some(stage) = stage.filter(|_| depth == 0) {
                    let took = &mut batches[place].stages[stage as usize];
                    *took = Some(took.unwrap_or(Nanos::ZERO) + (range.to - range.from));
                }
                (Some((place, depth + 1)), None)
            }
        };
        placed.push(Placed {
            record: RangeRecord {
                tenant: 0,
                track: track.number,
                from: range.from,
                to: range.to,
                path: path.clone(),
                batch: None,
                items,
            },
            batch: batch.map(|(place, _)| place),
            depth: track.around.len(),
        });
        track.around.push(Around {
            to: range.to,
            path,
            batch,
        });
    }
    // Ranges came in the order of their begin, and so did batches: a batch's place is its index.
    placed.sort_by_key(|placed| (placed.record.to, Reverse(placed.depth)));
    let ranges = placed.into_iter().map(|placed| RangeRecord {
        batch: placed.batch.map(|place| place as u64),
        ..placed.record
    });
    Nested {
        ranges: ranges.collect(),
        batches,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 6] = ["batch", "batch_7", "compute", "decode", "run", "inner"];

    fn range(thread: u32, from: i64, to: i64, name: u32) -> Range {
        Range {
            thread,
            from: Stamp(from),
            to: Stamp(to),
            name: Some(name),
            domain: None,
            payload: None,
            started: false,
        }
    }

    /// Ranges as they are written: in the order of their end.
    fn nested(ranges: &[Range]) -> Nested {
        nest(ranges, |name| NAMES.get(name as usize).copied(), "batch")
    }

    fn paths(nested: &Nested) -> Vec<&str> {
        nested.ranges.iter().map(|range| range.path.as_str()).collect()
    }

    #[test]
    fn batches_are_numbered_in_their_order_and_what_lies_in_them_is_theirs() {
        let found = nested(&[
            range(1, 11, 12, 3),
            range(1, 13, 18, 2),
            Range {
                payload: Some(4),
                ..range(1, 10, 20, 1)
            },
            range(2, 16, 26, 0),
            range(1, 31, 33, 5),
            range(1, 30, 34, 2),
            range(1, 30, 40, 0),
            range(1, 0, 50, 4),
        ]);
        assert_eq!(
            paths(&found),
            [
                "run/batch/decode",
                "run/batch/compute",
                "run/batch",
                "batch",
                "run/batch/compute/inner",
                "run/batch/compute",
                "run/batch",
                "run"
            ]
        );
        let batches: Vec<(i64, u64)> = found.batches.iter().map(|b| (b.from.0, b.items)).collect();
        assert_eq!(batches, [(10, 4), (16, 1), (30, 1)]);
        let of: Vec<Option<u64>> = found.ranges.iter().map(|range| range.batch).collect();
        assert_eq!(
            of,
            [
                Some(0),
                Some(0),
                Some(0),
                Some(1),
                Some(2),
                Some(2),
                Some(2),
                None
            ]
        );
        let stage = |batch: usize, stage: Stage| found.batches[batch].stages[stage as usize];
        assert_eq!(stage(0, Stage::Compute), Some(Nanos(5)));
        assert_eq!(stage(0, Stage::Decode), Some(Nanos(1)));
        assert_eq!(stage(2, Stage::Compute), Some(Nanos(4)));
        assert_eq!(found.ranges[3].track, 1, "another thread");
    }

    #[test]
    fn a_batch_in_a_batch_is_a_range_of_it() {
        let found = nested(&[range(1, 11, 12, 0), range(1, 10, 20, 0)]);
        assert_eq!(found.batches.len(), 1);
        assert_eq!(found.ranges[0].items, None);
        assert_eq!(paths(&found), ["batch/batch", "batch"]);
    }

    #[test]
    fn ranges_that_cross_have_tracks_of_their_own() {
        let started = |from, to, name| Range {
            started: true,
            ..range(1, from, to, name)
        };
        let found = nested(&[
            started(0, 10, 0),
            started(5, 15, 0),
            started(8, 18, 0),
            started(11, 12, 0),
        ]);
        assert_eq!(found.batches.len(), 4);
        for (at, one) in found.ranges.iter().enumerate() {
            for other in &found.ranges[at + 1..] {
                let apart = one.to <= other.from || other.to <= one.from;
                let within = (one.from >= other.from && one.to <= other.to)
                    || (other.from >= one.from && other.to <= one.to);
                assert!(one.track != other.track || apart || within, "{one:?} {other:?}");
            }
        }
    }

    #[test]
    fn of_ranges_with_the_same_stamps_the_one_written_last_is_around() {
        let found = nested(&[range(1, 10, 20, 2), range(1, 10, 20, 0), range(1, 10, 20, 4)]);
        assert_eq!(paths(&found), ["run/batch/compute", "run/batch", "run"]);
    }

    #[test]
    fn a_name_with_an_index_is_a_batch_and_a_longer_word_is_not() {
        for (name, is) in [
            ("batch", true),
            ("batch_0", true),
            ("batch_12", true),
            ("batch_", false),
            ("batch_a", false),
            ("batches", false),
            ("a batch", false),
        ] {
            assert_eq!(is_batch(name, "batch"), is, "{name}");
        }
    }
}
