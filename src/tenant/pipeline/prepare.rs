//! The first part of a frame's way: waits for its release and makes its inputs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

use super::PhasePlan;
use super::threads::SlotWithCarry;
use crate::clock::Clock;
use crate::detector::Preprocess;
use crate::record::{EndReason, Event, FrameRecord, NO_CONTENT, Outcome, Stage};
use crate::scenario::Release as Waiting;
use crate::source::{Frame, Source};
use crate::tenant::arrival::Releases;
use crate::tenant::failures::Failures;
use crate::tenant::overload::{Release, WaitingLine};
use crate::tenant::recording::RecordSink;
use crate::trace::traced;
use crate::units::{Nanos, Stamp};

/// The last stretch of a wait that `Release::Spin` burns: longer than the usual wake-up latency of a timer.
const SPIN: Nanos = Nanos::from_micros(150);
/// Longest sleep without a look at the stop flag.
const STOP_CHECK: Nanos = Nanos::from_millis(50);

/// What `Prepare::next` came to.
#[allow(
    clippy::large_enum_variant,
    reason = "one lives at a time, and a box would be an allocation a frame"
)]
pub(super) enum Next {
    /// A frame to be submitted.
    Frame(FrameRecord),
    /// A frame that failed; it has been recorded.
    Skipped,
    /// No more frames.
    End(EndReason),
}

/// From release to made inputs.
pub(super) struct Prepare<'a> {
    pub(super) tenant: u16,
    pub(super) source: &'a mut dyn Source,
    /// How many frames the source holds: there is no release without one.
    pub(super) length: u64,
    /// Number of the frame that the source yields next.
    pub(super) position: u64,
    pub(super) preprocess: Option<&'a mut (dyn Preprocess + 'static)>,
    pub(super) line: WaitingLine,
    pub(super) releases: Releases,
    pub(super) frame: Frame,
    pub(super) deadline: Option<Nanos>,
    pub(super) frames: Option<u64>,
    pub(super) waiting: Waiting,
    pub(super) sequence: u64,
    /// Of these, how many were due in the measured window.
    pub(super) measured: u64,
    pub(super) failures: Failures,
    pub(super) plan: PhasePlan,
    pub(super) clock: &'a dyn Clock,
    pub(super) stop: &'a AtomicBool,
    pub(super) name: &'a str,
    pub(super) notes: Sender<Event>,
}

