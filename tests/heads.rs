//! Every camera head from an image to boxes, beside NumPy: a small network whose outputs are known is executed on the embedded
//! backend, and `tests/python/heads.py` decodes the same outputs by formulas of its own.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use jetlag::backend::Backend;
use jetlag::backend::cpu::CpuBackend;
use jetlag::detector::{Carry, Detection, Place, spec};
use jetlag::source::{Content, Frame, Image};
use nvidia_doubles::machine;
use rten_onnx::onnx::{
    AttributeProto, AttributeType, DataType, Dimension, GraphProto, ModelProto, NodeProto,
    OperatorSetIdProto, TensorProto, TensorShapeProto, TypeProto, TypeProtoTensor, ValueInfoProto,
};
use serde_json::{Value, json};

/// Width and height of the network's input, and of the image.
const INPUT: [usize; 2] = [64, 32];
const IMAGE: [usize; 2] = [160, 120];

/// An output of a network: its values are numbers of this type.
struct Output {
    name: &'static str,
    dims: Vec<usize>,
    values: Vec<f64>,
    whole: bool,
}

/// A head as a spec writes it, and the outputs that it reads.
struct Case {
    name: &'static str,
    classes: usize,
    head: &'static str,
    /// What stands in the spec beside the head.
    also: &'static str,
    outputs: Vec<Output>,
}

/// Numbers that differ and are the same each time, from 0 to 1.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    fn between(&mut self, count: usize, from: f64, to: f64) -> Vec<f64> {
        // As f32, which is what the network holds.
        (0..count)
            .map(|_| f64::from((from + (to - from) * self.next()) as f32))
            .collect()
    }
}

fn output(name: &'static str, dims: &[usize], values: Vec<f64>) -> Output {
    assert_eq!(dims.iter().product::<usize>(), values.len(), "{name}");
    Output {
        name,
        dims: dims.to_vec(),
        values,
        whole: false,
    }
}

fn wholes(name: &'static str, dims: &[usize], values: Vec<f64>) -> Output {
    Output {
        whole: true,
        ..output(name, dims, values)
    }
}

/// Rows of corners in pixels of the input.
fn corners(noise: &mut Noise, rows: usize) -> Vec<[f64; 4]> {
    (0..rows)
        .map(|_| {
            let [x, y, w, h] = [
                noise.between(1, 0.0, 40.0)[0],
                noise.between(1, 0.0, 20.0)[0],
                noise.between(1, 2.0, 24.0)[0],
                noise.between(1, 2.0, 12.0)[0],
            ];
            [x, y, f64::from((x + w) as f32), f64::from((y + h) as f32)]
        })
        .collect()
}

