//! The layers of a built engine as a graph, from what TensorRT's engine inspector tells: which tensor goes where, in what format, and
//! which tactic computes each layer.
//!
//! Plans keep that where they were built with `--profiling-verbosity detailed`; otherwise they keep names alone, and there are no edges.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::record::{EngineLayers, LayerFacts};

/// Most layers that are recorded of one engine: far more than networks have, and a manifest that still fits its record.
const MOST_RECORDED: usize = 20_000;

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
    /// Groups of a convolution.
    pub groups: Option<u64>,
    /// Bytes of its weights and bias; none where none are told.
    pub weights_bytes: Option<u64>,
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
        number_format(&self.format).map(|format| format.name)
    }

    /// Its bytes without padding; none where its sizes or format are not kept, or depend on the input.
    pub fn bytes(&self) -> Option<u64> {
        let extents = self.shape.split('x').filter(|extent| !extent.is_empty());
        let elements = extents
            .map(|extent| extent.parse::<u64>().ok())
            .try_fold(1_u64, |product, extent| product.checked_mul(extent?))?;
        number_format(&self.format)?.bytes_of(elements)
    }
}

impl EngineLayer {
    /// The number format of what it reads, else of what it writes; none where that is not kept. A layer that reads indices as well
    /// computes in the other format.
    pub fn precision(&self) -> Option<&'static str> {
        let tensors = self.inputs.iter().chain(&self.outputs);
        let formats: Vec<NumberFormat> = tensors
            .filter_map(|tensor| number_format(&tensor.format))
            .collect();
        let computed = formats.iter().find(|format| !format.is_index);
        computed.or(formats.first()).map(|format| format.name)
    }

    /// Bytes of all that it reads and writes, each tensor once; none where one is not known.
    fn tensors_bytes(&self) -> Option<u64> {
        let mut seen = BTreeSet::new();
        let mut tensors = self.inputs.iter().chain(&self.outputs).peekable();
        tensors.peek()?;
        tensors
            .filter(|tensor| seen.insert(tensor.name.as_str()))
            .try_fold(0_u64, |sum, tensor| sum.checked_add(tensor.bytes()?))
    }

    fn facts(&self) -> LayerFacts {
        let shape = |tensors: &[EngineTensor]| {
            let first = tensors.first().map(|tensor| tensor.shape.clone());
            first.filter(|shape| !shape.is_empty())
        };
        LayerFacts {
            name: self.name.clone(),
            kind: Some(self.kind.clone()).filter(|kind| !kind.is_empty()),
            precision: self.precision().map(str::to_owned),
            tactic: self.tactic.clone(),
            input_shape: shape(&self.inputs),
            output_shape: shape(&self.outputs),
            groups: self.groups,
            tensors_bytes: self.tensors_bytes(),
            weights_bytes: self.weights_bytes,
        }
    }
}

/// What a run file has of an inspector's document.
pub fn recorded(inspected: &Value) -> EngineLayers {
    match facts(inspected) {
        told if told.is_empty() => {
            EngineLayers::Unknown("TensorRT's engine inspector tells no layers of this plan".to_owned())
        }
        told if told.len() > MOST_RECORDED => EngineLayers::Unknown(format!(
            "the plan has {} layers, and at most {MOST_RECORDED} are recorded",
            told.len()
        )),
        told => EngineLayers::Told(told),
    }
}

/// The layers of an inspector's document as a run file has them.
pub fn facts(inspected: &Value) -> Vec<LayerFacts> {
    layers(inspected).iter().map(EngineLayer::facts).collect()
}

/// A format of numbers.
#[derive(Clone, Copy, Debug)]
struct NumberFormat {
    name: &'static str,
    bits: u64,
    /// Whether tensors of it are indices, sizes or conditions rather than what is computed.
    is_index: bool,
}

impl NumberFormat {
    fn bytes_of(self, elements: u64) -> Option<u64> {
        Some(elements.checked_mul(self.bits)?.div_ceil(8))
    }
}

