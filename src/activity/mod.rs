//! What the GPU did, as NVIDIA's CUPTI records it: asking whether it may trace here, and tracing a phase. Finding the library, and
//! whom activities belong to, is in the crate `jetlag-activity`, since programs that somebody else wrote are traced with it as well.
//!
//! Only that crate, `jetlag-inject` and this folder see the crate `cupti-dyn`. A binary without the feature `trace` does not have it.
#![allow(
    unsafe_code,
    reason = "setting an environment variable; the block states the fact that it relies on"
)]

mod traced;
mod tracer;

pub use jetlag_activity::{Found, Refused, at, find};
pub use traced::Traced;
pub use tracer::{NotTraced, Tracer, Tracing};
