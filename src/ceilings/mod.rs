//! What this machine's processor reaches at most, measured: the peak of fp32, and bandwidth of memory, caches and copies.
//!
//! - **fp32**: a square matrix product through the embedded backend, the same kernels that networks run on; of several sizes the
//!   fastest. It is what that backend can reach, a little below what the silicon could.
//! - **memory and caches**: sums over a block that is read again and again, each thread its own part; the block fits half into a
//!   cache, or is several times the last one.
//! - **copy**: from one block to another, the bytes read and the bytes written.
//!
//! Each figure is the best of several repetitions: what else runs can only make one slower. This is the live half; holding runs
//! against ceilings is `analysis::roofline`'s.

mod caches;
mod matrix;
mod moving;

use crate::analysis::roofline::{Bandwidth, CEILINGS_SCHEMA, Ceilings, Peak, Processor};
use crate::backend::BackendError;
use crate::board::{self, Roots};
use crate::units::Nanos;

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

/// Measures the processor.
///
/// # Errors
/// The embedded backend is not there, or does not run the product.
pub fn of_processor(roots: &Roots, effort: Effort) -> Result<Ceilings, BackendError> {
    let mut counts = vec![1, effort.threads.max(1)];
    counts.dedup();
    let caches = caches::of_machine(roots);
    let (mut peaks, mut bandwidths, mut copies) = (Vec::new(), Vec::new(), Vec::new());
    for threads in counts {
        let own = u32::try_from(threads).ok();
        let best = matrix::best(threads, effort.each)?;
        peaks.push(Peak {
            precision: "fp32".to_owned(),
            threads: own,
            flops_per_s: best.flops_per_s,
            how: format!("product of two {0} x {0} matrices, cpu backend", best.size),
        });
        let far = far(&caches, threads);
        let bandwidth = |name: &str, bytes: u64, how: &str, rate: f64| Bandwidth {
            name: name.to_owned(),
            threads: own,
            bytes_per_s: rate,
            working_set: Some(bytes),
            how: how.to_owned(),
        };
        let read = moving::read(threads, far, effort.each);
        bandwidths.push(bandwidth("memory", far, "read", read));
        for cache in &caches {
            // Half of it: what else lies there is not pushed out. Each thread has its own part of the block.
            let shared = cache.shared_by.max(1).min(threads as u64);
            let bytes = (cache.bytes / 2 * threads as u64 / shared).max(4096);
            let rate = moving::read(threads, bytes, effort.each);
            bandwidths.push(bandwidth(&cache.name, bytes, "read", rate));
        }
        copies.push(bandwidth(
            "copy within memory",
            far,
            "bytes read and written",
            moving::copy(threads, far, effort.each),
        ));
    }
    let facts = board::facts(roots);
    Ok(Ceilings {
        schema: CEILINGS_SCHEMA,
        name: facts.get("cpu").cloned().unwrap_or_else(|| "this processor".to_owned()),
        processor: Processor::Cpu,
        source: format!("measured by jetlag {}", env!("CARGO_PKG_VERSION")),
        peaks,
        bandwidths,
        copies,
        notes: vec![
            "fp32 is what the cpu backend's own kernels reach, a little less than the silicon could; fp16 and int8 are not measured."
                .to_owned(),
        ],
    })
}

/// Bytes that surely come from memory.
fn far(caches: &[caches::Cache], threads: usize) -> u64 {
    let last = caches.iter().map(|cache| cache.bytes).max();
    let bytes = last.map_or(FAR_BYTES, |last| last.saturating_mul(FAR_TIMES));
    bytes.clamp(16 << 20, MOST_BYTES).max(threads as u64 * 4096)
}
