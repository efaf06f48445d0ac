//! What the inputs of two detectors do to each of them: the effect of its own input, that of its co-runner's, and
//! their interaction.
//!
//! The inputs of a detector are tenants of their own (`matrix: (inputs: …)`), and every pair across detectors is a
//! phase. With A and B two inputs, the first letter the detector's own, the second its co-runner's, the contrasts of a
//! measure are those that are published for pairs of detectors: own = ½((BA − AA) + (BB − AB)), co-runner
//! = ½((AB − AA) + (BB − BA)), interaction = BB − BA − AB + AA. The interval is a block bootstrap of the four phases,
//! each resampled by itself.

use serde::Serialize;

use super::Phases;
use super::bootstrap::{Resampler, middle_95, resamples};
use crate::analysis::quantile::Quantile;
use crate::analysis::stats::six_decimals;
use crate::analysis::tenant::Samples;
use crate::record::{Phase, PhaseSpec};

/// What two inputs of a detector, and two of its co-runner, do to a measure of its response time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Contrast {
    /// The way of sharing.
    pub sharing: String,
    /// The detector's tenant with the first input, and with the other.
    pub tenant: [String; 2],
    /// The same of its co-runner.
    pub with: [String; 2],
    /// `p50_ms`, `p99_ms`, or `relative_spread`, which is (p99 − p50) ÷ p50.
    pub measure: &'static str,
    /// The measure with the first input of both: what the effects are added to.
    pub base: f64,
    /// The other input of its own, over both inputs of the co-runner.
    pub own: Effect,
    /// The other input of the co-runner, over both of its own.
    pub co_runner: Effect,
    /// By how much more the two do together than one by one.
    pub interaction: Effect,
}

/// A difference of means over the layout, in the unit of its measure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Effect {
    /// The estimate.
    pub value: f64,
    /// Its 95 % interval.
    pub ci95: [f64; 2],
}

/// From response times in any order to a measure of them.
type Measure = fn(&mut [i64]) -> f64;

/// The measures, and the quantile that each needs.
const MEASURES: [(&str, Quantile, Measure); 3] = [
    ("p50_ms", Quantile::P50, |values| ms(values, Quantile::P50)),
    ("p99_ms", Quantile::P99, |values| ms(values, Quantile::P99)),
    ("relative_spread", Quantile::P99, |values| {
        let p50 = ms(values, Quantile::P50);
        (ms(values, Quantile::P99) - p50) / p50
    }),
];

fn ms(values: &mut [i64], quantile: Quantile) -> f64 {
    let rank = quantile.rank(values.len() as u64).max(1) as usize;
    let (_, &mut value, _) = values.select_nth_unstable(rank - 1);
    value as f64 / 1e6
}

/// All contrasts of a run: each input after the first against the first, for every two detectors.
pub(super) fn contrasts(
    names: &[&str],
    inputs: &[Vec<String>],
    phases: &Phases,
    samples: &[Samples],
    seed: u64,
) -> Vec<Contrast> {
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
    let mut found = Vec::new();
    for sharing in sharings {
        for (which, own) in groups.iter().enumerate() {
            for (_, other) in groups.iter().enumerate().filter(|&(place, _)| place != which) {
                let responses = |tenant: u16, beside: u16| {
                    let phase = pair(phases.specs(), sharing, tenant, beside)?;
                    phases
                        .sample(phase, tenant, samples)
                        .map(|sample| sample.in_order.as_slice())
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
                        let draws_each = resamples([aa, ab, ba, bb].iter().map(|cell| cell.len()).sum());
                        let named =
                            |tenants: [u16; 2]| tenants.map(|tenant| names[usize::from(tenant)].to_owned());
                        found.extend(layout([aa, ab, ba, bb], seed, draws_each).into_iter().map(
                            |(measure, base, effects)| {
                                let [own, co_runner, interaction] = effects;
                                Contrast {
                                    sharing: sharing.to_owned(),
                                    tenant: named([a, b]),
                                    with: named([c, d]),
                                    measure,
                                    base: six_decimals(base),
                                    own,
                                    co_runner,
                                    interaction,
                                }
                            },
                        ));
                    }
                }
            }
        }
    }
    found
}

/// The phase in which just these two ran, at their own rates.
fn pair(specs: &[PhaseSpec], sharing: &str, a: u16, b: u16) -> Option<Phase> {
    let members = [a.min(b), a.max(b)];
    let of_them =
        |spec: &&PhaseSpec| spec.members == members && spec.sharing == sharing && spec.rate.is_none();
    specs.iter().find(of_them).map(|spec| spec.phase)
}

