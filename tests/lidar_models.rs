//! Real LiDAR networks on real sweeps, against what onnxruntime made of them: data/models/SOURCES.md.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "tests fail and speak so"
)]

use crate::common::pipeline;

use std::path::Path;

use jetlag::backend::{NetworkSource, Program, Step, TensorSpec};
use jetlag::detector::lidar::LidarSpec;
use jetlag::detector::lidar::anchors::AnchorDecode;
use jetlag::detector::lidar::encode::CELLS;
use jetlag::detector::lidar::nms::Suppress;
use jetlag::detector::lidar::spec::HeadSpec;
use jetlag::detector::spec::{self, DetectorSpec};
use jetlag::detector::{Box3d, Detection, Place};
use jetlag::scenario::{PointFormat, Reading};
use jetlag::source::{Content, Frame, points};
use jetlag::tensor::{ElementType, Shape, TensorSet};
use nvidia_doubles::machine;
use pipeline::{Pipeline, frame_at, try_open_slot};
use serde_json::Value as Json;

/// The spec of the KITTI pair, with one or the other backbone.
fn kitti_text(backbone: &str) -> String {
    include_str!("../engines/pointpillars_kitti_car.ron").replace("rpn_fp32.onnx", backbone)
}

fn kitti_car(backbone: &str) -> LidarSpec {
    match spec::read(&kitti_text(backbone), "kitti.ron").unwrap() {
        DetectorSpec::Lidar(spec) => *spec,
        _ => panic!("a LiDAR detector"),
    }
}

/// A sweep through the source that users have, from among the others of its folder.
fn sweep(path: &Path) -> Frame {
    let folder = points::open(path.parent().unwrap(), false, PointFormat::Kitti, 4_000_000).unwrap();
    let index = folder.files().iter().position(|file| file == path).unwrap();
    frame_at(&mut folder.read(Reading::default()).unwrap(), index)
}

fn number(json: &Json) -> f64 {
    json.as_f64().unwrap()
}

/// Compares a tensor with its stored statistics: norm, extremes, mean, and the first values.
fn agrees(what: &str, values: &[f32], wanted: &Json) {
    let l2 = values.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>().sqrt();
    let mean = values.iter().map(|v| f64::from(*v)).sum::<f64>() / values.len() as f64;
    let scale = number(&wanted["l2"]) / (values.len() as f64).sqrt();
    let off = (l2 / number(&wanted["l2"]) - 1.0).abs();
    assert!(off < 1e-3, "{what}: norm {l2} against {}", wanted["l2"]);
    assert!(
        (mean - number(&wanted["mean"])).abs() < 1e-3 * scale,
        "{what}: mean {mean}"
    );
    let extremes = values
        .iter()
        .fold((f32::MAX, f32::MIN), |(lo, hi), v| (lo.min(*v), hi.max(*v)));
    for (found, name) in [(extremes.0, "min"), (extremes.1, "max")] {
        let wanted = number(&wanted[name]);
        assert!(
            (f64::from(found) - wanted).abs() < 1e-2 * wanted.abs().max(scale),
            "{what}: {name} {found}, {wanted}"
        );
    }
    for (found, wanted) in values.iter().zip(wanted["first8"].as_array().unwrap()) {
        let near = (f64::from(*found) - number(wanted)).abs() < 1e-2 * scale.max(number(wanted).abs());
        assert!(near, "{what}: {found} against {wanted}");
    }
    println!("{what}: norm off by {off:.1e}");
}

/// KITTI's rotation to our heading.
fn heading(rotation: f64) -> f64 {
    -rotation - std::f64::consts::FRAC_PI_2
}

/// A stored box as we state boxes.
fn stored_box(json: &Json) -> (f64, Box3d) {
    let at = |key: &str, n: usize| number(&json[key][n]) as f32;
    let (x, y, z) = (at("xyz_center", 0), at("xyz_center", 1), at("xyz_center", 2));
    let (w, l, h) = (at("wlh", 0), at("wlh", 1), at("wlh", 2));
    let yaw = heading(number(&json["yaw"])) as f32;
    (
        number(&json["score"]),
        Box3d {
            x,
            y,
            z,
            l,
            w,
            h,
            yaw,
        },
    )
}

