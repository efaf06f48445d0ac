//! KITTI's figures against an implementation in NumPy, and against the benchmark's own evaluator where its source is at hand.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use jetlag_score::kitti::{
    CLASSES, Camera, CameraBox, DIFFICULTY_NAMES, Found, Frame, Kind, Kitti, Metric, Scores, Truth,
};
use jetlag_score::{Benchmark, Counts, files};
use nvidia_doubles::machine::{missing, variable};
use proptest::prelude::*;
use serde_json::Value;

use crate::made::kitti::{made, numbers, problem};
use crate::made::{ask, number};

/// Names the source of KITTI's `evaluate_object_3d_offline.cpp`, whose folder has `mail.h`. It needs Boost's headers.
const EVALUATOR: &str = "JETLAG_KITTI_EVALUATOR";

fn each_cell(mut visit: impl FnMut(usize, Metric, usize, String)) {
    for (class, kind) in CLASSES.iter().enumerate() {
        for metric in Metric::ALL {
            for (level, name) in DIFFICULTY_NAMES.iter().enumerate() {
                let name = format!("{}.{}.{name}", kind.name().to_lowercase(), metric.name());
                visit(class, metric, level, name);
            }
        }
    }
}

fn scores(frames: &[Frame]) -> Scores {
    Kitti::new(frames).unwrap().scores(Counts::ONCE)
}

#[test]
fn figures_are_those_of_an_implementation_in_numpy() {
    let mut problems: Vec<Vec<Frame>> = (0..8)
        .map(|seed| made(seed, 3 + 12 * seed as usize, 14))
        .collect();
    // One detector that tells no angle.
    let mut flat = made(50, 20, 10);
    flat.iter_mut()
        .flat_map(|frame| &mut frame.found)
        .for_each(|found| found.alpha = None);
    problems.push(flat);
    let lines: Vec<Value> = problems.iter().map(|frames| problem(frames)).collect();
    let Some(answers) = ask("kitti_ap.py", "numpy, scipy", &[], &lines) else {
        return;
    };
    assert_eq!(answers.len(), problems.len());
    let (mut most, mut cells) = (0.0f64, 0);
    for (n, (frames, answer)) in problems.iter().zip(&answers).enumerate() {
        let scores = scores(frames);
        each_cell(|class, metric, level, name| {
            let (ours, theirs) = (scores.of(class, metric, level), &answer[&name]);
            assert_eq!(
                ours.ap.is_none(),
                theirs.is_null(),
                "problem {n} {name}: {ours:?} {theirs}"
            );
            for (ours, theirs) in [ours.ap, ours.ap11, ours.aos]
                .into_iter()
                .zip(theirs.as_array().into_iter().flatten())
            {
                assert_eq!(ours.is_none(), theirs.is_null(), "problem {n} {name}");
                if let Some(ours) = ours {
                    let apart = (ours - number(theirs)).abs();
                    assert!(apart < 1e-9, "problem {n} {name}: {ours}, NumPy has {theirs}");
                    (most, cells) = (most.max(apart), cells + 1);
                }
            }
        });
    }
    println!("the largest difference to NumPy in {cells} figures is {most:e}");
}

fn label_file(frame: &Frame) -> String {
    let mut text = String::new();
    for t in &frame.truths {
        write!(
            text,
            "{} {} {} {}",
            t.kind.name(),
            t.truncated,
            t.occluded,
            t.alpha
        )
        .unwrap();
        for value in numbers(t.bbox, t.space) {
            write!(text, " {value}").unwrap();
        }
        text.push('\n');
    }
    text
}

/// The evaluator, compiled.
fn evaluator(folder: &Path) -> Option<PathBuf> {
    let Some(source) = variable(EVALUATOR) else {
        missing(&[], &format!("{EVALUATOR} names no source of KITTI's evaluator"));
        return None;
    };
    let program = folder.join("evaluate");
    let compiled = Command::new("c++")
        .args(["-O2", "-w", "-o"])
        .arg(&program)
        .arg(&source)
        .output()
        .unwrap();
    assert!(
        compiled.status.success(),
        "{}; Boost's headers are found through CPLUS_INCLUDE_PATH",
        String::from_utf8_lossy(&compiled.stderr)
    );
    Some(program)
}

