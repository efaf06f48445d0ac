//! LiDAR heads from a sweep to boxes, beside `tests/python/heads_lidar.py`.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use jetlag::detector::{Detection, Place, spec};
use jetlag::source::{Content, Frame, PointCloud};
use nvidia_doubles::machine;
use rten_onnx::onnx::{DataType, GraphProto};
use serde_json::{Value, json};

use super::Output;
use super::cases::{Noise, output};
use crate::common::onnx::{self, floats, node, value};
use crate::common::pipeline::{found_in, numpy, try_open_slot};

/// A head as a spec writes it, and the outputs that it reads.
struct Case {
    name: &'static str,
    head: &'static str,
    outputs: Vec<Output>,
}

fn cases() -> Vec<Case> {
    let mut noise = Noise(11);
    let n = &mut noise;
    let mut map = |name, channels: usize, from, to| {
        let values = n.between(channels * 16, from, to);
        output(name, &[1, channels, 4, 4], values)
    };
    let centerpoint = vec![
        map("heatmap0", 2, -3.0, 2.0),
        map("reg0", 2, 0.0, 1.0),
        map("height0", 1, -1.0, 1.0),
        map("dim0", 3, -0.5, 1.5),
        map("rot0", 2, -1.0, 1.0),
        map("vel0", 2, -8.0, 8.0),
        map("heatmap1", 1, -2.0, 2.0),
        map("reg1", 2, 0.0, 1.0),
        map("height1", 1, -1.0, 1.0),
        map("dim1", 3, 0.5, 1.5),
        map("rot1", 2, -1.0, 1.0),
        map("vel1", 2, -8.0, 8.0),
    ];
    let mut cells = |name, values: usize, from, to| {
        let all = n.between(16 * 4 * values, from, to);
        output(name, &[1, 4, 4, 4 * values], all)
    };
    let second = vec![
        cells("box", 7, -0.4, 0.4),
        cells("cls", 2, -3.0, 1.0),
        cells("dir", 2, -1.0, 1.0),
    ];
    vec![
        Case {
            name: "centerpoint",
            head: r#"Heatmap(stride: 2, peaks: true, tasks: [
                (classes: [0, 2], heatmap: "heatmap0", offset: "reg0", height: "height0", size: "dim0", rotation: "rot0",
                    velocity: "vel0", distance: 3.0),
                (classes: [1], heatmap: "heatmap1", offset: "reg1", height: "height1", size: "dim1", rotation: "rot1",
                    velocity: "vel1")])"#,
            outputs: centerpoint,
        },
        Case {
            name: "second",
            head: r#"Anchors(boxes: "box", classes: "cls", directions: "dir", stride: 2, anchors: [
                (class: 0, size: (1.6, 3.9, 1.56), z: -1.0, rotations: [0.0, 1.57]),
                (class: 1, size: (0.6, 0.8, 1.73), z: -0.6, rotations: [0.0, 1.57])])"#,
            outputs: second,
        },
    ]
}

/// A network with these outputs, whatever the points: each is its constant, plus the points times zero.
fn network(path: &Path, case: &Case) {
    let mut initializers = vec![floats("nothing", &[1], &[0.0])];
    let mut nodes = vec![
        node("ReduceMax", &["points"], "most"),
        node("Mul", &["most", "nothing"], "most_of_nothing"),
        node("Squeeze", &["most_of_nothing"], "zero"),
    ];
    for output in &case.outputs {
        let name = format!("{}_values", output.name);
        let values: Vec<f32> = output.values.iter().map(|v| *v as f32).collect();
        initializers.push(floats(&name, &output.dims, &values));
        nodes.push(node("Add", &[&name, "zero"], output.name));
    }
    let outputs = case.outputs.iter();
    let graph = GraphProto {
        node: nodes,
        initializer: initializers,
        input: vec![value("points", DataType::FLOAT, &[Some(1), None, Some(4)])],
        output: outputs
            .map(|o| onnx::sized(o.name, DataType::FLOAT, &o.dims))
            .collect(),
        ..GraphProto::default()
    };
    onnx::write(path, graph);
}

/// What is found in a sweep of three points.
fn found(folder: &Path, case: &Case) -> Vec<Detection> {
    network(&folder.join("net.onnx"), case);
    let classes = match case.name {
        "second" => r#"["a", "b"]"#,
        _ => r#"["a", "b", "c"]"#,
    };
    let text = format!(
        r#"Lidar(name: "{}", classes: {classes}, range: (x: (0, 8), y: (-4, 4), z: (-3, 1)), voxel: (1, 1, 4),
            max_points: 5, max_pillars: 64, whole: (network: "net.onnx", input: Points(tensor: "points", max: 100)),
            head: {}, score_threshold: 0.3, nms: (iou: 0.1))"#,
        case.name, case.head
    );
    let detector = spec::from_str(&text, case.name, folder, &|_| None);
    let mut detector = detector.unwrap_or_else(|error| panic!("{error}"));
    let points = PointCloud::of(vec![
        [1.0, 0.5, 0.0, 0.2],
        [3.0, -2.0, -1.0, 0.1],
        [7.5, 3.0, 0.5, 0.9],
    ]);
    let frame = Frame {
        shared: Some(Arc::new(Content::Points(points))),
        ..Frame::default()
    };
    let mut slot = try_open_slot(&detector.program).unwrap();
    found_in(&mut detector, &mut *slot, &frame)
}

fn told(detection: &Detection) -> Vec<f64> {
    let Place::Space(b) = detection.place else {
        panic!("a box in space")
    };
    let place = [b.x, b.y, b.z, b.l, b.w, b.h, b.yaw];
    let velocity = detection.velocity.iter().flatten();
    let numbers = place.iter().chain(velocity).map(|v| f64::from(*v));
    [f64::from(detection.class), detection.score.into()]
        .into_iter()
        .chain(numbers)
        .collect()
}

#[test]
fn every_lidar_head_finds_what_numpy_finds() {
    let Some(python) = machine::python("numpy") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let mut asked: BTreeMap<&str, Value> = BTreeMap::new();
    let mut ours: BTreeMap<&str, Vec<Vec<f64>>> = BTreeMap::new();
    for case in &cases() {
        let outputs: BTreeMap<&str, Value> = case
            .outputs
            .iter()
            .map(|o| (o.name, json!({ "dims": o.dims, "values": o.values })))
            .collect();
        asked.insert(case.name, json!(outputs));
        ours.insert(case.name, found(folder.path(), case).iter().map(told).collect());
    }
    let theirs = numpy(&python, "heads_lidar.py", folder.path(), &json!(asked));
    let theirs: BTreeMap<String, Vec<Vec<f64>>> = serde_json::from_value(theirs).unwrap();
    for (name, found) in &ours {
        let wanted = &theirs[*name];
        assert!(found.len() > 3, "{name} finds {found:?}");
        let same = |a: &Vec<f64>, b: &Vec<f64>| {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-3)
        };
        let all = found.len() == wanted.len() && found.iter().zip(wanted).all(|(a, b)| same(a, b));
        assert!(all, "{name}: {found:#?} and NumPy's {wanted:#?}");
    }
    let classes = |name: &str| -> std::collections::BTreeSet<u32> {
        ours[name].iter().map(|row| row[0] as u32).collect()
    };
    assert_eq!(classes("centerpoint").len(), 3, "a class of each head of classes");
    assert_eq!(classes("second").len(), 2);
}
