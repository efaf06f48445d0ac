//! Specs as users write them, and what they are told when one is wrong.

use super::*;
use crate::backend::{NetworkSource, Step};
use crate::detector::Carry;
use crate::detector::Detector;
use crate::detector::lidar::encode::{CELLS, dims};
use crate::detector::spec::{self, DetectorSpec};
use crate::source::{Content, Frame, Image, PointCloud};
use crate::tensor::{HostTensor, TensorSet};
use crate::written::Problems;

const PAIR: &str = r#"Lidar(
    name: "small", classes: ["Car", "Van"],
    range: (x: (0.0, 8.0), y: (-4.0, 4.0), z: (-3.0, 1.0)), voxel: (0.5, 0.5, 4.0),
    max_points: 4, max_pillars: 20,
    encoder: (
        network: "encoder.onnx",
        layout: PillarsPointsFeatures(tensor: "points", features: [X, Y, Z, Intensity], mask: Some("mask")),
        output: "features", channels: 8, fixed_pillars: true,
    ),
    scatter: (tensor: "canvas"),
    backbone: (network: "backbone.onnx"),
    head: Anchors(
        boxes: "boxes", classes: "scores", directions: Some("dirs"), stride: 2,
        direction_rule: Bins(offset: 0.78539, limit_offset: 0.0), convention: Heading,
        anchors: [
            (class: 0, size: (3.9, 1.6, 1.56), z: -1.0, rotations: [0.0, 1.57]),
            (class: 1, size: (5.0, 2.0, 2.2), z: -0.8, rotations: [0.0]),
        ],
    ),
)"#;

fn spec(text: &str) -> Result<LidarSpec, Problems> {
    match spec::read(text, "small.ron")? {
        DetectorSpec::Lidar(spec) => Ok(*spec),
        _ => panic!("a LiDAR detector"),
    }
}

/// Its networks are all there.
fn build(text: &str) -> Result<Detector, Problems> {
    let spec = spec(text)?;
    let networks = spec.networks().into_iter();
    let engines = networks
        .map(|(_, network)| NetworkSource::File(network.into()))
        .collect();
    Ok(spec.build(engines))
}

fn problem(text: &str) -> String {
    build(text).err().expect("the spec is wrong").to_string()
}

fn slot(detector: &Detector) -> TensorSet {
    let tensors = detector.program.host_tensors.iter();
    TensorSet::new(
        tensors
            .map(|t| HostTensor::zeroed(&t.name, t.element, t.max_shape))
            .collect(),
    )
}

fn frame(points: &[[f32; 4]]) -> Frame {
    Frame {
        content: Content::Points(PointCloud::of(points.to_vec())),
        ..Frame::default()
    }
}

#[test]
fn a_pair_becomes_two_engines_with_a_scatter_between() {
    let detector = build(PAIR).unwrap();
    let steps: Vec<String> = detector
        .program
        .steps
        .iter()
        .map(|step| match step {
            Step::Engine(index) => detector.program.engines[*index].to_string(),
            Step::OfCamera { .. } => panic!("a LiDAR has one"),
            Step::Host(step) => step.name().to_owned(),
        })
        .collect();
    assert_eq!(steps, ["encoder.onnx", "scatter", "backbone.onnx"]);
    let tensors: Vec<String> = detector
        .program
        .host_tensors
        .iter()
        .map(|t| format!("{} {}", t.name, t.max_shape))
        .collect();
    assert_eq!(
        tensors,
        [
            "points [1, 20, 4, 4]",
            "mask [1, 20, 4, 1]",
            "pillar_cells [1, 20, 2]",
            "canvas [1, 8, 16, 16]",
            "scattered_cells [1, 21]",
        ]
    );
}

#[test]
fn anchors_stand_entry_by_entry_and_rotation_by_rotation() {
    let spec = spec(PAIR).unwrap();
    let HeadSpec::Anchors(how) = &spec.head else {
        panic!("anchors")
    };
    let anchors: Vec<(u16, f64)> = spec
        .anchor_head(how)
        .anchors
        .iter()
        .map(|a| (a.class, a.rotation))
        .collect();
    assert_eq!(anchors, [(0, 0.0), (0, 1.57), (1, 0.0)]);
}

