//! Every release is accounted for, whatever the tenant keeps up with.

use std::sync::atomic::Ordering;
use std::time::Duration;

use jetlag::record::{EndReason, FrameRecord, NO_CONTENT, Outcome};
use jetlag::scenario::{Arrival, Overload};
use jetlag::units::Nanos;

use super::trial::Trial;

#[test]
fn under_overload_every_release_is_accounted_for_exactly_once() {
    for (depth, overload) in [
        (1, Overload::DropOldest { queue: 2 }),
        (2, Overload::DropNewest { queue: 1 }),
        (2, Overload::Queue { capacity: 3 }),
    ] {
        let mut trial = Trial::new(depth, 1_000, |_, _| {
            std::thread::sleep(Duration::from_millis(7));
            Ok(())
        });
        trial.runner.arrival = Arrival::Periodic {
            hz: 500.0,
            phase: Nanos::ZERO,
            jitter: Nanos::ZERO,
        };
        trial.runner.overload = overload;
        trial.runner.frames = Some(100);
        trial.length = Nanos::from_secs(600);
        let (end, records, _) = trial.run();
        let numbers: Vec<u64> = records.iter().map(|r| r.sequence).collect();
        assert_eq!(numbers, (0..100).collect::<Vec<_>>(), "{overload:?}");
        assert_eq!(end.reason, EndReason::Count);
        let dropped = records.iter().filter(|r| r.outcome == Outcome::Dropped);
        assert!(dropped.clone().count() > 20, "{overload:?}");
        assert!(dropped.clone().all(|r| r.finished >= r.released));
        let released: Vec<i64> = records
            .windows(2)
            .map(|w| (w[1].released - w[0].released).0)
            .collect();
        assert!(
            released.iter().all(|gap| *gap == 2_000_000),
            "releases do not depend on how the tenant keeps up"
        );
    }
}

#[test]
fn the_nth_release_means_the_nth_frame_whatever_was_dropped_before_it() {
    for overload in [
        Overload::DropOldest { queue: 1 },
        Overload::DropNewest { queue: 1 },
    ] {
        for depth in [1, 2] {
            let mut trial = Trial::new(depth, 60, |_, _| {
                std::thread::sleep(Duration::from_millis(7));
                Ok(())
            });
            trial.runner.arrival = Arrival::Periodic {
                hz: 500.0,
                phase: Nanos::ZERO,
                jitter: Nanos::ZERO,
            };
            trial.runner.overload = overload;
            let (end, records, _) = trial.run();
            assert_eq!(
                (end.reason, records.len()),
                (EndReason::EndOfSource, 60),
                "every frame of the source was released once, and none that it does not have"
            );
            let (served, dropped): (Vec<FrameRecord>, Vec<FrameRecord>) =
                records.into_iter().partition(|r| r.outcome == Outcome::Completed);
            assert!(!served.is_empty() && !dropped.is_empty(), "{overload:?}");
            assert!(
                served.iter().all(|r| r.source_index == r.sequence),
                "{overload:?}"
            );
            assert!(
                dropped.iter().all(|r| r.source_index == NO_CONTENT),
                "{overload:?}"
            );
        }
    }
}

#[test]
fn releases_up_to_the_end_of_the_window_are_accounted_for_as_in_simulated_time() {
    for depth in [1, 2] {
        let mut trial = Trial::new(depth, 1_000, |_, _| {
            std::thread::sleep(Duration::from_millis(170));
            Ok(())
        });
        trial.runner.arrival = Arrival::Periodic {
            hz: 100.0,
            phase: Nanos::ZERO,
            jitter: Nanos::ZERO,
        };
        trial.runner.overload = Overload::DropOldest { queue: 1 };
        trial.length = Nanos::from_millis(500);
        let (end, records, _) = trial.run();
        assert_eq!(end.reason, EndReason::Duration);
        let numbers: Vec<u64> = records.iter().map(|r| r.sequence).collect();
        assert_eq!(
            numbers,
            (0..50).collect::<Vec<_>>(),
            "50 were released, however long each took"
        );
    }
}

#[test]
fn the_stop_flag_ends_a_phase_and_frames_that_wait_are_unfinished() {
    let mut trial = Trial::new(1, 1_000, |_, _| Ok(()));
    trial.runner.arrival = Arrival::Periodic {
        hz: 10.0,
        phase: Nanos::ZERO,
        jitter: Nanos::ZERO,
    };
    let stop = trial.stop.clone();
    let journal = trial.journal.clone();
    let watcher = std::thread::spawn(move || {
        journal.await_line("result 0");
        stop.store(true, Ordering::Relaxed);
    });
    let (end, records, _) = trial.run();
    watcher.join().unwrap();
    assert_eq!(end.reason, EndReason::Interrupted);
    assert!(!records.is_empty() && records.len() < 1_000);
    assert!(end.measured_to < end.epoch + trial.length);
}
