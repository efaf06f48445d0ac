//! Synthetic scenes as a source: the world of the crate `jetlag-world`, whose stills [`SyntheticSource`] yields as frames.
//! Writing them to disk is [`kitti`](super::kitti)'s.

mod feed;
#[cfg(test)]
mod tests;

pub use feed::SyntheticSource;
pub use jetlag_world::{
    Class, IMAGE_SIZE, LIDAR_RANGE, MAX_TRUNCATED, MIN_HEIGHT, MIN_POINTS, MIN_VISIBLE, Object, Observation,
    RANGE, RINGS, STEPS, Scene, World, calibration, counts_for_lidar,
};