fn cases() -> Vec<Case> {
    let mut noise = Noise(7);
    let n = &mut noise;
    let case = |name, head, outputs| Case {
        name,
        classes: 3,
        head,
        also: "",
        outputs,
    };
    let rows = |places: &[[f64; 4]], n: &mut Noise| -> Vec<f64> {
        let with = |place: &[f64; 4], n: &mut Noise| {
            let [x1, y1, x2, y2] = *place;
            [
                x1,
                y1,
                x2,
                y2,
                n.between(1, 0.0, 1.0)[0],
                (n.next() * 3.0).floor(),
            ]
        };
        places.iter().flat_map(|place| with(place, n)).collect()
    };
    let classes =
        |n: &mut Noise, count: usize| -> Vec<f64> { (0..count).map(|_| (n.next() * 3.0).floor()).collect() };
    let places = corners(n, 12);
    let flat: Vec<f64> = places.iter().flatten().copied().collect();
    let fractions: Vec<f64> = places
        .iter()
        .flat_map(|[x1, y1, x2, y2]| [y1 / 32.0, x1 / 64.0, y2 / 32.0, x2 / 64.0])
        .map(|v| f64::from(v as f32))
        .collect();
    let centred: Vec<f64> = places
        .iter()
        .flat_map(|[x1, y1, x2, y2]| {
            [
                (x1 + x2) / 128.0,
                (y1 + y2) / 64.0,
                (x2 - x1) / 64.0,
                (y2 - y1) / 32.0,
            ]
        })
        .map(|v| f64::from(v as f32))
        .collect();
    let with_score: Vec<f64> = places
        .iter()
        .flat_map(|place| {
            let mut row = place.to_vec();
            row.extend(n.between(1, 0.0, 1.0));
            row
        })
        .collect();
    let last_is_less_sure = |mut scores: Vec<f64>| {
        scores.sort_by(|a, b| b.total_cmp(a));
        scores
    };
    vec![
        case(
            "yolov10",
            r#"EndToEnd(boxes: "out")"#,
            vec![output("out", &[1, 12, 6], rows(&places, n))],
        ),
        case(
            "efficient_nms",
            r#"EndToEnd(boxes: "boxes", columns: [X1, Y1, X2, Y2], scores: "scores", classes: "classes", count: "count")"#,
            vec![
                wholes("count", &[1, 1], vec![7.0]),
                output("boxes", &[1, 12, 4], flat.clone()),
                output("scores", &[1, 12], last_is_less_sure(n.between(12, 0.0, 1.0))),
                wholes("classes", &[1, 12], classes(n, 12)),
            ],
        ),
        case(
            "tensorflow",
            r#"EndToEnd(boxes: "boxes", columns: [Y1, X1, Y2, X2], scores: "scores", classes: "classes", count: "count",
                units: Fractions, first_class: 1)"#,
            vec![
                output("boxes", &[1, 12, 4], fractions),
                output(
                    "classes",
                    &[1, 12],
                    classes(n, 12).iter().map(|class| class + 1.0).collect(),
                ),
                output("scores", &[1, 12], last_is_less_sure(n.between(12, 0.0, 1.0))),
                output("count", &[1], vec![9.0]),
            ],
        ),
        case(
            "mmdeploy",
            r#"EndToEnd(boxes: "dets", columns: [X1, Y1, X2, Y2, Score], classes: "labels")"#,
            vec![
                output("dets", &[1, 12, 5], with_score),
                wholes("labels", &[1, 12], classes(n, 12)),
            ],
        ),
        case(
            "torchvision",
            r#"EndToEnd(boxes: "boxes", columns: [X1, Y1, X2, Y2], scores: "scores", classes: "labels", first_class: 1)"#,
            vec![
                output("boxes", &[12, 4], flat),
                wholes(
                    "labels",
                    &[12],
                    classes(n, 12).iter().map(|class| class + 1.0).collect(),
                ),
                output("scores", &[12], last_is_less_sure(n.between(12, 0.0, 1.0))),
            ],
        ),
        Case {
            also: "nms: (iou: 1.0, labels: Best),",
            ..case(
                "detr",
                r#"Queries(scores: "logits", boxes: "boxes", activation: Softmax, no_object: Last)"#,
                vec![
                    output("logits", &[1, 12, 4], n.between(48, -2.0, 3.0)),
                    output("boxes", &[1, 12, 4], centred.clone()),
                ],
            )
        },
        case(
            "rt_detr",
            r#"Queries(scores: "logits", boxes: "boxes")"#,
            vec![
                output("logits", &[1, 12, 3], n.between(36, -4.0, 2.0)),
                output("boxes", &[1, 12, 4], centred),
            ],
        ),
        case(
            "yolov4_tiny",
            r#"PriorBoxes(scores: "confs", boxes: "boxes")"#,
            vec![
                output(
                    "boxes",
                    &[1, 12, 1, 4],
                    places
                        .iter()
                        .flat_map(|[a, b, c, d]| [a / 64.0, b / 32.0, c / 64.0, d / 32.0])
                        .map(|v| f64::from(v as f32))
                        .collect(),
                ),
                output("confs", &[1, 12, 3], n.between(36, 0.0, 0.8)),
            ],
        ),
        case(
            "ssd",
            r#"Grid(tensors: ["loc", "conf"], columns: [[X, Y, Width, Height], [Background, Classes]], point: Middle,
                levels: [(stride: 16, anchors: [[12, 12], [20, 8]]), (stride: 32, anchors: [[30, 30], [40, 20]])],
                offset: Identity(scale: 0.1, times: Anchor), size: Exp(gain: 0.2, times: Anchor), classes: Softmax)"#,
            vec![
                output("loc", &[1, 20, 4], n.between(80, -3.0, 3.0)),
                output("conf", &[1, 20, 4], n.between(80, -2.0, 3.0)),
            ],
        ),
        case(
            "yolov3",
            r#"Grid(columns: [[X, Y, Width, Height, Objectness, Classes]], layout: Maps,
                levels: [(stride: 16, tensors: ["p4"], anchors: [[10, 13], [16, 30]]), (stride: 32, tensors: ["p5"], anchors: [[30, 20], [33, 23]])],
                offset: Sigmoid(times: Stride), size: Exp(times: Anchor), objectness: Sigmoid, classes: Sigmoid)"#,
            vec![
                output("p4", &[1, 16, 2, 4], n.between(128, -2.0, 2.0)),
                output("p5", &[1, 16, 1, 2], n.between(32, -2.0, 2.0)),
            ],
        ),
        case(
            "yolov5_cells",
            r#"Grid(columns: [[X, Y, Width, Height, Objectness, Classes]], layout: Cells,
                levels: [(stride: 16, tensors: ["p4"], anchors: [[10, 13], [16, 30]])],
                offset: Sigmoid(scale: 2, shift: -0.5, times: Stride), size: Sigmoid(scale: 2, power: 2, times: Anchor),
                objectness: Sigmoid, classes: Sigmoid)"#,
            vec![output("p4", &[1, 2, 2, 4, 8], n.between(128, -2.0, 2.0))],
        ),
        case(
            "fcos",
            r#"Grid(columns: [[Classes], [Left, Top, Right, Bottom], [Objectness]], layout: Maps, point: Middle,
                levels: [(stride: 16, tensors: ["cls", "box", "centre"])], offset: Exp(times: Pixels),
                classes: Sigmoid, objectness: Sigmoid, score: GeometricMean)"#,
            vec![
                output("cls", &[1, 3, 2, 4], n.between(24, -3.0, 2.0)),
                output("box", &[1, 4, 2, 4], n.between(32, 0.0, 2.5)),
                output("centre", &[1, 1, 2, 4], n.between(8, -2.0, 2.0)),
            ],
        ),
        case(
            "nanodet",
            r#"Grid(columns: [[Classes], [Left, Top, Right, Bottom]], point: MiddlePixel, bins: 8,
                levels: [(stride: 16, tensors: ["cls", "box"])])"#,
            vec![
                output("cls", &[1, 8, 3], n.between(24, 0.0, 0.8)),
                output("box", &[1, 8, 32], n.between(256, -2.0, 2.0)),
            ],
        ),
        case(
            "centernet",
            r#"Grid(columns: [[Classes], [X, Y], [Width, Height]], layout: Maps, peaks: true,
                levels: [(stride: 8, tensors: ["hm", "reg", "wh"])], size: Identity(times: Stride))"#,
            vec![
                output("hm", &[1, 3, 4, 8], n.between(96, 0.0, 0.7)),
                output("reg", &[1, 2, 4, 8], n.between(64, 0.0, 1.0)),
                output("wh", &[1, 2, 4, 8], n.between(64, 0.5, 3.0)),
            ],
        ),
        case(
            "classifier",
            r#"Classifier(output: "logits")"#,
            vec![output("logits", &[1, 3], n.between(3, -2.0, 2.0))],
        ),
        case(
            "segmentation",
            r#"Segmentation(output: "logits", background: 0)"#,
            vec![output("logits", &[1, 4, 8, 16], n.between(512, 0.0, 1.0))],
        ),
    ]
}

