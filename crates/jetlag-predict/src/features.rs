//! What a network is described by: [`perf4sight`]'s sums as published, and [`jetlag`]'s terms.

mod device;
mod jetlag;
mod perf4sight;
mod schedule;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub(crate) use device::{CLOCK_NAMES, numbers};
pub use device::{Device, Mode};
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
    /// A model of each; the mean of their logarithms.
    Both,
}

impl FeatureSet {
    /// Whether a model with it has trees on perf4sight's sums.
    pub(crate) fn has_sums(self) -> bool {
        self != Self::Jetlag
    }

    /// Whether a model with it has bases of our terms.
    pub(crate) fn has_terms(self) -> bool {
        self != Self::Perf4sight
    }
}

impl std::fmt::Display for FeatureSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Perf4sight => "perf4sight's features",
            Self::Jetlag => "jetlag's features",
            Self::Both => "both sets of features",
        })
    }
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
