//! Cameras and a LiDAR in one detector: through the program, on made drives and made scenes.

mod cameras;
mod moments;
pub(crate) mod whole;

use std::fs;
use std::path::Path;

use jetlag::detector::{Box2d, Detection, Place};
use jetlag::record::{Event, FrameRecord, Outcome, Phase, RunReader, Stage};
use jetlag::source::synthetic::calibration;
use jetlag::units::Nanos;
use serde_json::Value;

use crate::common::output::{assert_refused, run, stderr, stdout};

/// A made drive of so many seconds.
fn drive(folder: &Path, format: &str, out: &str, seconds: &str) {
    let mut synth = vec!["data", "synth", "--seed", "9"];
    synth.extend(["--format", format, "--out", out, "--seconds", seconds]);
    let made = run(&synth, folder);
    assert!(made.status.success(), "{}", stderr(&made));
}

/// A run of one tenant.
fn run_of(folder: &Path, tenant: &str, more: &str) -> std::process::Output {
    let scenario = format!(
        "Scenario(name: \"fusion\", duration: \"1h\", warmup: \"0s\", telemetry: (sources: [Host]), {more}\n\
         tenants: [Tenant(name: \"both\", {tenant})])"
    );
    fs::write(folder.join("s.ron"), scenario).unwrap();
    run(
        &[
            "run", "s.ron", "--quiet", "--format", "json", "--out", "run.mcap", "--force",
        ],
        folder,
    )
}

/// What is asked for, as a dry run writes it; read again, it is the same.
fn read_again(folder: &Path) -> String {
    let written = |file: &str| {
        let dry = run(&["run", file, "--dry-run"], folder);
        assert!(dry.status.success(), "{}", stderr(&dry));
        stdout(&dry)
    };
    let once = written("s.ron");
    fs::write(folder.join("again.ron"), &once).unwrap();
    assert_eq!(written("again.ron"), once);
    once
}

fn summary(output: &std::process::Output) -> Value {
    let report: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(output)));
    report["tenants"][0].clone()
}

type Recorded = (Vec<FrameRecord>, Vec<(u64, Vec<Detection>)>);

/// Frames in the order of their release, and what was found in each.
fn recorded(folder: &Path) -> Recorded {
    let mut reader = RunReader::open(&folder.join("run.mcap")).unwrap();
    let (mut frames, mut found) = (Vec::new(), Vec::new());
    for event in reader.by_ref() {
        match event.unwrap() {
            Event::Frame(frame) if frame.phase == Phase::Together => frames.push(frame),
            Event::Detections(list) => found.push((list.sequence, list.detections)),
            _ => {}
        }
    }
    frames.sort_by_key(|frame| frame.sequence);
    found.sort_by_key(|(sequence, _)| *sequence);
    (frames, found)
}

const BOTH: &str = "detector: Fusion(camera: \"builtin:camera\", lidar: \"builtin:lidar\")";

