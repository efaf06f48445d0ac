//! Real networks and ONNX's conformance cases.

use std::collections::BTreeMap;
use std::path::Path;

use jetlag_work::{Given, Graph, Options, Work, work};
use nvidia_doubles::machine::shared;
use serde_json::Value;

use crate::build::Net;

fn count(path: &Path, given: &[&str]) -> Work {
    let mut sizes = Given::default();
    given.iter().for_each(|text| sizes.dim(text).unwrap());
    work(&Graph::open(path).unwrap(), &sizes, &Options::default()).unwrap()
}

#[test]
fn multiply_adds_by_operator_are_those_of_the_reference() {
    let Some(root) = shared("data/models") else { return };
    let facts: Vec<Value> =
        serde_json::from_slice(&std::fs::read(root.join("static_facts.json")).unwrap()).unwrap();
    let mut checked = 0;
    for fact in facts {
        let file = fact["file"].as_str().unwrap();
        let wanted: BTreeMap<String, u64> = serde_json::from_value(fact["macs"].clone()).unwrap();
        let made = match file {
            // Of a size that is given; its reference is in words, for each pillar.
            "pointpillars_kitti_car/pfe.onnx" => {
                let made = count(&root.join(file), &["num_pillars=12000"]);
                assert_eq!(made.totals.macs, 12_000 * (64 * 9 * 100 + 64 * 64 * 34));
                continue;
            }
            // Its nodes are not in order; the reference has the first of its two convolutions alone, since the inference that it
            // was made with stops at a node whose input is made further down.
            "lidar_encoders/centerpoint_nuscenes_pfe.onnx" => {
                let made = count(&root.join(file), &[]);
                let second = 64 * 64 * 5268 * 20;
                assert_eq!(made.totals.macs_by_operator["Conv"], wanted["Conv"] + second);
                continue;
            }
            _ => count(&root.join(file), &[]),
        };
        assert_eq!(made.totals.macs_by_operator, wanted, "{file}");
        assert_eq!(
            made.totals.nodes as u64,
            fact["nodes"].as_u64().unwrap(),
            "{file}"
        );
        assert_eq!(made.unknown.nodes, 0, "{file}");
        for (name, shape) in &made.outputs {
            let wanted: Vec<u64> = serde_json::from_value(fact["outputs"][name].clone()).unwrap();
            assert_eq!(shape.as_ref(), Some(&wanted), "{file}, {name}");
        }
        checked += 1;
    }
    assert_eq!(checked, 11);
}

/// The dimensions of a stored tensor: its first field, one number or packed.
fn dims(tensor: &[u8]) -> Vec<u64> {
    let mut dims = Vec::new();
    let mut at = 0;
    let number = |at: &mut usize| {
        let (mut value, mut place) = (0_u64, 0);
        loop {
            let byte = tensor[*at];
            *at += 1;
            value |= u64::from(byte & 0x7f) << place;
            place += 7;
            if byte & 0x80 == 0 {
                return value;
            }
        }
    };
    while at < tensor.len() {
        match number(&mut at) {
            0x08 => dims.push(number(&mut at)),
            0x0a => {
                let end = number(&mut at) as usize + at;
                while at < end {
                    dims.push(number(&mut at));
                }
            }
            tag if tag & 7 == 0 => {
                number(&mut at);
            }
            _ => break,
        }
    }
    dims
}

#[test]
fn conformance_cases_have_the_shapes_of_their_outputs() {
    let Some(root) = shared("data/models/graphs/node") else {
        return;
    };
    let mut macs = BTreeMap::new();
    for entry in std::fs::read_dir(root).unwrap() {
        let folder = entry.unwrap().path();
        let made = count(&folder.join("model.onnx"), &[]);
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let wanted = dims(&std::fs::read(folder.join("test_data_set_0/output_0.pb")).unwrap());
        let found = made.outputs[0].1.clone().unwrap();
        match &*name {
            // As many boxes as are asked for, at most.
            "test_nonmaxsuppression_center_point_box_format" => {
                assert!(found[0] >= wanted[0] && found[1..] == wanted[1..])
            }
            _ => assert_eq!(found, wanted, "{name}"),
        }
        assert_eq!(made.unknown.nodes, 0, "{name}");
        macs.insert(name, made.totals.macs);
    }
    let known = [
        // 2 images of 3 heads, 4 queries by 6 keys, 8 wide, twice.
        ("test_attention_4d", 2 * 3 * 4 * 6 * 8 * 2),
        // 1 x 3 x 3 through 2 filters of 3 x 3.
        ("test_convtranspose", 9 * 2 * 9),
        ("test_gridsample_bilinear", 0),
        // 3 gates of 3 from 3 and 3, a step of batch 3.
        ("test_gru_with_initial_bias", 3 * 3 * 3 * (3 + 3)),
        // 4 gates of 3 from 2 and 3, a step of batch 3.
        ("test_lstm_defaults", 3 * 4 * 3 * (2 + 3)),
        ("test_nonmaxsuppression_center_point_box_format", 0),
        // 7 x 7 through one number.
        ("test_qlinearconv", 49),
        ("test_scatternd", 0),
    ];
    for (name, wanted) in known {
        assert_eq!(macs[name], wanted, "{name}");
    }
}

#[test]
fn weights_beside_the_network_are_not_looked_for() {
    let mut net = Net::new(17);
    // 4 GB, in a file that is not there.
    net.input("x", "1 32768")
        .weight("w", &[32_768, 32_768])
        .node("MatMul", "x w", "y", &[])
        .output("y");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("net.onnx");
    std::fs::write(&path, net.bytes()).unwrap();
    let made = count(&path, &[]);
    assert_eq!((made.totals.params, made.totals.params_bytes), (1 << 30, 1 << 32));
}
