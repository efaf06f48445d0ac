//! The difference of a figure between two sides, each of one or several runs, with its interval.
//!
//! Each side's figure has an interval of its own (a quantile: from order statistics, widened for autocorrelation; a
//! share: Wilson's). The interval of the difference combines the two by the method of variance estimates recovery
//! (MOVER): with estimates a, b and their bounds,
//!
//! > lower = b − a − √((b − b₁)² + (a₂ − a)²),  upper = b − a + √((b₂ − b)² + (a − a₁)²)
//!
//! (G. Y. Zou and A. Donner, "Construction of confidence limits about effect measures", *Statistics in Medicine* 27,
//! 2008; for shares it is R. G. Newcombe's method 10, 1998). It needs neither normal nor symmetric figures. Quantiles
//! are compared by their logarithms, so that the difference is a ratio.
//!
//! Where a side has several runs, the variation between them counts too: if the runs of a side differ by more than
//! the variation within them explains, the interval is computed by Student's t over the runs, with their degrees of
//! freedom. The wider of the two intervals is used. Figures of which a run has one value are compared in [`by_run`].

pub(in crate::analysis) mod by_run;

use jetlag_stats::autocorrelation::correlation_of_events;
use jetlag_stats::normal::normal_quantile;
use jetlag_stats::quantile::Quantile;
use jetlag_stats::student::t_quantile;

use crate::analysis::gathering::dependence::{self, Bounds, Dependence};
use crate::analysis::gathering::lack::Lack;
use crate::analysis::gathering::missed;

/// The result of comparing one figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::analysis) struct Effect {
    /// The first side's figure: nanoseconds, a share, or millijoules.
    pub(in crate::analysis) baseline: f64,
    /// The second side's figure, in the same unit.
    pub(in crate::analysis) candidate: f64,
    /// Relative change, second over first less one; for shares the difference, second less first.
    pub(in crate::analysis) change: f64,
    /// The interval of `change`.
    pub(in crate::analysis) interval: [f64; 2],
}

/// Why an effect is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::analysis) enum Unknown {
    /// A side has no frame.
    NoFrame,
    /// The frames of a side are not enough.
    Lacks(Lack),
    /// A bound is zero or below, so there is no ratio.
    NoRatio,
}

/// A figure of one side with its bounds, and the figure of each run.
struct Side {
    low: f64,
    value: f64,
    high: f64,
    runs: Vec<Share>,
}

/// The share of a run's frames on one side of a limit, and its variance within the run.
struct Share {
    share: f64,
    frames: f64,
    variance: f64,
}

/// The relative change of a response-time quantile from the first side to the second.
pub(in crate::analysis) fn of_quantile(
    quantile: Quantile,
    sides: [&[Vec<i64>]; 2],
    confidence: f64,
) -> Result<Effect, Unknown> {
    of_quantile_by(Dependence::bounds, quantile, sides, confidence)
}

/// The same for one row of many, of few frames.
pub(in crate::analysis) fn of_row(
    quantile: Quantile,
    sides: [&[Vec<i64>]; 2],
    confidence: f64,
) -> Result<Effect, Unknown> {
    of_quantile_by(Dependence::bounds_cautiously, quantile, sides, confidence)
}

/// The bounds of a quantile, by the dependence of a side's frames.
type BoundsOf = fn(&Dependence, Quantile, u64, f64) -> Result<Bounds, Lack>;

fn of_quantile_by(
    bounds: BoundsOf,
    quantile: Quantile,
    [baseline, candidate]: [&[Vec<i64>]; 2],
    confidence: f64,
) -> Result<Effect, Unknown> {
    let (a, b) = match (
        quantile_of(bounds, quantile, baseline, confidence),
        quantile_of(bounds, quantile, candidate, confidence),
    ) {
        // Of the two sides, the one that lacks more is reported.
        (Err(Unknown::Lacks(a)), Err(Unknown::Lacks(b))) => return Err(Unknown::Lacks(a.max(b))),
        (a, b) => (a?, b?),
    };
    if a.low <= 0.0 || b.low <= 0.0 {
        return Err(Unknown::NoRatio);
    }
    let wider = scatter(&[&a, &b], confidence);
    let logs = |side: &Side| [side.low.ln(), side.value.ln(), side.high.ln()];
    let [low, change, high] = difference(logs(&a), logs(&b), wider);
    Ok(Effect {
        baseline: a.value,
        candidate: b.value,
        change: change.exp_m1(),
        interval: [low.exp_m1(), high.exp_m1()],
    })
}

