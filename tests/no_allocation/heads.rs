//! Heads on outputs of full size: decoding and suppression, frame after frame.

use jetlag::detector::camera::head::{Geometry, Head};
use jetlag::detector::camera::nms::{Candidates, Labels, Nms};
use jetlag::detector::lidar::anchors::{Activation, Convention};
use jetlag::detector::lidar::grid::Grid;
use jetlag::detector::lidar::heatmap::{
    Head as Heat, HeatmapDecode, HeatmapSpec, RotationOrder, Sides, Task,
};
use jetlag::detector::lidar::nms::{Candidate, Suppress};
use jetlag::detector::{Box3d, Carry, Postprocess, spec};
use jetlag::tensor::{ElementType, HostTensor, Shape, TensorSet};

/// Something that is done for each frame, with its name.
pub(crate) type Work = (String, Box<dyn FnMut()>);

/// Numbers from 0 to 1 that look random: enough of them for every head to find something.
fn tensor(name: &str, dims: &[usize]) -> HostTensor {
    let mut tensor = HostTensor::zeroed(name, ElementType::F32, Shape::new(dims).unwrap());
    for (index, value) in tensor.f32_mut().unwrap().iter_mut().enumerate() {
        *value = match dims.last() {
            // A row of a box, its score and its class, which is a whole number.
            Some(6) if index % 6 == 5 => 7.0,
            _ => (index as f32 * 0.754_877_7).fract(),
        };
    }
    tensor
}

fn camera(head: &str, tensors: &[(&str, &[usize])]) -> Work {
    let text = format!(
        "Camera(classes: Coco80, network: \"n.onnx\", input: (tensor: \"images\", width: 640, height: 640), head: {head})"
    );
    let mut head: Head = match spec::read(&text, "test").unwrap() {
        spec::DetectorSpec::Camera(camera) => camera.head,
        _ => unreachable!("a camera"),
    };
    let of = Geometry {
        width: 640,
        height: 640,
        classes: 80,
    };
    let outputs = TensorSet::new(tensors.iter().map(|(name, dims)| tensor(name, dims)).collect());
    let (mut found, nms) = (Candidates::new(0.25, Labels::Best), Nms::default());
    let work = move || {
        found.clear();
        head.decode(&of, &outputs, &mut found).unwrap();
        found.suppress(&nms);
        assert!(!found.as_slice().is_empty());
    };
    (text, Box::new(work))
}

fn centerpoint() -> Work {
    let maps = [
        ("heatmap", 10),
        ("reg", 2),
        ("height", 1),
        ("dim", 3),
        ("rot", 2),
        ("vel", 2),
    ];
    let outputs = maps.map(|(name, channels)| tensor(name, &[1, channels, 128, 128]));
    let outputs = TensorSet::new(outputs.into());
    let grid = Grid {
        min: [-51.2, -51.2, -5.0],
        size: [0.8, 0.8, 8.0],
        cells: [128, 128],
    };
    let how = HeatmapSpec {
        tasks: vec![Task {
            classes: (0..10).collect(),
            heatmap: "heatmap".to_owned(),
            offset: "reg".to_owned(),
            height: "height".to_owned(),
            size: "dim".to_owned(),
            rotation: "rot".to_owned(),
            velocity: Some("vel".to_owned()),
            distance: Some(1.0),
        }],
        stride: 1,
        activation: Activation::Sigmoid,
        sides: Sides::Logarithms,
        rotation_order: RotationOrder::SinCos,
        convention: Convention::Heading,
        peaks: true,
        least_rotation: 0.0,
    };
    let head = Heat {
        how,
        score_threshold: 0.3,
        before: 1000,
        min: [-51.2, -51.2],
        pillar: [0.8, 0.8],
    };
    let mut decode = HeatmapDecode::new(head, grid, Suppress::new(0.2, 300, true));
    let mut found = Vec::new();
    let work = move || {
        decode.run(&outputs, &Carry::default(), &mut found).unwrap();
        assert!(!found.is_empty());
    };
    ("CenterPoint".to_owned(), Box::new(work))
}

fn suppression() -> Work {
    let candidates: Vec<Candidate> = (0..1000_u16)
        .map(|rank| Candidate {
            score: 1.0 - f32::from(rank) / 1000.0,
            class: rank % 3,
            at: Box3d {
                x: f32::from(rank % 40),
                y: f32::from(rank / 40),
                l: 4.2,
                w: 1.8,
                yaw: f32::from(rank),
                ..Box3d::default()
            },
        })
        .collect();
    let mut suppress = Suppress::new(0.1, 1000, true);
    let work = move || suppress.run(&candidates, |_| {});
    ("suppression in space".to_owned(), Box::new(work))
}

/// Every kind of work.
pub(crate) fn all() -> Vec<Work> {
    let grid = r#"Grid(tensors: ["o"], columns: [[X, Y, Width, Height, Classes]], layout: Columns, point: Origin, levels: [(stride: 8), (stride: 16), (stride: 32)], offset: Identity(times: Pixels))"#;
    vec![
        camera(r#"YoloAnchorFree(output: "o")"#, &[("o", &[1, 84, 8400])]),
        camera(
            r#"YoloxGrid(output: "o", strides: [8, 16, 32])"#,
            &[("o", &[1, 8400, 85])],
        ),
        camera(r#"YoloAnchors(Decoded(output: "o"))"#, &[("o", &[1, 25200, 85])]),
        camera(grid, &[("o", &[1, 84, 8400])]),
        camera(
            r#"EndToEnd(boxes: "o", columns: [X1, Y1, X2, Y2, Score, Class])"#,
            &[("o", &[1, 300, 6])],
        ),
        camera(
            r#"Queries(scores: "s", boxes: "b", activation: Identity, no_object: Absent)"#,
            &[("s", &[1, 300, 80]), ("b", &[1, 300, 4])],
        ),
        camera(
            r#"PriorBoxes(scores: "s", boxes: "b")"#,
            &[("s", &[1, 4420, 80]), ("b", &[1, 4420, 4])],
        ),
        centerpoint(),
        suppression(),
    ]
}
