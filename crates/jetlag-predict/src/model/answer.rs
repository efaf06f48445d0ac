//! Answers about a network, a batch and a board.

use serde::{Deserialize, Serialize};

use super::cross::joined;
use super::held_out::HeldOut;
use super::interval::{Interval, Withheld};
use super::member::{Example, Opinion};
use super::modes::Unanswered;
use super::unlike::{Kin, Reason};
use super::{Model, TargetModel};
use crate::base::Across;
use crate::dataset::Target;
use crate::error::PredictError;
use crate::features::{Device, FeatureSet, Stage, TermsOfOne};
use crate::layers::LayerTable;

/// What is asked.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// The network's layers.
    pub table: &'a LayerTable,
    /// Elements of a batch.
    pub batch: u32,
    /// Training or inference.
    pub stage: Stage,
    /// The board; None means the only one that the model was fitted on.
    pub device: Option<&'a Device>,
    /// When the result is needed, ms.
    pub deadline_ms: Option<f64>,
}

/// A predicted value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// What it is of.
    pub target: Target,
    /// The value, in [`Target::unit`].
    pub value: f64,
    /// What would be wanted where nothing limits it; more than `value` only for memory beyond the board's.
    pub demand: f64,
    /// Where the measured value should lie; None has its reason in `withheld`.
    pub interval: Option<Interval>,
    /// Why there is no interval.
    pub withheld: Option<Withheld>,
    /// Whether the network is a variant of a fitted one.
    pub kin: Kin,
    /// Of another network: how far off the model is on those that were left out; None where they are too few.
    pub held_out: Option<HeldOut>,
    /// Whether rows of this power mode were fitted; true where the fitted rows do not differ in modes.
    pub is_measured_mode: bool,
    /// Every reason to doubt; empty for a network like the fitted ones.
    pub unlike: Vec<Reason>,
}

/// Yes, no, or within the interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The whole interval says so.
    Yes,
    /// The whole interval denies it.
    No,
    /// The limit lies within the interval, or there is none.
    Open,
}

/// Whether a network has room.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Fits {
    /// What the board has, MiB: its figure, or the most that any fitted row had.
    pub limit_mib: f64,
    /// What is wanted, MiB.
    pub demand_mib: f64,
    /// Whether that is a lower bound: the peak itself is withheld.
    pub is_least: bool,
    /// Whether that is enough.
    pub verdict: Verdict,
}

/// How late a result is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Late {
    /// When it is needed, ms.
    pub deadline_ms: f64,
    /// Predicted latency minus the deadline, ms; negative is in time.
    pub late_by_ms: f64,
    /// Whether it is in time.
    pub in_time: Verdict,
}

/// Everything that a model says to a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The board.
    pub device: String,
    /// Elements of a batch.
    pub batch: u32,
    /// Training or inference.
    pub stage: Stage,
    /// One for each target that the model knows at this stage and in this power mode.
    pub predictions: Vec<Prediction>,
    /// Targets that it knows at this stage, and not in this power mode or not of a network of this size.
    pub withheld: Vec<Unanswered>,
    /// Whether it has room; None where neither a limit nor memory is known.
    pub fits: Option<Fits>,
    /// How late it is; None without a deadline or latency.
    pub late: Option<Late>,
    /// Joules of a frame; None without energy.
    pub joules_per_frame: Option<f64>,
    /// Whether layers without weights were left aside, since the fitted networks were described without them.
    pub only_weights: bool,
}

impl Answer {
    /// The prediction of a target.
    pub fn of(&self, target: Target) -> Option<&Prediction> {
        self.predictions
            .iter()
            .find(|prediction| prediction.target == target)
    }
}

