//! A camera and a LiDAR of one recording: how a sweep's points come to lie in an image, by the numbers of both.

use std::sync::Arc;

use jetlag_datasets::geometry::Pose;
use jetlag_datasets::nuscenes::{DatasetFrame, NuScenes, Recording};

use super::{kitti, nuscenes, recording};
use crate::scenario::{KittiSpec, NuScenesSpec};
use crate::source::SourceError;
use crate::source::calibration::{Affine, Calibration};
use crate::source::synchronised::{Both, NoSets};

/// The turn of no rectification.
const NO_TURN: [[f64; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

/// Two channels of nuScenes. The way of the car between both captures is in the calibration, where the dataset has poses.
pub(super) fn nuscenes(
    dataset: &NuScenes,
    camera: &NuScenesSpec,
    lidar: &NuScenesSpec,
) -> Result<Both, SourceError> {
    let select = |spec: &NuScenesSpec| dataset.select(&nuscenes::selection(spec)).map_err(recording);
    let (images, sweeps): (Recording, Recording) = (select(camera)?, select(lidar)?);
    if images.frames().any(|frame| frame.sensor.intrinsic.is_none()) {
        return Err(recording(NoSets::NoCalibration {
            found: format!("{} of {}", camera.sensor, camera.path.display()),
            advice: "its table calibrated_sensor has no camera_intrinsic: take the complete tables",
        }));
    }
    let lengths = [images.len(), sweeps.len()];
    let calibration =
        move |image: usize, sweep: usize| between(images.frame(image)?, sweeps.frame(sweep)?).map(Arc::new);
    Ok(Both {
        calibration: Box::new(calibration),
        lengths,
        repeats: lidar.common.repeat,
    })
}

/// From the LiDAR when it captured the sweep to the camera when it captured the image.
fn between(image: &DatasetFrame, sweep: &DatasetFrame) -> Option<Calibration> {
    let way = match (image.to_global(), sweep.to_global()) {
        (Some(camera), Some(lidar)) => camera.inverse().after(&lidar),
        _ => image.sensor.place.inverse().after(&sweep.sensor.place),
    };
    Some(pinhole(image.sensor.intrinsic?, &way))
}

/// An image without distortion, whose camera lies so against the LiDAR.
pub(super) fn pinhole(intrinsic: [[f64; 3]; 3], lidar_to_camera: &Pose) -> Calibration {
    let [one, two, three, _] = lidar_to_camera.matrix();
    Calibration {
        projection: intrinsic.map(|[x, y, z]| [x, y, z, 0.0]),
        rectification: NO_TURN,
        lidar_to_camera: [one, two, three],
    }
}

/// A camera and the LiDAR of KITTI's car, whose sweeps are put right for the car's way by the dataset.
pub(super) fn kitti(camera: &KittiSpec, lidar: &KittiSpec) -> Result<Both, SourceError> {
    let (images, sweeps) = (kitti::open(camera)?.frames, kitti::open(lidar)?.frames);
    if images
        .iter()
        .any(|frame| frame.calibration.lidar_to_camera.is_none())
    {
        return Err(recording(NoSets::NoCalibration {
            found: format!("{} of {}", camera.sequence, camera.path.display()),
            advice: "take calib.txt of KITTI's archive of calibration, which has Tr",
        }));
    }
    let number = kitti::camera(camera).number();
    let lengths = [images.len(), sweeps.len()];
    let calibration = move |image: usize, _| {
        let of = &images.get(image)?.calibration;
        let [one, two, three, _] = of.lidar_to_camera?;
        let projection: Affine = (*of.projections.get(number)?)?;
        Some(Arc::new(Calibration {
            projection,
            rectification: of.rectification,
            lidar_to_camera: [one, two, three],
        }))
    };
    Ok(Both {
        calibration: Box::new(calibration),
        lengths,
        repeats: lidar.common.repeat,
    })
}
