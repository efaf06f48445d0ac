//! A drive as nuScenes, read by `jetlag-datasets`.

use std::collections::{BTreeMap, BTreeSet};

use jetlag_datasets::nuscenes::{BoxFrame, GroundTruth, NuScenes, Selection};
use jetlag_record::units::Nanos;
use jetlag_world::calibration::holds;
use jetlag_world::files::{BEGIN, SCENE, nuscenes};
use jetlag_world::{Class, Drive, LIDAR_PLACE};

fn points(file: &std::path::Path) -> Vec<[f32; 5]> {
    let bytes = std::fs::read(file).unwrap();
    let (points, rest) = bytes.as_chunks::<20>();
    assert!(rest.is_empty());
    let number = |point: &[u8; 20], k: usize| f32::from_le_bytes(point[4 * k..][..4].try_into().unwrap());
    points
        .iter()
        .map(|point| std::array::from_fn(|k| number(point, k)))
        .collect()
}

#[test]
fn a_drive_is_read_as_it_was_driven() {
    let folder = tempfile::tempdir().unwrap();
    let drive = Drive::new(5, 1);
    let mut told = Vec::new();
    let written = nuscenes(&drive, folder.path(), &mut |done, of| told.push((done, of))).unwrap();
    assert_eq!((written.images, written.sweeps), (13, 21));
    assert_eq!(told, (1..=34).map(|n| (n, 34)).collect::<Vec<_>>());

    let dataset = NuScenes::open(folder.path(), None).unwrap();
    assert!(dataset.notes().is_empty(), "{:?}", dataset.notes());
    assert_eq!(dataset.scenes(), [SCENE]);
    let lidar = dataset.select(&Selection::of("LIDAR_TOP")).unwrap();
    assert_eq!(lidar.len(), 21);
    assert_eq!(lidar.frames().filter(|frame| frame.is_key_frame).count(), 3);
    let truth = GroundTruth::read(&dataset).unwrap();
    let mut identities: BTreeMap<String, Class> = BTreeMap::new();
    for frame in lidar.frames() {
        let moment = drive.at(frame.captured - BEGIN);
        let ego = moment.ego();
        let pose = frame.to_global().unwrap();
        let place = ego.place(LIDAR_PLACE);
        for (found, wanted) in pose.translation.iter().zip(place) {
            assert!((found - wanted).abs() < 1e-9);
        }
        assert!((pose.rotation.yaw() - ego.yaw).abs() < 1e-9);
        let sweep = moment.sweep();
        let stored = points(&frame.file);
        assert_eq!(stored.len(), sweep.cloud.points.len());
        for ((stored, point), ring) in stored.iter().zip(&sweep.cloud.points).zip(&sweep.rings) {
            assert_eq!(
                (stored[..4].as_ref(), stored[4]),
                (point.as_ref(), f32::from(*ring))
            );
        }
        // At keyframes the boxes are the truth itself; between them the truth is a curve and the boxes are on its chord.
        let within = if frame.is_key_frame { 1e-6 } else { 0.15 };
        for found in truth.boxes(frame, BoxFrame::Global).unwrap() {
            let near = |actor: &&jetlag_world::Actor| {
                (0..3).all(|k| (actor.position[k] - found.pose.translation[k]).abs() < within)
            };
            let Some(actor) = moment.actors().iter().find(near) else {
                assert!(
                    !found.interpolated && !frame.is_key_frame,
                    "{found:?} at {}",
                    frame.offset
                );
                continue; // New at the keyframe to come, and where it is then.
            };
            let known = identities.insert(found.instance.to_string(), actor.class);
            assert!(known.is_none_or(|class| class == actor.class));
            let category = match actor.class {
                Class::Car => "vehicle.car",
                Class::Pedestrian => "human.pedestrian.adult",
                Class::Cyclist => "vehicle.bicycle",
            };
            assert_eq!(found.category, category);
            let Some(velocity) = found.velocity else { continue }; // Seen at one keyframe.
            assert!(
                (velocity[0] - actor.velocity[0]).abs() < 0.6,
                "{velocity:?} {actor:?}"
            );
        }
    }
    for frame in lidar.frames().filter(|frame| frame.is_key_frame) {
        let boxes = truth.boxes(frame, BoxFrame::Sensor).unwrap();
        assert!(boxes.len() > 5);
        let stored = points(&frame.file);
        for found in boxes {
            let on = |p: &&[f32; 5]| holds(&found.place, [p[0], p[1], p[2]], 0.05) && p[2] > -1.61;
            assert_eq!(found.lidar_points, Some(stored.iter().filter(on).count() as u32));
        }
    }
    let identities: BTreeSet<_> = identities.into_keys().collect();
    assert!(identities.len() > 10);
    let camera = dataset.select(&Selection::of("CAM_FRONT")).unwrap();
    assert_eq!(camera.len(), 13);
    let gaps: Vec<Nanos> = camera.frames().map(|frame| frame.captured - BEGIN).collect();
    assert!(
        gaps.windows(2)
            .all(|pair| ((pair[1] - pair[0]).0 - 83_333_333).abs() <= 1000)
    );
    assert!(
        camera
            .frames()
            .all(|frame| frame.size == Some([640, 384]) && frame.file.is_file())
    );
    assert!(camera.frames().all(|frame| frame.sensor.intrinsic.is_some()));
}

#[test]
fn equal_seeds_give_equal_files() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = ["a", "b"].map(|name| folder.path().join(name));
    for out in [&a, &b] {
        nuscenes(&Drive::new(9, 1), out, &mut |_, _| ()).unwrap();
    }
    let mut folders = vec![a.clone()];
    let mut files = 0;
    while let Some(at) = folders.pop() {
        for entry in std::fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let other = b.join(path.strip_prefix(&a).unwrap());
            assert!(
                std::fs::read(&path).unwrap() == std::fs::read(other).unwrap(),
                "{}",
                path.display()
            );
            files += 1;
        }
    }
    assert_eq!(files, 34 + 13 + 1);
}
