use super::*;
use crate::source::context::{Placed, Projection};

fn context(within: &str, at: [f64; 3], projects: bool) -> FrameContext {
    FrameContext {
        sensor: "sensor".into(),
        place: Some(Placed::new(within, Pose::shift(at))),
        projection: projects.then_some(Projection {
            matrix: [[100.0, 0.0, 50.0], [0.0, 200.0, 30.0], [0.0, 0.0, 1.0]],
            size: None,
            is_distorted: false,
        }),
        vehicle: None,
    }
}

const FIT: Fit = Fit {
    scale: [0.5, 0.25],
    offset: [3.0, 7.0],
    image: [100.0, 60.0],
};

fn times(matrix: &Matrix, point: [f64; 3]) -> [f64; 4] {
    let [x, y, z] = point;
    matrix.map(|row| row[0] * x + row[1] * y + row[2] * z + row[3])
}

#[test]
fn each_matrix_maps_what_its_name_says() {
    let (camera, lidar) = (
        context("car", [1.0, 2.0, 3.0], true),
        context("car", [0.5, 0.0, 2.0], false),
    );
    let of = |matrix: CalibrationMatrix| matrix.of(Some(&camera), Some(&lidar), FIT).unwrap();
    let point = [4.0, 5.0, 6.0];
    assert_eq!(
        times(&of(CalibrationMatrix::CameraToEgo), point),
        [5.0, 7.0, 9.0, 1.0]
    );
    assert_eq!(
        times(&of(CalibrationMatrix::LidarToEgo), point),
        [4.5, 5.0, 8.0, 1.0]
    );
    assert_eq!(
        times(&of(CalibrationMatrix::LidarToCamera), point),
        [3.5, 3.0, 5.0, 1.0]
    );
    assert_eq!(
        times(&of(CalibrationMatrix::CameraToLidar), [3.5, 3.0, 5.0]),
        [4.0, 5.0, 6.0, 1.0]
    );
    assert_eq!(
        times(&of(CalibrationMatrix::CameraIntrinsics), [3.5, 3.0, 5.0]),
        [600.0, 750.0, 5.0, 1.0]
    );
    assert_eq!(
        times(&of(CalibrationMatrix::LidarToImage), point),
        [600.0, 750.0, 5.0, 1.0]
    );
    // The pixel is (120, 150), which the fit puts at (63, 44.5).
    assert_eq!(
        times(&of(CalibrationMatrix::ImageAugmentation), [120.0, 150.0, 1.0]),
        [63.0, 44.5, 1.0, 1.0]
    );
    assert_eq!(
        times(&of(CalibrationMatrix::LidarToInput), point),
        [315.0, 222.5, 5.0, 1.0]
    );
    assert_eq!(of(CalibrationMatrix::LidarAugmentation), IDENTITY);
}

#[test]
fn what_is_not_known_is_said() {
    let (camera, lidar) = (
        context("car", [0.0; 3], false),
        context("trailer", [0.0; 3], false),
    );
    let of = |matrix: CalibrationMatrix| matrix.of(Some(&camera), Some(&lidar), FIT).unwrap_err();
    assert_eq!(of(CalibrationMatrix::CameraIntrinsics), NoMatrix::Projection);
    assert_eq!(of(CalibrationMatrix::LidarToCamera), NoMatrix::Against);
    let nothing = |matrix: CalibrationMatrix| matrix.of(None, None, FIT).unwrap_err();
    assert_eq!(nothing(CalibrationMatrix::CameraToEgo), NoMatrix::CameraPlace);
    assert_eq!(nothing(CalibrationMatrix::LidarToEgo), NoMatrix::LidarPlace);
    assert_eq!(nothing(CalibrationMatrix::CameraToLidar), NoMatrix::Against);
    assert_eq!(nothing(CalibrationMatrix::LidarToImage), NoMatrix::Projection);
}
