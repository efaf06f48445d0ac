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
            ),
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
mod tests {
    use super::*;
    use crate::record::Phase;
    use crate::scenario::Sharing;
    use crate::source::timeline::{FrameTime, Sets};

    const MS: i64 = 1_000_000;

    fn plan(ms: i64) -> PhasePlan {
        PhasePlan {
            phase: Phase::Together,
            drawn_as: Phase::Together,
            traced: false,
            sharing: Sharing::Streams,
            epoch: Stamp(0),
            measured_from: Stamp(0),
            end: Stamp(ms * MS),
        }
    }
    fn tenant(n: u16, latency_ms: i64, hz: f64) -> SimTenant {
        SimTenant {
            tenant: n,
            model: LatencyModel::Fixed(Nanos::from_millis(latency_ms)),
            arrival: Arrival::Periodic {
                hz,
                phase: Nanos::ZERO,
                jitter: Nanos::ZERO,
            },
            overload: Overload::Queue { capacity: 1000 },
            deadline: None,
            depth: 1,
            batch: Batch::default(),
            frames: None,
            seed: 1,
            timeline: None,
            length: None,
        }
    }
    fn frames(tenants: &[SimTenant], contention: f64, ms: i64) -> Vec<FrameRecord> {
        let mut all = Vec::new();
        run(tenants, contention, plan(ms), &AtomicBool::new(false), |r| {
            all.push(*r)
        });
        all
    }

    #[test]
    fn a_tenant_alone_responds_in_its_service_time() {
        let all = frames(&[tenant(0, 5, 100.0)], 1.0, 1_000);
        assert_eq!(all.len(), 100);
        assert!(
            all.iter()
                .all(|r| r.response() == Nanos::from_millis(5) && r.queueing() == Nanos::ZERO)
        );
    }

    fn batched(size: usize, wait_ms: Option<i64>, hz: f64) -> SimTenant {
        SimTenant {
            batch: Batch {
                size,
                wait: wait_ms.map(Nanos::from_millis),
            },
            ..tenant(0, 5, hz)
        }
    }

    #[test]
    fn frames_of_a_batch_finish_together_and_each_is_charged_from_its_own_release() {
        let all = frames(&[batched(4, None, 100.0)], 1.0, 1_000);
        assert_eq!(all.len(), 100);
        for (n, frame) in all.iter().enumerate() {
            // The last of four does not wait; the first waits three periods of 10 ms.
            let waited = Nanos::from_millis(10 * (3 - n as i64 % 4));
            assert_eq!(frame.stages[Stage::Queue as usize], Some(waited));
            assert_eq!(frame.stages[Stage::Compute as usize], Some(Nanos::from_millis(5)));
            assert_eq!(frame.response(), waited + Nanos::from_millis(5));
            let first = (n as u64 / 4) * 4;
            assert_eq!(frame.batch, Some(BatchPart { first, items: 4 }));
        }
    }

    #[test]
    fn a_frame_waits_for_others_no_longer_than_it_may() {
        // At 0, 10, 20 ms …: after 15 ms two are there.
        let all = frames(&[batched(4, Some(15), 100.0)], 1.0, 1_000);
        assert!(all.iter().all(|frame| frame.outcome == Outcome::Completed));
        assert!(
            all.iter()
                .all(|frame| frame.batch.is_some_and(|batch| batch.items == 2))
        );
        let longest = all
            .iter()
            .filter_map(|frame| frame.stages[Stage::Queue as usize])
            .max();
        assert_eq!(longest, Some(Nanos::from_millis(15)));
        // Who does not wait at all has a batch only of what is there.
        let all = frames(&[batched(4, Some(0), 100.0)], 1.0, 1_000);
        assert!(all.iter().all(|frame| frame.response() == Nanos::from_millis(5)));
    }

