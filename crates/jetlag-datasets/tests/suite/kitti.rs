//! Raw drives and odometry sequences of KITTI, made up.

use jetlag_datasets::kitti::{self, Camera, KittiRecording, Layout, Sensor};
use jetlag_record::units::Nanos;

use crate::made_kitti::{self, DRIVE};

const LIDAR: Sensor = Sensor::Velodyne;
const CAMERA: Sensor = Sensor::Camera(Camera::ColourLeft);

fn drive() -> Layout {
    Layout::Raw {
        drive: DRIVE.to_owned(),
    }
}

fn sequence() -> Layout {
    Layout::Odometry {
        sequence: "00".to_owned(),
    }
}

fn made() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    made_kitti::raw(folder.path());
    made_kitti::odometry(folder.path());
    folder
}

fn error(root: &std::path::Path, layout: &Layout, sensor: Sensor) -> String {
    kitti::open(root, layout, sensor).unwrap_err().to_string()
}

#[test]
fn sweeps_that_a_drive_lost_are_gaps() {
    let folder = made();
    let lidar = kitti::open(folder.path(), &drive(), LIDAR).unwrap();
    assert_eq!((lidar.frames.len(), &lidar.gaps[..]), (9, &[4][..]));
    let numbers: Vec<usize> = lidar.frames.iter().map(|frame| frame.number).collect();
    assert_eq!(numbers, [0, 1, 2, 3, 5, 6, 7, 8, 9]);
    let offset = |recording: &KittiRecording, at: usize| recording.frames[at].offset.unwrap();
    // The camera begins, 7 ms before the LiDAR; both are on one line, whose lap ends a period after the LiDAR.
    assert_eq!(offset(&lidar, 4), Nanos::from_micros(7_000 + 5 * 103_500));
    let camera = kitti::open(folder.path(), &drive(), CAMERA).unwrap();
    assert_eq!(
        (camera.frames.len(), offset(&camera, 9)),
        (10, Nanos::from_micros(9 * 103_500))
    );
    assert_eq!(camera.time_line, lidar.time_line);
    assert_eq!(
        camera.time_line.unwrap().lap,
        Nanos::from_micros(7_000 + 10 * 103_500)
    );
    assert_eq!(camera.frames[0].captured, Some(Nanos(1_317_042_178_964_000_445)));
    let place = lidar.frames[0].pose.unwrap();
    assert_eq!([place[0][3], place[1][3], place[2][3]], [0.0; 3]);
}

#[test]
fn missing_images_of_a_drive_are_told_at_once() {
    let folder = made();
    let data = folder.path().join("2011_09_26").join(DRIVE);
    for number in [2, 3] {
        std::fs::remove_file(data.join(format!("image_02/data/{number:010}.png"))).unwrap();
    }
    let found = error(folder.path(), &drive(), CAMERA);
    assert!(found.contains("2 of 10 files of image_02 are missing"), "{found}");
    assert!(
        found.contains("image_02/data/0000000002.png, image_02/data/0000000003.png;"),
        "{found}"
    );
    std::fs::remove_file(data.join("oxts/data/0000000007.txt")).unwrap();
    let found = error(folder.path(), &drive(), LIDAR);
    assert!(found.contains("1 of 9 files of oxts are missing"), "{found}");
    std::fs::remove_dir_all(data.join("oxts")).unwrap();
    assert_eq!(
        kitti::open(folder.path(), &drive(), LIDAR).unwrap().frames[0].pose,
        None
    );
    std::fs::remove_dir_all(data.join("velodyne_points/data")).unwrap();
    let found = error(folder.path(), &drive(), LIDAR);
    assert!(
        found.contains("10 of 10 files of velodyne_points are missing"),
        "{found}"
    );
}

