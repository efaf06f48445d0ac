//! Several cameras with one LiDAR: their images go through one network, one after the other or together, and an object has one box
//! however many of them see it.

use std::fs;
use std::path::Path;

use jetlag::detector::{Detection, Place};
use jetlag::record::RunReader;
use serde_json::{Value, json};

use super::{Recorded, drive, read_again, recorded, run_of, summary};
use crate::batches::{answer_for, any_batch};
use crate::common::output::{assert_refused, run, stderr, stdout};

/// A camera that takes the images of CAM_FRONT.
pub(super) struct Copied {
    pub(super) channel: &'static str,
    /// Whether it looks backward.
    pub(super) is_turned: bool,
    /// How much later it captures, in microseconds.
    pub(super) later: i64,
}

fn table(drive: &Path, name: &str, change: impl FnOnce(&mut Vec<Value>)) {
    let path = drive.join(format!("v1.0-mini/{name}.json"));
    let mut rows: Vec<Value> = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    change(&mut rows);
    fs::write(&path, serde_json::to_vec(&rows).unwrap()).unwrap();
}

/// Adds cameras to a made drive of nuScenes.
pub(super) fn add_cameras(drive: &Path, cameras: &[Copied]) {
    let mut front = String::new();
    table(drive, "sensor", |rows| {
        let row = rows.iter().find(|row| row["channel"] == "CAM_FRONT").unwrap();
        front = row["token"].as_str().unwrap().to_owned();
        let added = cameras.iter().map(
            |of| json!({ "token": format!("sensor-{}", of.channel), "channel": of.channel, "modality": "camera" }),
        );
        rows.extend(added.collect::<Vec<_>>());
    });
    table(drive, "calibrated_sensor", |rows| {
        let row = rows
            .iter()
            .find(|row| row["sensor_token"] == *front)
            .unwrap()
            .clone();
        front = row["token"].as_str().unwrap().to_owned();
        rows.extend(cameras.iter().map(|of| {
            let mut row = row.clone();
            row["token"] = json!(format!("place-{}", of.channel));
            row["sensor_token"] = json!(format!("sensor-{}", of.channel));
            if of.is_turned {
                // Half a turn about the vertical, after its own.
                let [w, x, y, z] = [0, 1, 2, 3].map(|n| row["rotation"][n].as_f64().unwrap());
                row["rotation"] = json!([-z, -y, x, w]);
            }
            row
        }));
    });
    table(drive, "sample_data", |rows| {
        let of_front = |row: &&Value| row["calibrated_sensor_token"] == *front;
        let captures: Vec<Value> = rows.iter().filter(of_front).cloned().collect();
        for of in cameras {
            let renamed = |token: &Value| match token.as_str().unwrap() {
                "" => json!(""),
                token => json!(format!("{}-{token}", of.channel)),
            };
            rows.extend(captures.iter().cloned().map(|mut row| {
                for link in ["token", "prev", "next"] {
                    row[link] = renamed(&row[link]);
                }
                row["calibrated_sensor_token"] = json!(format!("place-{}", of.channel));
                row["timestamp"] = json!(row["timestamp"].as_i64().unwrap() + of.later);
                row
            }));
        }
    });
}

pub(super) const ALL: [Copied; 2] = [
    Copied {
        channel: "CAM_FRONT_RIGHT",
        is_turned: false,
        later: 2000,
    },
    Copied {
        channel: "CAM_BACK",
        is_turned: true,
        later: 4000,
    },
];

/// What was found in the first frames of a drive, frame by frame.
fn found_in(folder: &Path, detector: &str, sensors: &str, count: usize) -> Vec<Vec<Detection>> {
    let tenant = format!(
        "detector: {detector}, backend: Cpu(threads: 1), arrival: Replay, frames: {count}, overload: Queue(capacity: 100), \
         source: NuScenes(path: \"drive\", {sensors})"
    );
    let output = run_of(folder, &tenant, "");
    let told = summary(&output);
    assert_eq!(told["frames"]["completed"], count, "{}", stderr(&output));
    let (frames, found): Recorded = recorded(folder);
    let of = |sequence: u64| {
        let list = found.iter().find(|(of, _)| *of == sequence);
        list.map(|(_, list)| list.clone()).unwrap_or_default()
    };
    frames.iter().map(|frame| of(frame.sequence)).collect()
}

