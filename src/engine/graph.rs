//! The layers of a built engine as a graph, from what TensorRT's engine inspector tells: which tensor goes where, in what format, and
//! which tactic computes each layer.
//!
//! Plans keep that where they were built with `--profiling-verbosity detailed`; otherwise they keep names alone, and there are no edges.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// One layer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EngineLayer {
    /// Its name.
    pub name: String,
    /// Its type; empty where only names are kept.
    pub kind: String,
    /// What computes it: the tactic's name, else its number.
    pub tactic: Option<String>,
    /// What it reads.
    pub inputs: Vec<EngineTensor>,
    /// What it writes.
    pub outputs: Vec<EngineTensor>,
}

/// A tensor between layers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EngineTensor {
    /// Its name.
    pub name: String,
    /// Its sizes, `1x64x56x56`; empty where they are not kept.
    pub shape: String,
    /// Number format and layout, as the inspector has it.
    pub format: String,
}

impl EngineTensor {
    /// Its number format; none where that is not kept.
    pub fn precision(&self) -> Option<&'static str> {
        number_format(&self.format)
    }
}

impl EngineLayer {
    /// The number format of what it reads, else of what it writes; none where that is not kept.
    pub fn precision(&self) -> Option<&'static str> {
        let mut tensors = self.inputs.iter().chain(&self.outputs);
        tensors.find_map(EngineTensor::precision)
    }
}

/// The number format in the inspector's words, such as `Channel major FP16 format where channel % 8 == 0`.
fn number_format(words: &str) -> Option<&'static str> {
    let words = words.to_ascii_lowercase();
    let known = [
        ("bf16", "bf16"),
        ("bfloat16", "bf16"),
        ("fp16", "fp16"),
        ("half", "fp16"),
        ("int8", "int8"),
        ("fp8", "fp8"),
        ("fp32", "fp32"),
        ("float", "fp32"),
        ("int64", "int64"),
        ("int32", "int32"),
        ("bool", "bool"),
    ];
    known
        .into_iter()
        .find(|(word, _)| words.contains(word))
        .map(|(_, name)| name)
}

/// The layers of an inspector's document, in the order of execution.
pub fn layers(inspected: &Value) -> Vec<EngineLayer> {
    let all = inspected["Layers"].as_array().map_or(&[][..], Vec::as_slice);
    all.iter().filter_map(layer).collect()
}

fn layer(told: &Value) -> Option<EngineLayer> {
    if let Some(name) = told.as_str() {
        return Some(EngineLayer {
            name: name.to_owned(),
            ..EngineLayer::default()
        });
    }
    let text = |key: &str| told[key].as_str().filter(|text| !text.is_empty());
    let number = || match &told["TacticValue"] {
        Value::Number(number) => Some(number.to_string()),
        Value::String(text) => Some(text.clone()),
        _ => None,
    };
    Some(EngineLayer {
        name: text("Name")?.to_owned(),
        kind: text("LayerType")
            .or_else(|| text("ParameterType"))
            .unwrap_or_default()
            .to_owned(),
        // A tactic of 0 and no name is none: the layer has one way to be computed.
        tactic: text("TacticName").map(str::to_owned).or_else(|| {
            number().filter(|value| !["0", "0x0", "0x0000000000000000"].contains(&value.as_str()))
        }),
        inputs: tensors(&told["Inputs"]),
        outputs: tensors(&told["Outputs"]),
    })
}

fn tensors(told: &Value) -> Vec<EngineTensor> {
    let all = told.as_array().map_or(&[][..], Vec::as_slice);
    all.iter()
        .filter_map(|tensor| {
            let sizes = tensor["Dimensions"].as_array().map_or(&[][..], Vec::as_slice);
            let sizes: Vec<String> = sizes.iter().map(|size| size.to_string()).collect();
            Some(EngineTensor {
                name: tensor["Name"].as_str()?.to_owned(),
                shape: sizes.join("x"),
                format: tensor["Format/Datatype"].as_str().unwrap_or_default().to_owned(),
            })
        })
        .collect()
}

/// From which layer to which tensors go: `None` on the left is the engine's own input, on the right its output. A tensor is of the layer
/// that wrote it last before it is read, for names come again in loops.
pub fn edges(layers: &[EngineLayer]) -> Vec<(Option<usize>, Option<usize>, &EngineTensor)> {
    let mut writers: BTreeMap<&str, usize> = BTreeMap::new();
    let mut read: BTreeSet<(usize, &str)> = BTreeSet::new();
    let mut all = Vec::new();
    for (at, layer) in layers.iter().enumerate() {
        for tensor in &layer.inputs {
            let writer = writers.get(tensor.name.as_str()).copied();
            if let Some(writer) = writer {
                read.insert((writer, &tensor.name));
            }
            all.push((writer, Some(at), tensor));
        }
        for tensor in &layer.outputs {
            writers.insert(&tensor.name, at);
        }
    }
    for (at, layer) in layers.iter().enumerate() {
        for tensor in &layer.outputs {
            if !read.contains(&(at, tensor.name.as_str())) {
                all.push((Some(at), None, tensor));
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn layers_tensors_and_tactics_are_read_in_every_verbosity() {
        let tensor = |name: &str| json!({ "Name": name, "Dimensions": [1, 8, 4, 4], "Format/Datatype": "Channel major FP16 format where channel % 8 == 0" });
        let inspected = json!({ "Layers": [
            { "Name": "conv", "LayerType": "CaskConvolution", "Inputs": [tensor("x")], "Outputs": [tensor("y")], "TacticName": "sm80_xmma", "TacticValue": "0x9" },
            { "Name": "copy", "ParameterType": "Reformat", "Inputs": [tensor("y")], "Outputs": [tensor("z")], "TacticValue": "0x0000000000000000" },
            "named only", 7, { "LayerType": "nameless" },
        ]});
        let all = layers(&inspected);
        assert_eq!(all.len(), 3);
        assert_eq!(
            (all[0].tactic.as_deref(), all[0].precision()),
            (Some("sm80_xmma"), Some("fp16"))
        );
        assert_eq!(
            (all[1].kind.as_str(), all[1].tactic.as_deref()),
            ("Reformat", None)
        );
        assert_eq!((all[2].name.as_str(), all[2].precision()), ("named only", None));
        let edges: Vec<_> = edges(&all)
            .into_iter()
            .map(|(from, to, tensor)| (from, to, tensor.name.as_str()))
            .collect();
        assert_eq!(
            edges,
            [
                (None, Some(0), "x"),
                (Some(0), Some(1), "y"),
                (Some(1), None, "z")
            ]
        );
        assert!(layers(&json!("text")).is_empty());
    }
}