    #[test]
    fn a_backlog_is_served_in_batches_and_the_last_one_is_as_large_as_it_is() {
        // 5 ms a batch and a frame a millisecond: without batches four of five would wait for ever.
        let all = frames(&[batched(5, Some(0), 1_000.0)], 1.0, 96);
        assert!(all.iter().all(|frame| frame.outcome == Outcome::Completed));
        assert!(all.iter().all(|frame| frame.response() <= Nanos::from_millis(10)));
        let few = frames(
            &[SimTenant {
                frames: Some(6),
                ..batched(4, None, 100.0)
            }],
            1.0,
            1_000,
        );
        let items: Vec<u32> = few
            .iter()
            .filter_map(|frame| frame.batch)
            .map(|batch| batch.items)
            .collect();
        assert_eq!(items, [4, 4, 4, 4, 2, 2]);
        let closed = SimTenant {
            arrival: Arrival::Closed,
            frames: Some(8),
            ..batched(4, None, 1.0)
        };
        let all = frames(&[closed], 1.0, 1_000);
        assert_eq!(all.len(), 8);
        assert!(
            all.iter().all(|frame| frame.response() == Nanos::from_millis(5)),
            "the closed loop fills it at once"
        );
    }

    /// Sets whose sensors are 30 ms apart every 100 ms; every fourth stays incomplete.
    fn sets(latency_ms: i64) -> SimTenant {
        let at = |ms: i64| Nanos(ms * MS);
        let whole = || (0..40i64).filter(|n| n % 4 != 3);
        let frames = whole().map(|n| FrameTime {
            captured: at(n * 100 + 30),
            came: at(n * 100),
        });
        let timeline = Timeline::new(frames.collect(), at(4_000)).of_sets(Sets {
            complete: whole().map(|n| at(n * 100 + 30)).collect(),
            skew: whole().map(|_| at(30)).collect(),
            incomplete: (0..40).filter(|n| n % 4 == 3).map(|n| at(n * 100)).collect(),
            tolerance: at(50),
        });
        SimTenant {
            arrival: Arrival::Replay { speed: 1.0 },
            timeline: Some(timeline),
            ..tenant(0, latency_ms, 1.0)
        }
    }

    #[test]
    fn a_set_waits_for_its_last_sensor_and_one_that_stays_incomplete_is_dropped() {
        let all = frames(&[sets(5)], 1.0, 8_000);
        assert_eq!(all.len(), 80);
        let (dropped, done): (Vec<&FrameRecord>, Vec<&FrameRecord>) =
            all.iter().partition(|frame| frame.stayed_incomplete());
        assert_eq!((dropped.len(), done.len()), (20, 60));
        for frame in done {
            assert_eq!(frame.outcome, Outcome::Completed);
            assert_eq!(
                frame.stages[Stage::Synchronise as usize],
                Some(Nanos::from_millis(30))
            );
            assert_eq!(frame.stages[Stage::Queue as usize], Some(Nanos::ZERO));
            assert_eq!(frame.response(), Nanos::from_millis(35));
            assert_eq!(frame.skew, Some(Nanos::from_millis(30)));
        }
        assert!(
            dropped
                .iter()
                .all(|frame| frame.response() == Nanos::from_millis(50))
        );
    }

    #[test]
    fn a_tenant_that_is_behind_finds_its_sets_complete() {
        let all = frames(&[sets(120)], 1.0, 4_000);
        let done: Vec<&FrameRecord> = all
            .iter()
            .filter(|frame| frame.outcome == Outcome::Completed)
            .collect();
        let waited = |frame: &FrameRecord| frame.stages[Stage::Synchronise as usize].unwrap();
        // The second set was complete at 130 ms, and its turn came at 150 ms.
        assert_eq!(
            [0, 1].map(|n| waited(done[n])),
            [Nanos::from_millis(30), Nanos::ZERO]
        );
        for frame in done {
            let parts: i64 = frame.stages.iter().flatten().map(|took| took.0).sum();
            assert_eq!(frame.queueing().0 + parts, frame.response().0);
        }
    }

    #[test]
    fn a_batch_of_one_is_no_batch() {
        let single = frames(&[tenant(0, 15, 100.0)], 1.0, 1_000);
        let batched = frames(
            &[batched(1, None, 100.0)].map(|one| SimTenant {
                model: LatencyModel::Fixed(Nanos::from_millis(15)),
                ..one
            }),
            1.0,
            1_000,
        );
        assert_eq!(single, batched);
    }

