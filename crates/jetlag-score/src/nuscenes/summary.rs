//! Figures of classes, and of all of them.

use super::curve::curve;
use super::matching::Class;
use super::{BARRIER, Config, DISTANCES, ERRORS, TRAFFIC_CONE};
use crate::benchmark::{Counts, mean};

/// The figures of a class.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ClassScores {
    /// Objects that count.
    pub truths: u64,
    /// Average precision at each distance, 0 to 1; `None` where nothing of the class is labelled.
    pub ap: [Option<f64>; DISTANCES],
    /// Errors of place (metres), size (1 − overlap), heading (radians), velocity (metres a second), attribute (share that is
    /// wrong), as in [`ERROR_NAMES`](super::ERROR_NAMES). 1 where too little is found; `None` where nothing is labelled and
    /// where the class has no such thing: a traffic cone has neither heading, velocity nor attribute, a barrier neither
    /// velocity nor attribute.
    pub errors: [Option<f64>; ERRORS],
}

impl ClassScores {
    /// Average precision over the distances.
    pub fn mean_ap(&self) -> Option<f64> {
        mean(self.ap)
    }
}

/// Figures over classes; `None` where there is no class to take them of.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Summary {
    /// Mean average precision over classes and distances, 0 to 1.
    pub ap: Option<f64>,
    /// Mean errors over classes.
    pub errors: [Option<f64>; ERRORS],
    /// The nuScenes detection score, 0 to 1.
    pub nds: Option<f64>,
}

/// All figures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scores {
    /// Of each class, in the order of [`CLASSES`](super::CLASSES).
    pub classes: Vec<ClassScores>,
    /// Over the classes that are labelled in these samples.
    pub labelled: Summary,
    /// Over all ten, where a class that is not labelled has a precision of 0 and errors of 1: what the devkit prints. `None`
    /// where nothing at all is labelled.
    pub devkit: Summary,
}

/// Whether the class has this property.
fn has(class: usize, error: usize) -> bool {
    match class {
        TRAFFIC_CONE => error < 2,
        BARRIER => error < 3,
        _ => true,
    }
}

pub(super) fn of_class(number: usize, class: &Class, config: &Config, counts: Counts<'_>) -> ClassScores {
    let truths: u64 = class
        .truths
        .iter()
        .map(|(frame, truths)| u64::from(counts.of(*frame)) * u64::from(*truths))
        .sum();
    if truths == 0 {
        return ClassScores::default();
    }
    let mut scores = ClassScores {
        truths,
        ap: [Some(0.0); DISTANCES],
        errors: std::array::from_fn(|error| has(number, error).then_some(1.0)),
    };
    for (distance, ap) in scores.ap.iter_mut().enumerate() {
        let Some(curve) = curve(class, distance, truths, counts) else {
            continue;
        };
        *ap = Some(curve.average_precision(config));
        if distance == config.error_distance {
            let errors = curve.errors(config);
            scores.errors = std::array::from_fn(|error| has(number, error).then_some(errors[error]));
        }
    }
    scores
}

pub(super) fn scores(classes: Vec<ClassScores>, config: &Config) -> Scores {
    let labelled = Summary::of(
        mean(classes.iter().map(ClassScores::mean_ap)),
        std::array::from_fn(|error| mean(classes.iter().map(|class| class.errors[error]))),
        config,
    );
    let is_labelled = classes.iter().any(|class| class.truths > 0);
    let all = |of: &dyn Fn(usize, &ClassScores) -> Option<f64>| {
        let values = classes
            .iter()
            .enumerate()
            .map(|(number, class)| of(number, class));
        mean(values).filter(|_| is_labelled)
    };
    let devkit = Summary::of(
        all(&|_, class| Some(class.mean_ap().unwrap_or(0.0))),
        std::array::from_fn(|error| {
            all(&|number, class| has(number, error).then(|| class.errors[error].unwrap_or(1.0)))
        }),
        config,
    );
    Scores {
        classes,
        labelled,
        devkit,
    }
}

impl Summary {
    fn of(ap: Option<f64>, errors: [Option<f64>; ERRORS], config: &Config) -> Self {
        let nds = ap.zip(errors.into_iter().sum::<Option<f64>>()).map(|(ap, _)| {
            let right: f64 = errors.iter().flatten().map(|error| (1.0 - error).max(0.0)).sum();
            (config.ap_weight * ap + right) / (config.ap_weight + ERRORS as f64)
        });
        Summary { ap, errors, nds }
    }
}
