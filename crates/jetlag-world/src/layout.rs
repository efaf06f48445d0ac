//! What stands where: a street with cars, people and cyclists on it, and the light over it.
//!
//! Places are drawn at random and refused where the footprints would touch. Nothing here is rendered.

use std::f32::consts::{FRAC_PI_2, PI};

use super::Class;
use super::ground::Ground;
use super::models::{self, Clutter, Size};
use super::shape::{Colour, Solid};
use super::vector::{Dice, Pose, Vec3, unit};
use jetlag_record::detection::Box3d;

/// Height of the ground in the LiDAR frame: the LiDAR is mounted this far above it.
pub(super) const GROUND: f32 = -1.73;

/// Something that stands on the ground: its solids are `first..last` of the layout's.
#[derive(Clone, Debug)]
pub(super) struct Thing {
    /// Its class; `None` for clutter, which no detector looks for.
    pub(super) class: Option<Class>,
    pub(super) place: Box3d,
    pub(super) pose: Pose,
    pub(super) first: usize,
    pub(super) last: usize,
}

/// The street: a carriageway, wherever it runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Street {
    /// Half its width in metres.
    pub(super) half: f32,
    pub(super) asphalt: Colour,
    pub(super) verge: Colour,
}

/// The light and the air.
#[derive(Clone, Copy, Debug)]
pub(super) struct Light {
    /// Unit vector towards the sun.
    pub(super) sun: Vec3,
    pub(super) ambient: f32,
    pub(super) direct: f32,
    /// Gain of each channel.
    pub(super) tint: Colour,
    pub(super) zenith: Colour,
    pub(super) horizon: Colour,
    /// Share of the horizon's colour that one metre of air adds.
    pub(super) haze: f32,
    /// Deviation of the camera's noise, as a share of full scale.
    pub(super) noise: f32,
}

impl Light {
    /// The same light, whose sun is given in the world, as seen from sensors that face this way.
    pub(super) fn turned(self, yaw: f32) -> Self {
        let (sin, cos) = (libm::sinf(yaw), libm::cosf(yaw));
        let [x, y, z] = self.sun;
        Light {
            sun: [x * cos + y * sin, y * cos - x * sin, z],
            ..self
        }
    }
}

/// All of a scene but what the sensors make of it.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub(super) things: Vec<Thing>,
    pub(super) solids: Vec<Solid>,
    pub(super) street: Street,
    pub(super) ground: Ground,
    pub(super) light: Light,
    /// Key of what is drawn by position: texture.
    pub(super) key: u64,
    /// Key of the sensors' noise.
    pub(super) noise: u64,
}

impl Layout {
    pub(super) fn new(seed: u64, index: u64) -> Self {
        let dice = &mut Dice::new(seed, index);
        // In this order, which the dice fix.
        let (street, middle) = street(dice, [3.5, 7.0]);
        let light = light(dice);
        let key = dice.bits();
        let mut layout = Layout {
            things: Vec::new(),
            solids: Vec::new(),
            street,
            ground: Ground::Still { middle },
            light,
            key,
            noise: key,
        };
        layout.cars(dice, middle);
        layout.people(dice, middle);
        layout.cyclists(dice, middle);
        layout.clutter(dice, middle);
        layout
    }

    fn cars(&mut self, dice: &mut Dice, middle: f32) {
        let half = self.street.half;
        for _ in 0..dice.count(3, 9) {
            let (kind, size) = models::car_size(dice);
            self.add(
                dice,
                Some(Class::Car),
                size,
                |dice| {
                    let side = dice.pick(&[-1.0_f32, 1.0]);
                    let facing = if side < 0.0 { 0.0 } else { PI };
                    let x = dice.range(4.0, 52.0);
                    match dice.count(0, 9) {
                        0..=3 => {
                            let y = middle + side * half * dice.range(0.4, 0.6);
                            [x, y, facing + dice.range(-0.08, 0.08)]
                        }
                        4..=6 => {
                            let y = middle + side * (half + dice.range(0.9, 1.6));
                            let turned = dice.pick(&[0.0, PI]);
                            [x, y, turned + dice.range(-0.08, 0.08)]
                        }
                        _ => [x, dice.range(-24.0, 24.0), dice.range(-PI, PI)],
                    }
                },
                |pose, dice, out| models::car(pose, kind, size, dice, out),
            );
        }
    }

    fn people(&mut self, dice: &mut Dice, middle: f32) {
        let half = self.street.half;
        for _ in 0..dice.count(1, 6) {
            let size = models::person_size(dice);
            self.add(
                dice,
                Some(Class::Pedestrian),
                size,
                |dice| {
                    let x = dice.range(4.0, 36.0);
                    let y = if dice.chance(0.6) {
                        middle + dice.pick(&[-1.0, 1.0]) * (half + dice.range(0.3, 4.0))
                    } else {
                        dice.range(-0.8, 0.8) * x
                    };
                    [x, y, dice.range(-PI, PI)]
                },
                |pose, dice, out| models::person(pose, size, dice, out),
            );
        }
    }

    fn cyclists(&mut self, dice: &mut Dice, middle: f32) {
        let half = self.street.half;
        for _ in 0..dice.count(0, 4) {
            let size = models::cyclist_size(dice);
            self.add(
                dice,
                Some(Class::Cyclist),
                size,
                |dice| {
                    let x = dice.range(4.0, 38.0);
                    if dice.chance(0.5) {
                        let side = dice.pick(&[-1.0, 1.0]);
                        let facing = if side < 0.0 { 0.0 } else { PI };
                        let y = middle + side * (half - dice.range(0.3, 1.0));
                        [x, y, facing + dice.range(-0.2, 0.2)]
                    } else {
                        [x, dice.range(-0.8, 0.8) * x, dice.range(-PI, PI)]
                    }
                },
                |pose, dice, out| models::cyclist(pose, size, dice, out),
            );
        }
    }

