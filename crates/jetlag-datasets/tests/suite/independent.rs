//! The same folders as the datasets' own readers see them: nuscenes-devkit and pykitti, where `scripts/setup.sh --test`
//! installed them.

use std::path::Path;
use std::process::Command;

use jetlag_datasets::geometry::Matrix;
use jetlag_datasets::kitti::{self, Calibration, Camera, Layout, Sensor};
use jetlag_datasets::nuscenes::{BoxFrame, GroundTruth, NuScenes, Selection};
use jetlag_datasets::sweeps::{MIN_DISTANCE, SweepCloud};
use nvidia_doubles::machine::{python, shared};
use serde_json::Value;

use crate::made::Made;
use crate::made_kitti;

/// Both readers are installed together with this module.
const INSTALLED: &str = "pyquaternion, PIL";

fn ask(arguments: &[&str]) -> Option<Value> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/devkit.py");
    let output = Command::new(python(INSTALLED)?)
        .arg(script)
        .args(arguments)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(items) => items.iter().flat_map(numbers).collect(),
        number => vec![number.as_f64().unwrap()],
    }
}

#[track_caller]
fn near(found: impl IntoIterator<Item = f64>, expected: &Value, within: f64) {
    let (found, expected): (Vec<f64>, _) = (found.into_iter().collect(), numbers(expected));
    assert_eq!(found.len(), expected.len());
    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!(
            (found - expected).abs() <= within,
            "number {at}: {found}, not {expected}"
        );
    }
}

fn compare_nuscenes(root: &Path) {
    let arguments = ["nuscenes", root.to_str().unwrap(), "v1.0-mini", "LIDAR_TOP", "10"];
    let Some(theirs) = ask(&arguments) else {
        return;
    };
    let nuscenes = NuScenes::open(root, None).unwrap();
    let lidar = nuscenes
        .select(&Selection {
            sweeps: 10,
            ..Selection::of("LIDAR_TOP")
        })
        .unwrap();
    let mut cloud = SweepCloud::default();
    let mut compared = 0;
    for their in theirs["clouds"].as_array().unwrap() {
        let token = their["token"].as_str().unwrap();
        let number = lidar
            .frames()
            .position(|frame| frame.token.to_string() == token)
            .unwrap();
        cloud.clear();
        for sweep in lidar.sweeps(number) {
            let bytes = std::fs::read(&sweep.capture.file).unwrap();
            cloud.append(&bytes, &sweep.place, MIN_DISTANCE).unwrap();
        }
        near(
            cloud.points.as_flattened().iter().map(|v| f64::from(*v)),
            &their["points"],
            1e-4,
        );
        near(cloud.time.iter().map(|v| f64::from(*v)), &their["time"], 1e-6);
        compared += cloud.points.len();
    }
    assert!(compared > 10_000);
    let truth = GroundTruth::read(&nuscenes).unwrap();
    let frames = theirs["frames"].as_array().unwrap();
    assert_eq!(frames.len(), lidar.len());
    for their in frames {
        let token = their["token"].as_str().unwrap();
        let frame = lidar
            .frames()
            .find(|frame| frame.token.to_string() == token)
            .unwrap();
        let sensor = truth.boxes(frame, BoxFrame::Sensor).unwrap();
        let global = truth.boxes(frame, BoxFrame::Global).unwrap();
        let boxes = their["boxes"].as_array().unwrap();
        assert_eq!(sensor.len(), boxes.len(), "{token}");
        for ((sensor, global), their) in sensor.iter().zip(&global).zip(boxes) {
            assert_eq!(sensor.token.to_string(), their["token"].as_str().unwrap());
            assert_eq!(sensor.category, their["category"].as_str().unwrap());
            near(global.pose.translation, &their["global"], 1e-6);
            near(sensor.pose.translation, &their["sensor"], 1e-6);
            near(
                [sensor.place.w, sensor.place.l, sensor.place.h].map(f64::from),
                &their["wlh"],
                1e-5,
            );
            let turned = (f64::from(sensor.place.yaw) - their["yaw"].as_f64().unwrap())
                .rem_euclid(std::f64::consts::TAU);
            assert!(turned.min(std::f64::consts::TAU - turned) < 1e-5, "{token}");
            match global.velocity {
                Some(velocity) => near(velocity, &their["velocity"], 1e-5),
                None => assert!(their["velocity"].is_null(), "{token}"),
            }
        }
    }
}

