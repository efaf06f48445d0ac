//! What things look like: cars, people, cyclists and street furniture, built of solids.
//!
//! A model stands on the ground at the origin of its own axes, x forward. Its outermost surfaces reach
//! exactly the size that its box states, so that the ground truth is the geometry and not an estimate.

use super::shape::{Colour, Solid, Texture};
use super::vector::{Dice, Pose, scale};

/// Length, width and height in metres.
pub(super) type Size = [f32; 3];

const GLASS: Colour = [0.10, 0.12, 0.15];
const RUBBER: Colour = [0.05, 0.05, 0.055];
const PAINTS: [Colour; 10] = [
    [0.85, 0.85, 0.84],
    [0.62, 0.64, 0.66],
    [0.34, 0.35, 0.37],
    [0.12, 0.12, 0.13],
    [0.62, 0.10, 0.09],
    [0.10, 0.20, 0.48],
    [0.15, 0.34, 0.20],
    [0.72, 0.58, 0.18],
    [0.45, 0.30, 0.20],
    [0.40, 0.58, 0.70],
];
const CLOTHES: [Colour; 9] = [
    [0.75, 0.15, 0.12],
    [0.12, 0.22, 0.55],
    [0.10, 0.10, 0.12],
    [0.80, 0.78, 0.72],
    [0.20, 0.42, 0.22],
    [0.82, 0.62, 0.12],
    [0.48, 0.22, 0.46],
    [0.35, 0.36, 0.38],
    [0.12, 0.48, 0.52],
];
const SKINS: [Colour; 4] = [
    [0.88, 0.69, 0.58],
    [0.72, 0.51, 0.38],
    [0.48, 0.31, 0.22],
    [0.93, 0.76, 0.66],
];

/// Proportions of a kind of car: the ranges of its size, then where along its length the cabin begins
/// and ends at the waist and at the roof (−0.5 is the tail, 0.5 the nose).
struct Body {
    length: [f32; 2],
    width: [f32; 2],
    height: [f32; 2],
    waist: [f32; 2],
    roof: [f32; 2],
}

const BODIES: [Body; 4] = [
    // A hatchback, a saloon, an off-roader and a van.
    Body {
        length: [3.7, 4.1],
        width: [1.66, 1.78],
        height: [1.44, 1.56],
        waist: [-0.49, 0.27],
        roof: [-0.42, 0.08],
    },
    Body {
        length: [4.4, 4.9],
        width: [1.76, 1.88],
        height: [1.40, 1.50],
        waist: [-0.38, 0.24],
        roof: [-0.24, 0.06],
    },
    Body {
        length: [4.3, 4.8],
        width: [1.80, 1.95],
        height: [1.60, 1.76],
        waist: [-0.49, 0.26],
        roof: [-0.45, 0.12],
    },
    Body {
        length: [4.5, 5.0],
        width: [1.84, 1.98],
        height: [1.80, 2.00],
        waist: [-0.495, 0.38],
        roof: [-0.48, 0.22],
    },
];

/// The size of a car to be built, and which body it has.
pub(super) fn car_size(dice: &mut Dice) -> (usize, Size) {
    let kind = dice.pick(&[0, 0, 1, 1, 2, 2, 3]);
    let body = &BODIES[kind];
    let mut within = |r: [f32; 2]| dice.range(r[0], r[1]);
    (
        kind,
        [within(body.length), within(body.width), within(body.height)],
    )
}

pub(super) fn car(pose: &Pose, kind: usize, [l, w, h]: Size, dice: &mut Dice, out: &mut Vec<Solid>) {
    let body = &BODIES[kind];
    let paint = scale(dice.pick(&PAINTS), dice.range(0.85, 1.15));
    let shine = dice.range(0.25, 0.6);
    let (half, side) = (l / 2.0, w / 2.0);
    let waist = h * 0.56;
    out.push(
        Solid::frustum(
            pose,
            [-half, half, side],
            [-half + 0.06, half - 0.14, side - 0.04],
            [0.22, waist],
            paint,
            shine,
        )
        .trimmed(&[5], RUBBER),
    );
    out.push(
        Solid::frustum(
            pose,
            [l * body.waist[0], l * body.waist[1], side - 0.07],
            [l * body.roof[0], l * body.roof[1], side - 0.20],
            [waist, h - 0.04],
            paint,
            0.12,
        )
        .trimmed(&[0, 1, 2, 3], GLASS),
    );
    let roof = [l * body.roof[0], l * body.roof[1], side - 0.19];
    out.push(Solid::frustum(pose, roof, roof, [h - 0.06, h], paint, shine));
    for x in [-0.30, 0.31] {
        for y in [-side, side] {
            let hub = [l * x, y * 0.999, 0.32];
            out.push(Solid::ring(pose, hub, 0.19, 0.32, RUBBER, 0.06));
            out.push(Solid::ring(pose, hub, 0.0, 0.19, [0.45, 0.46, 0.47], 0.3));
        }
    }
    for y in [-1.0, 1.0] {
        let lamp = |x: f32, colour, shine| {
            let half = [0.02, 0.16, 0.07];
            Solid::cuboid(pose, [x, y * (side - 0.24), 0.66], half, 0.0, colour, shine)
        };
        out.push(lamp(half - 0.085, [0.95, 0.95, 0.88], 0.8));
        out.push(lamp(-half + 0.045, [0.75, 0.06, 0.05], 0.9));
    }
}

