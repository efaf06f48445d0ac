//! A drive as a bag of ROS 2: images, sweeps, the camera's calibration, and where all frames of reference are.
//!
//! | topic | what | rate |
//! |---|---|---|
//! | `/cam_front/image_raw/compressed` | JPEG | 12 Hz |
//! | `/cam_front/camera_info` | with each image | 12 Hz |
//! | `/lidar_top` | x, y, z, intensity, ring | 20 Hz |
//! | `/tf` | `base_link` in `map` | 50 Hz |
//! | `/tf_static` | the sensors in `base_link` | once |
//!
//! Messages are logged some milliseconds after they were captured, which the seed draws.

use jetlag_bags::message::{CompressedImage, Header, TransformStamped};
use jetlag_bags::write::{Message, XYZI_RING, cloud, pinhole};
use jetlag_bags::{BagWriter, Time};
use jetlag_record::units::Nanos;
use jetlag_stats::random::scattered;

use super::order::in_order;
use super::{BEGIN, CAMERA_TURN, FilesError, Progress, Sensor, Written, captured, intrinsic, jpeg, turn};
use crate::vector::hash01;
use crate::{CAMERA, CAMERA_PLACE, Drive, Ego, IMAGE_SIZE, LIDAR, LIDAR_PLACE, Rate, Sweep};

/// How often the vehicle tells where it is.
const PLACES: Rate = Rate { hz: 50 };

const CAMERA_FRAME: &str = "cam_front";
const LIDAR_FRAME: &str = "lidar_top";

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Place,
    Image,
    Sweep,
}

/// A message that is to be written.
struct Planned {
    what: What,
    /// From the drive's beginning.
    time: Nanos,
    logged: Time,
}

/// What was made of it.
enum Made {
    Place(Ego),
    Image(Result<Vec<u8>, FilesError>),
    Sweep(Vec<u8>),
}

/// Writes a drive into a bag, which is finished.
///
/// # Errors
/// The bag cannot be written.
pub fn bag(drive: &Drive, mut bag: BagWriter, progress: Progress<'_>) -> Result<Written, FilesError> {
    places_of_sensors(&mut bag)?;
    let planned = planned(drive);
    let (mut done, of) = (0, planned.len() as u64);
    let mut written = Written::default();
    in_order(
        &planned,
        |planned| make(drive, planned),
        |planned, made| {
            write(&mut bag, planned, made, &mut written)?;
            done += 1;
            progress(done, of);
            Ok(())
        },
    )?;
    bag.finish()?;
    Ok(written)
}

fn stamp(time: Nanos) -> Time {
    Time((BEGIN + time).0)
}

/// All messages, by the time at which they are logged.
fn planned(drive: &Drive) -> Vec<Planned> {
    let (mut all, seconds) = (Vec::new(), drive.seconds());
    let mut add = |what, rate: Rate, time: &dyn Fn(u64) -> Nanos| {
        all.extend((0..rate.captures(seconds)).map(|number| Planned {
            what,
            time: time(number),
            logged: stamp(time(number)).after(delay(drive.seed(), what, number)),
        }));
    };
    add(What::Place, PLACES, &|number| PLACES.time(number));
    add(What::Image, CAMERA, &|number| {
        captured(drive, Sensor::Camera, CAMERA, number)
    });
    add(What::Sweep, LIDAR, &|number| {
        captured(drive, Sensor::Lidar, LIDAR, number)
    });
    all.sort_by_key(|planned| (planned.logged, planned.what));
    all
}

/// How long a message takes from its capture to the log: at least this, mostly little more, now and then a lot.
fn delay(seed: u64, what: What, number: u64) -> Nanos {
    let (least, spread) = match what {
        What::Place => (300.0, 900.0),
        What::Image => (9_000.0, 16_000.0),
        What::Sweep => (4_000.0, 12_000.0),
    };
    let chance = hash01(scattered(seed ^ 0xde1a) ^ what as u64, number);
    Nanos::from_micros((least + spread * chance * chance * chance) as i64)
}

fn make(drive: &Drive, planned: &Planned) -> Made {
    match planned.what {
        What::Place => Made::Place(drive.ego(planned.time)),
        What::Image => Made::Image(jpeg(&drive.at(planned.time).render_camera())),
        What::Sweep => Made::Sweep(points(&drive.at(planned.time).sweep())),
    }
}

fn points(sweep: &Sweep) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(sweep.rings.len() * 20);
    for (point, ring) in sweep.cloud.points.iter().zip(&sweep.rings) {
        point.iter().for_each(|v| bytes.extend(v.to_le_bytes()));
        bytes.extend(u32::from(*ring).to_le_bytes()); // The ring, and two bytes that are not used.
    }
    bytes
}

fn write(
    bag: &mut BagWriter,
    planned: &Planned,
    made: Made,
    written: &mut Written,
) -> Result<(), FilesError> {
    let (stamp, logged) = (stamp(planned.time), planned.logged);
    match made {
        Made::Place(ego) => {
            let place = transform(stamp, "map", "base_link", ego.position, turn(ego.yaw));
            bag.write("/tf", logged, &Message::Transforms(&[place]))?;
        }
        Made::Image(jpeg) => {
            let header = Header {
                stamp,
                frame_id: CAMERA_FRAME,
            };
            let info = pinhole(header, IMAGE_SIZE.map(|n| n as u32), intrinsic());
            bag.write("/cam_front/camera_info", logged, &Message::CameraInfo(&info))?;
            let image = CompressedImage {
                header,
                format: "jpeg",
                data: &jpeg?,
            };
            bag.write(
                "/cam_front/image_raw/compressed",
                logged,
                &Message::CompressedImage(image),
            )?;
            written.images += 1;
        }
        Made::Sweep(points) => {
            let header = Header {
                stamp,
                frame_id: LIDAR_FRAME,
            };
            let sweep = cloud(header, &XYZI_RING, 20, &points);
            bag.write("/lidar_top", logged, &Message::PointCloud(sweep))?;
            written.sweeps += 1;
        }
    }
    Ok(())
}

fn places_of_sensors(bag: &mut BagWriter) -> Result<(), FilesError> {
    let begin = stamp(Nanos::ZERO);
    let places = [
        transform(begin, "base_link", LIDAR_FRAME, LIDAR_PLACE, [1.0, 0.0, 0.0, 0.0]),
        transform(begin, "base_link", CAMERA_FRAME, CAMERA_PLACE, CAMERA_TURN),
    ];
    Ok(bag.write("/tf_static", begin, &Message::Transforms(&places))?)
}

/// With the turn as w, x, y, z.
fn transform<'a>(
    stamp: Time,
    parent: &'a str,
    child: &'a str,
    translation: [f64; 3],
    [w, x, y, z]: [f64; 4],
) -> TransformStamped<'a> {
    TransformStamped {
        header: Header {
            stamp,
            frame_id: parent,
        },
        child_frame_id: child,
        translation,
        rotation: [x, y, z, w],
    }
}
