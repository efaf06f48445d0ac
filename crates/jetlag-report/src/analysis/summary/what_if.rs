//! Predictions of what changes would do to the traced frames.

use serde::Serialize;

/// What some changes together would do.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct WhatIf {
    /// The traced phase, in words.
    pub phase: String,
    /// The changes, in words.
    pub changes: Vec<String>,
    /// Each tenant that still runs.
    pub tenants: Vec<PredictedTenant>,
    /// How many traces the changes are the mean of.
    pub traces: u64,
    /// Where the untraced frames are from; `None` where there are none, so that the predictions are of a perturbed trace.
    pub untraced: Option<String>,
    /// What the predictions assume, a sentence each.
    pub assumptions: Vec<String>,
}

/// What the changes would do to one tenant.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PredictedTenant {
    /// Name of the tenant.
    pub tenant: String,
    /// Traced frames that the prediction is from.
    pub frames: u64,
    /// The median from release to result.
    pub response: Predicted,
    /// The median from start to result.
    pub service: Predicted,
}

/// A median, and what it would be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Predicted {
    /// p50 of the traced frames; `None` if there are too few.
    pub traced_ms: Option<f64>,
    /// p50 of the model without a change: how well it knows the trace.
    pub model_ms: Option<f64>,
    /// p50 of the traced frames with the change.
    pub predicted_ms: Option<f64>,
    /// The relative change, −0.2 for a fifth less; of the untraced frames where they are known.
    pub change: Option<f64>,
    /// 95 % interval of `change`: for which frames there were, and for what tracing cost, or how traces differ. What is assumed is
    /// not in it.
    pub change_ci95: Option<[f64; 2]>,
    /// The part of that interval which several traces would have in common, if there is one: how far they differ does not show it.
    #[serde(skip)]
    pub(crate) common_ci95: Option<[f64; 2]>,
    /// p50 of the frames that were not traced, where it is known.
    pub untraced_ms: Option<f64>,
    /// That with the change.
    pub expected_ms: Option<f64>,
}
