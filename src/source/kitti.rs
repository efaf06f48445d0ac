//! KITTI's folder layout: `image_2/*.png`, `velodyne/*.bin`, `label_2/*.txt`, `calib/*.txt`.
//!
//! [`write_scene`] writes synthetic scenes so that any tool that reads KITTI reads them, and
//! [`read_labels`] reads the labels of any such folder back into this crate's boxes, in the LiDAR frame.
//! Reading images and sweeps is the folder source's.
//!
//! Label columns: class, truncated (0..1), occluded (0 visible, 1 partly, 2 largely, 3 unknown), alpha,
//! the 2-D box (left, top, right, bottom), height, width, length, the location of the bottom's centre
//! (x right, y down, z forward, rectified camera frame) and rotation_y.
//!
//! What the synthetic labels mean beyond the format: an object that counts for neither sensor is a
//! `DontCare`, and keeps its true 2-D and 3-D box, so that finding it can be forgiven. An object that
//! counts for one sensor at least has its class; whether it counts for the camera is
//! [`Label::counts_for_camera`], and for the LiDAR, whether enough points lie in its box.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use jetlag_datasets::kitti::{self, Camera};

use super::calibration::Calibration;
use super::synthetic::{MAX_TRUNCATED, MIN_HEIGHT, MIN_VISIBLE, Object, Observation};
use super::{Image, SourceError};
use crate::files;
use crate::record::detection::{Box2d, Box3d};
use crate::whole;

/// Where the folders of KITTI's object layout lie, for whom names them as a source does: the folder of `label_2`, the folder of images or
/// sweeps beside it, or the one above its sequence. `None` where there are no labels.
pub fn root_of(data: &Path) -> Option<PathBuf> {
    let absolute = std::path::absolute(data).unwrap_or_else(|_| data.to_owned());
    let is_inner = data
        .file_name()
        .and_then(|name| name.to_str())
        .is_some_and(|name| name.starts_with("image_") || name == "velodyne");
    let beside = absolute.parent().filter(|_| is_inner).map(Path::to_owned);
    [Some(data.to_owned()), beside, Some(data.join("training"))]
        .into_iter()
        .flatten()
        .find(|root| root.join("label_2").is_dir())
}

/// One row of a label file.
#[derive(Clone, Debug, PartialEq)]
pub struct Label {
    /// As written: `Car`, `Pedestrian`, `Cyclist`, …; of a `DontCare` that too.
    pub class: String,
    /// Whether the row marks a place where a detection counts neither for nor against.
    pub dont_care: bool,
    /// Share of the object beyond the image's edge, 0..=1; −1 where unknown.
    pub truncated: f32,
    /// 0 visible, 1 partly hidden, 2 largely hidden, 3 unknown; −1 in a `DontCare`.
    pub occluded: i8,
    /// In the image, pixels.
    pub box2d: Box2d,
    /// In the LiDAR frame; `None` where the row has no 3-D box (a real `DontCare`).
    pub box3d: Option<Box3d>,
    /// The row's numbers behind the class, as written.
    pub columns: [f64; 14],
}

impl Label {
    /// Whether a camera detector is expected to find the object: it is no `DontCare`, high enough, not
    /// largely hidden, and not cut off for the most part. Otherwise finding it is neither right nor wrong.
    pub fn counts_for_camera(&self) -> bool {
        !self.dont_care
            && self.box2d.y2 - self.box2d.y1 >= MIN_HEIGHT
            && self.occluded <= 1
            && self.truncated <= MAX_TRUNCATED
    }
}

/// Writes one observation as `{name}` into the four folders under `out`, which it makes.
pub fn write_scene(
    out: &Path,
    name: &str,
    seen: &Observation,
    calibration: &Calibration,
) -> Result<(), SourceError> {
    let file = |folder: &str, ending: &str| -> Result<std::path::PathBuf, SourceError> {
        let folder = out.join(folder);
        std::fs::create_dir_all(&folder).map_err(|error| SourceError::Write {
            path: folder.clone(),
            error,
        })?;
        Ok(folder.join(format!("{name}.{ending}")))
    };
    let write = |path: std::path::PathBuf, bytes: &[u8]| {
        whole::write(&path, bytes, false).map_err(|error| SourceError::Write { path, error })
    };
    let path = file("image_2", "png")?;
    match png_of(&seen.image) {
        Ok(bytes) => write(path, &bytes)?,
        Err(error) => {
            let error = std::io::Error::other(error);
            return Err(SourceError::Write { path, error });
        }
    }
    let points = seen.sweep.points.as_flattened();
    let bytes: Vec<u8> = points.iter().flat_map(|v| v.to_le_bytes()).collect();
    write(file("velodyne", "bin")?, &bytes)?;
    write(file("calib", "txt")?, calibration_text(calibration).as_bytes())?;
    let mut labels = String::new();
    for object in &seen.objects {
        labels.push_str(&label_row(object, calibration));
        labels.push('\n');
    }
    write(file("label_2", "txt")?, labels.as_bytes())
}

fn png_of(image: &Image) -> Result<Vec<u8>, png::EncodingError> {
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, image.width as u32, image.height as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&image.rgb)?;
    writer.finish()?;
    Ok(out)
}

