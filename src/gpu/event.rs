//! Events: moments in a stream that the device stamps, that the host can wait for, and whose distances the driver tells.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cudarc::driver::{DriverError, result, sys};

use super::device::driver_failed;
use super::{Gpu, GpuError};
use crate::units::Nanos;

/// How the host waits for the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Sync {
    /// Asleep until the driver wakes it: costs no processor, and some tens of microseconds.
    #[default]
    Block,
    /// Asking all the time: soonest, and burns a processor.
    Spin,
    /// Asking, and letting other threads run in between.
    Yield,
}

/// A moment in a stream, stamped by the device. The thread that uses it has bound its [`Gpu`].
#[derive(Debug)]
pub struct Event {
    raw: sys::CUevent,
    gpu: Arc<Gpu>,
}

// SAFETY: the driver lets any thread use an event.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl std::marker::Sync for Event {}

impl Event {
    /// An event with a stamp.
    ///
    /// # Errors
    /// The driver fails.
    pub fn new(gpu: &Arc<Gpu>) -> Result<Self, GpuError> {
        gpu.bind()?;
        // Decides how `cuEventSynchronize` waits, for this event alone.
        let raw = result::event::create(sys::CUevent_flags::CU_EVENT_BLOCKING_SYNC)
            .map_err(driver_failed("cuEventCreate"))?;
        Ok(Self {
            raw,
            gpu: Arc::clone(gpu),
        })
    }

    pub(super) fn raw(&self) -> sys::CUevent {
        self.raw
    }

    /// Whether the device has passed it (also before it was ever recorded).
    ///
    /// # Errors
    /// Work before it failed.
    pub fn is_done(&self) -> Result<bool, GpuError> {
        // SAFETY: the event is alive.
        match unsafe { result::event::query(self.raw) } {
            Ok(()) => Ok(true),
            Err(DriverError(sys::CUresult::CUDA_ERROR_NOT_READY)) => Ok(false),
            Err(error) => Err(driver_failed("cuEventQuery")(error)),
        }
    }

    /// Waits until the device has passed it. `limit` holds for the ways that ask; a thread that sleeps is the
    /// driver's until the device is done, and its caller watches it.
    ///
    /// # Errors
    /// Work before it failed, or `limit` is over.
    pub fn wait(&self, how: Sync, limit: Duration) -> Result<(), GpuError> {
        if how == Sync::Block {
            // SAFETY: the event is alive.
            return unsafe { result::event::synchronize(self.raw) }
                .map_err(driver_failed("cuEventSynchronize"));
        }
        let mut began = None;
        while !self.is_done()? {
            // The clock is read only when the device was not done at once.
            if began.get_or_insert_with(Instant::now).elapsed() > limit {
                return Err(GpuError::Hangs { limit });
            }
            match how {
                Sync::Yield => std::thread::yield_now(),
                _ => std::hint::spin_loop(),
            }
        }
        Ok(())
    }

    /// From `earlier` to this one, in steps of about half a microsecond; both are done. Negative if the order was another.
    ///
    /// # Errors
    /// One of them is not done, or was never recorded.
    pub fn since(&self, earlier: &Event) -> Result<Nanos, GpuError> {
        // SAFETY: both are alive; the driver refuses events of two devices.
        let ms = unsafe { result::event::elapsed(earlier.raw, self.raw) }
            .map_err(driver_failed("cuEventElapsedTime"))?;
        Ok(Nanos((f64::from(ms) * 1e6).round() as i64))
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        let _ = self.gpu.bind();
        // SAFETY: made by us and used no more; the driver keeps what a stream still needs of it.
        let _ = unsafe { result::event::destroy(self.raw) };
    }
}
