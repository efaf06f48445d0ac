//! One frame in flight on a GPU: its tensors in pinned memory, their places on the device, and its way there and back.
//!
//! `submit` enqueues the first segment and returns; `wait` waits for its last stamp, runs host steps between segments on
//! the waiting thread, and adds the stages up:
//!
//! ```text
//! submitted ──queue──► begun ─h2d─► uploaded ─(queue)─► execution ─compute─► computed ─(queue)─► ─d2h─► done
//! ```
//!
//! *queue* is the wait from submission to the first stamp of the device, placed on the host's line by the newest anchor,
//! and, where directions have streams of their own, the waits between them. What the device does between two stamps of
//! one stream is not taken apart: a kernel that waits for multiprocessors is computing, and so is a device that waits for the
//! host's next launch. Hence a stamp of the host when all is enqueued: what *compute* shares with submitting is told beside it.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use super::fallback::Fallback;
use super::layout::{Location, Segment, Tensor, Work, allocate};
use super::stretch::{Bound, Memory, Stretch, Submitted};
use super::{FreeMemory, Lanes, Layout, Lender, Network, Options, failed, fold, taken};
use crate::backend::{
    BackendError, Beginning, HostStep, LateTimes, NodeSpan, NodeTime, Opened, Program, Slot, StageTimes, Step,
};
use crate::clock::{Clock, RealClock};
use crate::gpu::{
    Anchor, ClockMap, DeviceMemory, Gpu, GpuError, PinnedAddress, PinnedMemory, Reach, Stream, Sync,
};
use crate::record::{Amount, Finding, TenantMemory};
use crate::scenario::{self, Transfer};
use crate::tensor::{ElementType, HostTensor, TensorSet};
use crate::units::{Nanos, Stamp};

/// Opens `slots` slots of a program whose networks were loaded since the device had as much free memory as `before`.
///
/// # Errors
/// The engines do not fit the program, or the device's memory is full.
pub fn open(
    lender: &Arc<Lender>,
    program: &Program,
    mut networks: Vec<Box<dyn Network>>,
    slots: usize,
    options: &Options,
    before: &FreeMemory,
) -> Result<Opened, BackendError> {
    let shared = lender.shared();
    let (program, finding) = match options.gpu.preprocess {
        scenario::Preprocess::Host => (program.clone(), None),
        scenario::Preprocess::Gpu => fold(options.backend, shared.gpu(), program, &mut networks),
    };
    let reach = match options.gpu.transfer {
        Transfer::Auto | Transfer::Copy => Reach::Copies,
        Transfer::ZeroCopy => Reach::Mapped,
        Transfer::Managed => Reach::Managed,
    };
    let tenant = Tenant {
        layout: Layout::new(options.backend, &program, &networks, reach != Reach::Copies)?,
        lanes: lender
            .first()
            .map_err(|error| failed(options.backend, "the tenant's streams", error))?,
        lender: Arc::clone(lender),
        turn: Arc::default(),
        clock: shared.clock_map(),
        gpu: Arc::clone(shared.gpu()),
        reach,
        options: options.clone(),
    };
    // Networks that tell their outputs' shapes only by executing have done so now.
    let networks_took = before.taken_since();
    let (mut on_device, mut pinned) = (0, 0);
    let slot = |number: usize| -> Result<Box<dyn Slot>, BackendError> {
        let mut slot = GpuSlot::new(&tenant, &program, &networks)?;
        if number == 0 {
            slot.findings
                .extend(tenant.options.findings.iter().chain(&finding).cloned());
        }
        on_device += slot
            .device
            .iter()
            .flatten()
            .map(|memory| memory.bytes() as u64)
            .sum::<u64>();
        pinned += slot
            .pinned
            .iter()
            .flatten()
            .map(|memory| memory.bytes() as u64)
            .sum::<u64>();
        Ok(Box::new(slot))
    };
    let slots: Vec<Box<dyn Slot>> = (0..slots).map(slot).collect::<Result<_, _>>()?;
    let memory = TenantMemory {
        networks: Some(networks_took),
        contexts: taken::contexts(&tenant.layout, &networks, slots.len()),
        device_tensors: Some(Amount::Bytes(on_device)),
        pinned: Some(Amount::Bytes(pinned)),
        host_tensors: None,
        device: Some(before.taken_since()),
    };
    Ok(Opened {
        slots,
        memory,
        layers: Vec::new(),
    })
}

