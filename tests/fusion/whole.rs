//! One network that takes all: images, points and calibration as tensors. A small network hands its inputs on, and makes of them what a
//! heat map's head reads; `tests/python/whole.py` says from the same set what each should have been.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use jetlag::detector::{Carry, Detector, Place, spec};
use jetlag::source::context::{FrameContext, Placed, Pose, Projection, Rotation};
use jetlag::source::synchronised::SensorSet;
use jetlag::source::{Content, Frame, Image, PointCloud};
use nvidia_doubles::machine;
use rten_onnx::onnx::{DataType, GraphProto, NodeProto, ValueInfoProto};
use serde_json::{Value, json};

use super::cameras::{Copied, add_cameras};
use super::{drive, read_again, run_of, summary};
use crate::common::onnx::{self, floats, node, node_with, value, wholes};
use crate::common::output::{assert_refused, run, stdout};
use crate::common::pipeline::{found_in, numpy, try_open_slot};

/// Width and height of an image in the network.
const INPUT: [usize; 2] = [12, 8];
/// The matrices, their tensors, and whether there is one for each camera.
const MATRICES: [(&str, &str, bool); 9] = [
    ("camera_intrinsics", "CameraIntrinsics", true),
    ("camera2ego", "CameraToEgo", true),
    ("lidar2ego", "LidarToEgo", false),
    ("camera2lidar", "CameraToLidar", true),
    ("lidar2camera", "LidarToCamera", true),
    ("lidar2image", "LidarToImage", true),
    ("img_aug", "ImageAugmentation", true),
    ("lidar2input", "LidarToInput", true),
    ("lidar_aug", "LidarAugmentation", false),
];

/// How the images lie: as the spec says it, and the tensors with their shapes.
#[derive(Clone, Copy)]
pub(crate) enum Lie {
    Stacked,
    Batched,
    Apart,
}

pub(crate) const ALL: [Lie; 3] = [Lie::Stacked, Lie::Batched, Lie::Apart];

impl Lie {
    fn images(self) -> Vec<(&'static str, Vec<usize>)> {
        let [width, height] = INPUT;
        match self {
            Lie::Stacked => vec![("images", vec![2, 3, height, width])],
            Lie::Batched => vec![("images", vec![1, 2, 3, height, width])],
            Lie::Apart => ["front", "back"]
                .map(|name| (name, vec![1, 3, height, width]))
                .into(),
        }
    }

    fn matrix(self, name: &str, is_per_camera: bool) -> Vec<usize> {
        let batch = matches!(self, Lie::Batched).then_some(1);
        // Cut to three by three.
        let side = if name == "camera_intrinsics" { 3 } else { 4 };
        let count = is_per_camera.then_some(2);
        batch.into_iter().chain(count).chain([side, side]).collect()
    }
}

/// The network: each input again as `seen_…`, and the five maps of the head.
fn network(path: &Path, lie: Lie) {
    let float = |name: &str, dims: &[Option<usize>]| value(name, DataType::FLOAT, dims);
    let fixed = |dims: &[usize]| dims.iter().copied().map(Some).collect::<Vec<_>>();
    let mut inputs: Vec<(&str, Vec<Option<usize>>)> = lie
        .images()
        .into_iter()
        .map(|(name, dims)| (name, fixed(&dims)))
        .collect();
    inputs.push(("points", vec![Some(1), None, Some(4)]));
    for (name, _, is_per_camera) in MATRICES {
        inputs.push((name, fixed(&lie.matrix(name, is_per_camera))));
    }
    let seen: Vec<String> = inputs.iter().map(|(name, _)| format!("seen_{name}")).collect();
    let mut nodes: Vec<NodeProto> = inputs
        .iter()
        .zip(&seen)
        .map(|((name, _), seen)| node("Identity", &[name], seen))
        .collect();
    let image = inputs[0].0;
    nodes.extend([
        // How likely: of the first camera's projection, and a little of the image and of the points.
        node("Reshape", &["lidar2image", "maps2"], "projected"),
        node_with("Gather", &["projected", "first"], "of_first", ("axis", 1)),
        node("Mul", &["of_first", "hundredth"], "likely"),
        node("ReduceMean", &[image], "mean_image"),
        node("ReduceMean", &["points"], "mean_points"),
        node("Squeeze", &["mean_image"], "one_image"),
        node("Squeeze", &["mean_points"], "one_points"),
        node("Mul", &["one_image", "hundredth"], "of_image"),
        node("Add", &["likely", "of_image"], "with_image"),
        node("Add", &["with_image", "one_points"], "heatmap"),
        node("Reshape", &["img_aug", "maps2"], "augmented"),
        node("Mul", &["augmented", "hundredth"], "reg"),
        node("Reshape", &["camera2lidar", "maps2"], "placed"),
        node_with("Gather", &["placed", "first"], "height", ("axis", 1)),
        node("Reshape", &["camera2ego", "maps2"], "rot"),
        node("Reshape", &["lidar2ego", "map"], "ego"),
        node_with("Concat", &["rot", "ego"], "sides", ("axis", 1)),
        node("Mul", &["sides", "hundredth"], "dim"),
    ]);
    let mut outputs: Vec<ValueInfoProto> = inputs
        .iter()
        .zip(&seen)
        .map(|((_, dims), seen)| float(seen, dims))
        .collect();
    for (name, channels) in [("heatmap", 1), ("reg", 2), ("height", 1), ("rot", 2), ("dim", 3)] {
        outputs.push(float(name, &[Some(1), Some(channels), Some(4), Some(4)]));
    }
    let shape = |name: &str, dims: &[i64]| wholes(name, &[dims.len()], dims);
    let graph = GraphProto {
        node: nodes,
        initializer: vec![
            floats("hundredth", &[1], &[0.01]),
            shape("maps2", &[1, 2, 4, 4]),
            shape("map", &[1, 1, 4, 4]),
            shape("first", &[0]),
        ],
        input: inputs.iter().map(|(name, dims)| float(name, dims)).collect(),
        output: outputs,
        ..GraphProto::default()
    };
    onnx::write(path, graph);
}

