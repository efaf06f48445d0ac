//! The circumstances that slow frames share more often than by chance.
//!
//! A circumstance is determined when a frame starts, or in a first stretch of its service that is shorter than nearly
//! any service: a frame cannot meet more of it by being slow. `chance` computes how often it occurs by chance; the
//! significance level is divided by the number of circumstances that are tested in the whole run.

use super::chance::{Chance, Seen, chance};
use super::{Judge, LEAST_USUAL};
use crate::analysis::gathering::watch::Kept;
use crate::scenario::{Arrival, Tenant};
use crate::units::Nanos;
use jetlag_stats::rhythm;

/// Probability of naming any circumstance in a run in which none is related to slow frames.
const LEVEL: f64 = 0.05;
/// The same within parts of the run, for each circumstance that is significant over all of it.
const LEVEL_NEARBY: f64 = 0.05;
/// Odds ratio from which a circumstance is more likely the cause than chance.
const LIKELY: f64 = 2.0;
/// Parts of a run within which clocks and inputs are compared, so that a slow change over the run is not taken for a
/// cause.
const PARTS: usize = 10;
/// Usual frames per part, and multiples of the co-runner's service time: co-runners are compared only nearby.
const LEAST_IN_PART: usize = 32;
const SERVICES_IN_PART: i64 = 8;
/// Longest rhythm that is tried, in frames.
const LONGEST_RHYTHM: u32 = 8;

/// The circumstances that are examined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Circumstance {
    Throttled,
    LowClock,
    LargeInput,
    Active(usize),
}

/// A circumstance that was there during slow frames more often than by chance.
#[derive(Clone, Copy, Debug)]
pub(super) struct Suspect {
    pub(super) circumstance: Circumstance,
    /// Incidents with it, those of which it is known, and the share of usual frames with it.
    pub(super) incidents: usize,
    pub(super) of: usize,
    pub(super) usually: f64,
    /// Its releases are locked to the tenant's: anything else with their rhythm would look the same.
    pub(super) locked: bool,
}

/// A circumstance to be tested, with all frames for which it is known.
#[derive(Debug)]
pub(super) struct Candidate {
    circumstance: Circumstance,
    /// Of each incident and each usual frame, where it is known.
    incidents: Vec<Option<Seen>>,
    usual: Vec<Option<Seen>>,
    parts: usize,
}

/// Everything that can be tested for a tenant: circumstances that some of its frames have and others do not.
pub(super) fn candidates(judge: &Judge<'_>, tenants: &[&Tenant]) -> Vec<Candidate> {
    let others = judge.watched.company(judge.tenants.len()).into_iter();
    let others = others.filter(|other| *other != judge.number);
    let all = [
        Circumstance::Throttled,
        Circumstance::LowClock,
        Circumstance::LargeInput,
    ];
    let all = all.into_iter().chain(others.map(Circumstance::Active));
    let candidate = |circumstance: Circumstance| {
        let rhythm = match circumstance {
            Circumstance::Active(other) => rhythm(
                tenants.get(judge.number)?,
                tenants.get(other)?,
                judge.watched.frames(),
            ),
            _ => 1,
        };
        let seen = |kept: &Kept, with: bool| Seen {
            at: kept.frame.started.0,
            class: kept.frame.sequence % u64::from(rhythm),
            with,
        };
        let of_usual = |kept: &Kept| Some(seen(kept, judge.is(circumstance, kept)?));
        let of_incident = |&kept: &&Kept| Some(seen(kept, judge.is_to_blame(circumstance, kept)?));
        let candidate = Candidate {
            circumstance,
            incidents: judge.asked.iter().map(of_incident).collect(),
            usual: judge.watched.usual.iter().map(of_usual).collect(),
            parts: parts(judge, circumstance),
        };
        let known = || candidate.incidents.iter().chain(&candidate.usual).flatten();
        let varies = known().any(|seen| seen.with) && known().any(|seen| !seen.with);
        let told = candidate.usual.iter().flatten().count() >= LEAST_USUAL
            && candidate.incidents.iter().any(Option::is_some);
        (varies && told).then_some(candidate)
    };
    all.filter_map(candidate).collect()
}

