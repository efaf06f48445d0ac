//! A plant whose truth is known: hosts that enqueue, streams in order, one device that tenants share; it records what a trace
//! would. For tests: what is predicted from its records is compared with the plant itself, changed and run again.
//!
//! Every duration is drawn from the seed and its place (tenant, frame, work), so that a changed plant draws the same.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::analysis::topics::traces::critical::Member;
use crate::analysis::topics::traces::critical::recorded::{FINISHER, MAKER, Recorded, of};
use crate::record::activity::{Direction, WaitKind};

/// How the device is shared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Device {
    /// One kernel at a time, whoever was ready first.
    OneByOne,
    /// Kernels of several tenants at once, each slower by this for every other one.
    Shared(f64),
}

/// Work of a frame.
#[derive(Clone, Debug)]
pub(super) enum Op {
    H2d(i64),
    D2h(i64),
    Kernel(&'static str, i64),
}

/// A tenant.
#[derive(Clone, Debug)]
pub(super) struct Plant {
    pub(super) period: Option<i64>,
    pub(super) phase: i64,
    pub(super) depth: usize,
    pub(super) pre: i64,
    pub(super) post: i64,
    pub(super) launch: i64,
    /// What a call takes that only asks, before each kernel's launch; 0 where there is none.
    pub(super) asks: i64,
    pub(super) between: i64,
    pub(super) wake: i64,
    pub(super) ops: Vec<Op>,
    pub(super) graph: bool,
}

impl Plant {
    pub(super) fn member(&self, name: &str) -> Member {
        Member {
            name: name.to_owned(),
            depth: self.depth,
            closed: self.period.is_none(),
        }
    }
}

/// From the call's return to the begin of its work on a free device, from work to work, and to another thread.
const LATENCY: i64 = 3_000;
const GAP: i64 = 900;
const HANDOVER: i64 = 8_000;
/// A waiting call that has not to wait.
const QUICK: i64 = 1_500;

/// A frame under way.
#[derive(Clone, Debug)]
struct Frame {
    released: i64,
    started: i64,
    pre: i64,
    submitted: i64,
    works: Vec<Work>,
    done: usize,
}

#[derive(Clone, Debug)]
struct Work {
    asked: i64,
    took: i64,
    kind: Op,
    correlation: u32,
    graph: u32,
    from: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Start(usize, usize),
    Ready(usize, usize, usize),
    Done(usize, usize, usize),
}

/// A kernel on the device.
struct Running {
    at: (usize, usize, usize),
    left: f64,
}

/// The plant while it runs.
pub(super) struct Run<'a> {
    plants: &'a [Plant],
    device: Device,
    seed: u64,
    frames: Vec<Vec<Option<Frame>>>,
    finished: Vec<Vec<i64>>,
    events: BinaryHeap<Reverse<(i64, Event)>>,
    running: Vec<Running>,
    line: VecDeque<(usize, usize, usize)>,
    recorded: Recorded,
    count: usize,
    now: i64,
}

/// A factor from 0.85 to 1.3, with a longer tail to the right.
fn drawn(seed: u64, place: [usize; 4]) -> f64 {
    let mut x = seed ^ 0x9e37_79b9_7f4a_7c15;
    for part in place {
        x = (x ^ part as u64).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x ^= x >> 29;
        x = x.wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^= x >> 32;
    }
    let uniform = (x >> 11) as f64 / (1u64 << 53) as f64;
    0.85 + 0.45 * uniform * uniform
}

/// Frames of a co-runner for each of the first tenant's: it is there until the end.
const MORE: usize = 5;

/// Runs `count` frames of the first tenant, and enough of the others; answers the records.
pub(super) fn run(plants: &[Plant], device: Device, seed: u64, count: usize) -> Recorded {
    let mut run = Run {
        plants,
        device,
        seed,
        frames: vec![vec![None; count * MORE]; plants.len()],
        finished: vec![vec![0; count * MORE]; plants.len()],
        events: BinaryHeap::new(),
        running: Vec::new(),
        line: VecDeque::new(),
        recorded: Recorded::new(),
        count,
        now: 0,
    };
    for (tenant, plant) in plants.iter().enumerate() {
        run.push(plant.phase, Event::Start(tenant, 0));
    }
    run.go();
    run.recorded.settle();
    run.recorded
}

