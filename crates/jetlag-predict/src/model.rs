//! A fitted model: per board's stage and target, bases with trees on what they leave, intervals, and what it was fitted on.

mod answer;
mod cross;
mod file;
mod fit;
mod held_out;
mod interval;
mod member;
mod modes;
mod room;
mod unlike;

use serde::{Deserialize, Serialize};

pub use answer::{Answer, Fits, Late, Prediction, Question, Verdict};
pub use fit::{FitOptions, fit};
pub use held_out::HeldOut;
pub use interval::{Interval, Withheld};
pub use modes::Unanswered;
pub use unlike::{Kin, Reason};

pub(crate) use cross::{Trust, Unseen, best_trust, joined};
pub(crate) use fit::{fit_rows, why_none};
pub(crate) use interval::Width;
pub(crate) use member::{Example, Opinion};

use crate::base::Across;
use crate::dataset::Target;
use crate::features::{Device, FeatureSet, Stage};
use interval::Intervals;
use member::Member;
use modes::Modes;
use unlike::Known;

/// Everything that `fit` learnt from a folder.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    facts: Facts,
    targets: Vec<TargetModel>,
}

/// What a model says about itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// BLAKE3 of the files that it was fitted on.
    pub data_hash: String,
    /// How it was told to describe networks; None where left-out networks chose.
    pub features: Option<FeatureSet>,
    /// The seed.
    pub seed: u64,
    /// Trees of each target.
    pub trees: usize,
    /// Coverage that intervals aim at, 0 to 1.
    pub level: f64,
    /// Boards in the data, with the figures that were used.
    pub devices: Vec<Device>,
    /// Networks in the data.
    pub networks: Vec<String>,
}

/// The model of one stage and target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct TargetModel {
    pub(crate) stage: Stage,
    pub(crate) target: Target,
    /// What its members describe networks by.
    features: FeatureSet,
    /// Whether the fitted networks were described by their layers with weights alone; then others are, too.
    only_weights: bool,
    pub(crate) rows: usize,
    pub(crate) variants: usize,
    trust: Trusts,
    intervals: Intervals,
    known: Known,
    held_out: Option<HeldOut>,
    /// Power modes of the fitted rows; empty where some row's is not known.
    modes: Modes,
    /// Held apart in a file.
    #[serde(skip)]
    members: Vec<Member>,
}

/// How members' opinions are joined for variants of fitted networks, for other networks, and in other power modes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Trusts {
    near: Trust,
    far: Trust,
    modes: Trust,
}

impl Trusts {
    fn is_sound(&self, fitted: FeatureSet) -> bool {
        let each = [self.near, self.far, self.modes];
        each.into_iter().all(|trust| trust.is_sound(fitted))
    }
}

/// What one target's model is, for reports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TargetFacts {
    /// Training or inference.
    pub stage: Stage,
    /// What it predicts.
    pub target: Target,
    /// Rows it was fitted on.
    pub rows: usize,
    /// Network variants among them.
    pub variants: usize,
    /// What variants of fitted networks are described by.
    pub features_near: FeatureSet,
    /// And other networks: what left-out networks spoke for, or what was asked for.
    pub features_far: FeatureSet,
    /// Part of the trees' correction that is used on variants of fitted networks.
    pub trees_used_near: f64,
    /// And on other networks.
    pub trees_used_far: f64,
    /// How far off it is on networks that were left out; None where they are too few.
    pub held_out: Option<HeldOut>,
    /// Power modes among them; 0 where rows do not differ in their clocks.
    pub modes: usize,
    /// And of the trees' correction in power modes that were not measured.
    pub trees_used_modes: f64,
    /// Why there is no interval for variants of fitted networks, where there is none.
    pub near_withheld: Option<Withheld>,
    /// And for other networks.
    pub far_withheld: Option<Withheld>,
    /// And for power modes that were not measured.
    pub modes_withheld: Option<Withheld>,
}

impl TargetModel {
    /// Whether it sees what differs between power modes.
    fn across(&self) -> Across {
        self.modes.across(self.features)
    }

    /// Whether networks are described by their layers with weights alone.
    pub(crate) fn only_weights(&self) -> bool {
        self.only_weights
    }
}

impl Model {
    /// What the model says about itself.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// What it predicts.
    pub fn targets(&self) -> Vec<TargetFacts> {
        let facts = |model: &TargetModel| TargetFacts {
            stage: model.stage,
            target: model.target,
            rows: model.rows,
            variants: model.variants,
            features_near: model.trust.near.features,
            features_far: model.trust.far.features,
            trees_used_near: model.trust.near.shrink,
            trees_used_far: model.trust.far.shrink,
            held_out: model.held_out,
            modes: match model.across() {
                Across::Modes => model.modes.len(),
                Across::Boards => 0,
            },
            trees_used_modes: model.trust.modes.shrink,
            near_withheld: model.intervals.near.as_ref().err().cloned(),
            far_withheld: model.intervals.far.as_ref().err().cloned(),
            modes_withheld: model
                .intervals
                .modes
                .as_ref()
                .and_then(|own| own.as_ref().err().cloned()),
        };
        self.targets.iter().map(facts).collect()
    }
}