#[test]
fn nuscenes_devkit_sees_a_made_up_dataset_in_the_same_way() {
    let folder = tempfile::tempdir().unwrap();
    Made::new(2).write(folder.path());
    compare_nuscenes(folder.path());
}

#[test]
fn nuscenes_devkit_sees_the_real_keyframe_in_the_same_way() {
    if let Some(root) = shared("data/sensors/nuscenes_one_sample") {
        compare_nuscenes(&root);
    }
}

fn compare_calibration(ours: &Calibration, theirs: &Value) {
    for (matrix, name) in ours
        .projections
        .iter()
        .zip(["P_rect_00", "P_rect_10", "P_rect_20", "P_rect_30"])
    {
        let matrix = matrix.unwrap();
        near(matrix.as_flattened().iter().copied(), &theirs[name], 1e-9);
    }
    for (camera, name) in [
        (Camera::GreyLeft, "T_cam0_velo"),
        (Camera::ColourLeft, "T_cam2_velo"),
        (Camera::ColourRight, "T_cam3_velo"),
    ] {
        let place: Matrix = ours.lidar_to_rectified(camera).unwrap();
        near(place.as_flattened().iter().copied(), &theirs[name], 1e-9);
    }
    near(
        ours.intrinsic(Camera::ColourLeft)
            .unwrap()
            .as_flattened()
            .iter()
            .copied(),
        &theirs["K_cam2"],
        1e-9,
    );
}

fn compare_poses(frames: &[kitti::KittiFrame], theirs: &Value) {
    let theirs = theirs.as_array().unwrap();
    for frame in frames {
        near(
            frame.pose.unwrap().as_flattened().iter().copied(),
            &theirs[frame.number],
            1e-6,
        );
    }
}

#[test]
fn pykitti_sees_a_raw_drive_in_the_same_way() {
    let folder = tempfile::tempdir().unwrap();
    made_kitti::raw(folder.path());
    let Some(theirs) = ask(&["raw", folder.path().to_str().unwrap(), "2011_09_26", "0001"]) else {
        return;
    };
    let drive = made_kitti::DRIVE.to_owned();
    let ours = kitti::open(folder.path(), &Layout::Raw { drive }, Sensor::Velodyne).unwrap();
    let calibration = &ours.frames[0].calibration;
    compare_calibration(calibration, &theirs["calibration"]);
    near(
        calibration.imu_to_lidar.unwrap().as_flattened().iter().copied(),
        &theirs["calibration"]["T_velo_imu"],
        1e-9,
    );
    compare_poses(&ours.frames, &theirs["poses"]);
    // It reads the times of the inertial unit, which here come 4 ms before the LiDAR's.
    let times = numbers(&theirs["times_us"]);
    for frame in &ours.frames {
        assert_eq!(
            frame.captured.unwrap().0 / 1000,
            times[frame.number] as i64 + 4000
        );
    }
}

#[test]
fn pykitti_sees_an_odometry_sequence_in_the_same_way() {
    let folder = tempfile::tempdir().unwrap();
    made_kitti::odometry(folder.path());
    let Some(theirs) = ask(&["odometry", folder.path().to_str().unwrap(), "00"]) else {
        return;
    };
    let sequence = "00".to_owned();
    let ours = kitti::open(folder.path(), &Layout::Odometry { sequence }, Sensor::Velodyne).unwrap();
    compare_calibration(&ours.frames[0].calibration, &theirs["calibration"]);
    compare_poses(&ours.frames, &theirs["poses"]);
    for (frame, time) in ours.frames.iter().zip(numbers(&theirs["times_us"])) {
        assert!((frame.captured.unwrap().0 / 1000 - time as i64).abs() <= 1);
    }
}
