//! How much two upright boxes overlap when seen from above: exact, by clipping one rectangle with the other. In double precision.

use crate::detection::Box3d;

/// A box seen from above, ready to be compared with many others.
#[derive(Clone, Copy, Debug)]
pub struct Footprint {
    /// Counter-clockwise, relative to the centre.
    corners: [[f64; 2]; 4],
    centre: [f64; 2],
    radius: f64,
    area: f64,
}

impl Footprint {
    /// The footprint of a box in the LiDAR frame.
    pub fn of(b: &Box3d) -> Self {
        let [x, y, l, w, yaw] = [b.x, b.y, b.l, b.w, b.yaw].map(f64::from);
        Footprint::new([x, y], l, w, yaw)
    }

    /// A rectangle around `centre`, `length` along the heading and `width` across, turned by `yaw` from the first axis towards
    /// the second. One with a side that is not above zero, or anything that is not finite, overlaps nothing.
    pub fn new(centre: [f64; 2], length: f64, width: f64, yaw: f64) -> Self {
        let (sin, cos) = yaw.sin_cos();
        let corner = |along: f64, across: f64| {
            let (a, c) = (along * length / 2.0, across * width / 2.0);
            [a * cos - c * sin, a * sin + c * cos]
        };
        let finite = [centre[0], centre[1], length, width, yaw]
            .iter()
            .all(|v| v.is_finite());
        let proper = finite && length > 0.0 && width > 0.0;
        Footprint {
            corners: [
                corner(1.0, -1.0),
                corner(1.0, 1.0),
                corner(-1.0, 1.0),
                corner(-1.0, -1.0),
            ],
            centre,
            radius: length.hypot(width) / 2.0,
            area: if proper { length * width } else { 0.0 },
        }
    }

    /// Area in square metres.
    pub fn area(&self) -> f64 {
        self.area
    }

    /// Area that both cover, in square metres.
    pub fn shared(&self, other: &Footprint) -> f64 {
        if self.area == 0.0 || other.area == 0.0 {
            return 0.0;
        }
        let offset = [other.centre[0] - self.centre[0], other.centre[1] - self.centre[1]];
        // Squares, since most pairs of a frame end here and `hypot` costs more than all else of it.
        let reach = self.radius + other.radius;
        if offset[0] * offset[0] + offset[1] * offset[1] >= reach * reach {
            return 0.0;
        }
        let mut polygon = Polygon::default();
        for corner in other.corners {
            polygon.push([corner[0] + offset[0], corner[1] + offset[1]]);
        }
        let [a, b, c, d] = self.corners;
        for (from, to) in [(a, b), (b, c), (c, d), (d, a)] {
            polygon = polygon.clipped(from, to);
        }
        polygon.area().min(self.area).min(other.area)
    }

    /// Intersection over union, in 0..=1; 0 where either has no area.
    pub fn iou(&self, other: &Footprint) -> f64 {
        let both = self.shared(other);
        if both == 0.0 {
            return 0.0;
        }
        (both / (self.area + other.area - both)).clamp(0.0, 1.0)
    }
}

/// Intersection over union of two boxes seen from above.
pub fn bev_iou(a: &Box3d, b: &Box3d) -> f64 {
    Footprint::of(a).iou(&Footprint::of(b))
}

/// A convex polygon of at most eight corners: each of four cuts adds at most one.
#[derive(Clone, Copy, Default)]
struct Polygon {
    corners: [[f64; 2]; 8],
    len: usize,
}

impl Polygon {
    fn push(&mut self, corner: [f64; 2]) {
        // Rounding can make a corner cross a cut twice; what does not fit has no area worth counting.
        if let Some(place) = self.corners.get_mut(self.len) {
            *place = corner;
            self.len += 1;
        }
    }

