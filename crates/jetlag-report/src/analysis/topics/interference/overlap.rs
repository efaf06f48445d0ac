//! A tenant's frames next to its co-runners' while all ran together: for what share of a frame's service each
//! co-runner was in service too, and how much slower the frame runs meanwhile.
//!
//! This module decides which pairs can be estimated and says why where one cannot; `two_stage` makes the estimate, by when frames
//! were due (`schedule`).
//! With more than one co-runner whose presence varies, each is judged by the time in which only it was in service:
//! three tenants on a device slow each other down by something else than twice what two do.

use std::collections::BTreeSet;

use jetlag_stats::quantile::Quantile;

use super::cover::{Cover, by_company};
use super::gather::Phases;
use super::schedule::{self, Cycle, presence};
use super::spans::{Span, Spans};
use super::two_stage::{Frames, Lost, Unknown, lost};
use crate::analysis::gathering::recorded::Recorded;
use crate::analysis::stats::{ns_to_ms, six_decimals};
use crate::analysis::summary::interference::{Met, Overlap, Withheld};
use crate::scenario::{Arrival, Scenario, Sharing};
use crate::units::{Nanos, Stamp};

/// A frame counts as without a co-runner if the overlap in its first stretch is at most this share, and as with it if
/// the overlap is at least one less this.
const CLEAR: f64 = 0.05;
/// Frames that must overlap a co-runner, and frames that must not, at least.
const LEAST_FRAMES: usize = 11;
/// One frame in this many is shorter than the first stretch.
const SHORTER: usize = 100;
/// Share of frames that may begin before the previous one has ended.
const OWN_OVERLAP: f64 = 0.01;
/// Largest number of tenants: with more, there are too many effects to estimate.
const MOST_TENANTS: usize = 16;

/// Why a co-runner's cost cannot be estimated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    /// The sharing mode lets one frame at a time onto the device.
    Turns,
    /// The tenant's own frames overlap each other.
    OwnOverlap,
    /// The co-runner is hardly ever in service at the same time.
    Never,
    /// The co-runner is in service nearly all the time.
    Always,
    /// The co-runner is never in service without another.
    NeverAlone,
    /// The estimator gave no result, for this reason.
    Unknown(Unknown),
}

/// Each tenant against each other; nothing if a tenant ran alone.
pub(super) fn overlaps(scenario: &Scenario, recorded: Recorded, phases: &Phases) -> Vec<Overlap> {
    let spans = phases.spans();
    let number = scenario.tenants.len().min(spans.of.len());
    let present: Vec<usize> = (0..number)
        .filter(|&tenant| spans.of[tenant].iter().any(|span| span.counts))
        .collect();
    let arrivals: Vec<Arrival> = scenario.tenants.iter().map(|tenant| tenant.arrival).collect();
    if present.len() < 2 || present.len() > MOST_TENANTS {
        return Vec::new();
    }
    let company: Vec<Company<'_>> = (0..number)
        .map(|tenant| Company::of(&spans.of[tenant], arrivals[tenant]))
        .collect();
    let mut found = Vec::new();
    for &tenant in &present {
        let others: Vec<usize> = present.iter().copied().filter(|&other| other != tenant).collect();
        let beside: Vec<&Company<'_>> = others.iter().map(|&other| &company[other]).collect();
        let judged = judge(spans, &company[tenant], &beside, takes_turns(scenario.sharing));
        for (other, judged) in others.into_iter().zip(judged) {
            found.push(judged.named(scenario, recorded, [tenant, other]));
        }
    }
    found
}

/// A tenant among the others.
struct Company<'a> {
    spans: &'a [Span],
    arrival: Arrival,
    /// When it was in service.
    served: Cover,
    /// When it would have been, had all its frames lasted as long as each other.
    presence: Cover,
}

