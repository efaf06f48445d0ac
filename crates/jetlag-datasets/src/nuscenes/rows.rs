//! The rows of the tables, of each only the fields that are needed. Fields may come in any order, and others beside them.

use serde::Deserialize;

use super::field::Field;
use super::token::Token;
use super::values::{Count, Counted, Intrinsic, Link, Metres, Rotation, Size, Stamp};

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct SceneRow {
    pub(super) token: Field<Token>,
    pub(super) name: Field<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct SampleRow {
    pub(super) token: Field<Token>,
    pub(super) scene_token: Field<Token>,
    pub(super) timestamp: Field<Stamp>,
    pub(super) prev: Field<Link>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct SensorRow {
    pub(super) token: Field<Token>,
    pub(super) channel: Field<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct CalibratedRow {
    pub(super) token: Field<Token>,
    pub(super) sensor_token: Field<Token>,
    pub(super) translation: Field<Metres>,
    pub(super) rotation: Field<Rotation>,
    pub(super) camera_intrinsic: Field<Intrinsic>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct PoseRow {
    pub(super) token: Field<Token>,
    pub(super) translation: Field<Metres>,
    pub(super) rotation: Field<Rotation>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct CaptureRow {
    pub(super) token: Field<Token>,
    pub(super) sample_token: Field<Token>,
    pub(super) ego_pose_token: Field<Link>,
    pub(super) calibrated_sensor_token: Field<Token>,
    pub(super) timestamp: Field<Stamp>,
    pub(super) is_key_frame: Field<bool>,
    pub(super) filename: Field<String>,
    pub(super) width: Field<Count>,
    pub(super) height: Field<Count>,
    pub(super) prev: Field<Link>,
}

/// Of the tables category and visibility.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct NameRow {
    pub(super) token: Field<Token>,
    pub(super) name: Field<String>,
    pub(super) level: Field<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct InstanceRow {
    pub(super) token: Field<Token>,
    pub(super) category_token: Field<Token>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct AnnotationRow {
    pub(super) token: Field<Token>,
    pub(super) sample_token: Field<Token>,
    pub(super) instance_token: Field<Token>,
    pub(super) visibility_token: Field<Link>,
    pub(super) translation: Field<Metres>,
    pub(super) size: Field<Size>,
    pub(super) rotation: Field<Rotation>,
    pub(super) prev: Field<Link>,
    pub(super) next: Field<Link>,
    pub(super) num_lidar_pts: Field<Counted>,
    pub(super) num_radar_pts: Field<Counted>,
}
