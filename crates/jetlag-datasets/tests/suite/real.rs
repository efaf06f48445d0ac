//! The real files beside the repository: a keyframe of nuScenes, a folder that only resembles it, two frames of KITTI.

use jetlag_datasets::kitti::{self, Camera, Layout, Sensor, Split};
use jetlag_datasets::nuscenes::{BoxFrame, GroundTruth, Note, NuScenes, Scenes, Selection};
use jetlag_datasets::sweeps::{SweepCloud, SweepPlace};
use jetlag_record::units::Nanos;
use nvidia_doubles::machine::shared;
use serde_json::Value;

#[test]
fn the_keyframe_of_nuscenes_is_as_the_devkit_has_it() {
    let Some(root) = shared("data/sensors/nuscenes_one_sample") else {
        return;
    };
    let expected: Value =
        serde_json::from_slice(&std::fs::read(root.join("expected.json")).unwrap()).unwrap();
    let nuscenes = NuScenes::open(&root, None).unwrap();
    assert!(nuscenes.notes().is_empty(), "{:?}", nuscenes.notes());
    let lidar = nuscenes.select(&Selection::of("LIDAR_TOP")).unwrap();
    let frame = lidar.frame(0).unwrap();
    assert_eq!(frame.sample.to_string(), expected["sample"].as_str().unwrap());
    assert_eq!(frame.captured, Nanos(1_532_402_927_647_951_000));
    let mut cloud = SweepCloud::default();
    let bytes = std::fs::read(&frame.file).unwrap();
    cloud.append(&bytes, &SweepPlace::newest(), 0.0).unwrap();
    assert_eq!(cloud.points.len() as u64, expected["points"].as_u64().unwrap());
    assert!(cloud.ring.iter().all(|ring| (0.0..32.0).contains(ring)));
    let truth = GroundTruth::read(&nuscenes).unwrap();
    let boxes = truth.boxes(frame, BoxFrame::Sensor).unwrap();
    let theirs = expected["boxes_in_lidar_frame"].as_array().unwrap();
    assert_eq!(boxes.len(), theirs.len());
    for (ours, theirs) in boxes.iter().zip(theirs) {
        let number = |value: &Value| value.as_f64().unwrap();
        assert_eq!(ours.category, theirs["label"].as_str().unwrap());
        let place = [ours.place.x, ours.place.y, ours.place.z];
        for (ours, theirs) in place.iter().zip(theirs["center_lidar"].as_array().unwrap()) {
            assert!((f64::from(*ours) - number(theirs)).abs() < 2e-3, "{theirs}");
        }
        let size = [ours.place.w, ours.place.l, ours.place.h];
        for (ours, theirs) in size.iter().zip(theirs["wlh"].as_array().unwrap()) {
            assert!((f64::from(*ours) - number(theirs)).abs() < 1e-3, "{theirs}");
        }
        let turned =
            (f64::from(ours.place.yaw) - number(&theirs["yaw_lidar"])).rem_euclid(std::f64::consts::TAU);
        assert!(
            turned.min(std::f64::consts::TAU - turned) < 5e-3,
            "{ours:?} {theirs}"
        );
        assert_eq!(
            u64::from(ours.lidar_points.unwrap()),
            theirs["num_lidar_pts"].as_u64().unwrap()
        );
    }
    // All seven channels on one line: it begins with the earliest and reaches to the latest.
    for channel in [
        "CAM_FRONT",
        "CAM_BACK",
        "CAM_FRONT_LEFT",
        "CAM_FRONT_RIGHT",
        "CAM_BACK_LEFT",
        "CAM_BACK_RIGHT",
    ] {
        let camera = nuscenes.select(&Selection::of(channel)).unwrap();
        assert_eq!(camera.time_line, lidar.time_line);
        assert!(camera.frame(0).unwrap().sensor.intrinsic.is_some());
    }
    assert_eq!(lidar.time_line.origin, Nanos(1_532_402_927_604_844_000));
    assert_eq!(frame.offset, Nanos::from_micros(43_107));
}

#[test]
fn a_folder_that_only_resembles_nuscenes_is_read_as_far_as_it_goes() {
    let Some(root) = shared("data/sensors/nuscenes_like_4lidar") else {
        return;
    };
    let nuscenes = NuScenes::open(&root, Some("v1.0-mini")).unwrap();
    let notes = nuscenes.notes();
    assert!(
        notes.contains(&Note::NoPoses) && notes.contains(&Note::Strays { rows: 16 }),
        "{notes:?}"
    );
    assert!(
        notes.contains(&Note::Matrices {
            table: "calibrated_sensor",
            rows: 12
        }),
        "{notes:?}"
    );
    assert!(
        notes.contains(&Note::Nanoseconds {
            table: "sample_data",
            rows: 596
        }),
        "{notes:?}"
    );
    assert_eq!(
        (
            nuscenes.captures(),
            nuscenes.channels().count(),
            nuscenes.scenes().len()
        ),
        (596, 12, 1)
    );
    let error = nuscenes
        .select(&Selection::of("CAMERA_0"))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("59 of 59 files of CAMERA_0 are missing"),
        "{error}"
    );
    // Two of its sweeps are there: they are played, and the others counted.
    let part = nuscenes.select(&Selection::of("LIDAR_FRONT")).unwrap();
    let missing = part.missing().unwrap().to_string();
    assert!(
        missing.contains("25 of 27 files of LIDAR_FRONT are missing"),
        "{missing}"
    );
    let mut selection = Selection::of("LIDAR_FRONT");
    selection.scenes = Scenes::Numbers(vec![0]);
    selection.sweeps = 3;
    let error = nuscenes.select(&selection).unwrap_err().to_string();
    assert!(error.contains("does not say where the car was"), "{error}");
    let error = GroundTruth::read(&nuscenes).err().unwrap().to_string();
    assert!(
        error.contains("lacks category.json, instance.json, sample_annotation.json"),
        "{error}"
    );
}

#[test]
fn frames_of_kitti_have_their_calibration_and_labels() {
    let Some(root) = shared("data/sensors/kitti") else {
        return;
    };
    for sensor in [Sensor::Velodyne, Sensor::Camera(Camera::ColourLeft)] {
        for root in [root.clone(), root.join("training")] {
            let kitti = kitti::open(&root, &Layout::Object(Split::Training), sensor).unwrap();
            let numbers: Vec<usize> = kitti.frames.iter().map(|frame| frame.number).collect();
            assert_eq!(numbers, [1, 8]);
            assert!(kitti.time_line.is_none() && kitti.gaps.is_empty());
            let frame = &kitti.frames[0];
            assert!(frame.labels.as_ref().unwrap().ends_with("label_2/000001.txt"));
            assert_eq!(
                frame.calibration.intrinsic(Camera::ColourLeft).unwrap()[0],
                [721.5377, 0.0, 609.5593]
            );
            // 27 cm behind the camera, and six to its right.
            let place = frame.calibration.lidar_to_rectified(Camera::ColourLeft).unwrap();
            assert!(
                (place[2][3] + 0.2721).abs() < 1e-3 && (place[0][3] - 0.0594).abs() < 1e-2,
                "{place:?}"
            );
        }
    }
    let error = kitti::open(&root, &Layout::Object(Split::Testing), Sensor::Velodyne)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("testing") && error.starts_with("cannot read"),
        "{error}"
    );
}