impl<'a> Company<'a> {
    fn of(spans: &'a [Span], arrival: Arrival) -> Self {
        Company {
            spans,
            arrival,
            served: Cover::of(spans),
            presence: presence(spans, arrival),
        }
    }
}

/// Sharing modes in which frames wait for each other instead of running at the same time.
fn takes_turns(sharing: Sharing) -> bool {
    match sharing {
        Sharing::Exclusive | Sharing::RoundRobin | Sharing::Edf | Sharing::SingleStream => true,
        Sharing::Streams | Sharing::Priority | Sharing::Partition | Sharing::Processes => false,
    }
}

/// The result for a tenant and one co-runner.
#[derive(Clone, Copy, Debug)]
struct Judged {
    frames: u64,
    mean_share: f64,
    without: Met,
    beside: Met,
    lost: Result<Lost, Why>,
}

/// The results for a tenant and each of its co-runners.
fn judge(spans: &Spans, own: &Company<'_>, others: &[&Company<'_>], turns: bool) -> Vec<Judged> {
    let served = spans.of.iter().flatten().map(|span| span.finished - span.started);
    let longest = served.max().unwrap_or(Nanos::ZERO);
    let frames: Vec<Span> = own
        .spans
        .iter()
        .filter(|span| span.counts && span.is_served())
        .filter(|span| spans.sees_all_from(span.started, longest))
        .copied()
        .collect();
    let first = FirstStretch::of(&frames);
    let mut varying = Vec::new();
    let mut all: Vec<Judged> = others
        .iter()
        .enumerate()
        .map(|(place, other)| {
            let met = first.shares(&frames, &other.served);
            let beside: f64 = frames.iter().map(|frame| share_of(frame, &other.served)).sum();
            let mean_share = beside / frames.len().max(1) as f64;
            let of = |kind: &dyn Fn(f64) -> bool| Met::of(&frames, |place| kind(met[place]));
            let constant = constant(&met, mean_share);
            if constant.is_none() {
                varying.push(place);
            }
            Judged {
                frames: frames.len() as u64,
                mean_share,
                without: of(&|share| share <= CLEAR),
                beside: of(&|share| share >= 1.0 - CLEAR),
                lost: Err(constant.unwrap_or(Why::Unknown(Unknown::Same))),
            }
        })
        .collect();
    if turns || overlap_themselves(own.spans) {
        let why = if turns { Why::Turns } else { Why::OwnOverlap };
        all.iter_mut().for_each(|judged| judged.lost = Err(why));
        return all;
    }
    // A co-runner that is there all the time, or never, is part of the baseline for the others.
    let varied: Vec<&Company<'_>> = varying.iter().map(|&other| others[other]).collect();
    let companies = by_company(&varied.iter().map(|other| &other.served).collect::<Vec<_>>());
    let presences = by_company(&varied.iter().map(|other| &other.presence).collect::<Vec<_>>());
    let met: Vec<Vec<f64>> = companies
        .iter()
        .map(|company| first.shares(&frames, company))
        .collect();
    let kinds: Vec<usize> = (0..companies.len())
        .filter(|&kind| count(&met[kind], |share| share > CLEAR) >= LEAST_FRAMES)
        .collect();
    let of_schedule =
        |other: &&Company<'_>| Cycle::of((own.spans, own.arrival), (other.spans, other.arrival));
    let cycles: BTreeSet<Cycle> = varied
        .iter()
        .filter_map(of_schedule)
        .chain(Cycle::of_content(&frames, own.arrival))
        .collect();
    let found = lost(&Frames {
        service: frames.iter().map(service).collect(),
        beside: kinds
            .iter()
            .map(|&kind| {
                let within = |frame: &Span| companies[kind].within(frame.started, frame.finished);
                frames.iter().map(within).collect()
            })
            .collect(),
        due: kinds
            .iter()
            .map(|&kind| schedule::met(&frames, own.arrival, &presences[kind]))
            .collect(),
        places: cycles
            .into_iter()
            .flat_map(|cycle| cycle.places(&frames))
            .collect(),
    });
    for (kind, &other) in varying.iter().enumerate() {
        let place = kinds.iter().position(|&kept| kept == kind);
        let judged = &mut all[other];
        judged.without = Met::of(&frames, |frame| {
            met.iter().map(|met| met[frame]).sum::<f64>() <= CLEAR
        });
        judged.beside = Met::of(&frames, |frame| met[kind][frame] >= 1.0 - CLEAR);
        judged.lost = match place {
            Some(place) => found[place].map_err(Why::Unknown),
            None => Err(Why::NeverAlone),
        };
    }
    all
}

