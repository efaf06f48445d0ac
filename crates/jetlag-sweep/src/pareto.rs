//! Which points no other beats, when every figure has an interval.
//!
//! A point is *out* only where another is certainly better in at least one metric and certainly not worse in any: its intervals lie
//! wholly on the better side, or both have the same value. Where another has better estimates throughout and the intervals do not
//! allow to say so, the point stays, *undecided*. The rest is the *front*.
//!
//! A figure that has an interval in any point is an estimate, and so is a quantile: where a point lacks the interval, it beats nobody
//! and nobody beats it by that figure. What never has one (a count, a clock) is taken as it is.

use std::collections::HashSet;

use jetlag_figure::Unit;
use jetlag_report::analysis::figures::{Key, key};

use super::error::MetricError;
use super::knee::is_quantile;
use super::pooled::Pooled;
use super::table::{PointFigures, Table};

/// Which way a metric is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Times, energies, misses.
    Lower,
    /// Rates, frames a joule.
    Higher,
}

impl Better {
    /// As the table of figures has it; a figure that is neither, or not of jetlag's, is better when lower.
    pub fn of(metric: &str) -> Better {
        let key = Key::guess(metric).or_else(|| Key::of_tenant("", metric));
        match key.map(|key| key.better()) {
            Some(key::Better::More) => Better::Higher,
            Some(key::Better::Less | key::Better::Neither) | None => Better::Lower,
        }
    }
}

/// A metric of the comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    /// The figure's full name.
    pub name: String,
    /// Its unit.
    pub unit: Unit,
    /// Which way it is better.
    pub better: Better,
}

/// Where a point stands.
#[derive(Clone, Debug, PartialEq)]
pub enum Standing {
    /// None has better estimates throughout.
    Front,
    /// Another (its position) has, by less than the intervals allow to say.
    Undecided {
        /// Position of the other.
        beside: usize,
    },
    /// Another is better for certain.
    Out {
        /// Position of the other.
        by: usize,
    },
    /// It cannot be judged: the metric has no value here.
    Unknown {
        /// What has no value.
        metric: String,
    },
}

/// The metrics of a line such as `response.p99,energy,max:throughput`; `min:` and `max:` say which way is better where the name does not.
/// A word that names a figure of several tenants is as many metrics: who gains for one at another's cost beats nobody.
///
/// # Errors
/// A metric that the table does not have.
pub fn metrics(text: &str, table: &Table) -> Result<Vec<Metric>, MetricError> {
    let mut metrics = Vec::new();
    for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        let (way, word) = match word.split_once(':') {
            Some(("max", word)) => (Some(Better::Higher), word),
            Some(("min", word)) => (Some(Better::Lower), word),
            _ => (None, word),
        };
        metrics.extend(table.columns_of(word)?.into_iter().map(|column| Metric {
            better: way.unwrap_or_else(|| Better::of(&column.name)),
            name: column.name.clone(),
            unit: column.unit,
        }));
    }
    Ok(metrics)
}

/// Each point's standing, in the order of the points.
pub fn standings(points: &[PointFigures], metrics: &[Metric]) -> Vec<Standing> {
    let values: Vec<Result<Vec<Pooled>, String>> = points
        .iter()
        .map(|point| {
            let known = |metric: &Metric| point.pooled(&metric.name).ok_or_else(|| metric.name.clone());
            metrics.iter().map(known).collect()
        })
        .collect();
    let estimated = estimated(&values, metrics);
    let metrics: Vec<(&Metric, bool)> = metrics.iter().zip(estimated).collect();
    (0..values.len())
        .map(|place| {
            let own = match values.get(place) {
                Some(Ok(own)) => own,
                Some(Err(metric)) => {
                    return Standing::Unknown {
                        metric: metric.clone(),
                    };
                }
                None => return Standing::Front,
            };
            let others = || {
                values
                    .iter()
                    .enumerate()
                    .filter(move |(other, _)| *other != place)
                    .filter_map(|(other, values)| Some((other, values.as_ref().ok()?)))
            };
            if let Some((by, _)) = others().find(|(_, other)| beats(other, own, &metrics)) {
                return Standing::Out { by };
            }
            match others().find(|(_, other)| seems_better(other, own, &metrics)) {
                Some((beside, _)) => Standing::Undecided { beside },
                None => Standing::Front,
            }
        })
        .collect()
}

/// The positions of points that another beats for certain.
pub fn out(standings: &[Standing]) -> HashSet<usize> {
    let all = standings.iter().enumerate();
    all.filter(|(_, standing)| matches!(standing, Standing::Out { .. }))
        .map(|(place, _)| place)
        .collect()
}

/// Of each metric, whether its values are estimates.
fn estimated(values: &[Result<Vec<Pooled>, String>], metrics: &[Metric]) -> Vec<bool> {
    let has_interval = |place: usize| {
        let known = values.iter().flatten().filter_map(|point| point.get(place));
        known.into_iter().any(|pooled| pooled.ci95.is_some())
    };
    let each = metrics.iter().enumerate();
    each.map(|(place, metric)| is_quantile(&metric.name) || has_interval(place))
        .collect()
}

/// Value and interval, turned so that lower is better. An estimate without an interval may be anything.
fn turned(pooled: &Pooled, better: Better, is_estimate: bool) -> [f64; 3] {
    let [low, high] = pooled.ci95.unwrap_or(match is_estimate {
        true => [f64::NEG_INFINITY, f64::INFINITY],
        false => [pooled.value; 2],
    });
    match better {
        Better::Lower => [pooled.value, low, high],
        Better::Higher => [-pooled.value, -high, -low],
    }
}

fn each<'a>(
    other: &'a [Pooled],
    own: &'a [Pooled],
    metrics: &'a [(&Metric, bool)],
) -> impl Iterator<Item = ([f64; 3], [f64; 3])> + 'a {
    let pairs = other.iter().zip(own).zip(metrics);
    pairs.map(|((other, own), &(metric, is_estimate))| {
        let turned = |pooled| turned(pooled, metric.better, is_estimate);
        (turned(other), turned(own))
    })
}

fn beats(other: &[Pooled], own: &[Pooled], metrics: &[(&Metric, bool)]) -> bool {
    let mut better_in_one = false;
    for ([value, _, high], [own_value, own_low, _]) in each(other, own, metrics) {
        match high < own_low {
            true => better_in_one = true,
            false if value == own_value => {}
            false => return false,
        }
    }
    better_in_one
}

fn seems_better(other: &[Pooled], own: &[Pooled], metrics: &[(&Metric, bool)]) -> bool {
    let mut better_in_one = false;
    for ([value, ..], [own, ..]) in each(other, own, metrics) {
        if value > own {
            return false;
        }
        better_in_one |= value < own;
    }
    better_in_one
}
