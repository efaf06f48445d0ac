//! Time per node, of backends that have it.

use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use jetlag::backend::{BackendError, LateTimes, NodeTime, Slot, StageTimes};
use jetlag::record::{Event, Finding, NodeRecord, Phase};
use jetlag::tensor::TensorSet;
use jetlag::units::Nanos;

use super::trial::{Trial, failure};

/// Reports two nodes; the second takes a microsecond more with each frame. Its third frame fails.
struct ProfiledSlot {
    frame: Arc<Mutex<i64>>,
    tensors: TensorSet,
    times: Vec<NodeTime>,
}

impl Slot for ProfiledSlot {
    fn tensors(&self) -> &TensorSet {
        &self.tensors
    }
    fn tensors_mut(&mut self) -> &mut TensorSet {
        &mut self.tensors
    }
    fn submit(&mut self) -> Result<(), BackendError> {
        Ok(())
    }
    fn wait(&mut self) -> Result<StageTimes, BackendError> {
        let mut frame = self.frame.lock().unwrap();
        *frame += 1;
        let node = |name: &str, operator: &str, us| NodeTime {
            name: name.to_owned(),
            operator: operator.to_owned(),
            took: Nanos::from_micros(us),
        };
        self.times.clear();
        self.times.push(node("first", "Conv", 50));
        self.times.push(node("second", "Relu", *frame));
        if *frame == 3 {
            return Err(failure("no luck"));
        }
        Ok(StageTimes::default())
    }
    fn node_times(&self) -> &[NodeTime] {
        &self.times
    }
}

/// Without what they say of the response time, which no test of real threads knows.
fn nodes(events: Vec<Event>) -> Vec<NodeRecord> {
    let nodes = events.into_iter().filter_map(|event| match event {
        Event::Node(mut node) => {
            let with = node.with_response.take();
            assert!(with.is_some_and(|with| with.response_variance > 0.0));
            Some(node)
        }
        _ => None,
    });
    nodes.collect()
}

#[test]
fn time_per_node_is_reported_once_a_phase_over_the_frames_that_were_completed() {
    for depth in [1, 2] {
        let mut trial = Trial::new(depth, 6, |_, _| Ok(()));
        let frame = Arc::new(Mutex::new(0));
        trial.runner.slots = (0..depth)
            .map(|_| {
                Box::new(ProfiledSlot {
                    frame: frame.clone(),
                    tensors: TensorSet::default(),
                    times: Vec::new(),
                }) as Box<dyn Slot>
            })
            .collect();
        let record = |name: &str, operator: &str, count, mean, max| NodeRecord {
            tenant: 3,
            phase: Phase::Together,
            name: name.to_owned(),
            operator: operator.to_owned(),
            count,
            mean: Nanos(mean),
            max: Nanos::from_micros(max),
            with_response: None,
        };
        let found = nodes(trial.run().2);
        assert_eq!(
            found,
            [
                record("first", "Conv", 5, 50_000, 50),
                // 1, 2, 4, 5 and 6 µs.
                record("second", "Relu", 5, 3_600, 6),
            ]
        );
        // The second phase starts from nothing: 7 to 12 µs.
        let again = nodes(trial.run().2);
        assert_eq!(again[1], record("second", "Relu", 6, 9_500, 12));

        trial.unmeasured = true;
        assert_eq!(nodes(trial.run().2), [], "the warm-up is in no figure");
    }
}

/// Tells what its frames took when the run is over; it knows nothing of its second.
struct LateSlot {
    numbers: Arc<Mutex<Vec<u64>>>,
    tensors: TensorSet,
    told: bool,
}

impl Slot for LateSlot {
    fn tensors(&self) -> &TensorSet {
        &self.tensors
    }
    fn tensors_mut(&mut self) -> &mut TensorSet {
        &mut self.tensors
    }
    fn submit(&mut self) -> Result<(), BackendError> {
        Ok(())
    }
    fn wait(&mut self) -> Result<StageTimes, BackendError> {
        Ok(StageTimes::default())
    }
    fn number_frame(&mut self, number: u64) -> bool {
        self.numbers.lock().unwrap().push(number);
        true
    }
    fn late_node_times(&mut self) -> LateTimes {
        self.told = true;
        let numbers = self.numbers.lock().unwrap().clone();
        let times = |number: u64| {
            let node = NodeTime {
                name: "late".to_owned(),
                operator: "Conv".to_owned(),
                took: Nanos::from_micros(number as i64),
            };
            (number, vec![node])
        };
        numbers.into_iter().filter(|n| *n != 1).map(times).collect()
    }
    fn take_findings(&mut self) -> Vec<Finding> {
        let finding = Finding {
            code: "few-node-times".to_owned(),
            tenant: None,
            message: "one is missing.".to_owned(),
            advice: String::new(),
        };
        std::mem::take(&mut self.told)
            .then_some(finding)
            .into_iter()
            .collect()
    }
}

#[test]
fn what_a_backend_tells_when_the_run_is_over_comes_after_the_last_phase() {
    for depth in [1, 2] {
        let mut trial = Trial::new(depth, 6, |_, _| Ok(()));
        let numbers = Arc::new(Mutex::new(Vec::new()));
        let slot = |_| {
            Box::new(LateSlot {
                numbers: numbers.clone(),
                tensors: TensorSet::default(),
                told: false,
            }) as Box<dyn Slot>
        };
        trial.runner.slots = (0..depth).map(slot).collect();
        // Frames of a warm-up are not numbered.
        trial.unmeasured = true;
        assert_eq!(nodes(trial.run().2), []);
        trial.unmeasured = false;
        assert_eq!(nodes(trial.run().2), []);
        assert_eq!(*numbers.lock().unwrap(), [0, 1, 2, 3, 4, 5]);
        let (notes, events) = channel();
        trial.runner.close(&notes);
        drop(notes);
        let events: Vec<Event> = events.iter().collect();
        let found = events.iter().find_map(|event| match event {
            Event::Finding(finding) => Some((finding.message.as_str(), finding.tenant.is_some())),
            _ => None,
        });
        let name = &trial.runner.name;
        assert_eq!(found, Some((format!("{name}: one is missing.").as_str(), true)));
        let record = NodeRecord {
            tenant: 3,
            phase: Phase::Together,
            name: "late".to_owned(),
            operator: "Conv".to_owned(),
            count: 5,
            // 0, 2, 3, 4 and 5 µs.
            mean: Nanos(2_800),
            max: Nanos::from_micros(5),
            with_response: None,
        };
        assert_eq!(nodes(events), [record]);
        let (notes, events) = channel();
        trial.runner.close(&notes);
        drop(notes);
        assert_eq!(events.iter().count(), 0, "it is told once");
    }
}

#[test]
fn a_backend_that_times_no_nodes_has_none_reported() {
    let mut trial = Trial::new(1, 6, |_, _| Ok(()));
    assert_eq!(nodes(trial.run().2), []);
}
