//! A drive as KITTI's raw layout: both sensors at 10 Hz and at once, as KITTI's are synchronised, with packets of the inertial
//! unit and the day's calibration. All four cameras are calibrated as the one there is, `image_02`; the inertial unit is at the
//! vehicle's origin. `tracklets` has the ground truth.

use std::fmt::Write as _;
use std::path::Path;

use jetlag_record::units::Nanos;

use super::order::in_order;
use super::tracklets::Sight;
use super::{BEGIN, FilesError, Progress, Written, make_folder, tracklets, write};
use crate::{Drive, Ego, IMAGE_SIZE, Image, LIDAR_PLACE, PointCloud, Rate, calibration};

/// The day's folder.
pub const DATE: &str = "2023_11_14";
/// The drive's folder in it.
pub const DRIVE: &str = "2023_11_14_drive_0001_sync";

/// How often all of it is captured.
const RATE: Rate = Rate { hz: 10 };

/// Degrees north and east of the drive's beginning: KITTI's town.
const ORIGIN: [f64; 2] = [49.01, 8.43];
/// The Earth's radius of KITTI's projection, metres.
const EARTH: f64 = 6_378_137.0;

/// Writes a drive below a folder, which is made.
///
/// # Errors
/// The first file that cannot be written.
pub fn kitti_raw(drive: &Drive, out: &Path, progress: Progress<'_>) -> Result<Written, FilesError> {
    let day = out.join(DATE);
    let base = day.join(DRIVE);
    let folders = ["image_02", "velodyne_points", "oxts"].map(|name| base.join(name));
    for folder in &folders {
        make_folder(&folder.join("data"))?;
    }
    let frames: Vec<u64> = (0..RATE.captures(drive.seconds())).collect();
    let first = drive.ego(Nanos::ZERO);
    let mut times = String::new();
    let mut sights = Vec::with_capacity(frames.len());
    let of = frames.len() as u64;
    in_order(
        &frames,
        |number| {
            let moment = drive.at(RATE.time(*number));
            let seen = moment.observe();
            let sights: Vec<Sight> = seen.objects.iter().map(Sight::of).collect();
            (png(&seen.image), seen.sweep.cloud, *moment.ego(), sights)
        },
        |number, (picture, cloud, ego, of_frame)| {
            let [image, sweep, packet] = &folders;
            let file = |folder: &Path, ending: &str| folder.join(format!("data/{number:010}.{ending}"));
            write(&file(image, "png"), picture?)?;
            write(&file(sweep, "bin"), bytes(&cloud))?;
            write(&file(packet, "txt"), oxts(&first, &ego))?;
            times.push_str(&stamp(BEGIN + RATE.time(*number)));
            times.push('\n');
            sights.push(of_frame);
            progress(number + 1, of);
            Ok(())
        },
    )?;
    for folder in &folders {
        write(&folder.join("timestamps.txt"), &times)?;
    }
    write(
        &base.join("tracklet_labels.xml"),
        tracklets::text(drive, RATE, &sights),
    )?;
    write(&base.join("oxts/dataformat.txt"), FORMAT)?;
    write(&day.join("calib_cam_to_cam.txt"), cameras())?;
    let [x, y, z] = LIDAR_PLACE;
    let same = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
    write(&day.join("calib_imu_to_velo.txt"), rigid(&same, &[-x, -y, -z]))?;
    let place = calibration().lidar_to_camera;
    let turn: Vec<f64> = place.iter().flat_map(|row| [row[0], row[1], row[2]]).collect();
    let shift = place.map(|row| row[3]);
    write(&day.join("calib_velo_to_cam.txt"), rigid(&turn, &shift))?;
    Ok(Written {
        images: of,
        sweeps: of,
    })
}

/// What each number of a packet is.
const FORMAT: &str = "lat lon alt roll pitch yaw vn ve vf vl vu ax ay az af al au wx wy wz wf wl wu \
                      pos_accuracy vel_accuracy navstat numsats posmode velmode orimode\n";

fn bytes(cloud: &PointCloud) -> Vec<u8> {
    cloud
        .points
        .as_flattened()
        .iter()
        .flat_map(|v| v.to_le_bytes())
        .collect()
}

fn png(image: &Image) -> Result<Vec<u8>, FilesError> {
    let failed = |error: png::EncodingError| FilesError::Image(error.to_string());
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, image.width as u32, image.height as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::Fast);
    let mut writer = encoder.write_header().map_err(failed)?;
    writer.write_image_data(&image.rgb).map_err(failed)?;
    writer.finish().map_err(failed)?;
    Ok(out)
}

/// `2023-11-14 22:13:20.100000000`: within the day on which drives begin.
fn stamp(time: Nanos) -> String {
    const DAY: i64 = 86_400;
    let (seconds, rest) = (time.0 / 1_000_000_000 % DAY, time.0 % 1_000_000_000);
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    format!("2023-11-14 {hours:02}:{minutes:02}:{:02}.{rest:09}", seconds % 60)
}

/// A packet: where the vehicle is, by the projection that KITTI's own kit inverts, and how it moves.
fn oxts(first: &Ego, ego: &Ego) -> String {
    let radians = std::f64::consts::PI / 180.0;
    let scale = libm::cos(ORIGIN[0] * radians) * EARTH;
    let moved = [0, 1].map(|k| ego.position[k] - first.position[k]);
    let north = libm::log(libm::tan((90.0 + ORIGIN[0]) * radians / 2.0)) + moved[1] / scale;
    let latitude = 2.0 * libm::atan(libm::exp(north)) / radians - 90.0;
    let longitude = ORIGIN[1] + moved[0] / scale / radians;
    let [east, up_north] = ego.velocity;
    let forward = libm::hypot(east, up_north);
    let mut values = vec![
        latitude, longitude, 116.0, 0.0, 0.0, ego.yaw, up_north, east, forward, 0.0, 0.0,
    ];
    // Of the accelerations only gravity is there.
    values.extend([0.0, 0.0, 9.81, 0.0, 0.0, 9.81]);
    values.extend([0.0, 0.0, ego.yaw_rate, 0.0, 0.0, ego.yaw_rate]);
    values.extend([0.01, 0.01]);
    format!("{} 4 10 4 4 0\n", text(&values))
}

fn text(values: &[f64]) -> String {
    let words: Vec<String> = values.iter().map(|v| format!("{v:e}")).collect();
    words.join(" ")
}

fn rigid(turn: &[f64], shift: &[f64]) -> String {
    format!(
        "calib_time: 14-Nov-2023 00:00:00\nR: {}\nT: {}\n",
        text(turn),
        text(shift)
    )
}

fn cameras() -> String {
    let same = text(&[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
    let calibration = calibration();
    let projection = text(calibration.projection.as_flattened());
    let matrix: Vec<f64> = calibration
        .projection
        .iter()
        .flat_map(|row| [row[0], row[1], row[2]])
        .collect();
    let matrix = text(&matrix);
    let size = text(&IMAGE_SIZE.map(|n| n as f64));
    let mut all = String::from("calib_time: 14-Nov-2023 00:00:00\ncorner_dist: 9.950000e-02\n");
    for n in 0..4 {
        // Writing to a text does not fail.
        let _ = write!(
            all,
            "S_{n:02}: {size}\nK_{n:02}: {matrix}\nD_{n:02}: {}\nR_{n:02}: {same}\nT_{n:02}: {}\nS_rect_{n:02}: {size}\n\
             R_rect_{n:02}: {same}\nP_rect_{n:02}: {projection}\n",
            text(&[0.0; 5]),
            text(&[0.0; 3]),
        );
    }
    all
}