    #[test]
    fn two_tenants_on_an_evenly_divided_device_take_twice_as_long_while_both_run() {
        let all = frames(&[tenant(0, 10, 10.0), tenant(1, 10, 10.0)], 1.0, 1_000);
        assert!(
            all.iter().all(|r| r.response() == Nanos::from_millis(20)),
            "released together, sharing all the way"
        );
    }

    #[test]
    fn a_frame_that_waited_is_charged_from_its_release() {
        // 15 ms of service every 10 ms: the n-th frame starts 5 ms × n late.
        let all = frames(&[tenant(0, 15, 100.0)], 0.0, 100);
        let done: Vec<_> = all.iter().filter(|r| r.outcome == Outcome::Completed).collect();
        for (n, r) in done.iter().enumerate() {
            assert_eq!(r.queueing(), Nanos::from_millis(5 * n as i64));
            assert_eq!(r.response(), Nanos::from_millis(15 + 5 * n as i64));
        }
        assert_eq!(all.len(), 10, "every release is accounted for");
    }

    #[test]
    fn overload_policies_drop_what_they_promise_to() {
        let mut oldest = tenant(0, 25, 100.0);
        oldest.overload = Overload::DropOldest { queue: 1 };
        let all = frames(&[oldest.clone()], 0.0, 1_000);
        let dropped = all.iter().filter(|r| r.outcome == Outcome::Dropped).count();
        let done: Vec<_> = all.iter().filter(|r| r.outcome == Outcome::Completed).collect();
        assert!(
            done.iter().skip(1).all(|r| r.queueing() < Nanos::from_millis(10)),
            "the newest frame is served"
        );
        assert_eq!(
            done.len() + dropped + all.iter().filter(|r| r.outcome == Outcome::Unfinished).count(),
            100
        );
        assert!(
            (38..=41).contains(&done.len()),
            "25 ms of service: 40 a second, not {}",
            done.len()
        );
        let mut newest = oldest;
        newest.overload = Overload::DropNewest { queue: 1 };
        let all = frames(&[newest], 0.0, 1_000);
        let steady = all.iter().filter(|r| r.outcome == Outcome::Completed).skip(3);
        assert!(
            steady.into_iter().all(|r| r.queueing() >= Nanos::from_millis(10)),
            "the oldest frame is served"
        );
    }

    #[test]
    fn what_the_end_cuts_off_is_missed_if_its_deadline_passed_before() {
        // 15 ms of service every 10 ms: at 100 ms the frames of 70, 80 and 90 ms wait.
        let mut late = tenant(0, 15, 100.0);
        late.deadline = Some(Nanos::from_millis(20));
        let all = frames(&[late], 0.0, 100);
        let cut: Vec<_> = all.iter().filter(|r| r.outcome == Outcome::Unfinished).collect();
        let cut: Vec<_> = cut
            .iter()
            .map(|r| (r.released.0 / MS, r.response().0 / MS, r.missed()))
            .collect();
        assert_eq!(cut, [(70, 30, true), (80, 20, false), (90, 10, false)]);
    }

    #[test]
    fn depth_lets_the_next_frame_wait_on_the_stream_instead_of_before_it() {
        let mut deep = tenant(0, 15, 100.0);
        deep.depth = 2;
        let all = frames(&[deep], 0.0, 60);
        let second = all.iter().find(|r| r.sequence == 1).unwrap();
        assert_eq!(second.queueing(), Nanos::ZERO);
        assert_eq!(second.stages[Stage::Queue as usize], Some(Nanos::from_millis(5)));
        assert_eq!(second.response(), Nanos::from_millis(20));
    }

    #[test]
    fn a_closed_tenant_is_always_busy_and_stops_at_its_count() {
        let mut closed = tenant(0, 10, 1.0);
        closed.arrival = Arrival::Closed;
        assert_eq!(frames(&[closed.clone()], 0.0, 1_000).len(), 100);
        closed.frames = Some(7);
        assert_eq!(frames(&[closed], 0.0, 1_000).len(), 7);
    }

