//! A slowdown from turns: what a tenant takes beside others over what it takes alone, where both ran in each of several rounds.
//!
//! The figure of a quantile is that of all turns beside others over that of all turns alone, with an interval from what rounds
//! differ by ([`Figure`]). Chosen among others by measurement: docs/measurement.md.

use jetlag_stats::moments::mean_and_variance;
use jetlag_stats::quantile::Quantile;

use super::figure::{FEWEST, Figure, sharing};
use crate::analysis::gathering::responses::Responses;
use crate::analysis::stats::{quotient, six_decimals};
use crate::analysis::summary::interference::Withheld;
use crate::analysis::summary::{Estimate, Slowdown};

const CONFIDENCE: f64 = 0.95;
/// The first part of a turn, in which a tenant may still settle.
const FIRST_PART: f64 = 0.25;
/// … and does, where it differs from the rest by this many standard errors.
const SETTLES: f64 = 3.0;
/// A tail is one of few bursts where fewer rounds share the frames beyond a quantile.
const SHARING: [(Quantile, f64); 2] = [(Quantile::P90, 2.0), (Quantile::P99, 4.0)];
/// A median of fewer frames is not even a description.
const FEWEST_FRAMES: usize = 30;

/// One completed frame of a turn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Frame {
    /// How much of the turn's measured time had passed when it was released, from 0 to 1.
    pub(super) at: f64,
    /// Its response time in nanoseconds.
    pub(super) took: i64,
}

/// A tenant's turns of one round.
#[derive(Clone, Debug, Default)]
pub(super) struct Round<'a> {
    /// Beside others.
    pub(super) together: &'a [Frame],
    /// Alone.
    pub(super) alone: &'a [Frame],
}