/// The significant circumstances, the most significant first, where `looked_at` were tested in the whole run.
/// Incidents that one has explained are no evidence for the next: two that often occur together are told apart by the
/// frames that have only one.
pub(super) fn find(mut candidates: Vec<Candidate>, looked_at: usize) -> Vec<Suspect> {
    let level = LEVEL / looked_at.max(1) as f64;
    let mut found = Vec::new();
    let (mut explained, mut aside) = (Vec::new(), Vec::new());
    loop {
        let judged = candidates
            .iter()
            .enumerate()
            .filter_map(|(place, candidate)| Some((place, candidate.judged(level, &explained, &aside)?)));
        let furthest = judged.max_by(|a, b| a.1.1.beyond.total_cmp(&b.1.1.beyond));
        let Some((place, (locked, chance))) = furthest else {
            return found;
        };
        let candidate = candidates.swap_remove(place);
        let with = |all: &[Option<Seen>]| {
            all.iter()
                .map(|seen| seen.is_some_and(|seen| seen.with))
                .collect()
        };
        explained = either(&explained, with(&candidate.incidents));
        aside = either(&aside, with(&candidate.usual));
        let known = candidate.usual.iter().flatten().count().max(1);
        found.push(Suspect {
            circumstance: candidate.circumstance,
            incidents: chance.met,
            of: chance.of,
            usually: candidate.usual.iter().flatten().filter(|seen| seen.with).count() as f64 / known as f64,
            locked,
        });
    }
}

fn either(before: &[bool], now: Vec<bool>) -> Vec<bool> {
    now.into_iter()
        .enumerate()
        .map(|(place, now)| now || before.get(place).copied().unwrap_or(false))
        .collect()
}

impl Candidate {
    /// The evidence for it, and whether only its rhythm is known; `None` if chance may explain it.
    fn judged(&self, level: f64, explained: &[bool], aside: &[bool]) -> Option<(bool, Chance)> {
        let left = |all: &[Option<Seen>], without: &[bool]| -> Vec<Seen> {
            let left = all.iter().enumerate();
            left.filter(|(place, _)| !without.get(*place).copied().unwrap_or(false))
                .filter_map(|(_, seen)| *seen)
                .collect()
        };
        let (incidents, usual) = (left(&self.incidents, explained), left(&self.usual, aside));
        let beyond = |incidents: &[Seen], usual: &[Seen]| {
            let found = chance(incidents, usual, self.parts)?;
            let is = usual.len() >= LEAST_USUAL
                && found.over_run <= level
                && found.nearby <= LEVEL_NEARBY
                && found.odds_ratio() >= LIKELY;
            is.then_some(found)
        };
        if let Some(found) = beyond(&incidents, &usual) {
            return Some((false, found));
        }
        if usual.iter().all(|seen| seen.class == 0) {
            return None;
        }
        let alike =
            |seen: &[Seen]| -> Vec<Seen> { seen.iter().map(|seen| Seen { class: 0, ..*seen }).collect() };
        beyond(&alike(&incidents), &alike(&usual)).map(|found| (true, found))
    }
}

/// Number of parts into which a run is divided for the test within parts.
fn parts(judge: &Judge<'_>, circumstance: Circumstance) -> usize {
    let usual = &judge.watched.usual;
    let Circumstance::Active(other) = circumstance else {
        return PARTS;
    };
    let work = judge.tenants[other]
        .work
        .max(Nanos(1))
        .0
        .saturating_mul(SERVICES_IN_PART);
    let span = match (usual.first(), usual.last()) {
        (Some(first), Some(last)) => (last.frame.started - first.frame.started).0.max(0),
        _ => 0,
    };
    let by_time = usize::try_from(span / work).unwrap_or(usize::MAX);
    (usual.len() / LEAST_IN_PART).min(by_time).max(PARTS)
}

