//! Writing bags that ROS 2 and its tools read: MCAP, or SQLite as ROS 2 Humble has it, in a folder with `metadata.yaml`.
//!
//! Messages are those of cameras and LiDARs, in little-endian CDR. Bags are for tests and for data sets that are made into bags;
//! a recorder would have to write from several threads and survive a full disk, which this does not.

mod bag;
mod container;
mod encode;
mod metadata;
mod schema;
mod sqlite;

pub use bag::{BagWriter, Format, WriteError};
pub use container::ChunkCompression;
pub use encode::{CameraMessage, CloudMessage, Message, encode};
