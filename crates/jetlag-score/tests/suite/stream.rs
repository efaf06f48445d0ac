//! Lateness: which answer counts when, and what it costs, against geometry.

use jetlag_record::units::{Nanos, Stamp};
use jetlag_score::nuscenes::{Config, Found, NuScenes, Sample, Truth};
use jetlag_score::stream::{Judged, Kept, Moment, Timing, judge, still, stream};
use jetlag_score::truth::{Annotated, Between, Labelled, Truth as Labels, TruthError, angle_between};
use jetlag_score::{Counts, coco};
use jetlag_world::{Class, Drive};
use proptest::prelude::*;

const fn ms(ms: i64) -> Nanos {
    Nanos::from_millis(ms)
}

fn at(ms: i64) -> Stamp {
    Stamp(ms * 1_000_000)
}

/// Frames every 100 ms from 10 s on of the run's clock, answered so many milliseconds after their release.
fn answered(after: &[Option<i64>]) -> Vec<Timing> {
    let frames = after.iter().zip(0i64..);
    frames
        .map(|(after, n)| Timing {
            scene: 0,
            captured: ms(n * 100),
            released: at(10_000 + n * 100),
            finished: after.map(|after| at(10_000 + n * 100 + after)),
        })
        .collect()
}

fn shown(moments: &[Moment]) -> Vec<(i64, Option<usize>, Kept)> {
    let shown = moments.iter();
    shown.map(|m| (m.time.0 / 1_000_000, m.answer, m.kept)).collect()
}

#[test]
fn every_frame_has_one_moment_and_the_newest_answer_counts() {
    // In time, late, dropped, overtaken by the next, that one.
    let frames = answered(&[Some(30), Some(90), None, Some(140), Some(20)]);
    assert_eq!(
        shown(&stream(&frames, None)),
        [
            (30, Some(0), Kept::Own),
            (190, Some(1), Kept::Own),
            (200, Some(1), Kept::Dropped),
            (440, Some(4), Kept::Own),
            (420, Some(4), Kept::Own),
        ]
    );
    assert_eq!(
        shown(&stream(&frames, Some(ms(50)))),
        [
            (30, Some(0), Kept::Own),
            (150, Some(0), Kept::Late),
            (250, Some(1), Kept::Dropped),
            (350, Some(1), Kept::Late),
            (420, Some(4), Kept::Own),
        ]
    );
    assert_eq!(
        shown(&still(&frames)),
        [
            (0, Some(0), Kept::Own),
            (100, Some(1), Kept::Own),
            (300, Some(3), Kept::Own),
            (400, Some(4), Kept::Own),
        ]
    );
    let ages: Vec<i64> = stream(&frames, None)
        .iter()
        .map(|m| m.age.unwrap().0 / 1_000_000)
        .collect();
    assert_eq!(ages, [30, 90, 100, 40, 20]);
}

#[test]
fn no_answer_outlasts_its_scene_and_before_the_first_there_is_none() {
    let mut frames = answered(&[None, Some(10), None, None]);
    frames[2].scene = 1;
    frames[3].scene = 1;
    assert_eq!(
        shown(&stream(&frames, None)),
        [
            (0, None, Kept::Dropped),
            (110, Some(1), Kept::Own),
            (200, None, Kept::Dropped),
            (300, None, Kept::Dropped),
        ]
    );
    let judged = judge(&stream(&frames, None), |moment| {
        Ok((moment.frame < 3).then(Vec::<u8>::new))
    })
    .unwrap();
    assert_eq!(
        judged.notes(),
        [
            "2 of 3 frames were dropped or failed: the answer before counts",
            "2 frames had no answer to fall back on: nothing counts as found in them",
            "1 frames are left out: no label tells what was there at their moments",
        ]
    );
}

proptest! {
    #[test]
    fn without_delay_a_stream_is_still(frames in 1usize..40) {
        let frames = answered(&vec![Some(0); frames]);
        prop_assert_eq!(stream(&frames, None), still(&frames));
        prop_assert_eq!(stream(&frames, Some(ms(10))), still(&frames));
    }

    #[test]
    fn an_answer_that_counts_is_ready_and_none_that_is_ready_is_newer(
        after in prop::collection::vec(prop::option::of(0i64..400), 1..30), deadline in prop::option::of(0i64..300),
    ) {
        let frames = answered(&after);
        let moments = stream(&frames, deadline.map(ms));
        prop_assert_eq!(moments.len(), frames.len());
        for (n, moment) in moments.iter().enumerate() {
            prop_assert_eq!(moment.frame, n);
            let clock = frames[n].released + (moment.time - frames[n].captured);
            let ready = |k: &usize| frames[*k].finished.is_some_and(|finished| finished <= clock);
            prop_assert_eq!(moment.answer, (0..frames.len()).filter(ready).max());
        }
    }
}

