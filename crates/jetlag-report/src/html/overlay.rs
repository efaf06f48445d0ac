//! The CDFs of compared runs over one another, tenant by tenant.

use super::Reported;
use super::charts::overlay::{Curve, Interval, chart};
use super::view::{Block, Chart, Key, words};
use crate::analysis::compare::{Comparison, FigureComparison, TenantComparison};
use crate::analysis::plot::Shape;
use crate::analysis::summary::TenantSummary;
use crate::sections::answer::unit_of;

/// The figures whose intervals are marked, by the share of frames that they are at.
const MARKED: [(&str, &str, f64); 2] = [("response.p50", "p50", 0.5), ("response.p99", "p99", 0.99)];

/// A chart for each tenant that is compared, with what is not marked on it.
pub(super) fn blocks(comparison: &Comparison, runs: &[Reported]) -> Vec<Block> {
    let Some(baseline) = runs.first() else {
        return Vec::new();
    };
    let tenants = baseline.summary.tenants.iter();
    tenants
        .flat_map(|tenant| of_tenant(tenant, comparison, runs))
        .collect()
}

/// The comparison of this tenant in one candidate, where there is one.
fn compared<'a>(comparison: &'a Comparison, number: usize, name: &str) -> Option<&'a TenantComparison> {
    let candidate = comparison.candidates.get(number.checked_sub(1)?)?;
    let mut tenants = candidate.tenants.iter();
    tenants.find(|tenant| tenant.name == name && tenant.not_compared.is_none())
}

fn of_tenant(tenant: &TenantSummary, comparison: &Comparison, runs: &[Reported]) -> Vec<Block> {
    let name = &tenant.name;
    let (mut curves, mut keys, mut withheld) = (Vec::new(), Vec::new(), Vec::new());
    for (number, run) in runs.iter().enumerate() {
        let against = compared(comparison, number, name);
        if number > 0 && against.is_none() {
            continue;
        }
        let Some(shape) = shape_of(run, name) else {
            continue;
        };
        let label = match number.checked_sub(1) {
            None => comparison.baseline.label.as_str(),
            Some(other) => match comparison.candidates.get(other) {
                Some(candidate) => &candidate.side.label,
                None => continue,
            },
        };
        let mut marks = Vec::new();
        for (figure, short, share) in MARKED {
            let found = against.and_then(|against| against.figures.iter().find(|one| one.figure == figure));
            match found.and_then(FigureComparison::interval_ms) {
                Some(ms) => marks.push(Interval { share, ms }),
                None => withheld.extend(found.map(|found| missing(found, label, short))),
            }
        }
        let colour = match number {
            0 => "other".to_owned(),
            number => (number % 8).to_string(),
        };
        keys.push(Key::new(colour, label));
        curves.push(Curve {
            label,
            number,
            shape,
            marks,
        });
    }
    if curves.len() < 2 {
        return Vec::new();
    }
    let unit = unit_of(tenant);
    let Some(drawn) = chart(name, &curves, tenant.deadline_ms, unit) else {
        return Vec::new();
    };
    if tenant.deadline_ms.is_some() {
        keys.push(Key::new("alarm", "deadline"));
    }
    let mut blocks = vec![Block::Charts(vec![Chart {
        title: format!("{name}: CDF, {}", unit.name()),
        keys,
        svg: drawn.svg,
    }])];
    if !withheld.is_empty() {
        let said = format!("No interval is marked for {}.", withheld.join("; "));
        blocks.push(Block::Text(words(&said)));
    }
    blocks
}

fn shape_of<'a>(run: &'a Reported, tenant: &str) -> Option<&'a Shape> {
    let summary = &run.summary;
    let place = summary.tenants.iter().position(|known| known.name == tenant)?;
    let spread = summary.plots.tenants.get(place)?.spread.as_ref()?;
    Some(&spread.together)
}

/// What has no interval, and why.
fn missing(figure: &FigureComparison, label: &str, short: &str) -> String {
    match &figure.reason {
        Some(reason) => format!("the {short} of {label} ({})", reason.trim_end_matches('.')),
        None => format!("the {short} of {label}"),
    }
}
