use std::collections::BTreeMap;

use proptest::prelude::*;

use super::traffic::Traffic;
use super::*;
use crate::calibration::holds;
use crate::{Class, calibration};

fn ms(ms: i64) -> Nanos {
    Nanos::from_millis(ms)
}

fn by_identity(moment: &Moment) -> BTreeMap<Identity, Actor> {
    moment
        .actors()
        .iter()
        .map(|actor| (actor.identity, *actor))
        .collect()
}

#[test]
fn a_drive_is_the_same_each_time_and_on_every_machine() {
    let seen = Drive::new(5, 20).at(ms(1500)).observe();
    let again = Drive::new(5, 3).at(ms(1500)).observe();
    assert_eq!(
        (&seen.image, &seen.sweep),
        (&again.image, &again.sweep),
        "a longer one begins with the shorter one"
    );
    assert_eq!(seen.objects, again.objects);
    let mut hash = blake3::Hasher::new();
    hash.update(&seen.image.rgb);
    for value in seen.sweep.cloud.points.as_flattened() {
        hash.update(&value.to_le_bytes());
    }
    for actor in Drive::new(5, 3).at(ms(1500)).actors() {
        for value in actor.position {
            hash.update(&value.to_le_bytes());
        }
    }
    assert_eq!(hash.finalize().to_hex().as_str(), DRIVE_5);
    assert_ne!(Drive::new(6, 3).at(ms(1500)).sweep(), seen.sweep);
}

const DRIVE_5: &str = "5b3a34a3f7f7b5aeba40a1d1052f514d75274dd365a51663707607c20e90b562";

#[test]
fn everybody_keeps_his_identity_and_moves_as_fast_as_is_said() {
    for seed in 0..8 {
        let drive = Drive::new(seed, 20);
        let (step, mut kept, mut entered) = (0.05, 0, 0);
        let mut before = by_identity(&drive.at(ms(0)));
        for n in 1..=100 {
            let moment = drive.at(ms(n * 50));
            let now = by_identity(&moment);
            assert_eq!(now.len(), moment.actors().len(), "nobody is there twice");
            for (identity, actor) in &now {
                let Some(earlier) = before.get(identity) else {
                    entered += 1;
                    // Out of sight: at the far end, or from behind.
                    let x = actor.place.x;
                    assert!(
                        !(4.0..70.0).contains(&x),
                        "seed {seed}: {actor:?} came out of nothing"
                    );
                    continue;
                };
                kept += 1;
                assert_eq!((earlier.class, earlier.size), (actor.class, actor.size));
                let moved = [0, 1].map(|k| actor.position[k] - earlier.position[k]);
                for (k, moved) in moved.iter().enumerate() {
                    let mean = (actor.velocity[k] + earlier.velocity[k]) / 2.0;
                    assert!((moved - mean * step).abs() < 1e-3, "{actor:?} {earlier:?}");
                }
                let way = libm::hypot(moved[0], moved[1]);
                assert!(way <= Traffic::FASTEST * step);
            }
            before = now;
        }
        assert!(
            kept > 1000 && entered > 5,
            "seed {seed}: {kept} kept, {entered} entered"
        );
    }
}

#[test]
fn the_vehicle_drives_as_its_velocity_says_and_faces_where_it_drives() {
    let drive = Drive::new(3, 20);
    for n in 0..200 {
        let (a, b) = (drive.ego(ms(n * 100)), drive.ego(ms(n * 100 + 10)));
        for k in 0..2 {
            let mean = (a.velocity[k] + b.velocity[k]) / 2.0;
            assert!((b.position[k] - a.position[k] - mean * 0.01).abs() < 1e-4);
        }
        let turned = (b.yaw - a.yaw) / 0.01;
        assert!((turned - a.yaw_rate).abs() < 0.01, "{turned} {}", a.yaw_rate);
        assert!((libm::atan2(a.velocity[1], a.velocity[0]) - a.yaw).abs() < 1e-9);
        let [right, left] = drive.edges(a.position[0]);
        assert!((right + 1.0..left - 1.0).contains(&a.position[1]));
    }
}