fn boxes_agree(found: &[Detection], wanted: &Json, metres: f32, score: f32) {
    let wanted = wanted.as_array().unwrap();
    assert_eq!(found.len(), wanted.len(), "number of boxes: {found:?}");
    assert!(found.is_sorted_by(|a, b| a.score >= b.score));
    let (mut worst, mut worst_score) = (0f32, 0f32);
    for json in wanted {
        let (wanted_score, b) = stored_box(json);
        let off = |d: &Detection| {
            let Place::Space(a) = d.place else {
                panic!("a box in the image")
            };
            let sides = [a.x - b.x, a.y - b.y, a.z - b.z, a.l - b.l, a.w - b.w, a.h - b.h];
            (
                sides.map(f32::abs).into_iter().fold(0.0, f32::max),
                (a.yaw - b.yaw).cos(),
                d.score,
            )
        };
        let near = found.iter().map(off).min_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
        let score_off = (near.2 - wanted_score as f32).abs();
        assert!(
            near.0 < metres && near.1 > 0.9998 && score_off < score,
            "{json}: off by {near:?}"
        );
        (worst, worst_score) = (worst.max(near.0), worst_score.max(score_off));
    }
    println!(
        "{} boxes: within {:.1} mm, scores within {worst_score:.5}",
        found.len(),
        worst * 1e3
    );
}

/// One sweep through one pair, from file to boxes.
fn check_sweep(open: &mut Pipeline, sweep_file: &Path, reference: &Path, head: &str) {
    let reference: Json = serde_json::from_slice(&std::fs::read(reference).unwrap()).unwrap();
    let frame = sweep(sweep_file);
    let Content::Points(cloud) = &frame.content else {
        panic!("points were expected")
    };
    assert_eq!(cloud.points.len() as u64, reference["points"].as_u64().unwrap());

    let found = open.run(&frame);
    let tensors = open.slot.tensors();
    let (cells, _) = tensors.get(CELLS).unwrap().i32().unwrap().as_chunks::<2>();
    assert_eq!(cells.len() as u64, reference["pillars"].as_u64().unwrap());
    let first = reference["first_pillars_xy"].as_array().unwrap();
    let counts = values(tensors, "num_points_per_pillar");
    let kept = counts.iter().sum::<f32>();
    assert_eq!(f64::from(kept), number(&reference["points_kept"]));
    // Only rows that hold points went through the encoder.
    for (name, pillars) in [
        ("pillar_x", 2),
        ("num_points_per_pillar", 1),
        ("pillar_features", 2),
    ] {
        let shape = tensors.get(name).unwrap().shape().dims();
        assert_eq!(shape[pillars], cells.len(), "{name} {shape:?}");
    }
    for (k, cell) in first.iter().enumerate() {
        assert_eq!(
            cells[k].map(i64::from),
            [0, 1].map(|n| cell[n].as_i64().unwrap()),
            "pillar {k}"
        );
        assert_eq!(
            f64::from(counts[k]),
            number(&reference["first_pillars_points"][k]),
            "pillar {k}"
        );
    }
    let most = counts.iter().fold(0f32, |a, b| a.max(*b));
    assert_eq!(f64::from(most), number(&reference["max_points_in_a_pillar"]));
    let spec = kitti_car("rpn_fp32.onnx");
    let HeadSpec::Anchors(how) = &spec.head else {
        panic!("a head of anchors")
    };
    let mut anchors = AnchorDecode::new(spec.anchor_head(how), spec.grid(), Suppress::new(0.1, 1, true));
    let with_points = anchors.anchors_with_points(cells) as u64;
    assert_eq!(with_points, reference["anchors_with_points"].as_u64().unwrap());

    agrees(
        "pillar_features",
        values(tensors, "pillar_features"),
        &reference["pillar_features"],
    );
    agrees(
        "canvas",
        values(tensors, "spatial_features"),
        &reference["canvas"],
    );
    if head == "rpn_fp32" {
        for output in ["box_preds", "cls_preds", "dir_cls_preds"] {
            agrees(output, values(tensors, output), &reference[head]["raw"][output]);
        }
    }
    boxes_agree(&found, &reference[head]["boxes"], 0.05, 0.02);
}

