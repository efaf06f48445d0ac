//! Where a place that the sensors see lies in the world: what is painted on the ground and on walls stays there while the
//! sensors move on.

use super::course::Course;
use super::vector::{Pose, Vec3};

/// How the ground lies under the sensors.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ground {
    /// A still: the street runs along the sensors' x.
    Still {
        /// Where its middle runs, metres left.
        middle: f32,
    },
    /// A moment of a drive.
    Drive {
        /// Where the sensors are in the world, and which way they face.
        sensors: Pose,
        course: Course,
    },
}

impl Ground {
    /// Where a place of the sensors' frame always is. Heights stay those above the sensors, which go up and down nowhere.
    pub(super) fn fixed(&self, at: Vec3) -> Vec3 {
        match self {
            Ground::Still { .. } => at,
            Ground::Drive { sensors, .. } => {
                let [x, y, _] = sensors.place(at);
                [x, y, at[2]]
            }
        }
    }

    /// How far along the street, and how far left of its middle, a place of the world is.
    pub(super) fn on_street(&self, fixed: Vec3) -> [f32; 2] {
        match self {
            Ground::Still { middle } => [fixed[0], fixed[1] - middle],
            Ground::Drive { course, .. } => [fixed[0], fixed[1] - course.middle_f32(fixed[0])],
        }
    }
}