/// What all slots of one tenant have in common.
struct Tenant {
    layout: Layout,
    lender: Arc<Lender>,
    lanes: Arc<Lanes>,
    turn: Arc<Mutex<()>>,
    clock: ClockMap,
    gpu: Arc<Gpu>,
    reach: Reach,
    options: Options,
}

/// A piece of work with what it needs to run.
enum Piece {
    Stretch(Box<Stretch>),
    Host(Arc<dyn HostStep>),
}

/// One frame in flight.
///
/// From the first thing that is put on a stream until the device is done, the tensors' memory is the device's (`is_under_way`),
/// and who asks the slot for them gets `lent`: tensors of the same names, in the same places, without memory. Before a segment is
/// enqueued the slot holds its tensors alone (`&mut self`), and makes sure that they are those that it was opened with
/// (`homes`): nobody has a reference into memory that the device writes to.
struct GpuSlot {
    pieces: Vec<Piece>,
    tensors: TensorSet,
    lent: TensorSet,
    homes: Vec<Home>,
    is_under_way: bool,
    pinned: Vec<Option<PinnedAddress>>,
    device: Vec<Option<DeviceMemory>>,
    /// Lends streams, and those of the phase at hand; what kept the tenant from having them.
    lender: Arc<Lender>,
    lanes: Arc<Lanes>,
    without_lanes: Option<BackendError>,
    /// Held while a segment of any of the tenant's slots is enqueued. One thread submits a frame while another goes on with
    /// the one before, and on one stream: launches of two engines would be mixed, which share their working memory where the
    /// scenario says so, and two captures would begin on the one stream for it.
    turn: Arc<Mutex<()>>,
    clock: ClockMap,
    anchor: Arc<Anchor>,
    /// The submission of the segment at hand.
    submitted: Submitted,
    sync: Sync,
    options: Options,
    layer_times: Vec<NodeTime>,
    findings: Vec<Finding>,
    gpu: Arc<Gpu>,
}

/// Where a tensor was put when the slot was opened.
struct Home {
    element: ElementType,
    capacity: usize,
    /// Address of its pinned memory, if it has some.
    address: Option<usize>,
}

impl Home {
    fn of(tensor: &HostTensor, pinned: Option<&PinnedAddress>) -> Self {
        Home {
            element: tensor.element(),
            capacity: tensor.capacity(),
            address: pinned.map(|pinned| pinned.as_ptr().addr()),
        }
    }

    fn has(&self, tensor: &HostTensor) -> bool {
        let found = tensor.bytes().as_ptr().addr();
        self.element == tensor.element()
            && self.capacity == tensor.capacity()
            && self.address.is_none_or(|address| address == found)
    }
}

