//! Tests whether slow frames share a circumstance more often than by chance.
//!
//! Frames are not independent: clocks, contents and slow spells persist. So the slow incidents are compared with
//! usual frames that have the same distances from each other: all incidents are shifted along the run by the same
//! distance, circularly, as often as [`TURNS`] says. Both series keep their own autocorrelation; only the relation
//! between them is broken. Where a co-runner is released in step, an incident is compared only with frames at the
//! same point of the rhythm (`class`).
//!
//! A circular shift assumes that all parts of the run are alike. Slow changes, such as heat, violate this: hence the
//! second figure, for which incidents are shifted only within their part of the run.

use jetlag_stats::random::Draws;

/// Number of shifts over the whole run.
const TURNS: usize = 2000;
/// Number of draws with shifts within parts of the run.
const DRAWS: usize = 400;
/// If the chance over the whole run is above this, the second test is skipped.
const LOOKED_AT: f64 = 0.05;

/// A frame and whether one circumstance was there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Seen {
    /// When it started, in nanoseconds.
    pub(super) at: i64,
    /// Its position in a rhythm; only frames of the same position are compared.
    pub(super) class: u64,
    /// Whether the circumstance was there.
    pub(super) with: bool,
}

/// The result of the test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Chance {
    /// Incidents with the circumstance, incidents for which it is known, and how many would have it by chance.
    pub(super) met: usize,
    pub(super) of: usize,
    pub(super) expected: f64,
    /// Probability of so many by chance: over the whole run, and within parts of it (1 if the first is not small).
    pub(super) over_run: f64,
    pub(super) nearby: f64,
    /// How far the incidents exceed the expected number, in standard deviations of the shifted draws.
    pub(super) beyond: f64,
}

impl Chance {
    /// Odds ratio of the circumstance, incidents over usual frames. From 2 on, more than half of the incidents with it
    /// would not have been slow without it, if nothing else explains both.
    pub(super) fn odds_ratio(&self) -> f64 {
        let odds = |with: f64| (with + 0.5) / (self.of as f64 - with + 0.5);
        odds(self.met as f64) / odds(self.expected)
    }
}

/// Tests incidents against usual frames, over the run and within `parts` of it; `None` if no incident has the
/// circumstance.
pub(super) fn chance(incidents: &[Seen], usual: &[Seen], parts: usize) -> Option<Chance> {
    let mut usual = usual.to_vec();
    usual.sort_by_key(|seen| (seen.class, seen.at));
    let classes: Vec<&[Seen]> = usual.chunk_by(|a, b| a.class == b.class).collect();
    let (first, last) = (
        usual.iter().map(|seen| seen.at).min()?,
        usual.iter().map(|seen| seen.at).max()?,
    );
    let placed: Vec<Placed<'_>> = incidents
        .iter()
        .filter_map(|incident| Placed::of(incident, &classes, (first, last), parts.max(1)))
        .collect();
    let met = placed.iter().filter(|placed| placed.with).count();
    if met == 0 {
        return None;
    }
    let turned: Vec<usize> = (1..TURNS).map(|turn| turned_by(&placed, turn)).collect();
    let expected = turned.iter().sum::<usize>() as f64 / turned.len() as f64;
    let variance = turned.iter().map(|&n| (n as f64 - expected).powi(2)).sum::<f64>() / turned.len() as f64;
    let over_run = share_of(&turned, met);
    Some(Chance {
        met,
        of: placed.len(),
        expected,
        over_run,
        // If chance explains it over the whole run, the second test is not needed.
        nearby: if over_run > LOOKED_AT {
            1.0
        } else {
            share_of(&drawn_nearby(&placed, parts.max(1)), met)
        },
        // A circumstance that no usual frame has is treated as if one had it.
        beyond: (met as f64 - expected) / variance.max(1.0 / usual.len() as f64).sqrt(),
    })
}

/// How many have the circumstance if all are shifted along the run by the same share of it.
fn turned_by(placed: &[Placed<'_>], turn: usize) -> usize {
    let with = |placed: &&Placed<'_>| {
        let all = placed.class;
        all[(placed.place + turn * all.len() / TURNS) % all.len()].with
    };
    placed.iter().filter(with).count()
}

