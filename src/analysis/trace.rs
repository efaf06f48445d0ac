//! Where a frame and its stages lie on a time line, for formats that draw slices.
//!
//! The record has the stamps of a frame and the durations of its stages. Stages are laid end to end in their
//! order, from the start of the work; postprocessing ends where the frame does. What is left between the two is
//! time that no stage claims. Frames of one tenant may overlap: each is given the first lane that is free.

use super::power::HOST_BACKENDS;
use crate::record::{FrameRecord, Stage};
use crate::units::{Nanos, Stamp};

/// A stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its beginning.
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

/// Whether a backend's device stages ran on a GPU.
pub fn on_gpu(backend: &str) -> bool {
    !HOST_BACKENDS.contains(&backend)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Outcome, Phase};

    fn frame(stages: [Option<i64>; 8], finished: i64) -> FrameRecord {
        FrameRecord {
            tenant: 0,
            phase: Phase::Together,
            warmup: false,
            outcome: Outcome::Completed,
            sequence: 0,
            source_index: 0,
            released: Stamp(50),
            started: Stamp(100),
            finished: Stamp(finished),
            lateness: Nanos::ZERO,
            stages: stages.map(|took| took.map(Nanos)),
            deadline: None,
            detections: 0,
            input_size: 0,
        }
    }

    fn laid(frame: &FrameRecord) -> Vec<(&'static str, i64, i64)> {
        stages(frame)
            .map(|(stage, span)| (stage.name(), span.from.0, span.to.0))
            .collect()
    }

    #[test]
    fn stages_lie_end_to_end_and_postprocessing_ends_with_the_frame() {
        let measured = [Some(5), None, Some(10), None, None, Some(40), None, Some(20)];
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
        let measured = [Some(80), None, None, None, None, Some(80), None, Some(20)];
        let of = frame(measured, 150);
        let spans = laid(&of);
        assert_eq!(spans[1], ("compute", 150, 150));
        assert!(spans.iter().all(|&(_, from, to)| from <= to && to <= 150));
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
}
