//! What the GPU did, as NVIDIA's CUPTI records it: finding the library, asking whether it may trace here, and tracing a phase.
//!
//! Only this folder sees the crate `cupti-dyn`. A binary without the feature `trace` does not have it.
#![allow(
    unsafe_code,
    reason = "setting an environment variable; the block states the fact that it relies on"
)]

mod attribute;
mod gather;
mod library;
mod names;
mod tracer;

pub use library::{Found, Refused, at, find};
pub use tracer::{NotTraced, Tracer, Tracing};
