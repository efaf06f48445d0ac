//! One tenant's frames next to another's, made by hand: what the timestamps of an incident tell, and which cause is
//! named.

use super::told::share_in_words;
use super::*;
use crate::analysis::gathering::watch::Watch;
use crate::record::{Device, SampleRecord};

const MS: i64 = 1_000_000;

fn stamp(ms: i64) -> Stamp {
    Stamp(ms * MS)
}

fn span(started: i64, finished: i64) -> Span {
    Span {
        started: stamp(started),
        finished: stamp(finished),
    }
}

fn frame(tenant: u16, sequence: u64, [released, started, finished]: [i64; 3]) -> FrameRecord {
    FrameRecord {
        tenant,
        sequence,
        source_index: sequence,
        started: stamp(started),
        ..FrameRecord::completed(stamp(released), stamp(finished))
    }
}

fn kept(frame: FrameRecord, beside: Vec<Vec<Span>>) -> Kept {
    Kept {
        frame,
        head: frame.sequence,
        behind: None,
        beside,
    }
}

/// A clock of 1000 MHz that was at 950 in the second second, read ten times a second.
fn clock() -> Tracks {
    let mut tracks = Tracks::default();
    for i in 0..30 {
        tracks.sample(&SampleRecord {
            at: stamp(i * 100),
            source: "nvml".to_owned(),
            signal: "gpu0_sm_frequency".to_owned(),
            value: Some(if (10..20).contains(&i) { 950.0 } else { 1_000.0 }),
            unit: "mhz".to_owned(),
        });
    }
    tracks.finish()
}

