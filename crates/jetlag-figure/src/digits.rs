//! How many digits a figure is shown with: few, but never so few that the two ends of its interval read the same.
//!
//! Whatever prints an interval takes its digits from here, and shows the estimate with the same.

/// More decimals than this say nothing that a sensor or a clock resolves.
const MOST: usize = 9;

/// The decimals with which a figure, and the ends of its interval, are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digits(usize);

impl Digits {
    /// Of a figure: two decimals, fewer on large figures, three on small ones.
    pub fn of(x: f64) -> Self {
        Digits(match x.abs() {
            size if size >= 9_999.5 => 0,
            size if size >= 999.95 => 1,
            size if size >= 0.995 || x == 0.0 => 2,
            _ => 3,
        })
    }

    /// Of a change in percent: two significant digits where it is not large.
    pub fn of_percent(x: f64) -> Self {
        Digits(match x.abs() {
            size if size >= 9.95 => 0,
            size if size >= 0.095 || x == 0.0 => 1,
            _ => 2,
        })
    }

    /// As many as its larger end would have, or more, so that its ends differ.
    pub fn of_interval([low, high]: [f64; 2], usual: fn(f64) -> Digits) -> Self {
        let larger = if low.abs() > high.abs() { low } else { high };
        usual(larger).apart(low, high)
    }

    /// At least as many as these, with which two numbers differ.
    pub fn apart(self, low: f64, high: f64) -> Self {
        let mut digits = self;
        while low != high && digits.0 < MOST && digits.show(low) == digits.show(high) {
            digits.0 += 1;
        }
        digits
    }

    /// So many significant digits of a number, and no more than a usual figure of three has.
    fn significant(count: i32, x: f64) -> Self {
        let size = x.abs().log10();
        let decimals = if size.is_finite() {
            count - 1 - size.floor() as i32
        } else {
            0
        };
        Digits(decimals.clamp(0, MOST as i32) as usize)
    }

    /// The number.
    pub fn show(self, x: f64) -> String {
        format!("{x:.*}", self.0)
    }

    /// With its sign, as it is printed: what reads as zero has a plus.
    pub fn signed(self, x: f64) -> String {
        let size = self.show(x.abs());
        let is_zero = size.chars().all(|c| matches!(c, '0' | '.'));
        format!("{}{size}", if x < 0.0 && !is_zero { "−" } else { "+" })
    }
}

/// The digits of a figure beside its interval: those of the interval, where there is one.
pub fn beside(x: f64, interval: Option<[f64; 2]>, usual: fn(f64) -> Digits) -> Digits {
    match interval {
        Some(interval) => Digits::of_interval(interval, usual),
        None => usual(x),
    }
}

/// Both ends: `12.3–12.4`.
pub fn range(interval: [f64; 2]) -> String {
    let digits = Digits::of_interval(interval, Digits::of);
    interval.map(|end| digits.show(end)).join("–")
}

/// A figure with no digit that its interval does not have: two of half its width. Three digits in all where it has no interval,
/// since then nobody knows how many it has.
pub fn within(x: f64, interval: Option<[f64; 2]>) -> Digits {
    let half = interval.map(|[low, high]| (high - low) / 2.0);
    match half {
        Some(half) if half > 0.0 => {
            let fewest = Digits::of(x).apart(0.0, half);
            Digits(fewest.0.min(Digits::significant(2, half).0))
        }
        Some(_) => Digits::of(x),
        None => Digits::significant(3, x),
    }
}

/// A figure and half the width of its interval: `12.30 ± 0.15`, `727 ± 18`. A width that is not zero is never shown as zero.
pub fn plus_minus(x: f64, interval: [f64; 2]) -> String {
    let half = (interval[1] - interval[0]) / 2.0;
    let digits = within(x, Some(interval));
    format!("{} ± {}", digits.show(x), digits.show(half))
}

/// Both ends of a relative change in percent, with their signs and without the unit: `+11.8 to +12.3`.
pub fn percent_range(interval: [f64; 2]) -> String {
    let percent = interval.map(|end| end * 100.0);
    let digits = Digits::of_interval(percent, Digits::of_percent);
    percent.map(|end| digits.signed(end)).join(" to ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ends_of_an_interval_never_read_the_same() {
        for (interval, text) in [
            ([12.3, 45.6], "12.30–45.60"),
            ([12.301, 12.304], "12.301–12.304"),
            ([0.000_12, 0.000_13], "0.00012–0.00013"),
            ([999.9, 1000.2], "999.9–1000.2"),
            ([20_000.1, 20_000.4], "20000.1–20000.4"),
            ([5.0, 5.0], "5.00–5.00"),
        ] {
            assert_eq!(range(interval), text);
        }
    }

    #[test]
    fn a_figure_has_no_digit_that_its_interval_does_not_have() {
        for (x, interval, text) in [
            (726.79, Some([640.0, 813.0]), "727"),
            (726.79, Some([723.6, 730.0]), "726.8"),
            (726.79, Some([726.7, 726.9]), "726.79"),
            (0.012_34, Some([0.011, 0.013]), "0.012"),
            (726.79, None, "727"),
            (8.2349, None, "8.23"),
            (0.012_345, None, "0.0123"),
            (123_456.0, None, "123456"),
            (0.0, None, "0"),
        ] {
            assert_eq!(within(x, interval).show(x), text, "{interval:?}");
        }
    }

    #[test]
    fn half_a_width_is_zero_only_where_it_is() {
        for (x, interval, text) in [
            (700.0, [698.6, 701.4], "700.0 ± 1.4"),
            (700.0, [699.999, 700.001], "700.000 ± 0.001"),
            (20_000.0, [19_999.8, 20_000.2], "20000.0 ± 0.2"),
            (5.0, [5.0, 5.0], "5.00 ± 0.00"),
        ] {
            assert_eq!(plus_minus(x, interval), text);
        }
    }

    #[test]
    fn changes_have_the_digits_that_tell_their_ends_apart() {
        for (interval, text) in [
            ([0.118, 0.123], "+11.8 to +12.3"),
            ([0.12, 0.25], "+12 to +25"),
            ([-0.12, 0.25], "−12 to +25"),
            ([-0.000_4, 0.000_4], "−0.04 to +0.04"),
            ([-0.000_01, 0.2], "+0 to +20"),
        ] {
            assert_eq!(percent_range(interval), text);
        }
    }

    #[test]
    fn an_estimate_has_the_digits_of_its_interval() {
        let shown = |x, interval| beside(x, interval, Digits::of_percent).show(x);
        assert_eq!(shown(12.05, Some([11.8, 12.3])), "12.1");
        assert_eq!(shown(12.05, Some([9.0, 31.0])), "12");
        assert_eq!(shown(12.05, None), "12");
    }

    proptest! {
        #[test]
        fn whatever_the_interval_is_its_ends_differ_as_printed(low in -1e6f64..1e6, width in 1e-6f64..1e5) {
            let interval = [low, low + width];
            let digits = Digits::of_interval(interval, Digits::of);
            prop_assert_ne!(digits.show(interval[0]), digits.show(interval[1]));
            let digits = Digits::of_interval(interval, Digits::of_percent);
            prop_assert_ne!(digits.signed(interval[0]), digits.signed(interval[1]));
        }
    }
}
