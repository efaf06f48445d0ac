//! Quantities with their unit in the type: stamps, durations, bytes, rates.
//!
//! Raw stamps ([`Stamp`]) and durations ([`Nanos`]) are different types, so that a stamp is never
//! averaged and a duration never compared with a clock. Both are whole nanoseconds: a bare `f64` of
//! seconds appears in no API. How quantities are written in scenarios ("33ms", "10s") is parsed here;
//! which field may hold which is the scenario's affair.

use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub};

use serde::{Deserialize, Serialize};

/// A duration in whole nanoseconds; negative where a difference of stamps may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Nanos(pub i64);

/// A point in time: nanoseconds of CLOCK_MONOTONIC, or of the virtual clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Stamp(pub i64);

impl Nanos {
    /// No time at all.
    pub const ZERO: Nanos = Nanos(0);
    /// The longest duration that can be held (292 years).
    pub const MAX: Nanos = Nanos(i64::MAX);

    /// A duration of whole microseconds.
    pub const fn from_micros(us: i64) -> Self {
        Nanos(us * 1_000)
    }
    /// A duration of whole milliseconds.
    pub const fn from_millis(ms: i64) -> Self {
        Nanos(ms * 1_000_000)
    }
    /// A duration of whole seconds.
    pub const fn from_secs(s: i64) -> Self {
        Nanos(s * 1_000_000_000)
    }
    /// The period of a rate in hertz, rounded to the nearest nanosecond. `hz` must be above zero.
    pub fn period_of_hz(hz: f64) -> Self {
        Nanos((1e9 / hz).round() as i64)
    }
    /// In milliseconds, for the surface (tables, JSON).
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }
    /// In microseconds, for the surface.
    pub fn as_micros_f64(self) -> f64 {
        self.0 as f64 / 1e3
    }
    /// In seconds, for the surface.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
    /// As the standard library's duration; a negative one becomes zero.
    pub fn to_std(self) -> std::time::Duration {
        std::time::Duration::from_nanos(self.0.max(0) as u64)
    }
}

impl Stamp {
    /// Time since `earlier`, negative if it is later.
    pub fn since(self, earlier: Stamp) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add for Nanos {
    type Output = Nanos;
    fn add(self, rhs: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(rhs.0))
    }
}
impl AddAssign for Nanos {
    fn add_assign(&mut self, rhs: Nanos) {
        *self = *self + rhs;
    }
}
impl Sub for Nanos {
    type Output = Nanos;
    fn sub(self, rhs: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(rhs.0))
    }
}
impl Mul<i64> for Nanos {
    type Output = Nanos;
    fn mul(self, rhs: i64) -> Nanos {
        Nanos(self.0.saturating_mul(rhs))
    }
}
impl Add<Nanos> for Stamp {
    type Output = Stamp;
    fn add(self, rhs: Nanos) -> Stamp {
        Stamp(self.0.saturating_add(rhs.0))
    }
}
impl Sub<Nanos> for Stamp {
    type Output = Stamp;
    fn sub(self, rhs: Nanos) -> Stamp {
        Stamp(self.0.saturating_sub(rhs.0))
    }
}
impl Sub for Stamp {
    type Output = Nanos;
    fn sub(self, rhs: Stamp) -> Nanos {
        self.since(rhs)
    }
}

impl fmt::Display for Nanos {
    /// The largest unit that keeps a whole part: `1.50 s`, `33.0 ms`, `12.3 µs`, `40 ns`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0;
        match ns.unsigned_abs() {
            0..=999 => write!(f, "{ns} ns"),
            1_000..=999_999 => write!(f, "{:.1} µs", ns as f64 / 1e3),
            1_000_000..=999_999_999 => write!(f, "{:.2} ms", ns as f64 / 1e6),
            _ => write!(f, "{:.2} s", ns as f64 / 1e9),
        }
    }
}

/// Why a written quantity could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// No number before the unit.
    #[error("`{text}` is not a duration: write a number and a unit, such as \"10s\", \"33ms\", \"250us\"")]
    NotADuration {
        /// The text, as it was written.
        text: String,
    },
    /// A number without its unit.
    #[error("`{text}` has no unit: write \"{text}ms\" or \"{text}s\"")]
    MissingUnit {
        /// The text, as it was written.
        text: String,
    },
    /// Days, which are not among the units.
    #[error("`{unit}` is not supported; write days in hours, such as \"24h\"")]
    Days {
        /// The unit that was written.
        unit: String,
    },
    /// A unit that is not one of time.
    #[error("`{unit}` is not a unit of time; the units are ns, us, ms, s, min, h")]
    UnknownUnit {
        /// The unit that was written.
        unit: String,
    },
    /// A negative, infinite or too long duration.
    #[error("`{text}` is out of range: a duration is from 0 to 292 years")]
    OutOfRange {
        /// The text, as it was written.
        text: String,
    },
}