impl GpuSlot {
    fn new(tenant: &Tenant, program: &Program, networks: &[Box<dyn Network>]) -> Result<Self, BackendError> {
        let Tenant {
            layout,
            lender,
            lanes,
            turn,
            clock,
            gpu,
            reach,
            options,
        } = tenant;
        let lacks = |error| failed(options.backend, "the tenant's memory", error);
        let device = allocate(layout, gpu, *reach != Reach::Copies).map_err(lacks)?;
        let (mut tensors, mut pinned) = (TensorSet::default(), Vec::new());
        for tensor in &layout.tensors {
            if !tensor.is_on_host {
                let (name, shape) = (tensor.name.clone(), tensor.max_shape);
                tensors.push(HostTensor::elsewhere(name, tensor.element, shape));
                pinned.push(None);
                continue;
            }
            // What only the host touches is copied by nobody.
            let reach = if tensor.is_on_device {
                *reach
            } else {
                Reach::Copies
            };
            let memory = PinnedMemory::new(gpu, tensor.bytes(), reach).map_err(lacks)?;
            pinned.push(Some(memory.address()));
            let (name, memory) = (tensor.name.clone(), Box::new(memory));
            tensors.push(HostTensor::over(name, tensor.element, tensor.max_shape, memory)?);
        }
        let location = |place: &usize| {
            let host = &pinned[*place];
            let on_device = device[*place].as_ref().map(DeviceMemory::span);
            // SAFETY: the span is given to executions of this slot alone, which are under way while the slot is, and then it lends
            // its tensors to nobody (`GpuSlot`).
            let mapped = || host.as_ref().and_then(|host| unsafe { host.span() });
            Location::new(&layout.tensors[*place], host.clone(), on_device.or_else(mapped))
        };
        let largest = |places: &[usize]| {
            places
                .iter()
                .map(|place| layout.tensors[*place].max_shape)
                .collect()
        };
        let (mut pieces, mut findings) = (Vec::new(), Vec::new());
        for work in &layout.work {
            let segment = match work {
                Work::Segment(segment) => segment,
                Work::Host(place) => {
                    if let Some(Step::Host(step)) = program.steps.get(*place) {
                        pieces.push(Piece::Host(Arc::clone(step)));
                    }
                    continue;
                }
            };
            let mut executions = Vec::new();
            for engine in &segment.engines {
                let memory: Vec<Location> = engine
                    .inputs
                    .iter()
                    .chain(&engine.outputs)
                    .map(location)
                    .collect();
                executions.push(Bound {
                    execution: networks[engine.engine].bind(&memory)?,
                    inputs: largest(&engine.inputs),
                    outputs: largest(&engine.outputs),
                    engine: engine.clone(),
                });
            }
            let is_fixed = |bound: &Bound| !bound.engine.is_dynamic || bound.execution.serves_every_shape();
            let wants_graph = match options.gpu.graph {
                scenario::Graph::Off => false,
                scenario::Graph::On => true,
                scenario::Graph::Auto => executions.iter().all(is_fixed),
            };
            let can_be_captured = executions.iter().all(|bound| bound.execution.can_be_captured());
            if options.gpu.graph == scenario::Graph::On && !can_be_captured {
                let backend = options.backend;
                findings.push(Fallback::NeverCaptured { backend }.into());
            }
            let mut stretch = Stretch::new(
                gpu,
                segment,
                executions,
                managed(segment, &pinned),
                wants_graph && can_be_captured,
            )
            .map_err(lacks)?;
            stretch.lend_branches(lanes)?;
            pieces.push(Piece::Stretch(Box::new(stretch)));
        }
        let elsewhere =
            |tensor: &Tensor| HostTensor::elsewhere(tensor.name.clone(), tensor.element, tensor.max_shape);
        let homes = tensors.as_slice().iter().zip(&pinned);
        Ok(GpuSlot {
            pieces,
            homes: homes
                .map(|(tensor, pinned)| Home::of(tensor, pinned.as_ref()))
                .collect(),
            lent: TensorSet::new(layout.tensors.iter().map(elsewhere).collect()),
            is_under_way: false,
            tensors,
            pinned,
            device,
            lender: Arc::clone(lender),
            lanes: Arc::clone(lanes),
            without_lanes: None,
            turn: Arc::clone(turn),
            anchor: clock.anchor(),
            clock: clock.clone(),
            submitted: Submitted::default(),
            sync: match options.gpu.sync {
                scenario::Sync::Block => Sync::Block,
                scenario::Sync::Spin => Sync::Spin,
                scenario::Sync::Yield => Sync::Yield,
            },
            options: options.clone(),
            layer_times: Vec::new(),
            findings,
            gpu: Arc::clone(gpu),
        })
    }

    fn bind(&self) -> Result<(), BackendError> {
        self.gpu.bind().map_err(|error| self.fail(error))
    }

    fn fail(&self, error: GpuError) -> BackendError {
        failed(self.options.backend, "a frame", error)
    }

    /// Whether the tensors still are those that copies and engines were told of.
    fn has_its_tensors(&self) -> bool {
        let tensors = self.tensors.as_slice();
        let mut pairs = self.homes.iter().zip(tensors);
        self.homes.len() == tensors.len() && pairs.all(|(home, tensor)| home.has(tensor))
    }

