//! What counts of a sample: within the range of its class, with points on it, and not in a bicycle rack.

use super::{BICYCLE, Config, Found, MOTORCYCLE, Rack, Sample, Truth};

/// The labels and detections that count, in their order.
pub(super) fn counting<'a>(sample: &'a Sample, config: &Config) -> (Vec<&'a Truth>, Vec<&'a Found>) {
    let counts = |class: usize, centre: &[f64; 3]| {
        near(class, centre, sample.ego, config) && !racked(class, centre, &sample.racks)
    };
    let truths = sample
        .truths
        .iter()
        .filter(|truth| truth.points != Some(0) && counts(truth.class, &truth.centre));
    let found = sample
        .found
        .iter()
        .filter(|found| counts(found.class, &found.centre));
    (truths.collect(), found.collect())
}

fn near(class: usize, centre: &[f64; 3], ego: [f64; 2], config: &Config) -> bool {
    let (dx, dy) = (centre[0] - ego[0], centre[1] - ego[1]);
    let range = config.ranges.get(class).copied().unwrap_or(0.0);
    (dx * dx + dy * dy).sqrt() < range
}

fn racked(class: usize, centre: &[f64; 3], racks: &[Rack]) -> bool {
    (class == BICYCLE || class == MOTORCYCLE) && racks.iter().any(|rack| holds(rack, centre))
}

/// Whether a place lies in a rack or on its side.
fn holds(rack: &Rack, place: &[f64; 3]) -> bool {
    let [dx, dy, dz] = std::array::from_fn(|k| place[k] - rack.centre[k]);
    let (sin, cos) = rack.yaw.sin_cos();
    let [width, length, height] = rack.size.map(|side| side / 2.0);
    (dx * cos + dy * sin).abs() <= length && (dy * cos - dx * sin).abs() <= width && dz.abs() <= height
}
