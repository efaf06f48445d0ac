//! KITTI's figures under their names, and why some are withheld.

use super::{CLASSES, DIFFICULTY_NAMES, Kitti, Metric};
use crate::benchmark::{Benchmark, Counts, Figure};

const NO_TRUTH: &str = "no label of it counts at this difficulty in these frames";
const NO_SPACE: &str = "no detection has a box in space";
const NO_ANGLE: &str = "not every detection tells the angle that it is seen from";

impl Benchmark for Kitti {
    fn name(&self) -> &'static str {
        "KITTI"
    }

    fn frames(&self) -> usize {
        self.frames
    }

    fn figures(&self, counts: Counts<'_>) -> Vec<Figure> {
        let scores = self.scores(counts);
        let no_space = self.any && !self.tells_space;
        let why = |metric: Metric| match metric {
            Metric::Above | Metric::Space if no_space => NO_SPACE,
            _ => NO_TRUTH,
        };
        let main = if no_space { Metric::Image } else { Metric::Space };
        let mut figures = vec![Figure::new("ap", scores.mean(main, 1), NO_TRUTH)];
        for metric in Metric::ALL {
            for (difficulty, level) in DIFFICULTY_NAMES.iter().enumerate() {
                let name = format!("{}.{level}", metric.name());
                figures.push(Figure::new(name, scores.mean(metric, difficulty), why(metric)));
            }
        }
        for (class, kind) in CLASSES.iter().enumerate() {
            let class_name = kind.name().to_ascii_lowercase();
            for metric in Metric::ALL {
                for (difficulty, level) in DIFFICULTY_NAMES.iter().enumerate() {
                    let cell = scores.of(class, metric, difficulty);
                    let name = format!("{class_name}.{}.{level}", metric.name());
                    figures.push(Figure::new(name, cell.ap, why(metric)));
                }
            }
            for (difficulty, level) in DIFFICULTY_NAMES.iter().enumerate() {
                let cell = scores.of(class, Metric::Image, difficulty);
                let why = if cell.truths == 0 { NO_TRUTH } else { NO_ANGLE };
                figures.push(Figure::new(format!("{class_name}.aos.{level}"), cell.aos, why));
            }
        }
        figures
    }

    fn notes(&self) -> Vec<String> {
        let main = match self.any && !self.tells_space {
            true => "in the image: no detection has a box in space",
            false => "in space",
        };
        vec![
            format!("`ap` is the mean over labelled classes of the moderate precision {main}"),
            "precision is averaged over 40 recalls".to_owned(),
        ]
    }
}
