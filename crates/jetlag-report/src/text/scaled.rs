//! What tables of large figures share: numbers with a prefix, names cut to their end, notes in lines that fit.

use super::wrapped;
use crate::Style;

/// `4.09 G`: a number with its prefix.
pub(crate) fn scaled(number: f64) -> String {
    const NAMES: [&str; 7] = ["", " k", " M", " G", " T", " P", " E"];
    let mut value = number;
    let mut at = 0;
    while value >= 1000.0 && at + 1 < NAMES.len() {
        value /= 1000.0;
        at += 1;
    }
    let name = NAMES.get(at).copied().unwrap_or_default();
    match value {
        value if at == 0 && value.fract() == 0.0 => format!("{value:.0}"),
        value if value < 9.995 => format!("{value:.2}{name}"),
        value if value < 99.95 => format!("{value:.1}{name}"),
        value => format!("{value:.0}{name}"),
    }
}

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
