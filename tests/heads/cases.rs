//! The heads as specs write them, each with outputs of a network that the head reads.

use rten_onnx::onnx::DataType;

use super::{Case, Output};
use crate::common::onnx::{node, node_with};

/// Numbers that differ and are the same each time, from 0 to 1.
pub(super) struct Noise(pub(super) u64);

impl Noise {
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    pub(super) fn between(&mut self, count: usize, from: f64, to: f64) -> Vec<f64> {
        // As f32, which is what the network holds.
        (0..count)
            .map(|_| f64::from((from + (to - from) * self.next()) as f32))
            .collect()
    }
}

pub(super) fn output(name: &'static str, dims: &[usize], values: Vec<f64>) -> Output {
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

/// Rows of a cell each: offset, logarithms of the size in strides, objectness and scores.
fn yolox(noise: &mut Noise) -> Vec<f64> {
    let row = |_| {
        let mut row = noise.between(4, -0.5, 1.0);
        row.extend(noise.between(4, 0.2, 1.0));
        row
    };
    (0..10).flat_map(row).collect()
}

/// Rows of eight as columns, without objectness.
fn turned(rows: &[f64]) -> Vec<f64> {
    let columns = [0, 1, 2, 3, 5, 6, 7];
    let column = |k: usize| rows.chunks(8).map(move |row| row[k]);
    columns.into_iter().flat_map(column).collect()
}

pub(super) fn cases() -> Vec<Case> {
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
    // Centre and size in pixels, objectness and scores.
    let decoded: Vec<f64> = places
        .iter()
        .flat_map(|[x1, y1, x2, y2]| {
            let place = [(x1 + x2) / 2.0, (y1 + y2) / 2.0, x2 - x1, y2 - y1];
            let mut row: Vec<f64> = place.iter().map(|v| f64::from(*v as f32)).collect();
            row.extend(n.between(4, 0.3, 1.0));
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
            "yolox",
            r#"YoloxGrid(output: "out", strides: [16, 32])"#,
            vec![output("out", &[1, 10, 8], yolox(n))],
        ),
        case(
            "yolov5",
            r#"YoloAnchors(Decoded(output: "out"))"#,
            vec![output("out", &[1, 12, 8], decoded.clone())],
        ),
        case(
            "yolov7_maps",
            r#"YoloAnchors(Maps(levels: [(output: "p4", stride: 16, anchors: [[10, 13], [16, 30]]),
                (output: "p5", stride: 32, anchors: [[30, 20], [33, 23]])]))"#,
            vec![
                output("p4", &[1, 2, 2, 4, 8], n.between(128, -2.0, 2.0)),
                output("p5", &[1, 16, 1, 2], n.between(32, -2.0, 2.0)),
            ],
        ),
        case(
            "yolov8",
            r#"YoloAnchorFree(output: "out")"#,
            vec![output("out", &[1, 7, 12], turned(&decoded))],
        ),
        case(
            "nanodet_m",
            r#"NanoDet(levels: [(scores: "cls", boxes: "box", stride: 16)], bins: 8)"#,
            vec![
                output("cls", &[1, 8, 3], n.between(24, 0.0, 0.8)),
                output("box", &[1, 8, 32], n.between(256, -2.0, 2.0)),
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
