//! Who moves along the street: lanes of cars, cyclists and people, each lane a row without end that moves as one.
//!
//! A row is cut into slots; who is in a slot, if anybody, is drawn from its number. So everybody has an identity at all times,
//! nobody runs into the one before, and what is in sight is found without going through the rest.

use std::f64::consts::PI;

use jetlag_stats::random::scattered;

use super::place::{Placed, What};
use super::{Identity, Span};
use crate::course::{Motion, between};
use crate::models;
use crate::vector::Dice;

/// Who is in a lane.
#[derive(Clone, Copy, Debug)]
enum Who {
    Cars,
    Cyclists,
    People,
}

#[derive(Clone, Debug)]
struct Lane {
    who: Who,
    /// Left of the street's middle, metres.
    beside: f64,
    /// 1 along the street, −1 against it.
    way: f64,
    motion: Motion,
    /// Metres to a slot.
    slot: f64,
    /// How far from a slot's ends its middle is kept.
    margin: f64,
    /// How likely somebody is in a slot.
    chance: f32,
    /// The first slot that may be taken.
    first: i64,
}

/// All lanes of a street.
#[derive(Clone, Debug)]
pub(super) struct Traffic {
    lanes: Vec<Lane>,
    key: u64,
}

/// Where the ego vehicle drives, of half the street's width, to the right of the middle.
pub(super) const OWN_LANE: f64 = 0.45;

/// The next car ahead is at least this far, as far as the swing of both speeds allows: they differ by less than 8 m.
const AHEAD: f64 = 20.0;

impl Traffic {
    /// Around an ego vehicle that begins at `start` with `own` motion.
    pub(super) fn new(dice: &mut Dice, half: f64, start: f64, own: &Motion) -> Self {
        let mut lane = |who, beside: f64, way: f64, speed: [f32; 2]| {
            let (slot, margin, chance, swing) = match who {
                Who::Cars => (23.0, 3.5, 0.6, [0.2, 0.8]),
                Who::Cyclists => (18.0, 2.0, 0.5, [0.1, 0.5]),
                Who::People => (7.0, 1.0, 0.35, [0.0, 0.1]),
            };
            let speed = between(dice, speed[0], speed[1]);
            Lane {
                who,
                beside,
                way,
                motion: Motion::new(dice, speed, swing),
                slot,
                margin,
                chance,
                first: i64::MIN,
            }
        };
        let cars = half * OWN_LANE;
        let (cyclists, near, far) = (half - 0.45, half + 3.0, half + 4.2);
        let mean = own.mean() as f32;
        let mut lanes = vec![
            lane(Who::Cars, -cars, 1.0, [mean, mean]),
            lane(Who::Cars, cars, -1.0, [7.0, 12.0]),
            lane(Who::Cyclists, -cyclists, 1.0, [3.5, 5.5]),
            lane(Who::Cyclists, cyclists, -1.0, [3.5, 5.5]),
            lane(Who::People, -near, 1.0, [0.9, 1.6]),
            lane(Who::People, -far, -1.0, [0.9, 1.6]),
            lane(Who::People, near, -1.0, [0.9, 1.6]),
            lane(Who::People, far, 1.0, [0.9, 1.6]),
        ];
        // Those in its own lane drive before it, at its own mean speed.
        let ahead = &mut lanes[0];
        ahead.first = ((start + AHEAD) / ahead.slot) as i64 + 1;
        Traffic {
            lanes,
            key: dice.bits(),
        }
    }

    /// Adds everybody whose middle is within a span at this second.
    pub(super) fn within(&self, span: Span, second: f64, out: &mut Vec<Placed>) {
        for (number, lane) in (0u64..).zip(&self.lanes) {
            let moved = lane.way * lane.motion.way(second);
            let slot = |along: f64| libm::floor((along - moved) / lane.slot) as i64;
            for place in slot(span.from).max(lane.first)..=slot(span.to) {
                out.extend(
                    self.one(lane, number, place, moved, second)
                        .filter(|one| span.has(one.along)),
                );
            }
        }
    }

    /// Who is in a slot.
    fn one(&self, lane: &Lane, number: u64, place: i64, moved: f64, second: f64) -> Option<Placed> {
        let mut dice = Dice::new(scattered(self.key ^ number), place as u64);
        if !dice.chance(lane.chance) {
            return None;
        }
        let within = between(&mut dice, lane.margin as f32, (lane.slot - lane.margin) as f32);
        let (what, size) = match lane.who {
            Who::Cars => {
                let (body, size) = models::car_size(&mut dice);
                (What::Car(body), size)
            }
            Who::Cyclists => (What::Cyclist, models::cyclist_size(&mut dice)),
            Who::People => (What::Person, models::person_size(&mut dice)),
        };
        Some(Placed {
            identity: Some(Identity::in_lane(number, place)),
            what,
            size,
            along: place as f64 * lane.slot + within + moved,
            beside: lane.beside,
            turn: if lane.way < 0.0 { PI } else { 0.0 },
            speed: lane.way * lane.motion.speed(second),
            looks: dice,
        })
    }

    /// No faster is anybody here, in metres a second.
    #[cfg(test)]
    pub(super) const FASTEST: f64 = 14.0;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::course::Course;

    #[test]
    fn who_is_in_a_lane_keeps_to_it_and_to_whoever_is_before() {
        for seed in 0..20 {
            let dice = &mut Dice::new(seed, 0);
            let course = Course::new(dice);
            let own = Motion::new(dice, 9.0, [0.5, 1.5]);
            let traffic = Traffic::new(dice, 5.0, 300.0, &own);
            for second in [0.0, 3.3, 19.0] {
                let mut all = Vec::new();
                traffic.within(
                    Span {
                        from: 250.0,
                        to: 700.0,
                    },
                    second,
                    &mut all,
                );
                assert!(all.len() > 20, "{}", all.len());
                for (n, one) in all.iter().enumerate() {
                    assert!(one.speed.abs() * libm::hypot(1.0, course.slope(one.along)) < Traffic::FASTEST);
                    for other in &all[n + 1..] {
                        let apart = (one.along - other.along).abs();
                        let long = f64::from(one.size[0] + other.size[0]) / 2.0;
                        assert!(one.beside != other.beside || apart > long, "{seed}");
                    }
                }
                let me = 300.0 + own.way(second);
                let first = all
                    .iter()
                    .filter(|one| one.identity.is_some_and(|id| id.lane() == Some(0)));
                assert!(first.map(|one| one.along - me).all(|apart| apart > 8.0));
            }
        }
    }
}
