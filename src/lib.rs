//! jetlag: how late the detectors on one machine run when they share it, why, and at how many watts.
//!
//! Two halves meet only in the run record: a live half that touches device, clock and board (this crate), and an offline half
//! that is pure and a crate of its own. Both stand on the crate `jetlag-record`, shown here as [`record`], [`units`],
//! [`files`], [`nearest`] and [`shell`]; the offline half is `jetlag-report`, shown as [`analysis`] and [`report`]. Facts of the machine
//! are the crate `jetlag-board`, shown as [`board`]; ranges of other people's applications, and for NVIDIA's profilers, are
//! `jetlag-range`, shown as [`range`] and [`trace`]. The synthetic world is `jetlag-world`, shown in [`source`].
//! docs/architecture.md has the map and the reasons; the import rules are:
//!
//! - [`record`], [`units`], [`files`], [`nearest`], [`shell`], [`clock`], [`shown`], [`whole`] and [`built`] ← everyone; [`tensor`] and
//!   [`device_step`] import nothing
//! - [`written`] ← record's units and nearest; [`scenario`] ← record, written; [`engine`], [`source`] ← record; `gpu` (a feature) ← clock, tensor, device_step
//! - [`detector`] ← written, scenario's made inputs, tensor, device_step, backend's `Program`, engine's network facts, source's `Frame`
//! - [`backend`] ← engine, tensor, clock, gpu, device_step; only `backend/tensorrt` sees the crate `tensorrt-dyn`, and only
//!   `backend/onnxruntime`, of the feature `onnxruntime`, the crate `ort`
//! - [`tenant`] ← backend's trait, detector, source, clock, trace; [`telemetry`] ← board, clock
//! - `activity` (a feature) ← record, scenario, clock, tenant's `Marks`; only it sees the crate `cupti-dyn`
//! - [`ceilings`] ← backend, board, clock, gpu, tensor
//! - [`deploy`] ← scenario, detector's specs, engine's network files; [`show`] ← report and what it shows
//! - `convert` (a feature) ← source, and the crates of recordings
//! - [`commands`] ← everything
//!
//! `analysis` never reads a clock, `report` never computes, and only `main` and `commands` print.

#[cfg(feature = "trace")]
pub mod activity;
pub mod backend;
pub mod built;
pub mod ceilings;
pub mod cli;
pub mod clock;
pub mod commands;
#[cfg(feature = "recordings")]
pub mod convert;
pub mod deploy;
pub mod detector;
pub mod device_step;
#[cfg_attr(not(feature = "cpu"), path = "without_embedded.rs")]
pub mod embedded;
pub mod engine;
mod free_memory;
#[cfg(feature = "gpu")]
pub mod gpu;
pub mod npy;
pub mod room;
pub mod scenario;
pub mod show;
pub mod source;
pub mod sweep;
pub mod telemetry;
pub mod tenant;
pub mod tensor;
pub mod written;

pub use jetlag_board as board;
pub use jetlag_range::{self as range, trace};
pub use jetlag_record::{self as record, files, nearest, shell, shown, units, whole};
pub use jetlag_report::{self as report, analysis};
