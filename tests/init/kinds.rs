//! Kinds of networks that people bring, as small files: what `jetlag init` makes of each runs, or is timed alone.

use std::fs;
use std::path::Path;

use rten_onnx::onnx::{DataType, GraphProto};

use super::{scenes, tenant_of};
use crate::common::onnx;
use crate::common::output::{run, stderr, stdout};

/// An output: its name, its extents, its values or 0.1 everywhere, and the operator at its end.
struct Output<'a>(&'a str, &'a [usize], &'a [f32], &'a str);

/// Writes a network of these inputs of f32 whose outputs are the same whatever it is given.
fn network(folder: &Path, name: &str, inputs: &[(&str, &[usize])], outputs: &[Output<'_>]) {
    let mut graph = GraphProto {
        input: inputs
            .iter()
            .map(|(name, dims)| onnx::sized(name, DataType::FLOAT, dims))
            .collect(),
        initializer: vec![onnx::floats("nothing", &[], &[0.0])],
        ..GraphProto::default()
    };
    for (input, _) in inputs {
        graph.node.push(onnx::node_with(
            "ReduceMax",
            &[input],
            &format!("{input}:most"),
            ("keepdims", 0),
        ));
    }
    let mosts: Vec<String> = inputs.iter().map(|(name, _)| format!("{name}:most")).collect();
    let mosts: Vec<&str> = mosts.iter().map(String::as_str).collect();
    graph.node.push(onnx::node("Max", &mosts, "most"));
    graph.node.push(onnx::node("Mul", &["most", "nothing"], "zero"));
    for Output(name, dims, values, end) in outputs {
        let count = dims.iter().product();
        let filled = vec![0.1; count];
        let values = if values.is_empty() { &filled[..] } else { values };
        let (held, sum) = (format!("{name}:held"), format!("{name}:sum"));
        graph.initializer.push(onnx::floats(&held, dims, values));
        graph.node.push(onnx::node("Add", &[&held, "zero"], &sum));
        graph.node.push(match *end {
            "Concat" => onnx::node_with("Concat", &[&sum], name, ("axis", 1)),
            end => onnx::node(end, &[&sum], name),
        });
        graph.output.push(onnx::sized(name, DataType::FLOAT, dims));
    }
    onnx::write(&folder.join(name), graph);
}

/// What `jetlag init` says of a network, and the spec that it writes.
fn init(folder: &Path, name: &str, more: &[&str]) -> (String, String) {
    let output = run(&[&["init", name, "-o", "mine"], more].concat(), folder);
    assert!(output.status.success(), "{name}: {}", stderr(&output));
    let spec = Path::new("mine").join(name).with_extension("ron");
    (stdout(&output), fs::read_to_string(folder.join(spec)).unwrap())
}

const IMAGE: (&str, &[usize]) = ("images", &[1, 3, 64, 64]);

#[test]
fn what_people_bring_gets_a_head_that_runs() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let yunet: Vec<(String, [usize; 3])> = [(8, 64), (16, 16), (32, 4)]
        .iter()
        .flat_map(|(stride, cells)| {
            [("cls", 1), ("obj", 1), ("bbox", 4), ("kps", 10)]
                .map(|(name, columns)| (format!("{name}_{stride}"), [1, *cells, columns]))
        })
        .collect();
    let yunet: Vec<Output<'_>> = yunet
        .iter()
        .map(|(name, dims)| Output(name, dims, &[], "Identity"))
        .collect();
    network(folder, "yunet.onnx", &[IMAGE], &yunet);
    let map = [Output("758", &[1, 7, 4, 4], &[], "Concat")];
    network(folder, "fastest.onnx", &[IMAGE], &map);
    let nas = [
        Output("boxes", &[1, 84, 4], &[], "Identity"),
        Output("scores", &[1, 84, 80], &[], "Identity"),
    ];
    network(folder, "nas.onnx", &[IMAGE], &nas);
    let rf = [
        Output("dets", &[1, 300, 4], &[], "Identity"),
        Output("labels", &[1, 300, 91], &[], "Identity"),
    ];
    network(folder, "rf.onnx", &[IMAGE], &rf);
    let classes = [Output("y", &[1, 10], &[], "Softmax")];
    network(folder, "classes.onnx", &[IMAGE], &classes);
    let batch = [Output("output0", &[4, 84, 84], &[], "Identity")];
    network(folder, "batch.onnx", &[("images", &[4, 3, 64, 64])], &batch);
    for (name, family, parts) in [
        ("yunet", "YuNet", &["score: GeometricMean", "colour: Bgr"][..]),
        ("fastest", "FastestDet", &["Powers(objectness: 0.6, class: 0.4)"]),
        ("nas", "YOLO-NAS", &["[X1, Y1, X2, Y2]", "may also be: DAMO-YOLO"]),
        ("rf", "RF-DETR", &["activation: Sigmoid"]),
        ("classes", "an image classifier", &["activation: Identity"]),
        ("batch", "YOLOv8, YOLOv9, YOLO11", &["YoloAnchorFree"]),
    ] {
        let (said, spec) = init(folder, &format!("{name}.onnx"), &[]);
        assert!(
            said.contains(&format!("looks like {family}")) && said.contains("how sure: "),
            "{said}"
        );
        for part in parts {
            assert!(spec.contains(part), "{part}: {spec}");
        }
        tenant_of(&[&format!("mine/{name}-scenario.ron")], folder);
    }
    let scenario = fs::read_to_string(folder.join("mine/batch-scenario.ron")).unwrap();
    assert!(scenario.contains("batch: 4,"), "{scenario}");
}

