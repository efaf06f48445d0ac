//! Drives one tenant on real threads: release → acquire, decode, preprocess → submit → wait, postprocess → record.
//!
//! At depth 1 one thread does everything in turn. At depth *n* ≥ 2 a second thread waits for results and
//! postprocesses, so that the stages of up to *n* successive frames overlap; the slots go round between the
//! two through bounded channels. Which frames are dropped does not depend on when the thread gets round to
//! looking: releases are replayed in order from the arrival process, and between two looks nobody leaves
//! the line.
//!
//! Steady state allocates nothing and shares no lock with another tenant.

use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, sync_channel};

use super::arrival::Releases;
use super::failures::{Failures, note};
use super::nodes::NodeTotals;
use super::overload::{Release, WaitingLine};
use super::recording::RecordSink;
use crate::backend::{Slot, StageTimes};
use crate::clock::Clock;
use crate::detector::{Carry, Detection, Postprocess, Preprocess};
use crate::record::{EndReason, Event, Finding, FrameRecord, NO_CONTENT, Outcome, Phase, PhaseRecord, Stage};
use crate::scenario::{Arrival, Overload, Release as Waiting};
use crate::source::{Frame, Source};
use crate::units::{Nanos, Stamp};

/// A tenant ready to run: opened, loaded, and free to run in one phase after another.
pub struct Runner {
    /// Position in the scenario.
    pub tenant: u16,
    /// Its name, for the log.
    pub name: String,
    /// Where frames come from.
    pub source: Box<dyn Source>,
    /// Frame to inputs; none for a tenant without detector.
    pub preprocess: Option<Box<dyn Preprocess>>,
    /// Outputs to detections; none for a tenant without detector.
    pub postprocess: Option<Box<dyn Postprocess>>,
    /// The ring: as many as the tenant's depth.
    pub slots: Vec<Box<dyn Slot>>,
    /// When frames are due.
    pub arrival: Arrival,
    /// What happens under overload.
    pub overload: Overload,
    /// The promise.
    pub deadline: Option<Nanos>,
    /// Stop after this many frames.
    pub frames: Option<u64>,
    /// Processors to run on; empty for any.
    pub cpus: Vec<usize>,
    /// How to wait for a release.
    pub waiting: Waiting,
    /// Seeds the arrival process.
    pub seed: u64,
}

/// What a phase prescribes to all its tenants.
#[derive(Clone, Copy)]
pub struct PhasePlan {
    /// Which phase.
    pub phase: Phase,
    /// The common start.
    pub epoch: Stamp,
    /// Start of the measured window.
    pub measured_from: Stamp,
    /// End of it, and of releases.
    pub end: Stamp,
}

/// The last stretch of a wait that `Release::Spin` burns: longer than the usual wake-up latency of a timer.
const SPIN: Nanos = Nanos::from_micros(150);
/// Longest sleep without a look at the stop flag.
const STOP_CHECK: Nanos = Nanos::from_millis(50);

/// A frame between submission and result.
struct InFlight {
    slot: Box<dyn Slot>,
    carry: Carry,
    record: FrameRecord,
    submitted: Result<(), String>,
}

/// Everything around a slot that goes round with it.
struct Free {
    slot: Box<dyn Slot>,
    carry: Carry,
}

/// Runs on the processors of `cpus`, and with the finest timers that the system gives.
///
/// Failing to do either is reported and does not stop the run.
pub fn prepare_thread(cpus: &[usize]) -> Result<(), String> {
    // The default timer slack of 50 µs would be half the budget for lateness.
    let slack = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    if !cpus.is_empty() {
        let mut set = rustix::thread::CpuSet::new();
        cpus.iter().for_each(|&cpu| set.set(cpu));
        rustix::thread::sched_setaffinity(None, &set)
            .map_err(|e| format!("cannot run on cpus {cpus:?}: {e}"))?;
    }
    slack.map_err(|e| format!("cannot ask for precise timers: {e}"))
}

