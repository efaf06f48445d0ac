//! Judges each figure of each tenant: its change, the interval of that, or why it is unknown.

use crate::analysis::figures::Key;
use crate::analysis::figures::key::{Plain, Series};
use jetlag_figure::Unit;
use jetlag_stats::quantile::Quantile;

use super::{FIGURES, FigureComparison, RunSample, Side, TenantComparison, Unlike, Verdict};
use crate::analysis::figures::{Run, quantile_of};
use crate::analysis::gathering::effect::{self, Effect, Promises, Unknown, because, by_run};
use crate::analysis::stats::six_decimals;

pub(super) fn compare_tenants(
    a: &Side,
    b: &Side,
    tenants: &[(String, Option<Unlike>)],
    confidence: f64,
) -> Vec<TenantComparison> {
    tenants
        .iter()
        .map(|(name, reason)| {
            let figures = if reason.is_some() {
                Vec::new()
            } else {
                let shown = FIGURES.iter().filter(|which| has(which, name, a, b));
                let keyed = shown.filter_map(|which| {
                    let key = Key::parse(&format!("{name}.{which}"), &[name]).ok()?;
                    Some(FigureComparison {
                        figure: which,
                        ..figure(&key, a, b, confidence)
                    })
                });
                keyed.collect()
            };
            TenantComparison {
                name: name.clone(),
                not_compared: reason.clone(),
                figures,
            }
        })
        .collect()
}

/// Whether a figure exists for a tenant: misses if frames can miss, energy if power was measured.
fn has(figure: &str, tenant: &str, a: &Side, b: &Side) -> bool {
    let runs = || a.runs.iter().chain(&b.runs);
    match figure {
        "miss_rate" => runs().any(|run| {
            let mut tenants = run.summary.tenants.iter().filter(|known| known.name == tenant);
            tenants.any(|known| known.deadline_ms.is_some() || known.frames.missed > 0)
        }),
        "energy" => runs().any(|run| {
            let mut tenants = run.summary.tenants.iter().filter(|known| known.name == tenant);
            tenants.any(|known| known.energy_mj_per_frame.is_some())
        }),
        _ => true,
    }
}

/// Compares any figure: quantiles of the response time and misses by their frames, all others by their values in each run.
pub(super) fn figure(key: &Key, a: &Side, b: &Side, confidence: f64) -> FigureComparison {
    match key {
        Key::Time(tenant, Series::Response, statistic) if let Some(of) = quantile_of(*statistic) => {
            quantile(of, tenant, a, b, confidence)
        }
        Key::Plain(tenant, Plain::MissRate) => misses(tenant, a, b, confidence),
        _ => of_values(key, a, b, confidence),
    }
}

fn misses(tenant: &str, a: &Side, b: &Side, confidence: f64) -> FigureComparison {
    let promises = |side: &Side| Promises {
        missed: side.runs.iter().map(|run| run.misses(tenant)).collect(),
        responses: side.runs.iter().map(|run| run.responses(tenant)).collect(),
    };
    let (of_a, of_b) = (promises(a), promises(b));
    let deadline = |side: &Side| {
        let mut tenants = side.runs[0].summary.tenants.iter();
        tenants
            .find(|known| known.name == tenant)
            .and_then(|known| known.deadline_ms)
    };
    if deadline(a) != deadline(b) {
        return unknown(Unit::Ratio, "the deadlines are different".to_owned());
    }
    let offered = |side: &Promises| side.missed.iter().map(Vec::len).sum();
    match effect::of_misses([&of_a, &of_b], confidence) {
        Ok(effect) => known(Unit::Ratio, 1.0, effect),
        Err(Unknown::NoFrame) => unknown(Unit::Ratio, "no frame was offered".to_owned()),
        Err(why) => unknown(Unit::Ratio, because(why, [offered(&of_a), offered(&of_b)])),
    }
}

