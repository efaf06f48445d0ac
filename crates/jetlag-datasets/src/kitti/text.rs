//! KITTI's text files: named matrices, rows of numbers, times.

use std::path::{Path, PathBuf};

use jetlag_record::files;
use jetlag_record::units::Nanos;

use crate::error::DatasetError;
use crate::geometry::{IDENTITY, Matrix};

/// A text file that was read, with what to call it in errors.
pub(super) struct Text {
    path: PathBuf,
    content: String,
    /// What it should be: `a calibration file`.
    kind: &'static str,
}

impl Text {
    pub(super) fn read(path: PathBuf, kind: &'static str) -> Result<Self, DatasetError> {
        match files::read_text(&path, files::TEXT) {
            Ok(content) => Ok(Text { path, content, kind }),
            Err(error) => Err(DatasetError::Io { path, error }),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Lines without the empty ones at the end.
    pub(super) fn lines(&self) -> Vec<&str> {
        let mut lines: Vec<&str> = self.content.lines().map(str::trim).collect();
        while lines.last().is_some_and(|line| line.is_empty()) {
            lines.pop();
        }
        lines
    }

    /// An error about a line, counted from 0.
    pub(super) fn wrong(&self, line: usize, problem: String) -> DatasetError {
        DatasetError::Text {
            path: self.path.clone(),
            line: line + 1,
            problem,
        }
    }

    /// The numbers of the line `name: …`.
    pub(super) fn named<const N: usize>(&self, name: &str) -> Result<[f64; N], DatasetError> {
        self.optional(name)?.ok_or_else(|| DatasetError::Lacks {
            path: self.path.clone(),
            wanted: format!("line `{name}: …`"),
            kind: self.kind,
        })
    }

    /// As [`Text::named`], of a line that may be absent.
    pub(super) fn optional<const N: usize>(&self, name: &str) -> Result<Option<[f64; N]>, DatasetError> {
        let found = self.content.lines().enumerate().find_map(|(number, line)| {
            let (key, values) = line.split_once(':')?;
            (key.trim() == name).then_some((number, values))
        });
        let Some((number, values)) = found else {
            return Ok(None);
        };
        numbers(values).map(Some).ok_or_else(|| {
            let problem = format!("`{name}` must be {N} finite numbers; found `{}`", cut(values));
            self.wrong(number, problem)
        })
    }

    /// The numbers of a line, counted from 0.
    pub(super) fn row<const N: usize>(&self, number: usize, line: &str) -> Result<[f64; N], DatasetError> {
        numbers(line).ok_or_else(|| self.wrong(number, format!("must be {N} numbers; found `{}`", cut(line))))
    }

    /// The time of a line as raw drives have it: `2011-09-26 13:02:25.964389445`. KITTI does not say of which time zone;
    /// taken as UTC.
    pub(super) fn stamp(&self, number: usize, line: &str) -> Result<Nanos, DatasetError> {
        stamp(line).ok_or_else(|| {
            let problem = format!(
                "must be a time such as 2011-09-26 13:02:25.964389445; found `{}`",
                cut(line)
            );
            self.wrong(number, problem)
        })
    }
}

/// 3×4 numbers in rows, as a 4×4 matrix.
pub(super) fn affine(v: [f64; 12]) -> Matrix {
    let mut matrix = IDENTITY;
    for (at, value) in v.into_iter().enumerate() {
        matrix[at / 4][at % 4] = value;
    }
    matrix
}

/// A turn of 3×3 numbers and a shift, as a 4×4 matrix.
pub(super) fn rigid(turn: [f64; 9], shift: [f64; 3]) -> Matrix {
    let mut matrix = IDENTITY;
    for (at, value) in turn.into_iter().enumerate() {
        matrix[at / 3][at % 3] = value;
    }
    for (row, value) in matrix.iter_mut().zip(shift) {
        row[3] = value;
    }
    matrix
}

/// Exactly so many finite numbers, of which none is absurd.
fn numbers<const N: usize>(text: &str) -> Option<[f64; N]> {
    let mut values = [0.0; N];
    let mut words = text.split_whitespace();
    for value in &mut values {
        // Products of a few such are still finite.
        *value = words.next()?.parse().ok().filter(|v: &f64| v.abs() < 1e30)?;
    }
    words.next().is_none().then_some(values)
}

fn cut(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(60) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

fn stamp(text: &str) -> Option<Nanos> {
    let (date, time) = text.trim().split_once(' ')?;
    let [year, month, day] = parts(date, '-')?;
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let [hour, minute, second] = parts(time, ':')?;
    let sound = (1970..2200).contains(&year)
        && (1..=12).contains(&month)
        && (1..=days_in(year, month)).contains(&day)
        && hour < 24
        && minute < 60
        && second < 61
        && fraction.len() <= 9;
    let nanos = digits(fraction)? * 10_i64.pow(9_u32.saturating_sub(fraction.len() as u32));
    sound.then(|| {
        let seconds = ((days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second;
        Nanos(seconds * 1_000_000_000 + nanos)
    })
}

fn parts(text: &str, between: char) -> Option<[i64; 3]> {
    let mut words = text.split(between);
    let parts = [
        digits(words.next()?)?,
        digits(words.next()?)?,
        digits(words.next()?)?,
    ];
    words.next().is_none().then_some(parts)
}

/// A number of one to nine digits, and nothing else.
fn digits(text: &str) -> Option<i64> {
    let sound = (1..=9).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    sound.then(|| text.parse().ok()).flatten()
}

/// Days since 1970. March begins the year, so that the leap day ends it.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let month = (month + 9) % 12;
    365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1 - 719_468
}

fn days_in(year: i64, month: i64) -> i64 {
    let (next_year, next) = if month == 12 {
        (year + 1, 1)
    } else {
        (year, month + 1)
    };
    days(next_year, next, 1) - days(year, month, 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_keep_their_nanoseconds() {
        for (text, ns) in [
            ("1970-01-01 00:00:00.000000001", 1),
            ("2011-09-26 13:02:25.964389445", 1_317_042_145_964_389_445),
            ("2012-02-29 23:59:59.5", 1_330_559_999_500_000_000),
            ("2012-02-29 23:59:59", 1_330_559_999_000_000_000),
        ] {
            assert_eq!(stamp(text), Some(Nanos(ns)), "{text}");
        }
        for text in [
            "",
            "2011-09-26",
            "2011-02-29 00:00:00.0",
            "2011-13-01 00:00:00.0",
            "2011-09-26 25:00:00.0",
            "2011-09-26 13:02:25.9643894450",
            "2011-09-26 13:02:25.",
            "2011-09-26 13:02:+5.0",
            "99999999999-09-26 13:02:25.0",
        ] {
            assert_eq!(stamp(text), None, "{text}");
        }
    }

    #[test]
    fn exactly_so_many_numbers() {
        assert_eq!(numbers::<2>(" 1 2e-1 "), Some([1.0, 0.2]));
        for text in ["1", "1 2 3", "1 x", "1 inf", "nan 1", "1 1e300"] {
            assert_eq!(numbers::<2>(text), None, "{text}");
        }
    }
}