/// One measure of a layout: its name, its value with the first input of both, and its three effects.
type Measured = (&'static str, f64, [Effect; 3]);

/// Every measure that all four phases (AA, AB, BA, BB: response times in order) have frames for.
fn layout(cells: [&[i64]; 4], seed: u64, draws_each: usize) -> Vec<Measured> {
    let least = cells.map(<[i64]>::len).into_iter().min().unwrap_or(0) as u64;
    let supported: Vec<_> = MEASURES
        .into_iter()
        .filter(|(_, quantile, _)| quantile.supported_by(least))
        .collect();
    if supported.is_empty() {
        return Vec::new();
    }
    let mut draws: Vec<[Vec<f64>; 3]> = supported.iter().map(|_| Default::default()).collect();
    let mut seeds = seed;
    let mut resamplers = cells.map(|cell| {
        seeds = seeds.wrapping_add(1);
        Resampler::new(cell, seeds)
    });
    for _ in 0..draws_each {
        let mut values = vec![[0.0; 4]; supported.len()];
        for (cell, resampler) in resamplers.iter_mut().enumerate() {
            let drawn = resampler.draw();
            for (values, (_, _, measure)) in values.iter_mut().zip(&supported) {
                values[cell] = measure(drawn);
            }
        }
        for (draws, values) in draws.iter_mut().zip(values) {
            for (draws, effect) in draws.iter_mut().zip(effects(values)) {
                draws.push(effect);
            }
        }
    }
    supported
        .into_iter()
        .zip(draws)
        .filter_map(|((name, _, measure), draws)| {
            let estimates = cells.map(|cell| measure(&mut cell.to_vec()));
            let [own, co_runner, interaction] = effects(estimates);
            let [d_own, d_co, d_inter] = draws;
            let effect = |value: f64, draws: Vec<f64>| {
                middle_95(draws).map(|interval| Effect {
                    value: six_decimals(value),
                    ci95: interval.map(six_decimals),
                })
            };
            let effects = [
                effect(own, d_own)?,
                effect(co_runner, d_co)?,
                effect(interaction, d_inter)?,
            ];
            Some((name, estimates[0], effects))
        })
        .collect()
}

/// Own, co-runner's and interaction.
fn effects([aa, ab, ba, bb]: [f64; 4]) -> [f64; 3] {
    [
        ((ba - aa) + (bb - ab)) / 2.0,
        ((ab - aa) + (bb - ba)) / 2.0,
        bb - ba - ab + aa,
    ]
}

#[cfg(test)]
mod tests {
    use rand_distr::{Distribution, StandardNormal};
    use rand_pcg::Pcg64;
    use rand_pcg::rand_core::SeedableRng;

    use super::*;

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

    /// The share of runs whose intervals hold the known effects on the median: own 3 ms, co-runner's 5 ms,
    /// interaction 2 ms.
    fn held(phi: f64, n: usize, runs: u64) -> [f64; 3] {
        let truth = [3.0, 5.0, 2.0];
        let mut held = [0.0; 3];
        for run in 0..runs {
            let cells: Vec<Vec<i64>> = [10.0, 14.0, 12.0, 18.0]
                .iter()
                .zip(0..)
                .map(|(&ms, cell)| responses(ms, phi, n, run * 4 + cell))
                .collect();
            let found = layout([&cells[0], &cells[1], &cells[2], &cells[3]], run, 300);
            let (measure, base, effects) = &found[0];
            assert_eq!(*measure, "p50_ms");
            assert!((base - 10.0).abs() < 1.0);
            for ((held, effect), truth) in held.iter_mut().zip(effects).zip(truth) {
                let [low, high] = effect.ci95;
                *held += f64::from(u8::from(low <= truth && truth <= high)) / runs as f64;
            }
        }
        held
    }

    #[test]
    fn known_effects_and_their_interaction_are_recovered_as_often_as_the_intervals_say() {
        for (phi, n) in [(0.0, 300), (0.5, 600)] {
            let held = held(phi, n, 150);
            println!("φ {phi}, {n} frames: {held:?} held");
            for share in held {
                assert!((0.90..=0.99).contains(&share), "φ {phi}, {n} frames: {held:?}");
            }
        }
    }

    #[test]
    fn a_tail_needs_its_frames_in_every_phase() {
        let long = responses(10.0, 0.0, 700, 1);
        let short = responses(10.0, 0.0, 600, 2);
        let measures = |cells| {
            layout(cells, 1, 20)
                .iter()
                .map(|(name, ..)| *name)
                .collect::<Vec<_>>()
        };
        assert_eq!(measures([&long, &long, &long, &short]), ["p50_ms"]);
        assert_eq!(measures([&long; 4]), ["p50_ms", "p99_ms", "relative_spread"]);
        assert!(measures([&long, &long, &long, &[]]).is_empty());
    }

    #[test]
    fn contrasts_are_those_of_the_published_method() {
        // AA 1, AB 2, BA 4, BB 9: own 3 and 7, co-runner's 1 and 5, interaction 4.
        assert_eq!(effects([1.0, 2.0, 4.0, 9.0]), [5.0, 3.0, 4.0]);
    }
}
