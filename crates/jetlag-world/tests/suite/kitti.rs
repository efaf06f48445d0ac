//! A drive in KITTI's raw layout, read by `jetlag-datasets`.

use jetlag_datasets::kitti::{self, Camera, Layout, Sensor};
use jetlag_record::units::Nanos;
use jetlag_world::files::{BEGIN, DRIVE, kitti_raw};
use jetlag_world::{Drive, calibration};

#[test]
fn times_poses_and_calibration_are_the_drive_s() {
    let folder = tempfile::tempdir().unwrap();
    let drive = Drive::new(3, 1);
    kitti_raw(&drive, folder.path(), &mut |_, _| ()).unwrap();
    let layout = Layout::Raw {
        drive: DRIVE.to_owned(),
    };
    let found = kitti::open(folder.path(), &layout, Sensor::Velodyne).unwrap();
    assert_eq!((found.frames.len(), found.gaps.len()), (10, 0));
    let first = drive.ego(Nanos::ZERO);
    for (n, frame) in (0..).zip(&found.frames) {
        let time = Nanos::from_millis(n * 100);
        assert_eq!(frame.captured, Some(BEGIN + time));
        let (ego, pose) = (drive.ego(time), frame.pose.unwrap());
        for k in 0..3 {
            let moved = ego.position[k] - first.position[k];
            assert!((pose[k][3] - moved).abs() < 1e-6, "{pose:?} {ego:?}");
        }
        assert!((pose[1][0].atan2(pose[0][0]) - ego.yaw).abs() < 1e-9);
        let bytes: Vec<u8> = drive
            .at(time)
            .sweep()
            .cloud
            .points
            .as_flattened()
            .iter()
            .flat_map(|v| v.to_le_bytes())
            .collect();
        assert!(std::fs::read(&frame.file).unwrap() == bytes);
    }
    let ours = calibration();
    let theirs = &found.frames[0].calibration;
    let to_camera = theirs.lidar_to_rectified(Camera::ColourLeft).unwrap();
    for (ours, theirs) in ours.lidar_to_camera.iter().zip(&to_camera) {
        assert_eq!(ours, theirs);
    }
    assert_eq!(theirs.projections[2], Some(ours.projection));
    let images = kitti::open(folder.path(), &layout, Sensor::Camera(Camera::ColourLeft)).unwrap();
    assert_eq!(images.frames.len(), 10);
}
