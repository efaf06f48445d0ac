//! What makes a tenant run: when frames are due, what happens under overload, and the threads (or the
//! event loop) that take each frame from its release to its record.
//!
//! - [`arrival`]: when frames are due; [`overload`]: which of them are given up. Pure, and
//!   shared by both drivers, as is [`release_line`], which joins the two.
//! - [`pipeline`]: drives a tenant on real threads against the real clock.
//!   `nodes` adds up what each node of its networks took, where that was asked for.
//! - [`gate`]: whose frame uses the device next, where tenants take turns.
//! - [`watched`]: what a watchdog sees of a tenant.
//! - [`simulate`]: drives simulated tenants under the virtual clock, as one event loop.
//! - [`recording`]: the hot path's way to the recorder; [`recorder`]: the thread that takes it to the run file.
//!
//! What a backend does with a frame, and what becomes of the records, is the affair of others.

pub mod arrival;
pub(crate) mod failures;
pub mod gate;
pub mod marks;
pub(crate) mod mishap;
mod nodes;
pub mod overload;
pub mod pipeline;
mod plan;
pub mod recorder;
pub mod recording;
pub mod release_line;
pub mod simulate;
pub mod watched;

pub use plan::PhasePlan;
