//! What people and programs read: one file a format, over one [`Summary`](crate::analysis::Summary).
//!
//! Nothing here computes: every figure shown is a field of the summary, rounded for the eye. Formats write
//! to any writer; which one, and whether it is a terminal, is for `commands` to know.

pub mod clocks;
pub mod compare;
pub mod dashboard;
pub mod doctor;
pub mod export;
pub mod html;
pub mod inspect;
pub mod json;
pub mod log;
pub mod manifest;
pub mod plan;
pub mod selftest;
pub mod text;
pub mod trtexec;

/// How text may look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Whether escape sequences may be used: a terminal, and no NO_COLOR.
    pub colour: bool,
    /// Columns; down to 80, nothing but the path of the run file is wider.
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
