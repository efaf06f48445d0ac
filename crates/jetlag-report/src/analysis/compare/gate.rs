//! Judges each `--fail-if`: a change by its interval, a comparison with a limit by the figures of each run.
//!
//! What is unknown fails: a comparison is judged by its opposite, which must be known to hold in every run.

use super::figures::figure;
use super::limit::{ChangeOf, Kind, Limit};
use super::{CONFIDENCE, LimitResult, RunSample, Side, effect};
use crate::analysis::expectation::{Expectation, Of, Run};
use crate::analysis::machine::{Absent, Machine, MachineMetric};
use crate::analysis::stats::six_decimals;
use crate::analysis::summary::{ExpectationResult, Lack, Unit};

/// Judges one for the candidate of this label.
pub(super) fn judge(limit: &Limit, side: String, baseline: &Side, candidate: &Side) -> LimitResult {
    let unknown = LimitResult {
        text: limit.text.clone(),
        side,
        passed: None,
        change: None,
        ci95: None,
        reason: None,
        value: None,
        unit: None,
    };
    match &limit.kind {
        Kind::Change {
            of: ChangeOf::Tenant {
                tenant,
                figure: which,
            },
            change,
        } => {
            let found = figure(which, tenant, baseline, candidate, CONFIDENCE);
            LimitResult {
                passed: found.interval.map(|interval| is_passed(*change, interval)),
                change: found.change,
                ci95: found.interval,
                reason: found.reason,
                ..unknown
            }
        }
        Kind::Change {
            of: ChangeOf::Machine(metric),
            change,
        } => of_machine(metric, *change, [baseline, candidate], unknown),
        Kind::Condition(line) => condition(line, candidate, unknown),
    }
}

/// Whether all of an interval of the change lies beyond the limit.
fn is_passed(limit: f64, [low, high]: [f64; 2]) -> bool {
    // `-0%` too: no decrease is allowed.
    match limit.is_sign_negative() {
        true => high < limit,
        false => low > limit,
    }
}

/// A figure of the machine has one value for a run: its interval comes from several runs of each side.
fn of_machine(metric: &MachineMetric, limit: f64, sides: [&Side; 2], unknown: LimitResult) -> LimitResult {
    let values = |side: &Side| -> Result<Vec<f64>, String> {
        side.runs
            .iter()
            .map(|run| {
                let run = figures(run);
                let found = metric.read(&run.machine, &run.tenants);
                let known = found.and_then(|found| match found.doubt {
                    None => Ok(found.reading.value),
                    Some(doubt) => Err(doubt),
                });
                let value = known.map_err(|absent| missing(&absent))?;
                value.ok_or_else(|| "a run does not have it".to_owned())
            })
            .collect()
    };
    let because = |reason: String| LimitResult {
        reason: Some(reason),
        ..unknown.clone()
    };
    let (a, b) = match (values(sides[0]), values(sides[1])) {
        (Ok(a), Ok(b)) => (a, b),
        (Err(why), _) | (_, Err(why)) => return because(why),
    };
    match effect::of_runs([&a, &b], CONFIDENCE) {
        Some((.., change, Some(interval))) => LimitResult {
            passed: Some(is_passed(limit, interval)),
            change: Some(six_decimals(change)),
            ci95: Some(interval.map(six_decimals)),
            ..unknown
        },
        Some((.., change, None)) => LimitResult {
            change: Some(six_decimals(change)),
            ..because("its interval needs two runs per side".to_owned())
        },
        None => because("it is zero in a run, so there is no ratio".to_owned()),
    }
}

