//! Parses a line of `expect`: what it is of, the comparison and the limit, or what is wrong with it.

use super::super::amounts::{self, Unreadable};
use super::super::machine::{self, Unnamed};
use super::super::metric::Metric;
use super::super::summary::Unit;
use super::{Comparison, Expectation, ExpectationError, Of};
use crate::nearest::nearest;

/// Parses a line; tenants are known by name.
pub fn parse(text: &str, tenants: &[&str]) -> Result<Expectation, ExpectationError> {
    let (path, comparison, limit) = split(text).ok_or_else(|| ExpectationError::NoComparison {
        text: text.to_owned(),
    })?;
    let of = subject(text, path, tenants)?;
    let limit = parse_limit(text, limit, of.unit())?;
    if let Some((always, bound)) = says_nothing(&of, comparison, limit) {
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
        of,
    })
}

/// What the words before the comparison name. A tenant may be called `power` or `clock`: its own metrics come first.
fn subject(text: &str, path: &str, tenants: &[&str]) -> Result<Of, ExpectationError> {
    let split = split_tenant(text, path, tenants);
    if let Ok((tenant, metric)) = &split
        && let Some(metric) = Metric::named(metric)
    {
        return Ok(Of::Tenant((*tenant).to_owned(), metric));
    }
    match machine::named(path, tenants) {
        Some(Ok(metric)) => return Ok(Of::Machine(metric)),
        Some(Err(Unnamed::Figure { written, nearest })) if split.is_err() => {
            return Err(ExpectationError::UnknownFigure {
                text: text.to_owned(),
                figure: written,
                nearest,
            });
        }
        Some(Err(Unnamed::Incomplete(examples))) if split.is_err() => {
            return Err(ExpectationError::Incomplete {
                text: text.to_owned(),
                path: path.to_owned(),
                examples,
            });
        }
        Some(Err(Unnamed::Tenant(tenant))) if split.is_err() => {
            return Err(unknown_tenant(text, &tenant, tenants));
        }
        _ => {}
    }
    let (tenant, metric) = split?;
    // Of a tenant, and measured for the machine.
    let energy = metric
        .split('.')
        .next()
        .filter(|first| *first == "energy")
        .map(|_| format!("energy.{tenant}.per_frame"));
    let names: Vec<String> = Metric::all().map(|(name, _)| name).collect();
    Err(ExpectationError::UnknownMetric {
        text: text.to_owned(),
        metric: metric.to_owned(),
        nearest: energy
            .or_else(|| meant(metric))
            .or_else(|| nearest(metric, names.iter().map(String::as_str)).map(str::to_owned)),
    })
}

/// What other tools call metrics, and what they are called here.
const SYNONYMS: [(&str, &str); 6] = [
    ("latency", "response"),
    ("fps", "throughput"),
    ("frame_rate", "throughput"),
    ("drops", "dropped"),
    ("misses", "missed"),
    ("failures", "failed"),
];

/// The metric that was meant by a name that other tools have, or that lacks its statistic or its series.
fn meant(metric: &str) -> Option<String> {
    let metric = &metric.replace("p99.9", "p99_9").replace("p999", "p99_9");
    let (first, rest) = metric.split_once('.').unwrap_or((metric, ""));
    let synonym = SYNONYMS.iter().find(|(name, _)| *name == first);
    let first = synonym.map_or(first, |(_, ours)| ours);
    let known = |name: &String| Metric::named(name).is_some();
    let whole = match rest {
        "" => first.to_owned(),
        rest => format!("{first}.{rest}"),
    };
    let all = [
        format!("{metric}.p99"),
        format!("{first}.p99"),
        format!("response.{metric}"),
    ];
    [whole].into_iter().chain(all).find(known)
}

/// Whether a line holds whatever a run is like, or never does; and where the figure's values end.
fn says_nothing(of: &Of, comparison: Comparison, limit: f64) -> Option<(bool, &'static str)> {
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
        .filter(|_| of.is_from_zero())
        .map(|always| (always, "below 0"));
    below.or_else(|| {
        above
            .filter(|_| of.is_share())
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

/// The longest tenant name that the path starts with, since a name may hold dots itself; and the rest.
fn split_tenant<'a>(
    text: &str,
    path: &'a str,
    tenants: &[&'a str],
) -> Result<(&'a str, &'a str), ExpectationError> {
    let known = tenants
        .iter()
        .filter_map(|tenant| Some((*tenant, path.strip_prefix(tenant)?.strip_prefix('.')?)))
        .max_by_key(|(tenant, _)| tenant.len());
    if let Some(found) = known {
        return Ok(found);
    }
    let list = tenants.join(", ");
    if tenants.contains(&path) {
        return Err(ExpectationError::Incomplete {
            text: text.to_owned(),
            path: path.to_owned(),
            examples: format!("`{path}.response.p99`, or another metric of it"),
        });
    }
    if let (Some(metric), Some(first)) = (meant(path), tenants.first()) {
        return Err(ExpectationError::NoTenant {
            text: text.to_owned(),
            example: text.replacen(path, &format!("{first}.{metric}"), 1),
            tenants: list,
        });
    }
    Err(unknown_tenant(
        text,
        path.split('.').next().unwrap_or(path),
        tenants,
    ))
}

fn unknown_tenant(text: &str, tenant: &str, tenants: &[&str]) -> ExpectationError {
    let known = tenants.iter().copied().chain(machine::FAMILIES);
    ExpectationError::UnknownTenant {
        text: text.to_owned(),
        tenant: tenant.to_owned(),
        nearest: nearest(tenant, known).map(str::to_owned),
        tenants: tenants.join(", "),
    }
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