impl Runner {
    /// Runs one phase to its end; returns how it went. `front` records drops, `back` results; `notes` takes
    /// what is rare enough to allocate (errors, and at the end of the phase time per node).
    pub fn run(
        &mut self,
        plan: PhasePlan,
        clock: &dyn Clock,
        stop: &AtomicBool,
        front: &mut RecordSink,
        back: &mut RecordSink,
        notes: &Sender<Event>,
    ) -> PhaseRecord {
        if let Err(problem) = prepare_thread(&self.cpus) {
            note(notes, clock.now(), &self.name, &problem);
        }
        if let Err(error) = self.source.rewind() {
            note(notes, clock.now(), &self.name, &error.to_string());
        }
        self.slots.iter_mut().for_each(|slot| slot.restart());
        let depth = self.slots.len();
        let free: Vec<Free> = std::mem::take(&mut self.slots)
            .into_iter()
            .map(|slot| Free {
                slot,
                carry: Carry::default(),
            })
            .collect();
        let name = self.name.clone();
        let mut nodes = NodeTotals::default();
        let finish = Finish {
            clock,
            postprocess: self.postprocess.as_deref_mut(),
            found: Vec::with_capacity(512),
            name: name.as_str(),
            notes: notes.clone(),
            nodes: &mut nodes,
            failures: Failures::new(),
        };
        let releases = Releases::new(
            self.arrival,
            self.seed,
            plan.epoch,
            plan.end,
            self.source.capture_times(),
        );
        let prepare = Prepare {
            tenant: self.tenant,
            length: self.source.info().frames.unwrap_or(u64::MAX),
            position: 0,
            source: self.source.as_mut(),
            preprocess: self.preprocess.as_deref_mut(),
            line: WaitingLine::new(self.overload),
            releases,
            frame: Frame::default(),
            deadline: self.deadline,
            frames: self.frames,
            waiting: self.waiting,
            sequence: 0,
            measured: 0,
            failures: Failures::new(),
            plan,
            clock,
            stop,
            name: name.as_str(),
            notes: notes.clone(),
        };
        let cpus = self.cpus.as_slice();
        let (reason, slots) = if depth <= 1 {
            run_serial(prepare, finish, free, front, back)
        } else {
            run_overlapped(prepare, finish, free, front, back, cpus)
        };
        self.slots = slots;
        let lists = back.take_lost_detections();
        if lists > 0 {
            let _ = notes.send(Event::Finding(lost_detections(&self.name, lists)));
        }
        for record in nodes.records(self.tenant, plan.phase) {
            // The recorder may have stopped already; the frames that it lacks are then told elsewhere.
            let _ = notes.send(Event::Node(record));
        }
        PhaseRecord {
            tenant: self.tenant,
            phase: plan.phase,
            epoch: plan.epoch,
            measured_from: plan.measured_from,
            measured_to: match reason {
                EndReason::Duration => plan.end,
                _ => clock.now().clamp(plan.measured_from, plan.end),
            },
            reason,
            lost_records: front.take_lost() + back.take_lost(),
        }
    }
}

fn lost_detections(tenant: &str, lists: u64) -> Finding {
    Finding {
        code: "lost-detections".to_owned(),
        tenant: Some(tenant.to_owned()),
        message: format!("{tenant}: what was found in {lists} frames was not recorded, because the recorder fell behind."),
        advice: "Times are not affected. Set `record_detections: false` if only times matter, or write to a faster disk."
            .to_owned(),
    }
}

/// One thread does all: the next frame is looked at when this one is done.
fn run_serial(
    mut prepare: Prepare<'_>,
    mut finish: Finish<'_>,
    free: Vec<Free>,
    front: &mut RecordSink,
    back: &mut RecordSink,
) -> (EndReason, Vec<Box<dyn Slot>>) {
    let mut free = free.into_iter().next();
    let mut reason = EndReason::Failed;
    while let Some(idle) = free.take() {
        match prepare.next(idle, front) {
            Next::Frame(in_flight) => {
                free = Some(finish.frame(in_flight, back));
                if finish.failures.hopeless() {
                    prepare.close(front);
                    break;
                }
            }
            Next::Skipped(idle) => free = Some(idle),
            Next::End(ended, idle) => {
                free = Some(idle);
                reason = ended;
                break;
            }
        }
    }
    finish.close();
    (reason, free.into_iter().map(|f| f.slot).collect())
}

