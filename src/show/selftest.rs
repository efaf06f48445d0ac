//! The report of `jetlag doctor --selftest`: what was tried on a machine, what came of it, and what was seen.
//!
//! The file is made to be sent: a person reads it, and a program takes it apart. A line a check, in four fields with two
//! spaces or more between them, and never two spaces within one: the outcome, GROUP/NAME, how long it took, and what was
//! seen. Before the checks come the machine's facts, a line each, and a blank line; after them a blank line and `end`.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

/// The first words of the file; the number grows when its form changes.
pub const MAGIC: &str = "jetlag selftest 1";
/// Columns of the outcome, of the check's name and of the time.
const COLUMNS: (usize, usize, usize) = (14, 52, 7);

/// What came of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It is as it should be.
    Pass,
    /// Something is not as it should be.
    Fail,
    /// It could not be tried here, or not in the time.
    NotApplicable,
}

impl Outcome {
    /// As the file has it.
    pub const fn words(self) -> &'static str {
        match self {
            Outcome::Pass => "pass",
            Outcome::Fail => "fail",
            Outcome::NotApplicable => "not applicable",
        }
    }
}

/// An outcome, and what was seen that makes it one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// What came of it.
    pub outcome: Outcome,
    /// What was seen that says so.
    pub seen: String,
}

impl Verdict {
    /// As it should be.
    pub fn pass(seen: impl Into<String>) -> Verdict {
        Verdict {
            outcome: Outcome::Pass,
            seen: seen.into(),
        }
    }

    /// Not as it should be.
    pub fn fail(seen: impl Into<String>) -> Verdict {
        Verdict {
            outcome: Outcome::Fail,
            seen: seen.into(),
        }
    }

    /// Not to be tried here.
    pub fn not_applicable(why: impl Into<String>) -> Verdict {
        Verdict {
            outcome: Outcome::NotApplicable,
            seen: why.into(),
        }
    }
}

/// One check of the self-test, as it ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    /// The group that it belongs to, as `tensorrt`.
    pub group: String,
    /// Unique in its group.
    pub name: String,
    /// What came of it.
    pub outcome: Outcome,
    /// What was seen that says so.
    pub seen: String,
    /// How long it took; zero where nothing was tried.
    pub took_s: f64,
}

/// A fact of the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fact {
    /// What the fact is of: `driver`, `board`, ….
    pub name: String,
    /// The fact, in words.
    pub value: String,
}

/// The whole self-test: what machine it was, and each check.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Selftest {
    /// Version of the machine form.
    pub schema: u32,
    /// What was tried on what.
    pub machine: Vec<Fact>,
    /// All checks, in the order in which they were made.
    pub checks: Vec<Check>,
    /// Whether it was ended before all was tried.
    pub interrupted: bool,
    /// From its start to its end.
    pub took_s: f64,
}

impl Selftest {
    /// How many checks came to this.
    pub fn count(&self, outcome: Outcome) -> usize {
        self.checks
            .iter()
            .filter(|check| check.outcome == outcome)
            .count()
    }

    /// The lines before the checks.
    pub fn head(&self) -> String {
        let mut text = format!("{MAGIC}: outcome, group/name, time, what was seen\n");
        for fact in &self.machine {
            // A fact is one line, whatever it was read from.
            let _ = writeln!(text, "{:<16}  {}", one_line(&fact.name), one_line(&fact.value));
        }
        text.push('\n');
        text
    }

    /// The lines after the checks.
    pub fn end(&self) -> String {
        let interrupted = match self.interrupted {
            true => "; interrupted",
            false => "",
        };
        format!(
            "\nend  {} checks in {:.0} s: {} pass, {} fail, {} not applicable{interrupted}\n",
            self.checks.len(),
            self.took_s,
            self.count(Outcome::Pass),
            self.count(Outcome::Fail),
            self.count(Outcome::NotApplicable),
        )
    }
}

/// The line of a check.
pub fn line(check: &Check) -> String {
    let (outcome, name, took) = COLUMNS;
    format!(
        "{:<outcome$}  {:<name$}  {:>took$}  {}\n",
        check.outcome.words(),
        one_line(&format!("{}/{}", check.group, check.name)),
        format!("{:.1} s", check.took_s),
        one_line(&check.seen),
    )
}

/// The text with single spaces alone, so that two tell fields apart.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(outcome: Outcome, seen: &str) -> Check {
        Check {
            group: "tensorrt".to_owned(),
            name: "depth=2 transfer=Copy graph=On".to_owned(),
            outcome,
            seen: seen.to_owned(),
            took_s: 2.34,
        }
    }

    #[test]
    fn a_line_has_four_fields_whatever_was_seen() {
        for outcome in [Outcome::Pass, Outcome::Fail, Outcome::NotApplicable] {
            let line = line(&check(outcome, "a  b\n\tc"));
            assert!(line.ends_with('\n') && line.lines().count() == 1, "{line}");
            let fields: Vec<&str> = line
                .split("  ")
                .map(str::trim)
                .filter(|field| !field.is_empty())
                .collect();
            assert_eq!(
                fields,
                [
                    outcome.words(),
                    "tensorrt/depth=2 transfer=Copy graph=On",
                    "2.3 s",
                    "a b c"
                ]
            );
        }
    }

    #[test]
    fn the_end_counts_each_outcome() {
        let report = Selftest {
            schema: 1,
            machine: vec![Fact {
                name: "CPU".to_owned(),
                value: "x\ny".to_owned(),
            }],
            checks: vec![
                check(Outcome::Pass, ""),
                check(Outcome::Fail, ""),
                check(Outcome::NotApplicable, ""),
                check(Outcome::NotApplicable, ""),
            ],
            interrupted: true,
            took_s: 61.4,
        };
        assert_eq!(
            report.end(),
            "\nend  4 checks in 61 s: 1 pass, 1 fail, 2 not applicable; interrupted\n"
        );
        assert!(report.head().starts_with(MAGIC), "{}", report.head());
        assert!(
            report.head().contains("CPU               x y\n"),
            "{}",
            report.head()
        );
    }
}