fn dimension(extent: usize) -> Dimension {
    Dimension {
        dim_value: Some(extent as i64),
        dim_param: None,
    }
}

fn value(name: &str, element: DataType, dims: &[usize]) -> ValueInfoProto {
    ValueInfoProto {
        name: Some(name.to_owned()),
        r#type: Some(TypeProto {
            tensor_type: Some(TypeProtoTensor {
                elem_type: Some(element),
                shape: Some(TensorShapeProto {
                    dim: dims.iter().copied().map(dimension).collect(),
                }),
            }),
            ..TypeProto::default()
        }),
    }
}

fn node(operator: &str, inputs: &[&str], output: &str) -> NodeProto {
    NodeProto {
        name: Some(format!("{operator}_{output}")),
        op_type: Some(operator.to_owned()),
        input: inputs.iter().map(|name| (*name).to_owned()).collect(),
        output: vec![output.to_owned()],
        ..NodeProto::default()
    }
}

/// A network with these outputs, whatever the image: each is its constant, plus the image times zero.
fn network(path: &Path, outputs: &[Output]) {
    let constant = |name: String, dims: &[usize]| TensorProto {
        name: Some(name),
        dims: dims.iter().map(|d| *d as i64).collect(),
        ..TensorProto::default()
    };
    let mut initializers = vec![TensorProto {
        data_type: Some(DataType::FLOAT),
        float_data: vec![0.0],
        ..constant("nothing".to_owned(), &[1])
    }];
    let mut nodes = vec![
        node("GlobalAveragePool", &["image"], "pooled"),
        node("ReduceMax", &["pooled"], "most"),
        node("Mul", &["most", "nothing"], "most_of_nothing"),
        node("Squeeze", &["most_of_nothing"], "zero"),
        NodeProto {
            attribute: vec![AttributeProto {
                name: Some("to".to_owned()),
                i: Some(7),
                r#type: Some(AttributeType::INT),
                ..AttributeProto::default()
            }],
            ..node("Cast", &["zero"], "zero_whole")
        },
    ];
    for output in outputs {
        let name = format!("{}_values", output.name);
        let stored = constant(name.clone(), &output.dims);
        if output.whole {
            initializers.push(TensorProto {
                data_type: Some(DataType::INT64),
                int64_data: output.values.iter().map(|v| *v as i64).collect(),
                ..stored
            });
            nodes.push(node("Add", &[&name, "zero_whole"], output.name));
        } else {
            initializers.push(TensorProto {
                data_type: Some(DataType::FLOAT),
                float_data: output.values.iter().map(|v| *v as f32).collect(),
                ..stored
            });
            nodes.push(node("Add", &[&name, "zero"], output.name));
        }
    }
    let element = |output: &Output| {
        if output.whole {
            DataType::INT64
        } else {
            DataType::FLOAT
        }
    };
    let graph = GraphProto {
        node: nodes,
        initializer: initializers,
        input: vec![value("image", DataType::FLOAT, &[1, 3, INPUT[1], INPUT[0]])],
        output: outputs
            .iter()
            .map(|o| value(o.name, element(o), &o.dims))
            .collect(),
        ..GraphProto::default()
    };
    let model = ModelProto {
        ir_version: Some(8),
        opset_import: vec![OperatorSetIdProto {
            domain: Some(String::new()),
            version: Some(13),
        }],
        graph: Some(graph),
        ..ModelProto::default()
    };
    fs::write(path, model.write_buf().unwrap()).unwrap();
}

