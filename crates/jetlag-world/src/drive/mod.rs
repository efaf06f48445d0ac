//! A drive along a street that goes on: who carries the sensors, who moves, what stands beside, at any time.
//!
//! [`Drive::at`] gives a [`Moment`]; nothing is stepped from one to the next, so that any order and any number of threads give
//! the same. The world's frame has x along the street, y to the left, z up from the ground; the ego vehicle's is on the ground
//! below its rear axle, x forward.
//!
//! | file | what it holds |
//! |---|---|
//! | `traffic` | lanes of cars, cyclists and people |
//! | `roadside` | what stands beside the street |
//! | `place` | something at the street, before it is built |
//! | `moment` | all of it at one time, and what the sensors see of it |

mod moment;
mod place;
mod roadside;
#[cfg(test)]
mod tests;
mod traffic;

use jetlag_record::units::Nanos;
use jetlag_stats::random::scattered;

pub use moment::{Actor, Moment, Seen};

use crate::course::{Course, Motion, between};
use crate::layout::{Light, Street, light, street};
use crate::vector::Dice;
use roadside::Roadside;
use traffic::{OWN_LANE, Traffic};

/// The longest drive, in seconds: its files are gigabytes.
pub const MAX_SECONDS: u32 = 600;

/// Where the LiDAR is on the ego vehicle, metres. It looks the vehicle's way.
pub const LIDAR_PLACE: [f64; 3] = [0.94, 0.0, 1.73];
/// Where the camera is on the ego vehicle, metres. It looks the vehicle's way.
pub const CAMERA_PLACE: [f64; 3] = [1.21, 0.0, 1.65];

/// How often a sensor captures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Captures a second.
    pub hz: u32,
}

/// The camera's rate in nuScenes.
pub const CAMERA: Rate = Rate { hz: 12 };
/// The LiDAR's rate in nuScenes.
pub const LIDAR: Rate = Rate { hz: 20 };

impl Rate {
    /// When a capture comes, from the first one: in whole microseconds, as nuScenes has times.
    pub fn time(self, number: u64) -> Nanos {
        let us = number.saturating_mul(1_000_000) / u64::from(self.hz.max(1));
        Nanos(i64::try_from(us.saturating_mul(1000)).unwrap_or(i64::MAX))
    }

    /// How many captures there are in so many seconds.
    pub fn captures(self, seconds: u32) -> u64 {
        u64::from(self.hz) * u64::from(seconds)
    }
}

/// Who somebody is, throughout a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Identity(u64);

/// Bits of an identity below its lane; the highest lane is beside the street.
const PLACE_BITS: u32 = 48;
const BESIDE: u64 = 0xffff;

impl Identity {
    fn in_lane(lane: u64, place: i64) -> Self {
        Identity(lane << PLACE_BITS | (place as u64 & ((1 << PLACE_BITS) - 1)))
    }

    fn beside_the_street(cell: i64, number: u64) -> Self {
        let place = (cell as u64) << 8 | number & 0xff;
        Identity(BESIDE << PLACE_BITS | (place & ((1 << PLACE_BITS) - 1)))
    }

    /// A number for it, different from everybody else's.
    pub fn number(self) -> u64 {
        self.0
    }

    #[cfg(test)]
    fn lane(self) -> Option<u64> {
        Some(self.0 >> PLACE_BITS).filter(|lane| *lane != BESIDE)
    }
}

/// A stretch of the street.
#[derive(Clone, Copy, Debug)]
struct Span {
    from: f64,
    to: f64,
}

impl Span {
    fn has(&self, along: f64) -> bool {
        (self.from..=self.to).contains(&along)
    }
}

/// The vehicle that carries the sensors, at a moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ego {
    /// Where its frame's origin is in the world, metres; on the ground, so z is 0.
    pub position: [f64; 3],
    /// Which way it faces, from x to y, radians.
    pub yaw: f64,
    /// In the world, metres a second.
    pub velocity: [f64; 2],
    /// Radians a second.
    pub yaw_rate: f64,
}

impl Ego {
    /// A place of its own frame, in the world.
    pub fn place(&self, at: [f64; 3]) -> [f64; 3] {
        let (sin, cos) = (libm::sin(self.yaw), libm::cos(self.yaw));
        [
            self.position[0] + at[0] * cos - at[1] * sin,
            self.position[1] + at[0] * sin + at[1] * cos,
            self.position[2] + at[2],
        ]
    }
}

/// Where along the street drives begin.
const START: f64 = 50.0;

/// A drive of some seconds.
#[derive(Clone, Debug)]
pub struct Drive {
    seed: u64,
    seconds: u32,
    course: Course,
    street: Street,
    light: Light,
    own: Motion,
    traffic: Traffic,
    roadside: Roadside,
    /// Of texture, and of noise with the time.
    key: u64,
}

impl Drive {
    /// The drive of a seed; of at least one second, and of at most [`MAX_SECONDS`]. A longer one of the same seed begins with the
    /// shorter one.
    pub fn new(seed: u64, seconds: u32) -> Self {
        // Stills are numbered from 0.
        let dice = &mut Dice::new(seed ^ 0xd41f_e000, u64::MAX);
        let course = Course::new(dice);
        let (street, _) = street(dice, [4.2, 7.0]);
        let light = light(dice);
        let speed = between(dice, 7.0, 11.0);
        let own = Motion::new(dice, speed, [0.5, 1.5]);
        let half = f64::from(street.half);
        Drive {
            seed,
            seconds: seconds.clamp(1, MAX_SECONDS),
            course,
            street,
            light,
            traffic: Traffic::new(dice, half, START, &own),
            own,
            roadside: Roadside::new(dice, half),
            key: scattered(dice.bits()),
        }
    }

    /// Its seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// How long it is.
    pub fn seconds(&self) -> u32 {
        self.seconds
    }

    /// Where the ego vehicle is at a time from the drive's beginning.
    pub fn ego(&self, time: Nanos) -> Ego {
        let second = time.as_secs_f64();
        let x = START + self.own.way(second);
        let (slope, speed) = (self.course.slope(x), self.own.speed(second));
        Ego {
            position: [
                x,
                self.course.middle(x) - f64::from(self.street.half) * OWN_LANE,
                0.0,
            ],
            yaw: libm::atan(slope),
            velocity: [speed, slope * speed],
            yaw_rate: self.course.bend(x) * speed / (1.0 + slope * slope),
        }
    }

    /// All there is at a time from the drive's beginning. Times beyond its end are no error: the street goes on.
    pub fn at(&self, time: Nanos) -> Moment {
        Moment::new(self, time)
    }

    /// The y of the street's right and left edge at the world's x.
    pub fn edges(&self, x: f64) -> [f64; 2] {
        let (middle, half) = (self.course.middle(x), f64::from(self.street.half));
        [middle - half, middle + half]
    }
}