#[test]
fn figures_are_those_of_the_benchmarks_evaluator() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = evaluator(folder.path()) else {
        return;
    };
    let (mut most, mut curves) = (0.0f64, 0);
    for seed in 0..3u64 {
        let frames = made(100 + seed, 60 + 40 * seed as usize, 14);
        let (truth, result) = (
            folder.path().join(format!("truth{seed}")),
            folder.path().join(format!("result{seed}")),
        );
        std::fs::create_dir_all(&truth).unwrap();
        std::fs::create_dir_all(result.join("data")).unwrap();
        for (n, frame) in frames.iter().enumerate() {
            let name = format!("{n:06}.txt");
            std::fs::write(truth.join(&name), label_file(frame)).unwrap();
            let mut file = std::fs::File::create(result.join("data").join(name)).unwrap();
            files::kitti(&mut file, &frame.found).unwrap();
        }
        let run = Command::new(&program).args([&truth, &result]).output().unwrap();
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        let scores = scores(&frames);
        let curve = |class: usize, name: &str, level: usize| -> Vec<f64> {
            let kind = CLASSES[class].name().to_lowercase();
            let path = result.join(format!("stats_{kind}_{name}.txt"));
            let text = std::fs::read_to_string(&path).unwrap();
            let line = text.lines().nth(level).unwrap();
            line.split_whitespace()
                .map(|value| value.parse().unwrap())
                .collect()
        };
        let mut same = |ours: Option<f64>, curve: &[f64], what: &str| {
            assert_eq!(curve.len(), 41, "{what}");
            let theirs = curve[1..].iter().sum::<f64>() / 40.0;
            let apart = (ours.unwrap() - theirs).abs();
            // It writes six decimals.
            assert!(apart < 1e-6, "{what}: {ours:?}, the evaluator has {theirs}");
            (most, curves) = (most.max(apart), curves + 1);
        };
        each_cell(|class, metric, level, name| {
            let ours = scores.of(class, metric, level);
            let file = ["detection", "detection_ground", "detection_3d"][metric as usize];
            same(ours.ap, &curve(class, file, level), &name);
            if metric == Metric::Image {
                same(
                    ours.aos,
                    &curve(class, "orientation", level),
                    &format!("{name} aos"),
                );
            }
        });
    }
    println!("the largest difference to KITTI's evaluator in {curves} figures is {most:e}");
}

#[test]
fn labels_as_detections_score_one_and_nothing_labelled_scores_nothing() {
    let mut frames = made(9, 80, 12);
    for frame in &mut frames {
        frame.truths.retain(|truth| truth.kind != Kind::Cyclist);
        let labels = frame.truths.iter().filter(|truth| truth.kind != Kind::DontCare);
        frame.found = labels
            .map(|truth| Found {
                kind: truth.kind,
                alpha: Some(truth.alpha),
                bbox: truth.bbox,
                space: truth.space,
                score: 0.5,
            })
            .collect();
    }
    let kitti = Kitti::new(&frames).unwrap();
    let scores = kitti.scores(Counts::ONCE);
    each_cell(|class, metric, level, name| {
        let cell = scores.of(class, metric, level);
        // At one score there is one threshold, so the curve has one point: that is what the benchmark does with equal scores.
        assert_eq!(cell.ap.is_some(), CLASSES[class] != Kind::Cyclist, "{name}");
    });
    let figures = kitti.figures(Counts::ONCE);
    let cyclist = figures
        .iter()
        .find(|figure| figure.name == "cyclist.3d.hard")
        .unwrap();
    assert!(cyclist.value.is_none() && cyclist.why.is_some());
    let empty = Kitti::new(&[]).unwrap();
    assert!(
        empty
            .figures(Counts::ONCE)
            .iter()
            .all(|figure| figure.value.is_none() && figure.why.is_some())
    );
}

#[test]
fn detections_in_the_image_alone_have_no_score_in_space() {
    let mut frames = made(9, 30, 12);
    frames
        .iter_mut()
        .flat_map(|frame| &mut frame.found)
        .for_each(|found| found.space = None);
    let kitti = Kitti::new(&frames).unwrap();
    let figures = kitti.figures(Counts::ONCE);
    let figure = |name: &str| figures.iter().find(|figure| figure.name == name).unwrap();
    assert!(figure("car.2d.hard").value.is_some());
    assert_eq!(figure("car.3d.hard").why, Some("no detection has a box in space"));
    assert_eq!(figure("ap").value, figure("2d.moderate").value);
}

