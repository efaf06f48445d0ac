//! Overlaps against plain formulas; of rotated rectangles against an independent library where they are (`jetlag_record::footprint`).

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
