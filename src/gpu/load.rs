//! A load of one resource of the device, by a kernel of `kernels/load.cu` over memory of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::kernels::{BLOCK, Kernel, Module};
use super::memory::DeviceMemory;
use super::stream::Stream;
use super::{Gpu, GpuError};

/// Bytes of the vectors that the kernels move.
const VECTOR_BYTES: usize = 16;
/// Of a thread, in a round of `jetlag_load_compute`.
const MULTIPLY_ADDS: u64 = 128;
/// The least of each block that is streamed over: far beyond the second-level cache of every Jetson.
const STREAMED_BYTES: usize = 64 << 20;

/// The resource that is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// Multiprocessors: all of them, with as many threads as they hold.
    Compute,
    /// Memory, by copies over two blocks that together are at least eight times as large as the second-level cache.
    Dram,
    /// The second-level cache, by reads of a block at most half as large.
    L2,
}

/// One load, ready to launch. The thread that uses it has bound the device.
#[derive(Debug)]
pub struct LoadKernel {
    load: Load,
    kernel: Kernel,
    blocks: u32,
    from: DeviceMemory,
    to: DeviceMemory,
    /// Vectors of `from`, less one; they are a power of two.
    mask: u64,
    /// Where the next burst begins, so that it does not find in a cache what the one before left there.
    begin: AtomicU64,
}

impl LoadKernel {
    /// Finds the kernel in `module` and sets its memory aside.
    ///
    /// # Errors
    /// The module has no such kernel, or the device's memory is full.
    pub fn new(module: &Arc<Module>, load: Load) -> Result<Self, GpuError> {
        let gpu = module.gpu();
        let name = match load {
            Load::Compute => c"jetlag_load_compute",
            Load::Dram => c"jetlag_load_dram",
            Load::L2 => c"jetlag_load_l2",
        };
        let (from, to) = match load {
            Load::Compute => (VECTOR_BYTES, VECTOR_BYTES),
            Load::Dram => {
                let each = (gpu.l2_bytes()? * 4).next_power_of_two().max(STREAMED_BYTES);
                (each, each)
            }
            Load::L2 => (power_of_two_within(gpu.l2_bytes()? / 2), VECTOR_BYTES),
        };
        let (from, to) = (DeviceMemory::new(gpu, from)?, DeviceMemory::new(gpu, to)?);
        if load == Load::L2 {
            from.clear()?;
        }
        let blocks_each = (gpu.threads_per_multiprocessor()? / BLOCK).max(1);
        Ok(LoadKernel {
            load,
            kernel: module.kernel(name)?,
            blocks: gpu.multiprocessors()? * blocks_each,
            mask: (from.bytes() / VECTOR_BYTES) as u64 - 1,
            from,
            to,
            begin: AtomicU64::new(0),
        })
    }

    /// The GPU that the load runs on.
    pub fn gpu(&self) -> &Arc<Gpu> {
        self.kernel.gpu()
    }

    /// Bytes of the block that is read, where one is.
    pub fn block_bytes(&self) -> Option<u64> {
        (self.load != Load::Compute).then_some(self.from.bytes() as u64)
    }

    /// Operations of `count` units of work, two for a multiply-add; none of what only moves.
    pub fn operations(&self, count: u64) -> Option<u64> {
        let threads = u64::from(self.blocks) * u64::from(BLOCK);
        (self.load == Load::Compute).then(|| count.saturating_mul(threads * 2 * MULTIPLY_ADDS))
    }

    /// Bytes of device memory that it holds.
    pub fn memory(&self) -> u64 {
        (self.from.bytes() + self.to.bytes()) as u64
    }

    /// Bytes that `count` units of work move, where they move any.
    pub fn bytes(&self, count: u64) -> Option<u64> {
        match self.load {
            Load::Compute => None,
            // Read and written.
            Load::Dram => Some(count * 2 * VECTOR_BYTES as u64),
            Load::L2 => Some(count * VECTOR_BYTES as u64),
        }
    }

    /// Enqueues `count` units of work: rounds of arithmetic, or vectors of 16 bytes.
    ///
    /// # Errors
    /// The driver fails.
    pub fn launch(&self, stream: &Stream, count: u64) -> Result<(), GpuError> {
        let (from, to) = (self.from.address(), self.to.address());
        let begin = self.begin.fetch_add(count, Ordering::Relaxed);
        let arguments: &[u64] = match self.load {
            Load::Compute => &[to, count],
            Load::Dram => &[to, from, begin, count, self.mask],
            Load::L2 => &[from, to, count, self.mask],
        };
        // SAFETY: the declarations in kernels/load.cu; every index is masked to the blocks, which wait for the device
        // before they are freed.
        unsafe { self.kernel.launch(stream, self.blocks, arguments) }
    }
}

/// The largest power of two that is not above `bytes`, and a vector at least.
fn power_of_two_within(bytes: usize) -> usize {
    match bytes < VECTOR_BYTES {
        true => VECTOR_BYTES,
        false => 1 << bytes.ilog2(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_a_cache_are_powers_of_two_within_it() {
        assert_eq!(power_of_two_within(25 << 20), 16 << 20);
        assert_eq!(power_of_two_within(2 << 20), 2 << 20);
        assert_eq!(power_of_two_within(0), VECTOR_BYTES);
    }
}
