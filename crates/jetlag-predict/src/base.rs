//! The physical half of a model: few terms of a network with coefficients that cannot be negative.
//!
//! - Time is what the board computes and moves, or what the processor takes to launch it, whichever is longer; the two overlap,
//!   so they are joined by a fourth-power norm instead of a sum. Which tiles the kernels compute is not known, so there are
//!   three hypotheses, whose geometric mean is taken: a wrong one errs otherwise than a right one.
//! - Memory is what is held at the peak; below a floor, which the start of a framework takes for itself, it cannot be seen, and
//!   above a ceiling the board has no more. Hypotheses differ in what is kept beside the outputs.
//! - Energy of a step is a sum of the same terms; mean power is one of its rates.
//! - Inference is not a third of a training step: what it holds is freed, norms are folded away, and only outputs are padded. It has
//!   hypotheses of its own: [`inference`].
//! - Across power modes time and power have other hypotheses, of clocks: [`modes`].
//!
//! Each row counts by its relative error. The choices were made by leaving networks out ([`crate`]).

mod fit;
mod inference;
mod modes;

use serde::{Deserialize, Serialize};

use crate::dataset::Target;
use crate::features::{Device, Stage, Term, Terms};

pub(crate) use fit::{Point, fitted};
use modes::Draw;

/// A column: a term, in milliseconds of a board's peak where it is work or traffic.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Column {
    One,
    Launches(Term),
    Work(Term),
    Traffic(Term),
    Plain(Term),
    /// Memory that is known to be held, byte for byte.
    Held(Term),
    /// All multiply-adds but those of depthwise layers.
    Multiplied,
    /// All that layers read and write, with weights; and with the patches of kernels.
    Moved,
    MovedAndPatches,
    /// A rate: this column's share of the nominal time.
    WorkRate,
    TrafficRate,
    /// A cause of power, and the energy that it takes in a step.
    Drawn(Draw),
    Taken(Draw),
}

impl Column {
    /// `time_ms` is what a step takes: for what is drawn over it.
    fn value(self, terms: &Terms, device: &Device, time_ms: f64) -> f64 {
        // Models across modes are fitted to and asked about boards with clocks alone.
        let rate = |draw: Draw| {
            device
                .clocks()
                .map_or(0.0, |clocks| draw.rate(terms, clocks, time_ms))
        };
        match self {
            Self::One => 1.0,
            Self::Launches(term) => terms.get(term) / device.cpu_ghz,
            Self::Work(term) => 2.0 * terms.get(term) / device.tflops,
            Self::Traffic(term) => 1.048_576 * terms.get(term) / device.gb_s,
            Self::Plain(term) | Self::Held(term) => terms.get(term),
            Self::Multiplied => 2.0 * (terms.work() - terms.get(Term::Depthwise)) / device.tflops,
            Self::Moved => traffic_ms(terms, device),
            Self::MovedAndPatches => {
                traffic_ms(terms, device) + 1.048_576 * terms.get(Term::Patches) / device.gb_s
            }
            Self::WorkRate => work_ms(terms, device) / nominal_ms(terms, device) * device.tflops,
            Self::TrafficRate => traffic_ms(terms, device) / nominal_ms(terms, device) * device.gb_s,
            Self::Drawn(draw) => rate(draw),
            Self::Taken(draw) => rate(draw) * time_ms,
        }
    }
}

fn work_ms(terms: &Terms, device: &Device) -> f64 {
    2.0 * terms.work() / device.tflops
}

fn traffic_ms(terms: &Terms, device: &Device) -> f64 {
    1.048_576 * terms.traffic() / device.gb_s
}

/// Time at a board's peak, with ten microseconds for each launch.
fn nominal_ms(terms: &Terms, device: &Device) -> f64 {
    work_ms(terms, device).max(traffic_ms(terms, device)) + 0.01 * terms.get(Term::Layers) / device.cpu_ghz
}

/// What a step takes: as a base of latency says, or at the board's peak.
fn step_ms(time: Option<&Base>, terms: &Terms, device: &Device) -> f64 {
    time.map_or_else(|| nominal_ms(terms, device), |time| time.say(terms, device).value)
}

/// How the two parts of a base meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Joined {
    /// (floor⁴ + line⁴)^¼
    Overlapping,
    /// The same, plus a rest that overlaps with neither.
    Roofline,
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
    rest: Vec<Column>,
}

/// In what rows differ besides their networks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Across {
    /// At most in their boards.
    Boards,
    /// In power modes, whose clocks are known.
    Modes,
}

/// Which hypotheses rows speak for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Training steps.
    Training,
    /// Inference.
    Inference,
    /// Either, in several power modes.
    Modes,
}

impl Form {
    const ALL: [Form; 3] = [Form::Training, Form::Inference, Form::Modes];

