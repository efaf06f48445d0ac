//! What counters come out as; serialised, it is the file of `jetlag counters -o` and the JSON of docs/json.md. `None` is "not known".

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Version of the form in files; larger when a field changes its meaning or is removed.
pub const COUNTERS_SCHEMA: u32 = 1;

/// Counts of one network or several, at one batch or several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Counters {
    /// Version of the form, [`COUNTERS_SCHEMA`].
    pub schema: u32,
    /// One for each time that the profiler ran.
    pub measurements: Vec<Measurement>,
}

/// Why a file of counters cannot be read.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum CountersError {
    #[error("is neither a file of `jetlag counters` nor a table of Nsight Compute: {0}")]
    Form(#[from] serde_json::Error),
    #[error("has version {found} of the form, and this jetlag reads {COUNTERS_SCHEMA}; count again")]
    Version { found: u32 },
}

impl Counters {
    /// Reads the JSON of a file.
    ///
    /// # Errors
    /// It is of another form or version.
    pub fn read(text: &str) -> Result<Counters, CountersError> {
        let read: Counters = serde_json::from_str(text)?;
        match read.schema {
            COUNTERS_SCHEMA => Ok(read),
            found => Err(CountersError::Version { found }),
        }
    }
}

/// One time that the profiler ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// The network, scenario or file.
    pub name: String,
    /// Shapes that were asked for, such as `images:8x3x224x224`.
    pub shapes: Option<String>,
    /// The tenant that its frames are of; none where no range names one.
    pub tenant: Option<String>,
    /// BLAKE3 of the files of its networks; empty where the file does not tell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub networks: Vec<String>,
    /// Frames that were counted; all figures are of one of them. 1 where no range names a frame: then all of it is one.
    pub frames: u64,
    /// Launches of kernels in all of them.
    pub launches: u64,
    /// Of the device.
    pub compute_capability: Option<String>,
    /// What was in the caches when a kernel began.
    pub caches: Caches,
    /// A frame.
    pub total: Counted,
    /// By layer, in the order of execution; one without a name holds the kernels outside of all layers.
    pub layers: Vec<LayerCounts>,
    /// By kernel, the one that takes longest first.
    pub kernels: Vec<KernelCounts>,
    /// What limits it, a sentence each.
    pub notes: Vec<String>,
}

/// What was in the caches when a kernel began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Caches {
    /// Nothing: ncu empties them before each kernel, so that what the kernel before left there is read from memory again.
    Emptied,
    /// What the kernel before left there.
    Kept,
    /// The file does not tell.
    #[default]
    Unknown,
}

/// Counts, of a frame.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counted {
    /// Operations of all pipes; none where those of fp32 or of the tensor cores are not known.
    pub flops: Option<f64>,
    /// By pipe: `fp32`, `fp16`, `fp64`, `tensor fp16`, …
    pub flops_by_pipe: BTreeMap<String, f64>,
    /// Warp instructions of the tensor cores by generation: `wgmma`, `mma.sync`, `imma`, `dmma`.
    pub tensor_instructions: BTreeMap<String, f64>,
    /// The newest of these.
    pub generation: Option<String>,
    /// Bytes to and from the device's memory.
    pub dram_bytes: Option<f64>,
    /// Those that were read.
    pub dram_read_bytes: Option<f64>,
    /// Those that were written.
    pub dram_written_bytes: Option<f64>,
    /// Bytes through the L2 cache.
    pub l2_bytes: Option<f64>,
    /// Bytes through the L1 caches.
    pub l1_bytes: Option<f64>,
    /// The sum of the kernels' times, under the profiler.
    pub seconds: Option<f64>,
    /// Other metrics that are sums, by ncu's names.
    pub others: BTreeMap<String, f64>,
}

/// A layer of the network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LayerCounts {
    /// The innermost NVTX range around its kernels; none for kernels in no range but a frame's.
    pub name: Option<String>,
    /// Kernels of a frame.
    pub launches: f64,
    /// Its counts.
    pub counted: Counted,
}

/// All launches of one kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KernelCounts {
    /// Its name.
    pub name: String,
    /// Launches in a frame.
    pub launches: f64,
    /// Their counts.
    pub counted: Counted,
}
