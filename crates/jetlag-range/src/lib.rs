//! Ranges for other people's code: an application marks what it does, and gets a run file of it.
//!
//! A [`Recording`] writes the file; each thread of the application has a [`Track`] of its own, on which ranges are
//! pushed and popped, or opened as guards that end with their scope. A *batch* is a range that is one piece of work:
//! it becomes a frame of the tenant, so that every report of jetlag's has its response time; ranges directly within a
//! batch that are named like a stage (`preprocess`, `compute`, …) become its stages. All ranges are kept as well, for
//! Perfetto and CV-CUDA (`jetlag export`). With the feature `nvtx`, ranges show in NVIDIA's profilers too.
//!
//! ```no_run
//! use jetlag_range::{Recording, Tenant};
//!
//! let recording = Recording::create("app.mcap".as_ref(), "app", &[Tenant::new("camera")])?;
//! let mut camera = recording.track("camera")?;
//! for _ in 0..1000 {
//!     let mut batch = camera.batch("batch");
//!     batch.set_items(4);
//!     {
//!         let _decode = batch.range("decode");
//!         // …
//!     }
//!     let _compute = batch.range("compute");
//!     // …
//! }
//! drop(camera);
//! recording.finish()?;
//! # Ok::<(), jetlag_range::RangeError>(())
//! ```
//!
//! A push and a pop read the clock once each and leave one plain value in a bounded queue of the thread's own: no lock,
//! and no allocation once a path has been seen. A full queue loses the range and counts it; the run says so.

mod recording;
mod tenant;
pub mod trace;
mod track;
mod unbalanced;
mod writing;

pub use recording::{RangeError, Recording};
pub use tenant::Tenant;
pub use track::{Batch, Range, Track, now};
