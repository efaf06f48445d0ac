//! Where ranges are told to NVIDIA's profilers. Without the feature `nvtx` both do nothing and cost nothing.

use crate::trace;

/// A range begins on this thread.
#[inline(always)]
pub(super) fn push(name: &'static str) {
    trace::push(name);
}

/// The range that began last on this thread ends.
#[inline(always)]
pub(super) fn pop() {
    trace::pop();
}
