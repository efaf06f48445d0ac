use proptest::prelude::*;

use super::*;
use crate::tensor::{ElementType, Shape};

fn grid() -> Grid {
    Grid {
        min: [0.0, -4.0, -3.0],
        size: [0.5, 0.5, 4.0],
        cells: [12, 16],
    }
}

fn head() -> Head {
    let anchor = |class, rotation| Anchor {
        class,
        size: [1.6, 3.9, 1.5],
        z: -1.0,
        rotation,
    };
    Head {
        boxes: "boxes".to_owned(),
        scores: "scores".to_owned(),
        directions: Some(("directions".to_owned(), DirectionRule::Sign)),
        layout: HeadLayout::CellsChannels,
        score_kind: Scores::PerClass,
        activation: Activation::Sigmoid,
        classes: 2,
        anchors: vec![anchor(0, 0.0), anchor(1, 1.57)],
        convention: Convention::Second,
        placement: Placement::Centres,
        min: [0.0, -4.0],
        pillar: [0.5, 0.5],
        stride: 2,
        drop_empty: false,
        score_threshold: 0.5,
        before: 50,
    }
}

/// Outputs of a head that is sure of nothing, but for one anchor of one cell.
fn outputs(head: &Head, cell: usize, anchor: usize, class: usize, by: [f32; 7], dir: [f32; 2]) -> TensorSet {
    let (cells, anchors) = (48, head.anchors.len());
    let mut set = TensorSet::default();
    for (name, values) in [("boxes", 7), ("scores", head.classes), ("directions", 2)] {
        let channels = anchors * values;
        let dims = match head.layout {
            HeadLayout::CellsChannels => [1, 8, 6, channels],
            HeadLayout::ChannelsCells => [1, channels, 8, 6],
        };
        let mut tensor = HostTensor::zeroed(name, ElementType::F32, Shape::new(&dims).unwrap());
        let data = tensor.f32_mut().unwrap();
        let map = Map {
            layout: head.layout,
            cells,
            channels,
        };
        match name {
            "boxes" => (0..7).for_each(|n| data[map.index(cell, anchor * 7 + n)] = by[n]),
            "scores" => {
                data.fill(-9.0);
                data[map.index(cell, anchor * values + class)] = 2.0;
            }
            _ => (0..2).for_each(|n| data[map.index(cell, anchor * 2 + n)] = dir[n]),
        }
        set.push(tensor);
    }
    set
}

fn decoded(head: &Head, set: &TensorSet, carry: &Carry) -> Vec<Detection> {
    let mut decode = AnchorDecode::new(head.clone(), grid(), Suppress::new(0.1, 10, true));
    let mut found = vec![];
    decode.run(set, carry, &mut found).unwrap();
    found
}

fn only_box(found: &[Detection]) -> Box3d {
    match found {
        [
            Detection {
                place: Place::Space(b),
                ..
            },
        ] => *b,
        other => panic!("one box in space was expected: {other:?}"),
    }
}

#[test]
fn a_box_is_the_same_from_either_layout() {
    let by = [0.1, -0.2, 0.3, 0.05, -0.05, 0.1, 0.4];
    let mut head = head();
    let plain = decoded(
        &head,
        &outputs(&head, 20, 1, 0, by, [0.0, 1.0]),
        &Carry::default(),
    );
    head.layout = HeadLayout::ChannelsCells;
    let planar = decoded(
        &head,
        &outputs(&head, 20, 1, 0, by, [0.0, 1.0]),
        &Carry::default(),
    );
    assert_eq!(plain, planar);
    assert_eq!(plain[0].class, 0);
    assert!((plain[0].score - 0.880_797).abs() < 1e-5);
}

#[test]
fn an_uncorrected_anchor_lies_in_the_middle_of_its_cell() {
    let head = head();
    let at = only_box(&decoded(
        &head,
        &outputs(&head, 6 * 3 + 2, 0, 0, [0.0; 7], [1.0, 0.0]),
        &Carry::default(),
    ));
    assert_eq!((at.x, at.y, at.z), (2.5, -0.5, -1.0));
    assert!((at.l - 3.9).abs() < 1e-6 && (at.w - 1.6).abs() < 1e-6);
}

