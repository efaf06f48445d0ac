//! Loads of the GPU: kernels of our own on the tenant's stream, or pinned copies to the device.
//!
//! A burst is one launch, or a row of copies, between two stamps of the device. Kernels have their time in *compute*, copies
//! in *h2d*.

use std::sync::Arc;

use super::{NAME, calibrate, failed};
use crate::backend::gpu;
use crate::backend::{BackendError, Slot, StageTimes};
use crate::clock::{Clock, RealClock};
use crate::gpu::{
    Anchor, ClockMap, DeviceMemory, Event, Gpu, GpuError, LOAD, Load, LoadKernel, PinnedAddress,
    PinnedMemory, Stream, Sync,
};
use crate::record::{Phase, Submission};
use crate::scenario::{self, Resource, Sharing};
use crate::tensor::TensorSet;
use crate::units::{Nanos, Stamp};

pub use crate::backend::gpu::OnDevice;

/// One copy of a burst; longer bursts are rows of them.
const COPY_BYTES: usize = 16 << 20;
/// Work of a copy is counted in these.
const UNIT_BYTES: usize = 4 << 10;

/// Opens the slots; all enqueue the same work.
pub(super) fn open(
    on: &OnDevice,
    resource: Resource,
    burst: Nanos,
    slots: usize,
) -> Result<Vec<Box<dyn Slot>>, BackendError> {
    let lacks = |error| gpu::failed(NAME, "the stressor", error);
    let device = on.shared.gpu();
    device.bind().map_err(lacks)?;
    let work = Arc::new(Work::new(device, resource)?);
    let count = measured(device, &work, burst, on).map_err(lacks)?;
    log::info!(
        "a burst of {resource:?} is {count} units of work{}",
        work.bytes(count)
            .map_or(String::new(), |bytes| format!(" ({} MB)", bytes / 1_000_000))
    );
    let ways = on.shared.lanes(on.claim, slots).map_err(lacks)?;
    let ways: Vec<(Sharing, Arc<Stream>)> = ways
        .into_iter()
        .map(|(way, lanes)| match *work {
            Work::Copies { .. } => (way, lanes.h2d),
            Work::Kernel(_) => (way, lanes.compute),
        })
        .collect();
    let Some((_, stream)) = ways.first() else {
        return Err(lacks(GpuError::NoDevice));
    };
    let clock = on.shared.clock_map();
    let slot = || -> Result<Box<dyn Slot>, GpuError> {
        Ok(Box::new(DeviceSlot {
            work: Arc::clone(&work),
            count,
            begun: Event::new(device)?,
            done: Event::new(device)?,
            stream: Arc::clone(stream),
            ways: ways.clone(),
            anchor: clock.anchor(),
            clock: clock.clone(),
            submitted: Stamp(0),
            enqueued: Stamp(0),
            sync: match on.options.gpu.sync {
                scenario::Sync::Block => Sync::Block,
                scenario::Sync::Spin => Sync::Spin,
                scenario::Sync::Yield => Sync::Yield,
            },
            watchdog: on.options.watchdog,
            tensors: TensorSet::default(),
            gpu: Arc::clone(device),
        }))
    };
    (0..slots).map(|_| slot().map_err(lacks)).collect()
}

/// What a burst consists of.
enum Work {
    Kernel(LoadKernel),
    Copies { to: DeviceMemory, from: PinnedAddress },
}

impl Work {
    fn new(device: &Arc<Gpu>, resource: Resource) -> Result<Self, BackendError> {
        let lacks = |error| gpu::failed(NAME, "the stressor's memory", error);
        let load = match resource {
            Resource::Dram => Load::Dram,
            Resource::L2 => Load::L2,
            Resource::HostToDevice => {
                let from = PinnedMemory::new(device, COPY_BYTES, false).map_err(lacks)?;
                let to = DeviceMemory::new(device, COPY_BYTES).map_err(lacks)?;
                return Ok(Work::Copies {
                    to,
                    from: from.address(),
                });
            }
            Resource::Compute | Resource::HostCpu | Resource::HostMemory => Load::Compute,
        };
        let module = gpu::kernels(device, LOAD).map_err(|error| failed(resource, error.to_string()))?;
        Ok(Work::Kernel(LoadKernel::new(&module, load).map_err(lacks)?))
    }