#[test]
fn counting_a_frame_twice_is_handing_it_over_twice() {
    let frames = made(3, 40, 12);
    let counts: Vec<u32> = (0..40).map(|n| [0, 1, 2, 3][n % 4]).collect();
    let mut repeated = Vec::new();
    for (frame, times) in frames.iter().zip(&counts) {
        repeated.extend(std::iter::repeat_n(frame.clone(), *times as usize));
    }
    let counted = Kitti::new(&frames).unwrap().scores(Counts::new(&counts));
    let wanted = scores(&repeated);
    each_cell(|class, metric, level, name| {
        let (a, b) = (counted.of(class, metric, level), wanted.of(class, metric, level));
        assert_eq!(a.truths, b.truths, "{name}");
        assert!(
            (a.ap.unwrap() - b.ap.unwrap()).abs() < 1e-12,
            "{name} {a:?} {b:?}"
        );
    });
}

#[test]
fn a_box_of_the_lidar_is_where_the_camera_has_it() {
    // The camera looks along the LiDAR's x, 8 cm below and 27 cm before it.
    let camera = Camera {
        lidar_to_camera: [
            [0.0, -1.0, 0.0, 0.0],
            [0.0, 0.0, -1.0, -0.08],
            [1.0, 0.0, 0.0, -0.27],
        ],
        projection: [
            [700.0, 0.0, 600.0, 0.0],
            [0.0, 700.0, 180.0, 0.0],
            [0.0, 0.0, 1.0, 0.0],
        ],
        image: [1242.0, 375.0],
    };
    let car = jetlag_record::detection::Box3d {
        x: 20.27,
        y: 3.0,
        z: -0.88,
        l: 4.0,
        w: 2.0,
        h: 1.5,
        yaw: 0.0,
    };
    let found = camera.found(Kind::Car, 0.5, &car).unwrap();
    let space = found.space.unwrap();
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-5, "{a} {b}");
    near(space.place[0], -3.0);
    near(space.place[1], 1.55);
    near(space.place[2], 20.0);
    // Straight ahead is −π/2 in the camera's frame.
    near(space.heading, -std::f64::consts::FRAC_PI_2);
    near(found.alpha.unwrap(), space.heading - (-3.0f64).atan2(20.0));
    near(found.bbox[0], 600.0 - 700.0 * 4.0 / 18.0);
    near(found.bbox[2], 600.0 - 700.0 * 2.0 / 22.0);
    near(found.bbox[1], 180.0 + 700.0 * 0.05 / 22.0);
    near(found.bbox[3], 180.0 + 700.0 * 1.55 / 18.0);
    let behind = jetlag_record::detection::Box3d { x: -20.0, ..car };
    assert!(camera.found(Kind::Car, 0.5, &behind).is_none());
    let aside = jetlag_record::detection::Box3d { y: 60.0, ..car };
    assert!(camera.found(Kind::Car, 0.5, &aside).is_none());
}

fn any_number() -> impl Strategy<Value = f64> {
    prop_oneof![
        6 => -60.0f64..200.0,
        1 => prop::sample::select(vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, 1e300, f64::MIN_POSITIVE]),
    ]
}

proptest! {
    #[test]
    fn no_input_makes_it_panic(
        boxes in prop::collection::vec(
            (0usize..9, prop::array::uniform4(any_number()), prop::array::uniform3(any_number()),
             prop::array::uniform3(any_number()), any_number(), any::<bool>()), 0..6),
    ) {
        let mut frame = Frame::default();
        for (kind, bbox, size, place, other, has_space) in boxes {
            let kind = Kind::ALL[kind];
            let space = has_space.then_some(CameraBox { size, place, heading: other });
            frame.truths.push(Truth { kind, truncated: 0.0, occluded: 0, alpha: other, bbox, space });
            frame.found.push(Found { kind, alpha: Some(other), bbox, space, score: other });
        }
        if let Ok(kitti) = Kitti::new(&[frame]) {
            for figure in kitti.figures(Counts::ONCE) {
                prop_assert!(figure.value.is_none_or(|value| (0.0..=1.0).contains(&value)), "{figure:?}");
            }
        }
    }
}
