//! The back half of a frame's way: waits for its result, makes detections of it and records both.

use std::sync::mpsc::Sender;

use super::frame_error::FrameError;
use super::frame_slot::FrameSlot;
use super::parts::Parts;
use super::submit::Submitted;
use crate::backend::{Slot, StageTimes};
use crate::clock::Clock;
use crate::detector::{Carry, Detection, Postprocess};
use crate::record::{Event, FrameRecord, Outcome, Stage};
use crate::tenant::failures::Failures;
use crate::tenant::marks::{Mark, Marks};
use crate::tenant::nodes::{LateFrame, NodeTotals};
use crate::tenant::recording::RecordSink;
use crate::tenant::watched::Watched;
use crate::trace::traced;
use crate::units::Nanos;

/// The back half of the pipeline: from submission to record.
pub(super) struct Finish<'a> {
    pub(super) clock: &'a dyn Clock,
    pub(super) postprocess: Option<&'a mut (dyn Postprocess + 'static)>,
    pub(super) found: Vec<Detection>,
    pub(super) name: &'a str,
    pub(super) notes: Sender<Event>,
    pub(super) nodes: &'a mut NodeTotals,
    /// Frames whose time per node is told when the run is over, by number; none in phases where it is not recorded.
    pub(super) late: Option<&'a mut Vec<LateFrame>>,
    pub(super) failures: Failures,
    pub(super) watched: &'a Watched,
    pub(super) marks: Option<&'a dyn Marks>,
}