/// The size of a person to be built.
pub(super) fn person_size(dice: &mut Dice) -> Size {
    let h = dice.range(1.50, 1.92);
    [dice.range(0.45, 0.80), dice.range(0.52, 0.66), h]
}

/// A person whose stride is the box's length.
pub(super) fn person(pose: &Pose, [l, w, h]: Size, dice: &mut Dice, out: &mut Vec<Solid>) {
    let (top, trousers) = (dice.pick(&CLOTHES), scale(dice.pick(&CLOTHES), 0.6));
    let skin = dice.pick(&SKINS);
    let hip = h * 0.47;
    let shoulder = h * 0.82;
    // Legs and arms swing against each other, out to the ends of the box; whatever the swing, the
    // foremost foot and the rearmost one touch them.
    let swing = libm::atan2f(l / 2.0 - 0.11, hip);
    for (side, lean) in [(1.0, swing), (-1.0, -swing)] {
        let foot = -hip * libm::tanf(lean);
        out.push(Solid::cuboid(
            pose,
            [foot / 2.0, side * 0.10, hip / 2.0],
            [0.075, 0.075, hip / 2.0],
            lean,
            trousers,
            0.25,
        ));
        out.push(Solid::cuboid(
            pose,
            [foot, side * 0.10, 0.05],
            [0.11, 0.05, 0.05],
            0.0,
            RUBBER,
            0.1,
        ));
        out.push(Solid::cuboid(
            pose,
            [-foot * 0.35, side * (w / 2.0 - 0.05), (hip + shoulder) / 2.0],
            [0.05, 0.05, (shoulder - hip) / 2.0 + 0.03],
            -lean * 0.8,
            top,
            0.35,
        ));
    }
    out.push(Solid::frustum(
        pose,
        [-0.12, 0.12, 0.17],
        [-0.12, 0.12, w / 2.0 - 0.09],
        [hip - 0.04, shoulder + 0.03],
        top,
        0.35,
    ));
    let head = 0.115;
    out.push(Solid::column(pose, [0.0, 0.0, shoulder], 0.05, 0.1, skin, 0.4));
    out.push(Solid::ball(pose, [0.02, 0.0, h - head], head, skin, 0.4));
    if dice.chance(0.7) {
        let hair = scale([0.30, 0.20, 0.12], dice.range(0.2, 1.6));
        out.push(Solid::ball(pose, [-0.03, 0.0, h - head - 0.002], head, hair, 0.2));
    }
}

/// The size of a bicycle with its rider.
pub(super) fn cyclist_size(dice: &mut Dice) -> Size {
    [
        dice.range(1.65, 1.85),
        dice.range(0.52, 0.64),
        dice.range(1.62, 1.85),
    ]
}

/// A bicycle and the person who rides it.
pub(super) fn cyclist(pose: &Pose, [l, w, h]: Size, dice: &mut Dice, out: &mut Vec<Solid>) {
    let frame = scale(dice.pick(&PAINTS), 0.9);
    let (top, trousers) = (dice.pick(&CLOTHES), scale(dice.pick(&CLOTHES), 0.6));
    let skin = dice.pick(&SKINS);
    let wheel = 0.34;
    let axle = l / 2.0 - wheel;
    for x in [-axle, axle] {
        out.push(Solid::ring(
            pose,
            [x, 0.0, wheel],
            wheel - 0.06,
            wheel,
            RUBBER,
            0.15,
        ));
        out.push(Solid::ring(
            pose,
            [x, 0.0, wheel],
            0.0,
            0.05,
            [0.5, 0.5, 0.5],
            0.4,
        ));
    }
    // A tube from one place to another in the plane of the frame.
    let mut tube = |from: [f32; 2], to: [f32; 2], thick: f32, y: f32, colour: Colour, shine: f32| {
        let (dx, dz) = (to[0] - from[0], to[1] - from[1]);
        let length = (dx * dx + dz * dz).sqrt();
        out.push(Solid::cuboid(
            pose,
            [(from[0] + to[0]) / 2.0, y, (from[1] + to[1]) / 2.0],
            [length / 2.0, thick, thick],
            -libm::atan2f(dz, dx),
            colour,
            shine,
        ));
    };
    let (saddle, crank, head) = ([-0.22, 0.88], [-0.08, 0.30], [axle - 0.16, 0.86]);
    tube(saddle, crank, 0.025, 0.0, frame, 0.4);
    tube(crank, head, 0.025, 0.0, frame, 0.4);
    tube(saddle, head, 0.022, 0.0, frame, 0.4);
    tube([-axle, wheel], crank, 0.02, 0.0, frame, 0.4);
    tube([-axle, wheel], saddle, 0.018, 0.0, frame, 0.4);
    tube([axle, wheel], [axle - 0.2, 1.02], 0.022, 0.0, frame, 0.4);
    let shoulder = [0.18, h - 0.34];
    let pedal = dice.range(-0.15, 0.15);
    for (side, turn) in [(1.0, pedal), (-1.0, -pedal)] {
        let knee = [0.16, 0.72 + turn];
        tube([-0.20, 0.96], knee, 0.075, side * 0.11, trousers, 0.25);
        tube(knee, [-0.04, 0.30 + turn], 0.06, side * 0.11, trousers, 0.25);
        tube(
            shoulder,
            [axle - 0.2, 1.02],
            0.045,
            side * (w / 2.0 - 0.08),
            top,
            0.35,
        );
    }
    tube([-0.22, 0.90], shoulder, 0.15, 0.0, top, 0.35);
    out.push(Solid::cuboid(
        pose,
        [axle - 0.2, 0.0, 1.03],
        [0.02, w / 2.0, 0.02],
        0.0,
        RUBBER,
        0.2,
    ));
    let cap = dice.pick(&[[0.9, 0.9, 0.9], [0.1, 0.1, 0.1], [0.8, 0.2, 0.1], [0.2, 0.3, 0.7]]);
    out.push(Solid::ball(pose, [0.28, 0.0, h - 0.14], 0.115, skin, 0.4));
    out.push(Solid::ball(pose, [0.26, 0.0, h - 0.125], 0.125, cap, 0.4));
}

