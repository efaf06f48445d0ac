//! The offline half of jetlag: from a run file to numbers, and from numbers to reports for people and programs.
//!
//! [`analysis`] turns the records of a run into one [`Summary`](analysis::Summary). Every other module writes it in
//! one format and computes nothing: each figure shown is a field of the summary, rounded for display. Formats write
//! to any writer; the caller knows which one it is, and whether it is a terminal. No module opens a device or reads a
//! clock, so a run made on a board can be read on any laptop.

pub mod analysis;
pub mod compare;
pub mod contents;
pub mod details;
pub mod export;
pub mod github;
pub mod html;
pub mod json;
pub mod junit;
pub mod log;
pub mod markdown;
mod sections;
pub mod text;
pub mod trtexec;

pub use jetlag_figure::{Style, table};
use jetlag_figure::{digits, number};
use jetlag_record::{self as record, nearest, scenario, shell, units};