/// Two threads: this one releases, prepares and submits; the other waits, postprocesses and records.
fn run_overlapped(
    mut prepare: Prepare<'_>,
    mut finish: Finish<'_>,
    free: Vec<Free>,
    front: &mut RecordSink,
    back: &mut RecordSink,
    cpus: &[usize],
) -> (EndReason, Vec<Box<dyn Slot>>) {
    let depth = free.len();
    let (free_in, free_out): (SyncSender<Free>, Receiver<Free>) = sync_channel(depth);
    let (work_in, work_out): (SyncSender<InFlight>, Receiver<InFlight>) = sync_channel(depth);
    let gave_up = AtomicBool::new(false);
    for idle in free {
        // The channel holds all slots, so this never waits.
        let _ = free_in.send(idle);
    }
    let mut hand: Option<Free> = None;
    let reason = std::thread::scope(|scope| {
        let gave_up = &gave_up;
        let back_half = move || {
            if let Err(problem) = prepare_thread(cpus) {
                note(&finish.notes, finish.clock.now(), finish.name, &problem);
            }
            for in_flight in work_out {
                let idle = finish.frame(in_flight, back);
                if finish.failures.hopeless() {
                    gave_up.store(true, Ordering::Relaxed);
                }
                if free_in.send(idle).is_err() {
                    break;
                }
            }
            finish.close();
        };
        let back_half = match std::thread::Builder::new().spawn_scoped(scope, back_half) {
            Ok(thread) => thread,
            Err(error) => {
                let problem = format!(
                    "cannot start its second thread: {error}; lower `depth` or the number of tenants"
                );
                note(&prepare.notes, prepare.clock.now(), prepare.name, &problem);
                return EndReason::Failed;
            }
        };
        let mut reason = loop {
            let idle = match hand.take() {
                Some(idle) => idle,
                // No slot comes back only if the other thread ended, which it does after this one.
                None => match free_out.recv() {
                    Ok(idle) => idle,
                    Err(_) => break EndReason::Failed,
                },
            };
            if gave_up.load(Ordering::Relaxed) {
                prepare.close(front);
                hand = Some(idle);
                break EndReason::Failed;
            }
            match prepare.next(idle, front) {
                Next::Frame(in_flight) => {
                    if work_in.send(in_flight).is_err() {
                        break EndReason::Failed;
                    }
                }
                Next::Skipped(idle) => hand = Some(idle),
                Next::End(reason, idle) => {
                    hand = Some(idle);
                    break reason;
                }
            }
        };
        // The other thread ends when nothing more can come.
        drop(work_in);
        if back_half.join().is_err() {
            let problem = "its second thread panicked; please report it with the scenario";
            note(&prepare.notes, prepare.clock.now(), prepare.name, problem);
            prepare.close(front);
            reason = EndReason::Failed;
        }
        reason
    });
    (reason, hand.into_iter().chain(free_out).map(|f| f.slot).collect())
}

/// What `Prepare::next` came to.
#[allow(
    clippy::large_enum_variant,
    reason = "one lives at a time, and a box would be an allocation a frame"
)]
enum Next {
    /// A frame that was submitted (or that could not be, which its result will tell).
    Frame(InFlight),
    /// A frame that failed before submission; it has been recorded.
    Skipped(Free),
    /// No more frames.
    End(EndReason, Free),
}

/// The front half of the pipeline: from release to submission.
struct Prepare<'a> {
    tenant: u16,
    source: &'a mut dyn Source,
    /// How many frames the source holds: there is no release without one.
    length: u64,
    /// Number of the frame that the source yields next.
    position: u64,
    preprocess: Option<&'a mut (dyn Preprocess + 'static)>,
    line: WaitingLine,
    releases: Releases,
    frame: Frame,
    deadline: Option<Nanos>,
    frames: Option<u64>,
    waiting: Waiting,
    sequence: u64,
    /// Of these, how many were due in the measured window.
    measured: u64,
    failures: Failures,
    plan: PhasePlan,
    clock: &'a dyn Clock,
    stop: &'a AtomicBool,
    name: &'a str,
    notes: Sender<Event>,
}

