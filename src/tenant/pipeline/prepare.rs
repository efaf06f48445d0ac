//! The first part of a frame's way: waits for its release and makes its inputs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

use super::frame_error::FrameError;
use super::frame_slot::FrameSlot;
use crate::clock::Clock;
use crate::detector::Preprocess;
use crate::record::{EndReason, Event, FrameRecord, Outcome, Stage};
use crate::scenario::Release as Waiting;
use crate::source::live::Ended;
use crate::source::{Content, Frame, Source};
use crate::tenant::PhasePlan;
use crate::tenant::failures::{Failures, note};
use crate::tenant::overload::Release;
use crate::tenant::recording::RecordSink;
use crate::tenant::release_line::ReleaseLine;
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
    /// None has come in time.
    Late,
    /// There are no more frames, for this reason.
    End(EndReason),
}

/// From release to made inputs.
pub(super) struct Prepare<'a> {
    pub(super) source: &'a mut dyn Source,
    /// Number of the frame that the source yields next, counted through all repetitions.
    pub(super) position: u64,
    /// Whether `frame` is the one before it, read and decoded.
    pub(super) is_whole: bool,
    pub(super) preprocess: Option<&'a mut (dyn Preprocess + 'static)>,
    pub(super) line: ReleaseLine,
    pub(super) frame: Frame,
    pub(super) waiting: Waiting,
    pub(super) failures: Failures,
    pub(super) plan: PhasePlan,
    pub(super) clock: &'a dyn Clock,
    pub(super) stop: &'a AtomicBool,
    pub(super) name: &'a str,
    pub(super) notes: Sender<Event>,
}