/// The spec of the network, for two cameras.
fn written(lie: Lie) -> String {
    let (images, tensor) = match lie {
        Lie::Stacked => ("Stacked", "tensor: \"images\","),
        Lie::Batched => ("Batched", "tensor: \"images\","),
        Lie::Apart => ("Apart([\"front\", \"back\"])", ""),
    };
    let matrices: Vec<String> = MATRICES
        .iter()
        .map(|(name, matrix, _)| {
            let cut = match *name {
                "camera_intrinsics" => ", rows: 3, columns: 3",
                _ => "",
            };
            format!("(tensor: {name:?}, matrix: {matrix}{cut})")
        })
        .collect();
    let [width, height] = INPUT;
    format!(
        "Lidar(
            name: \"all\", classes: [\"Car\"],
            range: (x: (0.0, 4.0), y: (-2.0, 2.0), z: (-3.0, 1.0)), voxel: (1.0, 1.0, 4.0),
            max_points: 4, max_pillars: 16,
            whole: (network: \"net.onnx\", input: Points(tensor: \"points\", max: 200000)),
            cameras: (
                count: 2, images: {images},
                input: ({tensor} width: {width}, height: {height}, colour: Bgr, scale: 0.5, mean: [1, 2, 3], std: [4, 5, 6]),
                calibration: [{}],
            ),
            head: Heatmap(tasks: [(classes: [0])]),
            score_threshold: 0.0, nms: (iou: 1.0),
        )",
        matrices.join(", ")
    )
}

/// The detector in this folder.
pub(crate) fn made(folder: &Path, lie: Lie) -> Detector {
    network(&folder.join("net.onnx"), lie);
    let path = folder.join("all.ron");
    fs::write(&path, written(lie)).unwrap();
    spec::load(&path).unwrap()
}

/// A sensor on a car that moves: quaternion and translation of the sensor on the car, and of the car.
type Places = [([f64; 4], [f64; 3]); 2];

const PLACES: [Places; 3] = [
    [
        ([0.5, -0.5, 0.5, -0.5], [1.5, 0.1, 1.2]),
        ([0.98, 0.0, 0.0, 0.199], [100.0, 50.0, 1.0]),
    ],
    [
        ([0.4, 0.6, -0.5, -0.4], [-0.5, 0.7, 1.4]),
        ([0.97, 0.01, 0.0, 0.243], [100.4, 50.3, 1.0]),
    ],
    [
        ([0.71, 0.0, 0.02, 0.7], [0.9, 0.0, 1.8]),
        ([0.99, 0.0, 0.01, 0.14], [99.5, 49.8, 1.0]),
    ],
];
const INTRINSICS: [[[f64; 3]; 3]; 2] = [
    [[9.0, 0.0, 6.0], [0.0, 8.0, 4.0], [0.0, 0.0, 1.0]],
    [[20.0, 0.1, 12.5], [0.0, 21.0, 3.5], [0.0, 0.0, 1.0]],
];

fn context(number: usize) -> FrameContext {
    let pose = |(quaternion, translation)| Pose {
        rotation: Rotation::from_quaternion(quaternion).unwrap(),
        translation,
    };
    let [place, vehicle] = PLACES[number];
    FrameContext {
        sensor: ["front", "back", "lidar"][number].into(),
        place: Some(Placed::new("ego", pose(place))),
        projection: INTRINSICS.get(number).map(|matrix| Projection {
            matrix: *matrix,
            size: None,
            is_distorted: false,
        }),
        vehicle: Some(Placed::new("map", pose(vehicle))),
    }
}

