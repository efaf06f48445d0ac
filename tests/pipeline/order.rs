//! What overlaps and what does not, and what waiting is called.

use std::sync::Arc;
use std::time::Duration;

use jetlag::backend::{BackendError, Slot, StageTimes};
use jetlag::clock::{Clock, RealClock};
use jetlag::record::{EndReason, Outcome, Stage};
use jetlag::scenario::Arrival;
use jetlag::tenant::gate::{Gate, Order};
use jetlag::tensor::TensorSet;
use jetlag::units::Nanos;

use super::trial::{Trial, failure};

#[test]
fn at_depth_one_a_frame_is_finished_before_the_next_begins() {
    let mut trial = Trial::new(1, 5, |_, _| Ok(()));
    let (end, records, _) = trial.run();
    assert_eq!((end.reason, records.len()), (EndReason::EndOfSource, 5));
    for n in 0..4 {
        assert!(
            trial.journal.position(&format!("result {n}"))
                < trial.journal.position(&format!("acquire {}", n + 1))
        );
    }
    assert!(
        records
            .iter()
            .all(|r| r.released == r.started && r.finished >= r.started && r.tenant == 3)
    );
}

#[test]
fn at_depth_two_the_next_frame_is_submitted_while_this_one_is_being_computed() {
    // The result of each frame comes only once the next has been submitted.
    let mut trial = Trial::new(2, 6, |journal, frame| {
        if frame < 5 && !journal.await_line(&format!("submit {}", frame + 1)) {
            return Err(failure("the stages do not overlap"));
        }
        Ok(())
    });
    let (_, records, _) = trial.run();
    assert!(
        records.iter().all(|r| r.outcome == Outcome::Completed),
        "{records:?}"
    );
    // And no more than two frames are in flight.
    for n in 0..4 {
        assert!(
            trial.journal.position(&format!("result {n}"))
                < trial.journal.position(&format!("submit {}", n + 2))
        );
    }
}

#[test]
fn while_one_frame_is_computed_another_is_submitted_and_a_third_is_made() {
    // Some libraries enqueue for as long as the device executes: here until the next frame is made and this one's
    // predecessor is waited for. The first tells that they last, and none may be so short that the maker does the next.
    let mut trial = Trial::with(
        3,
        8,
        |journal, frame| {
            std::thread::sleep(Duration::from_millis(1));
            let is_made = matches!(frame, 0 | 7) || journal.await_line(&format!("acquire {}", frame + 1));
            let is_waited_for = frame == 0 || journal.await_line(&format!("wait {}", frame - 1));
            if !is_made || !is_waited_for {
                return Err(failure("the stages do not overlap"));
            }
            journal.write(format!("submitted {frame}"));
            Ok(())
        },
        |journal, frame| {
            journal.write(format!("wait {frame}"));
            if frame < 7 && !journal.await_line(&format!("submitted {}", frame + 1)) {
                return Err(failure("the stages do not overlap"));
            }
            Ok(())
        },
    );
    let (_, records, _) = trial.run();
    let outcomes: Vec<_> = records.iter().map(|r| r.outcome).collect();
    assert_eq!(outcomes, [Outcome::Completed; 8]);
    for n in 0..7 {
        for stage in ["acquire", "submit", "wait"] {
            let at = |n| trial.journal.position(&format!("{stage} {n}"));
            assert!(at(n) < at(n + 1), "one frame after the other");
        }
    }
}

#[test]
fn waiting_for_the_submission_of_the_frame_before_is_queueing() {
    let mut trial = Trial::with(
        2,
        6,
        |journal, frame| {
            // The first is submitted by the thread that makes the next; the last has none after it.
            if !matches!(frame, 0 | 5) && !journal.await_line(&format!("acquire {}", frame + 1)) {
                return Err(failure("the stages do not overlap"));
            }
            // Much longer than it takes from there until the frame is made, on a busy machine too.
            std::thread::sleep(Duration::from_millis(150));
            Ok(())
        },
        |_, _| Ok(()),
    );
    let (_, records, _) = trial.run();
    let waited = records
        .iter()
        .filter_map(|r| r.stages[Stage::Queue as usize])
        .max();
    assert!(waited > Some(Nanos::from_millis(5)), "{waited:?}");
    assert!(records.iter().all(|r| {
        let named: i64 = r.stages.iter().flatten().map(|took| took.0).sum();
        named <= r.response().0
    }));
}