#[test]
fn all_problems_are_told_at_once() {
    let text = PAIR
        .replace("max_points: 4", "max_points: 0")
        .replace("stride: 2", "stride: 3")
        .replace("class: 1", "class: 2")
        .replace("x: (0.0, 8.0)", "x: (0.0, 8.2)")
        .replace("tensor: \"canvas\"", "tensor: \"points\"");
    let told = problem(&text);
    for wanted in [
        "small.ron:4:17: `max_points` is 0, and must be at least 1",
        "`head.stride` is 3, and must be a divisor of the 16 × 16 pillars",
        "small.ron:17:21: `head.anchors[1].class` is 2, and must be an index into `classes`, from 0 to 1",
        "`range.x` is 16.400 voxels of 0.5 m, and must be a whole number of them",
        "`scatter.tensor`: two tensors are named `points`",
    ] {
        assert!(told.contains(wanted), "{wanted}\n{told}");
    }
}

#[test]
fn numbers_without_sense_are_refused() {
    for (from, to, wanted) in [
        (
            "x: (0.0, 8.0)",
            "x: (8.0, 0.0)",
            "must be from a smaller number to a larger one",
        ),
        ("x: (0.0, 8.0)", "x: (0.0, inf)", "a whole number of them"),
        ("voxel: (0.5,", "voxel: (0.0,", "and must be above 0"),
        ("voxel: (0.5,", "voxel: (NaN,", "and must be above 0"),
        (
            "voxel: (0.5, 0.5, 4.0)",
            "voxel: (0.5, 0.5, 1.0)",
            "4 layers along z",
        ),
        (
            "voxel: (0.5, 0.5, 4.0)",
            "voxel: (0.0005, 0.0005, 4.0)",
            "at most",
        ),
        ("max_pillars: 20", "max_pillars: 4000000000", "it allocates"),
        ("channels: 8", "channels: 0", "`encoder.channels` is 0"),
        (
            "(3.9, 1.6, 1.56)",
            "(3.9, -1.6, 1.56)",
            "must be above 0 on each side",
        ),
        (
            "backbone: (network: \"backbone.onnx\"),",
            "",
            "it does not say which networks it has",
        ),
        (
            "features: [X, Y, Z, Intensity]",
            "features: []",
            ".layout.features` is an empty list",
        ),
    ] {
        assert!(PAIR.contains(from), "{from}");
        let told = problem(&PAIR.replace(from, to));
        assert!(told.contains(wanted), "{told}");
    }
}

#[test]
fn a_field_that_does_not_exist_is_refused() {
    let told = problem(&PAIR.replace("max_points", "max_point"));
    assert!(
        told.contains("unknown field `max_point` in a LiDAR detector; did you mean `max_points`?"),
        "{told}"
    );
    assert!(
        told.contains("a LiDAR detector has no `max_points`: add max_points: 100"),
        "{told}"
    );
}

fn whole(input: &str) -> String {
    let (before, rest) = PAIR.split_once("encoder: (").unwrap();
    let head = rest.split_once("head: ").unwrap().1;
    format!("{before} whole: (network: \"all.onnx\", input: {input}), head: {head}")
}

#[test]
fn a_whole_network_may_take_pillars_and_their_cells() {
    let mut detector = build(&whole(
        r#"Pillars(layout: PillarsPointsFeatures(tensor: "voxels", features: [X, Zero], batched: false),
                   cells: "coords", count: Some("number"))"#,
    ))
    .unwrap();
    assert_eq!(detector.program.steps.len(), 1);
    let mut set = slot(&detector);
    let mut carry = Carry::default();
    let points = [
        [1.1, 0.1, 0.0, 0.5],
        [7.9, -3.9, 0.0, 0.5],
        [1.2, 0.2, 0.0, 0.5],
        [f32::NAN; 4],
    ];
    let kept = detector
        .preprocess
        .run(&frame(&points), &mut set, &mut carry)
        .unwrap();
    assert_eq!(
        (kept, set.get(CELLS).unwrap().i32().unwrap()),
        (3, [2, 8, 15, 0].as_slice())
    );
    assert_eq!(
        set.get("coords").unwrap().i32().unwrap(),
        [0, 0, 8, 2, 0, 0, 0, 15]
    );
    assert_eq!(set.get("number").unwrap().i32().unwrap(), [2]);
    let voxels = set.get("voxels").unwrap();
    assert_eq!(voxels.shape().dims(), [2, 4, 2]);
    assert_eq!(voxels.f32().unwrap()[..4], [1.1, 0.0, 1.2, 0.0]);
}

