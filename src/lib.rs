//! jetlag: how late the detectors on one machine run when they share it, why, and at how many watts.
//!
//! Two halves meet only in the run record ([`record`]): a live half that touches device, clock and board,
//! and an offline half that is pure. docs/architecture.md has the map and the reasons; the import rules are:
//!
//! - [`units`], [`clock`], [`nearest`], [`shown`], [`files`] and [`built`] ← everyone; [`scenario`], [`tensor`], [`record`] ← units
//! - [`source`], [`detector`] ← tensor; [`engine`] ← units; `gpu` (a feature) ← units, clock, tensor
//! - [`backend`] ← engine, tensor, clock, gpu, scenario (settings), record (findings); only `backend/tensorrt` sees the
//!   crate `tensorrt-dyn`, and only `backend/onnxruntime`, of the feature `onnxruntime`, the crate `ort`
//! - [`tenant`] ← backend's trait, detector, source, record, clock
//! - [`range`] ← record, scenario, board, clock: for other people's applications, used by nothing of ours
//! - [`deploy`] ← scenario, detector's specs, engine's network files
//! - [`trace`] ← record; [`telemetry`], [`analysis`] ← record; [`report`] ← analysis; [`commands`] ← everything
//!
//! `analysis` never reads a clock, `report` never computes, and only `main`, `commands` and `report` print.

pub mod analysis;
pub mod backend;
pub mod board;
pub mod built;
pub mod cli;
pub mod clock;
pub mod commands;
pub mod deploy;
pub mod detector;
pub mod device_step;
#[cfg_attr(not(feature = "cpu"), path = "without_embedded.rs")]
pub mod embedded;
pub mod engine;
pub mod files;
#[cfg(feature = "gpu")]
pub mod gpu;
pub mod nearest;
pub mod range;
pub mod record;
pub mod report;
pub mod scenario;
pub mod shown;
pub mod source;
pub mod telemetry;
pub mod tenant;
pub mod tensor;
pub mod trace;
pub mod units;