/// Reads a duration as written in scenarios and expectations: `10s`, `33ms`, `1.5 min`, `250us`, `1e3 ms`.
pub fn parse_duration(text: &str) -> Result<Nanos, QuantityError> {
    let trimmed = text.trim();
    let (number, unit) = trimmed.split_at(end_of_number(trimmed));
    let value: f64 = number
        .replace('_', "")
        .parse()
        .map_err(|_| QuantityError::NotADuration {
            text: text.to_owned(),
        })?;
    let scale = match unit.trim() {
        "" => {
            return Err(QuantityError::MissingUnit {
                text: trimmed.to_owned(),
            });
        }
        "ns" => 1.0,
        "us" | "µs" | "μs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "min" => 60e9,
        "h" => 3600e9,
        unit @ ("d" | "day" | "days") => {
            return Err(QuantityError::Days {
                unit: unit.to_owned(),
            });
        }
        other => {
            return Err(QuantityError::UnknownUnit {
                unit: other.to_owned(),
            });
        }
    };
    let ns = value * scale;
    if !(0.0..9.2e18).contains(&ns) {
        return Err(QuantityError::OutOfRange {
            text: trimmed.to_owned(),
        });
    }
    Ok(Nanos(ns.round() as i64))
}

/// How many bytes of the text belong to its number; an `e` does where an exponent follows.
fn end_of_number(text: &str) -> usize {
    let within = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | '_');
    let mantissa = text.find(|c| !within(c)).unwrap_or(text.len());
    let Some(exponent) = text[mantissa..].strip_prefix(['e', 'E']) else {
        return mantissa;
    };
    let unsigned = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
    let digits = unsigned
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(unsigned.len());
    match digits {
        0 => mantissa,
        _ => text.len() - unsigned.len() + digits,
    }
}

/// A number of bytes; shown in binary multiples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let b = self.0 as f64;
        match self.0 {
            0..=1023 => write!(f, "{} B", self.0),
            1024..=1_048_575 => write!(f, "{:.1} KiB", b / 1024.0),
            1_048_576..=1_073_741_823 => write!(f, "{:.1} MiB", b / 1_048_576.0),
            _ => write!(f, "{:.1} GiB", b / 1_073_741_824.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_with_their_units() {
        for (text, ns) in [
            ("10s", 10_000_000_000),
            ("33ms", 33_000_000),
            ("33 ms", 33_000_000),
            ("1.5min", 90_000_000_000),
            ("250us", 250_000),
            ("7ns", 7),
            ("0s", 0),
            ("2h", 7_200_000_000_000),
            ("1e3ms", 1_000_000_000),
            ("2.5E-3 s", 2_500_000),
            ("1e+1us", 10_000),
        ] {
            assert_eq!(parse_duration(text), Ok(Nanos(ns)), "{text}");
        }
    }

    #[test]
    fn a_duration_without_unit_or_number_says_what_to_write() {
        assert_eq!(
            parse_duration("33").unwrap_err().to_string(),
            "`33` has no unit: write \"33ms\" or \"33s\""
        );
        assert!(
            parse_duration("ms")
                .unwrap_err()
                .to_string()
                .contains("write a number and a unit")
        );
        assert!(
            parse_duration("3 lightyears")
                .unwrap_err()
                .to_string()
                .contains("not a unit of time")
        );
        assert!(
            parse_duration("-3s")
                .unwrap_err()
                .to_string()
                .contains("out of range")
        );
        for (text, phrase) in [
            ("", "not a duration"),
            ("e3s", "not a duration"),
            ("1e30s", "out of range"),
            ("1e999s", "out of range"),
            ("1e3", "has no unit"),
            ("3e", "`e` is not a unit"),
            ("2d", "such as \"24h\""),
        ] {
            let error = parse_duration(text).unwrap_err().to_string();
            assert!(error.contains(phrase), "{text}: {error}");
        }
    }

    #[test]
    fn durations_show_in_the_unit_that_reads_best() {
        assert_eq!(Nanos(40).to_string(), "40 ns");
        assert_eq!(Nanos(12_340).to_string(), "12.3 µs");
        assert_eq!(Nanos(33_000_000).to_string(), "33.00 ms");
        assert_eq!(Nanos(1_500_000_000).to_string(), "1.50 s");
    }
}