/// After how many of a tenant's frames another's releases stand to its own as before, within a jitter; 1 where they do so after
/// none, or after many.
fn rhythm(own: &Tenant, other: &Tenant, frames: u64) -> u32 {
    let period = |tenant: &Tenant| match tenant.arrival {
        Arrival::Periodic { hz, .. } | Arrival::Sampled { hz, .. } => Some(1.0 / hz),
        _ => None,
    };
    let periods = period(own).zip(period(other));
    let found = periods.and_then(|(own, other)| rhythm::rhythm(frames as f64, own, other, LONGEST_RHYTHM));
    found.unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::BackendChoice;

    fn tenant(hz: f64, jitter: Nanos) -> Tenant {
        let arrival = Arrival::Periodic {
            hz,
            phase: Nanos::ZERO,
            jitter,
        };
        Tenant {
            arrival,
            ..Tenant::of_backend("a", BackendChoice::Null)
        }
    }

    #[test]
    fn releases_are_in_step_where_they_meet_again_after_few_frames_all_through_the_run() {
        let of = |own: f64, other: f64| rhythm(&tenant(own, Nanos::ZERO), &tenant(other, Nanos::ZERO), 1800);
        assert_eq!((of(30.0, 10.0), of(10.0, 30.0), of(30.0, 20.0)), (3, 2, 3));
        assert_eq!((of(30.0, 10.01), of(30.0, 13.7)), (3, 1));
        // A jitter moves a release within its place in the rhythm, and not to another.
        let shaken = tenant(10.0, Nanos::from_millis(5));
        assert_eq!(rhythm(&tenant(30.0, Nanos::ZERO), &shaken, 1800), 3);
    }

    use super::super::tests::{frame_beside, judged, judged_of};

    #[test]
    fn what_any_found_circumstance_explains_is_explained() {
        assert_eq!(either(&[], vec![true, false]), [true, false]);
        assert_eq!(
            either(&[true, false], vec![false, false, true]),
            [true, false, true]
        );
    }

    #[test]
    fn a_run_has_as_many_parts_as_frames_and_the_co_runners_service_allow() {
        let of = |frames: i64, work: i64, circumstance: Circumstance| {
            let mut found = 0;
            judged_of(
                frames,
                Nanos(work),
                |_| {},
                |judge| found = parts(judge, circumstance),
            );
            found
        };
        // 640 frames over 63.9 s make 20 parts of 32 frames, and 15 of eight services of 532.5 ms.
        assert_eq!(of(640, 5_000_000, Circumstance::Active(1)), 20);
        assert_eq!(of(640, 532_500_000, Circumstance::Active(1)), 15);
        assert_eq!(of(640, 10_000_000_000, Circumstance::Active(1)), PARTS);
        assert_eq!(of(640, 5_000_000, Circumstance::LargeInput), PARTS);
    }

    #[test]
    fn a_circumstance_is_looked_at_where_enough_frames_tell_of_it_and_not_all_alike() {
        let in_step = [tenant(10.0, Nanos::ZERO), tenant(5.0, Nanos::ZERO)];
        let of = |frames: usize, asked: bool, with: fn(usize) -> bool| -> Vec<(usize, Vec<u64>)> {
            let slow = frame_beside(1_000, true);
            let mut found = Vec::new();
            judged(
                |watched| {
                    watched.usual.truncate(frames);
                    for (n, kept) in watched.usual.iter_mut().enumerate() {
                        *kept = frame_beside(n as u64, with(n));
                    }
                    watched.slowest = asked.then(|| slow.clone()).into_iter().collect();
                },
                |judge| {
                    let asked: Vec<&Kept> = judge.watched.slowest.iter().collect();
                    judge.asked = asked;
                    for candidate in candidates(judge, &in_step.each_ref()) {
                        let Circumstance::Active(other) = candidate.circumstance else {
                            panic!("{candidate:?}")
                        };
                        let mut classes: Vec<u64> =
                            candidate.usual.iter().flatten().map(|seen| seen.class).collect();
                        classes.sort_unstable();
                        classes.dedup();
                        found.push((other, classes));
                    }
                },
            );
            found
        };
        // Released with every second frame, frames are of two classes.
        assert_eq!(of(60, true, |n| n % 3 == 0), [(1, vec![0, 1])]);
        assert_eq!(of(50, true, |n| n % 3 == 0).len(), 1);
        assert_eq!(of(49, true, |n| n % 3 == 0), [], "too few");
        assert_eq!(of(60, false, |n| n % 3 == 0), [], "no incident");
        assert_eq!(of(60, true, |_| true), [], "always there");
    }

    /// A candidate of two thousand usual frames, and incidents.
    fn candidate(usual: impl Fn(i64) -> (u64, bool), incidents: &[(i64, u64, bool)]) -> Candidate {
        let seen = |at: i64, (class, with): (u64, bool)| Some(Seen { at, class, with });
        Candidate {
            circumstance: Circumstance::Throttled,
            incidents: incidents
                .iter()
                .map(|&(at, class, with)| seen(at, (class, with)))
                .collect(),
            usual: (0..2_000).map(|at| seen(at, usual(at))).collect(),
            parts: 1,
        }
    }

    #[test]
    fn the_level_is_divided_by_how_many_circumstances_are_looked_at() {
        // One incident has what 40 of 2 000 frames have: by chance in 41 of 2 000 runs.
        let found = |looked_at: usize| {
            find(
                vec![candidate(|at| (0, at % 50 == 24), &[(320, 0, true)])],
                looked_at,
            )
        };
        let [suspect] = found(2)[..] else { panic!() };
        assert_eq!((suspect.incidents, suspect.of, suspect.locked), (1, 1, false));
        assert!((suspect.usually - 0.02).abs() < 1e-12);
        assert!(found(3).is_empty());
        assert_eq!(found(0).len(), 1);
    }

    #[test]
    fn what_only_a_rhythm_speaks_for_is_locked_whatever_its_classes_are_called() {
        // Of fifty places in the rhythm, one has it each time: among frames of its own place it is no news.
        let incidents: Vec<(i64, u64, bool)> = (0..6).map(|n| (n * 300, 1, true)).collect();
        let of = candidate(|at| (1 + at as u64 % 50, at % 50 == 0), &incidents);
        let [suspect] = find(vec![of], 1)[..] else {
            panic!()
        };
        assert!(suspect.locked);
    }
}
