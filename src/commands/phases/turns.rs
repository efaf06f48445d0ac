//! How many rounds of turns a run has, how long a turn is, and who takes a turn after whom.
//!
//! In a round every cell has one turn: each tenant alone, each pair, and all together. What is compared has run within a few
//! seconds of each other then, so that the machine's drift is in both sides of a ratio. A round is some seconds long, since there
//! must be several: what rounds differ by is what an interval is made of.

use crate::scenario::{Arrival, FEWEST_ROUNDS, Scenario, Tenant};
use crate::units::Nanos;

/// A turn's measured time, where there is time for enough of them.
const USUAL: Nanos = Nanos::from_secs(2);
/// Turns are not shortened below this to have more rounds.
const SHORTEST: Nanos = Nanos::from_millis(500);
/// … but for the fewest rounds that make an interval, which are worth more than long turns.
const SHORTEST_OF_FEW: Nanos = Nanos::from_millis(200);
/// How many these are.
const FEWEST: i128 = 4;
/// … nor below what the slowest tenant needs for so many frames.
const FRAMES: usize = 5;
/// Turns are not lengthened beyond this: drift would come between neighbours.
const LONGEST: Nanos = Nanos::from_secs(30);
/// Rounds for which turns are shortened.
const WANTED: i128 = 8;
/// Rounds beyond which turns are lengthened.
const ENOUGH: i128 = 40;
/// Warm-up of a turn, but for a cell's first: its engines are warm.
const WARM_UP: Nanos = Nanos::from_millis(250);
/// Between two turns: the last frames end, and threads or processes come together for the next.
pub(super) const GAP: Nanos = Nanos::from_millis(50);
/// The most turns of a run.
const MOST_TURNS: i128 = crate::scenario::MOST_TURNS as i128;

/// The rounds of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rounds {
    /// How many there are: an even number, since every second one goes backwards.
    pub(super) count: u16,
    /// A turn's measured time.
    pub(super) turn: Nanos,
}

impl Rounds {
    /// Rounds of so many cells, in the time that `blocks` phases of the scenario's own length would take; two in any case.
    pub(super) fn of(scenario: &Scenario, cells: usize, blocks: usize) -> Rounds {
        let cells = (cells as i128).max(1);
        let first = i128::from((scenario.warmup + GAP).0);
        let later = i128::from((scenario.warmup.min(WARM_UP) + GAP).0);
        // What is left of each cell's share of the time, if all its turns had the short warm-up.
        let share =
            blocks as i128 * i128::from((scenario.warmup + scenario.duration).0) / cells + later - first;
        let rounds_of = |turn: Nanos| share / (i128::from(turn.0) + later).max(1);
        let turn_in = |rounds: i128| Nanos((share / rounds - later).clamp(0, i128::from(i64::MAX)) as i64);
        let turn = scenario.turn.unwrap_or_else(|| {
            let frames = scenario
                .tenants
                .iter()
                .map(few_frames)
                .max()
                .unwrap_or(Nanos::ZERO);
            let usual = USUAL.max(frames);
            let shortened = turn_in(WANTED).max(SHORTEST.max(frames)).min(usual);
            let fitting = match (rounds_of(usual), rounds_of(shortened)) {
                (many, _) if many > ENOUGH => turn_in(ENOUGH).min(LONGEST).max(usual),
                (enough, _) if enough >= WANTED => usual,
                (_, few) if few < FEWEST => turn_in(FEWEST).max(SHORTEST_OF_FEW.max(frames)).min(shortened),
                _ => shortened,
            };
            whole_millis(fitting).min(scenario.duration)
        });
        let most = match scenario.turn {
            Some(_) => MOST_TURNS,
            None => ENOUGH,
        };
        let count = rounds_of(turn).min(most).min(MOST_TURNS / cells) / 2 * 2;
        Rounds {
            count: count.max(FEWEST_ROUNDS as i128) as u16,
            turn,
        }
    }

    /// The warm-up of a turn of this round.
    pub(super) fn warmup(scenario: &Scenario, round: u16) -> Nanos {
        match round {
            0 => scenario.warmup,
            _ => scenario.warmup.min(WARM_UP),
        }
    }
}

/// The time in which a paced tenant has a few frames, and two batches.
fn few_frames(tenant: &Tenant) -> Nanos {
    let (Arrival::Periodic { hz, .. } | Arrival::Poisson { hz } | Arrival::Sampled { hz, .. }) =
        tenant.arrival
    else {
        return Nanos::ZERO;
    };
    let frames = match tenant.batch.is_single() {
        true => FRAMES,
        false => FRAMES.max(2 * tenant.batch.size),
    };
    Nanos((frames as f64 / hz * 1e9) as i64)
}

fn whole_millis(time: Nanos) -> Nanos {
    Nanos(time.0 / 1_000_000 * 1_000_000)
}