/// The same if the incidents of each part of the run are shifted within that part only.
fn drawn_nearby(placed: &[Placed<'_>], parts: usize) -> Vec<usize> {
    let mut random = Draws::new(0x6a65_746c_6167);
    let draw = |_| {
        let by: Vec<u64> = (0..parts).map(|_| random.bits() >> 33).collect();
        let with = |placed: &&Placed<'_>| {
            let near = placed.near;
            let by = ((by[placed.part] * near.len() as u64) >> 31) as usize;
            near.get((placed.place_near + by) % near.len().max(1))
                .map_or(placed.with, |seen| seen.with)
        };
        placed.iter().filter(with).count()
    };
    (1..DRAWS).map(draw).collect()
}

/// The share of draws with at least as many; the observed one counts as a draw.
fn share_of(counts: &[usize], met: usize) -> f64 {
    let as_many = counts.iter().filter(|&&count| count >= met).count();
    (as_many as f64 + 1.0) / (counts.len() as f64 + 1.0)
}

/// An incident among the usual frames of its class.
struct Placed<'a> {
    with: bool,
    class: &'a [Seen],
    place: usize,
    /// Those of its part of the run.
    near: &'a [Seen],
    place_near: usize,
    part: usize,
}

impl<'a> Placed<'a> {
    fn of(
        incident: &Seen,
        classes: &[&'a [Seen]],
        (first, last): (i64, i64),
        parts: usize,
    ) -> Option<Placed<'a>> {
        let class = *classes.iter().find(|class| class[0].class == incident.class)?;
        let length = (i128::from(last) - i128::from(first)).max(1);
        let part_of = |at: i64| {
            let share = (i128::from(at) - i128::from(first)).clamp(0, length - 1) * parts as i128 / length;
            share as usize
        };
        let part = part_of(incident.at);
        let from = class.partition_point(|seen| part_of(seen.at) < part);
        let to = class.partition_point(|seen| part_of(seen.at) <= part);
        let near = &class[from..to];
        let place_in = |frames: &[Seen]| {
            let place = frames.partition_point(|seen| seen.at < incident.at);
            place.min(frames.len().saturating_sub(1))
        };
        Some(Placed {
            with: incident.with,
            class,
            place: place_in(class),
            near,
            place_near: place_in(near),
            part,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uniform(random: &mut Draws) -> f64 {
        (random.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A thousand frames with spells of a circumstance, of so many frames on average.
    fn usual(random: &mut Draws, share: f64, length: f64) -> Vec<Seen> {
        let mut with = uniform(random) < share;
        (0..1000)
            .map(|at| {
                let ends = if with { 1.0 } else { share / (1.0 - share) } / length;
                if uniform(random) < ends {
                    with = !with;
                }
                Seen { at, class: 0, with }
            })
            .collect()
    }

    #[test]
    fn spells_that_have_nothing_to_do_with_each_other_meet_as_often_as_the_level_says() {
        let mut random = Draws::new(3);
        let (mut over_run, mut runs) = (0, 0);
        for _ in 0..400 {
            let usual = usual(&mut random, 0.1, 20.0);
            // Three spells of ten slow frames each.
            let incidents: Vec<Seen> = (0..3)
                .flat_map(|_| {
                    let from = (uniform(&mut random) * 990.0) as usize;
                    usual[from..from + 10].to_vec()
                })
                .collect();
            let found = chance(&incidents, &usual, 4);
            over_run += u32::from(found.is_some_and(|found| found.over_run <= 0.05));
            runs += 1;
        }
        println!("{over_run} of {runs} at 5 %");
        assert!(over_run <= runs * 8 / 100, "{over_run} of {runs}");
    }

    #[test]
    fn what_is_there_each_time_and_seldom_else_is_beyond_chance() {
        let usual: Vec<Seen> = (0..1000)
            .map(|at| Seen {
                at,
                class: 0,
                with: at % 50 == 0,
            })
            .collect();
        let incidents: Vec<Seen> = (0..6)
            .map(|n| Seen {
                at: 7 + 150 * n,
                class: 0,
                with: true,
            })
            .collect();
        let found = chance(&incidents, &usual, 4).unwrap();
        assert_eq!((found.met, found.of), (6, 6));
        assert!(found.over_run < 0.05 && found.nearby < 0.01, "{found:?}");
        assert!(found.odds_ratio() > 50.0 && found.beyond > 3.0, "{found:?}");
        assert_eq!(chance(&[], &usual, 4), None);
        assert_eq!(chance(&incidents, &[], 4), None);
    }

    #[test]
    fn within_a_rhythm_frames_are_set_against_those_of_their_own_place() {
        let usual: Vec<Seen> = (0..999)
            .map(|at| Seen {
                at,
                class: at as u64 % 3,
                with: at % 3 == 0,
            })
            .collect();
        let incidents: Vec<Seen> = (0..8).map(|n| usual[n * 99]).collect();
        let found = chance(&incidents, &usual, 4).unwrap();
        assert_eq!((found.met, found.of), (8, 8));
        assert_eq!((found.over_run, found.nearby), (1.0, 1.0));
        let alike: Vec<Seen> = usual.iter().map(|seen| Seen { class: 0, ..*seen }).collect();
        let incidents: Vec<Seen> = incidents.iter().map(|seen| Seen { class: 0, ..*seen }).collect();
        assert!(chance(&incidents, &alike, 4).unwrap().expected < 4.0);
    }

    /// 2 000 frames, one for each turn, of which every so many-th has the circumstance, and one incident that has it.
    fn one_incident(with: impl Fn(i64) -> bool) -> Chance {
        let usual: Vec<Seen> = (0..2_000)
            .map(|at| Seen {
                at,
                class: 0,
                with: with(at),
            })
            .collect();
        let incident = Seen {
            at: 320,
            class: 0,
            with: true,
        };
        chance(&[incident], &usual, 1).unwrap()
    }

    #[test]
    fn every_figure_is_that_of_the_share_of_frames_that_have_it() {
        // Moved by 1 to 1 999 frames, the incident meets each of the 40 once.
        let found = one_incident(|at| at % 50 == 24);
        let share = 40.0 / 1_999.0;
        let beyond = (1.0 - share) / f64::sqrt(share * (1.0 - share));
        assert_eq!((found.met, found.of), (1, 1));
        assert!((found.expected - share).abs() < 1e-12, "{found:?}");
        assert!((found.over_run - 41.0 / 2_000.0).abs() < 1e-12, "{found:?}");
        assert!((found.beyond - beyond).abs() < 1e-9, "{found:?} for {beyond}");
        // Draws meet one frame of fifty: eight of 399, give or take a few.
        assert!((0.005..0.045).contains(&found.nearby), "{found:?}");
        // Draws reach all frames: those whose place is eight more than a multiple of sixteen too.
        let found = one_incident(|at| at % 16 == 8 && at < 640);
        assert!((0.005..0.045).contains(&found.nearby), "{found:?}");
        let never = one_incident(|_| false);
        assert!((never.beyond - f64::sqrt(2_000.0)).abs() < 1e-9, "{never:?}");
    }

    #[test]
    fn what_one_of_twenty_turns_gives_is_looked_at_nearby_too_and_what_more_give_is_not() {
        let at_the_limit = one_incident(|at| at % 20 == 7 && at != 7);
        assert_eq!(at_the_limit.over_run, LOOKED_AT);
        assert!(at_the_limit.nearby < 0.2, "{at_the_limit:?}");
        let more = one_incident(|at| at % 20 == 7);
        assert!(more.over_run > LOOKED_AT && more.nearby == 1.0, "{more:?}");
    }

    #[test]
    fn odds_are_counted_with_half_a_frame_on_each_side() {
        let found = Chance {
            met: 3,
            of: 4,
            expected: 1.0,
            over_run: 0.0,
            nearby: 0.0,
            beyond: 0.0,
        };
        // (3.5 / 1.5) / (1.5 / 3.5)
        assert!((found.odds_ratio() - 49.0 / 9.0).abs() < 1e-12);
    }

    #[test]
    fn an_incident_stands_where_it_started_and_near_it_is_its_part_of_the_run() {
        let class: Vec<Seen> = (1_000..2_000)
            .map(|at| Seen {
                at,
                class: 0,
                with: false,
            })
            .collect();
        // 999 ns in four parts: the second half begins at frame 500, the last quarter at frame 750.
        for (at, part, place, near) in [
            (0, 0, 0, 0..250),
            (1_000, 0, 0, 0..250),
            (1_500, 2, 500, 500..750),
            (1_749, 2, 749, 500..750),
            (1_999, 3, 999, 750..1_000),
            (9_000, 3, 999, 750..1_000),
        ] {
            let incident = Seen {
                at,
                class: 0,
                with: true,
            };
            let placed = Placed::of(&incident, &[&class], (1_000, 1_999), 4).unwrap();
            assert_eq!((placed.part, placed.place), (part, place), "{at}");
            assert_eq!(placed.near, &class[near.clone()], "{at}");
            assert_eq!(placed.place_near, place - near.start, "{at}");
        }
    }
}