/// It applies where it holds in any run, and does not where its opposite is known to hold in all.
fn condition(line: &Expectation, candidate: &Side, unknown: LimitResult) -> LimitResult {
    let opposite = line.opposite();
    let judged: Vec<(ExpectationResult, Option<Absent>, &RunSample)> = candidate
        .runs
        .iter()
        .map(|run| {
            let (result, absent) = opposite.evaluate(&figures(run));
            (result, absent, run)
        })
        .collect();
    let applies = |(result, ..): &&(ExpectationResult, Option<Absent>, &RunSample)| {
        result.value.is_some() && !result.holds
    };
    let undecided = |(result, ..): &&(ExpectationResult, Option<Absent>, &RunSample)| result.value.is_none();
    if let Some((result, ..)) = judged.iter().find(applies) {
        return valued(Some(true), result, unknown);
    }
    if let Some((_, absent, run)) = judged.iter().find(undecided) {
        let reason = match absent {
            Some(absent) => missing(absent),
            None => lacking(line, run),
        };
        return LimitResult {
            reason: Some(reason),
            ..unknown
        };
    }
    match judged.first() {
        Some((result, ..)) => valued(Some(false), result, unknown),
        None => unknown,
    }
}

fn valued(passed: Option<bool>, result: &ExpectationResult, unknown: LimitResult) -> LimitResult {
    let (value, unit): (Option<f64>, Option<Unit>) = (result.value, result.unit);
    LimitResult {
        passed,
        ci95: result.ci95,
        value,
        unit,
        ..unknown
    }
}

/// The figures of one run.
fn figures(run: &RunSample) -> Run<'_> {
    let summary = &run.summary;
    Run {
        tenants: summary.tenants.iter().collect(),
        machine: Machine {
            rails: &summary.power,
            energy: summary.energy.as_ref(),
            sensors: &summary.sensors,
        },
    }
}

/// What a run lacks for a figure of a tenant.
fn lacking(line: &Expectation, run: &RunSample) -> String {
    let Of::Tenant(name, metric) = &line.of else {
        return "the run has no such figure".to_owned();
    };
    let tenant = run.summary.tenants.iter().find(|tenant| tenant.name == *name);
    let sample = tenant.and_then(|tenant| metric.sample(tenant));
    let lacks = sample.and_then(|sample| Some((sample.lacks?, sample.count)));
    match (tenant, lacks) {
        (Some(tenant), _) if tenant.frames.completed == 0 => format!("{name} completed no frame"),
        (Some(tenant), _) if metric.says_nothing(tenant).is_some() => {
            format!("it says nothing of {name}, which has no deadline or runs in a closed loop")
        }
        (Some(tenant), _) if let Some(needs) = line.needs(tenant) => {
            format!("it needs {needs} frames; there are {}", tenant.frames.offered)
        }
        (_, Some((Lack::Frames(needs), count))) => format!("it needs {needs} frames; there are {count}"),
        (_, Some((Lack::Spells(seen), _))) => {
            format!("the run is too short for its states: the rarer one came {seen} times")
        }
        (_, Some((Lack::Wanders, _))) => "the machine wanders more slowly than the run is long".to_owned(),
        _ => "the run has no such figure".to_owned(),
    }
}

/// What a machine lacks, in the words of findings.
fn missing(absent: &Absent) -> String {
    crate::analysis::limit::absent_in_words(absent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_passed_when_the_whole_interval_is_beyond_it() {
        assert!(is_passed(0.05, [0.051, 0.09]) && !is_passed(0.05, [0.049, 0.09]));
        assert!(is_passed(-0.05, [-0.2, -0.06]) && !is_passed(-0.05, [-0.2, -0.04]));
    }

    #[test]
    fn of_no_change_at_all_the_sign_says_which_way_is_too_much() {
        assert!(is_passed(0.0, [0.01, 0.1]) && !is_passed(0.0, [-0.1, -0.01]));
        assert!(!is_passed(0.0, [-0.01, 0.1]));
        assert!(is_passed(-0.0, [-0.1, -0.01]) && !is_passed(-0.0, [0.01, 0.1]));
        assert!(!is_passed(-0.0, [-0.1, 0.01]));
    }
}
