//! Drives simulated tenants under the virtual clock: one event loop instead of threads.
//!
//! Arrivals, waiting lines and records are the same as in `pipeline`; only the waiting is replaced by jumping
//! to the next event. A simulated tenant's service is its draw from the latency model on the shared device;
//! acquire, decode, pre- and postprocessing take no time. Equal scenarios give equal records, to the bit.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering as Atomic};

use super::arrival::Releases;
use super::gate::{Order, Waiting};
use super::overload::Release;
use super::plan::PhasePlan;
use super::release_line::{Limits, ReleaseLine};
use crate::backend::sim::device::Device;
use crate::backend::sim::latency::Sampler;
use crate::record::{BatchPart, EndReason, FrameRecord, Outcome, PhaseRecord, Stage};
use crate::scenario::{Arrival, Batch, LatencyModel, Overload};
use crate::source::timeline::Timeline;
use crate::units::{Nanos, Stamp};

/// A tenant of the virtual clock.
#[derive(Clone, Debug)]
pub struct SimTenant {
    /// Position in the scenario.
    pub tenant: u16,
    /// How long its inferences take alone.
    pub model: LatencyModel,
    /// When frames are due.
    pub arrival: Arrival,
    /// What happens under overload.
    pub overload: Overload,
    /// How long a response may take; `None` where nothing is promised.
    pub deadline: Option<Nanos>,
    /// How many inferences may be in flight at once.
    pub depth: usize,
    /// Frames of one inference, whose latency is the model's whatever their number.
    pub batch: Batch,
    /// Stop after this many frames.
    pub frames: Option<u64>,
    /// Seeds arrivals and latencies, with the phase.
    pub seed: u64,
    /// The times of its source's frames, for `Replay`.
    pub timeline: Option<Timeline>,
    /// How many frames its source holds, if it ends.
    pub length: Option<u64>,
}

struct State {
    spec: SimTenant,
    line: ReleaseLine,
    sampler: Sampler,
    /// Frames of the batches below, in order, and after them those of a batch that is not full yet.
    in_flight: VecDeque<FrameRecord>,
    /// Submitted batches in order; the first is on the device if `running`.
    batches: VecDeque<Submitted>,
    /// Frames that wait for others to be submitted with, and since when the first does.
    waiting: usize,
    since: Stamp,
    /// When the set of sensors taken last is complete; `None` for frames of one sensor. Sets have no batches.
    complete: Option<Stamp>,
    running: Option<Stamp>,
    /// When its latest frame finished.
    latest: Stamp,
}

/// A batch between submission and result.
#[derive(Clone, Copy, Debug)]
struct Submitted {
    frames: usize,
    at: Stamp,
    complete: Option<Stamp>,
}

/// Runs one phase; hands every frame record to `record` in order of time and returns how it ended for each.
pub fn run(
    tenants: &[SimTenant],
    contention: f64,
    plan: PhasePlan,
    stop: &AtomicBool,
    mut record: impl FnMut(&FrameRecord),
) -> Vec<PhaseRecord> {
    let mut device = Device::new(contention);
    device.advance_to(plan.epoch);
    let mut states: Vec<State> = tenants
        .iter()
        .map(|spec| State {
            line: ReleaseLine::new(
                Limits {
                    tenant: spec.tenant,
                    overload: spec.overload,
                    deadline: spec.deadline,
                    frames: spec.frames,
                    length: spec.length,
                },
                plan,
                Releases::new(
                    spec.arrival,
                    plan.drawn_as.seed(spec.seed),
                    plan.epoch,
                    plan.end,
                    spec.timeline.as_ref(),
                ),
            )
            .of_cameras(spec.timeline.as_ref()),
            sampler: Sampler::new(spec.model.clone(), plan.drawn_as.seed(spec.seed)),
            in_flight: VecDeque::with_capacity(spec.depth * spec.batch.size),
            batches: VecDeque::with_capacity(spec.depth),
            waiting: 0,
            since: plan.epoch,
            complete: None,
            running: None,
            latest: plan.epoch,
            spec: spec.clone(),
        })
        .collect();
    let order = Order::of(plan.sharing);
    let mut last = None;
    let mut now = plan.epoch;
    let mut stopped = false;
    loop {
        if stop.load(Atomic::Relaxed) {
            stopped = true;
            break;
        }
        for (place, state) in states.iter_mut().enumerate() {
            state.line.join_due(now, None, |release, dropped| {
                record(&with_content(release, dropped))
            });
            state.submit(now, &plan);
            if order.is_none() {
                state.start(place, now, &mut device);
            }
        }
        if let Some(order) = order {
            pass_gate(order, &mut states, &mut last, now, &mut device);
        }
        let release = states.iter().filter_map(|s| s.line.next_due()).min();
        let completion = device.next_completion();
        let patience = states.iter().filter_map(State::waits_until).min();
        let completion = completion.map(|(at, _)| at);
        let complete = states.iter().filter_map(|state| state.complete_at(now)).min();
        let Some(next) = [release, completion, patience, complete]
            .into_iter()
            .flatten()
            .min()
        else {
            break;
        };
        now = next.max(now);
        device.advance_to(now);
        for (place, state) in states.iter_mut().enumerate() {
            if device.is_done(place) {
                device.finish(place);
                state.complete(now, &mut record);
            }
        }
    }
    states
        .iter_mut()
        .map(|state| {
            let cut = if stopped { now } else { plan.end };
            // Frames are in flight here only where the run was stopped.
            while let Some(mut unfinished) = state.in_flight.pop_front() {
                unfinished.finished = cut;
                unfinished.outcome = Outcome::Unfinished;
                record(&unfinished);
            }
            state.line.join_due(cut, None, |release, dropped| {
                record(&with_content(release, dropped))
            });
            state.line.cut_off(cut, |release, unfinished| {
                record(&with_content(release, unfinished))
            });
            let (reason, to) = match state.line.exhausted() {
                _ if stopped => (EndReason::Interrupted, now),
                None => (EndReason::Duration, plan.end),
                Some(reason) => (reason, state.latest),
            };
            PhaseRecord {
                tenant: state.spec.tenant,
                phase: plan.phase,
                epoch: plan.epoch,
                measured_from: plan.measured_from,
                measured_to: to.clamp(plan.measured_from, plan.end),
                reason,
                lost_records: 0,
                sampled: state.line.sampled(),
                process_peak: None,
            }
        })
        .collect()
}

