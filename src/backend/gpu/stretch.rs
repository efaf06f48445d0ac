//! One segment of a frame's work on the device: copies in, engines, copies out, and the stamps between them.
//!
//! Where directions have streams of their own, each begins with a stamp of when its stream was free, so that the wait for
//! another frame's copies or execution is not taken for this frame's.

use std::sync::Arc;

use super::fallback::Fallback;
use super::layout::{EngineUse, Segment};
use super::{Execution, Lanes, failed};
use crate::backend::{BackendError, StageTimes};
use crate::clock::{Clock, RealClock};
use crate::gpu::{Anchor, DeviceMemory, Event, Gpu, GpuError, Graph, PinnedAddress, Stream, Sync};
use crate::record::{Finding, Submission};
use crate::tensor::{Shape, TensorSet};
use crate::units::{Nanos, Stamp};

/// A segment with what it needs to run.
pub(super) struct Stretch {
    segment: Segment,
    executions: Vec<Bound>,
    /// Managed memory that its engines read and write.
    managed: Vec<PinnedAddress>,
    stamps: Stamps,
    graph: Captured,
}

/// An engine's execution and the shapes of the frame before.
pub(super) struct Bound {
    pub(super) engine: EngineUse,
    pub(super) execution: Box<dyn Execution>,
    pub(super) inputs: Vec<Shape>,
    pub(super) outputs: Vec<Shape>,
}

/// The device's stamps of one segment.
struct Stamps {
    begun: Event,
    uploaded: Event,
    /// Where execution has a stream of its own: when that was free.
    execution: Event,
    computed: Event,
    /// Where copies out have a stream of their own: when that was free.
    download: Event,
    done: Event,
}

impl Stamps {
    fn new(gpu: &Arc<Gpu>) -> Result<Self, GpuError> {
        let event = || Event::new(gpu);
        Ok(Stamps {
            begun: event()?,
            uploaded: event()?,
            execution: event()?,
            computed: event()?,
            download: event()?,
            done: event()?,
        })
    }
}

/// When the host submitted a segment.
#[derive(Clone, Copy, Default)]
pub(super) struct Submitted {
    /// When it was ready to.
    pub(super) asked: Stamp,
    /// When it began, no other frame of the tenant being submitted.
    pub(super) begun: Stamp,
    /// When everything was enqueued.
    pub(super) ended: Stamp,
}

/// How far a segment is with its CUDA graph.
enum Captured {
    /// Not wanted, or given up.
    No,
    /// Wanted; once `is_warm`, a frame of the same shapes was executed, as libraries want it before a capture.
    Wanted { is_warm: bool },
    /// Captured, for the shapes of the frame before.
    Yes(Graph),
}

/// The memory that a segment copies between.
pub(super) struct Memory<'a> {
    pub(super) tensors: &'a mut TensorSet,
    pub(super) pinned: &'a [Option<PinnedAddress>],
    pub(super) device: &'a [Option<DeviceMemory>],
}

impl Memory<'_> {
    /// A tensor's three sides: bytes of its shape now, its pinned and its device memory if it has them. The host's bytes are not
    /// looked at: the device may be at them.
    fn of(&self, place: usize) -> (usize, Option<&PinnedAddress>, Option<&DeviceMemory>) {
        let bytes = self.tensors.as_slice()[place].size();
        (bytes, self.pinned[place].as_ref(), self.device[place].as_ref())
    }
}

impl Stretch {
    /// A segment over these executions; `wants_graph` if they may be captured.
    pub(super) fn new(
        gpu: &Arc<Gpu>,
        segment: &Segment,
        executions: Vec<Bound>,
        managed: Vec<PinnedAddress>,
        wants_graph: bool,
    ) -> Result<Self, GpuError> {
        Ok(Stretch {
            segment: segment.clone(),
            graph: match wants_graph {
                true => Captured::Wanted { is_warm: false },
                false => Captured::No,
            },
            executions,
            managed,
            stamps: Stamps::new(gpu)?,
        })
    }

    /// What was captured on other streams, or before a tracer came, is captured again.
    pub(super) fn forget_graph(&mut self) {
        if matches!(self.graph, Captured::Yes(_)) {
            self.graph = Captured::Wanted { is_warm: true };
        }
    }

    pub(super) fn executions(&mut self) -> impl Iterator<Item = &mut Bound> {
        self.executions.iter_mut()
    }

    /// Whether one of its engines may wait for the device while it is enqueued.
    pub(super) fn may_wait(&self) -> bool {
        self.executions.iter().any(|bound| bound.execution.may_wait())
    }

    /// Streams of another way of sharing.
    pub(super) fn lend_branches(&mut self, lanes: &Lanes) -> Result<(), BackendError> {
        let mut executions = self.executions.iter_mut();
        executions.try_for_each(|bound| bound.execution.lend_branches(&lanes.branches))
    }

