//! Figures of power and energy.

use serde::Serialize;

use crate::analysis::gathering::uncertainty::NoInterval;
use crate::record::{Part, RailRole};

/// Energy per completed frame of one tenant, in millijoules.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Energy {
    /// Total energy, idle power included.
    pub total: f64,
    /// Energy above idle; `None` if idle power was not measured.
    pub above_idle: Option<f64>,
    /// 95 % interval of `total`, for what lies between readings and the sensors' steps; gain and offset are not included.
    pub ci95: Option<[f64; 2]>,
    /// 95 % interval of `above_idle`, which includes the error of the idle baseline.
    pub above_idle_ci95: Option<[f64; 2]>,
    /// The tenant's share of the total energy, from 0 to 1.
    pub share: f64,
    /// Whether any of it was divided among several tenants, which makes it an attribution and not a measurement.
    pub attributed: bool,
    /// Completed frames for each joule of `total`; `None` where that is not above zero.
    pub frames_per_joule: Option<f64>,
}

impl Energy {
    /// 95 % interval of `frames_per_joule`: the more energy a frame takes, the fewer there are for a joule.
    pub fn frames_per_joule_ci95(&self) -> Option<[f64; 2]> {
        let [low, high] = self.ci95.filter(|[low, _]| *low > 0.0)?;
        Some([1e3 / high, 1e3 / low])
    }
}

/// The total energy of everything that was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EnergySummary {
    /// What the total covers: `module`, `GPU and processor`, ….
    pub of: &'static str,
    /// The lines that were added, each as `source/rail`.
    pub rails: Vec<String>,
    /// Total energy over the measured time, idle power included, mJ.
    pub total_mj: f64,
    /// Energy above idle, mJ; `None` if idle power was not measured.
    pub above_idle_mj: Option<f64>,
    /// 95 % interval of `total_mj`, for what lies between readings and the sensors' steps; gain and offset are not included.
    pub ci95_mj: Option<[f64; 2]>,
    /// 95 % interval of `above_idle_mj`, which includes the error of the idle baseline.
    pub above_idle_ci95_mj: Option<[f64; 2]>,
    /// Why there is no interval, if there is none.
    pub ci95_withheld: Option<NoInterval>,
    /// Mean power over the measured time, mW.
    pub mean_mw: f64,
    /// Mean power over the idle baseline, mW; `None` if it was not measured.
    pub idle_mw: Option<f64>,
    /// Length of the idle baseline in seconds.
    pub idle_s: Option<f64>,
    /// The sum of the named rails over the total; `None` if the board has no such rails.
    pub rails_share: Option<f64>,
    /// Whether the sensors were calibrated; they never are, so gain and offset may be off by several percent.
    pub calibrated: bool,
    /// How it was divided among the tenants, where there are several.
    pub attribution: Option<&'static str>,
    /// Median of the total over the time in which all its lines were measured, mW.
    pub median_mw: Option<f64>,
    /// What the total stayed at or below in 95 % of that time, mW; `None` also below [`P95_VALUES`] values.
    pub p95_mw: Option<f64>,
    /// Highest total, mW: of one line its highest reading, of several the highest sum.
    pub peak_mw: Option<f64>,
    /// Values that the sensor with the fewest gave in the measured time.
    #[serde(skip)]
    pub values: u64,
    /// Whether it comes from a board's own rails.
    #[serde(skip)]
    pub board: bool,
    /// What each tenant was charged with, for tables of the energy.
    #[serde(skip)]
    pub charged: Vec<Charged>,
}

/// The energy that one tenant was charged with.
#[derive(Clone, Debug, PartialEq)]
pub struct Charged {
    /// Its place among the tenants of the summary.
    pub tenant: usize,
    /// All of it, mJ.
    pub mj: f64,
    /// The part of it above idle, mJ; `None` if idle power was not measured.
    pub above_idle_mj: Option<f64>,
    /// Half of the 95 % interval of `mj`.
    pub half_mj: Option<f64>,
    /// The rails that it comes from, by their places in the summary's `power`, each with the tenant's share of its energy.
    pub rails: Vec<(usize, f64)>,
}

