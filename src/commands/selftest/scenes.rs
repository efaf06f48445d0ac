//! How much of the demo's scenes a run found, whose truth is known.

use super::networks::{Base, Run};
use crate::detector::Place;
use crate::detector::eval::{Evaluation, FrameTruth, Truth};
use crate::scenario::Sensor;
use crate::show::selftest::Verdict;
use crate::source::synthetic::{Class, World};

/// What the demo's detectors find of what they should in the demo's scenes, at least.
const RECALL: f64 = 0.6;

/// How much of the demo's scenes was found.
pub(super) fn truth(base: &Base, run: &Run) -> Verdict {
    let mut seen = Vec::new();
    let mut holds = true;
    for (at, name, sensor) in base.sensors() {
        let (Some(frames), Some(classes)) = (run.recorded.found.get(at), run.recorded.classes.get(at)) else {
            continue;
        };
        let mut evaluation = Evaluation::new(classes.len(), 0.5, 0.0);
        let mut boxes = 0;
        for (content, found) in frames {
            boxes += found.len();
            evaluation.add(found, &truth_of(base.seed, *content, sensor, classes));
        }
        let all = evaluation.overall();
        let (recall, precision) = (all.recall().unwrap_or(0.0), all.precision().unwrap_or(0.0));
        holds &= recall >= RECALL && precision >= RECALL;
        seen.push(format!(
            "{name}: {} frames, {boxes} boxes, {:.0} % of the scenes' objects found, {:.0} % of the boxes right",
            frames.len(),
            recall * 100.0,
            precision * 100.0
        ));
    }
    if seen.is_empty() {
        return Verdict::pass("executed; the frames have no ground truth");
    }
    match holds {
        true => Verdict::pass(seen.join("; ")),
        false => Verdict::fail(format!(
            "{}; each should be {:.0} % at least",
            seen.join("; "),
            RECALL * 100.0
        )),
    }
}

fn truth_of(seed: u64, content: u64, sensor: Sensor, classes: &[String]) -> FrameTruth {
    let class_of = |class: Class| classes.iter().position(|name| name == class.name());
    let objects = World::scene(seed, content).objects();
    let objects = objects.iter().filter_map(|object| {
        let (place, counts) = match sensor {
            Sensor::Camera => (Place::Image(object.image), object.counts_for_camera()),
            Sensor::Lidar => (Place::Space(object.place), object.counts_for_lidar()),
        };
        Some(Truth {
            class: u16::try_from(class_of(object.class)?).ok()?,
            place,
            ignored: !counts,
        })
    });
    FrameTruth {
        objects: objects.collect(),
        dont_care: Vec::new(),
    }
}