/// A side's frames in order of time, for each run: whether each missed, and the response times of the completed ones.
pub(in crate::analysis) struct Promises {
    /// For each run, whether each offered frame counts as missed.
    pub(in crate::analysis) missed: Vec<Vec<bool>>,
    /// For each run, the response time of each completed frame, ns.
    pub(in crate::analysis) responses: Vec<Vec<i64>>,
}

/// Effective sample size below which a share is not compared if frames are autocorrelated.
const LEAST: f64 = 100.0;

/// Compares shares of missed frames.
///
/// Misses come in bursts, and a side that had none by chance shows no autocorrelation. So both sides use the larger
/// autocorrelation of the two, and that of the response times counts too.
pub(in crate::analysis) fn of_misses(
    [baseline, candidate]: [&Promises; 2],
    confidence: f64,
) -> Result<Effect, Unknown> {
    let (of_a, of_b) = (repetition_of(baseline), repetition_of(candidate));
    let (inflation, repeats) = (of_a.0.max(of_b.0), of_a.1 || of_b.1);
    let frames = |side: &Promises| side.missed.iter().map(Vec::len).sum::<usize>();
    let least = frames(baseline).min(frames(candidate)) as f64;
    if least < 1.0 {
        return Err(Unknown::NoFrame);
    }
    if repeats && least / inflation < LEAST {
        return Err(Unknown::Lacks(Lack::Frames(dependence::about(LEAST * inflation))));
    }
    let share = |side: &Promises| share_of(&side.missed, inflation, confidence).ok_or(Unknown::NoFrame);
    let (a, b) = (share(baseline)?, share(candidate)?);
    let wider = scatter(&[&a, &b], confidence);
    let bounds = |side: &Side| [side.low, side.value, side.high];
    let [low, change, high] = difference(bounds(&a), bounds(&b), wider);
    Ok(Effect {
        baseline: a.value,
        candidate: b.value,
        change,
        interval: [low.max(-1.0), high.min(1.0)],
    })
}

/// τ of a side's misses, and whether autocorrelation was detected.
fn repetition_of(side: &Promises) -> (f64, bool) {
    let misses = dependence::of_several(&[correlation_of_events(&side.missed)]);
    let mut all: Vec<i64> = side.responses.iter().flatten().copied().collect();
    all.sort_unstable();
    let responses = dependence_of(&side.responses, &all).inflation(Quantile::P99, all.len() as u64, 0.95);
    match (misses, responses) {
        // Autocorrelation that was not detected does not count.
        (misses, (_, false)) => misses,
        ((_, false), responses) => responses,
        (misses, responses) => (misses.0.max(responses.0), true),
    }
}

/// The autocorrelation of the runs' frames, `all` being their values in ascending order.
fn dependence_of(runs: &[Vec<i64>], all: &[i64]) -> Dependence {
    let runs: Vec<&[i64]> = runs.iter().map(Vec::as_slice).collect();
    Dependence::of(&runs, |quantile| {
        let rank = quantile.rank(all.len() as u64);
        all.get((rank as usize).checked_sub(1)?).copied()
    })
}

/// Lower bound, estimate and upper bound of b − a, from those of a and b.
fn difference([a1, a, a2]: [f64; 3], [b1, b, b2]: [f64; 3], wider: f64) -> [f64; 3] {
    let change = b - a;
    [
        change - wider * (b - b1).hypot(a2 - a),
        change,
        change + wider * (b2 - b).hypot(a - a1),
    ]
}

