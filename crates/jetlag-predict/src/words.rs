//! Counts and sizes in sentences.

/// So many: `1 network`, `3 networks`.
pub(crate) fn many(count: usize, one: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {one}s"),
    }
}

/// Counts have no unit, and no decimals.
pub(crate) fn number(value: f64, unit: &str) -> String {
    match unit {
        "" => format!("{value:.0}"),
        _ => format!("{value:.3}"),
    }
}

/// A size in a sentence, with its unit.
pub(crate) fn size(value: f64, unit: &str) -> String {
    let number = number(value, unit);
    match unit {
        "" => number,
        _ => format!("{number} {unit}"),
    }
}

/// Three digits, or all before the point.
pub(crate) fn figure(value: f64) -> String {
    match value.abs() {
        large if large >= 100.0 => format!("{value:.0}"),
        middle if middle >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}