    fn bytes(&self, count: u64) -> Option<u64> {
        match self {
            Work::Kernel(kernel) => kernel.bytes(count),
            Work::Copies { .. } => Some(count * UNIT_BYTES as u64),
        }
    }

    fn enqueue(&self, stream: &Stream, count: u64) -> Result<(), GpuError> {
        match self {
            Work::Kernel(kernel) => kernel.launch(stream, count),
            Work::Copies { to, from } => {
                let mut left = count as usize * UNIT_BYTES;
                while left > 0 {
                    let bytes = left.min(COPY_BYTES);
                    stream.upload(to, from, bytes)?;
                    left -= bytes;
                }
                Ok(())
            }
        }
    }
}

/// Work that takes `burst` on a device that does nothing else.
fn measured(device: &Arc<Gpu>, work: &Work, burst: Nanos, on: &OnDevice) -> Result<u64, GpuError> {
    let stream = Stream::new(device, 0)?;
    let (begun, done) = (Event::new(device)?, Event::new(device)?);
    calibrate(burst, |count| {
        stream.record(&begun)?;
        work.enqueue(&stream, count)?;
        stream.record(&done)?;
        done.wait(Sync::Yield, on.options.watchdog)?;
        done.since(&begun)
    })
}

struct DeviceSlot {
    work: Arc<Work>,
    count: u64,
    begun: Event,
    done: Event,
    stream: Arc<Stream>,
    ways: Vec<(Sharing, Arc<Stream>)>,
    clock: ClockMap,
    anchor: Arc<Anchor>,
    submitted: Stamp,
    enqueued: Stamp,
    sync: Sync,
    watchdog: std::time::Duration,
    tensors: TensorSet,
    gpu: Arc<Gpu>,
}

impl DeviceSlot {
    fn enqueue(&mut self) -> Result<(), GpuError> {
        self.gpu.bind()?;
        self.anchor = self.clock.anchor();
        self.submitted = RealClock.now();
        self.stream.record(&self.begun)?;
        self.work.enqueue(&self.stream, self.count)?;
        self.stream.record(&self.done)?;
        self.enqueued = RealClock.now();
        Ok(())
    }

    fn finish(&mut self) -> Result<StageTimes, GpuError> {
        self.gpu.bind()?;
        self.done.wait(self.sync, self.watchdog)?;
        let begun = self.anchor.place(&self.begun)?;
        let queue = (begun - self.submitted).max(Nanos::ZERO);
        let took = self.done.since(&self.begun)?;
        let submission = |in_compute| {
            Some(Submission {
                took: self.enqueued - self.submitted,
                in_compute,
            })
        };
        let times = StageTimes {
            queue: Some(queue),
            ..StageTimes::default()
        };
        Ok(match *self.work {
            Work::Kernel(_) => StageTimes {
                compute: Some(took),
                submission: submission(Some((self.enqueued - begun).min(took).max(Nanos::ZERO))),
                ..times
            },
            Work::Copies { .. } => StageTimes {
                h2d: Some(took),
                submission: submission(None),
                ..times
            },
        })
    }

    /// Nothing of it may be under way when it is used again or dropped; what failed was reported already.
    fn settle(&self) {
        let _ = self.stream.synchronize();
    }
}

impl Slot for DeviceSlot {
    fn tensors(&self) -> &TensorSet {
        &self.tensors
    }
    fn tensors_mut(&mut self) -> &mut TensorSet {
        &mut self.tensors
    }

    fn submit(&mut self) -> Result<(), BackendError> {
        self.enqueue().map_err(|error| {
            self.settle();
            gpu::failed(NAME, "a burst", error)
        })
    }

    fn wait(&mut self) -> Result<StageTimes, BackendError> {
        self.finish().map_err(|error| {
            // A device that hangs would hang here too.
            if !matches!(error, GpuError::Hangs { .. }) {
                self.settle();
            }
            gpu::failed(NAME, "a burst", error)
        })
    }

    fn submission_may_wait(&self) -> Option<bool> {
        Some(false)
    }

    fn restart(&mut self, sharing: Sharing, _phase: Phase) {
        let Some((_, stream)) = self.ways.iter().find(|(way, _)| *way == sharing) else {
            return;
        };
        if !Arc::ptr_eq(&self.stream, stream) {
            self.settle();
            self.stream = Arc::clone(stream);
        }
    }
}

impl Drop for DeviceSlot {
    fn drop(&mut self) {
        self.settle();
    }
}
