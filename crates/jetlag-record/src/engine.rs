//! What the inspector of a TensorRT engine tells of its layers.
//!
//! It is in the run file so that times of layers can be read beside tactics, formats and sizes where the plan is not, and where no
//! library could load it.

use serde::{Deserialize, Serialize};

/// The layers of one engine in the order of execution, or why they are not known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EngineLayers {
    /// Every layer: with its name alone where the plan keeps no more.
    Told(Vec<LayerFacts>),
    /// They are not known, for this reason: a sentence without its full stop.
    Unknown(String),
}

impl EngineLayers {
    /// The layers; none where they are not known.
    pub fn told(&self) -> &[LayerFacts] {
        match self {
            EngineLayers::Told(layers) => layers,
            EngineLayers::Unknown(_) => &[],
        }
    }
}

/// One layer of an engine. What the inspector does not tell is `None`: plans keep it where they were built with
/// `--profiling-verbosity detailed`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerFacts {
    /// Its name, which times of layers have too.
    pub name: String,
    /// Its type: `CaskConvolution`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub kind: Option<String>,
    /// Number format of what it reads, else of what it writes: `fp16`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub precision: Option<String>,
    /// What computes it: the tactic's name, else its number. A layer with one way to be computed has none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tactic: Option<String>,
    /// Shape of the first tensor that it reads, `1x64x56x56`; -1 stands for an extent that is dynamic.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub input_shape: Option<String>,
    /// Shape of the first tensor that it writes, likewise.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub output_shape: Option<String>,
    /// Groups of a convolution.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub groups: Option<u64>,
    /// Bytes of all tensors that it reads and writes, each once, without the padding of their formats; `None` also where an extent is
    /// dynamic.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tensors_bytes: Option<u64>,
    /// Bytes of its weights and bias.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub weights_bytes: Option<u64>,
}

impl LayerFacts {
    /// Whether anything but its name is told.
    pub fn is_detailed(&self) -> bool {
        self.kind.is_some() || self.tactic.is_some() || self.tensors_bytes.is_some()
    }
}
