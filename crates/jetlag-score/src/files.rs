//! Result files as each benchmark's own tools read them.
//!
//! Tokens, image numbers and file names are the dataset's own; the caller has them.

use std::io::{self, Write};

use serde_json::json;

use crate::coco;
use crate::error::{ScoreError, Site, What};
use crate::kitti;
use crate::nuscenes::{self, ATTRIBUTES, CLASSES};

/// Why a result file is not written, or not to its end.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// A detection that no result file can hold.
    #[error(transparent)]
    Detection(#[from] ScoreError),
    /// The file itself.
    #[error("writing results: {0}")]
    Write(#[from] io::Error),
}

impl From<serde_json::Error> for FilesError {
    fn from(error: serde_json::Error) -> Self {
        FilesError::Write(error.into())
    }
}

/// The category numbers of COCO's 80 classes, in their order: 1 to 90, of which ten are not used.
pub fn coco_categories() -> Vec<u64> {
    const UNUSED: [u64; 10] = [12, 26, 29, 30, 45, 66, 68, 69, 71, 83];
    (1..=90).filter(|number| !UNUSED.contains(number)).collect()
}

/// Writes COCO's results: one list of detections. `categories` are the dataset's numbers of the classes, `images` the
/// dataset's number of each image and what was found in it.
///
/// # Errors
/// A class without a category, a number that is not finite, a file that cannot be written.
pub fn coco<'a>(
    out: &mut dyn Write,
    categories: &[u64],
    images: impl IntoIterator<Item = (u64, &'a [coco::Found])>,
) -> Result<(), FilesError> {
    let mut separator = "[";
    for (frame, (image, found)) in images.into_iter().enumerate() {
        for (index, found) in found.iter().enumerate() {
            let what = What::Detection;
            let site = Site { frame, what, index };
            site.class(found.class, categories.len())?;
            site.finite("box", &found.bbox)?;
            site.finite("score", &[found.score])?;
            let category = categories.get(found.class);
            write!(out, "{separator}")?;
            let row = json!({ "image_id": image, "category_id": category, "bbox": found.bbox, "score": found.score });
            serde_json::to_writer(&mut *out, &row)?;
            separator = ",\n";
        }
    }
    if separator == "[" {
        write!(out, "[")?;
    }
    writeln!(out, "]")?;
    Ok(())
}

/// What a detector looked at, which nuScenes's results must say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the benchmark's own words, without their `use_`")]
pub struct Meta {
    pub camera: bool,
    pub lidar: bool,
    pub radar: bool,
    pub map: bool,
    pub external: bool,
}

/// Writes nuScenes's submission. `samples` are the tokens of all samples of the split and what was found in each, which may be
/// nothing. A velocity that is not told is written as 0, an attribute as none.
///
/// # Errors
/// A class or attribute that does not exist, a number that is not finite, a size that is not above zero, more than 500 detections
/// in a sample, a file that cannot be written.
pub fn nuscenes<'a>(
    out: &mut dyn Write,
    meta: Meta,
    samples: impl IntoIterator<Item = (&'a str, &'a [nuscenes::Found])>,
) -> Result<(), FilesError> {
    let meta = json!({
        "use_camera": meta.camera, "use_lidar": meta.lidar, "use_radar": meta.radar, "use_map": meta.map,
        "use_external": meta.external,
    });
    write!(out, "{{\"meta\":{meta},\"results\":{{")?;
    let most = nuscenes::Config::default().most_boxes;
    for (frame, (token, found)) in samples.into_iter().enumerate() {
        if found.len() > most {
            let found = found.len();
            return Err(ScoreError::TooManyBoxes { frame, found, most }.into());
        }
        nuscenes::check_found(frame, found)?;
        let separator = if frame == 0 { "" } else { "," };
        let rows: Vec<serde_json::Value> = found.iter().map(|found| row(token, found)).collect();
        write!(out, "{separator}\n{}:", json!(token))?;
        serde_json::to_writer(&mut *out, &rows)?;
    }
    writeln!(out, "}}}}")?;
    Ok(())
}

fn row(token: &str, found: &nuscenes::Found) -> serde_json::Value {
    let (sin, cos) = (found.yaw / 2.0).sin_cos();
    let attribute = found.attribute.and_then(|number| ATTRIBUTES.get(number));
    json!({
        "sample_token": token, "translation": found.centre, "size": found.size, "rotation": [cos, 0.0, 0.0, sin],
        "velocity": found.velocity.unwrap_or_default(), "detection_name": CLASSES.get(found.class),
        "detection_score": found.score, "attribute_name": attribute.unwrap_or(&""),
    })
}

/// Writes KITTI's results of a frame: the file `NNNNNN.txt` of its number, one line a detection, which is empty where nothing was
/// found. What is not told has the benchmark's own words for that: −1, −10 and −1000.
///
/// # Errors
/// A number that is not finite, a file that cannot be written. The error names frame 0.
pub fn kitti(out: &mut dyn Write, found: &[kitti::Found]) -> Result<(), FilesError> {
    for (index, found) in found.iter().enumerate() {
        kitti::check_found(0, index, found)?;
        let [x1, y1, x2, y2] = found.bbox;
        let alpha = found.alpha.unwrap_or(-10.0);
        write!(out, "{} -1 -1 {alpha} {x1} {y1} {x2} {y2}", found.kind.name())?;
        let space = found.space.unwrap_or(kitti::CameraBox {
            size: [-1.0; 3],
            place: [-1000.0; 3],
            heading: -10.0,
        });
        let [height, width, length] = space.size;
        let [x, y, z] = space.place;
        writeln!(
            out,
            " {height} {width} {length} {x} {y} {z} {} {}",
            space.heading, found.score
        )?;
    }
    Ok(())
}