#[test]
fn a_whole_network_may_take_points() {
    let text = whole(r#"Points(tensor: "points", columns: [X, Y, Z, Intensity, Zero], max: 2)"#);
    let mut detector = build(&text).unwrap();
    let mut set = slot(&detector);
    let mut run = |points: &[[f32; 4]]| {
        let kept = detector
            .preprocess
            .run(&frame(points), &mut set, &mut Carry::default())
            .unwrap();
        let tensor = set.get("points").unwrap();
        (kept, *tensor.shape(), tensor.f32().unwrap().to_vec())
    };
    let shape = |n| dims([1, n, 5]);
    let one = [1.0, 2.0, 3.0, 4.0, 0.0];
    assert_eq!(
        run(&[[f32::INFINITY; 4], [1.0, 2.0, 3.0, 4.0]]),
        (1, shape(1), one.to_vec())
    );
    assert_eq!(run(&[[1.0, 2.0, 3.0, 4.0]; 3]), (2, shape(2), [one; 2].concat()));
    assert_eq!(run(&[]), (0, shape(1), vec![0.0; 5]));
    let told = problem(&text.replace("stride: 2,", "stride: 2, drop_empty: true,"));
    assert!(told.contains("`head.drop_empty`: it needs pillars"), "{told}");
}

#[test]
fn a_frame_without_points_is_refused_in_words() {
    let mut detector = build(PAIR).unwrap();
    let mut set = slot(&detector);
    let error = detector
        .preprocess
        .run(&Frame::default(), &mut set, &mut Carry::default())
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "the detector takes Points frames, but got Empty"
    );
}

