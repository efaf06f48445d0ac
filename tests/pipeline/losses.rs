//! Records and detections for which the recorder's queues have no room: lost, counted and told.

use jetlag::detector::{Box2d, Carry, Detection, DetectorError, Place, Postprocess};
use jetlag::record::Event;
use jetlag::tensor::TensorSet;

use super::trial::Trial;

/// Finds so many objects in each frame.
struct Finds(usize);

impl Postprocess for Finds {
    fn run(&mut self, _: &TensorSet, _: &Carry, found: &mut Vec<Detection>) -> Result<(), DetectorError> {
        let one = Detection::still(1, 0.5, Place::Image(Box2d::default()));
        found.extend(std::iter::repeat_n(one, self.0));
        Ok(())
    }
}

fn findings(events: Vec<Event>) -> Vec<String> {
    let finding = |event| match event {
        Event::Finding(finding) => Some(format!("{} {}", finding.code, finding.message)),
        _ => None,
    };
    events.into_iter().filter_map(finding).collect()
}

#[test]
fn detections_that_find_no_room_are_told_and_no_frame_is_lost() {
    for depth in [1, 2] {
        // Nobody empties the queues meanwhile: one frame's 9 000 objects fit.
        let mut trial = Trial::new(depth, 3, |_, _| Ok(()));
        trial.runner.postprocess = Some(Box::new(Finds(9_000)));
        let (end, records, events) = trial.run();
        assert_eq!((end.lost_records, records.len()), (0, 3));
        let found: Vec<u32> = records.iter().map(|record| record.detections).collect();
        assert_eq!(found, [9_000; 3]);
        let told = findings(events);
        let [told] = told.as_slice() else {
            panic!("{told:?}");
        };
        assert!(
            told.starts_with("lost-detections trial: the detections of 2 frames were not recorded"),
            "{told}"
        );
    }
}

#[test]
fn nothing_is_told_where_nothing_was_lost() {
    for found in [0, 9_000] {
        let mut trial = Trial::new(1, 1, |_, _| Ok(()));
        trial.runner.postprocess = Some(Box::new(Finds(found)));
        let (end, _, events) = trial.run();
        assert_eq!(end.lost_records, 0);
        assert_eq!(findings(events), [""; 0]);
    }
}

#[test]
fn records_that_find_no_room_are_counted() {
    let mut trial = Trial::new(1, 9_000, |_, _| Ok(()));
    let (end, records, _) = trial.run();
    assert!(!records.is_empty());
    assert_eq!(end.lost_records, 9_000 - records.len() as u64);
    assert!(end.lost_records > 0);
}
