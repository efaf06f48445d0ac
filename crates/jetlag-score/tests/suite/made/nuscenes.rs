//! Made samples, and as Python takes them.

use jetlag_score::nuscenes::{ATTRIBUTES, CLASSES, Found, Rack, Sample, Truth};
use serde_json::{Value, json};

use super::Dice;

fn attribute_of(class: usize, dice: &mut Dice) -> Option<usize> {
    match CLASSES[class] {
        "pedestrian" => Some(dice.below(3)),
        "bicycle" | "motorcycle" => Some(3 + dice.below(2)),
        "barrier" | "traffic_cone" => None,
        _ => Some(5 + dice.below(3)),
    }
}

/// Samples with all classes near and far, objects without points, racks, unknown velocities, equal scores.
pub(crate) fn made(seed: u64, samples: usize, most: usize) -> Vec<Sample> {
    let dice = &mut Dice::new(seed);
    let sample = |_| {
        let ego = [dice.between(300.0, 900.0), dice.between(300.0, 900.0)];
        let mut sample = Sample {
            ego,
            ..Sample::default()
        };
        for _ in 0..dice.below(most) {
            let class = dice.below(CLASSES.len());
            let centre = [
                ego[0] + dice.between(-45.0, 45.0),
                ego[1] + dice.between(-45.0, 45.0),
                1.0,
            ];
            let size = [
                dice.between(0.4, 2.0),
                dice.between(0.5, 5.0),
                dice.between(0.8, 2.0),
            ];
            let yaw = dice.between(-3.1, 3.1);
            let velocity = [dice.between(-9.0, 9.0), dice.between(-9.0, 9.0)];
            let attribute = attribute_of(class, dice).filter(|_| dice.chance(0.95));
            sample.truths.push(Truth {
                class,
                centre,
                size,
                yaw,
                velocity: dice.chance(0.9).then_some(velocity),
                points: Some(dice.below(8) as u32),
                attribute,
            });
            if dice.chance(0.1) {
                sample.racks.push(Rack {
                    centre,
                    size: [3.0, 6.0, 2.0],
                    yaw,
                });
            }
            for _ in 0..dice.below(3) {
                let apart = dice.between(0.0, 1.5);
                sample.found.push(Found {
                    class: if dice.chance(0.93) {
                        class
                    } else {
                        dice.below(CLASSES.len())
                    },
                    centre: [
                        centre[0] + dice.normal() * apart,
                        centre[1] + dice.normal() * apart,
                        centre[2],
                    ],
                    size: size.map(|side| side * dice.between(0.8, 1.25)),
                    yaw: yaw + dice.normal() * 0.3 + if dice.chance(0.1) { 3.0 } else { 0.0 },
                    velocity: Some(velocity.map(|v| v + dice.normal())),
                    attribute: if dice.chance(0.7) {
                        attribute
                    } else {
                        attribute_of(class, dice)
                    },
                    score: (dice.share() * 200.0).round() / 200.0,
                });
            }
        }
        sample
    };
    (0..samples).map(sample).collect()
}

fn turned(yaw: f64) -> Value {
    json!([(yaw / 2.0).cos(), 0.0, 0.0, (yaw / 2.0).sin()])
}

fn attribute_name(attribute: Option<usize>) -> &'static str {
    attribute.map_or("", |number| ATTRIBUTES[number])
}

pub(crate) fn problem(samples: &[Sample]) -> Value {
    let sample = |sample: &Sample| {
        let truths = sample.truths.iter().map(|t| {
            json!({
                "translation": t.centre, "size": t.size, "rotation": turned(t.yaw), "velocity": t.velocity,
                "num_pts": t.points.map_or(-1, i64::from), "detection_name": CLASSES[t.class],
                "attribute_name": attribute_name(t.attribute),
            })
        });
        let found = sample.found.iter().map(|f| {
            json!({
                "translation": f.centre, "size": f.size, "rotation": turned(f.yaw), "velocity": f.velocity,
                "detection_name": CLASSES[f.class], "detection_score": f.score,
                "attribute_name": attribute_name(f.attribute),
            })
        });
        let racks = sample
            .racks
            .iter()
            .map(|rack| json!([rack.centre, rack.size, turned(rack.yaw)]));
        json!({
            "ego": sample.ego, "truths": truths.collect::<Vec<_>>(), "found": found.collect::<Vec<_>>(),
            "racks": racks.collect::<Vec<_>>(),
        })
    };
    // In the order of the samples, which decides between equal scores.
    let rows = samples.iter().enumerate();
    let rows: serde_json::Map<String, Value> =
        rows.map(|(n, s)| (format!("sample{n:06}"), sample(s))).collect();
    json!({ "samples": rows })
}
