//! Images of several cameras without a LiDAR: those of one moment in one inference, each a frame of its own.

use std::collections::BTreeMap;
use std::fs;

use jetlag::detector::{Detection, Place};
use jetlag::record::{FrameRecord, RunReader, Stage};
use jetlag::units::{Nanos, Stamp};
use serde_json::{Value, json};

use super::cameras::{ALL, add_cameras};
use super::{drive, recorded, run_of, summary};
use crate::batches::any_batch;
use crate::common::output::{assert_refused, run, stderr, stdout};

const NAMES: [&str; 3] = ["CAM_FRONT", "CAM_FRONT_RIGHT", "CAM_BACK"];

fn places(found: &[Detection]) -> Vec<(u16, Place)> {
    found.iter().map(|of| (of.class, of.place)).collect()
}

#[test]
fn images_of_one_moment_have_one_inference_and_their_own_times_and_boxes() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    drive(folder, "nuscenes", "drive", "3");
    add_cameras(&folder.join("drive"), &ALL);
    any_batch(folder);
    let ran = |sensors: &str, more: &str| {
        let tenant = format!(
            "detector: \"camera.ron\", backend: Cpu(threads: 1), arrival: Replay, overload: Queue(capacity: 100), \
             source: NuScenes(path: \"drive\", {sensors}), {more}"
        );
        let output = run_of(folder, &tenant, "");
        let told = summary(&output);
        assert!(
            told["frames"]["completed"].as_u64().unwrap() >= 4,
            "{}",
            stderr(&output)
        );
        let (frames, found) = recorded(folder);
        let found: BTreeMap<u64, Vec<Detection>> = found.into_iter().collect();
        let of = |frame: &FrameRecord| found.get(&frame.sequence).cloned().unwrap_or_default();
        let all: Vec<(FrameRecord, Vec<Detection>)> =
            frames.iter().map(|frame| (*frame, of(frame))).collect();
        all
    };
    let alone = ran("sensor: \"CAM_FRONT\"", "frames: 4");
    // Two and four milliseconds after the first, and 83 ms before the next: a moment is three frames.
    let sensors = "sensors: [\"CAM_FRONT\", \"CAM_FRONT_RIGHT\", \"CAM_BACK\"]";
    let all = ran(sensors, "batch: 3, batch_wait: \"2s\", frames: 12");
    assert_eq!(all.len(), 12);
    for (moment, alone) in all.chunks(3).zip(&alone) {
        let first = moment[0].0;
        for (camera, (frame, found)) in moment.iter().enumerate() {
            let batch = frame.batch.unwrap();
            assert_eq!(frame.camera, Some(camera as u8));
            assert_eq!((batch.first, batch.items), (first.sequence, 3), "{frame:?}");
            assert_eq!(
                frame.captured.map(|at| at - first.captured.unwrap()),
                Some(Nanos::from_millis(2 * camera as i64))
            );
            assert!(frame.released >= first.released && frame.stages[Stage::Queue as usize].is_some());
            assert!(frame.finished > frame.started);
            assert!(
                found.iter().all(|of| usize::from(of.camera) == camera),
                "{found:?}"
            );
            // The cameras have the same images.
            assert_eq!(found.len(), alone.1.len());
            for ((class, place), (wanted, at)) in places(found).iter().zip(places(&alone.1)) {
                let (Place::Image(a), Place::Image(b)) = (place, at) else {
                    panic!("a camera finds boxes in the image")
                };
                assert_eq!(*class, wanted);
                assert!(
                    (a.x1 - b.x1).abs() < 0.1 && (a.y2 - b.y2).abs() < 0.1,
                    "{a:?} and {b:?}"
                );
            }
        }
        let responses: Vec<Nanos> = moment.iter().map(|(frame, _)| frame.response()).collect();
        assert!(responses[0] > Nanos::from_millis(4), "it waited for the others");
    }
    assert!(all.iter().any(|(_, found)| !found.is_empty()));
    let reader = RunReader::open(&folder.join("run.mcap")).unwrap();
    let written = serde_json::to_value(reader.manifest().scenario().unwrap()).unwrap();
    let cameras = written["tenants"][0]["source"]["Cameras"].as_array().unwrap();
    assert_eq!(cameras.len(), 3);
    // Each camera by itself: in JSON, on screen, on the page and in the tables.
    let told: Value =
        serde_json::from_str(&stdout(&run(&["report", "run.mcap", "--format", "json"], folder))).unwrap();
    let by_camera = told["tenants"][0]["cameras"].as_array().unwrap();
    for (number, (of, name)) in by_camera.iter().zip(NAMES).enumerate() {
        assert_eq!((&of["camera"], &of["name"]), (&json!(number), &json!(name)));
        let own: Vec<f64> = all
            .iter()
            .filter(|(frame, _)| frame.camera == Some(number as u8))
            .map(|(frame, _)| frame.response().as_millis_f64())
            .collect();
        assert_eq!(
            (&of["completed"], &of["response_ms"]["count"]),
            (&json!(4), &json!(4))
        );
        let most = own.iter().copied().fold(0.0, f64::max);
        assert!(
            (of["response_ms"]["max"].as_f64().unwrap() - most).abs() < 1e-5,
            "{of}"
        );
        assert_eq!(of["age_ms"]["count"], 4);
    }
    let text = stdout(&run(&["report", "run.mcap"], folder));
    assert!(
        text.contains("EACH CAMERA") && text.contains("CAM_FRONT_RIGHT"),
        "{text}"
    );
    let output = run(&["report", "run.mcap", "--html", "page.html"], folder);
    assert!(output.status.success(), "{}", stderr(&output));
    let page = fs::read_to_string(folder.join("page.html")).unwrap();
    assert!(page.contains("Each camera") && page.contains("CAM_BACK"));
    let csv = run(&["export", "run.mcap", "--format", "csv", "-o", "tables"], folder);
    assert!(csv.status.success(), "{}", stderr(&csv));
    let table = fs::read_to_string(folder.join("tables/frames.csv")).unwrap();
    let mut last = table.lines().map(|line| line.rsplit(',').next().unwrap());
    assert_eq!(last.next(), Some("camera"));
    assert_eq!(last.collect::<Vec<_>>(), ["0", "1", "2"].repeat(4));
    let words = "nuScenes has boxes in space and none in images, so what was found in CAM_FRONT, CAM_FRONT_RIGHT, CAM_BACK cannot";
    assert_refused(&run(&["eval", "run.mcap"], folder), 2, &[words]);
    let tenant = "detector: \"builtin:lidar\", backend: Cpu(threads: 1), arrival: Replay, \
                  source: NuScenes(path: \"drive\", sensors: [\"CAM_FRONT\", \"CAM_BACK\"])";
    assert_refused(&run_of(folder, tenant, ""), 2, &["takes Points frames"]);
}

