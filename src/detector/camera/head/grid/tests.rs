//! The general head beside the heads that have names, and on boxes known by hand.

use proptest::prelude::*;

use super::super::super::nms::{Candidate, Labels};
use super::super::{Head, YoloAnchorFree, YoloxGrid};
use super::*;
use crate::tensor::{ElementType, Shape as Dims};
use crate::units::Bytes;
use crate::written::{Format, Node, Reader};

static SPEC: Format = Format {
    what: "head",
    longest: Bytes(1 << 20),
    begins: "Grid(",
};

fn parse(text: &str) -> Node {
    let (node, problems) = crate::written::parse(text, &SPEC);
    assert_eq!(problems, []);
    node.unwrap()
}

const GEOMETRY: Geometry = Geometry {
    width: 64,
    height: 32,
    classes: 3,
};

fn tensor(name: &str, dims: &[usize], values: &[f32]) -> HostTensor {
    let mut tensor = HostTensor::zeroed(name, ElementType::F32, Dims::new(dims).unwrap());
    tensor.f32_mut().unwrap().copy_from_slice(values);
    tensor
}

fn head(text: &str) -> Head {
    let node = parse(text);
    let mut reader = Reader::default();
    let head = reader.value::<Head>(&node, "head", "");
    assert_eq!(reader.problems, []);
    let head = head.unwrap();
    let mut rules = Rules::new(&node);
    head.check(&GEOMETRY, &mut rules);
    assert_eq!(rules.finish("spec.ron"), Ok(()));
    head
}

fn decoded(head: &mut Head, tensors: Vec<HostTensor>, labels: Labels) -> Vec<Candidate> {
    let mut found = Candidates::new(0.3, labels);
    head.decode(&GEOMETRY, &TensorSet::new(tensors), &mut found)
        .unwrap();
    found.as_slice().to_vec()
}

/// Some thousand values that differ and are the same each time.
fn noise(count: usize, seed: u64) -> Vec<f32> {
    let mut state = seed;
    (0..count)
        .map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f32 / (1u32 << 24) as f32
        })
        .collect()
}

fn assert_alike(a: &[Candidate], b: &[Candidate]) {
    assert!(!a.is_empty());
    assert_eq!(a.len(), b.len());
    for (a, b) in a.iter().zip(b) {
        assert_eq!(a.class, b.class);
        assert!((a.score - b.score).abs() < 1e-6, "{a:?} {b:?}");
        let corners = |c: &Candidate| [c.place.x1, c.place.y1, c.place.x2, c.place.y2];
        for (a, b) in corners(a).into_iter().zip(corners(b)) {
            assert!((a - b).abs() <= 1e-4 * b.abs().max(1.0), "{a} {b}");
        }
    }
}

const YOLOX: &str = r#"Grid(
    tensors: ["out"], columns: [[X, Y, Width, Height, Objectness, Classes]], levels: [(stride: 8), (stride: 16)],
    offset: Identity(times: Stride), size: Exp(times: Stride),
)"#;

#[test]
fn yolox_is_a_case_of_it() {
    let mut named = Head::YoloxGrid(YoloxGrid {
        output: "out".to_owned(),
        strides: vec![8, 16],
    });
    for labels in [Labels::Best, Labels::Every] {
        let out = || vec![tensor("out", &[1, 40, 8], &noise(320, 1))];
        assert_alike(
            &decoded(&mut head(YOLOX), out(), labels),
            &decoded(&mut named, out(), labels),
        );
    }
}

#[test]
fn an_anchor_free_yolo_is_a_case_of_it_in_columns_and_in_rows() {
    // Positions are pixels already, so neither grid nor stride counts.
    let spec = |layout: &str| {
        format!(
            r#"Grid(tensors: ["out"], columns: [[X, Y, Width, Height, Classes]], layout: {layout}, point: Origin,
                levels: [(stride: 8), (stride: 16)], offset: Identity(times: Pixels))"#
        )
    };
    for (layout, dims) in [("Columns", [1, 7, 40]), ("Rows", [1, 40, 7])] {
        let out = || vec![tensor("out", &dims, &noise(280, 2))];
        let mut named = Head::YoloAnchorFree(YoloAnchorFree::of("out".to_owned()));
        let general = decoded(&mut head(&spec(layout)), out(), Labels::Best);
        assert_alike(&general, &decoded(&mut named, out(), Labels::Best));
    }
}

