//! What tracing changed: a traced phase beside the same tenants untraced.

use serde::Serialize;

/// The traced phases beside untraced ones.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Observer {
    /// Change of a median response time above which the traced phase counts as perturbed.
    pub limit: f64,
    /// Each traced phase.
    pub phases: Vec<ObservedPhase>,
}

/// One traced phase.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ObservedPhase {
    /// In words, as among the kernels.
    pub label: String,
    /// The untraced phase that it is compared with, in words; `None` where there is none with the same tenants, rates and
    /// sharing.
    pub untraced: Option<String>,
    /// Each of its tenants.
    pub tenants: Vec<ObservedTenant>,
}

/// What may be said of a tenant in a traced phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Observed {
    /// The median changed by more than the limit, and the interval excludes no change.
    Perturbed,
    /// The whole interval is within the limit.
    Unperturbed,
    /// Neither can be told.
    Undecided,
}

/// One tenant, traced and untraced.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ObservedTenant {
    /// Its name.
    pub tenant: String,
    /// The conclusion, from its median response time.
    pub verdict: Observed,
    /// `response.p50`, `response.p99`, `throughput`, `submission.p50`.
    pub figures: Vec<ObservedFigure>,
    /// What would decide it, where it is undecided for want of frames; `None` otherwise.
    pub needs: Option<ObservedNeeds>,
}

/// Frames with which an undecided verdict would be decided, if the change stays what it is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ObservedNeeds {
    /// Traced frames.
    pub traced_frames: u64,
    /// How long they take at the rate of the traced phase.
    pub traced_s: Option<f64>,
    /// Untraced frames, where the measurement is too short as well.
    pub untraced_frames: Option<u64>,
}

/// One figure, traced and untraced.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ObservedFigure {
    /// Its name.
    pub figure: &'static str,
    /// `ms` or `fps`.
    pub unit: &'static str,
    /// Untraced; `None` where it is not known.
    pub untraced: Option<f64>,
    /// Traced; `None` where it is not known.
    pub traced: Option<f64>,
    /// Relative change: traced over untraced, less one.
    pub change: Option<f64>,
    /// Its 95 % interval.
    pub ci95: Option<[f64; 2]>,
    /// Why there is no change or no interval, where there is none.
    pub reason: Option<String>,
}
