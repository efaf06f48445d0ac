//! `--knee` and `--while` as typed, and what they mean.

use crate::analysis::{Expectation, parse_expectation};
use crate::commands::outcome::WrongUse;

/// Values that a search may look at.
const MOST_VALUES: f64 = 1e6;

/// The values along which a knee is looked for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Range {
    /// The path that is set.
    pub(super) path: String,
    /// From the lowest to the highest.
    pub(super) values: Vec<f64>,
    /// Between two of them.
    pub(super) step: f64,
}

impl Range {
    /// Reads `PATH in LOW..HIGH`.
    pub(super) fn parse(text: &str, step: Option<f64>) -> Result<Range, WrongUse> {
        let wrong = |why: String| {
            WrongUse(format!(
                "--knee '{text}': {why}; write it like 'tenants.camera.arrival.hz in 5..200'"
            ))
        };
        let (path, range) = text
            .split_once(" in ")
            .ok_or_else(|| wrong("there is no ` in `".to_owned()))?;
        let (low, high) = range
            .split_once("..")
            .ok_or_else(|| wrong("the range has no `..`".to_owned()))?;
        let number = |text: &str| match text.trim().trim_start_matches('=').parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(value),
            _ => Err(wrong(format!("`{}` is no number", text.trim()))),
        };
        let (low, high) = (number(low)?, number(high)?);
        if low >= high {
            return Err(wrong(format!("{low} is not below {high}")));
        }
        let step = step.unwrap_or_else(|| round_step((high - low) / 100.0));
        let is_usable =
            step.is_finite() && step > 0.0 && step <= high - low && (high - low) / step <= MOST_VALUES;
        if !is_usable {
            return Err(WrongUse(format!(
                "--step {step}: it must be above zero, at most {}, and leave at most {MOST_VALUES} values",
                high - low
            )));
        }
        Ok(Range {
            path: path.trim().to_owned(),
            values: values(low, high, step),
            step,
        })
    }
}

/// 1, 2 or 5 times a power of ten, not above the given step: values that a person would write.
fn round_step(step: f64) -> f64 {
    let power = 10_f64.powf(step.log10().floor());
    let nice = [5.0, 2.0, 1.0]
        .into_iter()
        .find(|nice| nice * power <= step * (1.0 + 1e-9));
    nice.unwrap_or(1.0) * power
}

fn values(low: f64, high: f64, step: f64) -> Vec<f64> {
    let steps = ((high - low) / step * (1.0 + 1e-12)).floor() as u64;
    let mut values: Vec<f64> = (0..=steps).map(|n| tidy(low + step * n as f64)).collect();
    if values.last().is_some_and(|last| high - last > step * 1e-6) {
        values.push(high);
    }
    values
}

/// Without the last bits of a sum: 0.3 and not 0.30000000000000004.
fn tidy(value: f64) -> f64 {
    format!("{value:.12e}").parse().unwrap_or(value)
}

/// Reads the promises; all that are wrong are told at once.
pub(super) fn parse(texts: &[String], tenants: &[&str]) -> Result<Vec<Expectation>, WrongUse> {
    let (mut all, mut problems) = (Vec::new(), Vec::new());
    for (place, text) in texts.iter().enumerate() {
        if texts.iter().take(place).any(|earlier| earlier == text) {
            problems.push(format!("--while {text}: it is given twice"));
            continue;
        }
        match parse_expectation(text, tenants) {
            Ok(promise) => all.push(promise),
            Err(error) => problems.push(format!("--while {error}")),
        }
    }
    match problems.is_empty() {
        true => Ok(all),
        false => Err(WrongUse(problems.join("\n       "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_values_that_a_person_would_write() {
        let range = Range::parse("tenants.camera.arrival.hz in 5..200", None).unwrap();
        assert_eq!((range.step, range.values.len()), (1.0, 196));
        let range = Range::parse("sim_contention in 0..1", None).unwrap();
        assert_eq!((range.values.len(), range.values[30]), (101, 0.3));
        let range = Range::parse("x in 0..10", Some(3.0)).unwrap();
        assert_eq!(range.values, [0.0, 3.0, 6.0, 9.0, 10.0]);
    }

    #[test]
    fn what_is_no_range_is_told() {
        for (text, step, said) in [
            ("x", None, "there is no ` in `"),
            ("x in 5", None, "no `..`"),
            ("x in 5..a", None, "`a` is no number"),
            ("x in 5..5", None, "5 is not below 5"),
            ("x in 1..nan", None, "no number"),
            ("x in 1..2", Some(0.0), "above zero"),
            ("x in 1..2", Some(1e-9), "at most 1000000 values"),
        ] {
            let error = Range::parse(text, step).unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