/// Returns when all of these tenants wait at the gate. What it shows of itself is all that tells who does.
fn until_waits(gate: &Gate, tenants: &[u16]) {
    let waits = |tenant: &u16| format!("{gate:?}").contains(&format!("Waiting {{ tenant: {tenant},"));
    while !tenants.iter().all(waits) {
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn waiting_for_its_turn_on_the_device_is_queueing() {
    for depth in [1, 2] {
        let mut trial = Trial::new(depth, 3, |_, _| Ok(()));
        let gate = Arc::new(Gate::new(Order::Arrival, 2));
        trial.runner.gate = Some(gate.clone());
        // Another tenant is on the device for a while.
        gate.enter(0, None);
        let other = std::thread::spawn(move || {
            until_waits(&gate, &[3]);
            std::thread::sleep(Duration::from_millis(15));
            gate.leave(0);
        });
        let (_, records, _) = trial.run();
        other.join().unwrap();
        let waited = |frame: usize| records[frame].stages[Stage::Queue as usize];
        assert!(waited(0) >= Some(Nanos::from_millis(15)), "{:?}", waited(0));
        assert!(waited(2).is_some(), "each frame passes the gate");
    }
}

#[test]
fn a_second_phase_sees_the_same_frames_and_slots_that_begin_anew() {
    let mut trial = Trial::new(2, 4, |_, _| Ok(()));
    let first: Vec<u64> = trial.run().1.iter().map(|r| r.source_index).collect();
    let second: Vec<u64> = trial.run().1.iter().map(|r| r.source_index).collect();
    assert_eq!(first, [0, 1, 2, 3]);
    assert_eq!(first, second);
    let lines = trial.journal.lines.lock().unwrap();
    let restarts: Vec<usize> = (0..lines.len()).filter(|&at| lines[at] == "restart").collect();
    let again = lines.iter().rposition(|line| line == "acquire 0").unwrap();
    assert_eq!(
        restarts,
        [0, 1, again - 2, again - 1],
        "each slot, before each phase's first frame"
    );
}

#[test]
fn during_a_long_submission_a_frame_is_made_that_waits_or_will_be_due() {
    // All at once, and so that the third is due while the second is submitted: two periods are less than two submissions.
    for hz in [1e6, 34.0] {
        let mut trial = Trial::with(
            2,
            3,
            |journal, frame| {
                std::thread::sleep(Duration::from_millis(30));
                if frame == 1 {
                    if !journal.await_line("acquire 2") {
                        return Err(failure("the stages do not overlap"));
                    }
                    std::thread::sleep(Duration::from_millis(20));
                    journal.write("submitted 1".to_owned());
                }
                Ok(())
            },
            |_, _| Ok(()),
        );
        trial.runner.arrival = Arrival::Periodic {
            hz,
            phase: Nanos::ZERO,
            jitter: Nanos::ZERO,
        };
        let (_, records, _) = trial.run();
        let outcomes: Vec<_> = records.iter().map(|r| r.outcome).collect();
        assert_eq!(outcomes, [Outcome::Completed; 3], "{hz} a second");
        let at = |line: &str| trial.journal.position(line);
        assert!(at("submitted 1") < at("submit 2"), "no frame overtakes another");
    }
}

#[test]
fn a_frame_that_no_other_follows_is_submitted_by_the_thread_that_made_it() {
    let mut trial = Trial::with(
        2,
        2,
        |_, _| {
            std::thread::sleep(Duration::from_millis(1));
            Ok(())
        },
        |_, _| Ok(()),
    );
    let (_, records, _) = trial.run();
    let waited: Vec<_> = records.iter().map(|r| r.stages[Stage::Queue as usize]).collect();
    assert_eq!(waited, [None, None], "nothing queues");
}

#[test]
fn at_the_gate_a_frame_is_due_its_deadline_after_its_release() {
    let mut trial = Trial::new(1, 1, |_, _| Ok(()));
    let gate = Arc::new(Gate::new(Order::Deadline, 3));
    trial.runner.gate = Some(gate.clone());
    trial.runner.deadline = Some(Nanos::from_secs(3600));
    gate.enter(9, None);
    let (journal, entered) = (trial.journal.clone(), gate.clone());
    let sooner = RealClock.now() + Nanos::from_secs(1800);
    let other = std::thread::spawn(move || {
        entered.enter(1, Some(sooner));
        journal.write("other".to_owned());
        entered.leave(1);
    });
    let opener = std::thread::spawn(move || {
        until_waits(&gate, &[1, 3]);
        gate.leave(9);
    });
    trial.run();
    other.join().unwrap();
    opener.join().unwrap();
    assert!(trial.journal.position("other") < trial.journal.position("submit 0"));
}

/// Its frames wait an hour on the device.
struct Queueing(TensorSet);

impl Slot for Queueing {
    fn tensors(&self) -> &TensorSet {
        &self.0
    }
    fn tensors_mut(&mut self) -> &mut TensorSet {
        &mut self.0
    }
    fn submit(&mut self) -> Result<(), BackendError> {
        Ok(())
    }
    fn wait(&mut self) -> Result<StageTimes, BackendError> {
        Ok(StageTimes {
            queue: Some(Nanos::from_secs(3600)),
            ..StageTimes::default()
        })
    }
}

#[test]
fn waiting_before_and_on_the_device_is_queueing_together() {
    for gate in [None, Some(Arc::new(Gate::new(Order::Arrival, 1)))] {
        let mut trial = Trial::new(1, 3, |_, _| Ok(()));
        trial.runner.slots = vec![Box::new(Queueing(TensorSet::default()))];
        trial.runner.gate = gate.clone();
        let (_, records, _) = trial.run();
        let queued = records.iter().map(|r| r.stages[Stage::Queue as usize].unwrap());
        let an_hour = Nanos::from_secs(3600);
        for queued in queued {
            assert!(
                queued == an_hour || gate.is_some() && queued > an_hour,
                "{queued}"
            );
        }
    }
}
