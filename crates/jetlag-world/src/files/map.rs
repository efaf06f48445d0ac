//! The map of nuScenes: an image with a pixel for each 10 cm, white where vehicles drive. Its lower left corner is the world's
//! origin.

use jetlag_record::whole;
use std::io::{BufWriter, Write};
use std::path::Path;

use jetlag_record::units::Nanos;

use super::FilesError;
use crate::Drive;

/// Pixels a metre, as the devkit takes it.
const PIXELS: f64 = 10.0;
/// How far the map goes beyond the vehicle's last place, and to the left of its places, in metres.
const MARGIN: f64 = 90.0;
/// The map's highest y in metres: the street swings about 60.
const HIGH: f64 = 120.0;

pub(super) fn write(drive: &Drive, path: &Path) -> Result<(), FilesError> {
    let end = drive.ego(Nanos::from_secs(i64::from(drive.seconds()))).position[0] + MARGIN;
    let (width, height) = ((end * PIXELS) as u32, (HIGH * PIXELS) as u32);
    let failed = |error| FilesError::Io {
        path: path.to_owned(),
        error,
    };
    let picture = |error: png::EncodingError| failed(error.into());
    let file = whole::create(path, false).map_err(failed)?;
    let mut encoder = png::Encoder::new(BufWriter::new(file), width, height);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header().map_err(picture)?;
    let mut rows = writer.stream_writer().map_err(picture)?;
    let at = |pixel: u32| (f64::from(pixel) + 0.5) / PIXELS;
    let edges: Vec<[f64; 2]> = (0..width).map(|column| drive.edges(at(column))).collect();
    let mut row = vec![0; width as usize];
    for number in (0..height).rev() {
        let y = at(number);
        for (pixel, [right, left]) in row.iter_mut().zip(&edges) {
            *pixel = if (*right..*left).contains(&y) { 255 } else { 0 };
        }
        rows.write_all(&row).map_err(failed)?;
    }
    rows.finish().map_err(picture)?;
    writer.finish().map_err(picture)
}