/// The slowdown of a tenant from its complete rounds; none where there is no such round.
pub(super) fn slowdown(rounds: &[Round<'_>]) -> Option<Slowdown> {
    let rounds: Vec<&Round<'_>> = rounds
        .iter()
        .filter(|round| !round.together.is_empty() && !round.alone.is_empty())
        .collect();
    if rounds.is_empty() {
        return None;
    }
    let sides: [Vec<&[Frame]>; 2] = [
        rounds.iter().map(|round| round.together).collect(),
        rounds.iter().map(|round| round.alone).collect(),
    ];
    // The same part of both sides: a source begins each turn with the same frames.
    let from = match sides.iter().any(|turns| settles(turns)) {
        true => FIRST_PART,
        false => 0.0,
    };
    let kept = |turns: &[&[Frame]]| -> Vec<Vec<i64>> {
        let of = |turn: &&[Frame]| {
            turn.iter()
                .filter(|frame| frame.at >= from)
                .map(|frame| frame.took)
                .collect()
        };
        turns.iter().map(of).collect()
    };
    let by_round = sides.each_ref().map(|turns| kept(turns));
    let [p50, p90, p99] =
        [Quantile::P50, Quantile::P90, Quantile::P99].map(|quantile| ratio(&by_round, quantile));
    let exp = |log: f64| six_decimals(log.exp());
    let estimate = |found: &Result<Figure, Withheld>| match found {
        Ok(ratio) => Estimate {
            ci95: ratio.interval(CONFIDENCE).map(|ends| ends.map(exp)),
            ..Estimate::of_run(exp(ratio.value))
        },
        Err(_) => Estimate::default(),
    };
    let [together, alone] = &by_round;
    let medians = together.iter().zip(alone);
    Some(Slowdown {
        p50: estimate(&p50),
        p90: estimate(&p90),
        p99: estimate(&p99),
        rounds: rounds.len() as u64,
        by_round: medians
            .map(|(together, alone)| median_ratio(together, alone))
            .collect(),
        left_out_share: from,
        alone_count: alone.iter().map(Vec::len).sum::<usize>() as u64,
        of_frames: (fewest(&by_round) >= FEWEST_FRAMES)
            .then(|| median_ratio(&together.concat(), &alone.concat()))
            .flatten(),
        withheld: [p50, p90, p99].into_iter().find_map(Result::err),
    })
}

/// What there is of a tenant that ran alone and beside others in one piece each: nothing but a ratio for models.
pub(super) fn of_blocks(together: &Responses, alone: &Responses) -> Slowdown {
    let sides = [&together.in_order, &alone.in_order].map(|frames| vec![frames.clone()]);
    Slowdown {
        alone_count: alone.distribution.count(),
        of_frames: (fewest(&sides) >= FEWEST_FRAMES)
            .then(|| median_ratio(&together.in_order, &alone.in_order))
            .flatten(),
        withheld: Some(Withheld {
            code: "not-interleaved",
            message: "alone and together were measured one after the other, so that whatever the machine did meanwhile is in their \
                      ratio; measure again: `baseline: (alone: true)` takes them in turns"
                .to_owned(),
        }),
        ..Slowdown::default()
    }
}

/// Frames of the side that has fewer.
fn fewest(sides: &[Vec<Vec<i64>>; 2]) -> usize {
    let count = |rounds: &Vec<Vec<i64>>| rounds.iter().map(Vec::len).sum();
    sides.each_ref().map(count).into_iter().min().unwrap_or(0)
}

/// The logarithm of a ratio of quantiles, or why it is withheld.
fn ratio(sides: &[Vec<Vec<i64>>; 2], quantile: Quantile) -> Result<Figure, Withheld> {
    let (rounds, fewest) = (sides[0].len(), fewest(sides));
    let name = format!("p{:.0}", quantile.share() * 100.0);
    let withheld = |code, message| Err(Withheld { code, message });
    if rounds < FEWEST {
        let turns = if rounds == 1 {
            "1 round of turns was complete"
        } else {
            &format!("{rounds} rounds of turns were complete")
        };
        return withheld(
            "too-few-rounds",
            format!("{turns}, and an interval takes {FEWEST}; set a longer `duration`, or a shorter `turn`"),
        );
    }
    if !quantile.supported_by(fewest as u64) {
        let times = quantile.needs().div_ceil(fewest.max(1) as u64).max(2);
        return withheld(
            "too-few-frames",
            format!("turns have too few frames for the {name}; set a `duration` {times} times as long"),
        );
    }
    let least = SHARING
        .iter()
        .find(|(of, _)| *of == quantile)
        .map_or(0.0, |(_, least)| *least);
    if sides.iter().any(|rounds| sharing(rounds, quantile) < least) {
        return withheld(
            "few-bursts",
            format!("frames beyond the {name} came in bursts, in very few rounds; set a longer `duration`"),
        );
    }
    match sides
        .each_ref()
        .map(|rounds| Figure::log_quantile(rounds, quantile))
    {
        [Some(together), Some(alone)] => Ok(Figure::sum(&[(1.0, &together), (-1.0, &alone)])),
        _ => withheld(
            "no-time",
            format!("the {name} is no time above zero, so there is nothing to divide by"),
        ),
    }
}

/// The ratio of medians; none where no frame is left of one of them.
fn median_ratio(together: &[i64], alone: &[i64]) -> Option<f64> {
    quotient(median(together.to_vec()), median(alone.to_vec()))
}

fn median(mut durations: Vec<i64>) -> Option<f64> {
    Quantile::P50.of(&mut durations, Ord::cmp).map(|ns| ns as f64)
}

/// Whether the first part of the turns differs from their rest, over all rounds.
fn settles(turns: &[&[Frame]]) -> bool {
    let differences: Option<Vec<f64>> = turns
        .iter()
        .map(|turn| {
            let part = |first: bool| {
                let of_it = turn.iter().filter(|frame| (frame.at < FIRST_PART) == first);
                median(of_it.map(|frame| frame.took).collect()).filter(|median| *median > 0.0)
            };
            Some((part(true)? / part(false)?).ln())
        })
        .collect();
    let Some(differences) = differences.filter(|differences| differences.len() >= FEWEST) else {
        return false;
    };
    mean_and_variance(&differences)
        .is_some_and(|(mean, variance)| mean.abs() > SETTLES * (variance / differences.len() as f64).sqrt())
}

#[cfg(test)]
mod tests {
    use rand_distr::{Distribution, StandardNormal};
    use rand_pcg::Pcg64;
    use rand_pcg::rand_core::SeedableRng;

    use super::*;

    /// How a machine and a tenant behave.
    #[derive(Clone, Copy, Debug)]
    struct World {
        /// Correlation of neighbouring frames of a turn.
        phi: f64,
        /// Of the logarithm of what a frame takes, alone and beside others.
        sigma: [f64; 2],
        /// Twice as long are so many of the frames, alone and beside others.
        slow: [f64; 2],
        /// How much slower the machine becomes over the run, beginning as much faster.
        drift: f64,
        /// How far it wanders besides, slowly.
        wander: f64,
    }

    const INDEPENDENT: World = World {
        phi: 0.0,
        sigma: [0.15, 0.15],
        slow: [0.0, 0.0],
        drift: 0.0,
        wander: 0.0,
    };
    const FACTOR: f64 = 1.3;

    fn normal(random: &mut Pcg64) -> f64 {
        StandardNormal.sample(random)
    }

    /// So many rounds, of so many frames a turn: alone and beside others.
    fn drawn(world: World, rounds: usize, frames: usize, random: &mut Pcg64) -> [Vec<Vec<Frame>>; 2] {
        let mut sides = [Vec::new(), Vec::new()];
        let mut wandered = normal(random);
        for round in 0..rounds {
            for turn in 0..2 {
                // Alone first, and then last.
                let side = (turn + round) % 2;
                let passed = (2 * round + turn) as f64 / (2 * rounds) as f64;
                let mut x = normal(random);
                let one = |frame: usize| {
                    x = world.phi * x + (1.0 - world.phi * world.phi).sqrt() * normal(random);
                    wandered = 0.9995 * wandered + 0.0316 * normal(random);
                    let share = libm::erfc(-normal(random) / std::f64::consts::SQRT_2) / 2.0;
                    let slow = if share < world.slow[side] { 2.0 } else { 1.0 };
                    let machine =
                        (1.0 + world.drift * (2.0 * passed - 1.0)) * (world.wander * wandered).exp();
                    let own = (world.sigma[side] * x).exp() * slow * if side == 1 { FACTOR } else { 1.0 };
                    Frame {
                        at: frame as f64 / frames as f64,
                        took: (10e6 * own * machine) as i64,
                    }
                };
                sides[side].push((0..frames).map(one).collect::<Vec<Frame>>());
            }
        }
        sides
    }

    fn rounds_of([alone, together]: &[Vec<Vec<Frame>>; 2]) -> Vec<Round<'_>> {
        let both = together.iter().zip(alone);
        both.map(|(together, alone)| Round { together, alone }).collect()
    }

    /// The true ratios of a world, from very long turns.
    fn truth(world: World) -> [f64; 3] {
        let world = World {
            phi: 0.0,
            wander: 0.0,
            ..world
        };
        let sides = drawn(world, 400, 1_000, &mut Pcg64::seed_from_u64(1)).map(|turns| {
            let mut all: Vec<i64> = turns.concat().iter().map(|frame| frame.took).collect();
            all.sort_unstable();
            all
        });
        [0.5, 0.9, 0.99].map(|p| {
            let [alone, together] = sides
                .each_ref()
                .map(|all| all[(all.len() as f64 * p) as usize] as f64);
            together / alone
        })
    }

    #[test]
    fn intervals_hold_the_true_slowdown_whatever_frames_and_machine_do() {
        const SEEDS: u64 = 300;
        let wild = |phi, wander, drift| World {
            phi,
            wander,
            drift,
            ..INDEPENDENT
        };
        for (name, world) in [
            ("independent", INDEPENDENT),
            ("independent, drift of ±20 %", wild(0.0, 0.0, 0.2)),
            ("AR 0.7", wild(0.7, 0.0, 0.0)),
            ("AR 0.97", wild(0.97, 0.0, 0.0)),
            ("AR 0.97, drift of ±20 %", wild(0.97, 0.0, 0.2)),
            ("AR 0.7, wandering by 15 %", wild(0.7, 0.15, 0.0)),
            (
                "lognormal, wider beside others",
                World {
                    sigma: [0.1, 0.4],
                    ..INDEPENDENT
                },
            ),
            (
                "bimodal, more slow beside others",
                World {
                    sigma: [0.05, 0.05],
                    slow: [0.3, 0.6],
                    ..INDEPENDENT
                },
            ),
            (
                "a tail beside others",
                World {
                    sigma: [0.05, 0.05],
                    slow: [0.0, 0.05],
                    ..INDEPENDENT
                },
            ),
        ] {
            let truth = truth(world);
            for (rounds, frames) in [(4, 60), (8, 20), (8, 60), (8, 200), (25, 60)] {
                let (mut held, mut shown, mut widths) = ([0.0; 3], [0.0; 3], [const { Vec::new() }; 3]);
                for seed in 0..SEEDS {
                    let mut random = Pcg64::seed_from_u64(1_000 + seed);
                    let sides = drawn(world, rounds, frames, &mut random);
                    let found = slowdown(&rounds_of(&sides)).unwrap();
                    assert!(
                        found.p50.value.is_some(),
                        "{name}, {rounds} rounds: {:?}",
                        found.withheld
                    );
                    for (which, interval) in [found.p50.ci95, found.p90.ci95, found.p99.ci95]
                        .into_iter()
                        .enumerate()
                    {
                        let Some([low, high]) = interval else { continue };
                        shown[which] += 1.0;
                        held[which] += f64::from(u8::from((low..=high).contains(&truth[which])));
                        widths[which].push((high - low) / 2.0 / truth[which]);
                    }
                }
                let told = [0, 1, 2].map(|which| {
                    widths[which].sort_by(f64::total_cmp);
                    let width = widths[which]
                        .get(widths[which].len() / 2)
                        .copied()
                        .unwrap_or(f64::NAN);
                    let share = held[which] / f64::max(shown[which], 1.0);
                    format!(
                        "{:.0} % of {:.0} %, ±{:.1} %",
                        100.0 * share,
                        100.0 * shown[which] / SEEDS as f64,
                        100.0 * width
                    )
                });
                println!("| {name} | {rounds} × {frames} | {} |", told.join(" | "));
                // 300 seeds tell a share to ±2.5 %.
                let of_median = if rounds < 8 { 0.91 } else { 0.93 };
                for (which, least) in [(0, of_median), (1, 0.91), (2, 0.91)] {
                    // Of few that are given, chance chose which.
                    let given = shown[which] >= 0.5 * SEEDS as f64;
                    let share = held[which] / f64::max(shown[which], 1.0);
                    assert!(
                        share >= least || !given,
                        "{name}, {rounds} × {frames}: {which}: {share}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_first_part_that_differs_is_left_out_on_both_sides_and_one_that_does_not_is_kept() {
        let mut random = Pcg64::seed_from_u64(3);
        let mut sides = drawn(INDEPENDENT, 8, 100, &mut random);
        let kept = slowdown(&rounds_of(&sides)).unwrap();
        assert_eq!((kept.left_out_share, kept.alone_count), (0.0, 800));
        for frame in sides[1].iter_mut().flatten().filter(|frame| frame.at < 0.2) {
            frame.took *= 3;
        }
        let left_out = slowdown(&rounds_of(&sides)).unwrap();
        assert_eq!((left_out.left_out_share, left_out.alone_count), (0.25, 600));
        assert!(
            (left_out.p50.value.unwrap() - FACTOR).abs() < 0.05,
            "{left_out:?}"
        );
    }

    #[test]
    fn what_is_not_told_says_why() {
        let mut random = Pcg64::seed_from_u64(4);
        let of = |rounds, frames, random: &mut Pcg64| {
            slowdown(&rounds_of(&drawn(INDEPENDENT, rounds, frames, random))).unwrap()
        };
        let code = |found: &Slowdown| found.withheld.as_ref().map(|withheld| withheld.code);
        let three = of(3, 100, &mut random);
        assert_eq!(
            (three.p50.value, code(&three), three.of_frames.is_some()),
            (None, Some("too-few-rounds"), true)
        );
        let few = of(8, 20, &mut random);
        assert!(few.p50.value.is_some() && few.p90.value.is_some() && few.p99.value.is_none());
        assert_eq!(code(&few), Some("too-few-frames"));
        assert_eq!(code(&of(8, 400, &mut random)), None);
        let nothing = [Round {
            together: &[],
            alone: &[],
        }];
        assert_eq!(slowdown(&nothing), None);
        let bursts = World {
            phi: 0.999,
            ..INDEPENDENT
        };
        let bursts = slowdown(&rounds_of(&drawn(bursts, 8, 200, &mut random))).unwrap();
        assert_eq!((bursts.p99.value, code(&bursts)), (None, Some("few-bursts")));
    }
}