impl Model {
    /// Answers a question.
    ///
    /// # Errors
    /// A batch or deadline outside of its range; a board whose figures are none, or that must be named since the model knows
    /// several; a stage that the model was not fitted on, a power mode in which it knows no target; a network without a layer that counts.
    pub fn apply(&self, question: &Question<'_>) -> Result<Answer, PredictError> {
        let wrong = |option, found: String, wanted| PredictError::Option {
            option,
            found,
            wanted,
        };
        if !(1..=1 << 20).contains(&question.batch) {
            return Err(wrong("batch", question.batch.to_string(), "1 to 1048576"));
        }
        if let Some(deadline) = question.deadline_ms.filter(|ms| !(ms.is_finite() && *ms > 0.0)) {
            return Err(wrong(
                "deadline",
                deadline.to_string(),
                "a positive number of milliseconds",
            ));
        }
        let device = match (question.device, self.facts.devices.as_slice()) {
            (Some(device), _) if device.is_sound() => device,
            (Some(device), _) => {
                return Err(wrong(
                    "board",
                    device.name.clone(),
                    "figures between 1e-6 and 1e9",
                ));
            }
            (None, [only]) => only,
            (None, several) => {
                let names: Vec<&str> = several.iter().map(|device| device.name.as_str()).collect();
                return Err(wrong(
                    "board",
                    "none".to_owned() + " of " + &names.join(", "),
                    "one of the boards fitted on",
                ));
            }
        };
        let models: Vec<&TargetModel> = self
            .targets
            .iter()
            .filter(|model| model.stage == question.stage)
            .collect();
        let Some(first) = models.first() else {
            return Err(PredictError::NothingAsked {
                wanted: question.stage.to_string(),
                found: self
                    .targets
                    .iter()
                    .map(|model| format!("{} {}", model.stage, model.target))
                    .collect::<Vec<_>>()
                    .join(", "),
            });
        };
        let only_weights = first.only_weights && !question.table.has_only_weights();
        let weighted = question.table.with_weights();
        let room = models
            .iter()
            .copied()
            .find(|model| model.target == Target::Memory);
        let (mut predictions, mut withheld) = (Vec::with_capacity(models.len()), Vec::new());
        let mut unsaid = Vec::new();
        for model in models {
            // Rows of one target may tell of the mode, and those of another one not.
            if let Some(clocks) = device.clocks() {
                let has_them = |known: &Device| known.clocks() == Some(clocks);
                let is_only = self.facts.devices.iter().all(has_them);
                if let Some(why) = model.modes.unknown(model.features, clocks, is_only) {
                    let target = model.target;
                    withheld.push(Unanswered { target, why });
                    continue;
                }
            }
            let reduced = match model.only_weights {
                true => Some(weighted.clone()?),
                false => None,
            };
            let table = reduced.as_ref().unwrap_or(question.table);
            let of_one = TermsOfOne::of(table);
            let example = Example {
                table,
                terms: of_one.at(question.batch),
                device,
                batch: question.batch,
                stage: question.stage,
                time_ms: None,
            };
            if model.across() == Across::Modes && device.mode.is_none() {
                return Err(wrong(
                    "board",
                    device.name.clone(),
                    "a board in a power mode whose clocks are known, since the model was fitted across modes",
                ));
            }
            for said in model.predict(&[&example], self.facts.level)? {
                match model.unsaid(&said, &example, &of_one, self.facts.level)? {
                    Some(why) => unsaid.push(Unanswered {
                        target: said.target,
                        why,
                    }),
                    None => predictions.push(said),
                }
            }
        }
        if let (true, [first, ..]) = (predictions.is_empty() && unsaid.is_empty(), withheld.as_slice()) {
            return Err(PredictError::Mode {
                found: device.name.clone(),
                target: first.target.to_string(),
                why: Box::new(first.why.clone()),
            });
        }
        // Only now: what is known of no size is no reason to refuse the question.
        withheld.extend(unsaid);
        let find = |target| {
            predictions
                .iter()
                .find(|said: &&Prediction| said.target == target)
        };
        let fits = room.and_then(|model| {
            let unknown = || {
                let own = withheld.iter().find(|none| none.target == Target::Memory)?;
                Some(Err(&own.why))
            };
            self.room(model, device, find(Target::Memory).map(Ok).or_else(unknown)?)
        });
        let late = find(Target::Latency)
            .zip(question.deadline_ms)
            .map(|(latency, deadline_ms)| {
                let (low, high) = bounds(latency, latency.value);
                Late {
                    deadline_ms,
                    late_by_ms: latency.value - deadline_ms,
                    in_time: verdict(low, high, deadline_ms),
                }
            });
        Ok(Answer {
            device: device.name.clone(),
            batch: question.batch,
            stage: question.stage,
            fits,
            late,
            joules_per_frame: find(Target::Energy).map(|energy| energy.value / 1e3),
            only_weights,
            predictions,
            withheld,
        })
    }
}

pub(super) fn verdict(low: f64, high: f64, limit: f64) -> Verdict {
    match (high <= limit, low > limit) {
        (true, _) => Verdict::Yes,
        (_, true) => Verdict::No,
        _ => Verdict::Open,
    }
}

impl TargetModel {
    pub(super) fn ceiling(&self) -> Option<f64> {
        self.members
            .iter()
            .find_map(|member| member.base.as_ref()?.ceiling())
    }

    /// Predictions for examples, in order.
    pub(crate) fn predict(
        &self,
        examples: &[&Example<'_>],
        level: f64,
    ) -> Result<Vec<Prediction>, PredictError> {
        let said: Vec<Vec<Opinion>> = self
            .members
            .iter()
            .map(|member| member.opinions(self.target, examples))
            .collect::<Result<_, _>>()?;
        let prediction = |(at, example): (usize, &&Example<'_>)| {
            let opinions: Vec<Opinion> = said
                .iter()
                .filter_map(|opinions| opinions.get(at).copied())
                .collect();
            let (kin, mut unlike) = self.known.judge(&example.terms);
            let (is_measured, beyond) = match self.across() {
                Across::Modes => self.modes.judge(example.device),
                Across::Boards => (true, Vec::new()),
            };
            unlike.extend(beyond);
            let mut trust = match kin {
                Kin::Fitted if is_measured => self.trust.near,
                Kin::Fitted => self.trust.modes,
                Kin::Other => self.trust.far,
            };
            if self.features == FeatureSet::Both && self.known.larger(&example.terms).is_some() {
                // Trees on sums say nothing larger than they saw.
                trust.features = FeatureSet::Jetlag;
            }
            let width = self.intervals.of(kin, is_measured);
            let (log, spread) = joined(&opinions, trust);
            let of_bases = || opinions.iter().filter(|said| !said.is_of_sums);
            let excess =
                of_bases().map(|said| libm::log(said.excess)).sum::<f64>() / of_bases().count().max(1) as f64;
            let value = libm::exp(log);
            Prediction {
                target: self.target,
                value,
                demand: value * libm::exp(excess),
                interval: width.as_ref().ok().map(|width| width.around(log, spread, level)),
                withheld: width.err(),
                kin,
                held_out: self.held_out.filter(|_| kin == Kin::Other),
                is_measured_mode: is_measured,
                unlike,
            }
        };
        Ok(examples.iter().enumerate().map(prediction).collect())
    }
}

/// The interval's bounds, moved to `to`; without one, nothing is sure.
pub(super) fn bounds(said: &Prediction, to: f64) -> (f64, f64) {
    said.interval.map_or((0.0, f64::INFINITY), |interval| {
        (interval.low / said.value * to, interval.high / said.value * to)
    })
}
