//! Judges the expectations of a run by its figures.

use crate::analysis::expectation::{Expectation, ExpectationError, parse};
use crate::analysis::figures::{Absent, Run};
use crate::analysis::summary::ExpectationResult;

/// An expectation that could not be decided, and its parsed form if it could be parsed.
pub(in crate::analysis) struct Undecided {
    pub(in crate::analysis) text: String,
    pub(in crate::analysis) expectation: Result<Expectation, ExpectationError>,
    /// What the machine lacks, where it is about the machine.
    pub(in crate::analysis) absent: Option<Absent>,
}

/// Each line's result, in order, and those that could not be decided.
pub(in crate::analysis) fn judge(
    lines: &[String],
    run: &Run<'_>,
) -> (Vec<ExpectationResult>, Vec<Undecided>) {
    let names: Vec<&str> = run.tenants.iter().map(|tenant| tenant.name.as_str()).collect();
    let mut results = Vec::with_capacity(lines.len());
    let mut undecided = Vec::new();
    for text in lines {
        let expectation = parse(text, &names);
        let (result, absent) = match &expectation {
            Ok(expectation) => expectation.evaluate(run),
            Err(_) => (unread(text), None),
        };
        if result.value.is_none() {
            undecided.push(Undecided {
                text: text.clone(),
                expectation,
                absent,
            });
        }
        results.push(result);
    }
    (results, undecided)
}

/// The result of a line that could not be read.
fn unread(text: &str) -> ExpectationResult {
    ExpectationResult {
        text: text.to_owned(),
        holds: false,
        value: None,
        unit: None,
        ci95: None,
        certain: None,
    }
}