impl Prepare<'_> {
    /// Waits for the next frame that is due, makes its inputs and submits it on `idle`.
    fn next(&mut self, mut idle: Free, sink: &mut RecordSink) -> Next {
        let release = match self.await_release(sink) {
            Ok(release) => release,
            Err(reason) => {
                self.close(sink);
                return Next::End(reason, idle);
            }
        };
        let started = if self.releases.is_closed() {
            release.due
        } else {
            self.clock.now()
        };
        let mut record = self.record_of(release, started);
        match self.make_inputs(&mut idle, &mut record) {
            Ok(true) => {}
            Ok(false) => {
                self.close(sink);
                return Next::End(EndReason::EndOfSource, idle);
            }
            Err(problem) => return self.failed(record, &problem, idle, sink),
        }
        self.failures.none();
        let submitted = idle.slot.submit().map_err(|e| e.to_string());
        Next::Frame(InFlight {
            slot: idle.slot,
            carry: idle.carry,
            record,
            submitted,
        })
    }

    /// Acquire, decode and preprocess, each stamped; `false` at the end of the source.
    fn make_inputs(&mut self, idle: &mut Free, record: &mut FrameRecord) -> Result<bool, String> {
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
        if !self.source.acquire(&mut self.frame).map_err(|e| e.to_string())? {
            return Ok(false);
        }
        record.source_index = self.frame.index;
        record.stages[Stage::Acquire as usize] = lap(self.clock);
        self.source.decode(&mut self.frame).map_err(|e| e.to_string())?;
        record.stages[Stage::Decode as usize] = lap(self.clock);
        if let Some(preprocess) = &mut self.preprocess {
            record.input_size = preprocess
                .run(&self.frame, idle.slot.tensors_mut(), &mut idle.carry)
                .map_err(|e| e.to_string())?;
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
        }
    }

    fn failed(&mut self, mut record: FrameRecord, problem: &str, idle: Free, sink: &mut RecordSink) -> Next {
        record.finished = self.clock.now();
        record.outcome = Outcome::Failed;
        sink.frame(record);
        self.failures
            .one(&self.notes, record.finished, self.name, problem);
        if self.failures.hopeless() {
            self.close(sink);
            return Next::End(EndReason::Failed, idle);
        }
        Next::Skipped(idle)
    }

    /// Records the frames that still wait, and will not be served, as unfinished: cut off now, or when the measured
    /// time ended, so that what a slow last frame takes beyond that makes no other overdue.
    fn close(&mut self, sink: &mut RecordSink) {
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

/// The back half of the pipeline: from submission to record.
struct Finish<'a> {
    clock: &'a dyn Clock,
    postprocess: Option<&'a mut (dyn Postprocess + 'static)>,
    found: Vec<Detection>,
    name: &'a str,
    notes: Sender<Event>,
    nodes: &'a mut NodeTotals,
    failures: Failures,
}

impl Finish<'_> {
    /// At the end of the phase.
    fn close(&mut self) {
        self.failures.close(&self.notes, self.clock.now(), self.name);
    }

    /// Waits for a frame's result, turns it into detections and records it; hands the slot back.
    fn frame(&mut self, in_flight: InFlight, sink: &mut RecordSink) -> Free {
        let InFlight {
            mut slot,
            carry,
            mut record,
            submitted,
        } = in_flight;
        self.found.clear();
        match submitted.and_then(|()| self.result(slot.as_mut(), &carry, &mut record)) {
            Ok(()) => {
                record.detections = self.found.len() as u32;
                sink.frame(record);
                if !self.found.is_empty() {
                    sink.detections(&record, &self.found);
                }
                // After the frame is finished and recorded, so that adding up is in no frame's time.
                self.nodes.add(slot.node_times(), !record.warmup);
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
        Free { slot, carry }
    }

    fn result(&mut self, slot: &mut dyn Slot, carry: &Carry, record: &mut FrameRecord) -> Result<(), String> {
        let StageTimes {
            h2d,
            queue,
            compute,
            d2h,
        } = slot.wait().map_err(|e| e.to_string())?;
        record.stages[Stage::H2d as usize] = h2d;
        record.stages[Stage::Queue as usize] = queue;
        record.stages[Stage::Compute as usize] = compute;
        record.stages[Stage::D2h as usize] = d2h;
        record.finished = self.clock.now();
        if let Some(postprocess) = &mut self.postprocess {
            let began = record.finished;
            postprocess
                .run(slot.tensors(), carry, &mut self.found)
                .map_err(|e| e.to_string())?;
            record.finished = self.clock.now();
            record.stages[Stage::Postprocess as usize] = Some(record.finished - began);
        }
        Ok(())
    }
}
