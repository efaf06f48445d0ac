//! LiDAR detectors: sweeps to pillars, pillars to a network's inputs, its outputs to boxes.
//!
//! [`spec`] says what a detector is and puts it together; [`voxelise`] groups points, [`encode`] lays them
//! out for the network, [`scatter`] stands between encoder and backbone, [`anchors`] and [`nms`] make boxes of
//! what comes out. Nothing here reads files or executes networks.

pub mod anchors;
pub mod encode;
pub mod grid;
pub mod nms;
pub mod overlap;
pub mod preprocess;
pub mod scatter;
pub mod spec;
pub mod voxelise;

pub use spec::LidarSpec;

/// Which pillars of the grid held points, for the frame in flight.
#[derive(Clone, Debug, Default)]
pub struct Pillars {
    /// `[ix, iy]` of each pillar, in order of first appearance.
    pub cells: Vec<[u32; 2]>,
}
