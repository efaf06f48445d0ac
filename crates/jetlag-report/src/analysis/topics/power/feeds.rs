//! What a power rail feeds, as far as its source says.

use crate::analysis::summary::RailSummary;

/// What a power line feeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::analysis) enum Feeds {
    /// The whole board: processors, GPU and everything around them.
    Module,
    /// Only GPUs, such as NVML's power of a card.
    Gpus,
    /// Only processors, such as RAPL's package power.
    Processors,
}

/// What a line of the total feeds, where the total is a board's or not.
pub(in crate::analysis) fn feeds(rail: &RailSummary, board: bool) -> Feeds {
    match rail.source.as_str() {
        _ if board => Feeds::Module,
        "nvml" => Feeds::Gpus,
        _ => Feeds::Processors,
    }
}