impl Prepare<'_> {
    /// Waits for the next frame that is due, and makes its inputs in `place`.
    pub(super) fn next(&mut self, place: &mut FrameSlot, sink: &mut RecordSink) -> Next {
        self.next_until(place, None, None, sink)
    }

    /// The same, waiting no longer than `until`, and for no frame of another moment than `moment`.
    pub(super) fn next_until(
        &mut self,
        place: &mut FrameSlot,
        until: Option<Stamp>,
        moment: Option<u64>,
        sink: &mut RecordSink,
    ) -> Next {
        let release = match self.await_release(until, moment, sink) {
            Ok(release) => release,
            Err(None) => return Next::Late,
            Err(Some(reason)) => return Next::End(reason),
        };
        let started = if self.line.is_closed() {
            release.due
        } else {
            self.clock.now()
        };
        let mut record = self.line.record_of(release, started);
        match self.make_inputs(place, release, &mut record) {
            Ok(true) => {
                self.failures.none();
                Next::Frame(record)
            }
            Ok(false) => Next::End(EndReason::EndOfSource),
            Err(problem) => self.failed(record, &problem, sink),
        }
    }

    /// The moment of the frame with this number, where frames share one.
    fn moment_of(&self, number: u64) -> Option<u64> {
        self.source.timeline()?.moment(number)
    }

    /// The moment of the frame before the next one, where frames share one, and whether the next one is of the same.
    pub(super) fn moment(&self) -> Option<(u64, bool)> {
        let of = self.moment_of(self.position.checked_sub(1)?)?;
        Some((of, self.moment_of(self.position) == Some(of)))
    }

    /// Waits until the set is complete. One that was complete before its turn came takes no time here.
    fn await_set(&self, complete: Stamp) {
        loop {
            let now = self.clock.now();
            if now >= complete || self.stop.load(Ordering::Relaxed) {
                return;
            }
            self.clock.sleep_until(complete.min(now + STOP_CHECK));
        }
    }

    /// Synchronise, acquire, decode and preprocess, each stamped; `false` at the end of the source.
    fn make_inputs(
        &mut self,
        place: &mut FrameSlot,
        release: Release,
        record: &mut FrameRecord,
    ) -> Result<bool, FrameError> {
        let number = release.frame;
        let mut mark = record.started;
        let mut lap = |clock: &dyn Clock| {
            let now = clock.now();
            let took = now - mark;
            mark = now;
            Some(took)
        };
        let traced = traced(record, self.name);
        if let Some(complete) = release.complete {
            let _stage = traced.stage("synchronise");
            self.await_set(complete);
            record.stages[Stage::Synchronise as usize] = lap(self.clock);
        }
        // A timer may take the frame again that is here already.
        let is_here = self.position.checked_sub(1) == Some(number);
        if !is_here {
            // Frames of dropped releases are passed over, and those that a timer never takes.
            let passed = number - std::mem::replace(&mut self.position, number + 1);
            self.is_whole = false;
            if passed > 0 {
                self.source.skip(passed)?;
            }
            let acquired = {
                let _stage = traced.stage("acquire");
                self.source.acquire(&mut self.frame)
            };
            if !acquired? {
                return Ok(false);
            }
            record.source_index = self.frame.index;
            record.stages[Stage::Acquire as usize] = lap(self.clock);
            if let Content::Set(set) = self.frame.content() {
                record.skew = set.skew;
            }
            let decoded = {
                let _stage = traced.stage("decode");
                self.source.decode(&mut self.frame)
            };
            decoded?;
            self.is_whole = true;
            record.stages[Stage::Decode as usize] = lap(self.clock);
        } else if self.is_whole {
            record.source_index = self.frame.index;
        } else {
            return Err(FrameError::NotThere);
        }
        if let Some(preprocess) = &mut self.preprocess {
            let made = {
                let _stage = traced.stage("preprocess");
                place.make(&mut **preprocess, &self.frame)
            };
            record.input_size = made?;
            record.stages[Stage::Preprocess as usize] = lap(self.clock);
        }
        Ok(true)
    }

    /// The next frame whose turn it is, waiting for it if need be; `None` where it has not come by `until`, or is of another moment.
    fn await_release(
        &mut self,
        until: Option<Stamp>,
        moment: Option<u64>,
        sink: &mut RecordSink,
    ) -> Result<Release, Option<EndReason>> {
        let mut woke_for = None;
        let latest = until.unwrap_or(Stamp(i64::MAX));
        loop {
            let now = self.clock.now();
            self.line
                .join_due(now, woke_for, |_, dropped| sink.frame(dropped));
            if self.stop.load(Ordering::Relaxed) {
                return Err(Some(EndReason::Interrupted));
            }
            if now >= self.plan.end {
                return Err(Some(EndReason::Duration));
            }
            if let (Some(_), Some(first)) = (moment, self.line.first())
                && self.moment_of(first.frame) != moment
            {
                return Err(None);
            }
            if let Some(release) = self.line.take() {
                return Ok(release);
            }
            if let Some(reason) = self.line.exhausted() {
                return Err(Some(reason));
            }
            if self.line.is_closed() {
                if now < self.plan.epoch {
                    self.clock.sleep_until(self.plan.epoch.min(now + STOP_CHECK));
                    continue;
                }
                if let Some(release) = self.line.release_now(now) {
                    return Ok(release);
                }
            }
            if now >= latest {
                return Err(None);
            }
            if let Some(live) = self.line.live() {
                match live.ended() {
                    Some(Ended::Over) => return Err(Some(EndReason::EndOfSource)),
                    Some(Ended::Failed(why)) => {
                        note(&self.notes, now, self.name, &why);
                        return Err(Some(EndReason::Failed));
                    }
                    None => woke_for = live.wait(self.plan.end.min(now + STOP_CHECK) - now),
                }
                continue;
            }
            match self.line.next_due() {
                None => self
                    .clock
                    .sleep_until(self.plan.end.min(latest).min(now + STOP_CHECK)),
                Some(due) if due - now > STOP_CHECK * 2 => {
                    self.clock.sleep_until(latest.min(now + STOP_CHECK));
                }
                Some(due) if due > latest => self.clock.sleep_until(latest),
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

    /// Whether another frame will be due by then.
    pub(super) fn is_due_by(&self, then: Stamp) -> bool {
        self.line.is_due_by(then)
    }

    fn failed(&mut self, mut record: FrameRecord, problem: &FrameError, sink: &mut RecordSink) -> Next {
        record.finished = self.clock.now();
        record.outcome = Outcome::Failed;
        sink.frame(record);
        self.failures
            .one(&self.notes, record.finished, self.name, &problem);
        if self.failures.hopeless() {
            return Next::End(EndReason::Failed);
        }
        Next::Skipped
    }

    /// Records the frames that still wait, and will not be served, as unfinished: cut off now, or when the measured
    /// time ended, so that what a slow last frame takes beyond that makes no other overdue.
    pub(super) fn close(&mut self, sink: &mut RecordSink) {
        let now = self.clock.now();
        self.line.join_due(now, None, |_, dropped| sink.frame(dropped));
        self.failures.close(&self.notes, now, self.name);
        self.line
            .cut_off(now.min(self.plan.end), |_, unfinished| sink.frame(unfinished));
    }
}
