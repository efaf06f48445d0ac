use super::*;
use crate::record::Phase;
use crate::scenario::Sharing;
use crate::source::timeline::{FrameTime, Sets};

const MS: i64 = 1_000_000;

fn plan(ms: i64) -> PhasePlan {
    PhasePlan {
        phase: Phase::Together,
        drawn_as: Phase::Together,
        traced: false,
        sharing: Sharing::Streams,
        epoch: Stamp(0),
        measured_from: Stamp(0),
        end: Stamp(ms * MS),
    }
}
fn tenant(n: u16, latency_ms: i64, hz: f64) -> SimTenant {
    SimTenant {
        tenant: n,
        model: LatencyModel::Fixed {
            latency: Nanos::from_millis(latency_ms),
        },
        arrival: Arrival::Periodic {
            hz,
            phase: Nanos::ZERO,
            jitter: Nanos::ZERO,
        },
        overload: Overload::Queue { capacity: 1000 },
        deadline: None,
        depth: 1,
        batch: Batch::default(),
        frames: None,
        seed: 1,
        timeline: None,
        length: None,
    }
}
fn frames(tenants: &[SimTenant], contention: f64, ms: i64) -> Vec<FrameRecord> {
    let mut all = Vec::new();
    run(tenants, contention, plan(ms), &AtomicBool::new(false), |r| {
        all.push(*r)
    });
    all
}

#[test]
fn a_tenant_alone_responds_in_its_service_time() {
    let all = frames(&[tenant(0, 5, 100.0)], 1.0, 1_000);
    assert_eq!(all.len(), 100);
    assert!(
        all.iter()
            .all(|r| r.response() == Nanos::from_millis(5) && r.queueing() == Nanos::ZERO)
    );
}

fn batched(size: usize, wait_ms: Option<i64>, hz: f64) -> SimTenant {
    SimTenant {
        batch: Batch {
            size,
            wait: wait_ms.map(Nanos::from_millis),
        },
        ..tenant(0, 5, hz)
    }
}

#[test]
fn frames_of_a_batch_finish_together_and_each_is_charged_from_its_own_release() {
    let all = frames(&[batched(4, None, 100.0)], 1.0, 1_000);
    assert_eq!(all.len(), 100);
    for (n, frame) in all.iter().enumerate() {
        // The last of four does not wait; the first waits three periods of 10 ms.
        let waited = Nanos::from_millis(10 * (3 - n as i64 % 4));
        assert_eq!(frame.stages[Stage::Queue as usize], Some(waited));
        assert_eq!(frame.stages[Stage::Compute as usize], Some(Nanos::from_millis(5)));
        assert_eq!(frame.response(), waited + Nanos::from_millis(5));
        let first = (n as u64 / 4) * 4;
        assert_eq!(frame.batch, Some(BatchPart { first, items: 4 }));
    }
}

#[test]
fn a_frame_waits_for_others_no_longer_than_it_may() {
    // At 0, 10, 20 ms …: after 15 ms two are there.
    let all = frames(&[batched(4, Some(15), 100.0)], 1.0, 1_000);
    assert!(all.iter().all(|frame| frame.outcome == Outcome::Completed));
    assert!(
        all.iter()
            .all(|frame| frame.batch.is_some_and(|batch| batch.items == 2))
    );
    let longest = all
        .iter()
        .filter_map(|frame| frame.stages[Stage::Queue as usize])
        .max();
    assert_eq!(longest, Some(Nanos::from_millis(15)));
    // Who does not wait at all has a batch only of what is there.
    let all = frames(&[batched(4, Some(0), 100.0)], 1.0, 1_000);
    assert!(all.iter().all(|frame| frame.response() == Nanos::from_millis(5)));
}