#[test]
fn sets_of_a_drive_are_released_with_their_first_sensor_and_fused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    drive(folder, "nuscenes", "drive", "3");
    let source = "backend: Cpu(threads: 1), source: NuScenes(path: \"drive\", sensors: [\"CAM_FRONT\", \"LIDAR_TOP\"])";
    let output = run_of(
        folder,
        &format!("{BOTH}, {source}, arrival: Replay, frames: 8, overload: Queue(capacity: 100)"),
        "",
    );
    let told = summary(&output);
    assert_eq!(told["frames"]["completed"], 8, "{}", stderr(&output));
    let sets = &told["synchronised"];
    assert_eq!(sets["complete"], 8, "{told}");
    assert_eq!(sets["incomplete"], 0, "{told}");
    assert_eq!(sets["incomplete_share"], 0.0);
    assert!(sets["skew_ms"]["max"].as_f64().unwrap() <= 50.0, "{sets}");
    assert!(sets["rate_hz"].is_number());
    let (frames, found) = recorded(folder);
    for frame in &frames {
        let skew = frame.skew.unwrap();
        assert!(skew >= Nanos::ZERO && skew <= Nanos::from_millis(50), "{frame:?}");
        // nuScenes has captures alone, so that the set is complete so long after its release.
        let waited = frame.stages[Stage::Synchronise as usize].unwrap();
        assert!(frame.started + waited >= frame.released + skew, "{frame:?}");
        assert!(frame.captured.unwrap() >= frame.released);
    }
    let all: Vec<&Detection> = found.iter().flat_map(|(_, of)| of).collect();
    assert!(all.iter().any(|of| matches!(of.place, Place::Space(_))));
    let text = stdout(&run(&["report", "run.mcap"], folder));
    for wanted in [
        "skew of the sensors",
        "complete sets/s; 0 of 8 (0 %) stayed incomplete",
    ] {
        assert!(text.contains(wanted), "no {wanted} in {text}");
    }
    let page = run(&["report", "run.mcap", "--html", "page.html"], folder);
    assert!(page.status.success(), "{}", stderr(&page));
    let page = fs::read_to_string(folder.join("page.html")).unwrap();
    assert!(page.contains("skew of the sensors"));
    // The sweep is the frame by which the dataset's truth is found.
    let scored = run(
        &["eval", "run.mcap", "--mode", "stream", "--format", "json"],
        folder,
    );
    let scores: Value =
        serde_json::from_slice(&scored.stdout).unwrap_or_else(|_| panic!("{}", stderr(&scored)));
    assert_eq!(scores["tenants"]["both"]["benchmark"], "nuScenes", "{scores}");
    let export = [
        "export",
        "run.mcap",
        "--format",
        "nuscenes",
        "--data",
        "drive",
        "-o",
        "results.json",
    ];
    let exported = run(&export, folder);
    assert!(exported.status.success(), "{}", stderr(&exported));
    let results: Value = serde_json::from_slice(&fs::read(folder.join("results.json")).unwrap()).unwrap();
    assert_eq!(results["meta"]["use_lidar"], true);
    assert_eq!(results["meta"]["use_camera"], true);
    let drawn = run(&["view", "run.mcap", "--frame", "3", "-o", "frame.png"], folder);
    assert!(drawn.status.success(), "{}", stderr(&drawn));
}

/// What late fusion is, written anew: the pair with the largest IoU first, each box once.
fn fused(camera: &[Detection], lidar: &[Detection], least: f32) -> Vec<Detection> {
    let overlap = |a: &Box2d, b: &Box2d| {
        let (w, h) = (a.x2.min(b.x2) - a.x1.max(b.x1), a.y2.min(b.y2) - a.y1.max(b.y1));
        let both = w.max(0.0) * h.max(0.0);
        let area = |of: &Box2d| (of.x2 - of.x1) * (of.y2 - of.y1);
        both / (area(a) + area(b) - both)
    };
    let [width, height] = jetlag::source::synthetic::IMAGE_SIZE.map(|side| side as f32);
    let (mut camera, mut lidar) = (camera.to_vec(), lidar.to_vec());
    let mut all = Vec::new();
    loop {
        let mut best: Option<(f32, usize, usize)> = None;
        for (i, seen) in camera.iter().enumerate() {
            for (j, found) in lidar.iter().enumerate() {
                let (Place::Image(a), Place::Space(place)) = (&seen.place, &found.place) else {
                    continue;
                };
                let Some(b) = calibration().project_box(place) else {
                    continue;
                };
                let b = Box2d {
                    x1: b.x1.clamp(0.0, width),
                    y1: b.y1.clamp(0.0, height),
                    x2: b.x2.clamp(0.0, width),
                    y2: b.y2.clamp(0.0, height),
                };
                let iou = overlap(a, &b);
                if iou >= least && seen.class == found.class && best.is_none_or(|(most, ..)| iou > most) {
                    best = Some((iou, i, j));
                }
            }
        }
        let Some((_, i, j)) = best else { break };
        let (seen, found) = (camera.remove(i), lidar.remove(j));
        all.push(Detection {
            score: 1.0 - (1.0 - seen.score) * (1.0 - found.score),
            ..found
        });
    }
    all.extend(camera);
    all.extend(lidar);
    all.sort_by(|a, b| b.score.total_cmp(&a.score));
    all
}

