//! KITTI: `/camera_2/image_raw/compressed`, `/camera_2/camera_info`, `/velodyne_points`. Raw drives move the frame `imu_link`,
//! odometry sequences `camera_0`; the object layout has neither poses nor times.

use std::path::Path;

use jetlag_datasets::geometry::{Matrix, Pose};
use jetlag_datasets::kitti::{self, Calibration, Camera, KittiRecording, Layout, Sensor, Split};

use super::tape::{Capture, Channel, Fixed, Holds, Tape, WITHOUT_TIMES};
use super::{ConvertError, Options, entries};
use crate::units::Nanos;

const CAMERAS: [Camera; 4] = [
    Camera::GreyLeft,
    Camera::GreyRight,
    Camera::ColourLeft,
    Camera::ColourRight,
];
const LIDAR: &str = "velodyne";
/// Rate of files without times, where none is given.
const HZ: u32 = 10;

/// Whether a name is that of a day of raw drives.
pub(super) fn is_day(root: &Path, name: &str) -> bool {
    let is_date = name.len() == 10 && name.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
    is_date && !drives(root, name).is_empty()
}

fn drives(root: &Path, day: &str) -> Vec<String> {
    let mut names = entries(&root.join(day)).unwrap_or_default();
    names.retain(|name| name.contains("_drive_") && root.join(day).join(name).is_dir());
    names
}

/// A raw drive.
pub(super) fn raw(root: &Path, options: &Options) -> Result<Tape, ConvertError> {
    let there: Vec<String> = entries(root)?.iter().flat_map(|day| drives(root, day)).collect();
    let drive = chosen(root, options, there)?;
    let base = root.join(drive.get(..10).unwrap_or_default()).join(&drive);
    let has = |sensor: Sensor| {
        let folder = match sensor {
            Sensor::Velodyne => "velodyne_points".to_owned(),
            Sensor::Camera(camera) => format!("image_{:02}", camera.number()),
        };
        base.join(folder).is_dir()
    };
    of_layout(
        root,
        &Layout::Raw { drive: drive.clone() },
        has,
        "imu_link",
        &|time, _| time,
    )
}

/// A sequence of the odometry benchmark.
pub(super) fn odometry(root: &Path, options: &Options) -> Result<Tape, ConvertError> {
    let sequences = root.join("sequences");
    let mut there = entries(&sequences)?;
    there.retain(|name| sequences.join(name).is_dir());
    let sequence = chosen(root, options, there)?;
    let base = sequences.join(&sequence);
    let has = |sensor: Sensor| base.join(folder(sensor)).is_dir();
    let layout = Layout::Odometry {
        sequence: sequence.clone(),
    };
    // Its times are from the sequence's beginning.
    of_layout(root, &layout, has, "camera_0", &|time, _| {
        time.map(|time| WITHOUT_TIMES + time)
    })
}

/// The object benchmark.
pub(super) fn object(root: &Path, options: &Options) -> Result<Tape, ConvertError> {
    let (split, name) = match root.join("training").is_dir() {
        true => (Split::Training, "training"),
        false => (Split::Testing, "testing"),
    };
    let base = root.join(name);
    let has = |sensor: Sensor| base.join(folder(sensor)).is_dir();
    let hz = options.hz;
    of_layout(root, &Layout::Object(split), has, "", &|_, number| {
        Some(at(number, hz))
    })
}

/// When a capture without time comes.
pub(super) fn at(number: usize, hz: Option<u32>) -> Nanos {
    let hz = u64::from(hz.unwrap_or(HZ).max(1));
    let ns = (number as u64).saturating_mul(1_000_000_000) / hz;
    Nanos(
        WITHOUT_TIMES
            .0
            .saturating_add(i64::try_from(ns).unwrap_or(i64::MAX)),
    )
}

fn folder(sensor: Sensor) -> String {
    match sensor {
        Sensor::Velodyne => LIDAR.to_owned(),
        Sensor::Camera(camera) => format!("image_{}", camera.number()),
    }
}

