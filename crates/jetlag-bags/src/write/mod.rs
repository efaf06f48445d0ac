//! Writing bags that ROS 2 and its tools read: MCAP or SQLite, in a folder with `metadata.yaml` or as one file.
//!
//! Messages are those of cameras and LiDARs, in little-endian CDR; or any, as another bag has them ([`BagWriter::describe`]).
//! Bags are for tests, and for data sets and bags that are made into bags; a recorder would have to write from several threads
//! and survive a full disk, which this does not.

mod bag;
mod container;
mod encode;
mod metadata;
mod schema;
mod sensors;
mod sqlite;
mod topic;

pub use bag::{BagWriter, Format, TopicNumber, WriteError};
pub use container::ChunkCompression;
pub use encode::{CameraMessage, CloudMessage, Message, encode};
pub use sensors::{XYZI, XYZI_RING, cloud, pinhole};
pub use topic::RawTopic;