/// One power line over the measured time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RailSummary {
    /// Name of the sampler.
    pub source: String,
    /// The board's own name for it.
    pub rail: String,
    /// Mean power over the measured time, mW.
    pub mean_mw: f64,
    /// Highest power reading, mW.
    pub peak_mw: f64,
    /// Mean power before the run, mW; `None` if it was not measured.
    pub idle_mw: Option<f64>,
    /// Energy over the measured time, mJ; `energy_from` says whether from a counter or integrated from power.
    pub energy_mj: f64,
    /// Refresh interval of the sensor; `None` if it is neither stated nor observed.
    pub refresh_ms: Option<f64>,
    /// Share of the measured time that the sensor's readings cover.
    pub coverage: f64,
    /// Energy above idle, mJ; `None` if idle power was not measured.
    pub above_idle_mj: Option<f64>,
    /// 95 % interval of `energy_mj`, for scatter and resolution of the sensor; gain and offset are not included.
    pub ci95_mj: Option<[f64; 2]>,
    /// Why there is no interval, if there is none.
    pub ci95_withheld: Option<NoInterval>,
    /// Where `energy_mj` comes from: `counter` or `power`.
    pub energy_from: &'static str,
    /// Power integrated over the window.
    pub integrated_mj: f64,
    /// The growth of its energy counter; `None` without one.
    pub counter_mj: Option<f64>,
    /// Its relation to the total: `total`, `summand`, `part`, `within`, `input` or `unknown`.
    pub role: RailRole,
    /// The rail that feeds it, if known.
    pub within: Option<String>,
    /// Where `refresh_ms` comes from: `stated` or `observed`.
    pub refresh_from: Option<&'static str>,
    /// What one reading is: `instant`, `mean` or `unknown`.
    pub averaging: &'static str,
    /// Averaging window of a mean.
    pub window_ms: Option<f64>,
    /// Resolution of the sensor, mW.
    pub step_mw: Option<f64>,
    /// Share of time in which readings followed one another without a gap.
    pub sampled: f64,
    /// Number of readings in the window.
    pub readings: u64,
    /// Number of readings in it that had no value.
    pub unread: u64,
    /// Median over the time that readings cover, mW.
    pub median_mw: Option<f64>,
    /// What it stayed at or below in 95 % of that time, mW; `None` also below [`P95_VALUES`] values.
    pub p95_mw: Option<f64>,
    /// Values that the sensor gave in that time: a reading of an old value is none.
    #[serde(skip)]
    pub values: u64,
}

/// Values of a sensor that a p95 of time needs: below it, less than one value lies beyond it.
pub const P95_VALUES: u64 = 20;

/// The time above a power budget.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PowerBudget {
    /// The budget, mW.
    pub limit_mw: f64,
    /// What the total covers, as in [`EnergySummary::of`]; `None` where there is no total.
    pub of: Option<&'static str>,
    /// The share of the time that was measured in which the total was above it, 0 to 1.
    pub share_above: Option<f64>,
    /// That time in seconds.
    pub above_s: Option<f64>,
    /// The share of the measured time in which the total was measured.
    pub covered: Option<f64>,
    /// The moments above it, the longest first.
    pub moments: Vec<PowerMoment>,
    /// How many more moments there are.
    pub more_moments: u64,
    /// Why nothing is known, where that is so.
    pub withheld: Option<String>,
}

/// A time in which the total was above the budget.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PowerMoment {
    /// Its begin, in seconds after the start of the measured time.
    pub at_s: f64,
    /// How long it lasted, in seconds.
    pub length_s: f64,
    /// Mean of the total in it, mW.
    pub mean_mw: f64,
    /// Highest total in it, mW.
    pub peak_mw: f64,
}

/// A clock, a temperature or a load over the measured time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SensorSummary {
    /// Name of the sampler.
    pub source: String,
    /// The signal's name.
    pub signal: String,
    /// `clock`, `temperature` or `load`.
    pub quantity: &'static str,
    /// `mhz`, `c` or `percent`, of the five values.
    pub unit: String,
    /// Lowest reading.
    pub min: f64,
    /// Mean over the time that readings cover; of a clock, without the time in which it was off.
    pub mean: Option<f64>,
    /// Median over that time.
    pub median: Option<f64>,
    /// What it stayed at or below in 95 % of that time; `None` also below [`P95_VALUES`] readings.
    pub p95: Option<f64>,
    /// Highest reading.
    pub max: f64,
    /// Share of the measured time in which readings followed one another without a gap.
    pub sampled: f64,
    /// Number of readings in the measured time.
    pub readings: u64,
    /// What it is of.
    #[serde(skip)]
    pub part: Part,
}
