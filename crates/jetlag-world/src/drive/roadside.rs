//! What stands beside the street: parked cars, people, houses, trees. The way is cut into cells, and what is in a cell is drawn
//! from its number: so it is there whenever it comes into sight, and nothing reaches over from one cell into another.

use std::f64::consts::{FRAC_PI_2, PI};

use jetlag_record::detection::Box3d;
use jetlag_stats::random::scattered;

use super::place::{Placed, What};
use super::{Identity, Span};
use crate::course::{Course, between};
use crate::layout::{touch, wrap};
use crate::models::{self, Clutter, Size};
use crate::vector::Dice;

/// Metres to a cell.
const CELL: f64 = 24.0;

/// Where cars are parked and poles stand, beyond the edge of the street.
const KERB: f64 = 1.3;
/// Where the footpath ends, beyond the edge of the street.
const BACK: f64 = 4.9;

/// The side of a street.
#[derive(Clone, Debug)]
pub(super) struct Roadside {
    /// Half the street's width.
    half: f64,
    key: u64,
}

impl Roadside {
    pub(super) fn new(dice: &mut Dice, half: f64) -> Self {
        Roadside {
            half,
            key: dice.bits(),
        }
    }

    /// Adds what stands within a span.
    pub(super) fn within(&self, span: Span, course: &Course, out: &mut Vec<Placed>) {
        let cell = |along: f64| libm::floor(along / CELL) as i64;
        for number in cell(span.from)..=cell(span.to) {
            out.extend(
                self.cell(number, course)
                    .into_iter()
                    .filter(|one| span.has(one.along)),
            );
        }
    }

    fn cell(&self, number: i64, course: &Course) -> Vec<Placed> {
        let mut cell = Cell {
            number,
            key: scattered(self.key ^ number as u64),
            half: self.half,
            course,
            dice: Dice::new(self.key, number as u64),
            placed: Vec::new(),
            taken: Vec::new(),
        };
        for _ in 0..cell.dice.count(0, 3) {
            let (body, size) = models::car_size(&mut cell.dice);
            cell.add(What::Car(body), size, size);
        }
        for _ in 0..cell.dice.count(0, 2) {
            let size = models::person_size(&mut cell.dice);
            cell.add(What::Person, size, size);
        }
        let kinds = [
            (Clutter::Building, 1, 3),
            (Clutter::Container, 0, 1),
            (Clutter::Hedge, 0, 2),
            (Clutter::Bin, 0, 1),
            (Clutter::Pole, 0, 3),
            (Clutter::Tree, 0, 3),
        ];
        for (kind, low, high) in kinds {
            for _ in 0..cell.dice.count(low, high) {
                let size = models::clutter_size(kind, &mut cell.dice);
                let footprint = match kind {
                    // Its crown.
                    Clutter::Tree => [size[0], size[0], size[2]],
                    _ => size,
                };
                cell.add(What::Clutter(kind), size, footprint);
            }
        }
        cell.placed
    }
}

/// A cell that is being filled.
struct Cell<'a> {
    number: i64,
    key: u64,
    half: f64,
    course: &'a Course,
    dice: Dice,
    placed: Vec<Placed>,
    /// What is taken, from the cell's beginning.
    taken: Vec<Box3d>,
}

impl Cell<'_> {
    /// Tries some places, and takes the first that is free; there may be none, and then it is left out.
    fn add(&mut self, what: What, size: Size, footprint: Size) {
        for _ in 0..12 {
            let (beside, turn) = self.draw(what, footprint);
            let along = self.number as f64 * CELL + between(&mut self.dice, 0.0, CELL as f32);
            let number = self.placed.len() as u64;
            let one = Placed {
                identity: (!matches!(what, What::Clutter(_)))
                    .then(|| Identity::beside_the_street(self.number, number)),
                what,
                size,
                along,
                beside,
                turn,
                speed: 0.0,
                looks: Dice::new(self.key, number),
            };
            let place = self.footprint(&one, footprint);
            let (sin, cos) = (libm::sinf(place.yaw).abs(), libm::cosf(place.yaw).abs());
            let reach = place.l / 2.0 * cos + place.w / 2.0 * sin + 0.15;
            let is_within = place.x - reach > 0.0 && place.x + reach < CELL as f32;
            if is_within && self.taken.iter().all(|other| !touch(&place, other)) {
                self.taken.push(place);
                self.placed.push(one);
                return;
            }
        }
    }

    /// How far left of the street's middle, and turned how.
    fn draw(&mut self, what: What, [l, w, _]: Size) -> (f64, f64) {
        let dice = &mut self.dice;
        let side = dice.pick(&[-1.0, 1.0]);
        let turn = match what {
            What::Car(_) => dice.pick(&[0.0, PI]) + between(dice, -0.05, 0.05),
            What::Clutter(_) => dice.pick(&[0.0, FRAC_PI_2]) + between(dice, -0.1, 0.1),
            _ => between(dice, -3.1, 3.1),
        };
        let is_at_kerb = match what {
            What::Car(_) => true,
            What::Clutter(Clutter::Pole | Clutter::Bin) => dice.chance(0.5),
            _ => false,
        };
        if is_at_kerb {
            return (side * (self.half + KERB), turn);
        }
        let deep = match what {
            What::Clutter(Clutter::Building) => between(dice, 2.0, 12.0),
            What::Clutter(_) => between(dice, 0.0, 8.0),
            _ => between(dice, 0.0, 4.0),
        };
        let (sin, cos) = (libm::fabs(libm::sin(turn)), libm::fabs(libm::cos(turn)));
        let reach = f64::from(l) / 2.0 * sin + f64::from(w) / 2.0 * cos;
        (side * (self.half + BACK + reach + deep), turn)
    }

    fn footprint(&self, one: &Placed, [l, w, h]: Size) -> Box3d {
        let standing = one.standing(self.course);
        let begin = self.number as f64 * CELL;
        Box3d {
            x: (standing.position[0] - begin) as f32,
            y: (standing.position[1] - self.course.middle(begin)) as f32,
            z: 0.0,
            l,
            w,
            h,
            yaw: wrap(standing.yaw as f32),
        }
    }
}
