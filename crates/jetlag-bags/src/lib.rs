//! Bags of ROS 2, read and written without ROS: which topics there are, where each message is, and what cameras and LiDARs sent.
//!
//! A bag is a folder or file of MCAP or SQLite, as `ros2 bag record` makes it: split, compressed, cut off by a crash. [`Bag::open`]
//! finds every message; a [`Reader`] fills a buffer with one; [`message`] shows it as it is; [`pixels`] and [`Points`] make of
//! it what a detector takes.
//!
//! ```no_run
//! use jetlag_bags::{Bag, Limits, Points, Select, Want};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let bag = Bag::open("drive".as_ref(), &Limits::default())?;
//! let index = bag.index("/lidar/points", Select::default())?;
//! let (mut reader, mut message, mut points) = (bag.reader(), Vec::new(), Points::default());
//! for entry in index.entries() {
//!     reader.read(entry, &mut message)?;
//!     points.decode(&message, Want::default())?;
//!     println!("{} points, {} left out", points.xyzi.len(), points.dropped);
//! }
//! # Ok(())
//! # }
//! ```

mod bag;
pub mod cdr;
mod completeness;
mod compression;
mod contents;
mod db3;
mod definition;
mod discover;
mod error;
mod limits;
mod mcap_file;
pub mod message;
mod metadata;
mod order;
mod pace;
pub mod pixels;
pub mod points;
mod positioned;
mod reader;
mod store;
mod time;
mod topic;
mod unpack;
pub mod write;

pub use bag::{Bag, BagSummary, FileSummary, Index, Select};
pub use completeness::{Completeness, Loss};
pub use compression::{Compression, DecompressError};
pub use contents::Entry;
pub use definition::Definition;
pub use error::{BagError, Damage, Foreign};
pub use limits::Limits;
pub use order::{Gap, Order};
pub use points::{Points, Want};
pub use reader::Reader;
pub use time::{By, Time};
pub use topic::{Topic, TopicSummary};
pub use unpack::Storage;
pub use write::BagWriter;