fn one(place: &[f32; 4], candidate: &Candidate) {
    let Box2d { x1, y1, x2, y2 } = candidate.place;
    for (found, wanted) in [x1, y1, x2, y2].iter().zip(place) {
        assert!((found - wanted).abs() < 1e-3, "{candidate:?}");
    }
}

#[test]
fn priors_with_variances_and_a_softmax_with_background() {
    // Two priors in each of 2 × 1 cells; the second prior of the second cell finds class 1.
    let ssd = r#"Grid(
        tensors: ["loc", "conf"], columns: [[X, Y, Width, Height], [Background, Classes]],
        levels: [(stride: 32, cells: (2, 1), anchors: [[10, 10], [20, 8]])], point: Middle,
        offset: Identity(scale: 0.1, times: Anchor), size: Exp(gain: 0.2, times: Anchor), classes: Softmax,
    )"#;
    let mut places = vec![0.0; 16];
    places[12..].copy_from_slice(&[1.0, -2.5, 5.0 * 2f32.ln(), 0.0]);
    let mut scores = vec![0.0; 16];
    scores[0] = 5.0;
    scores[4] = 5.0;
    scores[8] = 5.0;
    // e²: beside three of e⁰, 0.711.
    scores[14] = 2.0;
    let found = decoded(
        &mut head(ssd),
        vec![
            tensor("loc", &[1, 4, 4], &places),
            tensor("conf", &[1, 4, 4], &scores),
        ],
        Labels::Best,
    );
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].class, 1);
    let share = 2f32.exp() / (2f32.exp() + 3.0);
    assert!((found[0].score - share).abs() < 1e-6);
    // Centre (48 + 2, 16 − 2), size 40 × 8.
    one(&[30.0, 10.0, 70.0, 18.0], &found[0]);
}

#[test]
fn sides_by_exponential_and_by_distribution() {
    let fcos = r#"Grid(columns: [[Classes], [Left, Top, Right, Bottom], [Objectness]], layout: Maps, point: Middle,
        levels: [(stride: 16, tensors: ["cls", "box", "centre"])], offset: Exp(times: Pixels),
        classes: Sigmoid, objectness: Sigmoid, score: GeometricMean)"#;
    let (mut classes, mut sides, mut centre) = (vec![-9.0; 24], vec![0.0; 32], vec![-9.0; 8]);
    // Cell (1, 1) is number 5.
    classes[8 + 5] = 9.0;
    centre[5] = 0.0;
    for (side, length) in [4.0f32, 5.0, 6.0, 7.0].iter().enumerate() {
        sides[side * 8 + 5] = length.ln();
    }
    let found = decoded(
        &mut head(fcos),
        vec![
            tensor("cls", &[1, 3, 2, 4], &classes),
            tensor("box", &[1, 4, 2, 4], &sides),
            tensor("centre", &[1, 1, 2, 4], &centre),
        ],
        Labels::Best,
    );
    assert_eq!(found.len(), 1);
    assert!((found[0].score - 0.5f32.sqrt()).abs() < 1e-3);
    one(&[20.0, 19.0, 30.0, 31.0], &found[0]);

    let bins = r#"Grid(columns: [[Classes], [Left, Top, Right, Bottom]], point: MiddlePixel, bins: 4,
        levels: [(stride: 16, tensors: ["cls", "box"])])"#;
    let (mut classes, mut sides) = (vec![0.0; 24], vec![0.0; 128]);
    classes[5 * 3 + 2] = 0.9;
    for side in 0..4 {
        // A flat distribution is 1.5 bins wide, a peak at bin 2 two.
        sides[5 * 16 + side * 4 + 2] = if side < 2 { 0.0 } else { 90.0 };
    }
    let found = decoded(
        &mut head(bins),
        vec![
            tensor("cls", &[1, 8, 3], &classes),
            tensor("box", &[1, 8, 16], &sides),
        ],
        Labels::Best,
    );
    assert_eq!((found.len(), found[0].class), (1, 2));
    one(&[23.5 - 24.0, 23.5 - 24.0, 23.5 + 32.0, 23.5 + 32.0], &found[0]);
}