    #[test]
    fn a_tenant_that_counts_out_is_measured_to_its_own_end_and_not_before_the_window() {
        let mut counted = tenant(0, 1, 100.0);
        counted.frames = Some(100);
        let window = PhasePlan {
            measured_from: Stamp(500 * MS),
            ..plan(10_000)
        };
        let ends = run(
            &[counted, tenant(1, 1, 10.0)],
            0.0,
            window,
            &AtomicBool::new(false),
            |_| {},
        );
        assert_eq!(ends[0].reason, EndReason::Count);
        assert_eq!(
            ends[0].measured_to,
            Stamp(1_491 * MS),
            "100 frames from the end of the warm-up"
        );
        assert_eq!(ends[1].measured_to, window.end);
    }

    #[test]
    fn frames_of_an_ending_source_keep_their_numbers_when_others_are_dropped() {
        let mut short = tenant(0, 25, 100.0);
        short.overload = Overload::DropOldest { queue: 1 };
        short.length = Some(50);
        let mut all = Vec::new();
        let ends = run(&[short], 0.0, plan(10_000), &AtomicBool::new(false), |r| {
            all.push(*r)
        });
        assert_eq!((ends[0].reason, all.len()), (EndReason::EndOfSource, 50));
        assert!(all.iter().any(|r| r.outcome == Outcome::Dropped));
        for r in all {
            assert_eq!(
                (r.source_index, r.released),
                (r.sequence, Stamp(r.sequence as i64 * 10 * MS))
            );
        }
    }

    #[test]
    fn a_replay_is_released_at_the_sources_capture_times() {
        let mut replay = tenant(0, 1, 1.0);
        replay.arrival = Arrival::Replay { speed: 1.0 };
        replay.timeline = Some(Timeline::of_captures([0, 30, 40].map(Nanos::from_millis)));
        let released: Vec<i64> = frames(&[replay], 0.0, 100)
            .iter()
            .map(|r| r.released.0 / MS)
            .collect();
        assert_eq!(released, [0, 30, 40, 60, 90]);
    }

    #[test]
    fn the_stop_flag_ends_simulated_time_too() {
        let ends = run(
            &[tenant(0, 1, 100.0)],
            0.0,
            plan(10_000),
            &AtomicBool::new(true),
            |_| {},
        );
        assert_eq!(ends[0].reason, EndReason::Interrupted);
        assert_eq!(ends[0].measured_to, Stamp(0));
    }

    #[test]
    fn equal_seeds_give_identical_records() {
        let mut noisy = tenant(0, 5, 30.0);
        noisy.model = LatencyModel::LogNormal {
            median: Nanos::from_millis(8),
            sigma: 0.4,
        };
        noisy.arrival = Arrival::Poisson { hz: 50.0 };
        let pair = [
            noisy.clone(),
            SimTenant {
                tenant: 1,
                seed: 2,
                ..noisy
            },
        ];
        assert_eq!(frames(&pair, 0.7, 10_000), frames(&pair, 0.7, 10_000));
    }

    #[test]
    fn under_edf_the_frame_that_is_due_first_goes_first_and_one_without_a_deadline_last() {
        let with = |n: u16, deadline: Option<i64>| SimTenant {
            deadline: deadline.map(Nanos::from_millis),
            ..tenant(n, 5, 10.0)
        };
        let tenants = [
            with(0, None),
            with(1, Some(90)),
            with(2, Some(30)),
            with(3, Some(60)),
        ];
        let edf = PhasePlan {
            sharing: Sharing::Edf,
            ..plan(100)
        };
        let mut all = Vec::new();
        run(&tenants, 1.0, edf, &AtomicBool::new(false), |r| all.push(*r));
        all.sort_by_key(|r| r.finished);
        let order: Vec<u16> = all.iter().map(|r| r.tenant).collect();
        assert_eq!(order, [2, 3, 1, 0]);
    }
}
