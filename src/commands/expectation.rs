//! Expectations, as far as they can be judged before a run.

use std::error::Error;
use std::fmt;

use crate::analysis::{self, ExpectationError};

/// What is wrong with an expectation, where the scenario's own message already quotes it.
#[derive(Debug)]
struct Unquoted {
    error: ExpectationError,
    quotation: String,
}

impl fmt::Display for Unquoted {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said = self.error.to_string();
        out.write_str(said.strip_prefix(&self.quotation).unwrap_or(&said))
    }
}

impl Error for Unquoted {}

/// Judges one of a scenario with these tenants.
pub(super) fn check(text: &str, tenants: &[&str]) -> Result<(), Box<dyn Error>> {
    match analysis::parse_expectation(text, tenants) {
        Ok(_) => Ok(()),
        Err(error) => Err(Unquoted {
            error,
            quotation: format!("`{text}`: "),
        }
        .into()),
    }
}