/// Where tenants take turns, the next frame starts when none is on the device.
fn pass_gate(order: Order, states: &mut [State], last: &mut Option<u16>, now: Stamp, device: &mut Device) {
    if states.iter().any(|state| state.running.is_some()) {
        return;
    }
    // Frames came to the gate in order of their start; the scenario's order decides between equals.
    let at_gate: Vec<(usize, Waiting)> = states
        .iter()
        .enumerate()
        .filter_map(|(place, state)| {
            let first = state.in_flight.front()?;
            let batch = state.batches.front().filter(|batch| batch.is_complete(now))?;
            let waiting = Waiting {
                tenant: state.spec.tenant,
                ticket: u64::try_from(batch.at.0).unwrap_or(0),
                due: first.deadline.map(|deadline| first.released + deadline),
            };
            Some((place, waiting))
        })
        .collect();
    let waiting: Vec<Waiting> = at_gate.iter().map(|(_, waiting)| *waiting).collect();
    if let Some(next) = order.next(&waiting, *last) {
        *last = Some(waiting[next].tenant);
        let place = at_gate[next].0;
        states[place].start(place, now, device);
    }
}

impl Submitted {
    /// Whether its set of sensors is complete.
    fn is_complete(&self, now: Stamp) -> bool {
        self.complete.is_none_or(|complete| complete <= now)
    }
}

impl State {
    /// When the set that it waits for is complete.
    fn complete_at(&self, now: Stamp) -> Option<Stamp> {
        self.batches.front()?.complete.filter(|complete| *complete > now)
    }
    /// Moves frames from the line into free slots of the ring, as many into one as have an inference together.
    fn submit(&mut self, now: Stamp, plan: &PhasePlan) {
        while self.batches.len() < self.spec.depth.max(1) {
            let none_left = self.fill(now, plan);
            let is_full = self.waiting == self.spec.batch.size.max(1);
            let is_over = self.waits_until().is_some_and(|until| until <= now);
            if self.waiting == 0 || !(is_full || is_over || none_left) {
                return;
            }
            self.batches.push_back(Submitted {
                frames: std::mem::take(&mut self.waiting),
                at: now,
                complete: self.complete.take(),
            });
        }
    }
    /// Takes frames from the line until the batch is full; answers whether no other can come.
    fn fill(&mut self, now: Stamp, plan: &PhasePlan) -> bool {
        while self.waiting < self.spec.batch.size.max(1) {
            if now >= plan.end {
                return true;
            }
            let release = match self.line.is_closed() {
                true => self.line.release_now(now),
                false => self.line.take(),
            };
            let Some(release) = release else {
                return self.line.next_due().is_none();
            };
            let mut taken = with_content(release, self.line.record_of(release, now));
            self.complete = release.complete;
            if release.complete.is_some() {
                let timeline = self.spec.timeline.as_ref();
                taken.skew = timeline.and_then(|timeline| timeline.skew(release.frame));
            }
            if self.waiting == 0 {
                self.since = now;
            }
            self.in_flight.push_back(taken);
            self.waiting += 1;
        }
        false
    }
    /// When a batch that is not full is submitted all the same; `None` without one, or where it may wait for ever.
    fn waits_until(&self) -> Option<Stamp> {
        let wait = self.spec.batch.wait.filter(|_| self.waiting > 0)?;
        Some(self.since + wait)
    }
    /// Starts the oldest submitted batch if this tenant's stream is idle.
    fn start(&mut self, place: usize, now: Stamp, device: &mut Device) {
        if self.running.is_none() && self.batches.front().is_some_and(|batch| batch.is_complete(now)) {
            device.start(place, self.sampler.draw());
            self.running = Some(now);
        }
    }
    fn complete(&mut self, now: Stamp, record: &mut impl FnMut(&FrameRecord)) {
        let (Some(began), Some(batch)) = (self.running.take(), self.batches.pop_front()) else {
            return;
        };
        let first = self.in_flight.front().map_or(0, |first| first.sequence);
        for _ in 0..batch.frames {
            let Some(mut done) = self.in_flight.pop_front() else {
                return;
            };
            let ready = batch
                .complete
                .map_or(done.started, |complete| complete.max(done.started));
            if batch.complete.is_some() {
                done.stages[Stage::Synchronise as usize] = Some(ready - done.started);
            }
            done.stages[Stage::Queue as usize] = Some(began - ready);
            done.stages[Stage::Compute as usize] = Some(now - began);
            done.finished = now;
            if !self.spec.batch.is_single() {
                done.batch = Some(BatchPart {
                    first,
                    items: batch.frames as u32,
                });
            }
            record(&done);
        }
        self.latest = now;
    }
}

/// A release means a frame of the source, whatever became of those before it; a set that stays incomplete is none.
fn with_content(release: Release, record: FrameRecord) -> FrameRecord {
    if record.stayed_incomplete() {
        return record;
    }
    FrameRecord {
        source_index: release.frame,
        ..record
    }
}

#[cfg(test)]
mod tests;
