//! The position of a frame and its stages on a time line, for formats that draw slices.
//!
//! The record has the timestamps of a frame and the durations of its stages. Stages are laid end to end in their
//! order, from the start of service; postprocessing ends where the frame ends. The gap between the two is time that
//! belongs to no stage. Frames of one tenant may overlap: each goes to the first free lane.

use crate::record::{FrameRecord, RangeRecord, Stage};
use crate::units::{Nanos, Stamp};

/// A stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Beginning of the stretch.
    pub from: Stamp,
    /// Its end, not before its beginning.
    pub to: Stamp,
}

/// The stages of a frame that were measured, in order, none beyond the frame's own end.
pub fn stages(frame: &FrameRecord) -> impl Iterator<Item = (Stage, Span)> {
    let (mut at, end) = (frame.started, frame.finished.max(frame.started));
    Stage::ALL
        .into_iter()
        .zip(frame.stages)
        .filter_map(move |(stage, took)| {
            let took = took?.max(Nanos::ZERO);
            let from = match stage {
                Stage::Postprocess => at.max(end - took),
                _ => at,
            };
            let from = from.min(end);
            at = (from + took).min(end);
            Some((stage, Span { from, to: at }))
        })
}

/// Lanes of one track: what overlaps goes side by side. Spans come in the order of their ends.
#[derive(Clone, Debug, Default)]
pub struct Lanes {
    /// The end of the last span of each.
    free_from: Vec<Stamp>,
}

impl Lanes {
    /// The first lane that is free during `span`, counted from 0.
    pub fn place(&mut self, span: Span) -> usize {
        let free = self.free_from.iter().position(|&free| free <= span.from);
        let lane = free.unwrap_or_else(|| {
            self.free_from.push(span.to);
            self.free_from.len() - 1
        });
        self.free_from[lane] = span.to;
        lane
    }
}

/// One end of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge<'a> {
    /// The beginning of this range.
    Begin(&'a RangeRecord),
    /// The range that began last ends.
    End(Stamp),
}

/// Ranges of one track, which are recorded when they end, put into the order in which they begin and end: what is around
/// others first, also where they begin in the same nanosecond.
#[derive(Clone, Debug, Default)]
pub struct Nesting {
    waiting: Vec<RangeRecord>,
}

impl Nesting {
    /// Takes in the next range; hands out the edges of those that wait where a batch or an outermost range has ended.
    pub fn push(&mut self, range: &RangeRecord, edge: &mut dyn FnMut(Edge<'_>)) {
        let whole = range.items.is_some() || !range.path.contains('/');
        self.waiting.push(range.clone());
        if whole {
            self.flush(edge);
        }
    }

    /// Hands out what waits: at the end, ranges whose surroundings were cut off.
    pub fn flush(&mut self, edge: &mut dyn FnMut(Edge<'_>)) {
        // Those around others were recorded later; sorting keeps the order of what is equal.
        self.waiting.reverse();
        self.waiting
            .sort_by_key(|range| (range.from, std::cmp::Reverse(range.to)));
        let mut open: Vec<Stamp> = Vec::new();
        for range in &self.waiting {
            while let Some(&to) = open.last()
                && to <= range.from
                && !(to == range.from && range.to == range.from)
            {
                edge(Edge::End(to));
                open.pop();
            }
            edge(Edge::Begin(range));
            open.push(range.to);
        }
        open.into_iter().rev().for_each(|to| edge(Edge::End(to)));
        self.waiting.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(stages: [Option<i64>; 9], finished: i64) -> FrameRecord {
        FrameRecord {
            started: Stamp(100),
            stages: stages.map(|took| took.map(Nanos)),
            ..FrameRecord::completed(Stamp(50), Stamp(finished))
        }
    }

    fn laid(frame: &FrameRecord) -> Vec<(&'static str, i64, i64)> {
        stages(frame)
            .map(|(stage, span)| (stage.name(), span.from.0, span.to.0))
            .collect()
    }

    #[test]
    fn stages_lie_end_to_end_and_postprocessing_ends_with_the_frame() {
        let measured = [
            None,
            Some(5),
            None,
            Some(10),
            None,
            None,
            Some(40),
            None,
            Some(20),
        ];
        let of = frame(measured, 200);
        assert_eq!(
            laid(&of),
            [
                ("acquire", 100, 105),
                ("preprocess", 105, 115),
                ("compute", 115, 155),
                ("postprocess", 180, 200)
            ]
        );
    }

    #[test]
    fn stages_that_claim_more_than_the_frame_took_end_with_it() {
        let measured = [None, Some(80), None, None, None, None, Some(80), None, Some(20)];
        let of = frame(measured, 150);
        let spans = laid(&of);
        assert_eq!(spans[1], ("compute", 150, 150));
        assert!(spans.iter().all(|&(_, from, to)| from <= to && to <= 150));
    }

    #[test]
    fn ranges_that_begin_together_open_from_the_outside_in() {
        let range = |path: &str, from, to, items| RangeRecord {
            tenant: 0,
            track: 0,
            from: Stamp(from),
            to: Stamp(to),
            path: path.to_owned(),
            batch: None,
            items,
        };
        let mut nesting = Nesting::default();
        let mut seen = Vec::new();
        for range in [
            range("run/batch/a", 5, 7, None),
            range("run/batch/b", 7, 9, None),
            range("run/batch", 5, 9, Some(1)),
            range("run", 5, 9, None),
        ] {
            nesting.push(&range, &mut |edge| {
                seen.push(match edge {
                    Edge::Begin(range) => format!("+{}", range.path),
                    Edge::End(at) => format!("-{}", at.0),
                })
            });
        }
        let expected = [
            "+run/batch",
            "+run/batch/a",
            "-7",
            "+run/batch/b",
            "-9",
            "-9",
            "+run",
            "-9",
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn what_overlaps_gets_a_lane_of_its_own_and_what_does_not_shares_one() {
        let mut lanes = Lanes::default();
        let mut place = |from, to| {
            lanes.place(Span {
                from: Stamp(from),
                to: Stamp(to),
            })
        };
        assert_eq!(place(0, 10), 0);
        assert_eq!(place(5, 15), 1);
        assert_eq!(place(10, 20), 0);
        assert_eq!(place(11, 21), 2);
    }

    #[test]
    fn a_range_that_took_no_time_lies_in_the_one_that_is_open_or_ends_then() {
        let seen = |inner: [(i64, i64); 2]| {
            let range = |path: &str, (from, to): (i64, i64), items| RangeRecord {
                tenant: 0,
                track: 0,
                from: Stamp(from),
                to: Stamp(to),
                path: path.to_owned(),
                batch: None,
                items,
            };
            let mut nesting = Nesting::default();
            let mut seen = Vec::new();
            for range in [
                range("run/a", inner[0], None),
                range("run/b", inner[1], None),
                range("run", (0, 30), Some(1)),
            ] {
                nesting.push(&range, &mut |edge| {
                    seen.push(match edge {
                        Edge::Begin(range) => format!("+{}", range.path),
                        Edge::End(at) => format!("-{}", at.0),
                    })
                });
            }
            seen
        };
        assert_eq!(
            seen([(5, 10), (20, 20)]),
            ["+run", "+run/a", "-10", "+run/b", "-20", "-30"]
        );
        assert_eq!(
            seen([(5, 10), (10, 20)]),
            ["+run", "+run/a", "-10", "+run/b", "-20", "-30"]
        );
        assert_eq!(
            seen([(5, 10), (10, 10)]),
            ["+run", "+run/a", "+run/b", "-10", "-10", "-30"]
        );
    }
}
