//! nuScenes's figures under their names, and why some are withheld.

use super::{CLASSES, DISTANCES, ERROR_NAMES, NuScenes, Summary};
use crate::benchmark::{Benchmark, Counts, Figure};

const NO_TRUTH: &str = "nothing of it is labelled within range in these frames";
const NO_VELOCITY: &str = "the detector tells no velocity";
const NO_ATTRIBUTE: &str = "the detector tells no attribute";
const NO_SUCH: &str = "no labelled class has such a thing";

impl NuScenes {
    /// An error that is a matter of what the detector does not tell says nothing of how well it tells it.
    fn error(&self, name: String, number: usize, value: Option<f64>, why_not: &'static str) -> Figure {
        let withheld = match number {
            3 if self.tells.any && !self.tells.velocity => Some(NO_VELOCITY),
            4 if self.tells.any && !self.tells.attribute => Some(NO_ATTRIBUTE),
            _ => None,
        };
        match withheld {
            Some(why) => Figure::new(name, None, why),
            None => Figure::new(name, value, why_not),
        }
    }
}

fn total(name: &str, summary: &Summary) -> Vec<Figure> {
    let mut figures = vec![
        Figure::new(format!("{name}ap"), summary.ap, NO_TRUTH),
        Figure::new(format!("{name}nds"), summary.nds, NO_TRUTH),
    ];
    let errors = ERROR_NAMES.iter().zip(summary.errors);
    figures.extend(errors.map(|(error, value)| Figure::new(format!("{name}{error}"), value, NO_SUCH)));
    figures
}

impl Benchmark for NuScenes {
    fn name(&self) -> &'static str {
        "nuScenes"
    }

    fn frames(&self) -> usize {
        self.samples
    }

    fn figures(&self, counts: Counts<'_>) -> Vec<Figure> {
        let scores = self.scores(counts);
        let labelled = &scores.labelled;
        let mut figures = vec![
            Figure::new("ap", labelled.ap, NO_TRUTH),
            Figure::new("nds", labelled.nds, NO_TRUTH),
        ];
        for (number, name) in ERROR_NAMES.iter().enumerate() {
            figures.push(self.error((*name).to_owned(), number, labelled.errors[number], NO_SUCH));
        }
        figures.extend(total("devkit.", &scores.devkit));
        for (name, class) in CLASSES.iter().zip(&scores.classes) {
            figures.push(Figure::new(format!("{name}.ap"), class.mean_ap(), NO_TRUTH));
            for number in 0..DISTANCES {
                let distance = self.config.distances[number];
                figures.push(Figure::new(
                    format!("{name}.ap_{distance}m"),
                    class.ap[number],
                    NO_TRUTH,
                ));
            }
            let why = if class.truths == 0 { NO_TRUTH } else { NO_SUCH };
            for (number, error) in ERROR_NAMES.iter().enumerate() {
                figures.push(self.error(format!("{name}.{error}"), number, class.errors[number], why));
            }
        }
        figures
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = vec![
            "means are over the classes that are labelled in these frames; `devkit.` figures count the others as precision 0 and error 1, as nuscenes-devkit does".to_owned(),
        ];
        if self.tells.any && !self.tells.velocity {
            notes.push(
                "nds and devkit.ave take every velocity as 0, as the result file says: the detector tells none"
                    .to_owned(),
            );
        }
        if self.tells.any && !self.tells.attribute {
            notes.push(
                "nds and devkit.aae count every attribute as wrong: the detector tells none".to_owned(),
            );
        }
        notes
    }
}
