//! What is written of drives, as our own readers and those of others see it: against the drive itself.

mod bags;
mod kitti;
mod nuscenes;
mod python;
