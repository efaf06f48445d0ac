//! The effects of the inputs of two detectors on each of them: of its own input, of its co-runner's, and their
//! interaction.
//!
//! Each input of a detector is a tenant of its own (`matrix: (inputs: …)`), and every pair across detectors is a
//! phase. With inputs A and B, the first letter for the detector's own input and the second for its co-runner's, the
//! contrasts of a measure are those that are published for pairs of detectors: own = ½((BA − AA) + (BB − AB)),
//! co-runner = ½((AB − AA) + (BB − BA)), interaction = BB − BA − AB + AA. The four pairs run in turns, and the intervals are from what
//! rounds differ by ([`Figure`]).
//!
//! A run has many effects, and of twenty 95 % intervals one excludes zero by chance. An effect counts as *found* if
//! its interval at 1 − 0.05 ÷ (number of effects in the run) excludes zero.

use std::collections::BTreeMap;

use jetlag_stats::quantile::Quantile;

use super::Phases;
use super::figure::{FEWEST, Figure};
use super::turns::Frame;
use crate::analysis::stats::six_decimals;
use crate::analysis::summary::interference::{Contrast, Effect};

/// Measures of which effects are computed, by their JSON names.
const MEASURES: [&str; 3] = ["p50_ms", "p99_ms", "relative_spread"];

/// Effects of a measure.
const EFFECTS: usize = 3;

