//! The memory that a tenant took, and the peaks while it ran.

use serde::Serialize;

/// The memory of one tenant, in bytes. What its backend does not have is `None`, and what is not known is `None` with its reason in
/// `unknown`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MemorySummary {
    /// What loading its networks took where they execute: plans or sessions, with weights and arenas.
    pub networks_bytes: Option<u64>,
    /// Working memory of its execution contexts on the device.
    pub contexts_bytes: Option<u64>,
    /// Its tensors, or a stressor's buffers, in device memory.
    pub device_tensors_bytes: Option<u64>,
    /// Its tensors in host memory that the device reaches.
    pub pinned_bytes: Option<u64>,
    /// Its tensors in ordinary host memory.
    pub host_tensors_bytes: Option<u64>,
    /// By how much the free memory of its device sank while it was made ready.
    pub device_bytes: Option<u64>,
    /// The most memory in use on its device at a reading in the measurement or at the last one before, of all that uses the device.
    pub device_peak_bytes: Option<u64>,
    /// The most that its process had resident during the measurement, warm-up included, with all tenants of that process.
    pub process_peak_bytes: Option<u64>,
    /// Why parts that it has are not known.
    pub unknown: Vec<UnknownMemory>,
}

/// A part of the memory that is not known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnknownMemory {
    /// The field's name without its unit: `networks`.
    pub part: &'static str,
    /// Why, a sentence.
    pub reason: String,
}