#[test]
fn a_head_that_would_be_wrong_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let state = [IMAGE, ("state", &[1, 14])];
    let rows = [Output("output0", &[1, 84, 84], &[], "Identity")];
    network(folder, "state.onnx", &state, &rows);
    let features = [Output("f", &[1, 85, 4, 4], &[], "Relu")];
    network(folder, "features.onnx", &[IMAGE], &features);
    let embedding = [Output("e", &[1, 512], &[], "Identity")];
    network(folder, "embedding.onnx", &[IMAGE], &embedding);
    for (name, why) in [
        ("state", "`state` beside the image"),
        ("features", "too little to write its spec"),
        ("embedding", "an embedding"),
    ] {
        let (said, spec) = init(folder, &format!("{name}.onnx"), &[]);
        assert!(
            said.contains(why) && said.contains("time only, no boxes"),
            "{said}"
        );
        assert!(spec.contains("Network("), "{spec}");
        tenant_of(&[&format!("mine/{name}-scenario.ron")], folder);
    }
    // Images that show nothing of such a head do not make it right.
    scenes(folder);
    fs::remove_file(folder.join("mine/features.ron")).unwrap();
    fs::remove_file(folder.join("mine/features-scenario.ron")).unwrap();
    let (said, spec) = init(folder, "features.onnx", &["--images", "scenes/image_2"]);
    assert!(
        said.contains("none of them finds anything") && spec.contains("Network("),
        "{said}"
    );
}

#[test]
fn images_decide_between_networks_of_one_shape() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    scenes(folder);
    // As YOLOX and YOLOv6 nothing is there, since their objectness is 0; as YOLOv8 there are two boxes of three classes.
    let mut rows = vec![0.0; 84 * 7];
    for (cell, centre) in [(10, 16.0), (40, 48.0)] {
        rows[cell * 7..][..7].copy_from_slice(&[centre, centre, 10.0, 10.0, 0.0, 0.9, 0.0]);
    }
    let output = [Output("output", &[1, 84, 7], &rows, "Identity")];
    network(folder, "turned.onnx", &[IMAGE], &output);
    let (said, _) = init(folder, "turned.onnx", &[]);
    assert!(said.contains("looks like YOLOX"), "{said}");
    for file in ["turned.ron", "turned-scenario.ron"] {
        fs::remove_file(folder.join("mine").join(file)).unwrap();
    }
    let (said, spec) = init(folder, "turned.onnx", &["--images", "scenes/image_2"]);
    assert!(
        said.contains("looks like YOLOv8") && said.contains("As YOLOX it finds nothing"),
        "{said}"
    );
    assert!(spec.contains("YoloAnchorFree"), "{spec}");
    let tenant = tenant_of(&["mine/turned-scenario.ron"], folder);
    assert_eq!(tenant["detections"].as_u64(), Some(12), "{tenant}");
}