/// Cars abreast, far enough apart that none is taken for another, at these speeds along x.
fn cars(speeds: &[f64], time: Nanos) -> Vec<Truth> {
    let cars = speeds.iter().zip(0u32..);
    cars.map(|(speed, n)| Truth {
        class: 0,
        centre: [speed * time.as_secs_f64(), f64::from(n) * 10.0 - 40.0, 1.0],
        size: [2.0, 4.0, 1.5],
        yaw: 0.0,
        velocity: Some([*speed, 0.0]),
        points: Some(9),
        attribute: Some(5),
    })
    .collect()
}

/// The slower the surer.
fn detections(truths: &[Truth]) -> Vec<Found> {
    let found = truths.iter().zip(0u32..);
    found
        .map(|(truth, n)| Found {
            class: truth.class,
            centre: truth.centre,
            size: truth.size,
            yaw: truth.yaw,
            velocity: truth.velocity,
            attribute: truth.attribute,
            score: 1.0 - 0.01 * f64::from(n),
        })
        .collect()
}

/// Scores the truth of each frame's own time as its answer, at these moments.
fn scored(judged: &Judged<Truth>, answers: &[Vec<Found>]) -> jetlag_score::nuscenes::Scores {
    let samples: Vec<Sample> = judged
        .frames
        .iter()
        .map(|(moment, truths)| Sample {
            truths: truths.clone(),
            found: moment
                .answer
                .map(|answer| answers[answer].clone())
                .unwrap_or_default(),
            ..Sample::default()
        })
        .collect();
    NuScenes::new(Config::default(), &samples)
        .unwrap()
        .scores(Counts::ONCE)
}

#[test]
fn a_delay_loses_in_space_exactly_what_geometry_says() {
    let frames = |after: i64| answered(&vec![Some(after); 20]);
    let speeds = [5.0; 8];
    let answers: Vec<Vec<Found>> = (0..20).map(|n| detections(&cars(&speeds, ms(n * 100)))).collect();
    let late = |delay: i64| {
        let judged = judge(&stream(&frames(delay), None), |m| Ok(Some(cars(&speeds, m.time)))).unwrap();
        scored(&judged, &answers).classes[0]
    };
    for (delay, right) in [
        (0, 4),
        (50, 4),
        (99, 4),
        (101, 3),
        (199, 3),
        (201, 2),
        (399, 2),
        (401, 1),
        (799, 1),
        (801, 0),
    ] {
        let class = late(delay);
        // At 5 m/s the four distances are passed after 100, 200, 400 and 800 ms.
        let found = class
            .ap
            .iter()
            .filter(|ap| (ap.unwrap() - 1.0).abs() < 1e-9)
            .count();
        let lost = class.ap.iter().filter(|ap| ap.unwrap() == 0.0).count();
        assert_eq!((found, lost), (right, 4 - right), "{delay} ms: {class:?}");
        let off = class.errors[0].unwrap();
        let wanted = if delay < 400 {
            5.0 * delay as f64 / 1000.0
        } else {
            1.0
        };
        assert!(
            (off - wanted).abs() < 1e-9,
            "{delay} ms: {off} m, and {wanted} by geometry"
        );
    }
}

#[test]
fn a_delay_loses_only_those_that_move() {
    // Half of them stand; after half a second the others are 5 m away.
    let speeds = [0.0, 0.0, 0.0, 0.0, 10.0, 10.0, 10.0, 10.0];
    let answers: Vec<Vec<Found>> = (0..10).map(|n| detections(&cars(&speeds, ms(n * 100)))).collect();
    let frames = answered(&[Some(500); 10]);
    let judged = judge(&stream(&frames, None), |m| Ok(Some(cars(&speeds, m.time)))).unwrap();
    let class = scored(&judged, &answers).classes[0];
    // The surer half is right: a precision of 1 at recalls of 0.11 to 0.49, and of a half at 0.5, less the least one of 0.1.
    let wanted = (39.0 + 0.4 / 0.9) / 90.0;
    for ap in class.ap {
        assert!(
            (ap.unwrap() - wanted).abs() < 1e-9,
            "{ap:?}, and {wanted} by geometry"
        );
    }
    assert_eq!(class.errors[0], Some(0.0));
}