/// One row of a label file, without the line's end.
pub fn label_row(object: &Object, calibration: &Calibration) -> String {
    let counts = object.counts_for_camera() || object.counts_for_lidar();
    let class = if counts { object.class.name() } else { "DontCare" };
    let occluded = if object.visible_pixels == 0 {
        3
    } else if object.visible < MIN_VISIBLE {
        2
    } else {
        i32::from(object.visible < 0.8)
    };
    let p = &object.place;
    let [x, y, z] = calibration.to_camera([p.x, p.y, p.z].map(f64::from));
    let (sin, cos) = f64::from(p.yaw).sin_cos();
    let heading = calibration.turn_to_camera([cos, sin, 0.0]);
    let rotation = (-heading[2]).atan2(heading[0]);
    let alpha = wrap(rotation - x.atan2(z));
    let b = &object.image;
    format!(
        "{class} {:.2} {occluded} {alpha:.2} {:.2} {:.2} {:.2} {:.2} {:.2} {:.2} {:.2} {x:.2} {:.2} {z:.2} {rotation:.2}",
        object.truncated,
        b.x1,
        b.y1,
        b.x2,
        b.y2,
        p.h,
        p.w,
        p.l,
        y + f64::from(p.h) / 2.0,
    )
}

/// The calibration as KITTI writes it. The right and grey cameras, which there are none of, repeat P2.
fn calibration_text(calibration: &Calibration) -> String {
    let mut text = String::new();
    let mut line = |name: &str, values: &[f64]| {
        text.push_str(name);
        text.push(':');
        for v in values {
            // Writing to a String cannot fail.
            let _ = write!(text, " {v:e}");
        }
        text.push('\n');
    };
    for camera in ["P0", "P1", "P2", "P3"] {
        line(camera, calibration.projection.as_flattened());
    }
    line("R0_rect", calibration.rectification.as_flattened());
    line("Tr_velo_to_cam", calibration.lidar_to_camera.as_flattened());
    let same = [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]];
    line("Tr_imu_to_velo", same.as_flattened());
    text
}

/// Reads the labels of one frame into the LiDAR frame of its calibration, in file order.
///
/// # Errors
/// A file that cannot be read, a row that has not 15 columns (16 with a score), a number that is none,
/// a calibration that lacks a matrix. The message says which line or matrix.
pub fn read_labels(label: &Path, calib: &Path) -> Result<Vec<Label>, SourceError> {
    let calibration = read_calibration(calib)?;
    let text = read(label)?;
    text.lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(number, line)| {
            parse_row(line, &calibration).map_err(|problem| SourceError::BadFile {
                path: label.to_owned(),
                problem: format!("line {}: {problem}", number + 1),
            })
        })
        .collect()
}

/// Reads P2, R0_rect and Tr_velo_to_cam of a calibration file.
///
/// # Errors
/// A file that cannot be read, or one of the three matrices that is missing or has a wrong number of
/// values.
pub fn read_calibration(path: &Path) -> Result<Calibration, SourceError> {
    let all = kitti::Calibration::object(path).map_err(|error| SourceError::Recording(Box::new(error)))?;
    let bad = |name: &str| SourceError::BadFile {
        path: path.to_owned(),
        problem: format!("has no line `{name}: …`; is it a calibration file of the object benchmark?"),
    };
    let [x, y, z, _] = all.lidar_to_camera.ok_or_else(|| bad("Tr_velo_to_cam"))?;
    Ok(Calibration {
        projection: all.projections[Camera::ColourLeft.number()].ok_or_else(|| bad("P2"))?,
        rectification: all.rectification,
        lidar_to_camera: [x, y, z],
    })
}

fn read(path: &Path) -> Result<String, SourceError> {
    files::read_text(path, files::TEXT).map_err(|error| SourceError::Io {
        path: path.to_owned(),
        error,
    })
}

fn parse_row(line: &str, calibration: &Calibration) -> Result<Label, String> {
    let columns: Vec<&str> = line.split_whitespace().collect();
    if !(15..=16).contains(&columns.len()) {
        return Err(format!(
            "a label has 15 columns (16 with a score); found {}",
            columns.len()
        ));
    }
    let mut v = [0.0_f64; 14];
    for (number, (value, text)) in v.iter_mut().zip(&columns[1..]).enumerate() {
        *value = text
            .parse()
            .ok()
            .filter(|v: &f64| v.is_finite())
            .ok_or_else(|| format!("column {} must be a number; found `{text}`", number + 2))?;
    }
    let [truncated, occluded, _, x1, y1, x2, y2, h, w, l, x, y, z, rotation] = v;
    let box3d = (h > 0.0 && w > 0.0 && l > 0.0).then(|| {
        let centre = calibration.to_lidar([x, y - h / 2.0, z]);
        let heading = calibration.turn_to_lidar([rotation.cos(), 0.0, -rotation.sin()]);
        Box3d {
            x: centre[0] as f32,
            y: centre[1] as f32,
            z: centre[2] as f32,
            l: l as f32,
            w: w as f32,
            h: h as f32,
            yaw: wrap(heading[1].atan2(heading[0])) as f32,
        }
    });
    Ok(Label {
        class: columns[0].to_owned(),
        dont_care: columns[0] == "DontCare",
        truncated: truncated as f32,
        occluded: occluded as i8,
        box2d: Box2d {
            x1: x1 as f32,
            y1: y1 as f32,
            x2: x2 as f32,
            y2: y2 as f32,
        },
        box3d,
        columns: v,
    })
}

/// The same angle within −π to π.
fn wrap(angle: f64) -> f64 {
    use std::f64::consts::{PI, TAU};
    angle - TAU * ((angle + PI) / TAU).floor()
}
