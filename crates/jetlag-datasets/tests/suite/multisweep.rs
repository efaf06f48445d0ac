//! Sweeps put together, from the files of a made-up dataset.

use jetlag_datasets::nuscenes::{NuScenes, Selection};
use jetlag_datasets::sweeps::{MIN_DISTANCE, SweepCloud};

use crate::made::Made;

#[test]
fn a_point_that_stands_still_stays_where_it_is_over_all_sweeps() {
    // A post in the world, seen by each sweep from where the car then is.
    let post = [430.0, 1190.0, 1.0];
    let folder = tempfile::tempdir().unwrap();
    Made::new(1).write(folder.path());
    let nuscenes = NuScenes::open(folder.path(), None).unwrap();
    let selection = Selection {
        sweeps: 10,
        ..Selection::of("LIDAR_TOP")
    };
    let lidar = nuscenes.select(&selection).unwrap();
    for frame in lidar.frames() {
        let seen = frame.to_global().unwrap().inverse().apply(post);
        let point = [seen[0] as f32, seen[1] as f32, seen[2] as f32, 100.0, 5.0];
        let bytes: Vec<u8> = point.iter().flat_map(|v| v.to_le_bytes()).collect();
        std::fs::write(&frame.file, bytes).unwrap();
    }
    let mut cloud = SweepCloud::default();
    for number in 0..lidar.len() {
        cloud.clear();
        for sweep in lidar.sweeps(number) {
            let bytes = std::fs::read(&sweep.capture.file).unwrap();
            cloud.append(&bytes, &sweep.place, MIN_DISTANCE).unwrap();
        }
        assert_eq!(cloud.points.len(), 10.min(number + 1));
        for (point, time) in cloud.points.iter().zip(&cloud.time) {
            let off = point
                .iter()
                .zip(cloud.points[0])
                .map(|(a, b)| (a - b).abs())
                .fold(0.0, f32::max);
            assert!(off < 1e-4, "frame {number}, {time} s old: {off} m away");
        }
        let oldest = cloud.time.last().copied().unwrap();
        assert!((oldest - 0.05 * (cloud.time.len() - 1) as f32).abs() < 1e-6);
    }
}
