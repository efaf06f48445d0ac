//! What slow frames have in common, and the state of the machine under them.

pub(in crate::analysis) mod clocks;
pub(in crate::analysis) mod conditions;
pub(in crate::analysis) mod host;
pub(in crate::analysis) mod memory;
pub(in crate::analysis) mod outliers;
