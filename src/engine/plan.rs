//! What a loaded plan says of itself, as the backend that can load it asks it; and what its manifest says without it.

use std::path::Path;

use serde::Serialize;

use super::manifest::PlanManifest;
use super::network::{NetworkFacts, Port};
use super::options::ShapeRange;

/// Whether a file is a plan, by its name.
pub fn is_plan(path: &Path) -> bool {
    let ending = path
        .extension()
        .and_then(|ending| ending.to_str())
        .unwrap_or_default();
    ["plan", "engine", "trt"]
        .iter()
        .any(|known| ending.eq_ignore_ascii_case(known))
}

/// A plan's inputs and outputs as those of a network, as its manifest has them.
pub fn of_manifest(manifest: &PlanManifest) -> NetworkFacts {
    let all = manifest.tensors.iter();
    let (inputs, outputs) = all.partition::<Vec<_>, _>(|tensor| tensor.mode == "input");
    let ports = |of: Vec<&super::manifest::PlanTensor>| {
        of.into_iter()
            .map(|tensor| port(&tensor.name, &tensor.data_type, &tensor.shape))
            .collect()
    };
    NetworkFacts {
        file_bytes: manifest.plan_bytes,
        blake3: manifest.plan_blake3.clone(),
        inputs: ports(inputs),
        outputs: ports(outputs),
        ..NetworkFacts::default()
    }
}

impl PlanFacts {
    /// Its inputs and outputs as those of a network.
    pub fn as_network(&self) -> NetworkFacts {
        let ports = |mode: &str| {
            let of_mode = self.tensors.iter().filter(|tensor| tensor.mode == mode);
            of_mode
                .map(|tensor| port(&tensor.name, &tensor.data_type, &tensor.shape))
                .collect()
        };
        NetworkFacts {
            inputs: ports("input"),
            outputs: ports("output"),
            ..NetworkFacts::default()
        }
    }
}

fn port(name: &str, data_type: &str, shape: &[i64]) -> Port {
    let extent = |(place, extent): (usize, &i64)| match u64::try_from(*extent) {
        Ok(extent) => extent.to_string(),
        Err(_) => format!("dim{place}"),
    };
    Port {
        name: name.to_owned(),
        // ONNX's words, where TensorRT has others.
        element: match data_type {
            "half" => "float16".to_owned(),
            other => other.to_owned(),
        },
        shape: shape.iter().enumerate().map(extent).collect(),
        is_shaped: true,
        made_by: None,
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::manifest::PlanTensor;

    #[test]
    fn plans_are_told_by_their_names() {
        for name in ["a.plan", "a.ENGINE", "b/c.trt"] {
            assert!(is_plan(Path::new(name)), "{name}");
        }
        for name in ["a.onnx", "plan", "a.plan.json"] {
            assert!(!is_plan(Path::new(name)), "{name}");
        }
    }

    #[test]
    fn a_manifest_tells_inputs_and_outputs_and_what_is_open() {
        let tensor = |name: &str, mode: &str, data_type: &str, shape: &[i64]| PlanTensor {
            name: name.to_owned(),
            mode: mode.to_owned(),
            data_type: data_type.to_owned(),
            shape: shape.to_vec(),
        };
        let facts = of_manifest(&PlanManifest {
            tensors: vec![
                tensor("y", "output", "float", &[-1, 10]),
                tensor("x", "input", "half", &[-1, 3, 8, -1]),
            ],
            ..crate::engine::manifest::tests::manifest(b"plan")
        });
        let [input] = &facts.inputs[..] else {
            panic!("one input")
        };
        assert_eq!((input.name.as_str(), input.element.as_str()), ("x", "float16"));
        assert_eq!(input.shape, ["dim0", "3", "8", "dim3"]);
        assert_eq!(facts.outputs[0].shape, ["dim0", "10"]);
    }
}
