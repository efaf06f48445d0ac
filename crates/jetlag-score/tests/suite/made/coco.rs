//! Made images, and as Python takes them.

use jetlag_score::coco::{Found, Image, Truth};
use serde_json::{Value, json};

use super::Dice;

/// Images with objects of all sizes, crowds, detections near them and elsewhere, and equal scores.
pub(crate) fn made(seed: u64, images: usize, classes: usize, most: usize) -> Vec<Image> {
    let dice = &mut Dice::new(seed);
    let image = |_| {
        let mut image = Image::default();
        for _ in 0..dice.below(most) {
            let class = dice.below(classes);
            let side = [12.0, 60.0, 220.0][dice.below(3)];
            let (w, h) = (dice.between(0.5, 1.5) * side, dice.between(0.5, 1.5) * side);
            let bbox = [dice.between(0.0, 600.0), dice.between(0.0, 400.0), w, h];
            let crowd = dice.chance(0.05);
            let area = w * h * if dice.chance(0.5) { 1.0 } else { 0.6 };
            image.truths.push(Truth {
                class,
                bbox,
                area,
                crowd,
            });
            for _ in 0..dice.below(4) {
                let near = |v: f64, dice: &mut Dice| v + dice.normal() * side * 0.08;
                image.found.push(Found {
                    class: if dice.chance(0.9) {
                        class
                    } else {
                        dice.below(classes)
                    },
                    bbox: [
                        near(bbox[0], dice),
                        near(bbox[1], dice),
                        near(w, dice).max(0.0),
                        near(h, dice).max(0.0),
                    ],
                    // Some scores are equal.
                    score: (dice.share() * 50.0).round() / 50.0,
                });
            }
        }
        for _ in 0..dice.below(3) {
            image.found.push(Found {
                class: dice.below(classes),
                bbox: [dice.between(0.0, 600.0), dice.between(0.0, 400.0), 40.0, 30.0],
                score: dice.share(),
            });
        }
        image
    };
    (0..images).map(image).collect()
}

pub(crate) fn problem(images: &[Image], classes: usize) -> Value {
    let images = images.iter().map(|image| {
        let truths = image.truths.iter().map(|t| {
            let [x, y, w, h] = t.bbox;
            json!([t.class, x, y, w, h, t.area, t.crowd])
        });
        let found = image.found.iter().map(|f| {
            let [x, y, w, h] = f.bbox;
            json!([f.class, x, y, w, h, f.score])
        });
        json!({ "truths": truths.collect::<Vec<_>>(), "found": found.collect::<Vec<_>>() })
    });
    json!({ "classes": classes, "images": images.collect::<Vec<_>>() })
}
