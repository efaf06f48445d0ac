//! LiDAR detectors.

pub mod spec;

/// Which pillars of the grid held points, for the frame in flight.
#[derive(Clone, Debug, Default)]
pub struct Pillars {
    /// `[ix, iy]` of each pillar, in order of first appearance.
    pub cells: Vec<[u32; 2]>,
}
