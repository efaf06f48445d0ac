//! Made frames, and as Python takes them.

use jetlag_score::kitti::{CLASSES, CameraBox, Found, Frame, Kind, Truth, alpha};
use serde_json::{Value, json};

use super::Dice;

/// Like a real camera's, and nowhere round.
const FOCAL: f64 = 721.54;

fn projected(space: &CameraBox) -> [f64; 4] {
    let [h, w, _] = space.size;
    let [x, y, z] = space.place;
    let (left, top) = ((x - w * 0.6) / z, (y - h) / z);
    let (right, bottom) = ((x + w * 0.6) / z, y / z);
    [
        left * FOCAL + 610.0,
        top * FOCAL + 173.0,
        right * FOCAL + 610.0,
        bottom * FOCAL + 173.0,
    ]
}

/// Frames of all kinds, near and far, hidden and cut, with regions that nobody labelled.
pub(crate) fn made(seed: u64, frames: usize, most: usize) -> Vec<Frame> {
    let dice = &mut Dice::new(seed);
    let frame = |_| {
        let mut frame = Frame::default();
        for _ in 0..dice.below(most) {
            let kind = Kind::ALL[dice.below(8)];
            let size = match kind {
                Kind::Pedestrian | Kind::PersonSitting | Kind::Cyclist => [1.7, 0.7, 1.0],
                _ => [1.6, 1.7, 4.1],
            };
            let space = CameraBox {
                size: size.map(|v| v * dice.between(0.85, 1.2)),
                place: [
                    dice.between(-12.0, 12.0),
                    dice.between(1.4, 1.9),
                    dice.between(6.0, 60.0),
                ],
                heading: dice.between(-3.1, 3.1),
            };
            frame.truths.push(Truth {
                kind,
                truncated: if dice.chance(0.7) { 0.0 } else { dice.share() },
                occluded: [0, 0, 0, 1, 2, 3][dice.below(6)],
                alpha: alpha(&space),
                bbox: projected(&space),
                space: Some(space),
            });
            for _ in 0..dice.below(3) {
                let off = dice.between(0.0, 0.25);
                let found = CameraBox {
                    size: space.size.map(|v| v * dice.between(0.95, 1.06)),
                    place: [
                        space.place[0] + dice.normal() * off,
                        space.place[1] + dice.normal() * off * 0.2,
                        space.place[2] + dice.normal() * off,
                    ],
                    heading: space.heading + dice.normal() * 0.05 + if dice.chance(0.1) { 3.1 } else { 0.0 },
                };
                let kind = match kind {
                    Kind::Van => Kind::Car,
                    Kind::PersonSitting => Kind::Pedestrian,
                    Kind::Car | Kind::Pedestrian | Kind::Cyclist if dice.chance(0.95) => kind,
                    _ => CLASSES[dice.below(3)],
                };
                frame.found.push(Found {
                    kind,
                    alpha: Some(alpha(&found)),
                    bbox: projected(&found),
                    space: Some(found),
                    score: dice.share(),
                });
            }
        }
        if dice.chance(0.3) {
            let (x, y) = (dice.between(300.0, 800.0), dice.between(150.0, 200.0));
            frame.truths.push(Truth {
                kind: Kind::DontCare,
                truncated: -1.0,
                occluded: -1,
                alpha: -10.0,
                bbox: [x, y, x + 260.0, y + 80.0],
                space: None,
            });
        }
        frame
    };
    (0..frames).map(frame).collect()
}

const NOWHERE: CameraBox = CameraBox {
    size: [-1.0; 3],
    place: [-1000.0; 3],
    heading: -10.0,
};

pub(crate) fn numbers(bbox: [f64; 4], space: Option<CameraBox>) -> Vec<f64> {
    let space = space.unwrap_or(NOWHERE);
    let rest = [space.size, space.place].concat();
    [bbox.as_slice(), rest.as_slice(), [space.heading].as_slice()].concat()
}

pub(crate) fn problem(frames: &[Frame]) -> Value {
    let frame = |frame: &Frame| {
        let row = |head: Value, numbers: Vec<f64>| -> Value {
            let mut row = head;
            row.as_array_mut()
                .unwrap()
                .extend(numbers.into_iter().map(Value::from));
            row
        };
        let truths = frame.truths.iter().map(|t| {
            row(
                json!([t.kind.name(), t.truncated, t.occluded, t.alpha]),
                numbers(t.bbox, t.space),
            )
        });
        let found = frame.found.iter().map(|f| {
            let mut all = numbers(f.bbox, f.space);
            all.push(f.score);
            row(json!([f.kind.name(), -1, -1, f.alpha.unwrap_or(-10.0)]), all)
        });
        json!({ "truths": truths.collect::<Vec<_>>(), "found": found.collect::<Vec<_>>() })
    };
    json!({ "frames": frames.iter().map(frame).collect::<Vec<_>>() })
}
