//! What the template does to text.

use std::fmt::Display;

use askama::{Result, Values};

/// Units that stand behind a number.
const UNITS: &[&str] = &[
    "%", "ns", "µs", "ms", "s", "min", "h", "Hz", "kHz", "MHz", "GHz", "µW", "mW", "W", "µJ", "mJ", "J",
    "J/s", "mV", "V", "mA", "A", "°C", "B", "kB", "KiB", "MiB", "GiB", "MB", "GB", "GB/s", "FPS", "fps",
    "px",
];

/// Text whose lines never break between a number and its unit.
#[askama::filter_fn]
pub(super) fn whole(text: impl Display, _: &dyn Values) -> Result<String> {
    Ok(keep_units(&text.to_string()))
}

fn keep_units(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut words = text.split(' ').peekable();
    while let Some(word) = words.next() {
        kept.push_str(word);
        let Some(next) = words.peek() else { break };
        let unit = next.trim_end_matches(['.', ',', ';', ':', ')', '?', '!']);
        let together = word.ends_with(|last: char| last.is_ascii_digit()) && UNITS.contains(&unit);
        kept.push(if together { '\u{a0}' } else { ' ' });
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::keep_units;

    #[test]
    fn a_number_stays_with_its_unit_and_with_nothing_else() {
        let told = "camera meets 33 ms in 99.2 % of 3 frames (95 %, 12 to 14 ms); 5 s.";
        let kept =
            "camera meets 33\u{a0}ms in 99.2\u{a0}% of 3 frames (95\u{a0}%, 12 to 14\u{a0}ms); 5\u{a0}s.";
        assert_eq!(keep_units(told), kept);
        assert_eq!(keep_units("a W, 3 W2,  4  W "), "a W, 3 W2,  4  W ");
        assert_eq!(keep_units(""), "");
    }
}
