//! nuScenes and KITTI as frames: which files a sensor wrote, when, from where, and with which calibration.
//!
//! A dataset is opened once ([`NuScenes::open`](nuscenes::NuScenes::open), [`kitti::open`]), and everything that a selection
//! needs is checked then: unknown names, broken tables, and missing files, all in one error. Files of sensors are named here
//! and read by others; only sweeps of several captures are put together here ([`sweeps`]), from bytes, without allocating.
//!
//! Times are whole nanoseconds, lengths metres, angles radians. A pose maps its own frame into the one above it.
//!
//! ```no_run
//! use jetlag_datasets::nuscenes::{NuScenes, Selection};
//! use jetlag_datasets::sweeps::{MIN_DISTANCE, SweepCloud};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let nuscenes = NuScenes::open("/data/nuscenes".as_ref(), Some("v1.0-mini"))?;
//! let lidar = nuscenes.select(&Selection {
//!     key_frames: true,
//!     sweeps: 10,
//!     ..Selection::of("LIDAR_TOP")
//! })?;
//! let mut cloud = SweepCloud::default();
//! for (number, frame) in lidar.frames().enumerate() {
//!     cloud.clear();
//!     for sweep in lidar.sweeps(number) {
//!         cloud.append(&std::fs::read(&sweep.capture.file)?, &sweep.place, MIN_DISTANCE)?;
//!     }
//!     println!("{}: {} points", frame.offset, cloud.points.len());
//! }
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

mod error;
pub mod geometry;
pub mod kitti;
mod missing;
pub mod nuscenes;
pub mod sweeps;
mod table_error;
pub mod timeline;

pub use error::{DatasetError, Missing, Named};
pub use table_error::{After, FieldProblem, ShapeProblem, TableError};

/// Compiles the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
