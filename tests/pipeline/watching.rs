//! What a watchdog sees of a tenant on its way, and on which thread a frame is.

use std::sync::{Arc, Mutex};

use jetlag::backend::{BackendError, Slot, StageTimes};
use jetlag::tenant::watched::Watched;
use jetlag::tensor::TensorSet;
use jetlag::units::{Nanos, Stamp};

use super::trial::{Deed, Trial};

/// During what, and which frame a watchdog would see then.
type Line = (&'static str, Option<u64>);

/// Notes what a watchdog would see during each submission and each wait.
struct Seen {
    watched: Arc<Watched>,
    seen: Arc<Mutex<Vec<Line>>>,
    tensors: TensorSet,
}

impl Seen {
    fn note(&self, during: &'static str) {
        let overdue = self.watched.overdue(Stamp(i64::MAX), Nanos::ZERO);
        let line: Line = (during, overdue.map(|frame| frame.sequence));
        self.seen.lock().unwrap().push(line);
    }
}

impl Slot for Seen {
    fn tensors(&self) -> &TensorSet {
        &self.tensors
    }
    fn tensors_mut(&mut self) -> &mut TensorSet {
        &mut self.tensors
    }
    fn submit(&mut self) -> Result<(), BackendError> {
        self.note("submit");
        Ok(())
    }
    fn wait(&mut self) -> Result<StageTimes, BackendError> {
        self.note("wait");
        Ok(StageTimes::default())
    }
}

#[test]
fn the_first_submission_of_a_slot_may_last_since_it_may_build() {
    let mut trial = Trial::new(1, 3, |_, _| Ok(()));
    let seen = Arc::new(Mutex::new(Vec::new()));
    trial.runner.slots = vec![Box::new(Seen {
        watched: trial.runner.watched.clone(),
        seen: seen.clone(),
        tensors: TensorSet::default(),
    })];
    trial.run();
    assert_eq!(
        *seen.lock().unwrap(),
        [
            ("submit", None),
            ("wait", Some(0)),
            ("submit", Some(1)),
            ("wait", Some(1)),
            ("submit", Some(2)),
            ("wait", Some(2)),
        ]
    );
    let left = trial.runner.watched.overdue(Stamp(i64::MAX), Nanos::ZERO);
    assert_eq!(left, None, "it waits for nothing any more");
}

#[test]
fn at_depth_one_all_is_done_by_the_tenants_own_thread() {
    let deed: Deed = |journal, _| {
        journal.write(format!("on {:?}", std::thread::current().id()));
        Ok(())
    };
    let mut trial = Trial::with(1, 2, deed, deed);
    trial.run();
    let lines = trial.journal.lines.lock().unwrap();
    let threads: Vec<&String> = lines.iter().filter(|line| line.starts_with("on ")).collect();
    let own = format!("on {:?}", std::thread::current().id());
    assert_eq!(threads, [&own; 4]);
}
