//! Heads on small outputs whose boxes are known by hand.

use super::*;
use crate::detector::Box2d;
use crate::detector::camera::nms::{Candidate, Labels};
use crate::tensor::{ElementType, HostTensor};
use crate::written::{Kind, Node, Place};

const TWO_CLASSES: Geometry = Geometry {
    width: 64,
    height: 32,
    classes: 2,
};

fn tensor(name: &str, dims: &[usize], fill: impl Fn(&mut [f32])) -> HostTensor {
    let mut tensor = HostTensor::zeroed(name, ElementType::F32, Shape::new(dims).unwrap());
    fill(tensor.f32_mut().unwrap());
    tensor
}

fn decoded(head: Head, geometry: Geometry, tensors: Vec<HostTensor>) -> Result<Vec<Candidate>, HeadError> {
    decoded_as(head, geometry, tensors, Labels::Best)
}

fn decoded_as(
    mut head: Head,
    geometry: Geometry,
    tensors: Vec<HostTensor>,
    labels: Labels,
) -> Result<Vec<Candidate>, HeadError> {
    let nowhere = Node::new(Place::File, Kind::Nothing);
    let mut rules = Rules::new(&nowhere);
    head.check(&geometry, &mut rules);
    assert_eq!(rules.finish("spec.ron"), Ok(()));
    let mut found = Candidates::new(0.3, labels);
    head.decode(&geometry, &TensorSet::new(tensors), &mut found)?;
    Ok(found.as_slice().to_vec())
}

fn assert_boxes(found: &[Candidate], expected: &[(u16, f32, [f32; 4])]) {
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (candidate, (class, score, [x1, y1, x2, y2])) in found.iter().zip(expected) {
        assert_eq!(candidate.class, *class);
        assert!((candidate.score - score).abs() < 1e-5, "{candidate:?}");
        let Box2d {
            x1: a,
            y1: b,
            x2: c,
            y2: d,
        } = candidate.place;
        for (found, expected) in [a, b, c, d].iter().zip([x1, y1, x2, y2]) {
            assert!((found - expected).abs() < 1e-3, "{candidate:?}");
        }
    }
}

fn yolox() -> Head {
    Head::YoloxGrid(YoloxGrid {
        output: "out".to_owned(),
        strides: vec![8, 16],
    })
}

#[test]
fn yolox_counts_rows_through_the_grids_and_scales_by_the_stride() {
    // 8 × 4 cells at stride 8, then 4 × 2 at stride 16.
    let out = tensor("out", &[1, 40, 7], |v| {
        // Row 10 is cell (2, 1) of the first grid.
        v[70..77].copy_from_slice(&[0.5, 0.25, 2f32.ln(), 0.0, 0.9, 0.2, 0.8]);
        // Row 37 is cell (1, 1) of the second.
        v[37 * 7..38 * 7].copy_from_slice(&[0.0, 0.0, 0.0, 1f32.ln(), 0.5, 0.9, 0.0]);
        // Objectness alone does not make a detection.
        v[4] = 0.9;
    });
    let found = decoded(yolox(), TWO_CLASSES, vec![out]).unwrap();
    assert_boxes(
        &found,
        &[
            (1, 0.72, [12.0, 6.0, 28.0, 14.0]),
            (0, 0.45, [8.0, 8.0, 24.0, 24.0]),
        ],
    );
}

#[test]
fn an_output_of_another_shape_says_what_was_expected_and_why() {
    let out = tensor("out", &[1, 40, 85], |_| {});
    let error = decoded(yolox(), TWO_CLASSES, vec![out]).unwrap_err().to_string();
    assert_eq!(
        error,
        "output `out` has shape [1, 40, 85], expected [1, 40, 7] (2 classes and strides [8, 16] at 64 × 32); \
         check classes, strides and input size"
    );
    let error = decoded(yolox(), TWO_CLASSES, vec![tensor("other", &[1], |_| {})])
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("no tensor is named `out`; there are: other"),
        "{error}"
    );
}

fn anchors(logits: bool) -> Head {
    Head::YoloAnchors(YoloAnchors::Maps(AnchorMaps {
        levels: vec![AnchorLevel {
            output: "p4".to_owned(),
            stride: 16,
            anchors: vec![[10.0, 20.0], [40.0, 8.0]],
        }],
        logits,
    }))
}