impl Prepare<'_> {
    /// Waits for the next frame that is due, and makes its inputs in `place`.
    pub(super) fn next(&mut self, place: &mut SlotWithCarry, sink: &mut RecordSink) -> Next {
        let release = match self.await_release(sink) {
            Ok(release) => release,
            Err(reason) => return Next::End(reason),
        };
        let started = if self.releases.is_closed() {
            release.due
        } else {
            self.clock.now()
        };
        let mut record = self.record_of(release, started);
        match self.make_inputs(place, &mut record) {
            Ok(true) => {
                self.failures.none();
                Next::Frame(record)
            }
            Ok(false) => Next::End(EndReason::EndOfSource),
            Err(problem) => self.failed(record, &problem, sink),
        }
    }

    /// Acquire, decode and preprocess, each stamped; `false` at the end of the source.
    fn make_inputs(&mut self, place: &mut SlotWithCarry, record: &mut FrameRecord) -> Result<bool, String> {
        let mut mark = record.started;
        let mut lap = |clock: &dyn Clock| {
            let now = clock.now();
            let took = now - mark;
            mark = now;
            Some(took)
        };
        // The n-th release means the n-th frame: those of dropped releases are passed over.
        let passed = record.sequence - std::mem::replace(&mut self.position, record.sequence + 1);
        if passed > 0 {
            self.source.skip(passed).map_err(|e| e.to_string())?;
        }
        let traced = traced(record, self.name);
        let acquired = {
            let _stage = traced.stage("acquire");
            self.source.acquire(&mut self.frame)
        };
        if !acquired.map_err(|e| e.to_string())? {
            return Ok(false);
        }
        record.source_index = self.frame.index;
        record.stages[Stage::Acquire as usize] = lap(self.clock);
        let decoded = {
            let _stage = traced.stage("decode");
            self.source.decode(&mut self.frame)
        };
        decoded.map_err(|e| e.to_string())?;
        record.stages[Stage::Decode as usize] = lap(self.clock);
        if let Some(preprocess) = &mut self.preprocess {
            let made = {
                let _stage = traced.stage("preprocess");
                preprocess.run(&self.frame, place.slot.tensors_mut(), &mut place.carry)
            };
            record.input_size = made.map_err(|e| e.to_string())?;
            record.stages[Stage::Preprocess as usize] = lap(self.clock);
        }
        Ok(true)
    }

    /// The next frame whose turn it is, waiting for it if need be.
    fn await_release(&mut self, sink: &mut RecordSink) -> Result<Release, EndReason> {
        let mut woke_for = None;
        loop {
            let now = self.clock.now();
            self.join_due(now, woke_for, sink);
            if self.stop.load(Ordering::Relaxed) {
                return Err(EndReason::Interrupted);
            }
            if now >= self.plan.end {
                return Err(EndReason::Duration);
            }
            if let Some(release) = self.line.take() {
                return Ok(release);
            }
            if !self.may_release() {
                return Err(if self.sequence == self.length {
                    EndReason::EndOfSource
                } else {
                    EndReason::Count
                });
            }
            if self.releases.is_closed() {
                if now < self.plan.epoch {
                    self.clock.sleep_until(self.plan.epoch.min(now + STOP_CHECK));
                    continue;
                }
                return Ok(self.number(now, Nanos::ZERO));
            }
            match self.releases.peek() {
                None => self.clock.sleep_until(self.plan.end.min(now + STOP_CHECK)),
                Some(due) if due - now > STOP_CHECK * 2 => self.clock.sleep_until(now + STOP_CHECK),
                Some(due) => {
                    match self.waiting {
                        Waiting::Sleep => self.clock.sleep_until(due),
                        Waiting::Spin => self.clock.spin_until(due, SPIN),
                    }
                    woke_for = Some(due);
                }
            }
        }
    }

    /// Lets every frame that is due by `now` join the line. Those that the overload policy gives up are
    /// recorded as dropped at the release that displaced them.
    fn join_due(&mut self, now: Stamp, woke_for: Option<Stamp>, sink: &mut RecordSink) {
        if self.releases.is_closed() {
            return;
        }
        while let Some(due) = self.releases.peek().filter(|due| *due <= now) {
            if !self.may_release() {
                return;
            }
            self.releases.take();
            let lateness = if woke_for == Some(due) {
                now - due
            } else {
                Nanos::ZERO
            };
            let release = self.number(due, lateness);
            if let Some(dropped) = self.line.join(release) {
                let mut record = self.record_of(dropped, due);
                record.outcome = Outcome::Dropped;
                sink.frame(record);
            }
        }
    }

    /// Whether another frame will be due by then.
    pub(super) fn is_due_by(&self, then: Stamp) -> bool {
        let is_released = || self.releases.is_closed() || self.releases.peek().is_some_and(|due| due <= then);
        !self.line.is_empty() || (self.may_release() && is_released())
    }

    /// Whether the source has one more frame, and the tenant's own limit, which counts from the end of the warm-up,
    /// allows it.
    fn may_release(&self) -> bool {
        self.sequence < self.length && self.frames.is_none_or(|limit| self.measured < limit)
    }

    fn number(&mut self, due: Stamp, lateness: Nanos) -> Release {
        let sequence = self.sequence;
        self.sequence += 1;
        self.measured += u64::from(due >= self.plan.measured_from);
        Release {
            sequence,
            due,
            lateness,
        }
    }

    fn record_of(&self, release: Release, started: Stamp) -> FrameRecord {
        FrameRecord {
            tenant: self.tenant,
            phase: self.plan.phase,
            warmup: release.due < self.plan.measured_from,
            outcome: Outcome::Completed,
            sequence: release.sequence,
            source_index: NO_CONTENT,
            released: release.due,
            started,
            finished: started,
            lateness: release.lateness,
            stages: [None; 8],
            deadline: self.deadline,
            detections: 0,
            input_size: 0,
            submission: None,
        }
    }

    fn failed(&mut self, mut record: FrameRecord, problem: &str, sink: &mut RecordSink) -> Next {
        record.finished = self.clock.now();
        record.outcome = Outcome::Failed;
        sink.frame(record);
        self.failures
            .one(&self.notes, record.finished, self.name, problem);
        if self.failures.hopeless() {
            return Next::End(EndReason::Failed);
        }
        Next::Skipped
    }

    /// Records the frames that still wait, and will not be served, as unfinished: cut off now, or when the measured
    /// time ended, so that what a slow last frame takes beyond that makes no other overdue.
    pub(super) fn close(&mut self, sink: &mut RecordSink) {
        let now = self.clock.now();
        self.join_due(now, None, sink);
        self.failures.close(&self.notes, now, self.name);
        while let Some(release) = self.line.take() {
            let mut record = self.record_of(release, now.min(self.plan.end));
            record.outcome = Outcome::Unfinished;
            sink.frame(record);
        }
    }
}