/// Tenant 0, whose usual frames take 10 ms, every 100 ms, beside tenant 1, which works for 5 ms.
pub(super) fn judged(change: impl FnOnce(&mut Watched), check: impl FnOnce(&mut Judge<'_>)) {
    judged_of(60, Nanos(5 * MS), change, check);
}

/// The same of so many frames beside a tenant that works for so long.
pub(super) fn judged_of(
    frames: i64,
    work: Nanos,
    change: impl FnOnce(&mut Watched),
    check: impl FnOnce(&mut Judge<'_>),
) {
    let mut watch = Watch::new(2);
    (0..frames).for_each(|n| watch.frame(&frame(0, n as u64, [n * 100, n * 100, n * 100 + 10])));
    let mut watched = watch.finish().remove(0);
    watched.slowest.clear();
    change(&mut watched);
    let tenants = ["camera", "lidar"].map(|name| Tenant {
        name: name.to_owned(),
        p50: Some(Nanos(10 * MS)),
        p90: Some(Nanos(11 * MS)),
        work,
    });
    let tracks = clock();
    let machine = Machine::new(&tracks, Device::Gpu(0));
    check(&mut Judge::new(0, &watched, &tenants, &machine).unwrap());
}

/// A frame of tenant 0 that tenant 1 was beside all the time, or never.
pub(super) fn frame_beside(sequence: u64, with: bool) -> Kept {
    let at = sequence as i64 * 100;
    let beside = if with { vec![span(at, at + 10)] } else { Vec::new() };
    kept(frame(0, sequence, [at, at, at + 10]), vec![Vec::new(), beside])
}

#[test]
fn a_co_runner_that_was_slow_by_itself_just_before_or_after_is_not_to_blame() {
    // In service from 1000 to 1030 ms beside the co-runner; next to it is what is within four usual responses, 40 ms.
    let slow = kept(
        frame(0, 1_000, [1_000, 1_000, 1_030]),
        vec![vec![], vec![span(990, 1_020)]],
    );
    judged(
        |_| {},
        |judge| {
            let mut blamed = |alone: &[Span]| {
                judge.slow_alone = BTreeMap::from([(1, alone.to_vec())]);
                judge.is_to_blame(Circumstance::Active(1), &slow)
            };
            assert_eq!(blamed(&[]), Some(true));
            assert_eq!(blamed(&[span(1_069, 1_080)]), Some(false), "just after");
            assert_eq!(blamed(&[span(1_070, 1_080)]), Some(true));
            assert_eq!(blamed(&[span(900, 961)]), Some(false), "just before");
            assert_eq!(blamed(&[span(900, 960)]), Some(true));
            assert_eq!(blamed(&[span(5_000, 5_010)]), Some(true));
            assert_eq!(blamed(&[span(100, 110)]), Some(true));
            assert_eq!(blamed(&[span(1_010, 1_020)]), Some(true), "it met the frame");
        },
    );
}

#[test]
fn a_co_runner_is_not_to_blame_where_the_next_frame_was_slow_without_it() {
    let beside = || vec![vec![], vec![span(990, 1_040)]];
    let slow = kept(frame(0, 1_000, [1_000, 1_000, 1_030]), beside());
    let next = |beside: Vec<Vec<Span>>| kept(frame(0, 1_001, [1_100, 1_100, 1_150]), beside);
    let with = |next: Kept| {
        let mut found = None;
        judged(
            |watched| watched.slowest = vec![next],
            |judge| {
                found = judge.is_to_blame(Circumstance::Active(1), &slow);
                let alone = judge.slow_without(1);
                let expected = judge
                    .far
                    .values()
                    .filter(|kept| kept.beside[1].is_empty())
                    .count();
                assert_eq!(alone.len(), expected);
            },
        );
        found
    };
    assert_eq!(with(next(vec![vec![], vec![]])), Some(false));
    assert_eq!(with(next(vec![vec![], vec![span(1_100, 1_120)]])), Some(true));
}

#[test]
fn when_a_tenant_was_slow_without_meeting_another_is_known_of_its_frames_beyond_the_usual() {
    let alone = kept(frame(0, 70, [7_000, 7_000, 7_080]), vec![vec![], vec![]]);
    let beside = kept(
        frame(0, 80, [8_000, 8_000, 8_080]),
        vec![vec![], vec![span(8_000, 8_010)]],
    );
    let usual = kept(frame(0, 90, [9_000, 9_000, 9_010]), vec![vec![], vec![]]);
    judged(
        |watched| watched.slowest = vec![alone, beside, usual],
        |judge| assert_eq!(judge.slow_without(1), [span(7_000, 7_080)]),
    );
}

#[test]
fn a_clock_is_low_below_a_twentieth_less_and_an_input_of_no_size_is_none() {
    judged(
        |_| {},
        |judge| {
            judge.clock = Some(1_000.0);
            let at = |ms: i64| kept(frame(0, 1, [ms, ms, ms + 10]), vec![vec![], vec![]]);
            assert_eq!(
                judge.is(Circumstance::LowClock, &at(1_550)),
                Some(false),
                "950 of 1000 MHz"
            );
            judge.clock = Some(1_001.0);
            assert_eq!(judge.is(Circumstance::LowClock, &at(1_550)), Some(true));
            assert_eq!(judge.is(Circumstance::LowClock, &at(550)), Some(false));
            assert_eq!(judge.is(Circumstance::LargeInput, &at(550)), None);
            let told = judge.tell(&[&at(550)], Stamp(0));
            assert_eq!((told.input_size, told.usual_input_size), (None, None));
            judge.input = 100;
            let sized = |size: u32| {
                let mut kept = at(550);
                kept.frame.input_size = size;
                kept
            };
            assert_eq!(judge.is(Circumstance::LargeInput, &sized(124)), Some(false));
            assert_eq!(judge.is(Circumstance::LargeInput, &sized(125)), Some(true));
            let told = judge.tell(&[&sized(125)], Stamp(0));
            assert_eq!((told.input_size, told.usual_input_size), (Some(125), Some(100)));
        },
    );
}

#[test]
fn a_frame_is_far_beyond_the_fence_and_not_on_it() {
    judged(
        |_| {},
        |judge| {
            // The median and four times what the slowest tenth takes more: 14 ms.
            assert_eq!(judge.fence, Some(Nanos(14 * MS)));
            let of = |took: i64| judge.is_far(&kept(frame(0, 1, [0, 0, took]), vec![]));
            assert!(!of(14) && of(15));
        },
    );
}

/// Released at 0, so late and so long in line, in milliseconds, then 10 ms at work.
fn waited(late: i64, wait: i64, behind: Option<Behind>) -> Kept {
    let mut frame = frame(0, 1_000, [0, late + wait, late + wait + 10]);
    frame.lateness = Nanos(late * MS);
    Kept {
        behind,
        ..kept(frame, vec![vec![], vec![]])
    }
}

fn behind(service: i64, frames: u64, work: i64) -> Option<Behind> {
    Some(Behind {
        sequence: 999,
        service: Nanos(service * MS),
        frames,
        work: Nanos(work * MS),
    })
}

#[test]
fn what_an_incidents_stamps_say_is_the_part_that_grew_if_it_explains_half() {
    let of = |kept: &Kept, usual_wait: i64| {
        let mut told = "";
        judged(
            |_| {},
            |judge| {
                judge.parts[WAIT] = Nanos(usual_wait * MS);
                told = match judge.story(&[kept]) {
                    Story::Late => "late",
                    Story::Waited => "waited",
                    Story::Line(_) => "line",
                    Story::HeldUp(_) => "held up",
                    Story::Work(_) => "work",
                };
            },
        );
        told
    };
    assert_eq!(of(&waited(60, 0, None), 0), "late");
    assert_eq!(of(&waited(0, 60, None), 0), "waited");
    // The wait grew by 25 ms of 45 ms, or by 15 ms of 30 ms and no less than half, or by less.
    assert_eq!(of(&waited(20, 25, None), 0), "waited");
    assert_eq!(of(&waited(14, 16, None), 1), "waited");
    assert_eq!(of(&waited(12, 14, None), 2), "work");
    // Lateness grew most, but explains too little beside the wait and the work.
    let mut slow = waited(20, 15, None);
    slow.frame.finished = stamp(20 + 15 + 25);
    slow.frame.stages[Stage::Acquire as usize] = Some(Nanos(12 * MS));
    slow.frame.stages[Stage::Compute as usize] = Some(Nanos(13 * MS));
    assert_eq!(of(&slow, 0), "work");
    // A frame held it up that took twice the usual, where what it took more is half of the wait.
    assert_eq!(of(&waited(0, 20, behind(20, 1, 20)), 0), "held up");
    assert_eq!(of(&waited(0, 21, behind(20, 1, 20)), 0), "line");
    assert_eq!(of(&waited(0, 18, behind(19, 1, 19)), 0), "line");
}

#[test]
fn a_line_is_told_with_its_frames_and_whether_they_were_slow() {
    let told = |behind: Option<Behind>| {
        let mut found = None;
        judged(
            |_| {},
            |judge| found = Some(judge.line(Nanos(40 * MS), behind.unwrap())),
        );
        found.unwrap()
    };
    let (cause, text) = told(behind(12, 4, 44));
    assert_eq!(cause, Some("backlog"));
    assert_eq!(
        text,
        "It waited 40.00 ms in a queue of 4 frames without a gap: frames arrived faster than they were served. They \
         took \
         11.00 ms each (usually 10.00 ms), the longest 12.00 ms."
    );
    // From a quarter more than the usual on, work was slow.
    let (cause, text) = told(behind(13, 4, 50));
    assert_eq!(cause, Some("waited"));
    assert_eq!(
        text,
        "It waited 40.00 ms in a queue of 4 frames without a gap, which took 12.50 ms each instead of 10.00 ms; the \
         cause is unknown."
    );
    assert!(
        told(behind(12, 1, 12))
            .1
            .contains("in a queue of 1 frame without")
    );
}

#[test]
fn shares_are_told_so_that_few_are_not_none() {
    for (share, words) in [
        (0.0, "none"),
        (0.001, "less than 1 %"),
        (0.009_9, "less than 1 %"),
        (0.01, "1 %"),
        (0.5, "50 %"),
    ] {
        assert_eq!(share_in_words(share), words, "{share}");
    }
}
