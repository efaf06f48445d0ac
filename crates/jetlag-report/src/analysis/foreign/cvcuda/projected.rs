//! The time of traced frames on a GPU, by CV-CUDA's definition: the span from the begin of the first activity that was launched
//! within a range to the end of the last, idle gaps included.
//!
//! Where a phase was traced, batches are its frames, as in CV-CUDA, whose own times are of traced batches too. The stages that a device
//! does by itself have the span of their kind of activity: copies to the device, copies from it, everything else.

use std::collections::HashMap;

use super::round4;
use crate::record::activity::{Direction, Work};
use crate::record::{ActivityBatch, Event, FrameRecord, Phase, PhaseSpec, Stage};
use crate::units::Nanos;

/// First begin and last end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Span(Option<(i64, i64)>);

impl Span {
    fn take(&mut self, (from, to): (i64, i64)) {
        let (first, last) = self.0.unwrap_or((from, to));
        self.0 = Some((first.min(from), last.max(to)));
    }

    pub(super) fn with(mut self, other: Span) -> Span {
        if let Some(other) = other.0 {
            self.take(other);
        }
        self
    }

    /// Its length: both ends in milliseconds of four decimals, and so is their difference; 0 without activities.
    pub(super) fn ms(self) -> f64 {
        let ms = |ns: i64| round4(Nanos(ns).as_millis_f64());
        self.0.map_or(0.0, |(from, to)| round4(ms(to) - ms(from)))
    }
}

/// The spans of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct OfFrame {
    pub(super) whole: Span,
    h2d: Span,
    compute: Span,
    d2h: Span,
}

impl OfFrame {
    /// That of a stage; none for those of the host.
    pub(super) fn of(&self, stage: Stage) -> Option<Span> {
        match stage {
            Stage::H2d => Some(self.h2d),
            Stage::Compute => Some(self.compute),
            Stage::D2h => Some(self.d2h),
            _ => None,
        }
    }
}

/// The traced frames of a run, while it is read.
#[derive(Debug, Default)]
pub(super) struct Projected {
    /// The traced phase with the most tenants; of several the first.
    phase: Option<PhaseSpec>,
    /// Its frames after the warm-up, in the order of the file.
    pub(super) frames: Vec<FrameRecord>,
    spans: HashMap<(u16, u64), OfFrame>,
}

impl Projected {
    pub(super) fn push(&mut self, event: &Event) {
        match event {
            Event::PhaseSpec(spec) if spec.traced => {
                let known = self.phase.as_ref().map_or(0, |phase| phase.members.len());
                if spec.members.len() > known {
                    *self = Projected {
                        phase: Some(spec.clone()),
                        ..Projected::default()
                    };
                }
            }
            Event::Frame(frame) if self.is_of(frame.phase) && !frame.warmup => self.frames.push(*frame),
            Event::Activities(batch) if self.is_of(batch.phase) => self.activities(batch),
            _ => {}
        }
    }

    fn is_of(&self, phase: Phase) -> bool {
        self.phase.as_ref().is_some_and(|spec| spec.phase == phase)
    }

    fn activities(&mut self, batch: &ActivityBatch) {
        for activity in &batch.activities {
            let (Some(_), Some(frame)) = (
                activity.work.on_device(),
                activity.owner.tenant.zip(activity.owner.frame),
            ) else {
                continue;
            };
            let span = (activity.from.0, activity.to.0.max(activity.from.0));
            let of = self.spans.entry(frame).or_default();
            of.whole.take(span);
            match activity.work {
                Work::Copy {
                    direction: Direction::HostToDevice,
                    ..
                } => of.h2d.take(span),
                Work::Copy {
                    direction: Direction::DeviceToHost,
                    ..
                } => of.d2h.take(span),
                _ => of.compute.take(span),
            }
        }
    }

    /// Whether anything on a GPU was traced of any frame.
    pub(super) fn has_any(&self) -> bool {
        !self.spans.is_empty()
    }

    /// The spans of a frame; empty where it used no GPU.
    pub(super) fn of(&self, frame: &FrameRecord) -> OfFrame {
        let known = self.spans.get(&(frame.tenant, frame.sequence));
        known.copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_s_ends_are_rounded_before_their_difference_is_taken() {
        let mut span = Span::default();
        assert_eq!(span.ms(), 0.0);
        span.take((1_000_049, 1_500_000));
        span.take((2_000_000, 2_000_051));
        // 1.0000 and 2.0001.
        assert_eq!(span.ms(), 1.0001);
        assert_eq!(span.with(Span::default()), span);
    }
}