/// Cell (3, 1) of the second anchor: centre in the middle of the cell, a quarter of the anchor's width, 2¼ of its height.
const CELL: [f32; 7] = [0.5, 0.5, 0.25, 0.75, 0.8, 0.1, 0.75];
const CELL_BOX: (u16, f32, [f32; 4]) = (1, 0.6, [56.0 - 5.0, 24.0 - 9.0, 56.0 + 5.0, 24.0 + 9.0]);

#[test]
fn anchor_maps_decode_alike_in_both_layouts_raw_or_squashed() {
    for logits in [false, true] {
        let value = |k: usize| if logits { logit(CELL[k]) } else { CELL[k] };
        let rest = if logits { -20.0 } else { 0.0 };
        let planes = tensor("p4", &[1, 14, 2, 4], |v| {
            v.fill(rest);
            for k in 0..7 {
                v[(7 + k) * 8 + 7] = value(k);
            }
        });
        let rows = tensor("p4", &[1, 2, 2, 4, 7], |v| {
            v.fill(rest);
            for k in 0..7 {
                v[(8 + 7) * 7 + k] = value(k);
            }
        });
        for map in [planes, rows] {
            let found = decoded(anchors(logits), TWO_CLASSES, vec![map]).unwrap();
            assert_boxes(&found, &[CELL_BOX]);
        }
    }
}

#[test]
fn decoded_anchor_rows_are_read_as_pixels() {
    let head = Head::YoloAnchors(YoloAnchors::Decoded {
        output: "out".to_owned(),
    });
    let out = tensor("out", &[1, 3, 7], |v| {
        v[7..14].copy_from_slice(&[20.0, 10.0, 8.0, 4.0, 0.9, 0.5, 0.1]);
        v[18] = f32::NAN;
    });
    let found = decoded(head.clone(), TWO_CLASSES, vec![out]).unwrap();
    assert_boxes(&found, &[(0, 0.45, [16.0, 8.0, 24.0, 12.0])]);
    let error = decoded(head, TWO_CLASSES, vec![tensor("out", &[1, 6, 3], |_| {})]).unwrap_err();
    assert!(
        error.to_string().contains("expected [1, boxes, 7] (2 classes)"),
        "{error}"
    );
}

#[test]
fn anchor_free_outputs_decode_alike_in_both_directions() {
    let head = Head::YoloAnchorFree(YoloAnchorFree::of("out".to_owned()));
    let box_of = [
        [20.0, 10.0, 8.0, 4.0, 0.35, 0.7],
        [40.0, 20.0, 2.0, 2.0, 0.4, 0.1],
    ];
    let planes = || {
        tensor("out", &[1, 6, 9], |v| {
            for (i, values) in [(2, box_of[0]), (8, box_of[1])] {
                for (k, value) in values.iter().enumerate() {
                    v[k * 9 + i] = *value;
                }
            }
        })
    };
    let rows = tensor("out", &[1, 9, 6], |v| {
        v[12..18].copy_from_slice(&box_of[0]);
        v[48..54].copy_from_slice(&box_of[1]);
    });
    let expected = [
        (1, 0.7, [16.0, 8.0, 24.0, 12.0]),
        (0, 0.4, [39.0, 19.0, 41.0, 21.0]),
    ];
    for out in [planes(), rows] {
        assert_boxes(&decoded(head.clone(), TWO_CLASSES, vec![out]).unwrap(), &expected);
    }
    let every = decoded_as(head.clone(), TWO_CLASSES, vec![planes()], Labels::Every).unwrap();
    assert_eq!(every.len(), 3, "{every:?}");
    // Of two classes with one score, the first.
    let equal = tensor("out", &[1, 6, 9], |v| (4..6).for_each(|k| v[k * 9] = 0.5));
    let best = decoded(head.clone(), TWO_CLASSES, vec![equal]).unwrap();
    assert_eq!(best.iter().map(|found| found.class).collect::<Vec<u16>>(), [0]);
    let none = tensor("out", &[1, 6, 0], |_| {});
    assert!(decoded(head.clone(), TWO_CLASSES, vec![none]).unwrap().is_empty());
    let wrong = tensor("out", &[1, 7, 9], |_| {});
    assert!(decoded(head, TWO_CLASSES, vec![wrong]).is_err());
}

