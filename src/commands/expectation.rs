//! Expectations, as far as they can be judged before a run.

use crate::analysis;

/// What is wrong with an expectation; the scenario's own message already quotes it.
pub(super) fn check(text: &str, tenants: &[&str]) -> Result<(), String> {
    let Err(error) = analysis::parse_expectation(text, tenants) else {
        return Ok(());
    };
    let said = error.to_string();
    Err(said
        .strip_prefix(&format!("`{text}`: "))
        .unwrap_or(&said)
        .to_owned())
}
