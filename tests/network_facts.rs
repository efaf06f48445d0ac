//! What `jetlag inspect` says of real network files, against facts counted by other tools:
//! data/models/static_facts.json.

use std::collections::BTreeMap;

use jetlag::engine::network::{self, Port};
use nvidia_doubles::machine;
use serde::Deserialize;
use serde_json::Value as Json;

/// The facts of one file; multiply-accumulates are not read by `inspect`.
#[derive(Deserialize)]
struct Facts {
    file: String,
    bytes: u64,
    opset: BTreeMap<String, i64>,
    nodes: usize,
    ops: BTreeMap<String, usize>,
    inputs: BTreeMap<String, Vec<Json>>,
    outputs: BTreeMap<String, Vec<Json>>,
    initializer_float_elements: u64,
}

/// Names and shapes, in the form that [`shapes`] gives the stored ones.
fn found(ports: &[Port]) -> BTreeMap<String, Vec<String>> {
    ports.iter().map(|p| (p.name.clone(), p.shape.clone())).collect()
}

fn shapes(ports: &BTreeMap<String, Vec<Json>>) -> BTreeMap<String, Vec<String>> {
    let dimension = |d: &Json| d.as_str().map_or_else(|| d.to_string(), str::to_owned);
    let shape = |dims: &Vec<Json>| dims.iter().map(dimension).collect();
    ports
        .iter()
        .map(|(name, dims)| (name.clone(), shape(dims)))
        .collect()
}

#[test]
fn every_network_is_read_as_other_tools_read_it() {
    let Some(folder) = machine::shared("data/models") else {
        return;
    };
    let text = std::fs::read(folder.join("static_facts.json")).unwrap();
    let all: Vec<Facts> = serde_json::from_slice(&text).unwrap();
    assert!(!all.is_empty());
    for wanted in all {
        let facts = network::read(&folder.join(&wanted.file)).unwrap();
        let file = &wanted.file;
        assert_eq!(facts.file_bytes, wanted.bytes, "{file}");
        assert_eq!(facts.opset, wanted.opset, "{file}");
        assert_eq!(facts.operators, wanted.ops, "{file}");
        assert_eq!(facts.operators.values().sum::<usize>(), wanted.nodes, "{file}");
        assert_eq!(found(&facts.inputs), shapes(&wanted.inputs), "{file}");
        assert_eq!(found(&facts.outputs), shapes(&wanted.outputs), "{file}");
        // The floats among the initializers that are no weights are the scales of a resize or a quantisation.
        let floats = wanted.initializer_float_elements;
        let others = floats.checked_sub(facts.parameters);
        let most = if facts.operators.contains_key("DequantizeLinear") {
            floats / 100
        } else {
            4
        };
        assert!(
            others.is_some_and(|others| others <= most),
            "{file}: {} of {floats}",
            facts.parameters
        );
        assert!(facts.inputs.iter().all(|port| port.element == "float"), "{file}");
    }
    let parameters = |file: &str| network::read(&folder.join(file)).unwrap().parameters;
    assert_eq!(
        parameters("pointpillars_kitti_car/rpn_int8_qdq.onnx"),
        parameters("pointpillars_kitti_car/rpn_fp32.onnx"),
        "quantising adds no weights"
    );
}