    /// Puts everything on the streams and returns.
    ///
    /// # Safety
    /// Until the segment was waited for, or its streams were synchronised, this is kept, nobody touches the memory on the host,
    /// and no other segment of the tenant is enqueued on other streams. Its tensors lie in `memory.pinned`, in shapes within it.
    pub(super) unsafe fn enqueue(
        &mut self,
        lanes: &Lanes,
        memory: &mut Memory<'_>,
        findings: &mut Vec<Finding>,
        backend: &'static str,
    ) -> Result<(), BackendError> {
        let is_same = self.reshape(memory.tensors, backend)?;
        let fail = |error| failed(backend, "a frame", error);
        // SAFETY: the caller vouches for the memory and for this, which holds the executions and their graph.
        let enqueued = unsafe {
            self.copy_in(lanes, memory)
                .map_err(fail)
                .and_then(|()| self.execute(is_same, lanes, findings, backend))
                .and_then(|()| self.copy_out(lanes, memory).map_err(fail))
        };
        if enqueued.is_err() {
            // The slot is filled again, and what the device has the host may not touch. What fails here failed already.
            let _ = self.take_back(lanes);
        }
        enqueued
    }

    fn take_back(&self, lanes: &Lanes) -> Result<(), GpuError> {
        self.managed
            .iter()
            .try_for_each(|memory| lanes.compute.give_back(memory))
    }

    /// # Safety
    /// As for [`Stretch::enqueue`].
    unsafe fn copy_in(&self, lanes: &Lanes, memory: &Memory<'_>) -> Result<(), GpuError> {
        let stamps = &self.stamps;
        lanes.h2d.record(&stamps.begun)?;
        for place in &self.segment.uploads {
            if let (bytes, Some(from), Some(to)) = memory.of(*place) {
                // SAFETY: the host does not touch the slot's memory until the frame was waited for.
                unsafe { lanes.h2d.upload(to, from, bytes) }?;
            }
        }
        if !self.segment.uploads.is_empty() {
            lanes.h2d.record(&stamps.uploaded)?;
        }
        if !lanes.is_one() {
            lanes.compute.wait_for(self.uploaded())?;
            lanes.compute.record(&stamps.execution)?;
        }
        self.managed
            .iter()
            // SAFETY: as above; it is given back at the end of the segment, also of one that fails.
            .try_for_each(|memory| unsafe { lanes.compute.lend(memory) })
    }

    /// # Safety
    /// As for [`Stretch::enqueue`].
    unsafe fn copy_out(&self, lanes: &Lanes, memory: &Memory<'_>) -> Result<(), GpuError> {
        let stamps = &self.stamps;
        // What that costs is in *compute*: without copies there is no later stage.
        self.take_back(lanes)?;
        lanes.compute.record(&stamps.computed)?;
        if self.segment.downloads.is_empty() {
            return Ok(());
        }
        if !lanes.is_one() {
            lanes.d2h.wait_for(&stamps.computed)?;
            lanes.d2h.record(&stamps.download)?;
        }
        for place in &self.segment.downloads {
            if let (bytes, Some(to), Some(from)) = memory.of(*place) {
                // SAFETY: as in `copy_in`.
                unsafe { lanes.d2h.download(to, from, bytes) }?;
            }
        }
        lanes.d2h.record(&stamps.done)
    }

    /// The stamp after the copies in.
    fn uploaded(&self) -> &Event {
        match self.segment.uploads.is_empty() {
            true => &self.stamps.begun,
            false => &self.stamps.uploaded,
        }
    }

    /// The stamp after everything.
    fn last(&self) -> &Event {
        match self.segment.downloads.is_empty() {
            true => &self.stamps.computed,
            false => &self.stamps.done,
        }
    }

    /// Waits for its last stamp. When the host saw it.
    pub(super) fn wait(&self, sync: Sync, limit: std::time::Duration) -> Result<Stamp, GpuError> {
        self.last().wait(sync, limit)?;
        Ok(RealClock.now())
    }