fn in_space(all: &[Detection]) -> Vec<&Detection> {
    all.iter()
        .filter(|of| matches!(of.place, Place::Space(_)))
        .collect()
}

fn in_image(all: &[Detection], camera: u8) -> Vec<Place> {
    let seen = all
        .iter()
        .filter(|of| matches!(of.place, Place::Image(_)) && of.camera == camera);
    let mut places: Vec<Place> = seen.map(|of| of.place).collect();
    places.sort_by(|a, b| format!("{a:?}").cmp(&format!("{b:?}")));
    places
}

#[test]
fn a_box_that_two_cameras_see_is_one_and_one_behind_is_not_joined() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    drive(folder, "nuscenes", "drive", "3");
    add_cameras(&folder.join("drive"), &ALL);
    let late = "Fusion(camera: \"builtin:camera\", lidar: \"builtin:lidar\")";
    let one = found_in(folder, late, "sensors: [\"CAM_FRONT\", \"LIDAR_TOP\"]", 6);
    // Sweeps come more often than images.
    let lidar = found_in(folder, "\"builtin:lidar\"", "sensor: \"LIDAR_TOP\"", 20);
    let all_sensors = "sensors: [\"CAM_FRONT\", \"LIDAR_TOP\", \"CAM_FRONT_RIGHT\", \"CAM_BACK\"]";
    let three = found_in(folder, late, all_sensors, 6);
    let mut joined = 0;
    for (one, three) in one.iter().zip(&three) {
        assert_eq!(in_space(one).len(), in_space(three).len());
        for of in in_space(three) {
            let same = |other: &&&Detection| other.place == of.place;
            let seen_once = in_space(one).into_iter().find(|other| same(&other)).unwrap();
            let by_lidar: Vec<&Detection> = lidar.iter().flatten().filter(|other| same(&other)).collect();
            let [alone, ..] = by_lidar[..] else {
                panic!("the LiDAR alone does not find {of:?}")
            };
            // That the LiDAR and both cameras before it are wrong; the one behind has nothing to say.
            let wrong = (1.0 - seen_once.score) / (1.0 - alone.score);
            let wanted = 1.0 - (1.0 - alone.score) * wrong * wrong;
            assert!((of.score - wanted).abs() < 1e-5, "{of:?} and {wanted}");
            joined += usize::from(wrong < 0.99);
        }
        // Boxes of a camera keep the camera that they belong to; what was joined in one image was in the other as well.
        assert_eq!(in_image(three, 0), in_image(one, 0));
        assert_eq!(in_image(three, 1), in_image(one, 0));
        assert!(in_image(three, 2).len() >= in_image(one, 0).len());
    }
    assert!(
        joined >= 2,
        "only {joined} boxes were seen by an image and the LiDAR"
    );
    // The order of cameras is that of the fusion's field, where it has one; with it a LiDAR may stand anywhere.
    let named = "Fusion(camera: \"builtin:camera\", lidar: \"builtin:lidar\", cameras: [\"CAM_BACK\", \"CAM_FRONT\"])";
    let turned = found_in(
        folder,
        named,
        "sensors: [\"LIDAR_TOP\", \"CAM_FRONT\", \"CAM_BACK\"]",
        6,
    );
    for (turned, three) in turned.iter().zip(&three) {
        assert_eq!(in_image(turned, 0), in_image(three, 2));
        assert_eq!(in_image(turned, 1), in_image(three, 0));
    }
    let csv = run(&["export", "run.mcap", "--format", "csv", "-o", "tables"], folder);
    assert!(csv.status.success(), "{}", stderr(&csv));
    let table = fs::read_to_string(folder.join("tables/detections.csv")).unwrap();
    assert!(table.lines().next().unwrap().ends_with(",camera"), "{table}");
    assert!(table.lines().any(|line| line.ends_with(",1")), "{table}");
    // The resolved scenario says all of it, and is read again.
    let again = read_again(folder);
    let place = |name: &str| {
        again
            .rfind(name)
            .unwrap_or_else(|| panic!("no {name} in {again}"))
    };
    assert!(place("CAM_BACK") < place("CAM_FRONT"), "{again}");
    let reader = RunReader::open(&folder.join("run.mcap")).unwrap();
    let written = serde_json::to_value(reader.manifest().scenario().unwrap()).unwrap();
    let source = &written["tenants"][0]["source"]["Synchronised"];
    assert_eq!(source["camera"]["NuScenes"]["sensor"], "CAM_BACK");
    assert_eq!(source["more_cameras"][0]["NuScenes"]["sensor"], "CAM_FRONT");
    assert_eq!(written["tenants"][0]["detector"]["Fusion"]["cameras"], 2);
}

