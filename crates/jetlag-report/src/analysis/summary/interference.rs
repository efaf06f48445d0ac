//! The result of how the tenants of a run slowed each other down.

use serde::Serialize;

use super::Slowdown;

/// How the tenants of a run slowed each other down; each list is empty where it was not asked for, or cannot be had.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Interference {
    /// The slowdown of each tenant beside each other and all others, for each way of sharing.
    pub matrix: Vec<Way>,
    /// Each tenant against each other while all ran together.
    pub overlap: Vec<Overlap>,
    /// What the inputs of two detectors do to each of them.
    pub crossed: Vec<Contrast>,
    /// How each tenant takes a load on one resource.
    pub sensitivity: Vec<Sensitivity>,
}

/// One way of sharing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Way {
    /// As a scenario writes it.
    pub sharing: String,
    /// Each tenant beside each set of others that it ran with: its pairs first, then all.
    pub cells: Vec<Cell>,
}

/// One tenant beside others, over itself alone under the same way of sharing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cell {
    /// Who was slowed down.
    pub tenant: String,
    /// Names of the tenants that ran beside it.
    pub with: Vec<String>,
    /// By how much; `None` where it completed nothing beside them, or nothing alone.
    pub slowdown: Option<Slowdown>,
    /// Frames measured beside them.
    pub count: u64,
}

/// One tenant's frames against one co-runner's.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Overlap {
    /// Name of the tenant whose frames are looked at.
    pub tenant: String,
    /// Name of the co-runner.
    pub with: String,
    /// Frames that this is made of.
    pub frames: u64,
    /// Mean share of their service time in which the other was in service, from 0 to 1.
    pub mean_share: f64,
    /// Frames that began without it.
    pub without: Met,
    /// Frames that began beside it, and beside no other that comes and goes.
    pub beside: Met,
    /// Share of the time beside it that a frame loses; below 0 where frames seem faster.
    pub lost_share: Option<f64>,
    /// 95 % interval of `lost_share`.
    pub lost_share_ci95: Option<[f64; 2]>,
    /// How many times slower a frame runs beside it: 1 ÷ (1 − `lost_share`).
    pub slowdown: Option<f64>,
    /// 95 % interval of `slowdown`; without an upper end where the data do not exclude that a frame stands still.
    pub slowdown_ci95: Option<(f64, Option<f64>)>,
    /// Why there is no estimate.
    pub withheld: Option<Withheld>,
}

/// Frames of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Met {
    /// Number of these frames.
    pub frames: u64,
    /// Their median service time.
    pub service_p50_ms: Option<f64>,
}

/// Why a figure is not stated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Withheld {
    /// A stable word for programs, such as `too-few-frames`.
    pub code: &'static str,
    /// For people; ends in what to do where something can be done.
    pub message: String,
}

/// What two inputs of a detector, and two of its co-runner, do to a measure of its response time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Contrast {
    /// The way of sharing.
    pub sharing: String,
    /// The detector's tenant with the first input, and with the other.
    pub tenant: [String; 2],
    /// The same of its co-runner.
    pub with: [String; 2],
    /// `p50_ms`, `p99_ms`, or `relative_spread`, which is (p99 − p50) ÷ p50.
    pub measure: &'static str,
    /// The measure with the first input of both: what the effects are added to.
    pub base: f64,
    /// The other input of its own, over both inputs of the co-runner.
    pub own: Effect,
    /// The other input of the co-runner, over both of its own.
    pub co_runner: Effect,
    /// By how much more the two do together than one by one.
    pub interaction: Effect,
}

/// A difference of means over the layout, in the unit of its measure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Effect {
    /// The estimate, in the unit of the measure.
    pub value: f64,
    /// Its 95 % interval.
    pub ci95: [f64; 2],
    /// Whether it is beyond chance, with all the effects of the run looked at together.
    pub found: bool,
}

/// One tenant against one resource under one way of sharing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sensitivity {
    /// The way of sharing.
    pub sharing: String,
    /// Who was slowed down.
    pub tenant: String,
    /// The resource that was loaded.
    pub resource: String,
    /// Its slowdown by level, lowest level first.
    pub points: Vec<Point>,
}

/// One level of load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Name of the stressor tenant.
    pub stressor: String,
    /// Its level, from 0 to 1.
    pub level: f64,
    /// The tenant's slowdown beside it.
    pub slowdown: Option<Slowdown>,
}
