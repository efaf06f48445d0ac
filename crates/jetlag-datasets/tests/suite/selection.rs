//! Scenes and channels of made-up datasets.

use jetlag_datasets::DatasetError;
use jetlag_datasets::nuscenes::{NuScenes, Recording, Scenes, Selection};
use jetlag_record::units::Nanos;

use crate::made::{CHANNELS, KEY_FRAMES, Made, begin_us};

fn written(scenes: i64) -> (tempfile::TempDir, NuScenes) {
    let folder = tempfile::tempdir().unwrap();
    Made::new(scenes).write(folder.path());
    let nuscenes = NuScenes::open(folder.path(), None).unwrap();
    (folder, nuscenes)
}

fn select(nuscenes: &NuScenes, scenes: Scenes, channel: &str) -> Recording {
    let selection = Selection {
        scenes,
        ..Selection::of(channel)
    };
    nuscenes.select(&selection).unwrap()
}

#[test]
fn frames_come_in_time_order_with_all_that_is_known_of_them() {
    let (folder, nuscenes) = written(1);
    assert!(nuscenes.notes().is_empty());
    let camera = select(&nuscenes, Scenes::All, "CAM_FRONT");
    assert_eq!(camera.len(), 25);
    assert!(
        camera
            .frames()
            .zip(camera.frames().skip(1))
            .all(|(a, b)| a.captured < b.captured)
    );
    let frame = camera.frame(6).unwrap();
    assert_eq!(frame.captured, Nanos(begin_us(0) * 1000 + 500_000_000));
    assert_eq!(frame.offset, Nanos::from_millis(500));
    assert!(frame.is_key_frame && frame.file.starts_with(folder.path().join("samples/CAM_FRONT")));
    assert_eq!((frame.size, frame.scene), (Some([1600, 900]), 0));
    assert_eq!(frame.sensor.intrinsic.unwrap()[0], [1266.4, 0.0, 816.3]);
    assert_eq!(&*frame.sensor.channel, "CAM_FRONT");
    assert_eq!(frame.ego_pose.unwrap().translation[0], 402.5);
    assert!(
        camera
            .frame(5)
            .unwrap()
            .file
            .starts_with(folder.path().join("sweeps/CAM_FRONT"))
    );
    assert!(camera.frame(25).is_none());
    let lidar = select(&nuscenes, Scenes::All, "LIDAR_TOP");
    assert_eq!((lidar.len(), lidar.frame(0).unwrap().size), (41, None));
}

#[test]
fn keyframes_alone_take_the_sweeps_before_them() {
    let (_folder, nuscenes) = written(2);
    let selection = Selection {
        key_frames: true,
        sweeps: 3,
        ..Selection::of("LIDAR_TOP")
    };
    let lidar = nuscenes.select(&selection).unwrap();
    assert_eq!(lidar.len(), 2 * KEY_FRAMES as usize);
    // The first of a scene has none before it, each other two.
    assert_eq!(lidar.files().len(), 2 * (1 + 4 * 3));
    let lags = |number| {
        lidar
            .sweeps(number)
            .map(|sweep| sweep.place.lag().0 / 1_000_000)
            .collect::<Vec<_>>()
    };
    assert_eq!(lags(0), [0]);
    assert_eq!(lags(1), [0, 50, 100]);
    assert_eq!(lags(5), [0], "a scene does not reach into the one before");
    assert!(lags(99).is_empty());
    assert!(lidar.sweeps(1).all(|sweep| sweep.capture.scene == 0));
}

