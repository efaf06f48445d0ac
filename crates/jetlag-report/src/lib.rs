//! The offline half of jetlag: from a run file to numbers, and from numbers to reports for people and programs.
//!
//! [`analysis`] turns the records of a run into one [`Summary`](analysis::Summary). Every other module writes it in
//! one format and computes nothing: each figure shown is a field of the summary, rounded for display. Formats write
//! to any writer; the caller knows which one it is, and whether it is a terminal. No module opens a device or reads a
//! clock, so a run made on a board can be read on any laptop.

pub mod analysis;
pub mod compare;
pub mod contents;
mod digits;
pub mod export;
pub mod github;
pub mod html;
pub mod json;
pub mod junit;
pub mod log;
pub mod manifest;
pub mod table;
pub mod text;
pub mod trtexec;

use jetlag_record::{self as record, nearest, scenario, shell, units};

/// How text may look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Whether escape sequences may be used: a terminal, and no NO_COLOR.
    pub colour: bool,
    /// Width in columns; from 80 on, only the path of the run file is wider.
    pub width: u16,
}

impl Default for Style {
    /// Plain text of 100 columns, as for a pipe or a file.
    fn default() -> Self {
        Style {
            colour: false,
            width: 100,
        }
    }
}
