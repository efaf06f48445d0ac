//! What tables of large figures share: names cut to their end, notes in lines that fit.

use super::wrapped;
use crate::Style;

/// A text in lines that fit, each indented.
pub(super) fn paragraph(text: &str, indent: &str, style: &Style) -> String {
    let room = usize::from(style.width.max(60)) - indent.len();
    let lines = wrapped(text, room).into_iter();
    lines.map(|line| format!("{indent}{line}\n")).collect()
}

/// The end of a name, which tells it from others.
pub(super) fn ending(name: &str) -> String {
    const ROOM: usize = 36;
    let length = name.chars().count();
    if length <= ROOM {
        return name.to_owned();
    }
    let kept: String = name.chars().skip(length + 1 - ROOM).collect();
    format!("…{kept}")
}
