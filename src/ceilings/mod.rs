//! What this machine reaches at most, measured: peaks of arithmetic, and bandwidth of memory, caches and copies. Of a GPU in
//! `device`; of the processor here:
//!
//! - **fp32**: a square matrix product through the embedded backend, the same kernels that networks run on; of several sizes the
//!   fastest. It is what that backend can reach, a little below what the silicon could.
//! - **memory and caches**: two equal blocks are compared again and again, each thread its own; they fill half of a cache, or
//!   are several times the last one.
//! - **copy**: from one block to another, the bytes read and the bytes written.
//!
//! Each figure is the best of several repetitions: what else runs can only make one slower. This is the live half; holding runs
//! against ceilings is `analysis::roofline`'s.

mod caches;
#[cfg_attr(not(feature = "gpu"), path = "without_device.rs")]
mod device;
mod matrix;
mod moving;

use crate::backend::BackendError;
use crate::board::Roots;
use crate::units::Nanos;

pub use device::{DeviceError, of_device};

/// Bytes that memory is measured over where no cache is known: more than any processor's last one.
const FAR_BYTES: u64 = 512 << 20;
/// The block is this many times the last cache.
const FAR_TIMES: u64 = 4;
/// Blocks are never larger than this.
const MOST_BYTES: u64 = 512 << 20;

/// What is measured, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Threads; beside them one alone is measured.
    pub threads: usize,
    /// Time for each figure.
    pub each: Nanos,
}

/// What was measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// The fastest matrix product, by threads.
    pub products: Vec<Product>,
    /// Reading from `memory` and from caches (`L1`, `L2`, `L3`), by threads.
    pub reads: Vec<Moved>,
    /// Copying within memory, by threads.
    pub copies: Vec<Moved>,
}

/// A matrix product.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Product {
    /// Threads that computed it.
    pub threads: usize,
    /// Rows and columns of each matrix.
    pub size: usize,
    /// Operations a second, two for a multiply-add.
    pub flops_per_s: f64,
}

/// Bytes that were moved.
#[derive(Clone, Debug, PartialEq)]
pub struct Moved {
    /// Where they lay.
    pub name: String,
    /// Threads that moved them.
    pub threads: usize,
    /// How many there were.
    pub bytes: u64,
    /// Bytes a second, of all threads together.
    pub bytes_per_s: f64,
}

/// What was measured of a GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct OfDevice {
    /// As the driver calls it.
    pub name: String,
    /// The fastest arithmetic, one for each number format.
    pub peaks: Vec<DevicePeak>,
    /// Of `memory` and `L2`.
    pub bandwidths: Vec<DeviceRate>,
    /// Copies within its memory, to it and from it.
    pub copies: Vec<DeviceRate>,
    /// What could not be measured, and why: a sentence each.
    pub missing: Vec<String>,
}

/// The highest rate of arithmetic of a GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct DevicePeak {
    /// The number format: `fp32`, `tf32`, `fp16`, `int8`.
    pub precision: &'static str,
    /// Operations a second, two for a multiply-add.
    pub flops_per_s: f64,
    /// What was computed.
    pub how: String,
}

/// The highest rate of moving bytes of a GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceRate {
    /// Of what.
    pub name: String,
    /// Bytes a second.
    pub bytes_per_s: f64,
    /// Bytes of the block that was moved again and again.
    pub working_set: Option<u64>,
    /// How they were moved, and which bytes count.
    pub how: &'static str,
}

/// Measures the processor, on one thread and on as many as asked.
///
/// # Errors
/// The embedded backend is not there, or does not run the product.
pub fn of_processor(roots: &Roots, effort: Effort) -> Result<Measured, BackendError> {
    let mut counts = vec![1, effort.threads.max(1)];
    counts.dedup();
    let caches = caches::of_machine(roots);
    let mut measured = Measured::default();
    for threads in counts {
        measured.products.push(matrix::best(threads, effort.each)?);
        let far = far(&caches, threads);
        let moved = |name: &str, bytes: u64, bytes_per_s: f64| Moved {
            name: name.to_owned(),
            threads,
            bytes,
            bytes_per_s,
        };
        let read = moving::read(threads, far, effort.each);
        measured.reads.push(moved("memory", far, read));
        for cache in &caches {
            // Half of it: what else lies there is not pushed out. Each thread has its own part of the block.
            let shared = cache.shared_by.max(1).min(threads as u64);
            let bytes = (cache.bytes / 2 * threads as u64 / shared).max(4096);
            let read = moving::read(threads, bytes, effort.each);
            measured.reads.push(moved(&cache.name, bytes, read));
        }
        let copied = moving::copy(threads, far, effort.each);
        measured.copies.push(moved("copy within memory", far, copied));
    }
    Ok(measured)
}

/// Bytes that surely come from memory.
fn far(caches: &[caches::Cache], threads: usize) -> u64 {
    let last = caches.iter().map(|cache| cache.bytes).max();
    let bytes = last.map_or(FAR_BYTES, |last| last.saturating_mul(FAR_TIMES));
    bytes.clamp(16 << 20, MOST_BYTES).max(threads as u64 * 4096)
}
