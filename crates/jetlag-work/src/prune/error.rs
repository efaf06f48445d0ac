//! Why a network is not pruned; one sentence each.

use super::LeftWhole;
use crate::error::WorkError;

/// Why there is no network with fewer channels.
#[derive(Debug, thiserror::Error)]
pub enum PruneError {
    /// The network cannot be read, contradicts itself, or lacks sizes.
    #[error(transparent)]
    Work(#[from] WorkError),
    /// A first dimension that was taken as 1 may be the reason that shapes do not fit.
    #[error(
        "node `{node}` ({operator}) cannot work on its inputs: {problem}; what the network leaves open was taken as 1: give its size with {}",
        .options.join(" ")
    )]
    Assumed {
        /// The node's name, or its first output.
        node: String,
        /// The operator.
        operator: String,
        /// What does not fit.
        problem: String,
        /// The options that give the sizes.
        options: Vec<String>,
    },
    /// Weights beside the file.
    #[error(
        "the weight `{tensor}` lies in another file; save the network with its weights in one file (onnx.save_model with save_as_external_data=False)"
    )]
    External {
        /// The weight.
        tensor: String,
    },
    /// Nothing with filters.
    #[error(
        "the network has no convolution, and no product with weights that are in its file; there are no filters to remove"
    )]
    NoLayers,
    /// Every filter stays.
    #[error("no filter can be removed{}", why(.first))]
    AllStay {
        /// The first layer, with the reason.
        first: Option<LeftWhole>,
    },
    /// A level that leaves all, or nothing.
    #[error("{level} % is no level; levels are 1 to 99 % of the filters")]
    Level {
        /// The level.
        level: u8,
    },
    /// What came out is not what should have.
    #[error(
        "with fewer channels, the tensor `{tensor}` would be {found} and not {expected}: something depends on channels in a way that is not understood"
    )]
    Unsound {
        /// The tensor.
        tensor: String,
        /// Its shape.
        found: String,
        /// The shape that it should have.
        expected: String,
    },
}

fn why(first: &Option<LeftWhole>) -> String {
    match first {
        Some(left) => format!(": those of `{}` stay because {}", left.layer, left.reason),
        None => String::new(),
    }
}
