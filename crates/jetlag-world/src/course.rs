//! Where the street of a drive runs, and how things move along it.
//!
//! The street's middle is a function of x, so that it never meets itself and every place has one way along it. All of this is
//! in double precision: a drive goes on for kilometres, and speeds are differences.

use crate::vector::Dice;

/// The middle of the street: gentle bends over the world's x, which is the way along it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Course {
    waves: [Wave; 2],
}

#[derive(Clone, Copy, Debug)]
struct Wave {
    amplitude: f64,
    /// Radians a metre.
    number: f64,
    phase: f64,
}

/// The world's y that the street swings about, metres. With the x that drives begin at, nothing near it has a coordinate below 0.
const MIDDLE: f64 = 60.0;

/// A turn in radians.
const TURN: f32 = std::f32::consts::TAU;

/// A number in `low..high`.
pub(crate) fn between(dice: &mut Dice, low: f32, high: f32) -> f64 {
    f64::from(dice.range(low, high))
}

impl Course {
    pub(crate) fn new(dice: &mut Dice) -> Self {
        let mut wave = |amplitude: [f32; 2], length: [f32; 2]| Wave {
            amplitude: between(dice, amplitude[0], amplitude[1]),
            number: f64::from(TURN) / between(dice, length[0], length[1]),
            phase: between(dice, 0.0, TURN),
        };
        Course {
            // Together at most 16° off the x axis.
            waves: [wave([3.0, 6.0], [180.0, 260.0]), wave([0.4, 1.0], [80.0, 110.0])],
        }
    }

    /// The y of the middle at x.
    pub(crate) fn middle(&self, x: f64) -> f64 {
        self.waves.iter().fold(MIDDLE, |y, wave| {
            y + wave.amplitude * libm::sin(wave.number * x + wave.phase)
        })
    }

    /// As [`Course::middle`], for each pixel and ray: to a tenth of a millimetre.
    pub(crate) fn middle_f32(&self, x: f32) -> f32 {
        self.waves.iter().fold(MIDDLE as f32, |y, wave| {
            y + wave.amplitude as f32 * libm::sinf(wave.number as f32 * x + wave.phase as f32)
        })
    }

    /// Metres left for each metre along x.
    pub(crate) fn slope(&self, x: f64) -> f64 {
        let slope = |wave: &Wave| wave.amplitude * wave.number * libm::cos(wave.number * x + wave.phase);
        self.waves.iter().map(slope).sum()
    }

    /// How the slope changes for each metre along x.
    pub(crate) fn bend(&self, x: f64) -> f64 {
        let bend = |wave: &Wave| {
            -wave.amplitude * wave.number * wave.number * libm::sin(wave.number * x + wave.phase)
        };
        self.waves.iter().map(bend).sum()
    }
}

/// A speed that swings about its mean, and the way that it makes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Motion {
    /// Metres a second along x, on average.
    speed: f64,
    /// How far the speed swings to both sides.
    swing: f64,
    /// Radians a second.
    number: f64,
    phase: f64,
}

impl Motion {
    /// With a mean speed, which swings by up to `swing` within six to ten seconds.
    pub(crate) fn new(dice: &mut Dice, speed: f64, swing: [f32; 2]) -> Self {
        Motion {
            speed,
            swing: between(dice, swing[0], swing[1]),
            number: f64::from(TURN) / between(dice, 6.0, 10.0),
            phase: between(dice, 0.0, TURN),
        }
    }

    /// Metres along x since second 0.
    pub(crate) fn way(&self, second: f64) -> f64 {
        let swung = libm::cos(self.phase) - libm::cos(self.number * second + self.phase);
        self.speed * second + self.swing / self.number * swung
    }

    /// Metres a second along x: how [`Motion::way`] changes.
    pub(crate) fn speed(&self, second: f64) -> f64 {
        self.speed + self.swing * libm::sin(self.number * second + self.phase)
    }

    /// The mean of the speed.
    pub(crate) fn mean(&self) -> f64 {
        self.speed
    }
}