/// The quantile of all frames of all runs of a side.
fn quantile_of(
    bounds: BoundsOf,
    quantile: Quantile,
    runs: &[Vec<i64>],
    confidence: f64,
) -> Result<Side, Unknown> {
    let mut all: Vec<i64> = runs.iter().flatten().copied().collect();
    all.sort_unstable();
    let n = all.len() as u64;
    let dependence = dependence_of(runs, &all);
    let bounds = bounds(&dependence, quantile, n, confidence).map_err(Unknown::Lacks)?;
    let (inflation, _) = dependence.inflation(quantile, n, confidence);
    let at = |rank: u64| all[rank as usize - 1];
    let value = at(quantile.rank(n));
    let (low, high) = match bounds {
        Bounds::Ranks(low, high) => (at(low) as f64, at(high) as f64),
        Bounds::Around(half) => (value as f64 - half, value as f64 + half),
    };
    let of_one = quantile.share() * (1.0 - quantile.share()) * inflation;
    let runs = runs.iter().filter(|run| !run.is_empty()).map(|run| {
        let below = run.iter().filter(|&&ns| ns <= value).count();
        Share::new(below, run.len(), of_one)
    });
    Ok(Side {
        low,
        value: value as f64,
        high,
        runs: runs.collect(),
    })
}

/// The share of all frames of all runs of a side, with Wilson's interval for their effective sample size.
fn share_of(runs: &[Vec<bool>], inflation: f64, confidence: f64) -> Option<Side> {
    let n: usize = runs.iter().map(Vec::len).sum();
    if n == 0 {
        return None;
    }
    let count = |run: &[bool]| run.iter().filter(|&&hit| hit).count();
    let hits: usize = runs.iter().map(|run| count(run)).sum();
    let p = hits as f64 / n as f64;
    let [low, high] = missed::interval(p, n as f64 / inflation, confidence);
    let shares = runs
        .iter()
        .filter(|run| !run.is_empty())
        .map(|run| Share::new(count(run), run.len(), p * (1.0 - p) * inflation));
    Some(Side {
        low,
        value: p,
        high,
        runs: shares.collect(),
    })
}

impl Share {
    /// `hits` of a run's frames, with the variance of one frame as a part of the whole.
    fn new(hits: usize, frames: usize, of_one: f64) -> Share {
        let frames = frames as f64;
        Share {
            share: hits as f64 / frames,
            frames,
            variance: of_one / frames,
        }
    }
}

/// The factor by which the interval must grow because the runs of a side differ by more than the variation within them
/// explains; at least 1, and 1 if each side is one run.
fn scatter(sides: &[&Side], confidence: f64) -> f64 {
    let (mut squares, mut freedom) = (0.0, 0.0);
    for side in sides {
        let frames: f64 = side.runs.iter().map(|run| run.frames).sum();
        let mean = side.runs.iter().map(|run| run.share * run.frames).sum::<f64>() / frames;
        if side.runs.iter().any(|run| run.variance <= 0.0) {
            continue;
        }
        squares += side
            .runs
            .iter()
            .map(|run| (run.share - mean).powi(2) / run.variance)
            .sum::<f64>();
        freedom += side.runs.len().saturating_sub(1) as f64;
    }
    if freedom < 1.0 {
        return 1.0;
    }
    let p = f64::midpoint(1.0, confidence);
    (t_quantile(p, freedom) * (squares / freedom).sqrt() / normal_quantile(p)).max(1.0)
}

/// So many times the frames that there are is more than anybody would measure.
const MOST_TIMES: u64 = 20;

