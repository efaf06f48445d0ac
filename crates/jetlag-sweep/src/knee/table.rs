//! The knee along an axis of a finished table, for each combination of the other axes.

use std::collections::BTreeMap;

use super::{Knee, Promise, Told, Verdict, answer, broken_by_less, verdict};
use crate::error::MetricError;
use crate::figures::Estimate;
use crate::plan::Setting;
use crate::table::{Row, State, Table};

/// The knee of one combination of the other axes.
#[derive(Clone, Debug, PartialEq)]
pub struct KneeOfTable {
    /// What the other axes are set to.
    pub others: Vec<Setting>,
    /// The lowest and the highest value that was run.
    pub range: [f64; 2],
    /// Where the knee is.
    pub knee: Knee,
}

/// The figure of a promise in a run, or what breaks it there.
fn judged_by(row: &Row, (name, promise): &(String, Promise<'_>)) -> Estimate {
    let own = row.figure(name);
    match own.value {
        Some(_) => own,
        None => broken_by_less(name, promise, |other| row.figure(other)).unwrap_or(own),
    }
}

/// Finds the knees along an axis. Each promise is a figure's name and whether a value keeps it.
///
/// # Errors
/// There is no such axis or figure, a value of the axis is no number, or no run has the figure.
pub fn of_table(
    table: &Table,
    axis: &str,
    promises: &[(String, Promise<'_>)],
) -> Result<Vec<KneeOfTable>, MetricError> {
    table.axis(axis)?;
    for promise in promises {
        let column = table.column(&promise.0)?;
        let known = table
            .rows
            .iter()
            .any(|row| judged_by(row, promise).value.is_some());
        if !known && !table.rows.iter().any(|row| row.state.failure().is_some()) {
            return Err(MetricError::NoValue { metric: column.name });
        }
    }
    let keep: Vec<Promise<'_>> = promises.iter().map(|(_, promise)| *promise).collect();
    let mut groups: BTreeMap<Vec<Setting>, Vec<(f64, Verdict, usize)>> = BTreeMap::new();
    for point in table.points() {
        let Some(text) = point.settings().iter().find(|setting| setting.path == axis) else {
            continue;
        };
        let value = text
            .value
            .trim()
            .parse::<f64>()
            .ok()
            .filter(|value| value.is_finite());
        let value = value.ok_or_else(|| MetricError::NoNumber {
            axis: axis.to_owned(),
            value: text.value.clone(),
        })?;
        let told: Vec<Told> = point
            .rows
            .iter()
            .filter(|row| matches!(row.state, State::Done | State::Failed(_)))
            .map(|row| Told {
                figures: promises.iter().map(|promise| judged_by(row, promise)).collect(),
                failed: row.state.failure().is_some(),
            })
            .collect();
        if told.is_empty() {
            continue;
        }
        let others = point.settings().iter().filter(|setting| setting.path != axis);
        let verdict = verdict(&told, &keep);
        groups
            .entry(others.cloned().collect())
            .or_default()
            .push((value, verdict, told.len()));
    }
    let knees = groups.into_iter().map(|(others, judged)| {
        let values = || judged.iter().map(|(value, ..)| *value);
        let range = [
            values().fold(f64::INFINITY, f64::min),
            values().fold(f64::NEG_INFINITY, f64::max),
        ];
        let runs = judged.iter().map(|(.., runs)| runs).sum();
        let judged: Vec<(f64, Verdict)> = judged
            .iter()
            .map(|(value, verdict, _)| (*value, *verdict))
            .collect();
        KneeOfTable {
            others,
            range,
            knee: answer(&judged, runs),
        }
    });
    Ok(knees.collect())
}