impl Run<'_> {
    fn push(&mut self, at: i64, event: Event) {
        self.events.push(Reverse((at, event)));
    }

    fn go(&mut self) {
        loop {
            let next = self.events.peek().map(|Reverse((at, _))| *at);
            let rate = self.rate();
            let ends = self
                .running
                .iter()
                .map(|running| self.now + (running.left / rate).ceil().max(0.0) as i64)
                .min();
            let (Some(at), is_event) = (match (next, ends) {
                (Some(next), Some(end)) if next <= end => (Some(next), true),
                (_, Some(end)) => (Some(end), false),
                (next, None) => (next, true),
            }) else {
                return;
            };
            for running in &mut self.running {
                running.left -= (at - self.now) as f64 * rate;
            }
            self.now = at;
            if is_event {
                if let Some(Reverse((_, event))) = self.events.pop() {
                    self.happen(event);
                }
                continue;
            }
            let least = (0..self.running.len())
                .min_by(|a, b| self.running[*a].left.total_cmp(&self.running[*b].left))
                .unwrap();
            let ended = self.running.remove(least).at;
            if let Some(next) = self.line.pop_front() {
                self.begin(next);
            }
            self.done(ended);
        }
    }

    fn count(&self, tenant: usize) -> usize {
        if tenant == 0 {
            self.count
        } else {
            self.count * MORE
        }
    }

    fn rate(&self) -> f64 {
        match self.device {
            Device::OneByOne => 1.0,
            Device::Shared(cost) => 1.0 / (1.0 + cost * self.running.len().saturating_sub(1) as f64),
        }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Start(tenant, frame) => self.start(tenant, frame),
            Event::Ready(tenant, frame, work) => self.ready((tenant, frame, work)),
            Event::Done(tenant, frame, work) => self.done((tenant, frame, work)),
        }
    }

    fn frame(&mut self, tenant: usize, frame: usize) -> &mut Frame {
        self.frames[tenant][frame].as_mut().unwrap()
    }

    fn start(&mut self, tenant: usize, number: usize) {
        let plant = &self.plants[tenant];
        let owner = of(tenant as u16, number as u64);
        let draw = |what: usize, ns: i64| (ns as f64 * drawn(self.seed, [tenant, number, what, 0])) as i64;
        let started = self.now;
        let released = match plant.period {
            Some(period) => plant.phase + period * number as i64,
            None => started,
        };
        let pre = draw(900, plant.pre);
        let mut at = started + pre + draw(901, plant.between);
        let mut works = Vec::new();
        let first_kernel = plant.ops.iter().position(|op| matches!(op, Op::Kernel(..)));
        let mut graph_call = None;
        for (place, op) in plant.ops.iter().enumerate() {
            let (took, name) = match op {
                Op::H2d(ns) => (*ns, "cuMemcpyHtoDAsync_v2"),
                Op::D2h(ns) => (*ns, "cuMemcpyDtoHAsync_v2"),
                Op::Kernel(_, ns) if plant.graph => (*ns, "cuGraphLaunch"),
                Op::Kernel(_, ns) => (*ns, "cuLaunchKernel"),
            };
            let in_graph = plant.graph && matches!(op, Op::Kernel(..));
            // By its own name, so that plants with fewer copies draw the same for the rest.
            let own = match op {
                Op::Kernel(..) => place - first_kernel.unwrap_or(0),
                Op::H2d(_) => 500,
                Op::D2h(_) => 501,
            };
            let took = draw(1000 + own, took);
            let (asked, correlation) = match graph_call {
                Some(known) if in_graph => known,
                _ => {
                    if plant.asks > 0 && matches!(op, Op::Kernel(..)) {
                        let asked = at + draw(4000 + own, plant.asks);
                        let thread = MAKER + 10 * tenant as u32;
                        self.recorded
                            .call(owner, thread, "cudaStreamIsCapturing", (at, asked));
                        at = asked + draw(5000 + own, plant.between);
                    }
                    let call = draw(2000 + own, plant.launch);
                    let correlation =
                        self.recorded
                            .call(owner, MAKER + 10 * tenant as u32, name, (at, at + call));
                    let asked = at + call;
                    at = asked + draw(3000 + own, plant.between);
                    (asked, correlation)
                }
            };
            if in_graph {
                graph_call = Some((asked, correlation));
            }
            works.push(Work {
                asked,
                took,
                kind: op.clone(),
                correlation,
                graph: u32::from(in_graph),
                from: 0,
            });
        }
        let first = works[0].asked;
        self.frames[tenant][number] = Some(Frame {
            released,
            started,
            pre,
            submitted: at,
            works,
            done: 0,
        });
        // What is before it in its stream, if that is still to end.
        let is_free = number == 0
            || self.frames[tenant][number - 1]
                .as_ref()
                .is_some_and(|before| before.done == before.works.len());
        if is_free {
            self.push(first + LATENCY, Event::Ready(tenant, number, 0));
        }
        if plant.depth > 1 {
            self.start_next(tenant, number + 1);
        }
    }

    /// Starts a frame when its slot and its thread are free, both of which are known.
    fn start_next(&mut self, tenant: usize, number: usize) {
        let plant = &self.plants[tenant];
        if number >= self.count(tenant) || self.frames[tenant][number].is_some() {
            return;
        }
        let mut at = plant
            .period
            .map_or(0, |period| plant.phase + period * number as i64);
        if let Some(slot) = number.checked_sub(plant.depth) {
            match self.finished[tenant][slot] {
                0 => return,
                finished => at = at.max(finished),
            }
        }
        if plant.depth > 1
            && let Some(Some(before)) = number.checked_sub(1).map(|before| &self.frames[tenant][before])
        {
            at = at.max(before.submitted);
        }
        let event = Event::Start(tenant, number);
        let is_known = self.events.iter().any(|Reverse((_, known))| *known == event);
        if !is_known {
            self.push(at.max(self.now) + 2_000, event);
        }
    }

    fn ready(&mut self, at: (usize, usize, usize)) {
        let (tenant, frame, work) = at;
        let now = self.now;
        let is_taken = self.device == Device::OneByOne && !self.running.is_empty();
        let piece = &mut self.frame(tenant, frame).works[work];
        match piece.kind {
            // An engine of their own.
            Op::H2d(_) | Op::D2h(_) => {
                piece.from = now;
                let end = now + piece.took;
                self.push(end, Event::Done(tenant, frame, work));
            }
            Op::Kernel(..) if is_taken => self.line.push_back(at),
            Op::Kernel(..) => self.begin(at),
        }
    }

    fn begin(&mut self, at: (usize, usize, usize)) {
        let now = self.now;
        let piece = &mut self.frame(at.0, at.1).works[at.2];
        piece.from = now;
        let left = piece.took as f64;
        self.running.push(Running { at, left });
    }

    fn done(&mut self, (tenant, number, work): (usize, usize, usize)) {
        let (now, owner) = (self.now, of(tenant as u16, number as u64));
        let stream = 5 + tenant as u32;
        let frame = self.frame(tenant, number);
        frame.done += 1;
        let (piece, count) = (frame.works[work].clone(), frame.works.len());
        let span = (piece.from, now);
        match piece.kind {
            Op::H2d(_) => self
                .recorded
                .copy(owner, stream, piece.correlation, Direction::HostToDevice, span),
            Op::D2h(_) => self
                .recorded
                .copy(owner, stream, piece.correlation, Direction::DeviceToHost, span),
            Op::Kernel(name, _) => {
                self.recorded
                    .kernel_of(owner, stream, piece.correlation, piece.graph, name, span);
            }
        }
        let next = match work + 1 < count {
            true => Some((number, work + 1)),
            false if number + 1 < self.count(tenant) => Some((number + 1, 0)),
            false => None,
        };
        if let Some((frame, work)) = next
            && let Some(asked) = self.frames[tenant][frame]
                .as_ref()
                .map(|frame| frame.works[work].asked)
        {
            self.push(
                (now + GAP).max(asked + LATENCY),
                Event::Ready(tenant, frame, work),
            );
        }
        if work + 1 == count {
            self.finish(tenant, number);
        }
    }

    fn finish(&mut self, tenant: usize, number: usize) {
        let plant = &self.plants[tenant];
        let frame = self.frames[tenant][number].clone().unwrap();
        let draw = |what: usize, ns: i64| (ns as f64 * drawn(self.seed, [tenant, number, what, 0])) as i64;
        let (thread, entered) = match plant.depth {
            1 => (MAKER, frame.submitted),
            _ => {
                let before = number
                    .checked_sub(1)
                    .map_or(0, |before| self.finished[tenant][before]);
                (FINISHER, (frame.submitted + HANDOVER).max(before + 1_000))
            }
        };
        let (wake, post) = (draw(902, plant.wake), draw(903, plant.post));
        let left = match self.now > entered {
            true => self.now + wake,
            false => entered + QUICK,
        };
        let owner = of(tenant as u16, number as u64);
        let thread = thread + 10 * tenant as u32;
        let wait = self
            .recorded
            .call(owner, thread, "cuStreamSynchronize", (entered, left));
        let stream = 5 + tenant as u32;
        self.recorded
            .wait(owner, wait, WaitKind::Stream, (stream, 0), (entered, left));
        let finished = left + 500 + post;
        self.finished[tenant][number] = finished;
        self.recorded.frame(
            owner,
            [frame.released, frame.started, finished],
            (frame.pre, post),
        );
        self.start_next(tenant, number + plant.depth);
    }
}