#[test]
fn every_channel_of_a_selection_has_the_same_lap_so_that_none_drifts() {
    let (_folder, nuscenes) = written(3);
    let named = |names: &[&str]| Scenes::Names(names.iter().map(|name| (*name).to_owned()).collect());
    for scenes in [
        Scenes::All,
        named(&["scene-0002", "scene-0000", "scene-0002"]),
        Scenes::Numbers(vec![1]),
    ] {
        let lines: Vec<_> = CHANNELS
            .iter()
            .map(|(channel, _)| select(&nuscenes, scenes.clone(), channel).time_line)
            .collect();
        assert!(lines.iter().all(|line| *line == lines[0]), "{lines:?}");
        // Two seconds a scene, half a second between scenes, and a 20th of a second after the last.
        let count = lines[0].scenes.len() as i64;
        assert_eq!(
            lines[0].lap,
            Nanos::from_millis(2000 * count + 500 * (count - 1) + 50)
        );
    }
    let two = select(&nuscenes, named(&["scene-0002", "scene-0000"]), "CAM_BACK");
    assert_eq!(two.time_line.origin, Nanos(begin_us(0) * 1000));
    let offsets: Vec<i64> = two.frames().map(|frame| frame.offset.0 / 1_000_000).collect();
    assert_eq!(offsets[..3], [0, 100, 200]);
    assert_eq!(offsets[20..23], [2000, 2500, 2600]);
    // After a thousand laps the camera is as far from the LiDAR as in the first.
    let lidar = select(&nuscenes, named(&["scene-0002", "scene-0000"]), "LIDAR_TOP");
    let at = |recording: &Recording| recording.frame(1).unwrap().offset + recording.time_line.lap * 1000;
    assert_eq!(at(&two) - at(&lidar), Nanos::from_millis(50));
}

#[test]
fn names_that_are_not_there_are_told_with_those_that_are() {
    let (_folder, nuscenes) = written(2);
    let error = |selection: &Selection| nuscenes.select(selection).unwrap_err().to_string();
    let found = error(&Selection::of("LIDAR_TPO"));
    assert!(
        found.contains(
            "no channel `LIDAR_TPO` (is `LIDAR_TOP` meant?); there are LIDAR_TOP, CAM_FRONT, CAM_BACK"
        ),
        "{found}"
    );
    let mut selection = Selection::of("LIDAR_TOP");
    selection.scenes = Scenes::Names(vec!["scene-0010".to_owned()]);
    let found = error(&selection);
    assert!(
        found.contains("no scene `scene-0010` (is `scene-0000` meant?)"),
        "{found}"
    );
    selection.scenes = Scenes::Numbers(vec![0, 7]);
    let found = error(&selection);
    assert!(
        found.contains("has 2 scenes, from 0; there is no number 7"),
        "{found}"
    );
    selection.scenes = Scenes::Numbers(vec![]);
    assert!(error(&selection).contains("nothing is selected: no scene is named"));
}

#[test]
fn a_channel_that_recorded_nothing_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let mut made = Made::new(1);
    let rows = made.rows_of("CAM_BACK");
    let mut number = 0;
    made.tables.get_mut("sample_data").unwrap().retain(|_| {
        number += 1;
        !rows.contains(&(number - 1))
    });
    made.write(folder.path());
    let nuscenes = NuScenes::open(folder.path(), None).unwrap();
    let error = nuscenes
        .select(&Selection::of("CAM_BACK"))
        .unwrap_err()
        .to_string();
    assert!(error.contains("CAM_BACK has no frame in scene-0000"), "{error}");
}