#[test]
fn what_the_lidar_hits_is_where_the_truth_says_and_no_two_are_in_one_place() {
    let mut classes = BTreeMap::new();
    for seed in 0..4 {
        let moment = Drive::new(seed, 20).at(ms(700 + 2300 * seed as i64));
        let seen = moment.observe();
        assert_eq!(seen.objects.len(), moment.actors().len());
        assert_eq!(seen.sweep.rings.len(), seen.sweep.cloud.points.len());
        let ego = moment.ego();
        for (object, actor) in seen.objects.iter().zip(moment.actors()) {
            assert_eq!((object.class, object.place), (actor.class, actor.place));
            // Both frames tell the same place.
            let p = actor.place;
            let world = ego.place([0, 1, 2].map(|k| f64::from([p.x, p.y, p.z][k]) + LIDAR_PLACE[k]));
            for k in 0..3 {
                assert!((world[k] - actor.position[k]).abs() < 1e-4, "{world:?} {actor:?}");
            }
            for other in moment
                .actors()
                .iter()
                .filter(|other| other.identity != actor.identity)
            {
                let middle = [other.place.x, other.place.y, other.place.z];
                assert!(!holds(&actor.place, middle, 0.1), "{actor:?} {other:?}");
            }
            if object.counts_for_camera() {
                *classes.entry(object.class.name()).or_insert(0) += 1;
                let around = calibration().project_box(&object.place).unwrap();
                let b = object.image;
                assert!(
                    b.x1 >= around.x1 - 1.0 && b.x2 <= around.x2 + 1.0,
                    "{object:?} {around:?}"
                );
                assert!(
                    b.y1 >= around.y1 - 1.0 && b.y2 <= around.y2 + 1.0,
                    "{object:?} {around:?}"
                );
            }
        }
        assert!(
            seen.objects
                .iter()
                .filter(|object| object.counts_for_lidar())
                .count()
                > 3,
            "seed {seed}"
        );
    }
    assert!(
        Class::ALL.iter().all(|class| classes.contains_key(class.name())),
        "{classes:?}"
    );
}

/// Points on what stands still, taken from one moment into the next, lie on what stands still.
#[test]
fn what_stands_still_is_where_it_was() {
    let drive = Drive::new(2, 20);
    let (a, b) = (drive.at(ms(1000)), drive.at(ms(1400)));
    let standing = |moment: &Moment| -> Vec<Actor> {
        moment
            .actors()
            .iter()
            .filter(|actor| !actor.is_moving())
            .copied()
            .collect()
    };
    let (now, then) = (by_identity(&a), standing(&b));
    let same: Vec<_> = then
        .iter()
        .filter_map(|actor| Some((now.get(&actor.identity)?, actor)))
        .collect();
    assert!(same.len() > 3);
    assert!(
        same.iter()
            .all(|(a, b)| a.position == b.position && a.yaw == b.yaw)
    );
    // Walls and all: what the LiDAR sees is where the other sweep sees something too, but for what moved, or came into sight.
    let world = |moment: &Moment| -> Vec<[i64; 2]> {
        let sweep = moment.sweep();
        let high = sweep.cloud.points.iter().filter(|p| p[2] > 0.5);
        let place = |p: &[f32; 4]| {
            let at = moment
                .ego()
                .place([0, 1, 2].map(|k| f64::from(p[k]) + LIDAR_PLACE[k]));
            [at[0], at[1]].map(|v| libm::floor(v) as i64)
        };
        high.map(place).collect()
    };
    let seen: std::collections::BTreeSet<[i64; 2]> = world(&a).into_iter().collect();
    let x = b.ego().position[0] as i64;
    let again: Vec<[i64; 2]> = world(&b)
        .into_iter()
        .filter(|at| (x + 8..x + 40).contains(&at[0]))
        .collect();
    let near = |at: &&[i64; 2]| (-1..=1).any(|i| (-1..=1).any(|k| seen.contains(&[at[0] + i, at[1] + k])));
    let found = again.iter().filter(near).count();
    assert!(
        again.len() > 300 && found * 10 > again.len() * 9,
        "{found} of {}",
        again.len()
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn any_drive_at_any_time_is_there(seed in any::<u64>(), seconds in any::<u32>(), time in any::<i64>()) {
        let drive = Drive::new(seed, seconds);
        let moment = drive.at(Nanos(time));
        prop_assert!(moment.actors().len() < 400);
        prop_assert!(moment.ego().position.iter().all(|v| v.is_finite()));
    }

    #[test]
    fn captures_come_evenly(number in 0..1_000_000_u64, hz in 1..100_u32) {
        let rate = Rate { hz };
        let gap = (rate.time(number + 1) - rate.time(number)).0;
        prop_assert!((gap - 1_000_000_000 / i64::from(hz)).abs() <= 1000);
        prop_assert_eq!(rate.time(number).0 % 1000, 0);
    }
}
