//! A frame on its way through the parts, with all that is known of it. Tasks go round: their memory is used again.

use super::figures::Busy;
use crate::clock::{Clock, RealClock};
use crate::detector::Detection;
use crate::record::{FrameRecord, Outcome, Stage};
use crate::source::{Content, Frame, Image};
use crate::units::{Nanos, Stamp};

/// One clock for all parts, so that their moments compare.
pub(super) const CLOCK: RealClock = RealClock;

/// The moment at which the next frame would begin to be read.
pub(super) fn now() -> Stamp {
    CLOCK.now()
}

/// A frame between two parts.
pub(super) struct Task {
    pub(super) frame: Frame,
    pub(super) record: FrameRecord,
    pub(super) found: Vec<Detection>,
    /// Whether there is an image to be written.
    pub(super) has_image: bool,
    /// Why no detections can be had of it.
    pub(super) problem: Option<String>,
    /// When the part before was done with it.
    pub(super) ready: Stamp,
    /// From when to when it was drawn on.
    pub(super) drawn: (Stamp, Stamp),
    pub(super) busy: Busy,
}

impl Default for Task {
    fn default() -> Task {
        Task {
            frame: Frame::default(),
            record: FrameRecord::completed(Stamp(0), Stamp(0)),
            found: Vec::new(),
            has_image: false,
            problem: None,
            ready: Stamp(0),
            drawn: (Stamp(0), Stamp(0)),
            busy: Busy::default(),
        }
    }
}

impl Task {
    /// Begins anew, as the frame of this number.
    pub(super) fn begin(&mut self, sequence: u64, now: Stamp) {
        self.record = FrameRecord {
            sequence,
            source_index: crate::record::NO_CONTENT,
            ..FrameRecord::completed(now, now)
        };
        self.found.clear();
        self.has_image = false;
        self.problem = None;
        self.ready = now;
        self.busy = Busy::default();
    }

    /// What a stage took.
    pub(super) fn stage(&mut self, stage: Stage, took: Nanos) {
        self.record.stages[stage as usize] = Some(took);
    }

    /// It waited for another part, which is its queue.
    pub(super) fn waited(&mut self, took: Nanos) {
        let queue = &mut self.record.stages[Stage::Queue as usize];
        *queue = Some(queue.unwrap_or(Nanos::ZERO) + took);
    }

    /// No detections can be had of it.
    pub(super) fn fail(&mut self, now: Stamp, problem: &dyn std::fmt::Display) {
        self.record.outcome = Outcome::Failed;
        self.record.finished = now;
        self.found.clear();
        self.problem = Some(problem.to_string());
    }

    /// Its image, if it has one.
    pub(super) fn image(&mut self) -> Option<&mut Image> {
        match &mut self.frame.content {
            Content::Image(image) if self.has_image => Some(image),
            _ => None,
        }
    }
}