#[test]
fn frames_that_are_dropped_mix_no_moments_and_a_line_that_holds_none_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    drive(folder, "nuscenes", "drive", "3");
    add_cameras(&folder.join("drive"), &ALL);
    any_batch(folder);
    let tenant = |overload: &str| {
        format!(
            "detector: \"camera.ron\", backend: Cpu(threads: 1), arrival: Replay, batch: 3, frames: 60, {overload} \
             source: NuScenes(path: \"drive\", sensors: [\"CAM_FRONT\", \"CAM_FRONT_RIGHT\", \"CAM_BACK\"])"
        )
    };
    run_of(folder, &tenant(""), "");
    let (frames, _) = recorded(folder);
    let mut batches: BTreeMap<u64, Vec<Stamp>> = BTreeMap::new();
    for frame in frames {
        // Those that were dropped are of a camera as well.
        assert_eq!(frame.camera, Some((frame.sequence % 3) as u8), "{frame:?}");
        if let Some(batch) = frame.batch {
            batches
                .entry(batch.first)
                .or_default()
                .push(frame.captured.unwrap());
        }
    }
    assert!(!batches.is_empty());
    for captured in batches.values() {
        // Moments are 83 ms apart, and their images 4 ms.
        let spread = *captured.iter().max().unwrap() - *captured.iter().min().unwrap();
        assert!(spread <= Nanos::from_millis(4), "{captured:?}");
    }
    assert_refused(
        &run_of(folder, &tenant("overload: DropOldest(queue: 2),"), ""),
        2,
        &["the images of 3 cameras do not fit into a line of 2; give it 3 or more"],
    );
}
