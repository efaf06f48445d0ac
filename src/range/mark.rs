//! Where ranges are told to NVIDIA's profilers. Without the feature `nvtx` both do nothing and cost nothing.

/// A range begins on this thread.
#[inline(always)]
pub(super) fn push(_name: &'static str) {}

/// The range that began last on this thread ends.
#[inline(always)]
pub(super) fn pop() {}
