//! What reports are made of: units, what supports a value, the digits that it is shown with, sections, and tables that fit a terminal.
//!
//! Nothing is measured or computed here: whoever has a number says what it is, and this crate shows it.

#![doc = include_str!("../README.md")]

pub mod digits;
pub mod number;
pub mod section;
pub mod support;
pub mod table;
pub mod unit;

pub use support::{Known, Support};
pub use unit::Unit;

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
