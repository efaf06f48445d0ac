//! Time per node, of backends that have it.

use std::sync::{Arc, Mutex};

use jetlag::backend::{BackendError, NodeTime, Slot, StageTimes};
use jetlag::record::{Event, NodeRecord, Phase};
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

#[test]
fn a_backend_that_times_no_nodes_has_none_reported() {
    let mut trial = Trial::new(1, 6, |_, _| Ok(()));
    assert_eq!(nodes(trial.run().2), []);
}