    /// Enqueues the segment at `piece`; nothing of the slot is under way.
    fn enqueue(&mut self, piece: usize) -> Result<(), BackendError> {
        if !self.has_its_tensors() {
            return Err(BackendError::Execute {
                network: "a frame".to_owned(),
                backend: self.options.backend,
                problem: "its tensors were exchanged for others; fill those of the slot".to_owned(),
            });
        }
        let Some(Piece::Stretch(stretch)) = self.pieces.get_mut(piece) else {
            return Ok(());
        };
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        self.submitted.begun = RealClock.now();
        self.anchor = self.clock.anchor();
        let mut memory = Memory {
            tensors: &mut self.tensors,
            pinned: &self.pinned,
            device: &self.device,
        };
        self.is_under_way = true;
        // SAFETY: the slot keeps the segment, and lends its tensors to nobody until it was waited for (`GpuSlot`); these are the
        // slot's own, within their memory (above). The tenant's segments are enqueued in turn, on its one stream for execution.
        unsafe { stretch.enqueue(&self.lanes, &mut memory, &mut self.findings, self.options.backend) }?;
        self.submitted.ended = RealClock.now();
        Ok(())
    }

    /// Goes on from `piece`: runs host steps, whose time is the frame's computing as on every backend, and enqueues the
    /// next segment. Answers its position; none at the end.
    fn go_on(&mut self, mut piece: usize, times: &mut StageTimes) -> Result<Option<usize>, BackendError> {
        let began = RealClock.now();
        let has_steps = matches!(self.pieces.get(piece), Some(Piece::Host(_)));
        while let Some(Piece::Host(step)) = self.pieces.get(piece) {
            step.run(&mut self.tensors)?;
            piece += 1;
        }
        self.submitted.asked = RealClock.now();
        if has_steps {
            times.compute = sum(times.compute, Some(self.submitted.asked - began));
        }
        if piece == self.pieces.len() {
            return Ok(None);
        }
        self.enqueue(piece)?;
        Ok(Some(piece))
    }

    /// Notices that the device is done after all with a frame that was given up because it hung.
    fn look_for_end(&mut self) {
        if self.is_under_way && self.gpu.bind().is_ok() {
            let is_done = self.streams().all(|stream| stream.is_done().unwrap_or(false));
            self.is_under_way = !is_done;
        }
    }

    /// All segments to the end, from the one that is under way.
    fn finish(&mut self) -> Result<StageTimes, BackendError> {
        let mut times = StageTimes::default();
        let mut at = match self.pieces.first() {
            Some(Piece::Stretch(_)) => Some(0),
            _ => self.go_on(0, &mut times)?,
        };
        while let Some(piece) = at {
            let Some(Piece::Stretch(stretch)) = self.pieces.get_mut(piece) else {
                break;
            };
            let stages = stretch
                .wait(self.sync, self.options.watchdog)
                .and_then(|seen| stretch.stages(&self.lanes, &self.anchor, &self.submitted, seen))
                .map_err(|error| failed(self.options.backend, "a frame", error))?;
            for bound in stretch.executions() {
                bound.execution.layer_times(&mut self.layer_times);
            }
            times = StageTimes {
                h2d: sum(times.h2d, stages.h2d),
                queue: sum(times.queue, stages.queue),
                compute: sum(times.compute, stages.compute),
                d2h: sum(times.d2h, stages.d2h),
                submission: match (times.submission, stages.submission) {
                    (Some(before), Some(own)) => Some(before.and(own)),
                    (before, own) => before.or(own),
                },
            };
            at = self.go_on(piece + 1, &mut times)?;
        }
        Ok(times)
    }

    /// After a frame that failed on its way: nothing of it may still be under way when the slot is filled again.
    fn settle(&mut self) {
        for stream in self.streams() {
            // What failed was reported already, and a context that failed executes nothing more.
            let _ = stream.synchronize();
        }
        self.is_under_way = false;
    }

    /// What executes, in order.
    fn executions(&mut self) -> impl Iterator<Item = &mut Bound> {
        let stretches = self.pieces.iter_mut().filter_map(|piece| match piece {
            Piece::Stretch(stretch) => Some(stretch),
            Piece::Host(_) => None,
        });
        stretches.flat_map(|stretch| stretch.executions())
    }

    /// All that a frame's work may be on.
    fn streams(&self) -> impl Iterator<Item = &Arc<Stream>> {
        let Lanes {
            h2d,
            compute,
            d2h,
            branches,
            ..
        } = &*self.lanes;
        [h2d, compute, d2h].into_iter().chain(branches)
    }
}

