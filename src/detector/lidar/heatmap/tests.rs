//! Maps whose boxes are known by hand.

use super::*;
use crate::tensor::{ElementType, Shape};

/// 4 × 3 pillars of half a metre from (−1, 2).
const GRID: Grid = Grid {
    min: [-1.0, 2.0, -3.0],
    size: [0.5, 0.5, 4.0],
    cells: [4, 3],
};

fn head() -> Head {
    Head {
        how: HeatmapSpec {
            tasks: vec![Task {
                classes: vec![2, 0],
                heatmap: "heatmap".to_owned(),
                offset: "reg".to_owned(),
                height: "height".to_owned(),
                size: "dim".to_owned(),
                rotation: "rot".to_owned(),
                velocity: Some("vel".to_owned()),
                distance: None,
            }],
            stride: 1,
            activation: Activation::Sigmoid,
            sides: Sides::Logarithms,
            rotation_order: RotationOrder::SinCos,
            convention: Convention::Heading,
            peaks: false,
            least_rotation: 0.0,
        },
        score_threshold: 0.3,
        before: 100,
        min: [-1.0, 2.0],
        pillar: [0.5, 0.5],
    }
}

fn with(change: impl FnOnce(&mut HeatmapSpec)) -> Head {
    let mut head = head();
    change(&mut head.how);
    head
}

/// Maps of twelve cells: name, channels, and what is not the map's usual value.
fn tensors(set: &[(&str, usize, usize, f32)]) -> TensorSet {
    let maps = [
        ("heatmap", 2, -9.0),
        ("reg", 2, 0.0),
        ("height", 1, -1.0),
        ("dim", 3, 0.0),
        ("rot", 2, 0.5),
        ("vel", 2, 0.0),
    ];
    let made = maps.map(|(name, channels, usual)| {
        let mut tensor =
            HostTensor::zeroed(name, ElementType::F32, Shape::new(&[1, channels, 3, 4]).unwrap());
        let values = tensor.f32_mut().unwrap();
        values.fill(usual);
        for (_, channel, cell, value) in set.iter().filter(|(map, ..)| *map == name) {
            values[channel * 12 + cell] = *value;
        }
        tensor
    });
    TensorSet::new(made.into())
}

fn found(head: Head, tensors: &TensorSet) -> Vec<Detection> {
    let suppress = Suppress::new(0.2, 100, true);
    let mut found = Vec::new();
    HeatmapDecode::new(head, GRID, suppress)
        .run(tensors, &Carry::default(), &mut found)
        .unwrap();
    found
}

fn space(detection: &Detection) -> Box3d {
    match detection.place {
        Place::Space(place) => place,
        Place::Image(_) => panic!("a box in space"),
    }
}

#[test]
fn a_cell_becomes_a_box_with_its_heading_and_velocity() {
    // Cell (3, 1), class 0 in the second channel.
    let set = [
        ("heatmap", 1, 7, 2.0),
        ("reg", 0, 7, 0.5),
        ("reg", 1, 7, 0.25),
        ("height", 0, 7, -0.7),
        ("dim", 0, 7, 4f32.ln()),
        ("dim", 1, 7, 2f32.ln()),
        ("dim", 2, 7, 1.5f32.ln()),
        ("rot", 0, 7, 1.0),
        ("rot", 1, 7, 0.0),
        ("vel", 0, 7, 3.0),
        ("vel", 1, 7, -4.0),
    ];
    let one = found(head(), &tensors(&set));
    assert_eq!(one.len(), 1);
    assert_eq!((one[0].class, one[0].velocity), (0, Some([3.0, -4.0])));
    assert!((one[0].score - 1.0 / (1.0 + (-2f32).exp())).abs() < 1e-6);
    let place = space(&one[0]);
    let wanted = [0.75, 2.625, -0.7, 4.0, 2.0, 1.5, std::f32::consts::FRAC_PI_2];
    let got = [place.x, place.y, place.z, place.l, place.w, place.h, place.yaw];
    for (got, wanted) in got.iter().zip(wanted) {
        assert!((got - wanted).abs() < 1e-5, "{place:?}");
    }
    // The other conventions: cosine first, and width before length with KITTI's angle.
    let turned = found(
        with(|how| {
            how.rotation_order = RotationOrder::CosSin;
            how.convention = Convention::Second;
        }),
        &tensors(&set),
    );
    let place = space(&turned[0]);
    assert!(
        (place.yaw + std::f32::consts::FRAC_PI_2).abs() < 1e-6,
        "{place:?}"
    );
    assert!(
        (place.l - 2.0).abs() < 1e-5 && (place.w - 4.0).abs() < 1e-5,
        "{place:?}"
    );
}

#[test]
fn peaks_and_distance_thin_neighbours() {
    // Two neighbours of one class, small enough not to overlap.
    let set = [
        ("heatmap", 0, 5, 3.0),
        ("heatmap", 0, 6, 1.0),
        ("dim", 0, 5, -3.0),
        ("dim", 1, 5, -3.0),
        ("dim", 0, 6, -3.0),
        ("dim", 1, 6, -3.0),
    ];
    let maps = tensors(&set);
    assert_eq!(found(head(), &maps).len(), 2);
    assert_eq!(found(with(|how| how.peaks = true), &maps).len(), 1);
    let within = |distance| found(with(|how| how.tasks[0].distance = Some(distance)), &maps).len();
    assert_eq!((within(0.4), within(0.6)), (2, 1));
}

#[test]
fn a_heading_of_no_length_and_numbers_that_are_none_are_left_out() {
    let set = [("heatmap", 0, 5, 3.0), ("rot", 0, 5, 0.01), ("rot", 1, 5, 0.02)];
    let strict = with(|how| how.least_rotation = 0.3);
    assert_eq!(found(strict, &tensors(&set)).len(), 0);
    assert_eq!(found(head(), &tensors(&set)).len(), 1);
    for bad in [f32::NAN, f32::INFINITY] {
        assert!(found(head(), &tensors(&[("heatmap", 0, 5, 3.0), ("height", 0, 5, bad)])).is_empty());
        let moving = found(head(), &tensors(&[("heatmap", 0, 5, 3.0), ("vel", 0, 5, bad)]));
        assert_eq!(moving[0].velocity, None);
        assert!(found(head(), &tensors(&[("heatmap", 0, 5, f32::NAN)])).is_empty());
    }
}

#[test]
fn a_map_of_another_shape_is_named() {
    let wrong = with(|how| how.tasks[0].classes = vec![0]);
    let mut decode = HeatmapDecode::new(wrong, GRID, Suppress::new(0.2, 10, true));
    let error = decode
        .run(&tensors(&[]), &Carry::default(), &mut Vec::new())
        .unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("tensor `heatmap` has shape [1, 2, 3, 4], but [1, 1, 3, 4] is expected"),
        "{text}"
    );
}