#[test]
fn the_boxes_are_those_of_both_detectors_put_together_as_the_definition_says() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let of = |detector: &str, sensor: &str| {
        let tenant = format!(
            "{detector}, backend: Cpu(threads: 1), source: Synthetic({sensor}, scenes: 4, seed: 3), frames: 4"
        );
        let output = run_of(folder, &tenant, "");
        assert_eq!(summary(&output)["frames"]["completed"], 4, "{}", stderr(&output));
        let (_, found) = recorded(folder);
        let mut all = vec![Vec::new(); 4];
        for (sequence, of) in found {
            all[sequence as usize] = of;
        }
        all
    };
    let camera = of("detector: \"builtin:camera\"", "sensor: Camera");
    let lidar = of("detector: \"builtin:lidar\"", "sensor: Lidar");
    let both = of(BOTH, "sensors: [Camera, Lidar]");
    // Classes of the LiDAR that the camera has too, by their names.
    let manifest = |file: &str| {
        let reader = RunReader::open(&folder.join(file)).unwrap();
        reader.manifest().tenants[0].classes.clone()
    };
    let classes = manifest("run.mcap");
    let lidar_classes = ["Car"];
    let mut pairs = 0;
    for ((seen, in_space), together) in camera.iter().zip(&lidar).zip(&both) {
        let in_space: Vec<Detection> = in_space
            .iter()
            .map(|of| {
                let name = lidar_classes[usize::from(of.class)];
                let class = classes.iter().position(|class| class.eq_ignore_ascii_case(name));
                Detection {
                    class: class.unwrap() as u16,
                    ..*of
                }
            })
            .collect();
        let wanted = fused(seen, &in_space, 0.3);
        assert_eq!(together.len(), wanted.len());
        pairs += seen.len() + in_space.len() - wanted.len();
        for (one, other) in together.iter().zip(&wanted) {
            assert_eq!((one.class, one.place), (other.class, other.place));
            assert!((one.score - other.score).abs() < 1e-6);
        }
    }
    assert!(pairs >= 4, "only {pairs} objects were found by both");
}

#[test]
fn simulated_sets_wait_as_long_as_their_sensors_are_apart() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    drive(folder, "nuscenes", "drive", "3");
    let tenant = "detector: Fusion(camera: \"builtin:camera\", lidar: \"builtin:lidar\", tolerance: \"5ms\"), \
                  backend: Sim(Fixed(\"4ms\")), arrival: Replay, \
                  source: NuScenes(path: \"drive\", sensors: [\"LIDAR_TOP\", \"CAM_FRONT\"], repeat: false)";
    let output = run_of(folder, tenant, "clock: Virtual,");
    let told = summary(&output);
    let (frames, _) = recorded(folder);
    let (dropped, done): (Vec<&FrameRecord>, Vec<&FrameRecord>) =
        frames.iter().partition(|frame| frame.stayed_incomplete());
    assert!(!dropped.is_empty() && !done.is_empty(), "{}", stderr(&output));
    for frame in &done {
        assert_eq!(frame.outcome, Outcome::Completed);
        let skew = frame.skew.unwrap();
        assert_eq!(frame.stages[Stage::Synchronise as usize], Some(skew));
        assert_eq!(frame.response(), skew + Nanos::from_millis(4));
    }
    for frame in &dropped {
        assert_eq!(frame.response(), Nanos::from_millis(5));
    }
    let sets = &told["synchronised"];
    assert_eq!(sets["complete"], done.len());
    assert_eq!(sets["incomplete"], dropped.len());
    let share = dropped.len() as f64 / frames.len() as f64;
    assert!((sets["incomplete_share"].as_f64().unwrap() - share).abs() < 1e-6);
    assert_eq!(told["frames"]["dropped"], dropped.len());
    // Time is virtual here. On a busy machine, a set waits for a slot until it is complete, and the row would be all zeros.
    let text = stdout(&run(&["report", "run.mcap"], folder));
    assert!(text.contains("synchronise"), "{text}");
}