#[test]
fn nanodet_sides_are_expectations_from_the_cell_centre_and_clipped_to_the_input() {
    for (cell_centre, offset) in [(CellCentre::Middle, 7.5), (CellCentre::Corner, 0.0)] {
        let head = Head::NanoDet(NanoDet {
            levels: vec![NanoDetLevel {
                scores: "s".to_owned(),
                boxes: "b".to_owned(),
                stride: 16,
            }],
            bins: 4,
            cell_centre,
            logits: false,
        });
        let scores = tensor("s", &[1, 8, 2], |v| v[11] = 0.6);
        let sides = tensor("b", &[1, 8, 16], |v| {
            // Cell 5 is (1, 1). Left: flat, 1.5 bins. Top: bin 1. Right: bin 0. Bottom: bin 3.
            for (side, bin) in [(1, 1), (2, 0), (3, 3)] {
                v[5 * 16 + side * 4 + bin] = 100.0;
            }
        });
        let centre = 16.0 + offset;
        let found = decoded(head, TWO_CLASSES, vec![scores, sides]).unwrap();
        assert_boxes(
            &found,
            &[(
                1,
                0.6,
                [f32::max(centre - 24.0, 0.0), centre - 16.0, centre, 32.0],
            )],
        );
    }
}

#[test]
fn prior_boxes_skip_the_background_column_wherever_it_is() {
    for (background, scores, class) in [
        (None, vec![0.1, 0.8], 1),
        (Some(0), vec![0.9, 0.1, 0.8], 1),
        (Some(1), vec![0.8, 0.9, 0.1], 0),
        (Some(2), vec![0.1, 0.8, 0.9], 1),
    ] {
        let head = Head::PriorBoxes(PriorBoxes {
            scores: "s".to_owned(),
            boxes: "b".to_owned(),
            background,
        });
        let scores = tensor("s", &[1, 1, scores.len()], |v| v.copy_from_slice(&scores));
        let corners = tensor("b", &[1, 1, 4], |v| v.copy_from_slice(&[0.25, -0.5, 0.5, 0.75]));
        let found = decoded(head, TWO_CLASSES, vec![scores, corners]).unwrap();
        assert_boxes(&found, &[(class, 0.8, [16.0, -16.0, 32.0, 24.0])]);
    }
}

/// The threshold is the lowest score that counts, in every head.
#[test]
fn a_score_at_the_threshold_counts() {
    let one_class = Geometry {
        classes: 1,
        ..TWO_CLASSES
    };
    let nanodet = Head::NanoDet(NanoDet {
        levels: vec![NanoDetLevel {
            scores: "s".to_owned(),
            boxes: "b".to_owned(),
            stride: 16,
        }],
        bins: 4,
        cell_centre: CellCentre::Middle,
        logits: false,
    });
    let decoded_rows = Head::YoloAnchors(YoloAnchors::Decoded {
        output: "out".to_owned(),
    });
    let anchor_free = Head::YoloAnchorFree(YoloAnchorFree::of("out".to_owned()));
    let prior_boxes = Head::PriorBoxes(PriorBoxes {
        scores: "s".to_owned(),
        boxes: "b".to_owned(),
        background: None,
    });
    // A box and an objectness of 0.3, and a sure class.
    let row = |v: &mut [f32]| v[..6].copy_from_slice(&[0.5, 0.5, 0.5, 0.5, 0.3, 1.0]);
    let first = |v: &mut [f32]| v[0] = 0.3;
    let fifth = |v: &mut [f32]| v[4] = 0.3;
    for (head, tensors) in [
        (yolox(), vec![tensor("out", &[1, 40, 6], row)]),
        (anchors(false), vec![tensor("p4", &[1, 2, 2, 4, 6], row)]),
        (decoded_rows, vec![tensor("out", &[1, 1, 6], row)]),
        (anchor_free.clone(), vec![tensor("out", &[1, 1, 5], fifth)]),
        (anchor_free, vec![tensor("out", &[1, 5, 1], fifth)]),
        (
            nanodet,
            vec![tensor("s", &[1, 8, 1], first), tensor("b", &[1, 8, 16], |_| {})],
        ),
        (
            prior_boxes,
            vec![tensor("s", &[1, 1, 1], first), tensor("b", &[1, 1, 4], |_| {})],
        ),
    ] {
        for labels in [Labels::Best, Labels::Every] {
            let found = decoded_as(head.clone(), one_class, tensors_again(&tensors), labels).unwrap();
            let scores: Vec<f32> = found.iter().map(|candidate| candidate.score).collect();
            assert_eq!(scores, [0.3], "{head:?} {labels:?}");
        }
    }
}

fn tensors_again(tensors: &[HostTensor]) -> Vec<HostTensor> {
    tensors
        .iter()
        .map(|of| {
            tensor(of.name(), of.shape().dims(), |v| {
                v.copy_from_slice(of.f32().unwrap())
            })
        })
        .collect()
}