#[test]
fn a_delay_loses_in_the_image_exactly_what_geometry_says() {
    // 100 pixels wide, 200 pixels a second: after `d` the overlap is (100 − 200 d) / (100 + 200 d).
    let object = |time: Nanos| coco::Truth {
        class: 0,
        bbox: [200.0 * time.as_secs_f64(), 50.0, 100.0, 80.0],
        area: 8000.0,
        crowd: false,
    };
    for delay in [0i64, 10, 13, 14, 40, 60, 90, 111, 120, 166, 167, 300] {
        let moments = stream(&answered(&[Some(delay); 12]), None);
        let judged = judge(&moments, |moment| Ok(Some(vec![object(moment.time)]))).unwrap();
        let image = |(moment, truths): &(Moment, Vec<coco::Truth>)| coco::Image {
            truths: truths.clone(),
            found: vec![coco::Found {
                class: 0,
                bbox: object(ms(moment.answer.unwrap() as i64 * 100)).bbox,
                score: 0.9,
            }],
        };
        let images: Vec<coco::Image> = judged.frames.iter().map(image).collect();
        let scored = coco::Coco::new(&["car".to_owned()], &images).unwrap();
        let shift = 0.2 * delay as f64;
        let overlap = (100.0 - shift) / (100.0 + shift);
        let right = (0..10).filter(|k| overlap >= 0.5 + 0.05 * f64::from(*k)).count();
        let ap = scored.scores(Counts::ONCE).ap.unwrap();
        assert!(
            (ap - right as f64 / 10.0).abs() < 1e-9,
            "{delay} ms: {ap}, and {right} tenths by geometry"
        );
    }
}

fn actors(drive: &Drive, time: Nanos) -> Vec<Truth> {
    let moment = drive.at(time);
    let actors = moment.actors().iter();
    actors
        .map(|actor| Truth {
            class: match actor.class {
                Class::Car => 0,
                Class::Pedestrian => 5,
                Class::Cyclist => 7,
            },
            centre: actor.position,
            size: [actor.size[1], actor.size[0], actor.size[2]].map(f64::from),
            yaw: actor.yaw,
            velocity: Some(actor.velocity),
            points: None,
            attribute: None,
        })
        .collect()
}

#[test]
fn on_a_drive_no_delay_is_still_and_more_delay_is_worse() {
    let drive = Drive::new(3, 4);
    let answers: Vec<Vec<Found>> = (0..20)
        .map(|n| detections(&actors(&drive, ms(n * 100))))
        .collect();
    let score = |moments: &[Moment]| {
        let judged = judge(moments, |moment| Ok(Some(actors(&drive, moment.time)))).unwrap();
        let samples: Vec<Sample> = judged
            .frames
            .iter()
            .map(|(moment, truths)| {
                let [x, y, _] = drive.ego(moment.time).position;
                Sample {
                    ego: [x, y],
                    truths: truths.clone(),
                    found: answers[moment.answer.unwrap()].clone(),
                    racks: Vec::new(),
                }
            })
            .collect();
        NuScenes::new(Config::default(), &samples)
            .unwrap()
            .scores(Counts::ONCE)
            .labelled
    };
    let frames = |after: i64| answered(&[Some(after); 20]);
    let as_they_are = score(&still(&frames(70)));
    assert!((as_they_are.ap.unwrap() - 1.0).abs() < 1e-9, "{as_they_are:?}");
    assert_eq!(score(&stream(&frames(0), None)), as_they_are);
    let late: Vec<f64> = [0, 100, 300, 800]
        .map(|delay| score(&stream(&frames(delay), None)).ap.unwrap())
        .into();
    assert!(late.is_sorted_by(|a, b| a > b), "{late:?}");
}

fn labelled(times: &[i64], identities: bool, speeds: &[f64]) -> Vec<Annotated<Truth>> {
    let times = times.iter().map(|time| ms(*time));
    times
        .map(|time| Annotated {
            time,
            objects: cars(speeds, time)
                .into_iter()
                .zip(0u64..)
                .map(|(object, n)| Labelled {
                    identity: identities.then_some(n),
                    object,
                })
                .collect(),
        })
        .collect()
}