/// Whether a co-runner covers the first stretch of nearly all frames, or of nearly none, or too few frames to tell.
fn constant(met: &[f64], mean_share: f64) -> Option<Why> {
    let mean = met.iter().sum::<f64>() / met.len().max(1) as f64;
    let without = count(met, |share| share < 1.0 - CLEAR);
    if met.len() < 2 * LEAST_FRAMES {
        Some(Why::Unknown(Unknown::Few))
    } else if count(met, |share| share > CLEAR) < LEAST_FRAMES {
        Some(if mean_share <= CLEAR {
            Why::Never
        } else {
            Why::Unknown(Unknown::Same)
        })
    } else if without < LEAST_FRAMES || mean >= 1.0 - CLEAR {
        Some(if mean_share >= 1.0 - CLEAR {
            Why::Always
        } else {
            Why::Unknown(Unknown::Same)
        })
    } else {
        None
    }
}

/// Whether a tenant begins frames before earlier ones have ended: they then wait for each other or slow each other
/// down.
fn overlap_themselves(spans: &[Span]) -> bool {
    let mut latest = Stamp(i64::MIN);
    let mut early = 0usize;
    for span in spans.iter().filter(|span| span.is_served()) {
        early += usize::from(span.started < latest);
        latest = latest.max(span.finished);
    }
    early as f64 > OWN_OVERLAP * spans.len() as f64
}

/// The beginning of a frame, shorter than nearly every frame: who is there in it does not depend on the frame's
/// length.
#[derive(Clone, Copy)]
struct FirstStretch(Nanos);

impl FirstStretch {
    fn of(frames: &[Span]) -> Self {
        let mut services: Vec<Nanos> = frames
            .iter()
            .map(|frame| frame.finished - frame.started)
            .collect();
        let rank = services.len().div_ceil(SHORTER).max(1);
        if services.is_empty() {
            return FirstStretch(Nanos(1));
        }
        FirstStretch((*services.select_nth_unstable(rank - 1).1).max(Nanos(1)))
    }

    /// For each frame, the share of its first stretch that is covered.
    fn shares(self, frames: &[Span], company: &Cover) -> Vec<f64> {
        let share = |frame: &Span| {
            // Not beyond the last stamp there is, which a damaged file may name.
            let started = frame.started.min(Stamp(i64::MAX - self.0.0));
            company.share(started, started + self.0)
        };
        frames.iter().map(share).collect()
    }
}

fn service(frame: &Span) -> f64 {
    (i128::from(frame.finished.0) - i128::from(frame.started.0)) as f64
}

fn share_of(frame: &Span, other: &Cover) -> f64 {
    other.share(frame.started, frame.finished)
}

fn count(shares: &[f64], kind: impl Fn(f64) -> bool) -> usize {
    shares.iter().filter(|&&share| kind(share)).count()
}

impl Met {
    /// The frames at the positions for which `kind` holds.
    fn of(frames: &[Span], kind: impl Fn(usize) -> bool) -> Self {
        let of_kind = frames.iter().enumerate().filter(|(place, _)| kind(*place));
        let mut services: Vec<f64> = of_kind.map(|(_, frame)| service(frame)).collect();
        let n = services.len() as u64;
        Met {
            frames: n,
            service_p50_ms: Quantile::P50
                .of(&mut services, f64::total_cmp)
                .filter(|_| Quantile::P50.supported_by(n))
                .map(ns_to_ms),
        }
    }
}

