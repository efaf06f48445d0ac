//! Formats figures for display: few digits, and the unit once per table.

use crate::digits::{Digits, beside, percent_range, range, within};

/// The sign for an unknown figure.
pub const UNKNOWN: &str = "–";

/// The unit in which a table shows its durations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// ms
    Millis,
    /// µs
    Micros,
}

impl TimeUnit {
    /// Microseconds where none of the durations given reaches one millisecond.
    pub fn for_millis(largest: impl Iterator<Item = f64>) -> Self {
        if largest.fold(0.0, f64::max) < 1.0 {
            TimeUnit::Micros
        } else {
            TimeUnit::Millis
        }
    }

    /// As a table's head has it: `ms`.
    pub fn name(self) -> &'static str {
        match self {
            TimeUnit::Millis => "ms",
            TimeUnit::Micros => "µs",
        }
    }

    /// A duration given in milliseconds.
    pub fn show(self, ms: f64) -> String {
        short(self.of_millis(ms))
    }

    /// The two bounds of an interval.
    pub fn show_interval(self, interval: [f64; 2]) -> String {
        range(interval.map(|ms| self.of_millis(ms)))
    }

    /// A duration given in milliseconds, with the digits of its interval.
    pub fn show_beside(self, ms: f64, interval: Option<[f64; 2]>) -> String {
        let interval = interval.map(|ends| ends.map(|ms| self.of_millis(ms)));
        short_beside(self.of_millis(ms), interval)
    }

    fn of_millis(self, ms: f64) -> f64 {
        match self {
            TimeUnit::Millis => ms,
            TimeUnit::Micros => ms * 1e3,
        }
    }
}

/// Rounds a rate or a ratio to six decimals; further digits carry no information.
pub fn six_decimals(x: f64) -> f64 {
    (x * 1e6).round() / 1e6
}

/// Two decimals, fewer on large figures, three on small ones.
pub fn short(x: f64) -> String {
    Digits::of(x).show(x)
}

/// The same with the digits of its interval, where there is one.
pub fn short_beside(x: f64, interval: Option<[f64; 2]>) -> String {
    beside(x, interval, Digits::of).show(x)
}

/// An energy or a power, with no digit that its interval does not have.
pub fn measured(x: f64, interval: Option<[f64; 2]>) -> String {
    within(x, interval).show(x)
}

/// A relative change in percent with its sign, with the digits of its interval.
pub fn change(change: f64, interval: Option<[f64; 2]>) -> String {
    let percent = change * 100.0;
    let interval = interval.map(|ends| ends.map(|end| end * 100.0));
    format!(
        "{} %",
        beside(percent, interval, Digits::of_percent).signed(percent)
    )
}

/// The interval of a relative change: `+11.8 to +12.3 %`.
pub fn change_range(interval: [f64; 2]) -> String {
    format!("{} %", percent_range(interval))
}

/// A value without superfluous digits: a tick's, or one that somebody chose.
pub fn mark(value: f64) -> String {
    let text = format!("{value:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text.is_empty() || text == "-" {
        "0".to_owned()
    } else {
        text.to_owned()
    }
}

/// A share from 0 to 1 in percent; a value above zero never shows as zero.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent == 0.0 || percent >= 10.0 {
        format!("{percent:.0} %")
    } else if percent >= 0.095 {
        format!("{percent:.1} %")
    } else {
        "< 0.1 %".to_owned()
    }
}

/// A share in percent, with as many digits as it takes not to read as zero.
pub fn percent_of_whole(share: f64) -> String {
    let percent = share * 100.0;
    // What is near the whole is told from it.
    if percent >= 10.0 && !(99.0..110.0).contains(&percent) {
        format!("{percent:.0} %")
    } else if percent >= 0.1 {
        format!("{percent:.1} %")
    } else {
        format!("{percent:.2} %")
    }
}

/// Whether an interval of a share says anything of another run: frames that all depend on each other are worth one, and its 95 % of all
/// shares are none that anybody would wait for.
pub fn tells_of_others([low, high]: &[f64; 2]) -> bool {
    high - low <= 0.5
}

/// The interval of a share.
pub fn share_range([low, high]: [f64; 2]) -> String {
    let (from, to) = (percent(low), percent(high));
    match (low > 0.0 && !from.starts_with('<'), to.starts_with('<')) {
        (true, _) => format!("{}–{to}", from.trim_end_matches(" %")),
        (false, true) => to,
        (false, false) => format!("≤ {to}"),
    }
}

/// A figure, or the sign for an unknown one.
pub fn or_unknown<T>(value: Option<T>, show: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| UNKNOWN.to_owned(), show)
}

/// `4.09 G`: a number with its prefix.
pub fn scaled(number: f64) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_a_share_has_one_end_where_the_other_is_nothing() {
        assert_eq!(share_range([0.012, 0.033]), "1.2–3.3 %");
        assert_eq!(share_range([0.0, 0.095]), "≤ 9.5 %");
        assert_eq!(share_range([0.0, 0.0001]), "< 0.1 %");
        assert!(tells_of_others(&[0.0, 0.095]) && tells_of_others(&[0.9, 1.0]));
        assert!(!tells_of_others(&[0.0, 0.95]));
        assert_eq!(share_range([0.0002, 0.31]), "≤ 31 %");
    }

    #[test]
    fn figures_keep_about_four_digits() {
        for (x, text) in [
            (0.0, "0.00"),
            (0.0312, "0.031"),
            (1.0, "1.00"),
            (12.345, "12.35"),
            (345.678, "345.68"),
            (1234.56, "1234.6"),
            (123_456.7, "123457"),
        ] {
            assert_eq!(short(x), text);
        }
    }

    #[test]
    fn a_chosen_value_keeps_the_digits_that_it_has() {
        for (x, text) in [(0.0, "0"), (2.5, "2.5"), (100.0, "100"), (33.333_3, "33.333")] {
            assert_eq!(mark(x), text);
        }
    }

    #[test]
    fn a_share_above_zero_never_reads_as_zero() {
        assert_eq!(percent(0.0), "0 %");
        assert_eq!(percent(0.000_1), "< 0.1 %");
        assert_eq!(percent(0.012), "1.2 %");
        assert_eq!(percent(0.5), "50 %");
    }

    #[test]
    fn a_table_of_small_durations_is_in_microseconds() {
        let unit = TimeUnit::for_millis([0.003, 0.9].into_iter());
        assert_eq!((unit.name(), unit.show(0.0031)), ("µs", "3.10".to_owned()));
        assert_eq!(TimeUnit::for_millis([0.003, 33.0].into_iter()), TimeUnit::Millis);
    }
}
