//! What frames were made of: their size, their cameras; and what came out.

pub(in crate::analysis) mod cameras;
pub(in crate::analysis) mod input_effect;
pub(in crate::analysis) mod outputs;
