//! Judges the expectations of a run by the figures of their tenants.

use super::expectation::{Expectation, ExpectationError, parse};
use super::summary::ExpectationResult;
use super::tenant::Measured;

/// An expectation that could not be decided, and its parsed form if it could be parsed.
pub(super) struct Undecided {
    pub(super) text: String,
    pub(super) expectation: Result<Expectation, ExpectationError>,
}

/// Each line's result, in order, and those that could not be decided.
pub(super) fn judge(lines: &[String], tenants: &[Measured<'_>]) -> (Vec<ExpectationResult>, Vec<Undecided>) {
    let summaries = || tenants.iter().map(|tenant| &tenant.summary);
    let names: Vec<&str> = summaries().map(|tenant| tenant.name.as_str()).collect();
    let mut results = Vec::with_capacity(lines.len());
    let mut undecided = Vec::new();
    for text in lines {
        let expectation = parse(text, &names);
        let tenant = expectation
            .as_ref()
            .ok()
            .and_then(|expectation| summaries().find(|tenant| tenant.name == expectation.tenant()));
        let result = match (&expectation, tenant) {
            (Ok(expectation), Some(tenant)) => expectation.evaluate(tenant),
            _ => ExpectationResult {
                text: text.clone(),
                holds: false,
                value: None,
                unit: None,
                ci95: None,
                certain: None,
            },
        };
        if result.value.is_none() {
            undecided.push(Undecided {
                text: text.clone(),
                expectation,
            });
        }
        results.push(result);
    }
    (results, undecided)
}
