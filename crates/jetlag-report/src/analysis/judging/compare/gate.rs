//! Judges each `--fail-if`: a change by its interval, a comparison with a limit by the figures of each run.
//!
//! What is unknown fails: a comparison is judged by its opposite, which must be known to hold in every run.

use super::fail_if::{Kind, Limit};
use super::figures::figure;
use super::{CONFIDENCE, LimitResult, RunSample, Side};
use crate::analysis::expectation::Expectation;
use crate::analysis::figures::key::Plain;
use crate::analysis::figures::{self, Absent, Key, Run};
use crate::analysis::summary::{ExpectationResult, Lack};

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
        is_in_points: false,
    };
    match &limit.kind {
        Kind::Change { of, change } => {
            let found = figure(of, baseline, candidate, CONFIDENCE);
            LimitResult {
                passed: found.interval.map(|interval| is_passed(*change, interval)),
                change: found.change,
                ci95: found.interval,
                reason: found.reason,
                is_in_points: matches!(of, Key::Plain(_, Plain::MissRate)),
                ..unknown
            }
        }
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
/// It applies where it holds in any run, and does not where its opposite is known to hold in all.
fn condition(line: &Expectation, candidate: &Side, unknown: LimitResult) -> LimitResult {
    let opposite = line.opposite();
    let judged: Vec<(ExpectationResult, Option<Absent>, &RunSample)> = candidate
        .runs
        .iter()
        .map(|run| {
            let (result, absent) = opposite.evaluate(&Run::from(&run.summary));
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
            Some(absent) => absent.message(),
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
    LimitResult {
        passed,
        ci95: result.ci95,
        value: result.value,
        unit: result.unit,
        ..unknown
    }
}

/// What a run lacks for a figure of a tenant.
fn lacking(line: &Expectation, run: &RunSample) -> String {
    let name = line.tenant().unwrap_or_default();
    let tenant = run.summary.tenants.iter().find(|tenant| tenant.name == name);
    let sample = tenant.and_then(|tenant| figures::sample(line.key(), tenant));
    let lacks = sample.and_then(|sample| Some((sample.lacks?, sample.count)));
    match (tenant, lacks) {
        (Some(tenant), _) if tenant.frames.completed == 0 => format!("{name} completed no frame"),
        (Some(tenant), _) if figures::says_nothing(line.key(), tenant).is_some() => {
            format!("it says nothing of {name}, which has no deadline or runs in a closed loop")
        }
        (Some(tenant), _) if let Some(needs) = line.needs(tenant) => {
            format!("it needs {needs} frames; there are {}", tenant.frames.offered)
        }
        (_, Some((Lack::Frames(needs), count))) => format!("it needs {needs} frames; there are {count}"),
        (_, Some((lack, _))) => Absent::of_frames(Some(lack)).message(),
        _ => {
            let absent = Run::from(&run.summary).read(line.key()).err();
            absent.unwrap_or(Absent::Nothing).message()
        }
    }
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