/// Things that stand about and are nobody's target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Clutter {
    Building,
    Container,
    Hedge,
    Bin,
    Pole,
    Tree,
}

/// The size of a piece of clutter to be built.
pub(super) fn clutter_size(kind: Clutter, dice: &mut Dice) -> Size {
    let mut within = |low, high| dice.range(low, high);
    match kind {
        Clutter::Building => [within(6.0, 18.0), within(5.0, 9.0), within(4.0, 14.0)],
        Clutter::Container => [within(2.6, 6.5), within(2.2, 2.6), within(2.3, 2.9)],
        Clutter::Hedge => [within(1.5, 7.0), within(0.5, 1.2), within(0.6, 1.5)],
        Clutter::Bin => [within(0.5, 0.9), within(0.5, 0.9), within(0.8, 1.3)],
        Clutter::Pole => [0.5, 0.5, within(2.5, 7.0)],
        Clutter::Tree => [within(1.6, 3.4), 0.0, within(3.2, 6.5)],
    }
}

pub(super) fn clutter(kind: Clutter, pose: &Pose, [l, w, h]: Size, dice: &mut Dice, out: &mut Vec<Solid>) {
    let block = |colour, shine| {
        let half = [l / 2.0, w / 2.0, h / 2.0];
        Solid::cuboid(pose, [0.0, 0.0, h / 2.0], half, 0.0, colour, shine)
    };
    let green = scale([0.20, 0.36, 0.14], dice.range(0.6, 1.3));
    match kind {
        Clutter::Building => {
            let wall = dice.pick(&[
                [0.62, 0.55, 0.48],
                [0.55, 0.36, 0.28],
                [0.70, 0.69, 0.66],
                [0.44, 0.45, 0.47],
            ]);
            out.push(block(wall, 0.3).textured(Texture::Windows));
        }
        Clutter::Container => out.push(block(scale(dice.pick(&PAINTS), 0.7), 0.4)),
        Clutter::Hedge if dice.chance(0.3) => out.push(block([0.52, 0.50, 0.48], 0.3)),
        Clutter::Hedge => out.push(block(green, 0.25).textured(Texture::Leaves)),
        Clutter::Bin => out.push(block(
            dice.pick(&[[0.2, 0.3, 0.2], [0.3, 0.3, 0.32], [0.2, 0.25, 0.4]]),
            0.3,
        )),
        Clutter::Pole => {
            let radius = dice.range(0.05, 0.12);
            out.push(Solid::column(pose, [0.0; 3], radius, h, [0.45, 0.46, 0.47], 0.5));
            if dice.chance(0.5) {
                let sign = dice.pick(&[[0.75, 0.1, 0.1], [0.1, 0.2, 0.6], [0.85, 0.75, 0.1]]);
                let middle = [-radius - 0.02, 0.0, h - 0.35];
                out.push(Solid::cuboid(pose, middle, [0.015, 0.25, 0.3], 0.0, sign, 0.95));
            }
        }
        Clutter::Tree => {
            let crown = l / 2.0;
            let bark = [0.30, 0.22, 0.16];
            out.push(Solid::column(
                pose,
                [0.0; 3],
                dice.range(0.1, 0.25),
                h - crown,
                bark,
                0.3,
            ));
            let top = [0.0, 0.0, h - crown];
            out.push(Solid::ball(pose, top, crown, green, 0.25).textured(Texture::Leaves));
            let beside = [crown * 0.4, crown * 0.3, h - crown * 1.3];
            out.push(Solid::ball(pose, beside, crown * 0.7, green, 0.25).textured(Texture::Leaves));
        }
    }
}