/// A list that begins with another of its items in every second round, and goes backwards in the others.
pub(super) fn turned<T: Clone>(all: &[T], round: u16) -> Vec<T> {
    let mut order = all.to_vec();
    order.rotate_left(usize::from(round / 2) % all.len().max(1));
    if round % 2 == 1 {
        order.reverse();
    }
    order
}

/// One way's cells in the order of a round. `all` is in the middle, a neighbour of what it is compared with. Every second round is
/// the one before it backwards, so that what rises or falls steadily is in both sides alike; and every second one begins with
/// another cell, so that each is as near to the middle as the others.
pub(super) fn order<T: Clone>(others: &[T], all: T, round: u16) -> Vec<T> {
    let mut order = turned(others, round);
    let middle = match round % 2 {
        0 => others.len() / 2,
        _ => others.len().div_ceil(2),
    };
    order.insert(middle, all);
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario(duration_ms: i64, warmup_ms: i64) -> Scenario {
        Scenario {
            duration: Nanos::from_millis(duration_ms),
            warmup: Nanos::from_millis(warmup_ms),
            ..Scenario::empty("made")
        }
    }

    /// How long all turns take.
    fn length(scenario: &Scenario, cells: usize, rounds: Rounds) -> Nanos {
        let of = |round| (Rounds::warmup(scenario, round) + rounds.turn + GAP) * cells as i64;
        (0..rounds.count).fold(Nanos::ZERO, |sum, round| sum + of(round))
    }

    #[test]
    fn turns_take_no_longer_than_the_phases_one_after_another_did() {
        for (duration_ms, warmup_ms, cells, rounds, turn_ms) in [
            // Two tenants for 30 s: eight rounds of two seconds do not quite fit, and are a little shorter.
            (30_000, 1_000, 3, 8, 2_000),
            (25_000, 1_000, 3, 8, 1_772),
            // For 10 s they fit half a second long.
            (10_000, 1_000, 3, 8, 522),
            // For 5 s fewer do.
            (5_000, 1_000, 3, 4, 500),
            // … and to make an interval, shorter ones.
            (4_000, 500, 3, 4, 387),
            // For 10 minutes there are 40, and longer.
            (600_000, 1_000, 3, 40, 9_697),
            // For a night they are not longer than drift allows.
            (8 * 3_600_000, 1_000, 3, 40, 30_000),
        ] {
            let scenario = scenario(duration_ms, warmup_ms);
            let found = Rounds::of(&scenario, cells, cells - 1);
            assert_eq!(
                (found.count, found.turn.0 / 1_000_000),
                (rounds, turn_ms),
                "{duration_ms} ms"
            );
            let blocks = (scenario.duration + scenario.warmup) * (cells as i64 - 1);
            let took = length(&scenario, cells, found);
            assert!(took <= blocks, "{duration_ms} ms: {took} of {blocks}");
        }
    }

    #[test]
    fn there_are_two_rounds_in_any_case_and_no_turn_is_longer_than_the_measurement() {
        let found = Rounds::of(&scenario(150, 150), 3, 2);
        assert_eq!((found.count, found.turn), (2, Nanos::from_millis(150)));
        let found = Rounds::of(&scenario(0, 0), 0, 0);
        assert_eq!((found.count, found.turn), (2, Nanos::ZERO));
    }

    #[test]
    fn a_slow_tenant_has_a_few_frames_in_each_turn_and_a_length_that_was_asked_for_stands() {
        let mut slow = scenario(60_000, 1_000);
        let text = "Scenario(tenants: [Tenant(name: \"a\", backend: Sim(Fixed(\"5ms\")), arrival: Periodic(hz: 2))])";
        let env = crate::scenario::ResolveEnv::default();
        let read = crate::scenario::from_str(text, "made", std::path::Path::new("."), &[], &env).unwrap();
        slow.tenants = read.tenants;
        assert_eq!(Rounds::of(&slow, 3, 2).turn, Nanos::from_millis(2_500));
        slow.turn = Some(Nanos::from_millis(200));
        let found = Rounds::of(&slow, 3, 2);
        assert_eq!((found.count, found.turn), (78, Nanos::from_millis(200)));
    }

    #[test]
    fn no_number_of_cells_has_more_turns_than_phases_have_numbers() {
        let mut long = scenario(3_600_000, 0);
        long.turn = Some(Nanos::from_millis(100));
        for cells in [3, 1_000, 16_000] {
            let found = Rounds::of(&long, cells, cells - 1);
            assert!(usize::from(found.count) * cells <= 60_000, "{cells}: {found:?}");
        }
    }

    #[test]
    fn rounds_are_mirrored_in_pairs_and_every_cell_comes_to_the_middle() {
        let of = |round| {
            order(&['a', 'b', 'c', 'd'], '*', round)
                .into_iter()
                .collect::<String>()
        };
        let rounds: Vec<String> = (0..8).map(of).collect();
        assert_eq!(
            rounds,
            [
                "ab*cd", "dc*ba", "bc*da", "ad*cb", "cd*ab", "ba*dc", "da*bc", "cb*ad"
            ]
        );
        assert_eq!(order(&[], '*', 3), ['*']);
    }
}