#[test]
fn a_backlog_is_served_in_batches_and_the_last_one_is_as_large_as_it_is() {
    // 5 ms a batch and a frame a millisecond: without batches four of five would wait for ever.
    let all = frames(&[batched(5, Some(0), 1_000.0)], 1.0, 96);
    assert!(all.iter().all(|frame| frame.outcome == Outcome::Completed));
    assert!(all.iter().all(|frame| frame.response() <= Nanos::from_millis(10)));
    let few = frames(
        &[SimTenant {
            frames: Some(6),
            ..batched(4, None, 100.0)
        }],
        1.0,
        1_000,
    );
    let items: Vec<u32> = few
        .iter()
        .filter_map(|frame| frame.batch)
        .map(|batch| batch.items)
        .collect();
    assert_eq!(items, [4, 4, 4, 4, 2, 2]);
    let closed = SimTenant {
        arrival: Arrival::Closed,
        frames: Some(8),
        ..batched(4, None, 1.0)
    };
    let all = frames(&[closed], 1.0, 1_000);
    assert_eq!(all.len(), 8);
    assert!(
        all.iter().all(|frame| frame.response() == Nanos::from_millis(5)),
        "the closed loop fills it at once"
    );
}

/// Sets whose sensors are 30 ms apart every 100 ms; every fourth stays incomplete.
fn sets(latency_ms: i64) -> SimTenant {
    let at = |ms: i64| Nanos(ms * MS);
    let whole = || (0..40i64).filter(|n| n % 4 != 3);
    let frames = whole().map(|n| FrameTime {
        captured: at(n * 100 + 30),
        came: at(n * 100),
    });
    let timeline = Timeline::new(frames.collect(), at(4_000)).of_sets(Sets {
        complete: whole().map(|n| at(n * 100 + 30)).collect(),
        skew: whole().map(|_| at(30)).collect(),
        incomplete: (0..40).filter(|n| n % 4 == 3).map(|n| at(n * 100)).collect(),
        tolerance: at(50),
    });
    SimTenant {
        arrival: Arrival::Replay { speed: 1.0 },
        timeline: Some(timeline),
        ..tenant(0, latency_ms, 1.0)
    }
}

#[test]
fn a_set_waits_for_its_last_sensor_and_one_that_stays_incomplete_is_dropped() {
    let all = frames(&[sets(5)], 1.0, 8_000);
    assert_eq!(all.len(), 80);
    let (dropped, done): (Vec<&FrameRecord>, Vec<&FrameRecord>) =
        all.iter().partition(|frame| frame.stayed_incomplete());
    assert_eq!((dropped.len(), done.len()), (20, 60));
    for frame in done {
        assert_eq!(frame.outcome, Outcome::Completed);
        assert_eq!(
            frame.stages[Stage::Synchronise as usize],
            Some(Nanos::from_millis(30))
        );
        assert_eq!(frame.stages[Stage::Queue as usize], Some(Nanos::ZERO));
        assert_eq!(frame.response(), Nanos::from_millis(35));
        assert_eq!(frame.skew, Some(Nanos::from_millis(30)));
    }
    assert!(
        dropped
            .iter()
            .all(|frame| frame.response() == Nanos::from_millis(50))
    );
}

#[test]
fn a_tenant_that_is_behind_finds_its_sets_complete() {
    let all = frames(&[sets(120)], 1.0, 4_000);
    let done: Vec<&FrameRecord> = all
        .iter()
        .filter(|frame| frame.outcome == Outcome::Completed)
        .collect();
    let waited = |frame: &FrameRecord| frame.stages[Stage::Synchronise as usize].unwrap();
    // The second set was complete at 130 ms, and its turn came at 150 ms.
    assert_eq!(
        [0, 1].map(|n| waited(done[n])),
        [Nanos::from_millis(30), Nanos::ZERO]
    );
    for frame in done {
        let parts: i64 = frame.stages.iter().flatten().map(|took| took.0).sum();
        assert_eq!(frame.queueing().0 + parts, frame.response().0);
    }
}

#[test]
fn a_batch_of_one_is_no_batch() {
    let single = frames(&[tenant(0, 15, 100.0)], 1.0, 1_000);
    let batched = frames(
        &[batched(1, None, 100.0)].map(|one| SimTenant {
            model: LatencyModel::Fixed {
                latency: Nanos::from_millis(15),
            },
            ..one
        }),
        1.0,
        1_000,
    );
    assert_eq!(single, batched);
}