#[test]
fn between_labels_objects_are_on_their_way() {
    let speeds = [0.0, 3.0, -8.0];
    let labels = Labels::new(labelled(&[1000, 0, 500], true, &speeds), ms(600)).unwrap();
    assert!(labels.has_identities());
    for time in [0, 1, 250, 499, 500, 731, 1000] {
        let found = labels.at(ms(time)).unwrap().unwrap();
        for (found, wanted) in found.iter().zip(cars(&speeds, ms(time))) {
            assert!((found.centre[0] - wanted.centre[0]).abs() < 1e-9, "{time} ms");
        }
        assert_eq!(found.len(), 3);
    }
    assert_eq!(labels.at(ms(-1)).unwrap(), None);
    assert_eq!(labels.at(ms(1001)).unwrap(), None);
    let sparse = Labels::new(labelled(&[0, 500, 2000], true, &speeds), ms(600)).unwrap();
    assert_eq!(sparse.at(ms(700)).unwrap(), None, "that is too long to know");
    assert!(sparse.at(ms(2000)).unwrap().is_some());
}

#[test]
fn who_comes_or_goes_is_there_near_its_label() {
    let mut frames = labelled(&[0, 1000], true, &[10.0, 10.0]);
    frames[0].objects.remove(1);
    frames[1].objects.remove(0);
    let labels = Labels::new(frames, ms(2000)).unwrap();
    let places = |time: i64| -> Vec<[f64; 2]> {
        let found = labels.at(ms(time)).unwrap().unwrap();
        found
            .iter()
            .map(|truth| [truth.centre[0], truth.centre[1]])
            .collect()
    };
    assert_eq!(places(100), [[1.0, -40.0]]);
    assert_eq!(places(900), [[9.0, -30.0]]);
}

#[test]
fn labels_without_identities_are_known_at_their_times_alone() {
    let labels = Labels::new(labelled(&[0, 500], false, &[3.0]), ms(600)).unwrap();
    assert!(!labels.has_identities());
    assert!(labels.at(ms(500)).unwrap().is_some());
    let refused = labels.at(ms(250)).unwrap_err();
    assert_eq!(refused, TruthError::NoIdentities { time: ms(0) });
    // What was answered at the labels' own times is scored all the same.
    let frames = answered(&[Some(50), Some(50)]);
    assert!(judge(&stream(&frames, None), |moment| labels.at(moment.time)).is_err());
    assert_eq!(
        judge(&still(&frames[..1]), |moment| labels.at(moment.time))
            .unwrap()
            .frames
            .len(),
        1
    );
    let mut twice = labelled(&[0], true, &[3.0, 4.0]);
    twice[0].objects[1].identity = Some(0);
    let refused = Labels::new(twice, ms(600)).unwrap_err();
    assert_eq!(
        refused,
        TruthError::Twice {
            identity: 0,
            time: ms(0)
        }
    );
    let refused = Labels::new(labelled(&[5, 5], true, &[3.0]), ms(600)).unwrap_err();
    assert_eq!(refused, TruthError::SameTime { time: ms(5) });
    assert_eq!(
        Labels::<Truth>::new(vec![], ms(600)).unwrap().at(ms(0)).unwrap(),
        None
    );
}

proptest! {
    #[test]
    fn angles_go_the_shorter_way(from in -3.1f64..3.1, by in -3.0f64..3.0, share in 0.0f64..1.0) {
        let found = angle_between(from, from + by, share);
        let wanted = from + by * share;
        prop_assert!(((found - wanted).sin().abs() < 1e-9) && (found - wanted).cos() > 0.0);
        prop_assert!(found.abs() <= std::f64::consts::PI);
    }

    #[test]
    fn at_both_ends_an_object_is_as_labelled(speed in -20.0f64..20.0, yaw in -3.1f64..3.1) {
        let from = cars(&[speed], ms(0)).remove(0);
        let to = Truth { yaw, ..cars(&[speed], ms(500)).remove(0) };
        prop_assert_eq!(from.between(&to, 0.0), from.clone());
        let there = from.between(&to, 1.0);
        prop_assert!((there.centre[0] - to.centre[0]).abs() < 1e-9 && (there.yaw - to.yaw).abs() < 1e-9);
    }
}
