//! The work of a network, put together.

mod count;
mod weights;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::element::{As, Element};
use crate::traffic::Moves;
use crate::training::{Backward, Optimiser};

pub use count::work;

/// What is counted, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Element sizes of the traffic.
    pub element: As,
    /// A training step with this optimiser instead of an inference.
    pub training: Option<Optimiser>,
}

/// The work of a network with sizes for its inputs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Work {
    /// The inputs with their sizes.
    pub inputs: Vec<(String, Vec<u64>)>,
    /// The outputs with their sizes; none where they are not known.
    pub outputs: Vec<(String, Option<Vec<u64>>)>,
    /// Element sizes of the traffic.
    pub element: As,
    /// Every node at work, in the order of execution; those of branches, loops and functions by themselves.
    pub nodes: Vec<NodeWork>,
    /// All of them together.
    pub totals: Totals,
    /// What is not in the totals, and why.
    pub unknown: Unknown,
    /// The training step, where one was asked for.
    pub training: Option<TrainingWork>,
}

/// One node's work. What is not known is none, and `bound` has the reason.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NodeWork {
    /// Its name, or its first output's, with the nodes around it: `loop/add`.
    pub name: String,
    /// Its operator.
    pub operator: String,
    /// The operator's domain; empty for ONNX's own.
    pub domain: String,
    /// Shapes of its outputs; none where one is not known.
    pub outputs: Vec<Option<Vec<u64>>>,
    /// Operations: two for each multiply-add, and all others.
    pub flops: Option<u64>,
    /// Multiply-adds of matrix products and convolutions.
    pub macs: Option<u64>,
    /// Elements of its weights.
    pub params: u64,
    /// Bytes read, if every operator goes through memory.
    pub bytes_read: Option<u64>,
    /// Bytes written, likewise.
    pub bytes_written: Option<u64>,
    /// How often it is executed (loops).
    pub times: u64,
    /// It takes constants alone and is computed once, when the network is loaded; not in the totals.
    pub at_load: bool,
    /// With which other nodes it shares a trip to memory, if chains stay on the chip: the position of the first of them.
    pub group: Option<usize>,
    /// How sure this is.
    pub bound: Bound,
    /// Its part of the way back, in a training step.
    pub backward: Option<Backward>,
    /// The shape of the first tensor that it takes as data; none where it is not known.
    pub input: Option<Vec<u64>>,
    /// The type of its first output's elements.
    pub element: Element,
    /// What it moves, tensor by tensor, if every operator goes through memory: to tell what some nodes together move. None where
    /// bytes are not known.
    #[serde(skip)]
    pub moves: Option<Moves>,
}

/// How sure a count is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// Every execution does just this.
    Exact,
    /// It depends on data and is at most this.
    UpperBound,
    /// Not known, for this reason.
    Unknown(String),
}

/// All nodes together, without those that are computed at load.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Totals {
    /// How many nodes there are.
    pub nodes: usize,
    /// How many of them are computed at load and are not in the sums.
    pub nodes_at_load: usize,
    /// How many of them have upper bounds.
    pub nodes_bound: usize,
    /// Operations. At least this where nodes are unknown.
    pub flops: u64,
    /// Multiply-adds of matrix products and convolutions.
    pub macs: u64,
    /// Elements of the weights, each tensor once.
    pub params: u64,
    /// Their bytes.
    pub params_bytes: u64,
    /// Bytes read and written, if every operator goes through memory.
    pub round_trip_bytes: u64,
    /// Bytes read and written, if chains stay on the chip.
    pub fused_bytes: u64,
    /// In how many groups.
    pub fused_groups: usize,
    /// Operations for each byte of a round trip; none where nothing moves.
    pub intensity_round_trip: Option<f64>,
    /// Operations for each byte, if chains stay on the chip.
    pub intensity_fused: Option<f64>,
    /// The most that activations take at once; none where a size is not known.
    pub peak_activation_bytes: Option<u64>,
    /// The node at which they do.
    pub peak_at: Option<String>,
    /// Weights and activations at that time.
    pub peak_live_bytes: Option<u64>,
    /// Multiply-adds by operator.
    pub macs_by_operator: BTreeMap<String, u64>,
    /// Operations by operator.
    pub flops_by_operator: BTreeMap<String, u64>,
}

/// Nodes of which something is not known.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Unknown {
    /// How many nodes there are.
    pub nodes: usize,
    /// Their share of all nodes, 0 to 1.
    pub share: f64,
    /// By operator: how many, and the reason of the first.
    pub operators: BTreeMap<String, (usize, String)>,
    /// Reads or writes of the fused traffic that are not in its sum.
    pub fused_transfers: usize,
    /// Why the peak is not known, if it is not.
    pub peak: Option<String>,
}

/// A training step.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrainingWork {
    /// What updates the weights.
    pub optimiser: Optimiser,
    /// Operations forward.
    pub forward_flops: u64,
    /// Multiply-adds forward.
    pub forward_macs: u64,
    /// Operations of the way back.
    pub backward_flops: u64,
    /// Multiply-adds of the way back.
    pub backward_macs: u64,
    /// Operations of the optimiser.
    pub optimiser_flops: u64,
    /// All of them.
    pub flops: u64,
    /// Bytes of the three, every operator through memory; none where a size is not known.
    pub bytes: Option<u64>,
    /// Elements of the weights that are learnt.
    pub trained_params: u64,
    /// Activations that the way forward leaves for the way back; none where a size is not known.
    pub kept_activation_bytes: Option<u64>,
    /// Weights, gradients and what the optimiser keeps, 4 bytes each unless the weights are stored smaller.
    pub weights_bytes: u64,
    /// All of it together with the activations.
    pub memory_bytes: Option<u64>,
}