    /// The part to the left of the line from `from` to `to` (Sutherland and Hodgman, 1974). A crossing is
    /// taken only between corners of different sides, so that it always lies between them: nearly parallel
    /// and coinciding edges need no special case.
    fn clipped(&self, from: [f64; 2], to: [f64; 2]) -> Polygon {
        let side = |p: [f64; 2]| (to[0] - from[0]) * (p[1] - from[1]) - (to[1] - from[1]) * (p[0] - from[0]);
        let mut kept = Polygon::default();
        for k in 0..self.len {
            let (a, b) = (self.corners[k], self.corners[(k + 1) % self.len]);
            let (at_a, at_b) = (side(a), side(b));
            if at_a >= 0.0 {
                kept.push(a);
            }
            if (at_a >= 0.0) != (at_b >= 0.0) {
                let t = at_a / (at_a - at_b);
                kept.push([a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1])]);
            }
        }
        kept
    }

    fn area(&self) -> f64 {
        let twice: f64 = (0..self.len)
            .map(|k| {
                let (a, b) = (self.corners[k], self.corners[(k + 1) % self.len]);
                a[0] * b[1] - a[1] * b[0]
            })
            .sum();
        (twice / 2.0).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use std::f32::consts::{FRAC_PI_2, PI};

    use proptest::prelude::*;

    use super::*;

    fn placed() -> impl Strategy<Value = Box3d> {
        (-5.0f32..5.0, -5.0f32..5.0, 0.2f32..6.0, 0.2f32..6.0, -PI..PI).prop_map(|(x, y, l, w, yaw)| Box3d {
            x,
            y,
            z: 0.0,
            l,
            w,
            h: 1.0,
            yaw,
        })
    }

    fn axis_aligned_iou(a: &Box3d, b: &Box3d, quarter_turned: bool) -> f64 {
        let half = |b: &Box3d| {
            let (l, w) = (f64::from(b.l) / 2.0, f64::from(b.w) / 2.0);
            if quarter_turned { (w, l) } else { (l, w) }
        };
        let span = |ca: f32, ha: f64, cb: f32, hb: f64| {
            let (ca, cb) = (f64::from(ca), f64::from(cb));
            ((ca + ha).min(cb + hb) - (ca - ha).max(cb - hb)).max(0.0)
        };
        let (ha, hb) = (half(a), half(b));
        let both = span(a.x, ha.0, b.x, hb.0) * span(a.y, ha.1, b.y, hb.1);
        both / (f64::from(a.l * a.w) + f64::from(b.l * b.w) - both)
    }

    proptest! {
        #[test]
        fn overlap_is_symmetric_and_within_0_and_1(a in placed(), b in placed()) {
            let (ab, ba) = (bev_iou(&a, &b), bev_iou(&b, &a));
            prop_assert!((ab - ba).abs() < 1e-9);
            prop_assert!((0.0..=1.0).contains(&ab));
        }

        #[test]
        fn a_box_overlaps_itself_wholly_also_when_turned_around(a in placed()) {
            prop_assert!((bev_iou(&a, &a) - 1.0).abs() < 1e-9);
            let around = Box3d { yaw: a.yaw + PI, ..a };
            prop_assert!((bev_iou(&a, &around) - 1.0).abs() < 1e-5);
            let swapped = Box3d { l: a.w, w: a.l, yaw: a.yaw + FRAC_PI_2, ..a };
            prop_assert!((bev_iou(&a, &swapped) - 1.0).abs() < 1e-5);
        }

        #[test]
        fn without_rotation_the_plain_formula_holds(a in placed(), b in placed()) {
            for (yaw, turned) in [(0.0, false), (FRAC_PI_2, true)] {
                let (a, b) = (Box3d { yaw, ..a }, Box3d { yaw, ..b });
                prop_assert!((bev_iou(&a, &b) - axis_aligned_iou(&a, &b, turned)).abs() < 1e-5);
            }
        }

        #[test]
        fn moving_and_turning_both_changes_nothing(
            a in placed(), b in placed(), by in -PI..PI, dx in -20.0f32..20.0, dy in -20.0f32..20.0,
        ) {
            let moved = |b: &Box3d| {
                let (sin, cos) = by.sin_cos();
                Box3d { x: b.x * cos - b.y * sin + dx, y: b.x * sin + b.y * cos + dy, yaw: b.yaw + by, ..*b }
            };
            prop_assert!((bev_iou(&moved(&a), &moved(&b)) - bev_iou(&a, &b)).abs() < 1e-4);
        }

        #[test]
        fn a_box_within_another_overlaps_by_the_ratio_of_areas(a in placed(), share in 0.05f32..0.99) {
            let inner = Box3d { l: a.l * share, w: a.w * share, ..a };
            prop_assert!((bev_iou(&a, &inner) - f64::from(share * share)).abs() < 1e-5);
        }
    }

    #[test]
    fn boxes_without_area_or_with_nan_overlap_nothing() {
        let good = Box3d {
            l: 2.0,
            w: 1.0,
            ..Box3d::default()
        };
        for bad in [
            Box3d { l: 0.0, ..good },
            Box3d { w: -1.0, ..good },
            Box3d { x: f32::NAN, ..good },
            Box3d {
                l: f32::INFINITY,
                ..good
            },
            Box3d {
                yaw: f32::NAN,
                ..good
            },
        ] {
            assert_eq!(bev_iou(&good, &bad), 0.0);
            assert_eq!(bev_iou(&bad, &bad), 0.0);
        }
    }

    /// Two boxes as x, y, l, w, yaw, and their overlap by shapely 2 (scripts/overlap_table.py).
    const BY_SHAPELY: [([f32; 5], [f32; 5], f64); 16] = [
        (
            [0.0, 0.0, 2.3, 0.8, 0.95],
            [-1.71, 0.14, 2.46, 0.62, 0.05],
            0.002148196,
        ),
        (
            [0.0, 0.0, 3.51, 2.4, 0.48],
            [-0.41, 1.91, 1.19, 2.22, -1.32],
            0.004501966,
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
            [0.0, 0.0, 3.92, 1.08, 3.02],
            [-1.53, -0.33, 4.03, 0.8, -0.07],
            0.184317801,
        ),
        (
            [0.0, 0.0, 1.16, 1.84, 1.66],
            [0.29, 1.5, 2.25, 1.89, 0.59],
            0.044916502,
        ),
        (
            [0.0, 0.0, 3.32, 1.41, 2.14],
            [1.78, -0.1, 3.66, 0.62, 1.27],
            0.013644522,
        ),
        (
            [0.0, 0.0, 3.59, 2.49, 2.02],
            [-0.86, -0.46, 3.67, 0.55, -0.24],
            0.123219439,
        ),
        (
            [0.0, 0.0, 2.44, 2.27, 2.88],
            [-1.4, -1.3, 1.93, 0.97, -0.09],
            0.010347900,
        ),
        (
            [0.0, 0.0, 3.36, 1.03, -3.12],
            [-0.32, -0.52, 3.27, 2.41, 1.2],
            0.310395164,
        ),
        (
            [0.0, 0.0, 3.06, 1.74, 1.11],
            [-1.78, 1.6, 4.12, 2.25, 1.87],
            0.045783638,
        ),
        (
            [0.0, 0.0, 3.46, 0.8, -1.56],
            [-0.61, -0.54, 1.49, 2.2, 3.1],
            0.238325460,
        ),
        (
            [0.0, 0.0, 2.86, 1.47, -2.6],
            [-1.59, -0.63, 2.06, 2.16, -2.13],
            0.160416410,
        ),
        (
            [0.0, 0.0, 4.45, 1.89, -1.5],
            [-0.53, -1.33, 4.09, 1.57, 1.75],
            0.270379044,
        ),
        (
            [0.0, 0.0, 2.32, 0.95, 1.96],
            [1.94, 1.41, 4.22, 2.14, 1.51],
            0.000078712,
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
            let iou = bev_iou(&placed(a), &placed(b));
            assert!(
                (iou - wanted).abs() < 1e-6,
                "{a:?} {b:?}: {iou}, and shapely has {wanted}"
            );
        }
    }

    #[test]
    fn boxes_that_only_touch_overlap_by_nothing() {
        let a = Box3d {
            l: 2.0,
            w: 2.0,
            ..Box3d::default()
        };
        let edge = Box3d { x: 2.0, ..a };
        let corner = Box3d { x: 2.0, y: 2.0, ..a };
        assert!(bev_iou(&a, &edge) < 1e-12);
        assert!(bev_iou(&a, &corner) < 1e-12);
    }

    #[test]
    fn a_box_with_a_side_below_nothing_has_no_area_and_overlaps_nothing() {
        let boxed = |l: f32, w: f32| {
            Footprint::of(&Box3d {
                l,
                w,
                h: 1.0,
                ..Box3d::default()
            })
        };
        let proper = boxed(4.0, 2.0);
        for (l, w) in [
            (-4.0, 2.0),
            (4.0, -2.0),
            (-4.0, -2.0),
            (0.0, 2.0),
            (4.0, 0.0),
            (f32::NAN, 2.0),
        ] {
            let other = boxed(l, w);
            assert_eq!(other.area(), 0.0, "{l} × {w}");
            assert_eq!(
                (proper.shared(&other), other.shared(&proper)),
                (0.0, 0.0),
                "{l} × {w}"
            );
        }
    }
}