#[test]
fn what_makes_no_sets_is_told_before_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    drive(folder, "nuscenes", "drive", "3");
    let refused = |source: &str, tolerance: &str, words: &str| {
        let tenant = format!(
            "detector: Fusion(camera: \"builtin:camera\", lidar: \"builtin:lidar\", tolerance: \"{tolerance}\"), \
             backend: Cpu(threads: 1), arrival: Replay, source: {source}"
        );
        assert_refused(&run_of(folder, &tenant, ""), 2, &[words]);
    };
    refused(
        "NuScenes(path: \"drive\", sensors: [\"CAM_FRONT\", \"LIDAR_TPO\"])",
        "50ms",
        "LIDAR_TOP",
    );
    let wrong = "detector: Fusion(camera: \"builtin:lidar\", lidar: \"builtin:camera\"), backend: Cpu(threads: 1), \
                 source: Synthetic(sensors: [Camera, Lidar], scenes: 1)";
    assert_refused(
        &run_of(folder, wrong, ""),
        2,
        &["are the two the wrong way round?"],
    );
}

#[test]
fn a_bag_has_sets_where_it_says_where_its_sensors_are() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    drive(folder, "mcap", "bag", "2");
    let told = stdout(&run(&["inspect", "bag", "--format", "json"], folder));
    let topics: Value = serde_json::from_str(&told).unwrap();
    let of_kind = |wanted: &str| {
        let topics = topics["bag"]["topics"].as_array().unwrap();
        let topic = topics.iter().find(|topic| {
            let kind = topic["kind"].as_str().or(topic["type"].as_str());
            kind.unwrap_or_default().ends_with(wanted)
        });
        let topic = topic.unwrap_or_else(|| panic!("no {wanted} in {told}"));
        topic["name"]
            .as_str()
            .or(topic["topic"].as_str())
            .unwrap()
            .to_owned()
    };
    let (camera, lidar) = (of_kind("Image"), of_kind("PointCloud2"));
    let tenant = format!(
        "{BOTH}, backend: Cpu(threads: 1), arrival: Replay, frames: 3, overload: Queue(capacity: 100), \
         source: Bag(path: \"bag\", topics: [\"{camera}\", \"{lidar}\"])"
    );
    let output = run_of(folder, &tenant, "");
    let told = summary(&output);
    assert_eq!(told["frames"]["completed"], 3, "{}", stderr(&output));
    assert_eq!(told["synchronised"]["complete"], 3);
}

#[test]
fn a_raw_drive_of_kitti_has_sets_of_its_camera_and_its_lidar() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    drive(folder, "kitti", "raw", "1");
    let tenant = format!(
        "{BOTH}, backend: Cpu(threads: 1), arrival: Replay, overload: Queue(capacity: 100), source: Kitti(path: \"raw\", \
         layout: Raw, sequence: \"2023_11_14_drive_0001_sync\", sensors: [Camera, Lidar], repeat: false)"
    );
    let output = run_of(folder, &tenant, "");
    let told = summary(&output);
    assert_eq!(told["frames"]["completed"], 10, "{}", stderr(&output));
    assert_eq!(told["synchronised"]["complete"], 10);
    let (frames, found) = recorded(folder);
    assert!(
        frames
            .iter()
            .all(|frame| frame.skew.is_some_and(|skew| skew.0 >= 0)),
        "each set tells how far its sensors are apart"
    );
    assert!(
        found.iter().any(|(_, found)| !found.is_empty()),
        "an empty street"
    );
}
