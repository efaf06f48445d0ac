//! The effects of the inputs of two detectors on each of them: of its own input, of its co-runner's, and their
//! interaction.
//!
//! Each input of a detector is a tenant of its own (`matrix: (inputs: …)`), and every pair across detectors is a
//! phase. With inputs A and B, the first letter for the detector's own input and the second for its co-runner's, the
//! contrasts of a measure are those that are published for pairs of detectors: own = ½((BA − AA) + (BB − AB)),
//! co-runner = ½((AB − AA) + (BB − BA)), interaction = BB − BA − AB + AA. Their intervals combine those of the
//! quantiles of the four phases by the method of variance estimates recovery (G. Y. Zou and A. Donner, *Statistics in
//! Medicine* 27, 2008): the distance from the estimate to each end is the root of the summed squares of the terms'
//! own distances, taken by the sign of each term. So they account for tails and for autocorrelation.
//!
//! A run has many effects, and of twenty 95 % intervals one excludes zero by chance. An effect counts as *found* if
//! its interval at 1 − 0.05 ÷ (number of effects in the run) excludes zero.

use super::Phases;
use crate::analysis::quantile::Quantile;
use crate::analysis::sample::Sample;
use crate::analysis::series::Estimate;
use crate::analysis::stats::six_decimals;
use crate::analysis::summary::interference::{Contrast, Effect};
use crate::record::{Phase, PhaseSpec};

/// A measure's lower bound, estimate and upper bound in one phase.
type Bounds = [f64; 3];

/// Measures of which effects are computed, by their JSON names.
const MEASURES: [&str; 3] = ["p50_ms", "p99_ms", "relative_spread"];

/// Effects of a measure.
const EFFECTS: usize = 3;

/// All contrasts of a run: each further input against the first, for every two detectors.
pub(super) fn contrasts(names: &[&str], inputs: &[Vec<String>], phases: &Phases) -> Vec<Contrast> {
    let mut sharings: Vec<&str> = Vec::new();
    for spec in phases.specs() {
        if !sharings.contains(&spec.sharing.as_str()) {
            sharings.push(&spec.sharing);
        }
    }
    let place = |name: &String| {
        names
            .iter()
            .position(|known| known == name)
            .map(|place| place as u16)
    };
    let groups: Vec<Vec<u16>> = inputs
        .iter()
        .map(|group| group.iter().filter_map(place).collect())
        .collect();
    let mut designs: Vec<Design<'_>> = Vec::new();
    for sharing in sharings {
        for (which, own) in groups.iter().enumerate() {
            for (_, other) in groups.iter().enumerate().filter(|&(place, _)| place != which) {
                let responses = |tenant: u16, beside: u16| {
                    let phase = pair(phases.specs(), sharing, tenant, beside)?;
                    phases.sample(phase, tenant)
                };
                for (&a, &b) in own
                    .first()
                    .iter()
                    .flat_map(|a| own[1..].iter().map(move |b| (*a, b)))
                {
                    for (&c, &d) in other
                        .first()
                        .iter()
                        .flat_map(|c| other[1..].iter().map(move |d| (*c, d)))
                    {
                        let cells = [(a, c), (a, d), (b, c), (b, d)].map(|(own, with)| responses(own, with));
                        let [Some(aa), Some(ab), Some(ba), Some(bb)] = cells else {
                            continue;
                        };
                        designs.push(Design {
                            sharing,
                            tenant: [a, b],
                            with: [c, d],
                            cells: [aa, ab, ba, bb],
                        });
                    }
                }
            }
        }
    }
    told(names, &designs)
}

/// Two inputs of a detector against two of its co-runner.
struct Design<'a> {
    sharing: &'a str,
    tenant: [u16; 2],
    with: [u16; 2],
    /// AA, AB, BA, BB.
    cells: [&'a Sample; 4],
}

