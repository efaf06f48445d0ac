//! Loads of the ways between memories: copies of blocks that nobody else has.

use std::sync::Arc;

use super::memory::{DeviceMemory, PinnedAddress, PinnedMemory, Reach};
use super::stream::Stream;
use super::{Gpu, GpuError};

/// One copy between host and device; longer loads are rows of them.
const COPY_BYTES: usize = 16 << 20;
/// One copy within the device is of so many bytes at least: far beyond the second-level cache of every Jetson.
const WITHIN_BYTES: usize = 64 << 20;

/// From where to where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From pinned memory of the host to the device.
    ToDevice,
    /// From the device to pinned memory of the host.
    FromDevice,
    /// Within the device's memory.
    Within,
}

#[derive(Debug)]
enum Blocks {
    To(DeviceMemory, PinnedAddress),
    From(DeviceMemory, PinnedAddress),
    Within(DeviceMemory, DeviceMemory),
}

/// Copies, ready to be enqueued. The thread that uses it has bound the device.
#[derive(Debug)]
pub struct CopyLoad {
    blocks: Blocks,
    bytes: usize,
}

impl CopyLoad {
    /// Sets its memory aside.
    ///
    /// # Errors
    /// The device's memory is full, or the host's.
    pub fn new(gpu: &Arc<Gpu>, way: Way) -> Result<Self, GpuError> {
        let bytes = match way {
            Way::ToDevice | Way::FromDevice => COPY_BYTES,
            Way::Within => (gpu.l2_bytes()? * 4).max(WITHIN_BYTES),
        };
        let block = || DeviceMemory::new(gpu, bytes);
        // The block's one `PinnedMemory` is dropped here, so nobody else can touch it.
        let pinned = || Ok::<_, GpuError>(PinnedMemory::new(gpu, bytes, Reach::Copies)?.address());
        let blocks = match way {
            Way::ToDevice => Blocks::To(block()?, pinned()?),
            Way::FromDevice => Blocks::From(block()?, pinned()?),
            Way::Within => Blocks::Within(block()?, block()?),
        };
        Ok(CopyLoad { blocks, bytes })
    }

    /// Bytes of one copy, and of each of its two blocks.
    pub fn each(&self) -> usize {
        self.bytes
    }

    /// Enqueues copies of so many bytes together.
    ///
    /// # Errors
    /// The driver fails.
    pub fn enqueue(&self, stream: &Stream, bytes: usize) -> Result<(), GpuError> {
        let mut left = bytes;
        while left > 0 {
            let bytes = left.min(self.bytes);
            match &self.blocks {
                // SAFETY: nobody else has the pinned block.
                Blocks::To(to, from) => unsafe { stream.upload(to, from, bytes) }?,
                // SAFETY: as above.
                Blocks::From(from, to) => unsafe { stream.download(to, from, bytes) }?,
                Blocks::Within(to, from) => stream.copy(to, from, bytes)?,
            }
            left -= bytes;
        }
        Ok(())
    }
}
