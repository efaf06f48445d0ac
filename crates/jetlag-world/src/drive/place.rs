//! Somebody or something at the street, before it is built: what, where and how fast.

use super::Identity;
use crate::Class;
use crate::course::Course;
use crate::models::{self, Clutter, Size};
use crate::shape::Solid;
use crate::vector::{Dice, Pose};

/// What is built.
#[derive(Clone, Copy, Debug)]
pub(super) enum What {
    /// A car with this body.
    Car(usize),
    Person,
    Cyclist,
    Clutter(Clutter),
}

/// Something at a moment. It is drawn from dice of its own, so that it looks the same at every moment.
pub(super) struct Placed {
    /// Of objects; clutter has none.
    pub(super) identity: Option<Identity>,
    pub(super) what: What,
    pub(super) size: Size,
    /// Along the street, which is the world's x.
    pub(super) along: f64,
    /// Left of the street's middle.
    pub(super) beside: f64,
    /// From the street's direction, radians.
    pub(super) turn: f64,
    /// Along the street, metres a second; against it where negative.
    pub(super) speed: f64,
    /// Draws how it looks.
    pub(super) looks: Dice,
}

/// Where something stands in the world.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing {
    /// On the ground.
    pub(super) position: [f64; 2],
    pub(super) yaw: f64,
    pub(super) velocity: [f64; 2],
}

impl Placed {
    pub(super) fn class(&self) -> Option<Class> {
        match self.what {
            What::Car(_) => Some(Class::Car),
            What::Person => Some(Class::Pedestrian),
            What::Cyclist => Some(Class::Cyclist),
            What::Clutter(_) => None,
        }
    }

    pub(super) fn standing(&self, course: &Course) -> Standing {
        let slope = course.slope(self.along);
        Standing {
            position: [self.along, course.middle(self.along) + self.beside],
            yaw: libm::atan(slope) + self.turn,
            velocity: [self.speed, slope * self.speed],
        }
    }

    /// Adds its solids, as they stand at a pose.
    pub(super) fn build(&mut self, pose: &Pose, out: &mut Vec<Solid>) {
        let dice = &mut self.looks;
        match self.what {
            What::Car(body) => models::car(pose, body, self.size, dice, out),
            What::Person => models::person(pose, self.size, dice, out),
            What::Cyclist => models::cyclist(pose, self.size, dice, out),
            What::Clutter(kind) => models::clutter(kind, pose, self.size, dice, out),
        }
    }
}