/// The contrasts of all designs; the significance level depends on their number.
fn told(names: &[&str], designs: &[Design<'_>]) -> Vec<Contrast> {
    let of_each: Vec<Vec<Measured>> = designs
        .iter()
        .map(|design| measured(design.cells, 0.95))
        .collect();
    let strict = strict_confidence(of_each.iter().map(Vec::len).sum());
    let mut contrasts = Vec::new();
    for (design, all) in designs.iter().zip(of_each) {
        let strict = measured(design.cells, strict);
        let named = |tenants: [u16; 2]| tenants.map(|tenant| names[usize::from(tenant)].to_owned());
        for (measure, base, effects) in all {
            let strict = strict
                .iter()
                .find(|(name, ..)| *name == measure)
                .map(|(.., effects)| effects);
            let effect = |place: usize| {
                let [low, value, high] = effects[place];
                let leaves_out_zero = |[low, _, high]: Bounds| low > 0.0 || high < 0.0;
                Effect {
                    value: six_decimals(value),
                    ci95: [low, high].map(six_decimals),
                    found: strict.is_some_and(|strict| leaves_out_zero(strict[place])),
                }
            };
            contrasts.push(Contrast {
                sharing: design.sharing.to_owned(),
                tenant: named(design.tenant),
                with: named(design.with),
                measure,
                base: six_decimals(base),
                own: effect(0),
                co_runner: effect(1),
                interaction: effect(2),
            });
        }
    }
    contrasts
}

/// The confidence at which an effect is found: all effects of so many contrasts share one probability of error.
fn strict_confidence(contrasts: usize) -> f64 {
    1.0 - 0.05 / (EFFECTS * contrasts).max(1) as f64
}

/// The phase in which just these two ran, at their own rates.
fn pair(specs: &[PhaseSpec], sharing: &str, a: u16, b: u16) -> Option<Phase> {
    let members = [a.min(b), a.max(b)];
    let of_them =
        |spec: &&PhaseSpec| spec.members == members && spec.sharing == sharing && spec.rate.is_none();
    specs.iter().find(of_them).map(|spec| spec.phase)
}

/// One measure of a design: its name, its value with the first input of both, and its three effects.
type Measured = (&'static str, f64, [Bounds; EFFECTS]);

/// Every measure that is supported in all four phases.
fn measured(cells: [&Sample; 4], confidence: f64) -> Vec<Measured> {
    let bounds = cells.map(|cell| {
        let dependence = cell.dependence();
        let [p50, p99] = cell
            .distribution
            .quantiles([Quantile::P50, Quantile::P99], confidence, &dependence)
            .map(|estimate| estimate.ok().map(in_ms));
        [p50, p99, p50.zip(p99).and_then(|(p50, p99)| spread(p50, p99))]
    });
    let of_measure = |(place, &name): (usize, &&'static str)| {
        let [aa, ab, ba, bb] = bounds.map(|of_cell| of_cell[place]);
        let cells = [aa?, ab?, ba?, bb?];
        Some((name, cells[0][1], effects(cells)))
    };
    MEASURES.iter().enumerate().filter_map(of_measure).collect()
}

fn in_ms(estimate: Estimate) -> Bounds {
    [estimate.low, estimate.value, estimate.high].map(|ns| ns.as_millis_f64())
}

/// (p99 − p50) ÷ p50, on a logarithmic scale. Slow frames increase both quantiles, so the quotient is more precise
/// than this interval says.
fn spread(p50: Bounds, p99: Bounds) -> Option<Bounds> {
    let logs = |bounds: Bounds| bounds[0].gt(&0.0).then(|| bounds.map(f64::ln));
    let quotient = combined(&[(-1.0, logs(p50)?), (1.0, logs(p99)?)]);
    Some(quotient.map(f64::exp_m1))
}

/// Own, co-runner's and interaction.
fn effects([aa, ab, ba, bb]: [Bounds; 4]) -> [Bounds; EFFECTS] {
    [
        combined(&[(-0.5, aa), (-0.5, ab), (0.5, ba), (0.5, bb)]),
        combined(&[(-0.5, aa), (0.5, ab), (-0.5, ba), (0.5, bb)]),
        combined(&[(1.0, aa), (-1.0, ab), (-1.0, ba), (1.0, bb)]),
    ]
}

/// A linear combination of independent figures.
fn combined(terms: &[(f64, Bounds)]) -> Bounds {
    let value: f64 = terms.iter().map(|(factor, [_, value, _])| factor * value).sum();
    let (mut below, mut above) = (0.0, 0.0);
    for &(factor, [low, value, high]) in terms {
        let (down, up) = (factor * (value - low), factor * (high - value));
        let (down, up) = if factor < 0.0 { (-up, -down) } else { (down, up) };
        below += down * down;
        above += up * up;
    }
    [value - below.sqrt(), value, value + above.sqrt()]
}

#[cfg(test)]
mod tests {
    use rand_distr::{Distribution, StandardNormal};
    use rand_pcg::Pcg64;
    use rand_pcg::rand_core::SeedableRng;

    use super::*;
    use crate::analysis::series::Series;
    use crate::analysis::timeline::Placed;
    use crate::analysis::waiting::Line;
    use crate::units::{Nanos, Stamp};

    /// Response times around `ms` whose logarithm is autoregressive of the first order.
    fn responses(ms: f64, phi: f64, n: usize, seed: u64) -> Vec<i64> {
        let mut random = Pcg64::seed_from_u64(seed);
        let mut x: f64 = StandardNormal.sample(&mut random);
        let drawn = (0..n).map(|_| {
            let noise: f64 = StandardNormal.sample(&mut random);
            x = phi * x + (1.0 - phi * phi).sqrt() * noise;
            (ms * 1e6 * (0.1 * x).exp()) as i64
        });
        drawn.collect()
    }

    fn sample(in_order: Vec<i64>) -> Sample {
        let mut series = Series::default();
        in_order.iter().for_each(|&ns| series.push(Nanos(ns), true));
        let placed = in_order.into_iter().zip(0..).map(|(took, at)| Placed {
            sequence: at,
            released: Stamp(at as i64),
            took,
        });
        Sample::new(series.finish(), placed, Line::default())
    }

    /// A design whose phases have these medians.
    fn made(ms: [f64; 4], phi: f64, n: usize, seed: u64) -> [Sample; 4] {
        let mut cell = 0;
        ms.map(|ms| {
            cell += 1;
            sample(responses(ms, phi, n, seed * 4 + cell))
        })
    }

    #[test]
    fn known_effects_and_their_interaction_are_recovered_as_often_as_the_intervals_say() {
        // Own 3 ms, co-runner's 5 ms, interaction 2 ms, on the median; on p99 as many times e^0.2326.
        let times = [1.0, (0.1f64 * 2.326_347_874).exp()];
        for (phi, n) in [(0.0, 800), (0.5, 1600)] {
            const RUNS: u64 = 150;
            let (mut held, mut shown) = ([[0u64; 3]; 2], [0u64; 2]);
            for run in 0..RUNS {
                let cells = made([10.0, 14.0, 12.0, 18.0], phi, n, run);
                let found = measured(cells.each_ref(), 0.95);
                for (which, held) in held.iter_mut().enumerate() {
                    // p99 is withheld if the frames of a phase are too strongly autocorrelated.
                    let Some((_, base, effects)) = found.iter().find(|found| found.0 == MEASURES[which])
                    else {
                        assert!(which == 1, "p50 is always there");
                        continue;
                    };
                    shown[which] += 1;
                    assert!((base / times[which] - 10.0).abs() < 2.0);
                    for ((held, [low, _, high]), truth) in held.iter_mut().zip(effects).zip([3.0, 5.0, 2.0]) {
                        let truth = truth * times[which];
                        *held += u64::from(*low <= truth && truth <= *high);
                    }
                }
            }
            println!(
                "φ {phi}, {n} frames: of {shown:?}, p50 {:?}, p99 {:?} held",
                held[0], held[1]
            );
            for (held, shown) in held.iter().zip(shown) {
                assert!(
                    held.iter().all(|&held| held >= shown * 93 / 100),
                    "φ {phi}: {held:?} of {shown}"
                );
            }
        }
    }

    /// Runs of 100 in which any effect of two detectors is found.
    fn finding(ms: [f64; 4], phi: f64, n: usize) -> usize {
        let runs = 0..100;
        let any = |&seed: &u64| {
            let (one, other) = (made(ms, phi, n, seed), made([20.0; 4], phi, n, 1_000 + seed));
            let designs =
                [([0, 1, 2, 3], &one), ([2, 3, 0, 1], &other)].map(|([a, b, c, d], cells)| Design {
                    sharing: "Streams",
                    tenant: [a, b],
                    with: [c, d],
                    cells: cells.each_ref(),
                });
            let told = told(&["a", "b", "c", "d"], &designs);
            assert!(
                matches!(told.len(), 2..=6),
                "two detectors, three measures of which two need p99"
            );
            told.iter()
                .any(|c| c.own.found || c.co_runner.found || c.interaction.found)
        };
        runs.filter(any).count()
    }

    #[test]
    fn where_inputs_do_nothing_few_runs_find_any_effect_and_where_they_do_most_find_it() {
        for (phi, n) in [(0.0, 1200), (0.7, 2400)] {
            let (without, with) = (
                finding([10.0; 4], phi, n),
                finding([10.0, 10.0, 11.0, 11.0], phi, n),
            );
            println!(
                "φ {phi}: of 100 runs {without} find an effect where there is none, {with} one of a tenth"
            );
            assert!(without <= 5, "φ {phi}: {without}");
            assert!(with >= 90, "φ {phi}: {with}");
        }
    }

    #[test]
    fn a_tail_needs_its_frames_in_every_phase() {
        let long = sample(responses(10.0, 0.0, 700, 1));
        let short = sample(responses(10.0, 0.0, 600, 2));
        let none = sample(Vec::new());
        let measures =
            |cells| -> Vec<&str> { measured(cells, 0.95).iter().map(|(name, ..)| *name).collect() };
        assert_eq!(measures([&long, &long, &long, &short]), ["p50_ms"]);
        assert_eq!(measures([&long; 4]), ["p50_ms", "p99_ms", "relative_spread"]);
        assert!(measures([&long, &long, &long, &none]).is_empty());
    }

    #[test]
    fn contrasts_are_those_of_the_published_method() {
        // AA 1, AB 2, BA 4, BB 9: own 3 and 7, co-runner's 1 and 5, interaction 4.
        let cells = [1.0, 2.0, 4.0, 9.0].map(|value| [value - 1.0, value, value + 2.0]);
        let [own, co_runner, interaction] = effects(cells);
        assert_eq!([own[1], co_runner[1], interaction[1]], [5.0, 3.0, 4.0]);
        // Each end takes the lower ends of what is added and the upper ends of what is taken off.
        let side = (4.0f64 + 4.0 + 1.0 + 1.0).sqrt();
        assert_eq!(interaction, [4.0 - side, 4.0, 4.0 + side]);
        assert_eq!(own, [5.0 - side / 2.0, 5.0, 5.0 + side / 2.0]);
    }

    #[test]
    fn the_effects_of_all_contrasts_share_one_in_twenty() {
        for (contrasts, effects) in [(1, 3.0), (2, 6.0), (6, 18.0)] {
            assert!(
                (1.0 - strict_confidence(contrasts) - 0.05 / effects).abs() < 1e-12,
                "{contrasts}"
            );
        }
        assert_eq!(strict_confidence(0), 0.95);
    }

    #[test]
    fn inputs_that_make_a_detector_faster_are_found_as_well() {
        let found = finding([11.0, 11.0, 10.0, 10.0], 0.0, 1200);
        assert!(found >= 90, "{found} of 100");
    }

    #[test]
    fn the_relative_spread_is_that_of_p99_over_p50_and_of_no_time_there_is_none() {
        let [low, value, high] = spread([1.5, 2.0, 2.5], [5.0, 6.0, 9.0]).unwrap();
        assert!((value - 2.0).abs() < 1e-12, "{value}");
        // By their logarithms: each end takes the lower end of p99 and the upper one of p50, or the other way round.
        let side = |p50: f64, p99: f64| (p50 / 2.0).ln().hypot((p99 / 6.0).ln());
        assert!(
            (low - (3.0 * (-side(2.5, 5.0)).exp() - 1.0)).abs() < 1e-12,
            "{low}"
        );
        assert!(
            (high - (3.0 * side(1.5, 9.0).exp() - 1.0)).abs() < 1e-12,
            "{high}"
        );
        assert_eq!(spread([0.0, 2.0, 2.5], [5.0, 6.0, 9.0]), None);
        assert_eq!(spread([1.5, 2.0, 2.5], [0.0, 6.0, 9.0]), None);
    }
}
