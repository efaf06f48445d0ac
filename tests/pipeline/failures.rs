//! Frames that fail, and code that panics.

use std::sync::Arc;

use jetlag::detector::{Carry, Detection, DetectorError, Postprocess, Preprocess};
use jetlag::record::{EndReason, Outcome};
use jetlag::source::Frame;
use jetlag::tenant::gate::{Gate, Order};
use jetlag::tensor::TensorSet;

use super::trial::{Deed, Trial, failure};

#[test]
fn a_frame_that_fails_is_recorded_and_the_tenant_goes_on() {
    for depth in [1, 2] {
        let mut trial = Trial::new(depth, 8, |_, frame| {
            if frame == 3 {
                Err(failure("no luck"))
            } else {
                Ok(())
            }
        });
        let (end, records, events) = trial.run();
        let outcomes: Vec<_> = records.iter().map(|r| r.outcome).collect();
        assert_eq!(outcomes.iter().filter(|o| **o == Outcome::Failed).count(), 1);
        assert_eq!(outcomes[3], Outcome::Failed);
        assert_eq!((end.reason, records.len()), (EndReason::EndOfSource, 8));
        assert!(format!("{events:?}").contains("no luck"));
    }
}

#[test]
fn a_tenant_that_only_fails_gives_up_and_says_so() {
    for depth in [1, 2] {
        let mut trial = Trial::new(depth, 1_000, |_, _| Err(failure("out of memory")));
        let (end, records, events) = trial.run();
        assert_eq!(end.reason, EndReason::Failed);
        assert!((10..20).contains(&records.len()), "{}", records.len());
        let said = format!("{events:?}");
        assert_eq!(said.matches("too many failures in a row").count(), 1, "{said}");
        assert_eq!(
            trial.runner.slots.len(),
            depth,
            "the slots come back for the next phase"
        );
    }
}

#[test]
fn of_many_failures_the_first_few_are_told_and_then_their_number() {
    let mut trial = Trial::new(1, 60, |_, frame| {
        if frame % 2 == 0 {
            Err(failure("every other one"))
        } else {
            Ok(())
        }
    });
    let (_, records, events) = trial.run();
    assert_eq!(
        records.iter().filter(|r| r.outcome == Outcome::Failed).count(),
        30
    );
    assert_eq!(format!("{events:?}").matches("every other one").count(), 3);
    assert!(format!("{events:?}").contains("27 more frames failed"));
    assert!(!format!("{events:?}").contains("in a row"));
}

struct BrokenPreprocess;

impl Preprocess for BrokenPreprocess {
    fn run(&mut self, frame: &Frame, _: &mut TensorSet, _: &mut Carry) -> Result<u32, DetectorError> {
        if frame.index % 2 == 1 {
            return Err(DetectorError::BadFrame {
                index: frame.index,
                problem: "odd".to_owned(),
            });
        }
        Ok(7)
    }
}

#[test]
fn a_frame_that_cannot_be_prepared_fails_before_submission() {
    for depth in [1, 2] {
        let mut trial = Trial::new(depth, 6, |_, _| Ok(()));
        trial.runner.preprocess = Some(Box::new(BrokenPreprocess));
        let (_, records, _) = trial.run();
        let outcomes: Vec<_> = records
            .iter()
            .map(|r| (r.source_index, r.outcome, r.input_size))
            .collect();
        for (n, outcome) in outcomes.iter().enumerate() {
            let expected = if n % 2 == 1 {
                (Outcome::Failed, 0)
            } else {
                (Outcome::Completed, 7)
            };
            assert_eq!(*outcome, (n as u64, expected.0, expected.1));
        }
    }
}

struct Panics;

impl Preprocess for Panics {
    fn run(&mut self, frame: &Frame, _: &mut TensorSet, _: &mut Carry) -> Result<u32, DetectorError> {
        assert!(frame.index < 3, "a mistake of ours");
        Ok(1)
    }
}

impl Postprocess for Panics {
    fn run(&mut self, _: &TensorSet, _: &Carry, _: &mut Vec<Detection>) -> Result<(), DetectorError> {
        panic!("a mistake of ours");
    }
}

#[test]
fn a_panic_in_any_stage_ends_the_tenant_and_not_the_program() {
    let fine: Deed = |_, _| Ok(());
    let panics: Deed = |_, frame| {
        assert!(frame < 3, "as a library's code might");
        Ok(())
    };
    for depth in [1, 2, 3] {
        for stage in ["preprocess", "submit", "wait", "postprocess"] {
            let mut trial = match stage {
                "submit" => Trial::with(depth, 1_000, panics, fine),
                "wait" => Trial::new(depth, 1_000, panics),
                _ => Trial::new(depth, 1_000, fine),
            };
            match stage {
                "preprocess" => trial.runner.preprocess = Some(Box::new(Panics)),
                "postprocess" => trial.runner.postprocess = Some(Box::new(Panics)),
                _ => {}
            }
            // Another tenant gets its turn on the device all the same.
            let gate = Arc::new(Gate::new(Order::Arrival, 2));
            trial.runner.gate = Some(gate.clone());
            let (end, _, events) = trial.run();
            gate.enter(0, None);
            assert_eq!(end.reason, EndReason::Failed, "depth {depth}, {stage}");
            assert!(
                format!("{events:?}").contains("panicked"),
                "depth {depth}, {stage}"
            );
            let again = trial.run();
            assert_eq!(
                (again.0.reason, again.1.len()),
                (EndReason::Failed, 0),
                "not tried again"
            );
        }
    }
}

#[test]
fn a_panic_while_all_frames_are_with_another_thread_ends_the_tenant_too() {
    // By then the thread that makes frames waits for a slot.
    let panics: Deed = |journal, frame| {
        if frame == 3 && journal.await_line("submit 4") {
            std::thread::sleep(std::time::Duration::from_millis(50));
            panic!("as a library's code might");
        }
        Ok(())
    };
    let (end, _, events) = Trial::new(2, 1_000, panics).run();
    assert_eq!(end.reason, EndReason::Failed);
    assert!(format!("{events:?}").contains("panicked"));
}

#[test]
fn a_tenant_without_slots_has_failed() {
    let (end, records, _) = Trial::new(0, 5, |_, _| Ok(())).run();
    assert_eq!((end.reason, records.len()), (EndReason::Failed, 0));
}
