//! Which sensor took a frame, where that and the vehicle were then, and how a camera projects: as far as the source tells.
//!
//! A place maps points of one frame of reference into another, which has a name. What two sensors have in common is found by these
//! names ([`FrameContext::onto`]).

use std::sync::Arc;

pub use jetlag_datasets::geometry::{Pose, Rotation};

use super::calibration::corners;
use crate::record::detection::{Box2d, Box3d};

/// What a source knows of a frame beside its content and its capture time.
#[derive(Clone, Debug, PartialEq)]
pub struct FrameContext {
    /// The sensor, as the source names it: `CAM_FRONT`, `camera_2`, a bag's topic.
    pub sensor: Arc<str>,
    /// Where the sensor is on the vehicle: maps its frame into the vehicle's. A camera's frame has x right, y down, z forward.
    pub place: Option<Placed>,
    /// How a camera projects its own frame onto pixels.
    pub projection: Option<Projection>,
    /// Where the vehicle was when the frame was captured: maps its frame into one that stands still.
    pub vehicle: Option<Placed>,
}

/// A place within a frame of reference.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    /// The name of the frame that points are mapped into.
    pub within: Arc<str>,
    /// Maps them; metres.
    pub pose: Pose,
}

/// A camera without its place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Projection {
    /// Rows of the intrinsic matrix, pixels.
    pub matrix: [[f64; 3]; 3],
    /// Width and height of the calibrated image in pixels, where the source says so.
    pub size: Option<[u32; 2]>,
    /// Whether the lens bends the image beyond what the matrix says: pixels are then about right in its middle only.
    pub is_distorted: bool,
}

/// How one sensor's points come to lie in a camera's image.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sight {
    /// The camera's.
    pub projection: Projection,
    /// Maps the sensor's frame, when it captured, into the camera's, when that captured.
    pub onto: Pose,
}

/// Nearer than this no point is projected, metres.
const NEAREST: f64 = 0.01;

impl Placed {
    /// A place within the frame of this name.
    pub fn new(within: impl Into<Arc<str>>, pose: Pose) -> Placed {
        Placed {
            within: within.into(),
            pose,
        }
    }
}

impl FrameContext {
    /// Maps this sensor's frame, when it captured, into `other`'s, when that captured.
    ///
    /// Where both know where the vehicle was, its way between the two captures is in it; where not, it is taken as if it had stood
    /// still. A sensor on a part that moves may be in a frame in which the other is fixed. `None` where the two sensors' places are unknown, or have no frame in common.
    pub fn onto(&self, other: &FrameContext) -> Option<Pose> {
        let (this, that) = (self.place.as_ref()?, other.place.as_ref()?);
        let [from, to] = [(self, this), (other, that)].map(|(context, place)| match &context.vehicle {
            Some(vehicle) => (&vehicle.within, vehicle.pose.after(&place.pose)),
            None => (&place.within, place.pose),
        });
        if from.0 == to.0 {
            return Some(to.1.inverse().after(&from.1));
        }
        (this.within == that.within).then(|| that.pose.inverse().after(&this.pose))
    }
}

impl Projection {
    /// The pixel of a point of the camera's frame, and its depth in metres; `None` from 1 cm before the camera backwards.
    pub fn pixel(&self, point: [f64; 3]) -> Option<[f64; 3]> {
        let [u, v, w] = self
            .matrix
            .map(|r| r[0] * point[0] + r[1] * point[1] + r[2] * point[2]);
        (w > NEAREST).then(|| [u / w, v / w, w])
    }

    /// The rectangle around the projected corners of a box of another sensor, not clipped to the image. `onto` maps that sensor's
    /// frame into the camera's. `None` where a corner is not before the camera.
    pub fn around(&self, place: &Box3d, onto: &Pose) -> Option<Box2d> {
        let mut around = Box2d {
            x1: f32::INFINITY,
            y1: f32::INFINITY,
            x2: f32::NEG_INFINITY,
            y2: f32::NEG_INFINITY,
        };
        for corner in corners(place) {
            let [u, v, _] = self.pixel(onto.apply(corner))?;
            around.x1 = around.x1.min(u as f32);
            around.y1 = around.y1.min(v as f32);
            around.x2 = around.x2.max(u as f32);
            around.y2 = around.y2.max(v as f32);
        }
        Some(around)
    }
}

impl Sight {
    /// Of a sensor's points in a camera's image; `None` where they do not tell enough of themselves.
    pub fn of(sensor: &FrameContext, camera: &FrameContext) -> Option<Sight> {
        Some(Sight {
            projection: camera.projection?,
            onto: sensor.onto(camera)?,
        })
    }

    /// As [`Projection::around`], of a box of the sensor.
    pub fn around(&self, place: &Box3d) -> Option<Box2d> {
        self.projection.around(place, &self.onto)
    }
}

/// What is known of each frame of a source.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Contexts {
    /// Nothing.
    #[default]
    Unknown,
    /// The same of all.
    Same(Arc<FrameContext>),
    /// Of each, by its number.
    Each(Arc<[Arc<FrameContext>]>),
}

impl Contexts {
    /// Of frames in their order. Where all are the same, one is kept.
    pub fn each(contexts: impl IntoIterator<Item = FrameContext>) -> Contexts {
        let mut all: Vec<Arc<FrameContext>> = Vec::new();
        let mut differ = false;
        for context in contexts {
            let context = match all.last() {
                Some(last) if **last == context => Arc::clone(last),
                last => {
                    differ |= last.is_some();
                    Arc::new(context)
                }
            };
            all.push(context);
        }
        match all.first() {
            None => Contexts::Unknown,
            Some(first) if !differ => Contexts::Same(Arc::clone(first)),
            Some(_) => Contexts::Each(all.into()),
        }
    }

    /// Of the frame with this number. Allocates nothing.
    pub fn of(&self, number: usize) -> Option<Arc<FrameContext>> {
        match self {
            Contexts::Unknown => None,
            Contexts::Same(context) => Some(Arc::clone(context)),
            Contexts::Each(all) => all.get(number).map(Arc::clone),
        }
    }
}

#[cfg(test)]
mod tests;
