use super::*;
use crate::calibration::holds;

fn observed() -> Vec<Observation> {
    (0..6).map(|i| World::scene(5, i).observe()).collect()
}

#[test]
fn a_scene_is_the_same_each_time_and_another_for_another_seed_or_index() {
    let first = World::scene(3, 4).observe();
    let again = World::scene(3, 4).observe();
    assert_eq!(first.image, again.image);
    assert_eq!(first.sweep, again.sweep);
    assert_eq!(first.objects, again.objects);
    for other in [World::scene(4, 4), World::scene(3, 5)] {
        assert_ne!(first.image, other.render_camera());
        assert_ne!(first.sweep, other.sweep());
    }
}

/// The point of the pure-Rust arithmetic: were this to differ between machines, labels and networks
/// would too.
#[test]
fn a_scene_is_the_same_on_every_machine() {
    let seen = World::scene(1, 0).observe();
    let mut hash = blake3::Hasher::new();
    hash.update(&seen.image.rgb);
    for value in seen.sweep.points.as_flattened() {
        hash.update(&value.to_le_bytes());
    }
    assert_eq!(hash.finalize().to_hex().as_str(), SCENE_1_0);
}

const SCENE_1_0: &str = "45c021c9f2d53db30f5c86066de2a82f4076030648f88be09f8bc08099b2c23a";

#[test]
fn what_both_sensors_see_of_an_object_lies_where_the_truth_says() {
    let mut checked = 0;
    for seen in observed() {
        for object in seen.objects.iter().filter(|o| o.counts_for_camera()) {
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
            checked += 1;
        }
    }
    assert!(checked > 10, "only {checked} objects to check");
}

#[test]
fn points_above_the_ground_and_within_an_object_s_pixels_lie_on_it() {
    let calibration = calibration();
    let (mut on, mut near) = (0, 0);
    for seen in observed() {
        for object in seen
            .objects
            .iter()
            .filter(|o| o.counts_for_lidar() && o.visible > 0.99)
        {
            let b = object.image;
            let middle = [(b.x1 + b.x2) / 2.0, (b.y1 + b.y2) / 2.0];
            let half = [(b.x2 - b.x1) * 0.2, (b.y2 - b.y1) * 0.2];
            for p in &seen.sweep.points {
                let Some([u, v, _]) = calibration.project([p[0], p[1], p[2]].map(f64::from)) else {
                    continue;
                };
                if (u as f32 - middle[0]).abs() < half[0] && (v as f32 - middle[1]).abs() < half[1] {
                    near += 1;
                    on += u32::from(holds(&object.place, [p[0], p[1], p[2]], 0.1));
                }
            }
        }
    }
    // A ray may pass between legs or spokes, or under a car.
    assert!(
        near > 200 && f64::from(on) > 0.8 * f64::from(near),
        "{on} of {near}"
    );
}

#[test]
fn objects_do_not_stand_in_each_other_and_the_counted_ones_are_of_all_classes() {
    let all = observed();
    for class in Class::ALL {
        assert!(
            all.iter()
                .flat_map(|s| &s.objects)
                .any(|o| o.class == class && o.counts_for_camera()),
            "{class:?}"
        );
    }
    for seen in &all {
        for (i, a) in seen.objects.iter().enumerate() {
            for b in &seen.objects[i + 1..] {
                let middle = [b.place.x, b.place.y, b.place.z];
                assert!(!holds(&a.place, middle, 0.0), "{a:?} {b:?}");
            }
        }
    }
}

#[test]
fn every_sweep_has_ground_around_it_and_nothing_out_of_range() {
    for seen in observed() {
        let points = &seen.sweep.points;
        assert!(points.len() > RINGS * STEPS / 2);
        let ground = points.iter().filter(|p| (p[2] - layout::GROUND).abs() < 0.1);
        assert!(ground.count() > points.len() / 4);
        for p in points {
            let range = (p[0] * p[0] + p[1] * p[1] + p[2] * p[2]).sqrt();
            assert!(
                range < RANGE + 0.1 && p[0] > -0.1 && (0.0..=1.0).contains(&p[3]),
                "{p:?}"
            );
        }
    }
}
