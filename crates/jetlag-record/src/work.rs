//! The static work of a tenant's networks: what they compute and move in one inference, told from their files before the run.
//!
//! It is in the run file so that rates can be held against a device's limits where the network's file is not.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The work of one inference of a network, in total.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkWork {
    /// The inputs with their sizes.
    pub inputs: BTreeMap<String, Vec<u64>>,
    /// In which format most of it is computed, as far as network and backend tell: `fp32`, `fp16`, `int8`.
    pub precision: String,
    /// Nodes, those of branches, loops and functions by themselves.
    pub nodes: u64,
    /// How many of them are computed when the network is loaded, and are in no sum.
    pub nodes_at_load: u64,
    /// How many have upper bounds, because they depend on data.
    pub nodes_bound: u64,
    /// Operations: two for each multiply-add, and all others.
    pub flops: u64,
    /// Multiply-adds of matrix products and convolutions.
    pub macs: u64,
    /// Elements of the weights.
    pub params: u64,
    /// Their bytes.
    pub params_bytes: u64,
    /// Bytes read and written, if every operator goes through memory.
    pub round_trip_bytes: u64,
    /// Bytes read and written, if chains of operators stay on the chip.
    pub fused_bytes: u64,
    /// The most that activations take at once; none where a size is not known.
    pub peak_activation_bytes: Option<u64>,
    /// Nodes that are in no sum, by operator: how many.
    #[serde(default)]
    pub not_counted: BTreeMap<String, u64>,
}

impl NetworkWork {
    /// The share of the nodes that are in no sum, 0 to 1.
    pub fn not_counted_share(&self) -> f64 {
        let nodes: u64 = self.not_counted.values().sum();
        match self.nodes {
            0 => 0.0,
            all => nodes as f64 / all as f64,
        }
    }
}

/// How sure the counts of a node are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sureness {
    /// Every execution does just this.
    #[default]
    Exact,
    /// It depends on data and is at most this.
    UpperBound,
    /// Something is not known.
    Unknown,
}

/// A tensor that a node reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MovedTensor {
    /// The tensor's number; a view of a tensor has that of the tensor.
    pub tensor: u32,
    /// Bytes of it, over all executions of the node.
    pub bytes: u64,
    /// Whether it is an output of the network; never of one that is read.
    pub leaves: bool,
}

/// The static work of one node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkRecord {
    /// Position of the tenant in the manifest.
    pub tenant: u16,
    /// Position of the network in the tenant's networks.
    pub network: u16,
    /// Position of the node in the order of execution.
    pub node: u32,
    /// Its name, or its first output's.
    pub name: String,
    /// Its operator.
    pub operator: String,
    /// Type of its first output's elements, as ONNX names it.
    pub element: String,
    /// Shape of the first tensor that it takes as data, `1x3x224x224`; none where it is not known.
    pub input_shape: Option<String>,
    /// Shape of its first output, likewise.
    pub output_shape: Option<String>,
    /// Operations; none where they are not known.
    pub flops: Option<u64>,
    /// Multiply-adds among them.
    pub macs: Option<u64>,
    /// Elements of its weights.
    pub params: u64,
    /// Bytes read, if every operator goes through memory.
    pub bytes_read: Option<u64>,
    /// Bytes written, likewise.
    pub bytes_written: Option<u64>,
    /// How often it is executed.
    pub times: u64,
    /// It is computed when the network is loaded, and in no sum.
    pub at_load: bool,
    /// How sure the counts are.
    pub sureness: Sureness,
    /// Why something is not known; empty where all is.
    pub why: String,
    /// Tensors that it reads; empty where bytes are not known.
    pub reads: Vec<MovedTensor>,
    /// Tensors that it writes, likewise.
    pub writes: Vec<MovedTensor>,
}