#[test]
fn peaks_alone_count_in_a_heat_map() {
    let centres = r#"Grid(columns: [[Classes], [X, Y], [Width, Height]], layout: Maps, peaks: true,
        levels: [(stride: 8, tensors: ["hm", "reg", "wh"])], size: Identity(times: Stride))"#;
    let (mut heat, mut shift, mut size) = (vec![0.0; 96], vec![0.0; 64], vec![1.0; 64]);
    // Class 0: (2, 1) with a lower neighbour; two equal neighbours at (6, 2) and (7, 2), of which the first counts.
    heat[8 + 2] = 0.9;
    heat[16 + 3] = 0.8;
    heat[16 + 6] = 0.5;
    heat[16 + 7] = 0.5;
    shift[8 + 2] = 0.5;
    size[8 + 2] = 2.0;
    let found = decoded(
        &mut head(centres),
        vec![
            tensor("hm", &[1, 3, 4, 8], &heat),
            tensor("reg", &[1, 2, 4, 8], &shift),
            tensor("wh", &[1, 2, 4, 8], &size),
        ],
        Labels::Best,
    );
    assert_eq!(found.len(), 2);
    one(&[12.0, 4.0, 28.0, 12.0], &found[0]);
    one(&[44.0, 12.0, 52.0, 20.0], &found[1]);
}

#[test]
fn a_wrong_shape_says_which_was_expected_and_of_what() {
    let out = TensorSet::new(vec![tensor("out", &[1, 40, 9], &noise(360, 1))]);
    let error = head(YOLOX)
        .decode(&GEOMETRY, &out, &mut Candidates::new(0.3, Labels::Best))
        .unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("output `out` has shape [1, 40, 9], expected [1, 40, 8] (3 classes, 8 columns"),
        "{text}"
    );
}

#[test]
fn a_spec_that_contradicts_itself_is_refused() {
    for (text, phrase) in [
        (
            r#"Grid(tensors: ["a"], columns: [[X, Y, Width, Classes]], levels: [(stride: 8)])"#,
            "must be the four columns of one kind of box",
        ),
        (
            r#"Grid(tensors: ["a"], columns: [[X, Y, Width, Height]], levels: [(stride: 8)])"#,
            "is without Classes",
        ),
        (
            r#"Grid(tensors: ["a"], columns: [[X, Y, Width, Height, Classes]], levels: [(stride: 8)], size: Exp(times: Anchor))"#,
            "this level has none",
        ),
        (
            r#"Grid(tensors: ["a", "b"], columns: [[X, Y, Width, Height, Classes]], levels: [(stride: 8)])"#,
            "it has 2 outputs, and `columns` describes 1",
        ),
        (
            r#"Grid(tensors: ["a"], columns: [[X, X, Y, Width, Height, Classes]], levels: [(stride: 8)])"#,
            "X stands there twice",
        ),
        (
            r#"Grid(tensors: ["a"], columns: [[X, Y, Width, Height, Classes]], levels: [(stride: 8)], bins: 4)"#,
            "only Left, Top, Right and Bottom have bins",
        ),
        (
            r#"Grid(tensors: ["a"], columns: [[X, Y, Width, Height, Classes]], levels: [(stride: 8)], offset: Exp(gain: 0))"#,
            "must be a finite number other than 0",
        ),
        (
            r#"Grid(tensors: ["a"], columns: [[X, Y, Width, Height, Classes]], levels: [])"#,
            "at least one stride",
        ),
    ] {
        let node = parse(text);
        let mut reader = Reader::default();
        let head = reader.value::<Head>(&node, "head", "").unwrap();
        let mut rules = Rules::new(&node);
        head.check(&GEOMETRY, &mut rules);
        let said = rules.finish("spec.ron").unwrap_err().to_string();
        assert!(said.contains(phrase), "{said}");
    }
}

