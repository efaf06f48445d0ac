//! KITTI folders: what is written is read back, and real ones are understood.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test may panic and say what it skips"
)]

use std::path::Path;

use jetlag::commands::data::stills::synth;
use jetlag::source::SourceError;
use jetlag::source::calibration::holds;
use jetlag::source::kitti::{read_calibration, read_labels};
use jetlag::source::synthetic::World;
use nvidia_doubles::machine;

#[test]
fn synthetic_scenes_come_back_as_they_were_written() {
    let out = tempfile::tempdir().unwrap();
    synth(out.path(), 3, 11, 4).unwrap();
    for index in 4..7 {
        let name = |folder: &str, ending: &str| out.path().join(folder).join(format!("{index:06}.{ending}"));
        let scene = World::scene(11, index);
        let seen = scene.observe();
        let calib = name("calib", "txt");
        assert_eq!(read_calibration(&calib).unwrap(), scene.calibration());
        let labels = read_labels(&name("label_2", "txt"), &calib).unwrap();
        assert_eq!(labels.len(), seen.objects.len());
        for (label, object) in labels.iter().zip(&seen.objects) {
            let counts = object.counts_for_camera() || object.counts_for_lidar();
            assert_eq!(label.dont_care, !counts);
            if counts {
                assert_eq!(label.class, object.class.name());
            }
            assert_eq!(
                label.counts_for_camera(),
                object.counts_for_camera(),
                "{label:?} {object:?}"
            );
            assert_eq!(label.box2d, object.image);
            let (a, b) = (label.box3d.unwrap(), object.place);
            for (a, b) in [
                (a.x, b.x),
                (a.y, b.y),
                (a.z, b.z),
                (a.l, b.l),
                (a.w, b.w),
                (a.h, b.h),
            ] {
                assert!((a - b).abs() < 0.01, "{a} {b}");
            }
            let turned = (a.yaw - b.yaw + std::f32::consts::PI).rem_euclid(std::f32::consts::TAU);
            assert!(
                (turned - std::f32::consts::PI).abs() < 0.01,
                "{} {}",
                a.yaw,
                b.yaw
            );
        }
        let image = image::open(name("image_2", "png")).unwrap().into_rgb8();
        assert_eq!(image.into_raw(), seen.image.rgb);
        let bytes = std::fs::read(name("velodyne", "bin")).unwrap();
        let values: Vec<f32> = bytes
            .chunks_exact(4)
            .map(|b| f32::from_le_bytes(b.try_into().unwrap()))
            .collect();
        assert_eq!(values, seen.sweep.points.as_flattened());
    }
}

#[test]
fn real_labels_and_calibration_give_boxes_that_hold_points() {
    let Some(root) = machine::shared("data/sensors/kitti/training") else {
        return;
    };
    let labels = read_labels(&root.join("label_2/000008.txt"), &root.join("calib/000008.txt")).unwrap();
    let points: Vec<f32> = std::fs::read(root.join("velodyne/000008.bin"))
        .unwrap()
        .chunks_exact(4)
        .map(|b| f32::from_le_bytes(b.try_into().unwrap()))
        .collect();
    let cars: Vec<_> = labels.iter().filter(|l| l.class == "Car").collect();
    assert_eq!((cars.len(), labels.len()), (6, 10));
    let calibration = read_calibration(&root.join("calib/000008.txt")).unwrap();
    for car in cars {
        let place = car.box3d.unwrap();
        let inside = |margin| {
            points
                .chunks_exact(4)
                .filter(|p| holds(&place, [p[0], p[1], p[2]], margin))
                .count()
        };
        assert!(inside(0.1) >= 50, "{} points in {place:?}", inside(0.1));
        // The box fits tightly: not much more lies just beside it, the road aside.
        let lifted = jetlag::detector::Box3d {
            z: place.z + 0.3,
            ..place
        };
        let near = points
            .chunks_exact(4)
            .filter(|p| holds(&lifted, [p[0], p[1], p[2]], 0.3) && p[2] > place.z - place.h / 2.0 + 0.2)
            .count();
        assert!(near < inside(0.1) * 2, "{near} {}", inside(0.1));
        if car.truncated < 0.01
            && let Some(around) = calibration.project_box(&place)
        {
            let b = car.box2d;
            for (found, labelled) in [
                (around.x1, b.x1),
                (around.y1, b.y1),
                (around.x2, b.x2),
                (around.y2, b.y2),
            ] {
                assert!((found - labelled).abs() < 12.0, "{around:?} {b:?}");
            }
        }
    }
    assert!(labels.iter().filter(|l| l.dont_care).all(|l| l.box3d.is_none()));
}

#[test]
fn a_bad_label_or_calibration_file_is_named_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let calib = write(
        "calib.txt",
        "P2: 1 0 0 0 0 1 0 0 0 0 1 0\nR0_rect: 1 0 0 0 1 0 0 0 1\nTr_velo_to_cam: 0 -1 0 0 0 0 -1 0 1 0 0 0\n",
    );
    let message = |label: &Path, calib: &Path| -> String {
        let error: SourceError = read_labels(label, calib).unwrap_err();
        error.to_string()
    };
    let short = write("short.txt", "\nCar 0 0 0 1 2 3\n");
    assert!(message(&short, &calib).contains("line 2: a label has 15 columns (16 with a score); found 7"));
    let word = write("word.txt", "Car 0 0 0 1 2 3 4 1 1 1 0 many 9 0\n");
    assert!(message(&word, &calib).contains("column 13 must be a number; found `many`"));
    let empty = write("none.txt", "");
    assert!(read_labels(&empty, &calib).unwrap().is_empty());
    let lacking = write("lacking.txt", "P2: 1 0 0 0 0 1 0 0 0 0 1 0\n");
    assert!(message(&empty, &lacking).contains("line `R0_rect: …`"));
    let wrong = write(
        "wrong.txt",
        "P2: 1 0 0 0 0 1 0 0 0 0 1 0\nR0_rect: 1 0 0 0 1 0 0 0 nan\n",
    );
    assert!(message(&empty, &wrong).contains("must be 9 finite numbers"));
    assert!(message(&folder.path().join("absent"), &calib).contains("cannot read"));
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "in the way").unwrap();
    let error = synth(&file, 2, 1, 0).unwrap_err();
    assert!(
        format!("{error:#}").contains(&format!("cannot write {}", file.display())),
        "{error:#}"
    );
}

#[test]
fn a_file_that_is_too_long_for_labels_is_not_read_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("000000.txt");
    let file = std::fs::File::create(&path).unwrap();
    file.set_len(3 << 30).unwrap();
    let error = read_calibration(&path).unwrap_err().to_string();
    assert!(error.contains("it is larger than"), "{error}");
    std::fs::write(&path, [0xff; 9]).unwrap();
    let error = read_calibration(&path).unwrap_err().to_string();
    assert!(error.contains("cannot read"), "{error}");
}