impl Judged {
    fn named(self, scenario: &Scenario, recorded: Recorded, [tenant, other]: [usize; 2]) -> Overlap {
        let lost = self.lost.ok();
        // A loss of the whole time has no finite slowdown.
        let slower = |lost: f64| (lost < 1.0).then(|| six_decimals(1.0 / (1.0 - lost)));
        Overlap {
            tenant: scenario.tenants[tenant].name.clone(),
            with: scenario.tenants[other].name.clone(),
            frames: self.frames,
            mean_share: six_decimals(self.mean_share),
            without: self.without,
            beside: self.beside,
            lost_share: lost.map(|lost| six_decimals(lost.share)),
            lost_share_ci95: lost.map(|lost| lost.ci95.map(six_decimals)),
            slowdown: lost.and_then(|lost| slower(lost.share)),
            slowdown_ci95: lost.and_then(|lost| Some((slower(lost.ci95[0])?, slower(lost.ci95[1])))),
            withheld: self
                .lost
                .err()
                .map(|why| why.said(scenario, recorded, [tenant, other])),
        }
    }
}

impl Why {
    fn said(self, scenario: &Scenario, recorded: Recorded, [tenant, other]: [usize; 2]) -> Withheld {
        let locked = [tenant, other]
            .iter()
            .all(|&of| is_fixed(scenario.tenants[of].arrival));
        let has_jitter = [tenant, other]
            .iter()
            .any(|&of| matches!(scenario.tenants[of].arrival, Arrival::Periodic { .. }));
        let measured_alone = scenario.baseline.alone || scenario.matrix.is_some();
        // Of a program no field can be set.
        let is_program = recorded == Recorded::Program;
        let instead = match (is_program, measured_alone) {
            (true, _) => "record each process by itself, too",
            (false, true) => "its slowdown relative to running alone shows what sharing costs",
            (false, false) => "add `baseline: (alone: true)`",
        };
        let (code, message) = match self {
            Why::Turns => (
                "takes-turns",
                format!(
                    "under {:?} tenants take turns and never run at the same time; the time that a frame waits for \
                     its turn is in its service time (stage `queue`)",
                    scenario.sharing
                ),
            ),
            Why::OwnOverlap => (
                "own-frames-overlap",
                match is_program {
                    true => format!(
                        "its own frames overlap, so what the other costs cannot be told apart; {instead}"
                    ),
                    false => format!(
                        "its own frames overlap, so what the other costs cannot be told apart; set `depth: 1`, or {instead}"
                    ),
                },
            ),
            Why::Never => (
                "never-beside",
                "nothing to compare: the two are hardly ever in service at the same time".to_owned(),
            ),
            Why::Always => (
                "always-beside",
                format!("it never ran without the other tenant; {instead}"),
            ),
            Why::NeverAlone => (
                "never-alone",
                format!("the other tenant is hardly ever in service without a third; {instead}"),
            ),
            Why::Unknown(Unknown::Wide) => (
                "imprecise",
                format!("not reported: the interval is too wide to be useful; run longer, or {instead}"),
            ),
            // What is released by a program or by a recording has no `jitter` to set.
            Why::Unknown(_) if locked && (is_program || !has_jitter) => (
                "locked-releases",
                format!(
                    "both are released in step, so anything else in their rhythm looks the same; {instead}"
                ),
            ),
            Why::Unknown(_) if locked => {
                let or = if measured_alone { "; " } else { " or " };
                let instead = instead.trim_start_matches("add ");
                (
                    "locked-releases",
                    format!(
                        "both are released in step, so anything else in their rhythm looks the same; add `jitter`{or}{instead}"
                    ),
                )
            }
            Why::Unknown(Unknown::Few) => (
                "too-few-frames",
                format!(
                    "too few frames differ in whether the other tenant is in service; run \
                     longer, or {instead}"
                ),
            ),
            Why::Unknown(Unknown::Same) => (
                "hardly-varies",
                format!(
                    "not identifiable here: whether the other tenant is due beside a frame hardly varies; {instead}"
                ),
            ),
            Why::Unknown(Unknown::Weak) => (
                "weak",
                format!(
                    "not identifiable here: when frames are due predicts too little of whether they meet; run longer, or {instead}"
                ),
            ),
        };
        Withheld { code, message }
    }
}