#[test]
fn missing_files_are_told_all_at_once_and_the_others_are_used() {
    let folder = tempfile::tempdir().unwrap();
    let made = Made::new(2);
    made.write(folder.path());
    let nuscenes = NuScenes::open(folder.path(), None).unwrap();
    let lidar = select(&nuscenes, Scenes::All, "LIDAR_TOP");
    let files: Vec<_> = lidar.files().collect();
    for number in [50, 51, 52, 53] {
        std::fs::remove_file(files[number]).unwrap();
    }
    // What is there can be used.
    let part = nuscenes.select(&Selection::of("LIDAR_TOP")).unwrap();
    assert_eq!((part.len(), part.files().len()), (78, 78));
    let missing = part.missing().unwrap();
    assert_eq!((missing.missing, missing.of, missing.first.len()), (4, 82, 3));
    let told = missing.to_string();
    assert!(
        told.contains("4 of 82 files of LIDAR_TOP are missing")
            && told.contains("sample_data.json names them")
            && told.contains("scene-0000 is whole"),
        "{told}"
    );
    let held: Vec<_> = lidar.frames().map(|frame| frame.token.clone()).collect();
    assert!(
        part.frames()
            .map(|frame| &frame.token)
            .eq(held[..50].iter().chain(&held[54..]))
    );
    // A frame of three sweeps needs the two before it.
    let three = Selection {
        sweeps: 3,
        ..Selection::of("LIDAR_TOP")
    };
    let part = nuscenes.select(&three).unwrap();
    assert_eq!(part.len(), 76);
    for number in 0..part.len() {
        for sweep in part.sweeps(number) {
            assert!(sweep.capture.file.is_file(), "{number}");
        }
    }
    // Nothing of it.
    for file in files {
        let _ = std::fs::remove_file(file);
    }
    let error = nuscenes.select(&Selection::of("LIDAR_TOP")).unwrap_err();
    assert!(
        matches!(&error, DatasetError::Missing(missing) if missing.missing == 82),
        "{error}"
    );
    made.write(folder.path());
    let whole = Selection {
        scenes: Scenes::Numbers(vec![0]),
        ..Selection::of("LIDAR_TOP")
    };
    assert_eq!(nuscenes.select(&whole).unwrap().len(), 41);
}

#[test]
fn several_sweeps_need_poses() {
    let folder = tempfile::tempdir().unwrap();
    let mut made = Made::new(1);
    made.tables.get_mut("ego_pose").unwrap().clear();
    made.write(folder.path());
    let nuscenes = NuScenes::open(folder.path(), None).unwrap();
    assert_eq!(nuscenes.notes().len(), 1);
    let mut selection = Selection::of("LIDAR_TOP");
    assert_eq!(
        nuscenes.select(&selection).unwrap().frame(0).unwrap().ego_pose,
        None
    );
    selection.sweeps = 2;
    let error = nuscenes.select(&selection).unwrap_err().to_string();
    assert!(error.contains("ask for 1 sweep"), "{error}");
}

#[test]
fn loose_tables_are_taken_and_told() {
    let folder = tempfile::tempdir().unwrap();
    let mut made = Made::new(1);
    for row in made.tables.get_mut("sample_data").unwrap() {
        row["timestamp"] = (row["timestamp"].as_i64().unwrap() as f64 * 1000.0).into();
    }
    let turned = made.row("calibrated_sensor", 1);
    turned["rotation"] = serde_json::json!([[0.0, 0.0, 1.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]]);
    made.write(folder.path());
    let nuscenes = NuScenes::open(folder.path(), None).unwrap();
    let notes: Vec<String> = nuscenes.notes().iter().map(ToString::to_string).collect();
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(
        notes[0].contains("calibrated_sensor.json has rotation matrices"),
        "{notes:?}"
    );
    assert!(
        notes[1].contains("sample_data.json has times in nanoseconds instead of microseconds (87 rows)"),
        "{notes:?}"
    );
    let camera = select(&nuscenes, Scenes::All, "CAM_FRONT");
    let quaternion = camera.frame(0).unwrap().sensor.place.rotation.quaternion();
    for (found, expected) in quaternion.iter().zip([0.5, -0.5, 0.5, -0.5]) {
        assert!((found - expected).abs() < 1e-12, "{quaternion:?}");
    }
    assert_eq!(camera.time_line.lap, Nanos::from_millis(2050));
}

#[test]
fn captures_of_no_keyframe_are_left_out_and_told() {
    let folder = tempfile::tempdir().unwrap();
    let mut made = Made::new(1);
    made.row("sample_data", 0)["sample_token"] = "none".into();
    made.write(folder.path());
    let nuscenes = NuScenes::open(folder.path(), None).unwrap();
    assert!(
        nuscenes.notes()[0]
            .to_string()
            .contains("has 1 rows whose `sample_token`")
    );
    let selection = Selection {
        sweeps: 2,
        ..Selection::of("LIDAR_TOP")
    };
    let lidar = nuscenes.select(&selection).unwrap();
    assert_eq!(
        (lidar.len(), lidar.sweeps(0).count(), lidar.sweeps(1).count()),
        (40, 1, 2)
    );
}
