//! The physical half of a model: few terms of a network with coefficients that cannot be negative.
//!
//! - Time is what the board computes and moves, or what the processor takes to launch it, whichever is longer; the two overlap,
//!   so they are joined by a fourth-power norm instead of a sum. Which tiles the kernels compute is not known, so there are
//!   three hypotheses, whose geometric mean is taken: a wrong one errs otherwise than a right one.
//! - Memory is what is held at the peak; below a floor, which the start of a framework takes for itself, it cannot be seen, and
//!   above a ceiling the board has no more. Hypotheses differ in what is kept beside the outputs.
//! - Energy of a step is a sum of the same terms; mean power is one of its rates.
//!
//! Each row counts by its relative error. The choices were made by leaving networks out ([`crate`]).

mod fit;

use serde::{Deserialize, Serialize};

use crate::dataset::Target;
use crate::features::{Device, Term, Terms};

pub(crate) use fit::{Point, fit};

/// A column: a term, in milliseconds of a board's peak where it is work or traffic.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Column {
    One,
    Launches(Term),
    Work(Term),
    Traffic(Term),
    Plain(Term),
    /// A rate: this column's share of the nominal time.
    WorkRate,
    TrafficRate,
}

impl Column {
    fn value(self, terms: &Terms, device: &Device) -> f64 {
        match self {
            Self::One => 1.0,
            Self::Launches(term) => terms.get(term) / device.cpu_ghz,
            Self::Work(term) => 2.0 * terms.get(term) / device.tflops,
            Self::Traffic(term) => 1.048_576 * terms.get(term) / device.gb_s,
            Self::Plain(term) => terms.get(term),
            Self::WorkRate => work_ms(terms, device) / nominal_ms(terms, device) * device.tflops,
            Self::TrafficRate => traffic_ms(terms, device) / nominal_ms(terms, device) * device.gb_s,
        }
    }
}

fn work_ms(terms: &Terms, device: &Device) -> f64 {
    2.0 * terms.work() / device.tflops
}

fn traffic_ms(terms: &Terms, device: &Device) -> f64 {
    1.048_576 * (terms.get(Term::Written) + terms.get(Term::Read) + terms.get(Term::Weights)) / device.gb_s
}

/// Time at a board's peak, with ten microseconds for each launch.
fn nominal_ms(terms: &Terms, device: &Device) -> f64 {
    work_ms(terms, device).max(traffic_ms(terms, device)) + 0.01 * terms.get(Term::Layers) / device.cpu_ghz
}

/// How the two parts of a base meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Joined {
    /// (floor⁴ + line⁴)^¼
    Overlapping,
    /// The line, between a constant floor and a ceiling.
    Clipped,
    /// The line alone.
    Sum,
}

/// What a hypothesis is made of.
struct Parts {
    joined: Joined,
    floor: Vec<Column>,
    line: Vec<Column>,
}

/// How many hypotheses a target has.
pub(crate) fn hypotheses(target: Target) -> usize {
    match target {
        Target::Latency | Target::Memory | Target::Energy => 3,
        Target::Power => 1,
    }
}

fn parts(target: Target, hypothesis: usize) -> Parts {
    use Column::{Launches, One, Plain, Traffic, Work};
    let work = || {
        let mut columns = vec![Work(Term::Pointwise4), Work(Term::Spatial4)];
        match hypothesis {
            1 => columns.extend([Work(Term::Pointwise64), Work(Term::Spatial64)]),
            2 => columns.extend([Work(Term::Pointwise128), Work(Term::Spatial128)]),
            _ => {}
        }
        columns.extend([Term::Written, Term::WrittenOther, Term::Weights].map(Traffic));
        columns.push(Launches(Term::Layers));
        columns
    };
    match target {
        Target::Latency => Parts {
            joined: Joined::Overlapping,
            floor: [Term::Layers, Term::OtherLayers].map(Launches).to_vec(),
            line: work(),
        },
        Target::Energy => {
            let mut line = work();
            line.push(One);
            Parts {
                joined: Joined::Sum,
                floor: Vec::new(),
                line,
            }
        }
        Target::Power => Parts {
            joined: Joined::Sum,
            floor: Vec::new(),
            line: vec![One, Column::WorkRate, Column::TrafficRate],
        },
        Target::Memory => {
            let kept: [Term; 2] = match hypothesis {
                0 => [Term::Transform, Term::LivePeak],
                1 => [Term::Transform, Term::ReadPointwise],
                _ => [Term::Read, Term::WrittenSpatial],
            };
            let mut line = vec![One];
            line.extend([Term::Weights, Term::Written, Term::WrittenOther].map(Plain));
            line.extend(kept.map(Plain));
            Parts {
                joined: Joined::Clipped,
                floor: Vec::new(),
                line,
            }
        }
    }
}

/// A fitted hypothesis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Base {
    target: Target,
    hypothesis: usize,
    floor: Vec<f64>,
    line: Vec<f64>,
    /// Of memory: the least and the greatest that is ever seen.
    floor_value: Option<f64>,
    ceiling: Option<f64>,
}

/// What a base says of a network.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Said {
    /// The value, positive.
    pub(crate) value: f64,
    /// What is wanted where nothing limits it: memory above the ceiling.
    pub(crate) demand: f64,
    /// Floor over line; 0 without a floor.
    pub(crate) floor_over_line: f64,
}

impl Base {
    /// Whether a read one can be evaluated.
    pub(crate) fn is_sound(&self) -> bool {
        let parts = parts(self.target, self.hypothesis);
        let limits = || self.floor_value.into_iter().chain(self.ceiling);
        self.hypothesis < hypotheses(self.target)
            && parts.floor.len() == self.floor.len()
            && parts.line.len() == self.line.len()
            && self
                .floor
                .iter()
                .chain(&self.line)
                .all(|x| x.is_finite() && *x >= 0.0)
            && limits().all(|x| x.is_finite() && x > 0.0)
    }

    pub(crate) fn ceiling(&self) -> Option<f64> {
        self.ceiling
    }

    pub(crate) fn say(&self, terms: &Terms, device: &Device) -> Said {
        let parts = parts(self.target, self.hypothesis);
        let times = |columns: &[Column], coefficients: &[f64]| -> Vec<f64> {
            let product = |(column, x): (&Column, &f64)| column.value(terms, device) * x;
            columns.iter().zip(coefficients).map(product).collect()
        };
        let floor: f64 = times(&parts.floor, &self.floor).iter().sum();
        let products = times(&parts.line, &self.line);
        // All coefficients may be zero where nothing was learnt; a logarithm follows.
        let line = products.iter().sum::<f64>().max(f64::MIN_POSITIVE.sqrt());
        let (value, demand, floor_over_line) = match parts.joined {
            Joined::Sum => (line, line, 0.0),
            Joined::Overlapping => {
                let value = norm(floor, line);
                (value, value, floor / line)
            }
            Joined::Clipped => {
                let demand = line.max(self.floor_value.unwrap_or(0.0));
                let over = self.floor_value.map_or(0.0, |floor| floor / line);
                (
                    self.ceiling.map_or(demand, |ceiling| demand.min(ceiling)),
                    demand,
                    over,
                )
            }
        };
        Said {
            value,
            demand,
            floor_over_line,
        }
    }
}

/// (a⁴ + b⁴)^¼, with roots that IEEE 754 fixes.
fn norm(a: f64, b: f64) -> f64 {
    let most = a.max(b);
    let ratio = a.min(b) / most;
    let square = ratio * ratio;
    most * libm::sqrt(libm::sqrt(1.0 + square * square))
}
