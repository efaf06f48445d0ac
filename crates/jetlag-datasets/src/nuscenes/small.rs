//! The small tables that everything refers to: scenes, keyframes, sensors and where these are on the car.

use std::path::Path;
use std::sync::Arc;

use jetlag_record::units::Nanos;

use super::keys::{Keys, NO_ROW, NewKeys};
use super::note::Loose;
use super::rows::{CalibratedRow, SampleRow, SceneRow, SensorRow};
use super::table::read;
use super::token::Token;
use super::values::Link;
use crate::geometry::Pose;
use crate::table_error::TableError;

/// A sensor as it was on one car at one time.
#[derive(Clone, Debug, PartialEq)]
pub struct CalibratedSensor {
    /// The row's token in table calibrated_sensor.
    pub token: Token,
    /// `LIDAR_TOP`, `CAM_FRONT`, …
    pub channel: Arc<str>,
    /// Where the sensor is on the car: maps its points into the ego frame.
    pub place: Pose,
    /// Of a camera: rows of the matrix that projects its frame onto pixels.
    pub intrinsic: Option<[[f64; 3]; 3]>,
}

/// A moment that was annotated: a keyframe of all sensors.
pub(super) struct Sample {
    pub(super) scene: u32,
    pub(super) time: Nanos,
    /// The sample before, or [`NO_ROW`].
    pub(super) previous: u32,
}

/// All samples, by row and by token.
pub(super) struct Samples {
    pub(super) rows: Vec<Sample>,
    pub(super) keys: Keys,
}

impl Samples {
    pub(super) fn token(&self, row: u32) -> &Token {
        self.keys.token(row as usize)
    }
}

/// All calibrated sensors, and which channel each is of.
pub(super) struct Sensors {
    pub(super) channels: Vec<Arc<str>>,
    pub(super) calibrated: Vec<Arc<CalibratedSensor>>,
    /// Of each calibrated sensor: its channel's number.
    pub(super) channel_of: Vec<u32>,
    pub(super) keys: Keys,
}

/// The scenes' names, in their order, and the scenes' tokens.
pub(super) fn scenes(path: &Path) -> Result<(Vec<String>, Keys), TableError> {
    let (mut names, mut keys) = (Vec::new(), NewKeys::of("scene"));
    read(path, |_, row: SceneRow| {
        keys.push(row.token.needed("token")?);
        names.push(row.name.needed("name")?);
        Ok(())
    })?;
    Ok((names, keys.sorted(path)?))
}

pub(super) fn samples(path: &Path, scenes: &Keys, loose: &mut Loose) -> Result<Samples, TableError> {
    let (mut rows, mut keys) = (Vec::new(), NewKeys::of("sample"));
    let mut previous = Vec::new();
    let mut scene = 0;
    read(path, |_, row: SampleRow| {
        keys.push(row.token.needed("token")?);
        scene = scenes.row("scene_token", &row.scene_token.needed("scene_token")?, scene)?;
        let stamp = row.timestamp.needed("timestamp")?;
        loose.nanoseconds += usize::from(stamp.in_nanoseconds);
        rows.push(Sample {
            scene,
            time: stamp.time,
            previous: NO_ROW,
        });
        previous.push(row.prev.optional("prev")?.unwrap_or_default());
        Ok(())
    })?;
    let keys = keys.sorted(path)?;
    for (number, Link(token)) in previous.iter().enumerate() {
        rows[number].previous = keys
            .link("prev", token.as_ref(), (number as u32).wrapping_sub(1))
            .map_err(|wrong| wrong.in_row(path, number))?;
    }
    Ok(Samples { rows, keys })
}

pub(super) fn sensors(folder: &Path, loose: &mut Loose) -> Result<Sensors, TableError> {
    let mut channels: Vec<Arc<str>> = Vec::new();
    let (mut channel_rows, mut sensor_keys) = (Vec::new(), NewKeys::of("sensor"));
    let path = folder.join("sensor.json");
    read(&path, |_, row: SensorRow| {
        sensor_keys.push(row.token.needed("token")?);
        let name = row.channel.needed("channel")?;
        let channel = channels.iter().position(|known| **known == *name);
        channel_rows.push(channel.unwrap_or(channels.len()));
        if channel.is_none() {
            channels.push(name.into());
        }
        Ok(())
    })?;
    let sensor_keys = sensor_keys.sorted(&path)?;
    let path = folder.join("calibrated_sensor.json");
    let (mut calibrated, mut channel_of) = (Vec::new(), Vec::new());
    let mut keys = NewKeys::of("calibrated_sensor");
    read(&path, |_, row: CalibratedRow| {
        let token = row.token.needed("token")?;
        keys.push(token.clone());
        let sensor = sensor_keys.row("sensor_token", &row.sensor_token.needed("sensor_token")?, 0)?;
        let channel = channel_rows[sensor as usize];
        let rotation = row.rotation.needed("rotation")?;
        loose.matrices += usize::from(rotation.was_matrix);
        let intrinsic = row.camera_intrinsic.optional("camera_intrinsic")?;
        channel_of.push(channel as u32); // One row each at most.
        calibrated.push(Arc::new(CalibratedSensor {
            token,
            channel: Arc::clone(&channels[channel]),
            place: Pose {
                translation: row.translation.needed("translation")?.0,
                rotation: rotation.turn,
            },
            intrinsic: intrinsic.and_then(|intrinsic| intrinsic.0),
        }));
        Ok(())
    })?;
    Ok(Sensors {
        keys: keys.sorted(&path)?,
        channels,
        calibrated,
        channel_of,
    })
}