#[test]
fn two_tenants_on_an_evenly_divided_device_take_twice_as_long_while_both_run() {
    let all = frames(&[tenant(0, 10, 10.0), tenant(1, 10, 10.0)], 1.0, 1_000);
    assert!(
        all.iter().all(|r| r.response() == Nanos::from_millis(20)),
        "released together, sharing all the way"
    );
}

#[test]
fn a_frame_that_waited_is_charged_from_its_release() {
    // 15 ms of service every 10 ms: the n-th frame starts 5 ms × n late.
    let all = frames(&[tenant(0, 15, 100.0)], 0.0, 100);
    let done: Vec<_> = all.iter().filter(|r| r.outcome == Outcome::Completed).collect();
    for (n, r) in done.iter().enumerate() {
        assert_eq!(r.queueing(), Nanos::from_millis(5 * n as i64));
        assert_eq!(r.response(), Nanos::from_millis(15 + 5 * n as i64));
    }
    assert_eq!(all.len(), 10, "every release is accounted for");
}

#[test]
fn overload_policies_drop_what_they_promise_to() {
    let mut oldest = tenant(0, 25, 100.0);
    oldest.overload = Overload::DropOldest { queue: 1 };
    let all = frames(&[oldest.clone()], 0.0, 1_000);
    let dropped = all.iter().filter(|r| r.outcome == Outcome::Dropped).count();
    let done: Vec<_> = all.iter().filter(|r| r.outcome == Outcome::Completed).collect();
    assert!(
        done.iter().skip(1).all(|r| r.queueing() < Nanos::from_millis(10)),
        "the newest frame is served"
    );
    assert_eq!(
        done.len() + dropped + all.iter().filter(|r| r.outcome == Outcome::Unfinished).count(),
        100
    );
    assert!(
        (38..=41).contains(&done.len()),
        "25 ms of service: 40 a second, not {}",
        done.len()
    );
    let mut newest = oldest;
    newest.overload = Overload::DropNewest { queue: 1 };
    let all = frames(&[newest], 0.0, 1_000);
    let steady = all.iter().filter(|r| r.outcome == Outcome::Completed).skip(3);
    assert!(
        steady.into_iter().all(|r| r.queueing() >= Nanos::from_millis(10)),
        "the oldest frame is served"
    );
}

#[test]
fn what_the_end_cuts_off_is_missed_if_its_deadline_passed_before() {
    // 15 ms of service every 10 ms: at 100 ms the frames of 70, 80 and 90 ms wait.
    let mut late = tenant(0, 15, 100.0);
    late.deadline = Some(Nanos::from_millis(20));
    let all = frames(&[late], 0.0, 100);
    let cut: Vec<_> = all.iter().filter(|r| r.outcome == Outcome::Unfinished).collect();
    let cut: Vec<_> = cut
        .iter()
        .map(|r| (r.released.0 / MS, r.response().0 / MS, r.missed()))
        .collect();
    assert_eq!(cut, [(70, 30, true), (80, 20, false), (90, 10, false)]);
}

#[test]
fn depth_lets_the_next_frame_wait_on_the_stream_instead_of_before_it() {
    let mut deep = tenant(0, 15, 100.0);
    deep.depth = 2;
    let all = frames(&[deep], 0.0, 60);
    let second = all.iter().find(|r| r.sequence == 1).unwrap();
    assert_eq!(second.queueing(), Nanos::ZERO);
    assert_eq!(second.stages[Stage::Queue as usize], Some(Nanos::from_millis(5)));
    assert_eq!(second.response(), Nanos::from_millis(20));
}

#[test]
fn a_closed_tenant_is_always_busy_and_stops_at_its_count() {
    let mut closed = tenant(0, 10, 1.0);
    closed.arrival = Arrival::Closed;
    assert_eq!(frames(&[closed.clone()], 0.0, 1_000).len(), 100);
    closed.frames = Some(7);
    assert_eq!(frames(&[closed], 0.0, 1_000).len(), 7);
}