fn quantile(quantile: Quantile, tenant: &str, a: &Side, b: &Side, confidence: f64) -> FigureComparison {
    let responses =
        |side: &Side| -> Vec<Vec<i64>> { side.runs.iter().map(|run| run.responses(tenant)).collect() };
    let (of_a, of_b) = (responses(a), responses(b));
    let found = effect::of_quantile(quantile, [&of_a, &of_b], confidence).or_else(|why| {
        let in_turns = a.in_turns && b.in_turns;
        let of_rounds = || by_run::of_rounds(quantile, [&of_a, &of_b], confidence);
        in_turns.then(of_rounds).flatten().ok_or(why)
    });
    match found {
        Ok(effect) => known(Unit::Ms, 1e-6, effect),
        Err(why) => {
            let frames = |runs: &[Vec<i64>]| runs.iter().map(Vec::len).sum::<usize>();
            unknown(Unit::Ms, because(why, [frames(&of_a), frames(&of_b)]))
        }
    }
}

/// By what differs from run to run.
fn of_values(key: &Key, a: &Side, b: &Side, confidence: f64) -> FigureComparison {
    let unit = key.unit();
    let values = |side: &Side| -> Result<Vec<f64>, String> {
        let of_run = |run: &RunSample| {
            let found = Run::from(&run.summary)
                .read(key)
                .map_err(|absent| absent.message())?;
            match found.doubt {
                None => Ok(found.value),
                Some(doubt) => Err(doubt.message()),
            }
        };
        side.runs.iter().map(of_run).collect()
    };
    let (of_a, of_b) = match (values(a), values(b)) {
        (Ok(of_a), Ok(of_b)) => (of_a, of_b),
        (Err(why), _) | (_, Err(why)) => return unknown(unit, why),
    };
    match by_run::of_runs([&of_a, &of_b], confidence) {
        Some((baseline, candidate, change, Some(interval))) => {
            let effect = Effect {
                baseline,
                candidate,
                change,
                interval,
            };
            known(unit, 1.0, effect)
        }
        Some((baseline, candidate, change, None)) => FigureComparison {
            baseline: Some(six_decimals(baseline)),
            candidate: Some(six_decimals(candidate)),
            change: Some(six_decimals(change)),
            ..unknown(unit, "its interval needs two runs per side".to_owned())
        },
        None => unknown(unit, "it is zero in a run, so there is no ratio".to_owned()),
    }
}

fn known(unit: Unit, scale: f64, effect: Effect) -> FigureComparison {
    let interval = effect.interval.map(six_decimals);
    let (verdict, within) = Verdict::of_interval(interval);
    FigureComparison {
        figure: "",
        unit,
        baseline: Some(six_decimals(effect.baseline * scale)),
        candidate: Some(six_decimals(effect.candidate * scale)),
        change: Some(six_decimals(effect.change)),
        interval: Some(interval),
        verdict,
        within,
        reason: None,
    }
}

fn unknown(unit: Unit, reason: String) -> FigureComparison {
    FigureComparison {
        figure: "",
        unit,
        baseline: None,
        candidate: None,
        change: None,
        interval: None,
        verdict: Verdict::Unknown,
        within: None,
        reason: Some(reason),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_higher_or_lower_where_its_interval_leaves_nothing_out() {
        let figure = |low: f64, high: f64| {
            let effect = Effect {
                baseline: 2.0,
                candidate: 3.0,
                change: 0.5,
                interval: [low, high],
            };
            known(Unit::Ms, 10.0, effect)
        };
        let same = figure(-0.1, 0.2);
        assert_eq!((same.baseline, same.candidate), (Some(20.0), Some(30.0)));
        assert_eq!((same.change, same.within), (Some(0.5), Some(0.2)));
        assert_eq!(figure(0.01, 0.1).within, None, "it is not the same");
        let verdict = |low: f64, high: f64| figure(low, high).verdict;
        assert_eq!(verdict(0.01, 0.1), Verdict::Higher);
        assert_eq!(verdict(-0.1, -0.01), Verdict::Lower);
        for (low, high) in [(-0.1, 0.1), (0.0, 0.1), (-0.1, 0.0), (0.0, 0.0)] {
            assert_eq!(verdict(low, high), Verdict::Same, "{low} to {high}");
        }
    }
}
