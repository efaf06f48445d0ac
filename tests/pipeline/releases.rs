//! Every release is accounted for, whatever the tenant keeps up with.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jetlag::clock::{Clock, VirtualClock};
use jetlag::record::{EndReason, FrameRecord, NO_CONTENT, Outcome};
use jetlag::scenario::{Arrival, Overload};
use jetlag::units::{Nanos, Stamp};

use super::trial::Trial;
use crate::summary::made_up::periodic;

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
        trial.runner.arrival = periodic(500.0);
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
            trial.runner.arrival = periodic(500.0);
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
        trial.runner.arrival = periodic(100.0);
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
    trial.runner.arrival = periodic(10.0);
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

/// Virtual time, and how long each sleep was.
#[derive(Default)]
struct Sleeps {
    time: VirtualClock,
    lengths: Mutex<Vec<Nanos>>,
}

impl Clock for Sleeps {
    fn now(&self) -> Stamp {
        self.time.now()
    }
    fn sleep_until(&self, deadline: Stamp) {
        let length = deadline - self.now();
        assert!(
            length > Nanos::ZERO,
            "a sleep that is over would burn the processor"
        );
        self.lengths.lock().unwrap().push(length);
        self.time.advance_to(deadline);
    }
}

#[test]
fn a_long_wait_is_slept_in_stretches_between_which_the_stop_flag_is_seen() {
    let slow = |hz, phase| Arrival::Periodic {
        hz,
        phase: Nanos::from_millis(phase),
        jitter: Nanos::ZERO,
    };
    for (arrival, ahead, frames, released) in [
        // For the epoch; for a release; and, when the last is over, for the end.
        (Arrival::Closed, 330, 1, vec![330]),
        (slow(2.0, 430), 0, 3, vec![430, 930]),
        (slow(2.0, 30), 510, 3, vec![540, 1040]),
    ] {
        let mut trial = Trial::new(1, frames, |_, _| Ok(()));
        let sleeps = Arc::new(Sleeps::default());
        trial.clock = sleeps.clone();
        trial.runner.arrival = arrival;
        trial.ahead = Nanos::from_millis(ahead);
        trial.length = Nanos::from_millis(1_000);
        let (end, records, _) = trial.run();
        let found: Vec<Nanos> = records.iter().map(|r| r.released - Stamp(0)).collect();
        let wanted: Vec<Nanos> = released.into_iter().map(Nanos::from_millis).collect();
        assert_eq!(found, wanted, "{arrival:?}");
        assert!(
            records
                .iter()
                .all(|r| r.outcome == Outcome::Completed && r.lateness == Nanos::ZERO)
        );
        assert!(
            records.iter().all(|r| r.started == r.released),
            "no stretch is longer than the wait"
        );
        let lengths = sleeps.lengths.lock().unwrap();
        assert!(
            lengths.iter().all(|length| *length <= Nanos::from_millis(100)),
            "{lengths:?}"
        );
        let reason = if frames == 1 {
            EndReason::EndOfSource
        } else {
            EndReason::Duration
        };
        assert_eq!(end.reason, reason, "{arrival:?}");
    }
}
