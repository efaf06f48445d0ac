//! The simulated backend: a seeded latency model instead of a device, for tests, plans and dry runs.
//!
//! [`latency`] draws how long an inference would take alone; [`device`] is the shared device on which
//! tenants slow each other down. Under the virtual clock the tenant's event loop drives both directly
//! (`tenant::simulate`); under the real clock the slots here wait out the time that the device predicts.

pub mod device;
pub mod latency;

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::{Backend, BackendError, Beginning, Opened, Program, Slot, StageTimes, null::host_tensors};
use crate::clock::{Clock, RealClock};
use crate::record;
use crate::scenario::LatencyModel;
use crate::tensor::TensorSet;
use crate::units::Stamp;
use device::Device;
use latency::Sampler;

/// The device that the simulated tenants of a run under the real clock share. Its lock is the model of
/// the contention itself; tenants on real backends never touch it.
pub struct SharedDevice {
    state: Mutex<Device>,
    changed: Condvar,
}

impl SharedDevice {
    /// A device on which each of `k` busy tenants runs `1 + contention × (k − 1)` times slower.
    pub fn new(contention: f64) -> Arc<Self> {
        Arc::new(SharedDevice {
            state: Mutex::new(Device::new(contention)),
            changed: Condvar::new(),
        })
    }
    fn lock(&self) -> MutexGuard<'_, Device> {
        // A tenant that panicked left whole numbers behind; the others may go on with them.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One simulated tenant's engine.
pub struct SimBackend {
    device: Arc<SharedDevice>,
    tenant: usize,
    model: LatencyModel,
    seed: u64,
}

impl SimBackend {
    /// A tenant, numbered uniquely on `device`, that draws its latencies from `model` with `seed`.
    pub fn new(device: Arc<SharedDevice>, tenant: usize, model: LatencyModel, seed: u64) -> Self {
        SimBackend {
            device,
            tenant,
            model,
            seed,
        }
    }
}

/// What the slots of one tenant share: its latencies, and the order in which its stream executes.
struct Stream {
    sampler: Sampler,
    /// Frames submitted and not yet finished, oldest first; the head is on the device.
    waiting: VecDeque<u64>,
    next_ticket: u64,
}

struct SimSlot {
    device: Arc<SharedDevice>,
    tenant: usize,
    stream: Arc<Mutex<Stream>>,
    seed: u64,
    tensors: TensorSet,
    ticket: u64,
    submitted: Stamp,
}

impl Backend for SimBackend {
    fn name(&self) -> &'static str {
        "sim"
    }

    fn device(&self) -> record::Device {
        record::Device::None
    }
    fn open(&self, program: &Program, slots: usize) -> Result<Opened, BackendError> {
        let stream = Arc::new(Mutex::new(Stream {
            sampler: Sampler::new(self.model.clone(), self.seed),
            waiting: VecDeque::with_capacity(slots),
            next_ticket: 0,
        }));
        let slots = (0..slots)
            .map(|_| {
                Ok(Box::new(SimSlot {
                    device: self.device.clone(),
                    tenant: self.tenant,
                    stream: stream.clone(),
                    seed: self.seed,
                    tensors: host_tensors(&program.host_tensors)?,
                    ticket: 0,
                    submitted: Stamp(0),
                }) as Box<dyn Slot>)
            })
            .collect::<Result<_, BackendError>>()?;
        Ok(Opened::on_host(slots, None))
    }
}

impl Slot for SimSlot {
    fn tensors(&self) -> &TensorSet {
        &self.tensors
    }
    fn tensors_mut(&mut self) -> &mut TensorSet {
        &mut self.tensors
    }

    fn submit(&mut self) -> Result<(), BackendError> {
        self.submitted = RealClock.now();
        let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        self.ticket = stream.next_ticket;
        stream.next_ticket += 1;
        stream.waiting.push_back(self.ticket);
        Ok(())
    }

    fn restart(&mut self, beginning: Beginning) {
        let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        stream.sampler.restart(beginning.drawn_as.seed(self.seed));
    }

    /// Waits in the order of submission, as frames on one stream do, then for the device.
    fn wait(&mut self) -> Result<StageTimes, BackendError> {
        let work = {
            let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
            debug_assert_eq!(
                stream.waiting.front(),
                Some(&self.ticket),
                "the pipeline waits in order"
            );
            stream.sampler.draw()
        };
        let mut device = self.device.lock();
        let began = RealClock.now();
        device.advance_to(began);
        device.start(self.tenant, work);
        self.device.changed.notify_all();
        loop {
            let now = RealClock.now();
            device.advance_to(now);
            if device.is_done(self.tenant) {
                break;
            }
            // Others that come or go move the predicted end, so every change wakes all who wait.
            let left = device.time_to_finish(self.tenant).to_std();
            device = self
                .device
                .changed
                .wait_timeout(device, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        device.finish(self.tenant);
        drop(device);
        self.device.changed.notify_all();
        let ended = RealClock.now();
        self.stream
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .waiting
            .pop_front();
        Ok(StageTimes {
            queue: Some(began - self.submitted),
            compute: Some(ended - began),
            ..StageTimes::default()
        })
    }
}