/// All contrasts of a run: each further input against the first, for every two detectors.
pub(super) fn contrasts(names: &[&str], inputs: &[Vec<String>], phases: &Phases) -> Vec<Contrast> {
    let mut sharings: Vec<&str> = Vec::new();
    for cell in phases.cells() {
        let spec = &cell.spec;
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
                    phases.turns(&[tenant.min(beside), tenant.max(beside)], sharing, tenant)
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
                            cells: in_common([aa, ab, ba, bb]),
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
    cells: Cells,
}

/// The response times of AA, AB, BA and BB by round, of rounds that all four have.
type Cells = [Vec<Vec<i64>>; 4];

fn in_common(cells: [&BTreeMap<u16, Vec<Frame>>; 4]) -> Cells {
    let has = |round: &u16| {
        cells
            .iter()
            .all(|cell| cell.get(round).is_some_and(|frames| !frames.is_empty()))
    };
    cells.map(|cell| {
        let rounds = cell.iter().filter(|(round, _)| has(round));
        rounds
            .map(|(_, frames)| frames.iter().map(|frame| frame.took).collect())
            .collect()
    })
}

/// The contrasts of all designs; the significance level depends on their number.
fn told(names: &[&str], designs: &[Design<'_>]) -> Vec<Contrast> {
    let of_each: Vec<Vec<Measured>> = designs
        .iter()
        .map(|design| measured(&design.cells, 0.95))
        .collect();
    let strict = strict_confidence(of_each.iter().map(Vec::len).sum());
    let mut contrasts = Vec::new();
    for (design, all) in designs.iter().zip(of_each) {
        let strict = measured(&design.cells, strict);
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

/// The lower bound of an effect, the effect, and its upper bound.
type Bounds = [f64; 3];

/// One measure of a design: its name, its value with the first input of both, and its three effects.
type Measured = (&'static str, f64, [Bounds; EFFECTS]);

/// Every measure that the frames of all four pairs support.
fn measured(cells: &Cells, confidence: f64) -> Vec<Measured> {
    if cells.iter().any(|rounds| rounds.len() < FEWEST) {
        return Vec::new();
    }
    let measures = cells.each_ref().map(|rounds| {
        let count: usize = rounds.iter().map(Vec::len).sum();
        let log = |quantile: Quantile| {
            let supported = quantile.supported_by(count as u64);
            supported
                .then(|| Figure::log_quantile(rounds, quantile))
                .flatten()
        };
        let (p50, p99) = (log(Quantile::P50), log(Quantile::P99));
        let in_ms = |log: &Figure| Figure::sum(&[(1e-6, &log.exp())]);
        let spread = p50.as_ref().zip(p99.as_ref());
        // (p99 − p50) ÷ p50.
        let spread = spread.map(|(p50, p99)| Figure::sum(&[(1.0, p99), (-1.0, p50)]).exp().less(1.0));
        [p50.as_ref().map(in_ms), p99.as_ref().map(in_ms), spread]
    });
    let of_measure = |(place, &name): (usize, &&'static str)| {
        let [aa, ab, ba, bb] = measures.each_ref().map(|of_cell| of_cell[place].as_ref());
        let cells = [aa?, ab?, ba?, bb?];
        let bounds = effects(cells).map(|effect| {
            let [low, high] = effect.interval(confidence)?;
            Some([low, effect.value, high])
        });
        let [own, co_runner, interaction] = bounds;
        Some((name, cells[0].value, [own?, co_runner?, interaction?]))
    };
    MEASURES.iter().enumerate().filter_map(of_measure).collect()
}

/// Own, co-runner's and interaction.
fn effects([aa, ab, ba, bb]: [&Figure; 4]) -> [Figure; EFFECTS] {
    [
        Figure::sum(&[(-0.5, aa), (-0.5, ab), (0.5, ba), (0.5, bb)]),
        Figure::sum(&[(-0.5, aa), (0.5, ab), (-0.5, ba), (0.5, bb)]),
        Figure::sum(&[(1.0, aa), (-1.0, ab), (-1.0, ba), (1.0, bb)]),
    ]
}

#[cfg(test)]
mod tests {
    use rand_distr::{Distribution, StandardNormal};
    use rand_pcg::Pcg64;
    use rand_pcg::rand_core::SeedableRng;

    use super::*;

    /// Rounds of response times around `ms` whose logarithm is autoregressive of the first order; the machine drifts.
    fn responses(ms: f64, phi: f64, frames: usize, seed: u64) -> Vec<Vec<i64>> {
        const ROUNDS: usize = 20;
        let mut random = Pcg64::seed_from_u64(seed);
        let round = |round: usize| {
            let mut x: f64 = StandardNormal.sample(&mut random);
            let drawn = (0..frames / ROUNDS).map(|_| {
                let noise: f64 = StandardNormal.sample(&mut random);
                x = phi * x + (1.0 - phi * phi).sqrt() * noise;
                (ms * 1e6 * (1.0 + 0.002 * (round as f64 - 9.5)) * (0.1 * x).exp()) as i64
            });
            drawn.collect()
        };
        (0..ROUNDS).map(round).collect()
    }

    /// A design whose pairs have these medians.
    fn made(ms: [f64; 4], phi: f64, n: usize, seed: u64) -> Cells {
        let mut cell = 0;
        ms.map(|ms| {
            cell += 1;
            responses(ms, phi, n, seed * 4 + cell)
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
                let found = measured(&cells, 0.95);
                for (which, held) in held.iter_mut().enumerate() {
                    // p99 takes frames.
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
                    cells: cells.clone(),
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
    fn a_tail_needs_its_frames_in_every_pair_and_all_need_rounds() {
        let long = responses(10.0, 0.0, 700, 1);
        let short = responses(10.0, 0.0, 600, 2);
        let measures = |last: &[Vec<i64>]| -> Vec<&str> {
            let cells = [long.clone(), long.clone(), long.clone(), last.to_vec()];
            measured(&cells, 0.95).iter().map(|(name, ..)| *name).collect()
        };
        assert_eq!(measures(&short), ["p50_ms"]);
        assert_eq!(measures(&long), ["p50_ms", "p99_ms", "relative_spread"]);
        assert!(measures(&long[..3]).is_empty());
    }

    #[test]
    fn contrasts_are_those_of_the_published_method() {
        // AA 1, AB 2, BA 4, BB 9: own 3 and 7, co-runner's 1 and 5, interaction 4.
        let cells = [1.0, 2.0, 4.0, 9.0].map(|ms: f64| {
            let rounds = vec![vec![(ms * 1e6) as i64; 20]; 4];
            Figure::log_quantile(&rounds, Quantile::P50).unwrap().exp()
        });
        let [own, co_runner, interaction] =
            effects(cells.each_ref()).map(|effect| (effect.value / 1e6 * 1e3).round() / 1e3);
        assert_eq!([own, co_runner, interaction], [5.0, 3.0, 4.0]);
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
}
