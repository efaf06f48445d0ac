//! What detectors find: boxes in an image or in space.

use serde::{Deserialize, Serialize};

/// Where a detected object is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Place {
    /// In the original image, pixels from its top left corner.
    Image(Box2d),
    /// In the LiDAR frame of the source.
    Space(Box3d),
}

/// An axis-aligned box in pixels of the original image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "left, top, right, bottom")]
pub struct Box2d {
    pub x1: f32,
    pub y1: f32,
    pub x2: f32,
    pub y2: f32,
}

/// An upright box in the LiDAR frame (x forward, y left, z up): metres and radians.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Box3d {
    /// Centre, forward, in metres.
    pub x: f32,
    /// Centre, to the left, in metres.
    pub y: f32,
    /// Centre, upward, in metres.
    pub z: f32,
    /// Length, along the heading.
    pub l: f32,
    /// Width, across the heading.
    pub w: f32,
    /// Height (along z), in metres.
    pub h: f32,
    /// Heading: angle from +x towards +y, in [-π, π).
    pub yaw: f32,
}

/// One object that a detector reports.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Detection {
    /// Index into the detector's class names.
    pub class: u16,
    /// The detector's confidence, from 0 to 1.
    pub score: f32,
    /// The box, in the image or in space.
    pub place: Place,
    /// How fast it moves along x and y of the LiDAR frame, in metres a second; `None` where the detector does not say it.
    pub velocity: Option<[f32; 2]>,
    /// In whose image it is, where its frame has several: the camera's place among the cameras of its source, from 0. 0 of what is in
    /// space.
    #[serde(default)]
    pub camera: u8,
}

impl Detection {
    /// One of which no velocity is known.
    pub const fn still(class: u16, score: f32, place: Place) -> Self {
        Detection {
            class,
            score,
            place,
            velocity: None,
            camera: 0,
        }
    }
}
