use proptest::prelude::*;

use super::*;
use crate::detector::Box3d;

fn rectangle([x1, y1, x2, y2]: [f32; 4]) -> Box2d {
    Box2d { x1, y1, x2, y2 }
}

fn seen(class: u16, score: f32, at: [f32; 4]) -> Detection {
    Detection::still(class, score, Place::Image(rectangle(at)))
}

fn found(class: u16, score: f32, x: f32) -> Detection {
    let place = Box3d {
        x,
        ..Box3d::default()
    };
    Detection {
        velocity: Some([x, 0.0]),
        ..Detection::still(class, score, Place::Space(place))
    }
}

fn projected(all: &[[f32; 4]]) -> Vec<Projected> {
    let of = |(number, at): (usize, &[f32; 4])| Projected {
        number,
        place: rectangle(*at),
    };
    all.iter().enumerate().map(of).collect()
}

fn fused(way: Associate, camera: &[Detection], lidar: &[Detection], at: &[[f32; 4]]) -> Vec<Detection> {
    let mut all = vec![seen(9, 1.0, [0.0; 4])];
    let mut association = Association::default();
    association.begin(lidar.len(), &mut all);
    association.camera(way, camera, lidar, &projected(at), &mut all);
    association.end(lidar, &mut all);
    all
}

#[test]
fn known_overlaps_and_scores() {
    let square = |x: f32| rectangle([x, 0.0, x + 2.0, 2.0]);
    assert_eq!(iou(&square(0.0), &square(0.0)), 1.0);
    assert!((iou(&square(0.0), &square(1.0)) - 1.0 / 3.0).abs() < 1e-6);
    assert_eq!(iou(&square(0.0), &square(2.0)), 0.0);
    assert_eq!(iou(&rectangle([0.0; 4]), &rectangle([0.0; 4])), 0.0);
    assert!((joint(0.6, 0.5) - 0.8).abs() < 1e-6);
    assert_eq!((joint(0.0, 0.7), joint(1.0, 0.2)), (0.7, 1.0));
}

#[test]
fn one_object_has_the_place_of_the_lidar_the_class_of_the_camera_and_the_joint_score() {
    let camera = [
        seen(1, 0.6, [0.0, 0.0, 10.0, 10.0]),
        seen(0, 0.5, [50.0, 50.0, 60.0, 60.0]),
    ];
    let lidar = [found(1, 0.5, 7.0), found(2, 0.9, 30.0)];
    let all = fused(
        Associate::default(),
        &camera,
        &lidar,
        &[[1.0, 0.0, 11.0, 10.0], [200.0, 0.0, 210.0, 10.0]],
    );
    assert_eq!(all.len(), 3);
    assert_eq!((all[0], all[2]), (lidar[1], camera[1]));
    assert!((all[1].score - 0.8).abs() < 1e-6);
    assert_eq!(
        (all[1].class, all[1].place, all[1].velocity),
        (1, lidar[0].place, Some([7.0, 0.0]))
    );
}

#[test]
fn an_object_in_two_images_is_one_with_the_class_of_the_surer() {
    let lidar = [found(1, 0.5, 7.0), found(1, 0.8, 30.0)];
    let at = projected(&[[0.0, 0.0, 10.0, 10.0]]);
    let any = Associate::Greedy {
        iou: 0.3,
        same_class: false,
    };
    let (mut association, mut all) = (Association::default(), Vec::new());
    for _ in 0..2 {
        association.begin(lidar.len(), &mut all);
        for seen in [
            seen(2, 0.6, [1.0, 0.0, 11.0, 10.0]),
            seen(3, 0.5, [0.0, 1.0, 10.0, 11.0]),
        ] {
            association.camera(any, &[seen], &lidar, &at, &mut all);
        }
        association.end(&lidar, &mut all);
        // One of the two is wrong with 0.4, the other with 0.5, the LiDAR with 0.5.
        assert_eq!((all.len(), all[0].class, all[1]), (2, 2, lidar[1]), "{all:?}");
        assert!((all[0].score - 0.9).abs() < 1e-6, "{all:?}");
    }
}

#[test]
fn the_best_overlap_goes_first_and_each_box_once() {
    let camera = [
        seen(0, 0.9, [0.0, 0.0, 10.0, 10.0]),
        seen(0, 0.8, [2.0, 0.0, 12.0, 10.0]),
    ];
    let lidar = [found(0, 0.5, 1.0)];
    let all = fused(Associate::default(), &camera, &lidar, &[[2.0, 0.0, 12.0, 10.0]]);
    assert_eq!(all.len(), 2);
    assert!((all[0].score - 0.9).abs() < 1e-6, "{all:?}");
    assert!(all.contains(&camera[0]));
}

#[test]
fn classes_may_differ_where_it_is_said() {
    let (camera, lidar) = ([seen(0, 0.5, [0.0, 0.0, 10.0, 10.0])], [found(1, 0.5, 1.0)]);
    let at = [[0.0, 0.0, 10.0, 10.0]];
    assert_eq!(fused(Associate::default(), &camera, &lidar, &at).len(), 2);
    let any = Associate::Greedy {
        iou: 0.3,
        same_class: false,
    };
    let all = fused(any, &camera, &lidar, &at);
    assert_eq!((all.len(), all[0].class), (1, 0));
}

#[test]
fn boxes_that_are_not_in_the_image_stay_as_they_are() {
    let lidar = [found(0, 0.5, -20.0)];
    assert_eq!(fused(Associate::default(), &[], &lidar, &[]), lidar);
}

fn boxes() -> impl Strategy<Value = Vec<(u16, f32, [f32; 4])>> {
    let one = (
        0u16..3,
        0.01f32..1.0,
        0f32..80.0,
        0f32..80.0,
        1f32..40.0,
        1f32..40.0,
    )
        .prop_map(|(class, score, x, y, w, h)| (class, score, [x, y, x + w, y + h]));
    proptest::collection::vec(one, 0..20)
}

proptest! {
    #[test]
    fn no_object_is_lost_and_none_is_made(one in boxes(), other in boxes(), least in 0.05f32..0.9, same_class: bool) {
        let camera: Vec<Detection> = one.iter().map(|(class, score, at)| seen(*class, *score, *at)).collect();
        let lidar: Vec<Detection> = other
            .iter()
            .enumerate()
            .map(|(n, (class, score, _))| found(*class, *score, n as f32))
            .collect();
        let places: Vec<[f32; 4]> = other.iter().map(|(_, _, at)| *at).collect();
        let all = fused(Associate::Greedy { iou: least, same_class }, &camera, &lidar, &places);
        let in_space = all.iter().filter(|of| matches!(of.place, Place::Space(_))).count();
        prop_assert_eq!(in_space, lidar.len());
        let pairs = camera.len() + lidar.len() - all.len();
        prop_assert_eq!(all.len() - in_space, camera.len() - pairs);
        prop_assert!(all.iter().all(|of| (0.0..=1.0).contains(&of.score)));
        prop_assert!(all.is_sorted_by(|a, b| a.score >= b.score));
        // No pair that could have been made is left.
        for left in all.iter().filter(|of| matches!(of.place, Place::Image(_))) {
            let Place::Image(at) = left.place else { continue };
            for (n, alone) in lidar.iter().enumerate() {
                let is_alone = all.contains(alone);
                let fits = iou(&at, &rectangle(places[n])) >= least && (!same_class || alone.class == left.class);
                prop_assert!(!(is_alone && fits), "{left:?} and {alone:?}");
            }
        }
    }
}
