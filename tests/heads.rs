//! Every camera head from an image to boxes, beside NumPy: a small network whose outputs are known is executed on the embedded
//! backend and on ONNX Runtime, and `tests/python/heads.py` decodes the same outputs by formulas of its own.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use jetlag::backend::{Program, Slot};
use jetlag::detector::{Detection, Detector, Place, spec};
use jetlag::source::{Content, Frame, Image};
use nvidia_doubles::machine;
use rten_onnx::onnx::{DataType, GraphProto, NodeProto};
use serde_json::{Value, json};

use crate::common::onnx::{self, floats, node, node_with, sized, wholes};
use crate::common::pipeline::{found_in, numpy, try_open_slot};

mod beside;

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

/// An input beside the image: its name, its type and its shape.
type Beside = (&'static str, DataType, &'static [usize]);

/// A head as a spec writes it, and the outputs that it reads.
struct Case {
    name: &'static str,
    classes: usize,
    head: &'static str,
    /// What stands in the spec beside the head.
    also: &'static str,
    outputs: Vec<Output>,
    /// What the network takes beside the image.
    beside: &'static [Beside],
    /// Nodes that make `factor` of it, by which the first output is multiplied.
    factor: Vec<NodeProto>,
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

fn wholes_of(name: &'static str, dims: &[usize], values: Vec<f64>) -> Output {
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
        beside: &[],
        factor: Vec::new(),
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
    // As fractions, from left to right.
    let of_whole: Vec<f64> = places
        .iter()
        .flat_map(|[x1, y1, x2, y2]| [x1 / 64.0, y1 / 32.0, x2 / 64.0, y2 / 32.0])
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
                wholes_of("count", &[1, 1], vec![7.0]),
                output("boxes", &[1, 12, 4], flat.clone()),
                output("scores", &[1, 12], last_is_less_sure(n.between(12, 0.0, 1.0))),
                wholes_of("classes", &[1, 12], classes(n, 12)),
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
                wholes_of("labels", &[1, 12], classes(n, 12)),
            ],
        ),
        case(
            "torchvision",
            r#"EndToEnd(boxes: "boxes", columns: [X1, Y1, X2, Y2], scores: "scores", classes: "labels", first_class: 1)"#,
            vec![
                output("boxes", &[12, 4], flat),
                wholes_of(
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
        Case {
            also: r#"also: [(tensor: "orig_target_sizes", values: [ImageWidth, ImageHeight], element: I64)],"#,
            beside: &[("orig_target_sizes", DataType::INT64, &[1, 2])],
            factor: vec![
                node_with("Cast", &["orig_target_sizes"], "sizes", ("to", 1)),
                node_with("Concat", &["sizes", "sizes"], "factor", ("axis", 1)),
            ],
            ..case(
                "rt_detr_of_image",
                r#"EndToEnd(boxes: "boxes", columns: [X1, Y1, X2, Y2], scores: "scores", classes: "labels", units: ImagePixels)"#,
                vec![
                    output("boxes", &[1, 12, 4], of_whole.clone()),
                    wholes_of("labels", &[1, 12], classes(n, 12)),
                    output("scores", &[1, 12], last_is_less_sure(n.between(12, 0.0, 1.0))),
                ],
            )
        },
        Case {
            also: r#"also: [(tensor: "im_shape", values: [FittedHeight, FittedWidth]), (tensor: "scale_factor", values: [ScaleY, ScaleX])],"#,
            beside: &[
                ("im_shape", DataType::FLOAT, &[1, 2]),
                ("scale_factor", DataType::FLOAT, &[1, 2]),
            ],
            factor: vec![
                node("Div", &["im_shape", "scale_factor"], "height_width"),
                node_with("Gather", &["height_width", "turned"], "sizes", ("axis", 1)),
                node_with("Concat", &["ones", "sizes", "sizes"], "factor", ("axis", 1)),
            ],
            ..case(
                "paddle",
                r#"EndToEnd(boxes: "rows", columns: [Class, Score, X1, Y1, X2, Y2], count: "count", units: ImagePixels)"#,
                vec![
                    output(
                        "rows",
                        &[12, 6],
                        of_whole
                            .chunks(4)
                            .flat_map(|place| {
                                let mut row = classes(n, 1);
                                row.extend(n.between(1, 0.0, 1.0));
                                row.extend(place);
                                row
                            })
                            .collect(),
                    ),
                    wholes_of("count", &[1], vec![10.0]),
                ],
            )
        },
        Case {
            also: r#"also: [(tensor: "im_info", values: [InputHeight, InputWidth, 1]), (tensor: "mask", values: [1], shape: [1, 4, 8], element: I64)],"#,
            beside: &[
                ("im_info", DataType::FLOAT, &[1, 3]),
                ("mask", DataType::INT64, &[1, 4, 8]),
            ],
            factor: vec![
                node_with("Cast", &["mask"], "mask_float", ("to", 1)),
                node("ReduceMean", &["mask_float"], "all_of_mask"),
                node("Squeeze", &["all_of_mask"], "one"),
                node_with("Gather", &["im_info", "turned"], "sizes", ("axis", 1)),
                node_with("Concat", &["sizes", "sizes"], "both", ("axis", 1)),
                node("Mul", &["both", "one"], "factor"),
            ],
            ..case(
                "im_info",
                r#"EndToEnd(boxes: "boxes", columns: [X1, Y1, X2, Y2], scores: "scores", classes: "labels")"#,
                vec![
                    output("boxes", &[1, 12, 4], of_whole),
                    wholes_of("labels", &[1, 12], classes(n, 12)),
                    output("scores", &[1, 12], last_is_less_sure(n.between(12, 0.0, 1.0))),
                ],
            )
        },
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

/// A network with these outputs, whatever the image: each is its constant, plus the image times zero; the first is multiplied by
/// what the network makes of its other inputs.
fn network(path: &Path, case: &Case) {
    let mut initializers = vec![
        floats("nothing", &[1], &[0.0]),
        floats("ones", &[1, 2], &[1.0, 1.0]),
        wholes("turned", &[2], &[1, 0]),
    ];
    let mut nodes = vec![
        node("GlobalAveragePool", &["image"], "pooled"),
        node("ReduceMax", &["pooled"], "most"),
        node("Mul", &["most", "nothing"], "most_of_nothing"),
        node("Squeeze", &["most_of_nothing"], "zero"),
        node_with("Cast", &["zero"], "zero_whole", ("to", 7)),
    ];
    nodes.extend(case.factor.iter().cloned());
    for (place, output) in case.outputs.iter().enumerate() {
        let name = format!("{}_values", output.name);
        let (stored, zero) = match output.whole {
            true => {
                let values: Vec<i64> = output.values.iter().map(|v| *v as i64).collect();
                (wholes(&name, &output.dims, &values), "zero_whole")
            }
            false => {
                let values: Vec<f32> = output.values.iter().map(|v| *v as f32).collect();
                (floats(&name, &output.dims, &values), "zero")
            }
        };
        initializers.push(stored);
        let is_multiplied = place == 0 && !case.factor.is_empty();
        if is_multiplied {
            nodes.push(node("Mul", &[&name, "factor"], "multiplied"));
        }
        let of = if is_multiplied {
            "multiplied"
        } else {
            name.as_str()
        };
        nodes.push(node("Add", &[of, zero], output.name));
    }
    let element = |output: &Output| match output.whole {
        true => DataType::INT64,
        false => DataType::FLOAT,
    };
    let image = sized("image", DataType::FLOAT, &[1, 3, INPUT[1], INPUT[0]]);
    let beside = case.beside.iter();
    let beside = beside.map(|(name, element, dims)| sized(name, *element, dims));
    let outputs = case.outputs.iter();
    let graph = GraphProto {
        node: nodes,
        initializer: initializers,
        input: std::iter::once(image).chain(beside).collect(),
        output: outputs.map(|o| sized(o.name, element(o), &o.dims)).collect(),
        ..GraphProto::default()
    };
    onnx::write(path, graph);
}

/// The detector of a case, in a folder of its own.
fn made(folder: &Path, case: &Case) -> Detector {
    network(&folder.join("net.onnx"), case);
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
    spec::load(&path).unwrap_or_else(|error| panic!("{}: {error}", case.name))
}

/// What the cases find on a backend, which makes slots.
pub(crate) fn found_on(
    mut open: impl FnMut(&Program) -> Box<dyn Slot>,
) -> BTreeMap<&'static str, Vec<[f64; 6]>> {
    let folder = tempfile::tempdir().unwrap();
    let frame = Frame {
        shared: Some(Arc::new(Content::Image(Image {
            width: IMAGE[0],
            height: IMAGE[1],
            rgb: vec![100; IMAGE[0] * IMAGE[1] * 3],
        }))),
        ..Frame::default()
    };
    let mut all = BTreeMap::new();
    for case in &cases() {
        let mut detector = made(folder.path(), case);
        let mut slot = open(&detector.program);
        let found = found_in(&mut detector, &mut *slot, &frame);
        assert!(!found.is_empty(), "{} finds nothing", case.name);
        all.insert(case.name, found.iter().map(told).collect());
    }
    all
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

/// Every case finds the same as another, but for rounding.
pub(crate) fn assert_same(
    ours: &BTreeMap<&str, Vec<[f64; 6]>>,
    theirs: &BTreeMap<String, Vec<[f64; 6]>>,
    who: &str,
) {
    for (name, found) in ours {
        let wanted = &theirs[*name];
        assert_eq!(
            found.len(),
            wanted.len(),
            "{name}: {found:?} and {who}'s {wanted:?}"
        );
        for (a, b) in found.iter().flatten().zip(wanted.iter().flatten()) {
            assert!((a - b).abs() < 1e-3, "{name}: {found:?} and {who}'s {wanted:?}");
        }
    }
}

#[test]
fn every_head_finds_what_numpy_finds() {
    let Some(python) = machine::python("numpy") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let ours = found_on(|program| try_open_slot(program).unwrap());
    let mut asked: BTreeMap<&str, Value> = BTreeMap::new();
    for case in &cases() {
        let outputs: BTreeMap<&str, Value> = case
            .outputs
            .iter()
            .map(|o| (o.name, json!({ "dims": o.dims, "values": o.values })))
            .collect();
        asked.insert(case.name, json!(outputs));
    }
    let question = json!({ "input": INPUT, "image": IMAGE, "cases": asked });
    let theirs = numpy(&python, "heads.py", folder.path(), &question);
    assert_same(&ours, &serde_json::from_value(theirs).unwrap(), "NumPy");
}
