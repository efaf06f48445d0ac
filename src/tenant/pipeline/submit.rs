//! The middle of a frame's way: its turn on the device, where tenants take turns, and its submission.
//!
//! A backend's `submit` does not wait for the result, and still may last: some libraries enqueue a network for about as
//! long as the device executes it. So its time is kept, by which the next frame is made meanwhile or not.

use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

use super::frame_slot::FrameSlot;
use crate::backend::BackendError;
use crate::clock::Clock;
use crate::record::{FrameRecord, Stage};
use crate::tenant::gate::{Gate, Leaving};
use crate::tenant::marks::{Mark, Marks};
use crate::tenant::watched::Watched;
use crate::trace::traced;
use crate::units::{Nanos, Stamp};

/// From made inputs to submission.
pub(super) struct Submit<'a> {
    pub(super) clock: &'a dyn Clock,
    pub(super) gate: Option<&'a Gate>,
    pub(super) name: &'a str,
    /// What the last one took, in nanoseconds.
    pub(super) took: AtomicI64,
    pub(super) watched: &'a Watched,
    /// Submissions that may build what later ones use: kernels, graphs, the library's choice of algorithms. The first of each
    /// slot.
    pub(super) building: AtomicUsize,
    pub(super) marks: Option<&'a dyn Marks>,
}

/// A frame on the device, or one that could not be submitted.
pub(super) struct Submitted<'a> {
    pub(super) result: Result<(), BackendError>,
    /// Its place on the device, where tenants take turns: given up when this is dropped.
    pub(super) leaving: Option<Leaving<'a>>,
}

impl<'a> Submit<'a> {
    /// Waits at the gate and submits. `made`: when the frame was ready, if it may have waited already. That and the time
    /// at the gate is its *queue* stage.
    pub(super) fn frame(
        &self,
        place: &mut FrameSlot,
        record: &mut FrameRecord,
        made: Option<Stamp>,
    ) -> Submitted<'a> {
        let ready = made.or_else(|| self.gate.map(|_| self.clock.now()));
        let leaving = self.gate.map(|gate| {
            gate.enter(
                record.tenant,
                record.deadline.map(|deadline| record.released + deadline),
            );
            gate.leaving(record.tenant)
        });
        let began = self.clock.now();
        if let Some(ready) = ready {
            record.stages[Stage::Queue as usize] = Some(began - ready);
        }
        let left = self.building.load(Ordering::Relaxed);
        self.building.store(left.saturating_sub(1), Ordering::Relaxed);
        let result = {
            let _waiting = (left == 0).then(|| self.watched.submission.begin(began, record));
            let _stage = traced(record, self.name).stage("submit");
            let _mark = Mark::of(self.marks, record);
            place.slot.submit()
        };
        self.took.store((self.clock.now() - began).0, Ordering::Relaxed);
        Submitted { result, leaving }
    }

    /// How long the last submission took.
    pub(super) fn took(&self) -> Nanos {
        Nanos(self.took.load(Ordering::Relaxed))
    }
}
