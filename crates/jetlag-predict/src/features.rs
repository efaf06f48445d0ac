//! What a network is described by: [`perf4sight`]'s sums as published, and [`jetlag`]'s terms.

mod jetlag;
mod perf4sight;
mod schedule;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub(crate) use jetlag::Term;
pub use jetlag::{TERM_NAMES, Terms, TermsOfOne, jetlag};
pub use perf4sight::perf4sight;
pub use schedule::peak_live_values;

/// Which description a model is fitted on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FeatureSet {
    /// 56 (training) or 15 (inference) sums over convolutions, of arXiv 2108.05580.
    Perf4sight,
    /// Work, traffic and shapes by class of layer, the live peak of a schedule, and the board's figures.
    Jetlag,
}

/// What is done with the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Forward, backward and the step of the optimiser.
    Training,
    /// Forward alone.
    Inference,
}

impl std::fmt::Display for Stage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Training => "training",
            Self::Inference => "inference",
        })
    }
}

/// Figures of a board in one power mode. They scale work and traffic, so that one model serves several boards.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Device {
    /// Its name, with the mode where there are several.
    pub name: String,
    /// Arithmetic peak in the precision used, 10¹² operations per second (a multiply-add is two).
    pub tflops: f64,
    /// Memory bandwidth, 10⁹ bytes per second.
    pub gb_s: f64,
    /// Clock of the processor that launches the work, GHz; 1 where it is not known.
    pub cpu_ghz: f64,
    /// Memory that a network can have at most, MiB, where it is known.
    pub memory_mib: Option<f64>,
}

impl Device {
    /// A board without figures: 1 TFLOP/s, 100 GB/s, 1 GHz. Such rows are of one board, whose figures the fit absorbs.
    pub fn unknown(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            tflops: 1.0,
            gb_s: 100.0,
            cpu_ghz: 1.0,
            memory_mib: None,
        }
    }

    /// Whether the figures are numbers that a board can have.
    pub fn is_sound(&self) -> bool {
        let sound = |x: f64| (1e-6..=1e9).contains(&x);
        sound(self.tflops) && sound(self.gb_s) && sound(self.cpu_ghz) && self.memory_mib.is_none_or(sound)
    }
}