#[test]
fn a_tenant_that_counts_out_is_measured_to_its_own_end_and_not_before_the_window() {
    let mut counted = tenant(0, 1, 100.0);
    counted.frames = Some(100);
    let window = PhasePlan {
        measured_from: Stamp(500 * MS),
        ..plan(10_000)
    };
    let ends = run(
        &[counted, tenant(1, 1, 10.0)],
        0.0,
        window,
        &AtomicBool::new(false),
        |_| {},
    );
    assert_eq!(ends[0].reason, EndReason::Count);
    assert_eq!(
        ends[0].measured_to,
        Stamp(1_491 * MS),
        "100 frames from the end of the warm-up"
    );
    assert_eq!(ends[1].measured_to, window.end);
}

#[test]
fn frames_of_an_ending_source_keep_their_numbers_when_others_are_dropped() {
    let mut short = tenant(0, 25, 100.0);
    short.overload = Overload::DropOldest { queue: 1 };
    short.length = Some(50);
    let mut all = Vec::new();
    let ends = run(&[short], 0.0, plan(10_000), &AtomicBool::new(false), |r| {
        all.push(*r)
    });
    assert_eq!((ends[0].reason, all.len()), (EndReason::EndOfSource, 50));
    assert!(all.iter().any(|r| r.outcome == Outcome::Dropped));
    for r in all {
        assert_eq!(
            (r.source_index, r.released),
            (r.sequence, Stamp(r.sequence as i64 * 10 * MS))
        );
    }
}

#[test]
fn a_replay_is_released_at_the_sources_capture_times() {
    let mut replay = tenant(0, 1, 1.0);
    replay.arrival = Arrival::Replay { speed: 1.0 };
    replay.timeline = Some(Timeline::of_captures([0, 30, 40].map(Nanos::from_millis)));
    let released: Vec<i64> = frames(&[replay], 0.0, 100)
        .iter()
        .map(|r| r.released.0 / MS)
        .collect();
    assert_eq!(released, [0, 30, 40, 60, 90]);
}

#[test]
fn the_stop_flag_ends_simulated_time_too() {
    let ends = run(
        &[tenant(0, 1, 100.0)],
        0.0,
        plan(10_000),
        &AtomicBool::new(true),
        |_| {},
    );
    assert_eq!(ends[0].reason, EndReason::Interrupted);
    assert_eq!(ends[0].measured_to, Stamp(0));
}

#[test]
fn equal_seeds_give_identical_records() {
    let mut noisy = tenant(0, 5, 30.0);
    noisy.model = LatencyModel::LogNormal {
        median: Nanos::from_millis(8),
        sigma: 0.4,
    };
    noisy.arrival = Arrival::Poisson { hz: 50.0 };
    let pair = [
        noisy.clone(),
        SimTenant {
            tenant: 1,
            seed: 2,
            ..noisy
        },
    ];
    assert_eq!(frames(&pair, 0.7, 10_000), frames(&pair, 0.7, 10_000));
}

#[test]
fn under_edf_the_frame_that_is_due_first_goes_first_and_one_without_a_deadline_last() {
    let with = |n: u16, deadline: Option<i64>| SimTenant {
        deadline: deadline.map(Nanos::from_millis),
        ..tenant(n, 5, 10.0)
    };
    let tenants = [
        with(0, None),
        with(1, Some(90)),
        with(2, Some(30)),
        with(3, Some(60)),
    ];
    let edf = PhasePlan {
        sharing: Sharing::Edf,
        ..plan(100)
    };
    let mut all = Vec::new();
    run(&tenants, 1.0, edf, &AtomicBool::new(false), |r| all.push(*r));
    all.sort_by_key(|r| r.finished);
    let order: Vec<u16> = all.iter().map(|r| r.tenant).collect();
    assert_eq!(order, [2, 3, 1, 0]);
}