#[test]
fn a_sequence_has_times_and_poses() {
    let folder = made();
    let lidar = kitti::open(folder.path(), &sequence(), LIDAR).unwrap();
    assert_eq!(lidar.frames.len(), 10);
    assert_eq!(lidar.frames[2].captured, Some(Nanos(207_244_800)));
    assert!((lidar.frames[9].pose.unwrap()[2][3] - 9.0 * 0.86).abs() < 1e-12);
    let camera = kitti::open(folder.path(), &sequence(), CAMERA).unwrap();
    assert_eq!(camera.time_line, lidar.time_line);
    std::fs::remove_file(folder.path().join("poses/00.txt")).unwrap();
    assert_eq!(
        kitti::open(folder.path(), &sequence(), LIDAR).unwrap().frames[9].pose,
        None
    );
    std::fs::remove_file(folder.path().join("sequences/00/velodyne/000005.bin")).unwrap();
    let found = error(folder.path(), &sequence(), LIDAR);
    assert!(
        found.contains("1 of 10 files of velodyne are missing") && found.contains("times.txt names them"),
        "{found}"
    );
}

#[test]
fn drives_and_sequences_that_are_not_there_are_told_with_those_that_are() {
    let folder = made();
    let other = |name: &str| Layout::Raw {
        drive: name.to_owned(),
    };
    let found = error(folder.path(), &other("2011_09_26_drive_0002_sync"), LIDAR);
    assert!(
        found.contains("(is `2011_09_26_drive_0001_sync` meant?)"),
        "{found}"
    );
    for name in [
        "",
        "é11_09_26_drive",
        "..",
        "../x",
        "2011_09_26/2011_09_26_drive_0001_sync",
    ] {
        assert!(
            error(folder.path(), &other(name), LIDAR).contains("has no drive"),
            "{name}"
        );
    }
    let found = error(
        folder.path(),
        &Layout::Odometry {
            sequence: "01".to_owned(),
        },
        LIDAR,
    );
    assert!(
        found.contains("has no sequence `01`") && found.contains("there are 00"),
        "{found}"
    );
}

#[test]
fn text_that_is_not_as_it_should_be_is_told_with_its_line() {
    let folder = made();
    let day = folder.path().join("2011_09_26");
    let sequence_folder = folder.path().join("sequences/00");
    let cases = [
        (
            day.join("calib_velo_to_cam.txt"),
            drive(),
            "R: 1 2\nT: 0 0 0\n",
            "line 1: `R` must be 9 finite numbers; found `1 2`",
        ),
        (
            day.join("calib_imu_to_velo.txt"),
            drive(),
            "R: 1 0 0 0 1 0 0 0 1\n",
            "has no line `T: …`",
        ),
        (
            day.join("calib_cam_to_cam.txt"),
            drive(),
            "P_rect_00: 0 0 0 0 0 0 0 0 0 0 0 0\n",
            "whose first number is 0",
        ),
        (
            day.join(DRIVE).join("velodyne_points/timestamps.txt"),
            drive(),
            "yesterday\n",
            "line 1: must be a time such as",
        ),
        (
            day.join(DRIVE).join("oxts/data/0000000000.txt"),
            drive(),
            "95 8 0\n",
            "line 1: must be 30 numbers",
        ),
        (
            day.join(DRIVE).join("oxts/data/0000000001.txt"),
            drive(),
            "",
            "line 1: must be 30 numbers",
        ),
        (
            sequence_folder.join("times.txt"),
            sequence(),
            "0\n-1\n",
            "line 2: must be seconds",
        ),
        (
            sequence_folder.join("times.txt"),
            sequence(),
            "\n\n",
            "has no line with a time",
        ),
        (
            folder.path().join("poses/00.txt"),
            sequence(),
            "1 0 0 0 0 1 0 0 0 0 1 0\n",
            "ends after 1 poses; times.txt has 10 frames",
        ),
        (
            sequence_folder.join("calib.txt"),
            sequence(),
            "\u{0}",
            "has no line `P2: …`",
        ),
    ];
    for (path, layout, content, phrase) in cases {
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, content).unwrap();
        let found = error(folder.path(), &layout, LIDAR);
        assert!(found.contains(phrase), "{}: {found}", path.display());
        for cut in 0..whole.len().min(400) {
            std::fs::write(&path, &whole[..cut]).unwrap();
            let _ = kitti::open(folder.path(), &layout, LIDAR); // Whatever it is, it is no panic.
        }
        std::fs::write(&path, [0xff, 0xfe]).unwrap();
        assert!(error(folder.path(), &layout, LIDAR).contains("not UTF-8"));
        std::fs::write(&path, whole).unwrap();
    }
}