impl Finish<'_> {
    /// At the end of the phase.
    pub(super) fn close(&mut self) {
        self.failures.close(&self.notes, self.clock.now(), self.name);
    }

    /// Waits for a frame's result, turns it into detections and records it.
    pub(super) fn frame(
        &mut self,
        place: &mut FrameSlot,
        mut record: FrameRecord,
        submitted: Submitted<'_>,
        sink: &mut RecordSink,
    ) {
        let FrameSlot {
            slot,
            carry,
            has_outputs,
            ..
        } = place;
        self.found.clear();
        let result = submitted.result.and_then(|()| {
            let _stage = traced(&record, self.name).stage("wait");
            let _mark = Mark::of(self.marks, &record);
            let _waiting = self.watched.result.begin(self.clock.now(), &record);
            slot.wait()
        });
        drop(submitted.leaving);
        *has_outputs = result.is_ok();
        let done = result
            .map_err(FrameError::from)
            .and_then(|times| self.result(times, slot.as_ref(), carry, &mut record));
        match done {
            Ok(()) => {
                record.detections = self.found.len() as u32;
                sink.frame(record);
                if !self.found.is_empty() {
                    sink.detections(&record, &self.found);
                }
                // After the frame is finished and recorded, so that adding up is in no frame's time.
                let measured = (!record.warmup).then(|| record.response());
                self.nodes.add(slot.node_times(), measured);
                if let (Some(response), Some(late)) = (measured, &mut self.late)
                    && slot.number_frame(late.len() as u64)
                {
                    let phase = record.phase;
                    late.push(LateFrame { phase, response });
                }
                self.failures.none();
            }
            Err(problem) => {
                record.finished = self.clock.now();
                record.outcome = Outcome::Failed;
                sink.frame(record);
                self.failures
                    .one(&self.notes, record.finished, self.name, &problem);
            }
        }
    }

    /// The same for all frames of a batch, which `place` has: each is decoded and recorded by itself.
    pub(super) fn batch(
        &mut self,
        place: &mut FrameSlot,
        lead: &FrameRecord,
        submitted: Submitted<'_>,
        sink: &mut RecordSink,
    ) {
        let FrameSlot {
            slot,
            parts,
            has_outputs,
            ..
        } = place;
        let Some(parts) = parts else { return };
        let result = submitted.result.and_then(|()| {
            let _stage = traced(lead, self.name).stage("wait");
            let _mark = Mark::of(self.marks, lead);
            let _waiting = self.watched.result.begin(self.clock.now(), lead);
            slot.wait()
        });
        drop(submitted.leaving);
        *has_outputs = result.is_ok();
        // Taken out and put back, so that its memory stays.
        let mut frames = std::mem::take(&mut parts.frames);
        match result {
            Ok(times) => {
                for (part, (record, _)) in frames.iter_mut().enumerate() {
                    let done = self.part(times, slot.as_ref(), parts, part, record);
                    self.tell(done, record, sink);
                }
                // One inference, whatever the number of its frames.
                let measured =
                    (!lead.warmup).then(|| frames.last().map_or(Nanos::ZERO, |(last, _)| last.response()));
                self.nodes.add(slot.node_times(), measured);
                if let (Some(response), Some(late)) = (measured, &mut self.late)
                    && slot.number_frame(late.len() as u64)
                {
                    late.push(LateFrame {
                        phase: lead.phase,
                        response,
                    });
                }
            }
            Err(problem) => {
                let now = self.clock.now();
                for (record, _) in &mut frames {
                    record.finished = now;
                    record.outcome = Outcome::Failed;
                    sink.frame(*record);
                }
                self.failures.one(&self.notes, now, self.name, &problem);
            }
        }
        frames.clear();
        parts.frames = frames;
    }

    /// What a frame of a batch has found.
    fn part(
        &mut self,
        times: StageTimes,
        slot: &dyn Slot,
        parts: &mut Parts,
        part: usize,
        record: &mut FrameRecord,
    ) -> Result<(), FrameError> {
        self.found.clear();
        stages(times, record);
        record.finished = self.clock.now();
        if let Some(postprocess) = &mut self.postprocess {
            let began = record.finished;
            let done = {
                let _stage = traced(record, self.name).stage("postprocess");
                parts.read(&mut **postprocess, part, slot.tensors(), &mut self.found)
            };
            done?;
            record.finished = self.clock.now();
            record.stages[Stage::Postprocess as usize] = Some(record.finished - began);
        }
        Ok(())
    }

    /// Records a frame of a batch.
    fn tell(&mut self, done: Result<(), FrameError>, record: &mut FrameRecord, sink: &mut RecordSink) {
        match done {
            Ok(()) => {
                record.detections = self.found.len() as u32;
                sink.frame(*record);
                if !self.found.is_empty() {
                    sink.detections(record, &self.found);
                }
                self.failures.none();
            }
            Err(problem) => {
                record.finished = self.clock.now();
                record.outcome = Outcome::Failed;
                sink.frame(*record);
                self.failures
                    .one(&self.notes, record.finished, self.name, &problem);
            }
        }
    }

    fn result(
        &mut self,
        times: StageTimes,
        slot: &dyn Slot,
        carry: &Carry,
        record: &mut FrameRecord,
    ) -> Result<(), FrameError> {
        stages(times, record);
        record.finished = self.clock.now();
        if let Some(postprocess) = &mut self.postprocess {
            let began = record.finished;
            let done = {
                let _stage = traced(record, self.name).stage("postprocess");
                postprocess.run(slot.tensors(), carry, &mut self.found)
            };
            done?;
            record.finished = self.clock.now();
            record.stages[Stage::Postprocess as usize] = Some(record.finished - began);
        }
        Ok(())
    }
}

/// What the backend measured, into the record of a frame.
fn stages(times: StageTimes, record: &mut FrameRecord) {
    let StageTimes {
        h2d,
        queue,
        compute,
        d2h,
        submission,
    } = times;
    record.submission = submission;
    record.stages[Stage::H2d as usize] = h2d;
    // What it waited for its turn is there already.
    let turn = record.stages[Stage::Queue as usize];
    record.stages[Stage::Queue as usize] = match (turn, queue) {
        (Some(turn), Some(queue)) => Some(turn + queue),
        (turn, queue) => turn.or(queue),
    };
    record.stages[Stage::Compute as usize] = compute;
    record.stages[Stage::D2h as usize] = d2h;
}
