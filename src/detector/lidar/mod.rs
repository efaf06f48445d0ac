//! LiDAR detectors: sweeps to pillars, pillars to a network's inputs, its outputs to boxes.
//!
//! [`spec`] says what a detector is and puts it together; [`voxelise`] groups points, [`encode`] lays them
//! out for the network, [`scatter`] stands between encoder and backbone, [`anchors`] or [`heatmap`], and [`nms`], make boxes of
//! what comes out. Nothing here reads files or executes networks.

pub mod anchors;
pub mod angle;
pub mod cameras;
pub mod columns;
pub mod encode;
pub mod grid;
pub mod heatmap;
pub mod nms;
pub mod preprocess;
pub mod scatter;
pub mod spec;
pub mod voxelise;

pub use spec::LidarSpec;