#[test]
fn what_is_not_written_is_as_documented() {
    let spec = spec(PAIR).unwrap();
    assert_eq!(spec.score_threshold, 0.3);
    assert_eq!(
        spec.nms,
        NmsSpec {
            iou: 0.1,
            before: 1000,
            after: 300,
            per_class: true
        }
    );
    let tensors = |text: &str| -> Vec<String> {
        let detector = build(text).unwrap();
        let tensors = detector.program.host_tensors.iter();
        tensors.map(|t| format!("{} {}", t.name, t.max_shape)).collect()
    };
    let planes = PAIR
        .split_once("layout: ")
        .map(|(before, rest)| {
            format!(
                "{before}layout: Planes(), {}",
                rest.split_once("mask\")),").unwrap().1
            )
        })
        .unwrap();
    assert_eq!(
        tensors(&planes)[..8],
        [
            "pillar_x [1, 1, 20, 4]",
            "pillar_y [1, 1, 20, 4]",
            "pillar_z [1, 1, 20, 4]",
            "pillar_i [1, 1, 20, 4]",
            "x_sub_shaped [1, 1, 20, 4]",
            "y_sub_shaped [1, 1, 20, 4]",
            "mask [1, 1, 20, 4]",
            "num_points_per_pillar [1, 20]",
        ]
    );
    let points = whole(r#"Points(tensor: "points", max: 7)"#);
    assert_eq!(tensors(&points), ["points [1, 7, 4]"]);
}

#[test]
fn a_whole_network_whose_input_makes_no_sense_is_refused() {
    let pillars =
        |layout: &str, more: &str| whole(&format!(r#"Pillars(layout: {layout}, cells: "coords"{more})"#));
    let plain = r#"FeaturesPillarsPoints(tensor: "voxels", features: [X])"#;
    for (text, wanted) in [
        (
            whole(r#"Points(tensor: "points", max: 0)"#),
            "`whole.input.max` is 0",
        ),
        (
            whole(r#"Points(tensor: "points", columns: [], max: 7)"#),
            "`whole.input.columns` is an empty list",
        ),
        (
            pillars(plain, ", cell_columns: []"),
            "`whole.input.cell_columns` is an empty list",
        ),
        (
            pillars(r#"FeaturesPillarsPoints(tensor: "voxels", features: [])"#, ""),
            ".layout.features` is an empty list",
        ),
        (
            pillars(plain, r#", count: Some("coords")"#),
            "two tensors are named `coords`",
        ),
        (
            whole(r#"Points(tensor: "points", max: 7)"#)
                .replace("whole: (", "backbone: (network: \"b.onnx\"), whole: ("),
            "it does not say which networks it has",
        ),
    ] {
        let told = problem(&text);
        assert!(told.contains(wanted), "{told}");
    }
    assert!(build(&pillars(plain, "")).is_ok());
}

#[test]
fn points_of_a_fixed_number_of_rows_leave_nothing_of_the_sweep_before() {
    let text = whole(r#"Points(tensor: "points", columns: [X, Z], max: 3, fixed: true)"#);
    let mut detector = build(&text).unwrap();
    let mut set = slot(&detector);
    let mut run = |points: &[[f32; 4]]| {
        let used = detector
            .preprocess
            .run(&frame(points), &mut set, &mut Carry::default())
            .unwrap();
        (used, set.get("points").unwrap().f32().unwrap().to_vec())
    };
    assert_eq!(
        run(&[[1.0, 2.0, 3.0, 4.0]; 5]),
        (3, vec![1.0, 3.0, 1.0, 3.0, 1.0, 3.0])
    );
    assert_eq!(
        run(&[[5.0, 6.0, 7.0, 8.0], [9.0, 10.0, 11.0, 12.0]]),
        (2, vec![5.0, 7.0, 9.0, 11.0, 0.0, 0.0])
    );
    assert_eq!(run(&[]), (0, vec![0.0; 6]));
}

#[test]
fn an_image_is_refused_in_words() {
    let mut detector = build(PAIR).unwrap();
    let mut set = slot(&detector);
    let image = Frame {
        content: Content::Image(Image::default()),
        ..Frame::default()
    };
    let error = detector
        .preprocess
        .run(&image, &mut set, &mut Carry::default())
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "the detector takes Points frames, but got Image"
    );
}

#[test]
fn more_numbers_without_sense_are_refused() {
    for (from, to, wanted) in [
        ("max_pillars: 20", "max_pillars: 0", "`max_pillars` is 0"),
        (
            "x: (0.0, 8.0)",
            "x: (8.0, 8.0)",
            "must be from a smaller number to a larger one",
        ),
        ("stride: 2", "stride: 0", "`head.stride` is 0"),
        ("stride: 2", "stride: 5", "`head.stride` is 5"),
        (
            "(3.9, 1.6, 1.56)",
            "(0.0, 1.6, 1.56)",
            "must be above 0 on each side",
        ),
        (
            "(3.9, 1.6, 1.56)",
            "(3.9, 0.0, 1.56)",
            "must be above 0 on each side",
        ),
        (
            "(3.9, 1.6, 1.56)",
            "(3.9, 1.6, 0.0)",
            "must be above 0 on each side",
        ),
        ("stride: 2,", "stride: 2), nms: (before: 0", "must be above 0"),
        ("stride: 2,", "stride: 2), nms: (after: 0", "must be above 0"),
    ] {
        let text = match to.split_once("), ") {
            Some((_, nms)) => PAIR.replace("head: Anchors", &format!("{nms}), head: Anchors")),
            None => PAIR.replace(from, to),
        };
        let told = problem(&text);
        assert!(told.contains(wanted), "{to}: {told}");
    }
    // A head's stride must divide both ways.
    let told = problem(&PAIR.replace("y: (-4.0, 4.0)", "y: (-4.0, 4.5)"));
    assert!(told.contains("a divisor of the 16 × 17 pillars"), "{told}");
}

#[test]
fn a_range_that_makes_no_sense_is_told_once_and_a_stride_has_to_divide_both_ways() {
    let told = |from: &str, to: &str| -> Vec<String> {
        assert!(PAIR.contains(from), "{from}");
        let problems = spec(&PAIR.replace(from, to)).unwrap_err();
        problems
            .list()
            .iter()
            .map(|problem| problem.kind.to_string())
            .collect()
    };
    for (from, to, wanted) in [
        (
            "z: (-3.0, 1.0)",
            "z: (1.0, -3.0)",
            "`range.z` is from 1 to -3, and must be from a smaller number to a larger one",
        ),
        (
            "z: (-3.0, 1.0)",
            "z: (1.0, 1.0)",
            "`range.z` is from 1 to 1, and must be from a smaller number to a larger one",
        ),
        (
            "0.5, 4.0)",
            "0.5, 0.0)",
            "`voxel` is 0 along z, and must be above 0",
        ),
        (
            "0.5, 4.0)",
            "0.5, -4.0)",
            "`voxel` is -4 along z, and must be above 0",
        ),
        (
            "stride: 2",
            "stride: 0",
            "`head.stride` is 0, and must be a divisor of the 16 × 16 pillars",
        ),
        (
            "stride: 2",
            "stride: 5",
            "`head.stride` is 5, and must be a divisor of the 16 × 16 pillars",
        ),
        (
            "x: (0.0, 8.0)",
            "x: (0.0, 8.5)",
            "`head.stride` is 2, and must be a divisor of the 17 × 16 pillars",
        ),
        (
            "y: (-4.0, 4.0)",
            "y: (-4.0, 4.5)",
            "`head.stride` is 2, and must be a divisor of the 16 × 17 pillars",
        ),
        (
            "max_points: 4, max_pillars: 20",
            "max_points: 10000, max_pillars: 10000",
            "`max_pillars`: together with `max_points` it allocates 100000000 points, but at most 64000000 are \
             allowed; lower one of the two",
        ),
    ] {
        assert_eq!(told(from, to), [wanted]);
    }
}