/// A set: an image of the input's size, one of one colour that is twice as wide, and seven points.
fn set() -> SensorSet {
    let frame = |number: usize, content| Frame {
        content,
        context: Some(Arc::new(context(number))),
        ..Frame::default()
    };
    let image = |[width, height]: [usize; 2], of: fn(usize) -> u8| {
        Content::Image(Image {
            width,
            height,
            rgb: (0..width * height * 3).map(of).collect(),
        })
    };
    let points = (0..7)
        .map(|n| [n as f32 * 0.5, 1.0 - n as f32, -0.25 * n as f32, 0.1])
        .collect();
    SensorSet {
        cameras: vec![
            frame(0, image(INPUT, |n| (n * 37 % 251) as u8)),
            frame(1, image([24, 8], |n| [200, 90, 30][n % 3])),
        ],
        lidar: frame(2, Content::Points(PointCloud::of(points))),
        skew: None,
    }
}

pub(crate) fn frame() -> Frame {
    Frame {
        content: Content::Set(Box::new(set())),
        ..Frame::default()
    }
}

/// What NumPy says of the set: each input's values, and the boxes.
fn answer(python: &Path, folder: &Path) -> Value {
    let set = set();
    let pixels = |frame: &Frame| match frame.content() {
        Content::Image(image) => json!({ "size": [image.width, image.height], "rgb": image.rgb }),
        _ => Value::Null,
    };
    let Content::Points(cloud) = set.lidar.content() else {
        panic!("a sweep")
    };
    let question = json!({
        "input": INPUT, "places": PLACES, "intrinsics": INTRINSICS, "points": cloud.points,
        "images": set.cameras.iter().map(pixels).collect::<Vec<_>>(),
        "scale": 0.5, "mean": [1, 2, 3], "std": [4, 5, 6],
    });
    numpy(python, "whole.py", folder, &question)
}

fn listed(value: &Value) -> Vec<f64> {
    let all = value.as_array().unwrap();
    all.iter().map(|number| number.as_f64().unwrap()).collect()
}

fn assert_near(what: &str, ours: &[f32], theirs: &[f64]) {
    assert_eq!(ours.len(), theirs.len(), "{what}");
    for (at, (a, b)) in ours.iter().zip(theirs).enumerate() {
        let near = (f64::from(*a) - b).abs() <= 1e-4 * b.abs().max(1.0);
        assert!(near, "{what}[{at}]: {a}, and NumPy says {b}");
    }
}

#[test]
fn every_input_arrives_as_numpy_makes_it_and_the_boxes_are_those_of_the_maps() {
    let Some(python) = machine::python("numpy") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let answer = answer(&python, folder);
    let wanted: BTreeMap<String, Value> = serde_json::from_value(answer["inputs"].clone()).unwrap();
    for lie in ALL {
        let mut detector = made(folder, lie);
        let mut slot = try_open_slot(&detector.program).unwrap();
        let found = found_in(&mut detector, &mut *slot, &frame());
        let seen = |name: &str| slot.tensors().get(&format!("seen_{name}")).unwrap();
        let images = listed(&wanted["images"]);
        let each = images.len() / lie.images().len();
        for (n, (name, dims)) in lie.images().iter().enumerate() {
            assert_eq!(seen(name).shape().dims(), dims, "{name}");
            assert_near(name, seen(name).f32().unwrap(), &images[n * each..(n + 1) * each]);
        }
        for (name, _, is_per_camera) in MATRICES {
            assert_eq!(
                seen(name).shape().dims(),
                lie.matrix(name, is_per_camera),
                "{name}"
            );
            assert_near(name, seen(name).f32().unwrap(), &listed(&wanted[name]));
        }
        assert_eq!(seen("points").shape().dims(), [1, 7, 4]);
        assert_near(
            "points",
            seen("points").f32().unwrap(),
            &listed(&wanted["points"]),
        );
        let apart = usize::from(matches!(lie, Lie::Apart));
        let boxes = answer["boxes"][apart].as_array().unwrap();
        assert_eq!((found.len(), boxes.len()), (16, 16));
        for (of, wanted) in found.iter().zip(boxes) {
            let Place::Space(b) = of.place else {
                panic!("a box in space")
            };
            let ours = [of.score, b.x, b.y, b.z, b.l, b.w, b.h, b.yaw.sin(), b.yaw.cos()];
            assert_near("a box", &ours, &listed(wanted));
        }
    }
}