    pub(crate) fn of(target: Target, stage: Stage, across: Across) -> Self {
        match (across, stage) {
            // A network has the same tensors in every mode.
            (Across::Modes, _) if target != Target::Memory => Self::Modes,
            (_, Stage::Training) => Self::Training,
            (_, Stage::Inference) => Self::Inference,
        }
    }
}

/// The first hypothesis across modes, and the first of inference; those before are of training, across boards.
const OF_MODES: usize = 3;
const OF_INFERENCE: usize = 6;

/// The hypotheses of a target.
fn hypotheses(target: Target, form: Form) -> std::ops::Range<usize> {
    match (target, form) {
        (Target::Memory, Form::Training | Form::Modes) => 0..3,
        (Target::Latency, Form::Training) | (Target::Energy, Form::Training | Form::Inference) => 0..3,
        (Target::Power, Form::Training | Form::Inference) => 0..1,
        (Target::Latency, Form::Modes) => OF_MODES..OF_MODES + 3,
        (Target::Energy | Target::Power, Form::Modes) => OF_MODES..OF_MODES + 1,
        (Target::Latency, Form::Inference) => OF_INFERENCE..OF_INFERENCE + inference::OF_TIME,
        (Target::Memory, Form::Inference) => OF_INFERENCE..OF_INFERENCE + inference::OF_MEMORY,
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
        Target::Latency if hypothesis >= OF_INFERENCE => inference::time(hypothesis - OF_INFERENCE),
        Target::Memory if hypothesis >= OF_INFERENCE => inference::memory(hypothesis - OF_INFERENCE),
        Target::Latency if hypothesis >= OF_MODES => modes::latency(match hypothesis - OF_MODES {
            0 => Joined::Roofline,
            1 => Joined::Sum,
            _ => Joined::Overlapping,
        }),
        Target::Energy if hypothesis >= OF_MODES => modes::drawn(Column::Taken),
        Target::Power if hypothesis >= OF_MODES => modes::drawn(Column::Drawn),
        Target::Latency => Parts {
            joined: Joined::Overlapping,
            floor: [Term::Layers, Term::OtherLayers].map(Launches).to_vec(),
            line: work(),
            rest: Vec::new(),
        },
        Target::Energy => {
            let mut line = work();
            line.push(One);
            Parts {
                joined: Joined::Sum,
                floor: Vec::new(),
                line,
                rest: Vec::new(),
            }
        }
        Target::Power => Parts {
            joined: Joined::Sum,
            floor: Vec::new(),
            line: vec![One, Column::WorkRate, Column::TrafficRate],
            rest: Vec::new(),
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
                rest: Vec::new(),
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
    #[serde(default)]
    rest: Vec<f64>,
    /// Of energy and power across modes: the time of a step; without rows of latency the board's figures give it.
    #[serde(default)]
    time: Option<Box<Base>>,
    /// Of memory: the least and the greatest that is ever seen.
    floor_value: Option<f64>,
    ceiling: Option<f64>,
}

/// A ratio to a line of zeros is still a number that trees can compare.
const MOST_RATIO: f64 = 1e30;

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
        let is_known = |form: Form| hypotheses(self.target, form).contains(&self.hypothesis);
        Form::ALL.into_iter().any(is_known)
            && self
                .time
                .as_ref()
                .is_none_or(|time| time.target == Target::Latency && time.time.is_none() && time.is_sound())
            && parts.rest.len() == self.rest.len()
            && parts.floor.len() == self.floor.len()
            && parts.line.len() == self.line.len()
            && self
                .floor
                .iter()
                .chain(&self.line)
                .chain(&self.rest)
                .all(|x| x.is_finite() && *x >= 0.0)
            && limits().all(|x| x.is_finite() && x > 0.0)
    }

    /// Whether it is of rows that differ in their power modes.
    pub(crate) fn is_across_modes(&self) -> bool {
        (OF_MODES..OF_INFERENCE).contains(&self.hypothesis)
    }

    pub(crate) fn ceiling(&self) -> Option<f64> {
        self.ceiling
    }

    pub(crate) fn say(&self, terms: &Terms, device: &Device) -> Said {
        let parts = parts(self.target, self.hypothesis);
        let time_ms = step_ms(self.time.as_deref(), terms, device);
        let times = |columns: &[Column], coefficients: &[f64]| -> Vec<f64> {
            let product = |(column, x): (&Column, &f64)| column.value(terms, device, time_ms) * x;
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
                (value, value, (floor / line).min(MOST_RATIO))
            }
            Joined::Roofline => {
                let rest: f64 = times(&parts.rest, &self.rest).iter().sum();
                let value = norm(floor, line) + rest;
                (value, value, (floor / line).min(MOST_RATIO))
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
