//! What the GPU did, as NVIDIA's CUPTI records it: finding the library, and asking whether it may trace here.
//!
//! Only this folder sees the crate `cupti-dyn`. A binary without the feature `trace` does not have it.

mod library;

pub use library::{Found, Refused, find};
