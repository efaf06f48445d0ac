//! Annotations of a made-up dataset.

use jetlag_datasets::nuscenes::{BoxFrame, GroundTruth, NuScenes, Recording, Selection, Visibility};

use crate::made::Made;

fn read(made: &Made) -> (tempfile::TempDir, Recording, GroundTruth) {
    let folder = tempfile::tempdir().unwrap();
    made.write(folder.path());
    let nuscenes = NuScenes::open(folder.path(), None).unwrap();
    let recording = nuscenes.select(&Selection::of("LIDAR_TOP")).unwrap();
    let truth = GroundTruth::read(&nuscenes).unwrap();
    (folder, recording, truth)
}

fn near(found: f64, expected: f64) -> bool {
    (found - expected).abs() < 1e-4
}

#[test]
fn boxes_of_a_keyframe_are_as_they_were_drawn() {
    let (_folder, recording, truth) = read(&Made::new(1));
    let frame = recording.frame(20).unwrap();
    assert!(frame.is_key_frame && truth.notes().is_empty());
    let boxes = truth.boxes(frame, BoxFrame::Global).unwrap();
    assert_eq!(boxes.len(), 3);
    let car = &boxes[0];
    assert_eq!(
        (car.category, car.visibility, car.interpolated),
        ("vehicle.car", Some(Visibility::UpTo40), false)
    );
    assert_eq!((car.lidar_points, car.radar_points), (Some(7), Some(1)));
    assert_eq!([car.place.l, car.place.w, car.place.h], [4.5, 1.9, 1.6]);
    assert!(
        near(car.pose.translation[0], 411.8) && near(f64::from(car.place.yaw), 0.8),
        "{car:?}"
    );
    // From the keyframe before to the one after, a second apart.
    let velocity = car.velocity.unwrap();
    assert!(near(velocity[0], 1.8) && near(velocity[1], -0.54), "{velocity:?}");
    assert_eq!(boxes[2].velocity, None, "seen once, a speed is not known");
    assert_eq!(truth.categories(), ["vehicle.car", "human.pedestrian.adult"]);
}

#[test]
fn boxes_of_the_sensor_lead_back_to_the_global_ones() {
    let (_folder, recording, truth) = read(&Made::new(1));
    let frame = recording.frame(13).unwrap();
    let global = truth.boxes(frame, BoxFrame::Global).unwrap();
    let sensor = truth.boxes(frame, BoxFrame::Sensor).unwrap();
    let ego = truth.boxes(frame, BoxFrame::Ego).unwrap();
    for ((global, sensor), ego) in global.iter().zip(&sensor).zip(&ego) {
        let from_ego = frame.sensor.place.apply(sensor.pose.translation);
        let back = frame.ego_pose.unwrap().apply(from_ego);
        for i in 0..3 {
            assert!(near(ego.pose.translation[i], from_ego[i]) && near(global.pose.translation[i], back[i]));
        }
        assert_eq!((global.token, global.place.l), (sensor.token, sensor.place.l));
        let speed = |v: Option<[f64; 3]>| v.map(|v| v.iter().map(|v| v * v).sum::<f64>().sqrt());
        assert!(near(
            speed(global.velocity).unwrap_or(0.0),
            speed(sensor.velocity).unwrap_or(0.0)
        ));
    }
}

#[test]
fn between_keyframes_boxes_are_on_their_way() {
    let (_folder, recording, truth) = read(&Made::new(1));
    // 150 ms after the first keyframe: of the second, with a pedestrian that the first has not.
    let frame = recording.frame(3).unwrap();
    let boxes = truth.boxes(frame, BoxFrame::Global).unwrap();
    assert_eq!(boxes.len(), 2);
    assert!(
        boxes[0].interpolated && near(boxes[0].pose.translation[0], 410.0 + 0.3 * 0.9),
        "{:?}",
        boxes[0]
    );
    assert!(near(f64::from(boxes[0].place.yaw), 0.3 * 0.4));
    assert!(
        !boxes[1].interpolated && near(boxes[1].pose.translation[0], 411.9),
        "{:?}",
        boxes[1]
    );
}

#[test]
fn a_speed_over_too_long_a_time_is_none() {
    let mut made = Made::new(1);
    for key in 0..5 {
        let time = made.row("sample", key)["timestamp"].as_i64().unwrap();
        made.row("sample", key)["timestamp"] = (time + key as i64 * 1_200_000).into();
    }
    let (_folder, recording, truth) = read(&made);
    // 1.7 s to the next alone, and 3.4 s from the one before to the one after.
    for key in 0..5 {
        let boxes = truth
            .boxes(recording.frame(key * 10).unwrap(), BoxFrame::Global)
            .unwrap();
        assert!(boxes.iter().all(|found| found.velocity.is_none()), "{boxes:?}");
    }
}

#[test]
fn frames_of_another_dataset_have_no_boxes_and_those_without_pose_only_global_ones() {
    let (_folder, recording, truth) = read(&Made::new(1));
    let mut made = Made::new(2);
    made.tables.get_mut("ego_pose").unwrap().clear();
    let (_other, without, its_truth) = read(&made);
    let far = without.frame(60).unwrap();
    assert!(truth.boxes(far, BoxFrame::Global).unwrap().is_empty());
    assert!(!its_truth.boxes(far, BoxFrame::Global).unwrap().is_empty());
    let error = its_truth.boxes(far, BoxFrame::Sensor).unwrap_err().to_string();
    assert!(error.contains("has no ego pose"), "{error}");
    assert!(
        !its_truth
            .boxes(recording.frame(0).unwrap(), BoxFrame::Global)
            .unwrap()
            .is_empty()
    );
}