#[test]
fn images_together_in_one_inference_find_what_they_find_one_after_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    drive(folder, "nuscenes", "drive", "3");
    add_cameras(&folder.join("drive"), &ALL);
    any_batch(folder);
    let sensors = "sensors: [\"CAM_FRONT\", \"CAM_FRONT_RIGHT\", \"CAM_BACK\", \"LIDAR_TOP\"]";
    let in_turn = found_in(
        folder,
        "Fusion(camera: \"builtin:camera\", lidar: \"builtin:lidar\")",
        sensors,
        4,
    );
    let together = found_in(
        folder,
        "Fusion(camera: \"camera.ron\", lidar: \"builtin:lidar\")",
        sensors,
        4,
    );
    for (one, other) in in_turn.iter().zip(&together) {
        assert_eq!(one.len(), other.len());
        for (a, b) in one.iter().zip(other) {
            // Sums of a batch are rounded otherwise.
            assert!((a.score - b.score).abs() < 1e-3, "{a:?} and {b:?}");
            assert_eq!((a.class, a.camera), (b.class, b.camera), "{a:?} and {b:?}");
        }
    }
    let text = stdout(&run(&["report", "run.mcap"], folder));
    // Lines may break anywhere.
    let flowing = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flowing.contains("stayed incomplete"), "{text}");
    // One whose outputs are those of another number of images, whatever goes in.
    answer_for(folder, 2);
    let refused = run(&["run", "s.ron", "--dry-run"], folder);
    let words = "takes any number of images at once, and its output `";
    assert_refused(
        &refused,
        2,
        &[words, "` is of 2 always, while the source has 3 cameras"],
    );
}

#[test]
fn sensors_that_make_no_sets_of_several_are_told_before_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    drive(folder, "nuscenes", "drive", "3");
    let later = Copied {
        channel: "CAM_BACK",
        is_turned: true,
        later: 3_600_000_000,
    };
    add_cameras(&folder.join("drive"), &[later]);
    let refused = |more: &str, sensors: &str, words: &[&str]| {
        let tenant = format!(
            "detector: Fusion(camera: \"builtin:camera\", lidar: \"builtin:lidar\"{more}), backend: Cpu(threads: 1), \
             arrival: Replay, source: NuScenes(path: \"drive\", sensors: [{sensors}])"
        );
        assert_refused(&run_of(folder, &tenant, ""), 2, words);
    };
    refused(
        "",
        "\"CAM_FRONT\", \"CAM_BACK\", \"LIDAR_TOP\"",
        &["never at the same time", "CAM_BACK"],
    );
    refused(
        "",
        "\"CAM_FRONT\", \"CAM_BAK\", \"LIDAR_TOP\"",
        &["CAM_BAK", "CAM_BACK"],
    );
    refused(
        "",
        "\"CAM_FRONT\", \"CAM_FRONT\", \"LIDAR_TOP\"",
        &["CAM_FRONT in the sensors of tenant `both` is given twice"],
    );
    refused(
        ", cameras: [\"CAM_FRNT\"]",
        "\"CAM_FRONT\", \"LIDAR_TOP\"",
        &["CAM_FRNT", "CAM_FRONT is probably meant"],
    );
    refused(
        "",
        "\"CAM_FRONT\", \"CAM_BACK\"",
        &["a set is of cameras and one LiDAR"],
    );
    // A camera of which the tables do not say how it projects.
    table(&folder.join("drive"), "calibrated_sensor", |rows| {
        let row = rows
            .iter_mut()
            .find(|row| row["token"] == "place-CAM_BACK")
            .unwrap();
        row["camera_intrinsic"] = json!([]);
    });
    table(&folder.join("drive"), "sample_data", |rows| {
        let of_back = |row: &&mut Value| row["calibrated_sensor_token"] == "place-CAM_BACK";
        for row in rows.iter_mut().filter(of_back) {
            row["timestamp"] = json!(row["timestamp"].as_i64().unwrap() - 3_600_000_000);
        }
    });
    refused(
        "",
        "\"CAM_FRONT\", \"CAM_BACK\", \"LIDAR_TOP\"",
        &["no calibration: it is not known how the camera of", "CAM_BACK"],
    );
}