    /// The stages of a segment that is done, which the host saw at `seen`.
    pub(super) fn stages(
        &self,
        lanes: &Lanes,
        anchor: &Anchor,
        &Submitted { asked, begun, ended }: &Submitted,
        seen: Stamp,
    ) -> Result<StageTimes, GpuError> {
        let stamps = &self.stamps;
        // An anchor of a busy host can be off by milliseconds. But no work begins before it is submitted, or ends after it
        // was seen to have ended.
        let latest = seen - self.last().since(&stamps.begun)?;
        let on_device = anchor.place(&stamps.begun)?.min(latest).max(begun);
        let mut queue = (on_device - asked).max(Nanos::ZERO);
        let mut began = |before: &Event, own: &Event| -> Result<Nanos, GpuError> {
            let waited = own.since(before)?.max(Nanos::ZERO);
            queue += waited;
            Ok(waited)
        };
        let h2d = match self.segment.uploads.is_empty() {
            true => None,
            false => Some(stamps.uploaded.since(&stamps.begun)?),
        };
        let mut executing_from = on_device + h2d.unwrap_or(Nanos::ZERO);
        let (mut execution, mut download) = (self.uploaded(), &stamps.computed);
        if !lanes.is_one() {
            executing_from = executing_from + began(execution, &stamps.execution)?;
            execution = &stamps.execution;
        }
        let compute = stamps.computed.since(execution)?;
        let mut d2h = None;
        if !self.segment.downloads.is_empty() {
            if !lanes.is_one() {
                began(download, &stamps.download)?;
                download = &stamps.download;
            }
            d2h = Some(stamps.done.since(download)?);
        }
        Ok(StageTimes {
            h2d,
            queue: Some(queue),
            compute: Some(compute),
            d2h,
            submission: Some(Submission {
                took: ended - begun,
                // Submission begins before the device does, so what it shares with computing ends with the first of the two.
                in_compute: Some((ended - executing_from).min(compute).max(Nanos::ZERO)),
            }),
        })
    }

    /// Tells the engines the shapes of this frame, and the tensors those of their outputs. Whether what was captured for the
    /// frame before serves this one.
    fn reshape(&mut self, tensors: &mut TensorSet, backend: &'static str) -> Result<bool, BackendError> {
        let mut is_same = true;
        for bound in &mut self.executions {
            let mut changed = false;
            for (before, place) in bound.inputs.iter_mut().zip(&bound.engine.inputs) {
                let tensor = &tensors.as_slice()[*place];
                if before == tensor.shape() {
                    continue;
                }
                if !bound.engine.is_dynamic {
                    return Err(BackendError::Execute {
                        network: format!("engine {}", bound.engine.engine),
                        backend,
                        problem: format!(
                            "its input `{}` has the fixed shape {before}, but the frame has {}",
                            tensor.name(),
                            tensor.shape()
                        ),
                    });
                }
                *before = *tensor.shape();
                changed = true;
            }
            if changed {
                is_same &= bound.execution.serves_every_shape();
                bound.execution.reshape(&bound.inputs, &mut bound.outputs)?;
            }
            for (shape, place) in bound.outputs.iter().zip(&bound.engine.outputs) {
                tensors.as_mut_slice()[*place].set_shape(*shape)?;
            }
        }
        Ok(is_same)
    }

    /// Puts the engines on the stream: launched as a graph where one was captured for these shapes.
    ///
    /// # Safety
    /// As for [`Stretch::enqueue`].
    unsafe fn execute(
        &mut self,
        is_same: bool,
        lanes: &Lanes,
        findings: &mut Vec<Finding>,
        backend: &'static str,
    ) -> Result<(), BackendError> {
        let Self {
            executions, graph, ..
        } = self;
        let fail = |error| failed(backend, "a CUDA graph", error);
        let is_ready = |stream: &&Arc<Stream>| {
            executions
                .iter()
                .all(|bound| bound.execution.is_ready_for_capture(stream))
        };
        let ready = match graph {
            Captured::Wanted { is_warm: true } => lanes.capture.as_ref().filter(is_ready),
            _ => None,
        };
        let mut enqueue = |stream: &Stream| -> Result<(), BackendError> {
            executions
                .iter_mut()
                // SAFETY: the caller keeps the executions, and the host from their memory, until the device is done.
                .try_for_each(|bound| unsafe { bound.execution.enqueue(stream) })
        };
        match graph {
            Captured::Yes(captured) if is_same => {
                // SAFETY: captured of these executions, which hold their memory and are kept as long as the graph.
                return unsafe { captured.launch(&lanes.compute) }.map_err(fail);
            }
            Captured::Wanted { is_warm: true } if is_same && let Some(capture) = ready => {
                match Graph::capture(capture, || enqueue(capture), fail) {
                    Ok(mut captured) => {
                        // SAFETY: as above.
                        let launched = unsafe { captured.launch(&lanes.compute) }.map_err(fail);
                        *graph = Captured::Yes(captured);
                        return launched;
                    }
                    Err(error) => {
                        *graph = Captured::No;
                        findings.push(Fallback::NotCaptured { error: &error }.into());
                    }
                }
            }
            // New shapes, or kernels that are still being compiled: executed before they are captured.
            Captured::Yes(_) | Captured::Wanted { .. } => *graph = Captured::Wanted { is_warm: true },
            Captured::No => {}
        }
        enqueue(&lanes.compute)
    }
}