fn values<'a>(tensors: &'a TensorSet, name: &str) -> &'a [f32] {
    tensors.get(name).unwrap().f32().unwrap()
}

fn opened(folder: &Path, head: &str) -> Pipeline {
    let text = kitti_text(&format!("{head}.onnx"));
    let detector = spec::from_str(&text, "kitti.ron", folder, &|_| None).unwrap();
    let open = Pipeline::open(detector);
    // Host steps tell a new slot from one in use by its largest shapes.
    for wanted in &open.detector.program.host_tensors {
        let tensor = open.slot.tensors().get(&wanted.name).unwrap();
        assert_eq!(
            (tensor.shape(), tensor.element()),
            (&wanted.max_shape, wanted.element)
        );
    }
    open
}

#[test]
fn the_kitti_pair_finds_what_the_reference_found_on_each_sweep() {
    let (Some(models), Some(kitti), Some(reduced)) = (
        machine::shared("data/models/pointpillars_kitti_car"),
        machine::shared("data/sensors/kitti/training/velodyne"),
        machine::shared("data/sensors/kitti_velodyne_reduced"),
    ) else {
        return;
    };
    // One slot for all, so that each frame also meets what the one before it left behind.
    let mut open = opened(&models, "rpn_fp32");
    check_sweep(
        &mut open,
        &kitti.join("000008.bin"),
        &models.join("000008.ref.json"),
        "rpn_fp32",
    );
    for name in ["000001", "000002", "000004"] {
        let reference = models.join(format!("reduced_{name}.ref.json"));
        check_sweep(
            &mut open,
            &reduced.join(format!("{name}.bin")),
            &reference,
            "rpn_fp32",
        );
    }
}

#[test]
fn the_kitti_pair_finds_the_same_with_an_8_bit_backbone() {
    let (Some(models), Some(kitti)) = (
        machine::shared("data/models/pointpillars_kitti_car"),
        machine::shared("data/sensors/kitti/training/velodyne"),
    ) else {
        return;
    };
    let mut open = opened(&models, "rpn_int8_qdq");
    check_sweep(
        &mut open,
        &kitti.join("000008.bin"),
        &models.join("000008.ref.json"),
        "rpn_int8_qdq",
    );
}

/// Runs an encoder on its ramp, or says that there is nothing to run.
fn on_ramp(name: &str, inputs: &[(&str, &[usize])], output: &str) {
    let Some(folder) = machine::shared("data/models/lidar_encoders") else {
        return;
    };
    let reference = std::fs::read(folder.join(format!("{name}.ref.json"))).unwrap();
    let reference: Json = serde_json::from_slice(&reference).unwrap();
    let program = Program {
        engines: vec![NetworkSource::File(folder.join(format!("{name}.onnx")))],
        steps: vec![Step::Engine(0)],
        host_tensors: inputs
            .iter()
            .map(|(name, shape)| TensorSpec {
                name: (*name).to_owned(),
                element: ElementType::F32,
                max_shape: Shape::new(shape).unwrap(),
            })
            .collect(),
        ..Program::default()
    };
    let mut slot = try_open_slot(&program).unwrap();
    for (index, (name, _)) in inputs.iter().enumerate() {
        let tensor = slot.tensors_mut().get_mut(name).unwrap();
        for (k, value) in tensor.f32_mut().unwrap().iter_mut().enumerate() {
            *value = if index == 0 {
                (k % 1009) as f32 / 1009.0 - 0.5
            } else {
                1.0
            };
        }
    }
    slot.submit().unwrap();
    slot.wait().unwrap();
    agrees(
        name,
        values(slot.tensors(), output),
        &reference["outputs"][output],
    );
}

#[test]
fn the_three_class_encoder_answers_a_ramp_as_the_reference_did() {
    let inputs: [(&str, &[usize]); 2] = [
        ("pillar_features", &[1, 12000, 32, 10]),
        ("pillar_mask", &[1, 12000, 32, 1]),
    ];
    on_ramp("pointpillars_kitti_3class_pfn", &inputs, "pillar_embed");
}

#[test]
fn the_centerpoint_encoder_answers_a_ramp_as_the_reference_did() {
    on_ramp(
        "centerpoint_nuscenes_pfe",
        &[("input.1", &[1, 10, 5268, 20])],
        "46",
    );
}
