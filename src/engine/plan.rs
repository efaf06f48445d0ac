//! What a loaded plan says of itself, as the backend that can load it asks it.

use serde::Serialize;

use super::options::ShapeRange;

/// A loaded plan's facts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlanFacts {
    /// The engine's name, often empty.
    pub name: String,
    /// How many layers are left after fusion.
    pub layers: i32,
    /// Activation memory of a context, in bytes.
    pub device_memory_bytes: u64,
    /// Streams beside its own that a context uses; `null` where the release does not tell.
    pub aux_streams: Option<i32>,
    /// Whether weights can be replaced.
    pub is_refittable: bool,
    /// The plan's inputs and outputs, in its own order.
    pub tensors: Vec<PlanPort>,
    /// What the plan keeps of its layers, as the library's inspector gives it.
    pub layer_information: serde_json::Value,
}

/// An input or output of a loaded plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlanPort {
    /// The tensor's name in the network.
    pub name: String,
    /// The tensor's direction: `input` or `output`.
    pub mode: &'static str,
    /// The type of its elements in TensorRT's words: `float`, `half`, `int8`, ….
    pub data_type: String,
    /// -1 where it is dynamic.
    pub shape: Vec<i64>,
    /// Where its memory lies: `device` or `host`.
    pub location: &'static str,
    /// Memory layout, in the library's words.
    pub format: String,
    /// Accepted shapes, a profile each; inputs only.
    pub profiles: Vec<ShapeRange>,
}
