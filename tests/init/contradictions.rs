//! Networks that no backend can execute, told of before one is asked.

use std::path::Path;

use rten_onnx::onnx::{DataType, Dimension, GraphProto};

use crate::common::onnx;
use crate::common::output::{assert_refused, run};

/// Writes a network of two inputs `x` and `y` of [n, 4], and these nodes: operator, inputs, output.
fn network(folder: &Path, nodes: &[(&str, &[&str], &str)]) {
    let shape = || {
        let named = Dimension {
            dim_value: None,
            dim_param: Some("n".to_owned()),
        };
        let fixed = Dimension {
            dim_value: Some(4),
            dim_param: None,
        };
        vec![named, fixed]
    };
    let port = |name: &str| onnx::port(name, DataType::FLOAT, shape());
    let graph = GraphProto {
        node: nodes
            .iter()
            .map(|(operator, inputs, output)| onnx::node(operator, inputs, output))
            .collect(),
        input: vec![port("x"), port("y")],
        output: vec![port("z")],
        ..GraphProto::default()
    };
    onnx::write(&folder.join("net.onnx"), graph);
}

#[test]
fn circles_and_shapes_that_contradict_are_told_in_our_words() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let refused = |shapes: &str, phrases: &[&str]| {
        assert_refused(&run(&["run", "net.onnx", "--shapes", shapes], at), 2, phrases);
    };
    network(
        at,
        &[
            ("Add", &["x", "b"], "a"),
            ("Add", &["a", "y"], "b"),
            ("Relu", &["b"], "z"),
        ],
    );
    refused("x:2x4,y:2x4", &["the graph has a circle through", "Add_a"]);
    network(at, &[("Add", &["x", "y"], "z")]);
    // The two have a dimension in common.
    refused("x:2x4,y:3x4", &["contradicts the graph", "`y`", "`n`"]);
    network(at, &[("MatMul", &["x", "y"], "z")]);
    refused(
        "x:2x4,y:2x4",
        &["node `MatMul_z` (MatMul) cannot work on its inputs"],
    );
}