/// Why a figure is unknown, with the number of frames of both sides.
pub(in crate::analysis) fn because(why: Unknown, [a, b]: [usize; 2]) -> String {
    match why {
        // Many times as many are no advice.
        Unknown::Lacks(Lack::Frames(needs)) if needs / MOST_TIMES <= a.min(b) as u64 => {
            format!("it needs {needs} frames per side; there are {a} and {b}")
        }
        Unknown::Lacks(Lack::Spells(_)) => "these runs are too short for their slow states".to_owned(),
        Unknown::Lacks(_) => {
            "the machine wanders more slowly than these runs are long; measure in turns: `jetlag compare --ab`".to_owned()
        }
        Unknown::NoFrame => "one side completed no frame".to_owned(),
        Unknown::NoRatio => "a response time is zero, so there is no ratio".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use rand_distr::{Distribution, StandardNormal};
    use rand_pcg::Pcg64;
    use rand_pcg::rand_core::SeedableRng;

    use super::*;

    /// Runs of lognormal latencies around `ms`, correlated by `phi` within a run, each run off by its own factor.
    fn runs(
        ms: f64,
        sigma: f64,
        phi: f64,
        between: f64,
        (count, frames): (usize, usize),
        seed: u64,
    ) -> Vec<Vec<i64>> {
        let mut random = Pcg64::seed_from_u64(seed);
        let mut normal = || -> f64 { StandardNormal.sample(&mut random) };
        (0..count)
            .map(|_| {
                let level = ms * 1e6 * (between * normal()).exp();
                let mut x = normal();
                (0..frames)
                    .map(|_| {
                        x = phi * x + (1.0 - phi * phi).sqrt() * normal();
                        (level * (sigma * x).exp()) as i64
                    })
                    .collect()
            })
            .collect()
    }

    /// How many of 400 pairs with a true ratio have an interval that leaves it out.
    fn left_out(quantile: Quantile, phi: f64, between: f64, ratio: f64) -> usize {
        let (mut judged, mut left_out) = (0, 0);
        for seed in 0..400 {
            let a = runs(9.0, 0.1, phi, between, (5, 500), seed * 2);
            let b = runs(9.0 * ratio, 0.1, phi, between, (5, 500), seed * 2 + 1);
            if let Ok(effect) = of_quantile(quantile, [&a, &b], 0.95) {
                let [low, high] = effect.interval;
                judged += 1;
                left_out += usize::from(!(low <= ratio - 1.0 && ratio - 1.0 <= high));
            }
        }
        assert!(judged >= 300, "{judged} of 400 pairs have frames enough");
        left_out
    }

    #[test]
    fn intervals_of_ratios_leave_the_truth_out_at_most_as_often_as_they_say() {
        for (quantile, phi, between, ratio) in [
            (Quantile::P50, 0.0, 0.0, 1.0),
            (Quantile::P50, 0.6, 0.0, 1.1),
            (Quantile::P99, 0.0, 0.0, 0.9),
            (Quantile::P99, 0.4, 0.0, 1.0),
            (Quantile::P50, 0.0, 0.02, 1.0),
            (Quantile::P99, 0.0, 0.02, 1.0),
        ] {
            let share = left_out(quantile, phi, between, ratio) as f64 / 400.0;
            println!("{quantile:?}, φ {phi}, runs off by {between}, ratio {ratio}: {share:.3} left out");
            assert!(share <= 0.065, "{quantile:?} φ {phi} between {between}: {share}");
        }
    }

    #[test]
    fn runs_that_differ_widen_the_interval_and_their_frames_alone_would_not() {
        let width = |between: f64| {
            let a = runs(9.0, 0.1, 0.0, between, (5, 400), 1);
            let b = runs(9.0, 0.1, 0.0, between, (5, 400), 2);
            let [low, high] = of_quantile(Quantile::P50, [&a, &b], 0.95).unwrap().interval;
            high - low
        };
        assert!(width(0.05) > 3.0 * width(0.0));
    }

    /// Of frames that nothing else is known of.
    fn promises(missed: Vec<Vec<bool>>) -> Promises {
        Promises {
            missed,
            responses: Vec::new(),
        }
    }

    #[test]
    fn shares_agree_with_newcombes_published_example() {
        // 56 of 70 and 48 of 80: 0.2, with 0.0524 to 0.3339 (method 10).
        let events = |hits: usize, n: usize| vec![(0..n).map(|i| i * 7 % n < hits).collect::<Vec<bool>>()];
        let spread = |hits: usize, n: usize| {
            let mut all = events(hits, n);
            // Spread evenly, so that no correlation is seen.
            all[0] = (0..n).map(|i| (i + 1) * hits / n > i * hits / n).collect();
            all
        };
        let effect = of_misses([&promises(spread(48, 80)), &promises(spread(56, 70))], 0.95).unwrap();
        assert!((effect.change - 0.2).abs() < 1e-12);
        let [low, high] = effect.interval;
        assert!(
            (low - 0.0524).abs() < 1e-4 && (high - 0.3339).abs() < 1e-4,
            "{low} {high}"
        );
    }

    #[test]
    fn no_miss_on_either_side_still_has_an_interval() {
        let none = promises(vec![vec![false; 300]]);
        let effect = of_misses([&none, &none], 0.95).unwrap();
        assert_eq!(effect.change, 0.0);
        let [low, high] = effect.interval;
        assert!(low < 0.0 && low > -0.02 && high == -low);
    }

    #[test]
    fn too_few_frames_are_not_compared() {
        let a = runs(9.0, 0.1, 0.0, 0.0, (2, 300), 1);
        let lacks = Unknown::Lacks(Lack::Frames(662));
        assert_eq!(of_quantile(Quantile::P99, [&a, &a], 0.95), Err(lacks));
        assert!(of_quantile(Quantile::P50, [&a, &a], 0.95).is_ok());
        assert!(of_quantile(Quantile::P50, [&[], &a], 0.95).is_err());
    }

    #[test]
    fn of_two_sides_with_too_few_frames_the_one_that_takes_more_is_told() {
        let lacking = |a: &[Vec<i64>], b: &[Vec<i64>]| match of_quantile(Quantile::P99, [a, b], 0.95) {
            Err(Unknown::Lacks(lack)) => lack,
            other => panic!("{other:?}"),
        };
        let few = runs(9.0, 0.1, 0.0, 0.0, (1, 300), 1);
        let bursts = runs(9.0, 0.1, 0.97, 0.0, (1, 700), 2);
        let (least, most) = (lacking(&few, &few), lacking(&bursts, &bursts));
        assert!(most > least, "{least:?}, {most:?}");
        assert_eq!(lacking(&few, &bursts), most);
        assert_eq!(lacking(&bursts, &few), most);
    }

    #[test]
    fn what_is_said_to_be_needed_is_more_than_there_is() {
        // Enough frames for p99, and too few for the confidence that many figures together ask for.
        let mut refused = 0;
        for seed in 0..20 {
            let a = runs(9.0, 0.1, 0.0, 0.0, (1, 900), seed);
            if let Err(Unknown::Lacks(lack)) = of_quantile(Quantile::P99, [&a, &a], 0.9999) {
                refused += 1;
                assert!(lack > Lack::Frames(900), "seed {seed}: {lack:?}");
            }
        }
        assert_eq!(refused, 20);
        let bursts = promises(vec![(0..1_000).map(|i| i / 100 % 3 == 0).collect()]);
        let found = of_misses([&bursts, &bursts], 0.95);
        assert!(
            matches!(found, Err(Unknown::Lacks(lack)) if lack > Lack::Frames(1_000)),
            "{found:?}"
        );
    }

    #[test]
    fn what_takes_no_time_has_no_ratio_on_either_side() {
        let (some, none) = (
            vec![(0..200).map(|i| 1 + i * i % 31).collect::<Vec<i64>>()],
            vec![vec![0i64; 200]],
        );
        for sides in [[&some, &none], [&none, &some], [&none, &none]] {
            let found = of_quantile(Quantile::P50, sides.map(Vec::as_slice), 0.95);
            assert!(matches!(found, Err(Unknown::NoRatio)), "{found:?}");
        }
    }

    #[test]
    fn a_frame_each_is_enough_to_compare_misses_and_none_is_not() {
        let side = |missed: Vec<bool>| Promises {
            responses: vec![vec![5; missed.len()]],
            missed: vec![missed],
        };
        let found = of_misses([&side(vec![false]), &side(vec![true])], 0.95).unwrap();
        assert_eq!((found.baseline, found.candidate, found.change), (0.0, 1.0, 1.0));
        let none = of_misses([&side(vec![]), &side(vec![true])], 0.95);
        assert!(matches!(none, Err(Unknown::NoFrame)), "{none:?}");
    }

    #[test]
    fn two_runs_of_a_side_that_differ_widen_the_interval_by_students_t() {
        let run = |hits: usize| Share::new(hits, 100, 0.24);
        let side = |runs: Vec<Share>| Side {
            low: 0.4,
            value: 0.5,
            high: 0.6,
            runs,
        };
        let differ = side(vec![run(40), run(60)]);
        // Σ (share − mean)² / variance = 2 × 0.01 / 0.0024; one degree of freedom:
        // stats.t.ppf(0.975, 1) × √8.3333 / stats.norm.ppf(0.975).
        let wider = scatter(&[&differ, &side(vec![run(50)])], 0.95);
        assert!((wider - 18.714_453).abs() < 1e-5, "{wider}");
        assert_eq!(scatter(&[&side(vec![run(40)]), &side(vec![run(60)])], 0.95), 1.0);
    }
}