/// The same on TensorRT and ONNX Runtime takes no other way than any other detector does; what is said before a run is here.
#[test]
fn a_set_that_lacks_what_the_network_takes_is_told_in_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let mut detector = made(folder.path(), Lie::Stacked);
    let mut slot = try_open_slot(&detector.program).unwrap();
    let mut told = |set: SensorSet| {
        let frame = Frame {
            content: Content::Set(Box::new(set)),
            ..Frame::default()
        };
        let run = detector
            .preprocess
            .run(&frame, slot.tensors_mut(), &mut Carry::default());
        run.unwrap_err().to_string()
    };
    let mut without = set();
    without.cameras[1].context = Some(Arc::new(FrameContext {
        projection: None,
        ..context(1)
    }));
    let error = told(without);
    let wanted = "no calibration for camera 1 (back): it is not known how the camera projects";
    assert!(error.contains(wanted), "{error}");
    assert!(
        error.contains("`camera_intrinsics` takes CameraIntrinsics"),
        "{error}"
    );
    let mut fewer = set();
    fewer.cameras.pop();
    let error = told(fewer);
    assert!(
        error.contains("images of 1 cameras, and the detector takes those of 2"),
        "{error}"
    );
}

#[test]
fn a_drive_goes_through_one_network_and_mistakes_are_told_before_it_does() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    drive(folder, "nuscenes", "drive", "2");
    let back = Copied {
        channel: "CAM_BACK",
        is_turned: true,
        later: 3000,
    };
    add_cameras(&folder.join("drive"), &[back]);
    made(folder, Lie::Stacked);
    let tenant = |sensors: &str| {
        format!(
            "detector: Fusion(whole: \"all.ron\", tolerance: \"60ms\"), backend: Cpu(threads: 1), arrival: Replay, frames: 4, \
             overload: Queue(capacity: 100), source: NuScenes(path: \"drive\", sensors: [{sensors}])"
        )
    };
    let both = tenant("\"CAM_FRONT\", \"CAM_BACK\", \"LIDAR_TOP\"");
    let told = summary(&run_of(folder, &both, ""));
    assert_eq!(told["frames"]["completed"], 4, "{told}");
    assert_eq!(told["synchronised"]["complete"], 4);
    assert!(told["detections"].as_u64().unwrap() >= 4);
    let checked = read_again(folder);
    assert!(
        checked.contains("Fusion(") && checked.contains("whole: "),
        "{checked}"
    );
    let shown = stdout(&run(&["inspect", "all.ron"], folder));
    assert!(shown.contains("lidar2image"), "{shown}");
    assert_refused(
        &run_of(folder, &tenant("\"CAM_FRONT\", \"LIDAR_TOP\""), ""),
        2,
        &["takes the images of 2 cameras, and its source has 1"],
    );
    let spec = written(Lie::Stacked);
    for (from, to, words) in [
        (
            "\"lidar2image\"",
            "\"lidar2imge\"",
            "`lidar2image` is probably meant",
        ),
        (
            "count: 2",
            "count: 0",
            "`cameras.count` is 0, and must be from 1 to 31",
        ),
        ("rows: 3", "rows: 5", "`cameras.calibration[0].rows` is 5"),
        (
            "matrix: LidarToImage",
            "matrix: LidarToImag",
            "did you mean `LidarToImage`?",
        ),
        (
            "tensor: \"images\"",
            "tensor: \"points\"",
            "two tensors are named `points`",
        ),
        (
            "tensor: \"images\"",
            "tensor: \"\"",
            "`cameras.input.tensor` is empty, and must be the name of the network's input",
        ),
        (
            "images: Stacked",
            "images: Apart([\"a\"])",
            "one input for each of the 2 cameras",
        ),
    ] {
        assert!(spec.contains(from), "{from}");
        fs::write(folder.join("all.ron"), spec.replacen(from, to, 1)).unwrap();
        assert_refused(&run_of(folder, &both, ""), 2, &[words]);
    }
}

/// A spec that takes sets, where frames of one sensor come: each command says where it belongs.
#[test]
fn a_network_of_sets_that_is_named_by_itself_is_sent_into_a_fusion() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    made(folder, Lie::Stacked);
    let wanted = "detector all takes the images of 2 cameras and a sweep together; name it in a scenario, detector: Fusion(whole: \"";
    let source = "with a source of 2 cameras and a LiDAR";
    for line in [
        &["run", "all.ron"][..],
        &["run", "all.ron", "--dry-run"],
        &["eval", "all.ron", "--data", "kit"],
    ] {
        assert_refused(&run(line, folder), 2, &[wanted, "all.ron\")", source]);
    }
    assert!(run(&["inspect", "all.ron"], folder).status.success());
    let build = [
        "build",
        "all.ron",
        "--precision",
        "int8",
        "--calibrate",
        "synthetic",
    ];
    let told = run(&build, folder);
    assert_refused(&told, 2, &["this network takes sets of several"]);
}
