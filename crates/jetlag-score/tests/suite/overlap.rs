//! Overlaps against plain formulas and an independent library.

use std::f32::consts::{FRAC_PI_2, PI};

use jetlag_record::detection::{Box2d, Box3d};
use jetlag_score::iou::{Solid, above, area, corners, image, space};
use proptest::prelude::*;

fn placed() -> impl Strategy<Value = Box3d> {
    let sides = (0.2f32..6.0, 0.2f32..6.0, 0.2f32..3.0);
    (-5.0f32..5.0, -5.0f32..5.0, -2.0f32..2.0, sides, -PI..PI).prop_map(|(x, y, z, (l, w, h), yaw)| Box3d {
        x,
        y,
        z,
        l,
        w,
        h,
        yaw,
    })
}

fn span(ca: f32, ha: f32, cb: f32, hb: f32) -> f64 {
    let [ca, ha, cb, hb] = [ca, ha, cb, hb].map(f64::from);
    ((ca + ha / 2.0).min(cb + hb / 2.0) - (ca - ha / 2.0).max(cb - hb / 2.0)).max(0.0)
}

proptest! {
    #[test]
    fn overlaps_are_symmetric_and_within_0_and_1(a in placed(), b in placed()) {
        for overlap in [above, space] {
            let (ab, ba) = (overlap(&a, &b), overlap(&b, &a));
            prop_assert!((ab - ba).abs() < 1e-9);
            prop_assert!((0.0..=1.0).contains(&ab));
            prop_assert!((overlap(&a, &a) - 1.0).abs() < 1e-9);
        }
        prop_assert!(space(&a, &b) <= above(&a, &b) + 1e-9);
    }

    #[test]
    fn a_box_is_itself_when_turned_around(a in placed()) {
        for same in [
            Box3d { yaw: a.yaw + PI, ..a },
            Box3d { l: a.w, w: a.l, yaw: a.yaw + FRAC_PI_2, ..a },
        ] {
            prop_assert!((space(&a, &same) - 1.0).abs() < 1e-5);
        }
    }

    #[test]
    fn without_rotation_the_plain_formula_holds(a in placed(), b in placed()) {
        let (a, b) = (Box3d { yaw: 0.0, ..a }, Box3d { yaw: 0.0, ..b });
        let flat = span(a.x, a.l, b.x, b.l) * span(a.y, a.w, b.y, b.w);
        let both = flat * span(a.z, a.h, b.z, b.h);
        let volume = |b: &Box3d| f64::from(b.l) * f64::from(b.w) * f64::from(b.h);
        prop_assert!((space(&a, &b) - both / (volume(&a) + volume(&b) - both)).abs() < 1e-9);
        prop_assert!((Solid::of(&a).shared(&Solid::of(&b)) - both).abs() < 1e-9);
    }

    #[test]
    fn moving_and_turning_both_changes_nothing(
        a in placed(), b in placed(), by in -PI..PI, dx in -20.0f32..20.0, dy in -20.0f32..20.0,
    ) {
        let moved = |b: &Box3d| {
            let (sin, cos) = by.sin_cos();
            Box3d { x: b.x * cos - b.y * sin + dx, y: b.x * sin + b.y * cos + dy, yaw: b.yaw + by, ..*b }
        };
        prop_assert!((above(&moved(&a), &moved(&b)) - above(&a, &b)).abs() < 1e-4);
    }
}

#[test]
fn boxes_without_area_or_with_nan_overlap_nothing() {
    let good = Box3d {
        l: 2.0,
        w: 1.0,
        h: 1.0,
        ..Box3d::default()
    };
    for bad in [
        Box3d { l: 0.0, ..good },
        Box3d { w: -1.0, ..good },
        Box3d { h: -1.0, ..good },
        Box3d { x: f32::NAN, ..good },
        Box3d { z: f32::NAN, ..good },
        Box3d {
            l: f32::INFINITY,
            ..good
        },
        Box3d {
            yaw: f32::NAN,
            ..good
        },
    ] {
        assert_eq!(space(&good, &bad), 0.0, "{bad:?}");
        assert_eq!(space(&bad, &bad), 0.0, "{bad:?}");
    }
    let inside_out = corners(&Box2d {
        x1: 5.0,
        y1: 0.0,
        x2: 1.0,
        y2: 2.0,
    });
    assert_eq!((area(inside_out), image(inside_out, inside_out)), (0.0, 0.0));
}

/// Two boxes as x, y, l, w, yaw, and their overlap by shapely 2 (scripts/overlap_table.py).
const BY_SHAPELY: [([f32; 5], [f32; 5], f64); 6] = [
    (
        [0.0, 0.0, 2.3, 0.8, 0.95],
        [-1.71, 0.14, 2.46, 0.62, 0.05],
        0.002148196,
    ),
    (
        [0.0, 0.0, 1.58, 0.74, -1.2],
        [1.26, -1.28, 3.33, 1.78, -0.8],
        0.072431125,
    ),
    (
        [0.0, 0.0, 2.81, 1.1, 1.85],
        [0.8, -1.02, 3.3, 1.55, 2.36],
        0.301020443,
    ),
    (
        [0.0, 0.0, 3.36, 1.03, -3.12],
        [-0.32, -0.52, 3.27, 2.41, 1.2],
        0.310395164,
    ),
    (
        [0.0, 0.0, 4.45, 1.89, -1.5],
        [-0.53, -1.33, 4.09, 1.57, 1.75],
        0.270379044,
    ),
    (
        [0.0, 0.0, 1.34, 1.82, 2.57],
        [1.13, 1.0, 2.91, 0.86, 1.82],
        0.009098124,
    ),
];

#[test]
fn overlaps_are_those_of_an_independent_library() {
    let placed = |[x, y, l, w, yaw]: [f32; 5]| Box3d {
        x,
        y,
        z: 0.0,
        l,
        w,
        h: 1.0,
        yaw,
    };
    for (a, b, wanted) in BY_SHAPELY {
        let overlap = above(&placed(a), &placed(b));
        assert!(
            (overlap - wanted).abs() < 1e-6,
            "{a:?} {b:?}: {overlap}, and shapely has {wanted}"
        );
    }
}