fn found(folder: &Path, case: &Case) -> Vec<Detection> {
    network(&folder.join("net.onnx"), &case.outputs);
    let classes: Vec<String> = (0..case.classes).map(|n| format!("\"class{n}\"")).collect();
    let text = format!(
        r#"Camera(classes: [{}], network: "net.onnx", input: (tensor: "image", width: {}, height: {}), {} head: {})"#,
        classes.join(", "),
        INPUT[0],
        INPUT[1],
        case.also,
        case.head
    );
    let path = folder.join("spec.ron");
    fs::write(&path, text).unwrap();
    let mut detector = spec::load(&path).unwrap_or_else(|error| panic!("{}: {error}", case.name));
    let opened = CpuBackend::new(1, false).open(&detector.program, 1);
    let opened = opened.unwrap_or_else(|error| panic!("{}: {error}", case.name));
    let mut slot = opened.slots.into_iter().next().unwrap();
    let frame = Frame {
        shared: Some(Arc::new(Content::Image(Image {
            width: IMAGE[0],
            height: IMAGE[1],
            rgb: vec![100; IMAGE[0] * IMAGE[1] * 3],
        }))),
        ..Frame::default()
    };
    let (mut carry, mut found) = (Carry::default(), Vec::new());
    detector
        .preprocess
        .run(&frame, slot.tensors_mut(), &mut carry)
        .unwrap();
    slot.submit().unwrap();
    slot.wait().unwrap();
    let read = detector.postprocess.run(slot.tensors(), &carry, &mut found);
    read.unwrap_or_else(|error| panic!("{}: {error}", case.name));
    found
}

fn told(detection: &Detection) -> [f64; 6] {
    let Place::Image(b) = detection.place else {
        panic!("a box in the image")
    };
    [
        f64::from(detection.class),
        detection.score.into(),
        b.x1.into(),
        b.y1.into(),
        b.x2.into(),
        b.y2.into(),
    ]
}

#[test]
fn every_head_finds_what_numpy_finds() {
    let Some(python) = machine::python("numpy") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let cases = cases();
    let mut ours = BTreeMap::new();
    let mut asked: BTreeMap<&str, Value> = BTreeMap::new();
    for case in &cases {
        let detections: Vec<[f64; 6]> = found(folder.path(), case).iter().map(told).collect();
        assert!(!detections.is_empty(), "{} finds nothing", case.name);
        ours.insert(case.name, detections);
        let outputs: BTreeMap<&str, Value> = case
            .outputs
            .iter()
            .map(|o| (o.name, json!({ "dims": o.dims, "values": o.values })))
            .collect();
        asked.insert(case.name, json!(outputs));
    }
    let question = folder.path().join("outputs.json");
    fs::write(
        &question,
        json!({ "input": INPUT, "image": IMAGE, "cases": asked }).to_string(),
    )
    .unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/heads.py");
    let output = Command::new(python).arg(script).arg(&question).output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let theirs: BTreeMap<String, Vec<[f64; 6]>> = serde_json::from_slice(&output.stdout).unwrap();
    for (name, found) in &ours {
        let wanted = &theirs[*name];
        assert_eq!(
            found.len(),
            wanted.len(),
            "{name}: {found:?} and NumPy's {wanted:?}"
        );
        for (a, b) in found.iter().zip(wanted) {
            for (a, b) in a.iter().zip(b) {
                assert!((a - b).abs() < 1e-3, "{name}: {found:?} and NumPy's {wanted:?}");
            }
        }
    }
}