fn chosen(root: &Path, options: &Options, there: Vec<String>) -> Result<String, ConvertError> {
    match (&options.sequence, <[String; 1]>::try_from(there)) {
        // Whether it is there, the reader says.
        (Some(named), _) => Ok(named.clone()),
        (None, Ok([only])) => Ok(only),
        (None, Err(there)) => Err(ConvertError::Several {
            path: root.to_owned(),
            there,
        }),
    }
}

/// Every sensor that is there. `time` says when a capture of a number is, whose time the layout may know.
fn of_layout(
    root: &Path,
    layout: &Layout,
    has: impl Fn(Sensor) -> bool,
    vehicle: &str,
    time: &dyn Fn(Option<Nanos>, usize) -> Option<Nanos>,
) -> Result<Tape, ConvertError> {
    let mut tape = Tape::of(vehicle);
    let sensors = [Sensor::Velodyne].into_iter().chain(CAMERAS.map(Sensor::Camera));
    for sensor in sensors.filter(|sensor| has(*sensor)) {
        let found = kitti::open(root, layout, sensor)?;
        add(&mut tape, sensor, &found, vehicle, time);
    }
    Ok(tape)
}

fn add(
    tape: &mut Tape,
    sensor: Sensor,
    found: &KittiRecording,
    vehicle: &str,
    time: &dyn Fn(Option<Nanos>, usize) -> Option<Nanos>,
) {
    let Some(first) = found.frames.first() else { return };
    let calibration = &first.calibration;
    let (frame, name, holds) = match sensor {
        Sensor::Velodyne => (LIDAR.to_owned(), "/velodyne_points".to_owned(), Holds::Points),
        Sensor::Camera(camera) => {
            let frame = format!("camera_{}", camera.number());
            let holds = Holds::Images(calibration.intrinsic(camera).map(|matrix| (matrix, [0, 0])));
            (frame.clone(), format!("/{frame}"), holds)
        }
    };
    let channel = tape.channels.len();
    tape.fixed.extend(fixed(sensor, calibration, vehicle, &frame));
    tape.channels.push(Channel { name, frame, holds });
    for (number, frame) in found.frames.iter().enumerate() {
        let Some(time) = time(frame.captured, number) else {
            continue;
        };
        tape.captures.push(Capture {
            time,
            channel,
            file: frame.file.clone(),
        });
        let pose = frame.pose.as_ref().and_then(pose);
        tape.places.extend(pose.map(|pose| (time, pose)));
    }
}

/// Where a sensor is: the LiDAR on the vehicle, cameras seen from the LiDAR.
fn fixed(sensor: Sensor, calibration: &Calibration, vehicle: &str, frame: &str) -> Option<Fixed> {
    let (parent, place) = match sensor {
        Sensor::Velodyne if vehicle.is_empty() => return None,
        Sensor::Velodyne => {
            let to_lidar = calibration
                .imu_to_lidar
                .as_ref()
                .or(calibration.lidar_to_camera.as_ref())?;
            // Of raw drives the vehicle's frame is the inertial unit's, of odometry camera 0's.
            let place = match calibration.imu_to_lidar {
                Some(_) => pose(to_lidar)?.inverse(),
                None => pose(to_lidar)?,
            };
            (vehicle, place)
        }
        // The vehicle's frame is this camera's own.
        Sensor::Camera(_) if frame == vehicle => return None,
        Sensor::Camera(camera) => (LIDAR, pose(&calibration.lidar_to_rectified(camera)?)?.inverse()),
    };
    Some(Fixed {
        parent: parent.to_owned(),
        child: frame.to_owned(),
        place,
    })
}

/// A matrix whose turn is one, to a hundredth.
fn pose(matrix: &Matrix) -> Option<Pose> {
    let pose = Pose::from_matrix(matrix);
    if pose.is_none() {
        log::warn!("a place is left out: its matrix is no turn");
    }
    pose
}