    fn clutter(&mut self, dice: &mut Dice, middle: f32) {
        let half = self.street.half;
        let kinds = [
            (Clutter::Building, 3, 9),
            (Clutter::Container, 0, 2),
            (Clutter::Hedge, 0, 4),
            (Clutter::Bin, 0, 3),
            (Clutter::Pole, 1, 6),
            (Clutter::Tree, 0, 6),
        ];
        for (kind, low, high) in kinds {
            for _ in 0..dice.count(low, high) {
                let size = models::clutter_size(kind, dice);
                let footprint = match kind {
                    Clutter::Tree => [0.6, 0.6, size[2]],
                    _ => size,
                };
                self.add(
                    dice,
                    None,
                    footprint,
                    |dice| {
                        let side = dice.pick(&[-1.0_f32, 1.0]);
                        let away = match kind {
                            Clutter::Building => dice.range(8.0, 22.0),
                            _ => dice.range(0.6, 12.0),
                        };
                        let x = dice.range(4.0, 58.0);
                        [
                            x,
                            middle + side * (half + away),
                            dice.pick(&[0.0, FRAC_PI_2]) + dice.range(-0.1, 0.1),
                        ]
                    },
                    |pose, dice, out| models::clutter(kind, pose, size, dice, out),
                );
            }
        }
    }

    /// Tries some places for a thing and builds it at the first that is free; none is, in a full
    /// street, and then it is left out. `try_at` draws `[x, y, heading]`.
    fn add(
        &mut self,
        dice: &mut Dice,
        class: Option<Class>,
        [l, w, h]: Size,
        try_at: impl Fn(&mut Dice) -> [f32; 3],
        build: impl FnOnce(&Pose, &mut Dice, &mut Vec<Solid>),
    ) {
        for _ in 0..12 {
            let [x, y, turn] = try_at(dice);
            let place = Box3d {
                x,
                y,
                z: GROUND + h / 2.0,
                l,
                w,
                h,
                yaw: wrap(turn),
            };
            if !self.is_free(&place) {
                continue;
            }
            let pose = Pose::new([x, y, GROUND], place.yaw);
            let first = self.solids.len();
            build(&pose, dice, &mut self.solids);
            self.things.push(Thing {
                class,
                place,
                pose,
                first,
                last: self.solids.len(),
            });
            return;
        }
    }

    fn is_free(&self, place: &Box3d) -> bool {
        // The vehicle that carries the sensors.
        let own = Box3d {
            l: 6.0,
            w: 2.4,
            ..Box3d::default()
        };
        !touch(place, &own) && self.things.iter().all(|t| !touch(place, &t.place))
    }
}

/// The same angle within −π to π.
pub(super) fn wrap(angle: f32) -> f32 {
    let turn = 2.0 * PI;
    angle - turn * ((angle + PI) / turn).floor()
}

/// Whether two footprints come closer than 0.25 m (separating axes).
pub(super) fn touch(a: &Box3d, b: &Box3d) -> bool {
    let axes = |p: &Box3d| {
        let (s, c) = (libm::sinf(p.yaw), libm::cosf(p.yaw));
        [[c, s], [-s, c]]
    };
    let (of_a, of_b) = (axes(a), axes(b));
    let reach = |p: &Box3d, of: &[[f32; 2]; 2], n: [f32; 2]| {
        let along = |axis: [f32; 2]| (axis[0] * n[0] + axis[1] * n[1]).abs();
        p.l / 2.0 * along(of[0]) + p.w / 2.0 * along(of[1])
    };
    of_a.iter().chain(&of_b).all(|n| {
        let gap = ((b.x - a.x) * n[0] + (b.y - a.y) * n[1]).abs();
        gap < reach(a, &of_a, *n) + reach(b, &of_b, *n) + 0.25
    })
}

/// A street whose half width lies within a range, and where its middle runs in a still.
pub(super) fn street(dice: &mut Dice, half: [f32; 2]) -> (Street, f32) {
    let asphalt = dice.range(0.22, 0.42);
    let middle = dice.range(-3.0, 3.0);
    let street = Street {
        half: dice.range(half[0], half[1]),
        asphalt: [asphalt, asphalt, asphalt * dice.range(0.97, 1.06)],
        verge: dice.pick(&[
            [0.30, 0.38, 0.20],
            [0.46, 0.44, 0.40],
            [0.40, 0.40, 0.40],
            [0.44, 0.38, 0.28],
        ]),
    };
    (street, middle)
}

pub(super) fn light(dice: &mut Dice) -> Light {
    let overcast = dice.chance(0.35);
    let exposure = dice.range(0.75, 1.25);
    let warm = dice.range(-0.06, 0.06);
    Light {
        sun: unit([dice.range(-1.0, 1.0), dice.range(-1.0, 1.0), dice.range(0.4, 1.2)]),
        ambient: exposure * if overcast { 0.75 } else { 0.5 },
        direct: exposure * if overcast { 0.2 } else { 0.6 },
        tint: [1.0 + warm, 1.0, 1.0 - warm],
        zenith: if overcast {
            [0.62, 0.65, 0.68]
        } else {
            [0.30, 0.50, 0.80]
        },
        horizon: if overcast {
            [0.78, 0.79, 0.80]
        } else {
            [0.74, 0.82, 0.90]
        },
        haze: dice.range(0.001, 0.008),
        noise: dice.range(0.006, 0.02),
    }
}
