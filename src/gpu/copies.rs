//! A load of the way from the host to the device: copies of a block of pinned memory that nobody else has.

use std::sync::Arc;

use super::memory::{DeviceMemory, PinnedAddress, PinnedMemory, Reach};
use super::stream::Stream;
use super::{Gpu, GpuError};

/// One copy; longer loads are rows of them.
const COPY_BYTES: usize = 16 << 20;

/// Copies to the device, ready to be enqueued. The thread that uses it has bound the device.
#[derive(Debug)]
pub struct CopyLoad {
    to: DeviceMemory,
    from: PinnedAddress,
}

impl CopyLoad {
    /// Sets its memory aside.
    ///
    /// # Errors
    /// The device's memory is full, or the host's.
    pub fn new(gpu: &Arc<Gpu>) -> Result<Self, GpuError> {
        Ok(CopyLoad {
            from: PinnedMemory::new(gpu, COPY_BYTES, Reach::Copies)?.address(),
            to: DeviceMemory::new(gpu, COPY_BYTES)?,
        })
    }

    /// Enqueues copies of so many bytes together.
    ///
    /// # Errors
    /// The driver fails.
    pub fn enqueue(&self, stream: &Stream, bytes: usize) -> Result<(), GpuError> {
        let mut left = bytes;
        while left > 0 {
            let bytes = left.min(COPY_BYTES);
            // SAFETY: the block's one `PinnedMemory` was dropped in `new`, so nobody writes to it.
            unsafe { stream.upload(&self.to, &self.from, bytes) }?;
            left -= bytes;
        }
        Ok(())
    }
}
