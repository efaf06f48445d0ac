//! Parses a line of `expect`: what it is of, the comparison and the limit, or what is wrong with it.

use crate::analysis::figures::{Key, KeyError};
use jetlag_figure::Unit;

use super::{Comparison, Expectation, ExpectationError};
use crate::analysis::amounts::{self, Unreadable};

/// Parses a line; tenants are known by name.
pub fn parse(text: &str, tenants: &[&str]) -> Result<Expectation, ExpectationError> {
    let (path, comparison, limit) = split(text).ok_or_else(|| ExpectationError::NoComparison {
        text: text.to_owned(),
    })?;
    let key = Key::parse(path, tenants).map_err(|problem| unnamed(text, path, problem))?;
    let limit = parse_limit(text, limit, key.unit())?;
    if let Some((always, bound)) = says_nothing(&key, comparison, limit) {
        return Err(ExpectationError::SaysNothing {
            text: text.to_owned(),
            always,
            bound,
        });
    }
    Ok(Expectation {
        text: text.to_owned(),
        comparison,
        limit,
        key,
    })
}

/// A name that is none, in its line: one without a tenant is shown with the rest of the line.
fn unnamed(text: &str, path: &str, problem: KeyError) -> ExpectationError {
    let problem = match problem {
        KeyError::NoTenant { example, tenants } => KeyError::NoTenant {
            example: text.replacen(path, &example, 1),
            tenants,
        },
        problem => problem,
    };
    ExpectationError::Name {
        text: text.to_owned(),
        problem,
    }
}

/// Whether a line holds whatever a run is like, or never does; and where the figure's values end.
fn says_nothing(key: &Key, comparison: Comparison, limit: f64) -> Option<(bool, &'static str)> {
    use Comparison::{AtLeast, AtMost, Different, Equal, Greater, Less};
    let below = match comparison {
        Greater if limit < 0.0 => Some(true),
        AtLeast if limit <= 0.0 => Some(true),
        Less if limit <= 0.0 => Some(false),
        AtMost | Equal if limit < 0.0 => Some(false),
        Greater | AtLeast | Less | AtMost | Equal | Different => None,
    };
    let above = match comparison {
        Less if limit > 1.0 => Some(true),
        AtMost if limit >= 1.0 => Some(true),
        Greater if limit >= 1.0 => Some(false),
        AtLeast | Equal if limit > 1.0 => Some(false),
        Greater | AtLeast | Less | AtMost | Equal | Different => None,
    };
    let below = below
        .filter(|_| key.is_from_zero())
        .map(|always| (always, "below 0"));
    below.or_else(|| {
        above
            .filter(|_| key.unit() == Unit::Ratio)
            .map(|always| (always, "above 100 %"))
    })
}

/// Longer operators first, so that `<=` is not read as `<`.
const COMPARISONS: [(&str, Comparison); 5] = [
    ("<=", Comparison::AtMost),
    (">=", Comparison::AtLeast),
    ("==", Comparison::Equal),
    ("<", Comparison::Less),
    (">", Comparison::Greater),
];

fn split(text: &str) -> Option<(&str, Comparison, &str)> {
    let at = text.find(['<', '>', '='])?;
    let (path, rest) = text.split_at(at);
    let (operator, comparison) = COMPARISONS
        .iter()
        .find(|(operator, _)| rest.starts_with(operator))?;
    let limit = rest.strip_prefix(operator)?.trim();
    (!path.trim().is_empty() && !limit.is_empty()).then(|| (path.trim(), *comparison, limit))
}

fn parse_limit(text: &str, limit: &str, unit: Unit) -> Result<f64, ExpectationError> {
    amounts::read(limit, unit).map_err(|problem| match problem {
        Unreadable::Duration(problem) => ExpectationError::BadDuration {
            text: text.to_owned(),
            problem,
        },
        Unreadable::Not(wanted) => ExpectationError::BadLimit {
            text: text.to_owned(),
            limit: limit.to_owned(),
            wanted,
        },
    })
}