/// The number format in the inspector's words, such as `Channel major FP16 format where channel % 8 == 0`.
fn number_format(words: &str) -> Option<NumberFormat> {
    let words = words.to_ascii_lowercase();
    // A word that another contains comes after it.
    let known = [
        ("bf16", "bf16", 16),
        ("bfloat16", "bf16", 16),
        ("fp16", "fp16", 16),
        ("half", "fp16", 16),
        ("uint8", "uint8", 8),
        ("int8", "int8", 8),
        ("int4", "int4", 4),
        ("fp8", "fp8", 8),
        ("fp4", "fp4", 4),
        ("double", "fp64", 64),
        ("fp32", "fp32", 32),
        ("float", "fp32", 32),
        ("int64", "int64", 64),
        ("int32", "int32", 32),
        ("bool", "bool", 8),
    ];
    let found = known.into_iter().find(|(word, ..)| words.contains(word));
    found.map(|(_, name, bits)| NumberFormat {
        name,
        bits,
        is_index: ["int64", "int32", "bool"].contains(&name),
    })
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
        groups: told["Groups"].as_u64(),
        weights_bytes: weights(told),
    })
}

/// Bytes of a layer's weights and bias; none where it tells of neither, or of one what cannot be read.
fn weights(told: &Value) -> Option<u64> {
    let mut each = ["Weights", "Bias"]
        .iter()
        .map(|key| &told[*key])
        .filter(|constant| constant.is_object())
        .peekable();
    each.peek()?;
    each.try_fold(0_u64, |sum, constant| {
        let format = number_format(constant["Type"].as_str()?)?;
        sum.checked_add(format.bytes_of(constant["Count"].as_u64()?)?)
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

    #[test]
    fn memory_is_that_of_tensors_and_of_weights_and_absent_where_a_size_is_not_told() {
        let tensor = |name: &str, sizes: &[i64], format: &str| json!({ "Name": name, "Dimensions": sizes, "Format/Datatype": format });
        let (half, x) = ("Channel major FP16 format where channel % 8 == 0", [1, 8, 4, 4]);
        let inspected = json!({ "Layers": [
            { "Name": "conv", "LayerType": "CaskConvolution", "Groups": 2, "TacticName": "sm80",
              "Inputs": [tensor("x", &x, half)], "Outputs": [tensor("y", &x, "Int8")],
              "Weights": { "Type": "Half", "Count": 100 }, "Bias": { "Type": "Float", "Count": 8 } },
            { "Name": "twice", "LayerType": "ElementWise", "Inputs": [tensor("y", &x, "Int8"), tensor("y", &x, "Int8")],
              "Outputs": [tensor("z", &[], "Row major linear FP32")] },
            { "Name": "gather", "LayerType": "Gather", "Inputs": [tensor("i", &[-1], "Int32"), tensor("y", &x, half)], "Outputs": [],
              "Weights": { "Type": "Ternary", "Count": 3 } },
            { "Name": "vast", "LayerType": "Shuffle", "Inputs": [tensor("v", &[i64::MAX, 9], half)], "Outputs": [] },
            "names alone",
        ]});
        let EngineLayers::Told(all) = recorded(&inspected) else {
            panic!("{inspected}");
        };
        let memory: Vec<_> = all
            .iter()
            .map(|layer| (layer.tensors_bytes, layer.weights_bytes))
            .collect();
        assert_eq!(memory[0], (Some(128 * 2 + 128), Some(232)));
        assert_eq!(memory[1], (Some(128 + 4), None));
        assert_eq!(&memory[2..], [(None, None); 3]);
        // Indices are not what it computes in.
        assert_eq!(all[2].precision.as_deref(), Some("fp16"));
        assert_eq!(
            (all[0].groups, all[0].output_shape.as_deref()),
            (Some(2), Some("1x8x4x4"))
        );
        assert!(all[0].is_detailed() && !all[4].is_detailed());
    }

    #[test]
    fn why_no_layers_are_recorded_is_said() {
        let many: Vec<String> = (0..=MOST_RECORDED).map(|n| n.to_string()).collect();
        for (inspected, said) in [
            (json!("text"), "tells no layers"),
            (json!({ "Layers": many }), "20001 layers"),
        ] {
            let EngineLayers::Unknown(why) = recorded(&inspected) else {
                panic!("{said}");
            };
            assert!(why.contains(said), "{why}");
        }
    }
}