proptest! {
    #[test]
    fn any_numbers_in_any_layout_end_in_finite_boxes_or_none(
        values in prop::collection::vec(prop::num::f32::ANY, 40 * 8),
        layout in prop::sample::select(vec!["Rows", "Columns"]),
        score in prop::sample::select(vec!["Identity", "Sigmoid", "Softmax"]),
    ) {
        let text = format!(
            r#"Grid(tensors: ["out"], columns: [[X, Y, Width, Height, Objectness, Classes]], layout: {layout},
                levels: [(stride: 8), (stride: 16)], size: Exp(times: Stride), classes: {score})"#
        );
        let dims = if layout == "Rows" { [1, 40, 8] } else { [1, 8, 40] };
        for candidate in decoded(&mut head(&text), vec![tensor("out", &dims, &values)], Labels::Every) {
            prop_assert!(candidate.score.is_finite() && candidate.place.x1.is_finite());
        }
    }
}

#[test]
fn powers_of_objectness_and_class_as_fastestdet_has_them() {
    let head_of = |score: &str| {
        head(&format!(
            r#"Grid(tensors: ["out"], columns: [[Objectness, X, Y, Width, Height, Classes]], layout: Maps,
                levels: [(stride: 16)], offset: Sigmoid(gain: 2, scale: 2, shift: -1, times: Stride),
                size: Sigmoid(times: Input), score: {score})"#
        ))
    };
    // Cell (2, 1) of 4 × 2 is number 6; eight columns.
    let mut values = vec![0.0; 64];
    for (column, value) in [0.9f32, 0.5, -0.5, 0.0, 0.0, 0.0, 0.4, 0.1].iter().enumerate() {
        values[column * 8 + 6] = *value;
    }
    let out = || vec![tensor("out", &[1, 8, 2, 4], &values)];
    let found = decoded(
        &mut head_of("Powers(objectness: 0.6, class: 0.4)"),
        out(),
        Labels::Best,
    );
    assert_eq!((found.len(), found[0].class), (1, 1));
    assert!((found[0].score - 0.9f32.powf(0.6) * 0.4f32.powf(0.4)).abs() < 1e-6);
    // Centre ((2 + tanh ½) · 16, (1 − tanh ½) · 16), size half the input.
    let shift = 0.5f32.tanh() * 16.0;
    one(
        &[
            32.0 + shift - 16.0,
            16.0 - shift - 8.0,
            32.0 + shift + 16.0,
            16.0 - shift + 8.0,
        ],
        &found[0],
    );
    // Its square root is that of both.
    let halves = "Powers(objectness: 0.5, class: 0.5)";
    assert_alike(
        &decoded(&mut head_of(halves), out(), Labels::Best),
        &decoded(&mut head_of("GeometricMean"), out(), Labels::Best),
    );
}

#[test]
fn a_power_of_nothing_is_refused() {
    let node = parse(
        r#"Grid(tensors: ["out"], columns: [[X, Y, Width, Height, Objectness, Classes]], levels: [(stride: 8)],
            score: Powers(objectness: 0.0, class: 0.4))"#,
    );
    let mut reader = Reader::default();
    let head = reader.value::<Head>(&node, "head", "").unwrap();
    let mut rules = Rules::new(&node);
    head.check(&GEOMETRY, &mut rules);
    let problem = rules.finish("spec.ron").unwrap_err().to_string();
    assert!(problem.contains("head.score.objectness"), "{problem}");
}
