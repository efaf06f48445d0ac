//! Power and energy in figures.

use serde::Serialize;

use crate::record::RailRole;

/// Energy per completed frame of one tenant, in millijoules.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Energy {
    /// Total energy, idle power included.
    pub total: f64,
    /// Without what the idle machine takes, where that was measured.
    pub above_idle: Option<f64>,
    /// 95 % interval of `total`, as far as the sensors' scatter and steps go.
    pub ci95: Option<[f64; 2]>,
    /// The tenant's share of the whole, from 0 to 1.
    pub share: f64,
    /// Whether any of it was divided among several tenants, and so is an attribution and no measurement.
    pub attributed: bool,
}

/// The energy of all that was measured together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EnergySummary {
    /// What it is the energy of: `module`, `GPU and processor`, ….
    pub of: &'static str,
    /// The lines that were added, each as `source/rail`.
    pub rails: Vec<String>,
    /// Total energy over the measured time, idle power included, mJ.
    pub total_mj: f64,
    /// Without what the idle machine takes, where that was measured.
    pub above_idle_mj: Option<f64>,
    /// 95 % interval of `total_mj`, as far as the sensors' scatter and steps go.
    pub ci95_mj: Option<[f64; 2]>,
    /// The same of `above_idle_mj`: what the idle baseline may be off by is in it.
    pub above_idle_ci95_mj: Option<[f64; 2]>,
    /// Why there is no interval, where there is none.
    pub ci95_withheld: Option<&'static str>,
    /// Over the measured time.
    pub mean_mw: f64,
    /// Over the idle baseline.
    pub idle_mw: Option<f64>,
    /// How long the idle baseline was.
    pub idle_s: Option<f64>,
    /// What the rails within come to, over the total; where the board has such rails.
    pub rails_share: Option<f64>,
    /// Whether the sensors were calibrated; they never are, so gain and offset may be off by several percent.
    pub calibrated: bool,
    /// How it was divided among the tenants, where there are several.
    pub attribution: Option<&'static str>,
    /// Whether it is a board's own rails.
    #[serde(skip)]
    pub board: bool,
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
    /// Mean power before the run, where it was measured.
    pub idle_mw: Option<f64>,
    /// Energy over the measured time, mJ; `energy_from` says whether from a counter or integrated from power.
    pub energy_mj: f64,
    /// How often the sensor renews its value; where it neither says nor shows it, not known.
    pub refresh_ms: Option<f64>,
    /// Share of time that the sensor saw.
    pub coverage: f64,
    /// Energy without what it takes when idle.
    pub above_idle_mj: Option<f64>,
    /// 95 % interval of `energy_mj`, as far as the sensor's scatter and steps go.
    pub ci95_mj: Option<[f64; 2]>,
    /// Why there is no interval, where there is none.
    pub ci95_withheld: Option<&'static str>,
    /// `counter` or `power`: where `energy_mj` comes from.
    pub energy_from: &'static str,
    /// Power integrated over the window.
    pub integrated_mj: f64,
    /// The growth of its counter.
    pub counter_mj: Option<f64>,
    /// `total`, `summand`, `part`, `within`, `input` or `unknown`: its place in the whole.
    pub role: RailRole,
    /// The line that it hangs off.
    pub within: Option<String>,
    /// `stated` or `observed`: where `refresh_ms` comes from.
    pub refresh_from: Option<&'static str>,
    /// `instant`, `mean` or `unknown`: what one reading is.
    pub averaging: &'static str,
    /// What a mean is over.
    pub window_ms: Option<f64>,
    /// The sensor's smallest difference.
    pub step_mw: Option<f64>,
    /// Share of time in which readings followed one another without a gap.
    pub sampled: f64,
    /// Readings in the window.
    pub readings: u64,
    /// Readings in it that had no value.
    pub unread: u64,
}