/// Whether releases are fixed by the scenario, so that those of two tenants always have the same phase.
fn is_fixed(arrival: Arrival) -> bool {
    match arrival {
        Arrival::Periodic { jitter, .. } => jitter == Nanos::ZERO,
        Arrival::Replay { .. } | Arrival::Sampled { .. } => true,
        Arrival::Closed | Arrival::Poisson { .. } | Arrival::Live => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::FrameRecord;
    use crate::scenario::{BackendChoice, Tenant};

    fn span(started: i64, finished: i64) -> Span {
        Span {
            started: Stamp(started),
            finished: Stamp(finished),
            released: Stamp(started),
            sequence: 0,
            counts: true,
        }
    }

    fn scenario(arrivals: &[Arrival]) -> Scenario {
        let tenant = |arrival: &Arrival| Tenant {
            arrival: *arrival,
            ..Tenant::of_backend("a", BackendChoice::Null)
        };
        Scenario {
            tenants: arrivals.iter().map(tenant).collect(),
            ..Scenario::empty("made")
        }
    }

    fn periodic(jitter_ms: i64) -> Arrival {
        Arrival::Periodic {
            hz: 30.0,
            phase: Nanos::ZERO,
            jitter: Nanos::from_millis(jitter_ms),
        }
    }

    #[test]
    fn who_is_there_always_never_or_too_seldom_is_told_by_its_shares() {
        let of = |kinds: &[(usize, f64)], mean_share: f64| {
            let met: Vec<f64> = kinds
                .iter()
                .flat_map(|&(count, share)| vec![share; count])
                .collect();
            constant(&met, mean_share)
        };
        let few = Some(Why::Unknown(Unknown::Few));
        let same = Some(Why::Unknown(Unknown::Same));
        // Two times eleven frames are enough, of which eleven are beside it and eleven are not.
        assert_eq!(of(&[(11, 0.0), (10, 1.0)], 0.5), few);
        assert_eq!(of(&[(11, 0.0), (11, 1.0)], 0.5), None);
        assert_eq!(of(&[(30, 0.0), (10, 1.0)], 0.2), same);
        assert_eq!(of(&[(30, 0.0), (11, 1.0)], 0.2), None);
        assert_eq!(of(&[(10, 0.0), (30, 1.0)], 0.8), same);
        assert_eq!(of(&[(11, 0.0), (30, 1.0)], 0.8), None);
        // A twentieth of the first stretch is nothing, and all but a twentieth is all of it.
        assert_eq!(of(&[(10, 0.0), (20, CLEAR), (10, 1.0)], 0.3), same);
        assert_eq!(of(&[(10, 0.0), (30, 1.0 - CLEAR)], 0.7), same);
        // Eleven frames were not quite beside it, and all of them nearly.
        assert_eq!(of(&[(12, 0.94), (28, 1.0)], 0.9), same);
        // It comes when the first stretch is over, or goes.
        assert_eq!(of(&[(40, 0.0)], CLEAR), Some(Why::Never));
        assert_eq!(of(&[(40, 0.0)], 0.06), same);
        assert_eq!(of(&[(40, 1.0)], 1.0 - CLEAR), Some(Why::Always));
        assert_eq!(of(&[(40, 1.0)], 0.94), same);
    }

    #[test]
    fn frames_that_follow_each_other_do_not_overlap_and_one_of_a_hundred_may() {
        let in_a_row: Vec<Span> = (0..100).map(|i| span(10 * i, 10 * i + 10)).collect();
        assert!(!overlap_themselves(&in_a_row));
        let mut one = in_a_row.clone();
        one[50].started = Stamp(499);
        assert!(!overlap_themselves(&one));
        one[70].started = Stamp(699);
        assert!(overlap_themselves(&one));
        assert!(!overlap_themselves(&[]));
    }

    #[test]
    fn a_frame_that_took_no_time_is_not_judged() {
        let own: Vec<Span> = (0..40).map(|i| span(100 * i, 100 * i + 50 * (i % 2))).collect();
        let other = [span(0, 4_000)];
        let mut spans = Spans::default();
        spans.of = vec![own, other.to_vec()];
        let [own, beside] = [0, 1].map(|tenant| Company::of(&spans.of[tenant], Arrival::Closed));
        let judged = judge(&spans, &own, &[&beside], false);
        assert_eq!((judged[0].frames, judged[0].mean_share), (20, 1.0));
    }

    #[test]
    fn from_two_to_sixteen_tenants_are_set_against_each_other() {
        let of = |number: u16| {
            let scenario = scenario(&vec![periodic(0); usize::from(number)]);
            let mut phases = Phases::default();
            for tenant in 0..number {
                let frame = FrameRecord {
                    tenant,
                    ..FrameRecord::completed(Stamp(0), Stamp(1_000))
                };
                phases.frame(&frame, Nanos::ZERO, true);
            }
            overlaps(&scenario, Recorded::Scenario, &phases).len()
        };
        assert_eq!([of(1), of(2), of(16), of(17)], [0, 2, 240, 0]);
    }

    #[test]
    fn whoever_may_lose_all_its_time_has_no_upper_end() {
        let named = |share: f64, ci95: [f64; 2]| {
            let judged = Judged {
                frames: 100,
                mean_share: 0.5,
                without: Met::default(),
                beside: Met::default(),
                lost: Ok(Lost { share, ci95 }),
            };
            let named = judged.named(&scenario(&[periodic(0); 2]), Recorded::Scenario, [0, 1]);
            (named.slowdown, named.slowdown_ci95)
        };
        assert_eq!(named(0.5, [0.2, 0.75]), (Some(2.0), Some((1.25, Some(4.0)))));
        assert_eq!(named(0.5, [0.2, 1.0]), (Some(2.0), Some((1.25, None))));
        assert_eq!(named(1.0, [0.5, 1.2]), (None, Some((2.0, None))));
    }

    #[test]
    fn releases_are_locked_where_both_stand_where_the_scenario_puts_them() {
        let code = |own: Arrival, other: Arrival| {
            let of = |recorded| Why::Unknown(Unknown::Same).said(&scenario(&[own, other]), recorded, [0, 1]);
            let (said, of_program) = (of(Recorded::Scenario), of(Recorded::Program));
            assert_eq!(said.code, of_program.code);
            said.code
        };
        let (fixed, shaken) = (periodic(0), periodic(2));
        assert_eq!(code(fixed, fixed), "locked-releases");
        assert_eq!(code(fixed, shaken), "hardly-varies");
        assert_eq!(code(shaken, fixed), "hardly-varies");
        assert_eq!(code(fixed, Arrival::Poisson { hz: 10.0 }), "hardly-varies");
        assert_eq!(code(Arrival::Closed, fixed), "hardly-varies");

        let replay = Arrival::Replay { speed: 1.0 };
        let said = |own, other| {
            let of_two = scenario(&[own, other]);
            let said = Why::Unknown(Unknown::Same).said(&of_two, Recorded::Scenario, [0, 1]);
            said.message
        };
        assert!(
            !said(replay, replay).contains("jitter"),
            "a replay has none to set"
        );
        assert!(said(replay, fixed).contains("`jitter`"));
    }
}