proptest! {
    /// KITTI's rotation_y is 0 where a car faces the camera's right, which is the LiDAR's −y.
    #[test]
    fn the_two_conventions_agree_on_which_way_a_box_points(rotation in -3.1f64..3.1) {
        let heading = normalised_angle(-directed(rotation, rotation > 0.0, DirectionRule::Sign) - FRAC_PI_2);
        let forward = [f64::from(heading).cos(), f64::from(heading).sin()];
        // Camera: x right, z forward; a car of rotation_y r faces (cos r, −sin r) in (x, z).
        let from_camera = [-rotation.sin(), -rotation.cos()];
        prop_assert!((forward[0] - from_camera[0]).abs() < 1e-5 && (forward[1] - from_camera[1]).abs() < 1e-5);
    }

    #[test]
    fn a_direction_changes_a_rotation_by_half_turns_alone(
        rotation in -6.0f64..6.0, second in any::<bool>(), offset in -1.0f64..1.0, limit_offset in 0.0f64..1.0,
    ) {
        for rule in [DirectionRule::Sign, DirectionRule::Bins { offset, limit_offset }] {
            let turns = (directed(rotation, second, rule) - rotation) / PI;
            prop_assert!((turns - turns.round()).abs() < 1e-9);
            let other = (directed(rotation, !second, rule) - directed(rotation, second, rule)) / PI;
            prop_assert!((other.abs() - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn occupied_pillars_are_counted_as_one_by_one(
        pillars in prop::collection::hash_set((0u32..12, 0u32..16), 0..60),
        x0 in -3.0f64..14.0, dx in 0.0f64..6.0, y0 in -3.0f64..18.0, dy in 0.0f64..6.0,
    ) {
        let mut cells: Vec<[i32; 2]> = pillars.iter().map(|p| [p.0 as i32, p.1 as i32]).collect();
        cells.push([-1, -1]);
        let mut occupied = Occupancy::default();
        occupied.count(&grid(), &cells);
        let inside = |v: i32, from: f64, to: f64| i64::from(v) >= from as i64 && i64::from(v) < to as i64;
        let wanted = cells[..pillars.len()].iter().filter(|c| inside(c[0], x0, x0 + dx) && inside(c[1], y0, y0 + dy)).count();
        prop_assert_eq!(occupied.within([[x0, x0 + dx], [y0, y0 + dy]]) as usize, wanted);
    }
}

#[test]
fn anchors_over_empty_ground_are_dropped_if_asked() {
    let mut head = head();
    head.drop_empty = true;
    let mut set = outputs(&head, 6 * 3 + 2, 0, 0, [0.0; 7], [0.0; 2]);
    let two = Shape::new(&[1, 2, 2]).unwrap();
    set.push(HostTensor::zeroed(CELLS, ElementType::I32, two));
    let mut over = |cells: [[i32; 2]; 2]| {
        let tensor = set.get_mut(CELLS).unwrap();
        tensor.i32_mut().unwrap().copy_from_slice(cells.as_flattened());
        decoded(&head, &set, &Carry::default())
    };
    assert_eq!(over([[11, 15], [11, 14]]), []);
    assert_eq!(over([[5, 7], [-1, -1]]), [], "one pillar is not enough");
    assert_eq!(over([[5, 7], [4, 7]]).len(), 1);
}

#[test]
fn outputs_that_are_not_finite_are_no_detections() {
    let head = head();
    for by in [[f32::NAN; 7], [f32::INFINITY; 7], [1e9; 7]] {
        assert_eq!(
            decoded(&head, &outputs(&head, 3, 0, 0, by, [0.0; 2]), &Carry::default()),
            []
        );
    }
    let mut set = outputs(&head, 3, 0, 0, [0.0; 7], [0.0; 2]);
    set.get_mut("scores").unwrap().f32_mut().unwrap().fill(f32::NAN);
    assert_eq!(decoded(&head, &set, &Carry::default()), []);
}

#[test]
fn an_output_of_another_shape_is_an_error_that_says_what_was_expected() {
    let head = head();
    let mut set = outputs(&head, 3, 0, 0, [0.0; 7], [0.0; 2]);
    set.get_mut("scores")
        .unwrap()
        .set_shape(Shape::new(&[1, 4, 8, 5]).unwrap())
        .unwrap();
    let mut decode = AnchorDecode::new(head, grid(), Suppress::new(0.1, 10, true));
    let error = decode
        .run(&set, &Carry::default(), &mut vec![])
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("`scores` has shape [1, 4, 8, 5]") && error.contains("[1, 8, 6, 4]"),
        "{error}"
    );
}

#[test]
fn anchors_lie_in_the_middle_of_cells_or_from_end_to_end_of_the_range() {
    for (placement, first, inner, last) in [
        (Placement::Centres, [0.5, -3.5], [2.5, -0.5], [5.5, 3.5]),
        (Placement::Ends, [0.0, -4.0], [2.4, -4.0 + 24.0 / 7.0], [6.0, 4.0]),
    ] {
        let head = Head { placement, ..head() };
        for (cell, [x, y]) in [(0, first), (6 * 3 + 2, inner), (47, last)] {
            let set = outputs(&head, cell, 0, 0, [0.0; 7], [0.0; 2]);
            let at = only_box(&decoded(&head, &set, &Carry::default()));
            let near = (at.x - x).abs() < 1e-5 && (at.y - y).abs() < 1e-5;
            assert!(near, "{placement:?}, cell {cell}: {at:?}");
        }
    }
}

#[test]
fn corrections_move_scale_and_turn_an_anchor_as_in_training() {
    let by = [0.1, -0.2, 0.3, 0.05, -0.05, 0.1, 0.4];
    // Along and across the anchor's own sides of 1.6 and 3.9 m, which are 4.215 m from corner to corner.
    let (first, second) = (1.6 * 0.05f32.exp(), 3.9 * (-0.05f32).exp());
    let rotation = 1.57f32 + 0.4;
    for (convention, directions, l, w, yaw) in [
        (
            Convention::Second,
            [0.0, 1.0],
            second,
            first,
            -rotation + 1.5 * PI as f32,
        ),
        (Convention::Heading, [0.0, 1.0], first, second, rotation),
        // The other class, and one that is no larger, say that it points the other way.
        (
            Convention::Heading,
            [1.0, 0.0],
            first,
            second,
            rotation - PI as f32,
        ),
        (
            Convention::Heading,
            [0.5, 0.5],
            first,
            second,
            rotation - PI as f32,
        ),
    ] {
        let head = Head { convention, ..head() };
        let set = outputs(&head, 6 * 3 + 2, 1, 0, by, directions);
        let at = only_box(&decoded(&head, &set, &Carry::default()));
        let found = [at.x, at.y, at.z, at.l, at.w, at.h, at.yaw];
        let wanted = [
            2.5 + 0.421_545,
            -0.5 - 0.843_089,
            -1.0 + 0.45,
            l,
            w,
            1.5 * 0.1f32.exp(),
            yaw,
        ];
        for (found, wanted) in found.iter().zip(wanted) {
            assert!(
                (found - wanted).abs() < 1e-4,
                "{convention:?}, {directions:?}: {at:?}"
            );
        }
    }
}

proptest! {
    #[test]
    fn bins_bring_a_rotation_into_the_half_turn_that_the_spec_names(
        rotation in -6.0f64..6.0, offset in -1.0f64..1.0, limit_offset in 0.0f64..1.0,
    ) {
        let rule = DirectionRule::Bins { offset, limit_offset };
        let from = directed(rotation, false, rule) - offset;
        let bounds = -limit_offset * PI - 1e-9..(1.0 - limit_offset) * PI + 1e-9;
        prop_assert!(bounds.contains(&from), "{from} is not in {bounds:?}");
    }
}

/// Scores of every class of one anchor, as the network gives them; all others are low.
fn scored(head: &Head, cell: usize, anchor: usize, scores: &[f32]) -> TensorSet {
    let mut set = outputs(head, cell, anchor, 0, [0.0; 7], [0.0; 2]);
    let per_anchor = scores.len();
    let channels = head.anchors.len() * per_anchor;
    let shape = Shape::new(&[1, 8, 6, channels]).unwrap();
    let tensor = HostTensor::zeroed("scores", ElementType::F32, shape);
    *set.get_mut("scores").unwrap() = tensor;
    let values = set.get_mut("scores").unwrap().f32_mut().unwrap();
    values.fill(-9.0);
    let at = cell * channels + anchor * per_anchor;
    values[at..at + per_anchor].copy_from_slice(scores);
    set
}

#[test]
fn an_anchor_reports_its_best_class_alone_and_of_equals_the_first() {
    for (anchor, scores, class) in [
        (0, [1.0, 2.0, 0.5], 1),
        (1, [2.0, 1.0, 0.5], 0),
        (1, [0.5, 1.0, 2.0], 2),
        (1, [2.0, 2.0, 0.5], 0),
        (0, [0.5, 2.0, 2.0], 1),
        (1, [2.0, 0.5, 2.0], 0),
    ] {
        let head = Head { classes: 3, ..head() };
        let found = decoded(&head, &scored(&head, 20, anchor, &scores), &Carry::default());
        let classes: Vec<u16> = found.iter().map(|found| found.class).collect();
        assert_eq!(classes, [class], "anchor {anchor}: {scores:?}");
    }
}

#[test]
fn where_anchors_have_one_score_each_the_class_is_the_anchor_s() {
    let mut head = Head {
        score_kind: Scores::PerAnchor,
        ..head()
    };
    head.anchors[1].class = 5;
    for (anchor, class) in [(0, 0), (1, 5)] {
        let found = decoded(&head, &scored(&head, 20, anchor, &[2.0]), &Carry::default());
        let classes: Vec<u16> = found.iter().map(|found| found.class).collect();
        assert_eq!(classes, [class], "anchor {anchor}");
    }
}

#[test]
fn scores_from_the_threshold_on_are_reported() {
    // 0.5 is the sigmoid of exactly 0.
    for (activation, score_threshold, raw, counts) in [
        (Activation::Sigmoid, 0.5, 0.0, true),
        (Activation::Sigmoid, 0.5, -0.0005, false),
        (Activation::Sigmoid, 0.7, 1.0, true),
        (Activation::Sigmoid, 0.7, 0.8, false),
        (Activation::Sigmoid, 0.0, -8.0, true),
        (Activation::Identity, 0.7, 0.7, true),
        (Activation::Identity, 0.7, 0.69, false),
    ] {
        let head = Head {
            activation,
            score_threshold,
            ..head()
        };
        let set = scored(&head, 20, 1, &[raw, -9.0]);
        let found = decoded(&head, &set, &Carry::default());
        let is_there = found.iter().any(|found| match activation {
            Activation::Sigmoid => (found.score - 1.0 / (1.0 + (-raw).exp())).abs() < 1e-6,
            Activation::Identity => found.score == raw,
        });
        assert_eq!(is_there, counts, "{activation:?}: {raw} at {score_threshold}");
    }
}

#[test]
fn the_best_of_too_many_candidates_enter_and_equals_in_the_order_of_cells() {
    for (before, cells) in [
        (1, vec![30]),
        (2, vec![30, 5]),
        (3, vec![30, 5, 15]),
        (4, vec![30, 5, 15]),
    ] {
        let head = Head { before, ..head() };
        let mut set = outputs(&head, 15, 0, 0, [0.0; 7], [0.0; 2]);
        let scores = set.get_mut("scores").unwrap().f32_mut().unwrap();
        (scores[5 * 4], scores[30 * 4]) = (2.0, 3.0);
        let found = decoded(&head, &set, &Carry::default());
        let places: Vec<(f32, f32)> = found
            .iter()
            .map(|found| match found.place {
                Place::Space(at) => (at.x, at.y),
                Place::Image(_) => panic!("a box in the image"),
            })
            .collect();
        let wanted: Vec<(f32, f32)> = cells
            .iter()
            .map(|cell| ((cell % 6) as f32 + 0.5, (cell / 6) as f32 - 3.5))
            .collect();
        assert_eq!(places, wanted, "{before}");
    }
}

#[test]
fn an_output_may_have_a_row_for_each_anchor_and_no_other_shape_of_as_many_numbers() {
    let head = head();
    let set = |dims: &[usize]| {
        let mut set = outputs(&head, 3, 1, 0, [0.0; 7], [0.0; 2]);
        let scores = set.get_mut("scores").unwrap();
        scores.set_shape(Shape::new(dims).unwrap()).unwrap();
        set
    };
    let run = |dims: &[usize]| {
        let mut decode = AnchorDecode::new(head.clone(), grid(), Suppress::new(0.1, 10, true));
        let mut found = Vec::new();
        decode
            .run(&set(dims), &Carry::default(), &mut found)
            .map(|()| found.len())
    };
    assert_eq!(run(&[1, 96, 2]).unwrap(), 1);
    assert_eq!(run(&[1, 48, 4]).unwrap(), 1);
    let error = run(&[1, 64, 3]).unwrap_err().to_string();
    assert!(error.contains("`scores` has shape [1, 64, 3]"), "{error}");
}

#[test]
fn a_rotation_of_nothing_is_not_above_nothing() {
    assert_eq!(directed(0.0, false, DirectionRule::Sign), 0.0);
    assert_eq!(directed(0.0, true, DirectionRule::Sign), PI);
    assert_eq!(directed(1.0, false, DirectionRule::Sign), 1.0 + PI);
    assert_eq!(directed(1.0, true, DirectionRule::Sign), 1.0);
}

#[test]
fn pillars_beside_the_grid_occupy_nothing_in_it() {
    let mut occupied = Occupancy::default();
    occupied.count(&grid(), &[[12, 3], [3, 16], [-1, 5], [5, -1], [12, 15], [0, 16]]);
    assert_eq!(occupied.within([[0.0, 12.0], [0.0, 16.0]]), 0);
    occupied.count(&grid(), &[[11, 15], [0, 0]]);
    assert_eq!(occupied.within([[0.0, 12.0], [0.0, 16.0]]), 2);
}