/// What a segment's engines read and write in managed memory, each once.
fn managed(segment: &Segment, pinned: &[Option<PinnedAddress>]) -> Vec<PinnedAddress> {
    let touched = segment
        .engines
        .iter()
        .flat_map(|engine| engine.inputs.iter().chain(&engine.outputs));
    let places: BTreeSet<usize> = touched.copied().collect();
    let addresses = places.into_iter().filter_map(|place| pinned[place].clone());
    addresses
        .filter(|address| address.reach() == Reach::Managed)
        .collect()
}

fn sum(a: Option<Nanos>, b: Option<Nanos>) -> Option<Nanos> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a + b),
        (a, b) => a.or(b),
    }
}

impl Slot for GpuSlot {
    /// Without memory while a frame is under way.
    fn tensors(&self) -> &TensorSet {
        match self.is_under_way {
            true => &self.lent,
            false => &self.tensors,
        }
    }

    /// The tensors of [`Slot::tensors`], to be filled.
    fn tensors_mut(&mut self) -> &mut TensorSet {
        self.look_for_end();
        match self.is_under_way {
            true => &mut self.lent,
            false => &mut self.tensors,
        }
    }

    /// A detector whose first step is on the host has that in `wait`.
    fn submit(&mut self) -> Result<(), BackendError> {
        self.bind()?;
        if let Some(error) = self.without_lanes.take() {
            return Err(error);
        }
        self.look_for_end();
        if self.is_under_way {
            return Err(self.fail(GpuError::Hangs {
                limit: self.options.watchdog,
            }));
        }
        self.submitted.asked = RealClock.now();
        self.enqueue(0).inspect_err(|_| self.settle())
    }

    fn wait(&mut self) -> Result<StageTimes, BackendError> {
        self.bind()?;
        self.layer_times.clear();
        let finished = self.finish();
        match &finished {
            // Each segment was waited for.
            Ok(_) => self.is_under_way = false,
            // It would hang here too.
            Err(BackendError::Hangs { .. }) => {}
            Err(_) => self.settle(),
        }
        finished
    }

    fn restart(&mut self, Beginning { sharing, traced, .. }: Beginning) {
        self.without_lanes = None;
        let lanes = match self.lender.lanes(sharing) {
            Ok(lanes) => lanes,
            // The next frame says it; those that follow are on the streams that there are.
            Err(error) => {
                self.without_lanes = Some(failed(self.options.backend, "the tenant's streams", error));
                return;
            }
        };
        let is_same = Arc::ptr_eq(&self.lanes, &lanes);
        if is_same && !traced {
            return;
        }
        self.settle();
        self.lanes = lanes;
        for piece in &mut self.pieces {
            if let Piece::Stretch(stretch) = piece {
                stretch.forget_graph();
                if is_same {
                    continue;
                }
                self.without_lanes = stretch
                    .lend_branches(&self.lanes)
                    .err()
                    .or(self.without_lanes.take());
            }
        }
    }

    fn node_times(&self) -> &[NodeTime] {
        &self.layer_times
    }

    fn number_frame(&mut self, number: u64) -> bool {
        let mut any = false;
        for bound in self.executions() {
            any |= bound.execution.number_frame(number);
        }
        any
    }

    fn late_node_times(&mut self) -> LateTimes {
        let mut times = LateTimes::new();
        let executions = self.executions();
        let findings: Vec<Finding> = executions
            .flat_map(|bound| bound.execution.late_layer_times(&mut times))
            .collect();
        self.findings.extend(findings);
        times
    }

    fn node_spans(&mut self, from: Stamp, to: Stamp) -> Vec<NodeSpan> {
        let executions = self.executions();
        executions
            .flat_map(|bound| bound.execution.layer_spans(from, to))
            .collect()
    }

    fn take_findings(&mut self) -> Vec<Finding> {
        std::mem::take(&mut self.findings)
    }

    fn submission_may_wait(&self) -> Option<bool> {
        let may_wait = |piece: &Piece| match piece {
            Piece::Stretch(stretch) => stretch.may_wait(),
            Piece::Host(_) => false,
        };
        Some(self.pieces.iter().any(may_wait))
    }
}

impl Drop for GpuSlot {
    fn drop(&mut self) {
        self.settle();
    }
}
