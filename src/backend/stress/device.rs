//! Loads of the GPU: kernels of our own on the tenant's stream, or pinned copies to the device.
//!
//! A burst is one launch, or a row of copies, between two stamps of the device. Kernels have their time in *compute*, copies
//! in *h2d*.

use std::sync::Arc;

use super::{NAME, calibrate, failed};
use crate::backend::gpu::{self, FreeMemory, Lanes, Lender, Wanted};
use crate::backend::{BackendError, Beginning, Opened, Slot, StageTimes};
use crate::clock::{Clock, RealClock};
use crate::gpu::{
    Anchor, ClockMap, CopyLoad, Event, Gpu, GpuError, LOAD, Load, LoadKernel, Stream, Sync, Way,
};
use crate::record::{Amount, Submission, TenantMemory};
use crate::scenario::{self, Resource};
use crate::tensor::TensorSet;
use crate::units::{Nanos, Stamp};

pub use crate::backend::gpu::OnDevice;

/// Work of a copy is counted in these.
const UNIT_BYTES: usize = 4 << 10;

/// Opens the slots; all enqueue the same work.
pub(super) fn open(
    on: &OnDevice,
    resource: Resource,
    burst: Nanos,
    slots: usize,
) -> Result<Opened, BackendError> {
    let lacks = |error| gpu::failed(NAME, "the stressor", error);
    let device = on.shared.gpu();
    device.bind().map_err(lacks)?;
    let before = FreeMemory::of(device);
    let work = Arc::new(Work::new(device, resource)?);
    let count = measured(device, &work, burst, on).map_err(lacks)?;
    log::info!(
        "a burst of {resource:?} is {count} units of work{}",
        work.bytes(count)
            .map_or(String::new(), |bytes| format!(" ({} MB)", bytes / 1_000_000))
    );
    let wanted = Wanted {
        // A burst is one thing in one order.
        depth: 1,
        captures: false,
        branches: 0,
    };
    let lender = Lender::new(&on.shared, on.claim, wanted);
    let lanes = lender.first().map_err(lacks)?;
    let clock = on.shared.clock_map();
    let slot = || -> Result<Box<dyn Slot>, GpuError> {
        Ok(Box::new(DeviceSlot {
            work: Arc::clone(&work),
            count,
            begun: Event::new(device)?,
            done: Event::new(device)?,
            lanes: Arc::clone(&lanes),
            without_lanes: None,
            lender: Arc::clone(&lender),
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
    let slots = (0..slots)
        .map(|_| slot().map_err(lacks))
        .collect::<Result<_, _>>()?;
    let (on_device, pinned) = work.memory();
    let memory = TenantMemory {
        device_tensors: Some(Amount::Bytes(on_device)),
        pinned: pinned.map(Amount::Bytes),
        device: Some(before.taken_since()),
        ..TenantMemory::default()
    };
    Ok(Opened {
        slots,
        memory,
        layers: Vec::new(),
    })
}

/// What a burst consists of.
enum Work {
    Kernel(LoadKernel),
    Copies(CopyLoad),
}

impl Work {
    fn new(device: &Arc<Gpu>, resource: Resource) -> Result<Self, BackendError> {
        let lacks = |error| gpu::failed(NAME, "the stressor's memory", error);
        let load = match resource {
            Resource::Dram => Load::Dram,
            Resource::L2 => Load::L2,
            Resource::HostToDevice => {
                return Ok(Work::Copies(CopyLoad::new(device, Way::ToDevice).map_err(lacks)?));
            }
            Resource::Compute | Resource::HostCpu | Resource::HostMemory => Load::Compute,
        };
        let module = gpu::kernels(device, LOAD).map_err(|error| failed(resource, error.to_string()))?;
        Ok(Work::Kernel(LoadKernel::new(&module, load).map_err(lacks)?))
    }

    fn bytes(&self, count: u64) -> Option<u64> {
        match self {
            Work::Kernel(kernel) => kernel.bytes(count),
            Work::Copies(_) => Some(count * UNIT_BYTES as u64),
        }
    }

    /// Bytes on the device, and of pinned memory where it has some.
    fn memory(&self) -> (u64, Option<u64>) {
        match self {
            Work::Kernel(kernel) => (kernel.memory(), None),
            Work::Copies(copies) => (copies.each() as u64, Some(copies.each() as u64)),
        }
    }

    fn enqueue(&self, stream: &Stream, count: u64) -> Result<(), GpuError> {
        match self {
            Work::Kernel(kernel) => kernel.launch(stream, count),
            Work::Copies(copies) => copies.enqueue(stream, count as usize * UNIT_BYTES),
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
    lanes: Arc<Lanes>,
    /// What kept it from the streams of the phase at hand.
    without_lanes: Option<GpuError>,
    lender: Arc<Lender>,
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
        if let Some(error) = self.without_lanes.take() {
            return Err(error);
        }
        self.gpu.bind()?;
        self.anchor = self.clock.anchor();
        self.submitted = RealClock.now();
        let stream = &self.lanes.compute;
        stream.record(&self.begun)?;
        self.work.enqueue(stream, self.count)?;
        stream.record(&self.done)?;
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
            Work::Copies(_) => StageTimes {
                h2d: Some(took),
                submission: submission(None),
                ..times
            },
        })
    }

    /// Nothing of it may be under way when it is used again or dropped; what failed was reported already.
    fn settle(&self) {
        let _ = self.lanes.compute.synchronize();
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

    fn restart(&mut self, Beginning { sharing, .. }: Beginning) {
        self.without_lanes = None;
        match self.lender.lanes(sharing) {
            Ok(lanes) if Arc::ptr_eq(&self.lanes, &lanes) => {}
            Ok(lanes) => {
                self.settle();
                self.lanes = lanes;
            }
            Err(error) => self.without_lanes = Some(error),
        }
    }
}

impl Drop for DeviceSlot {
    fn drop(&mut self) {
        self.settle();
    }
}
