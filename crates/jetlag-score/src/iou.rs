//! How much two boxes overlap: in the image, seen from above, in space.
//!
//! Rotated rectangles are exact: one is clipped with the other. All of it in double precision.

use jetlag_record::detection::{Box2d, Box3d};

/// A rectangle of the image: left, top, right, bottom, in pixels.
pub type Corners = [f64; 4];

/// The corners of a box in the image.
pub fn corners(b: &Box2d) -> Corners {
    [b.x1, b.y1, b.x2, b.y2].map(f64::from)
}

/// The area of a rectangle; 0 for one that is inside out.
pub fn area([x1, y1, x2, y2]: Corners) -> f64 {
    (x2 - x1).max(0.0) * (y2 - y1).max(0.0)
}

/// The area that two rectangles of the image share.
pub fn shared(a: Corners, b: Corners) -> f64 {
    // Also what is not a number: the smaller of a number and none is the number.
    if area(a) == 0.0 || area(b) == 0.0 {
        return 0.0;
    }
    let width = a[2].min(b[2]) - a[0].max(b[0]);
    let height = a[3].min(b[3]) - a[1].max(b[1]);
    if width > 0.0 && height > 0.0 {
        width * height
    } else {
        0.0
    }
}

/// Intersection over union of two rectangles of the image, 0 to 1.
pub fn image(a: Corners, b: Corners) -> f64 {
    over_union(shared(a, b), area(a), area(b))
}

/// Intersection over union of two boxes seen from above, 0 to 1.
pub fn above(a: &Box3d, b: &Box3d) -> f64 {
    Solid::of(a).footprint.iou(&Solid::of(b).footprint)
}

/// Intersection over union of two upright boxes in space, 0 to 1.
pub fn space(a: &Box3d, b: &Box3d) -> f64 {
    Solid::of(a).iou(&Solid::of(b))
}

fn over_union(both: f64, a: f64, b: f64) -> f64 {
    // Also what is not a number.
    if both.is_nan() || both <= 0.0 {
        return 0.0;
    }
    let share = both / (a + b - both);
    // Of infinite areas there is no share.
    if share.is_nan() {
        0.0
    } else {
        share.clamp(0.0, 1.0)
    }
}

/// A rotated rectangle of the ground, ready to be compared with many others.
#[derive(Clone, Copy, Debug)]
pub struct Footprint {
    /// Counter-clockwise, relative to the centre.
    corners: [[f64; 2]; 4],
    centre: [f64; 2],
    radius: f64,
    area: f64,
}

impl Footprint {
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

    /// Its area.
    pub fn area(&self) -> f64 {
        self.area
    }

    /// The area that both cover.
    pub fn shared(&self, other: &Footprint) -> f64 {
        if self.area == 0.0 || other.area == 0.0 {
            return 0.0;
        }
        let offset = [other.centre[0] - self.centre[0], other.centre[1] - self.centre[1]];
        if offset[0].hypot(offset[1]) >= self.radius + other.radius {
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

    /// Intersection over union, 0 to 1; 0 where either has no area.
    pub fn iou(&self, other: &Footprint) -> f64 {
        over_union(self.shared(other), self.area, other.area)
    }
}

/// An upright box in space, ready to be compared with many others.
#[derive(Clone, Copy, Debug)]
pub struct Solid {
    /// Seen along the upright axis.
    pub footprint: Footprint,
    /// Where it begins and ends on the upright axis, the smaller one first.
    pub extent: [f64; 2],
}

impl Solid {
    /// Of a box in the LiDAR frame.
    pub fn of(b: &Box3d) -> Self {
        let [x, y, z, l, w, h, yaw] = [b.x, b.y, b.z, b.l, b.w, b.h, b.yaw].map(f64::from);
        Solid {
            footprint: Footprint::new([x, y], l, w, yaw),
            extent: [z - h / 2.0, z + h / 2.0],
        }
    }

    /// Its volume; 0 for one that is inside out.
    pub fn volume(&self) -> f64 {
        self.footprint.area * (self.extent[1] - self.extent[0]).max(0.0)
    }

    /// The volume that both cover.
    pub fn shared(&self, other: &Solid) -> f64 {
        if self.volume() == 0.0 || other.volume() == 0.0 {
            return 0.0;
        }
        let height = self.extent[1].min(other.extent[1]) - self.extent[0].max(other.extent[0]);
        if height > 0.0 {
            self.footprint.shared(&other.footprint) * height
        } else {
            0.0
        }
    }

    /// Intersection over union, 0 to 1; 0 where either has no volume.
    pub fn iou(&self, other: &Solid) -> f64 {
        over_union(self.shared(other), self.volume(), other.volume())
    }
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

    /// Each corner and the one after it, all around.
    fn edges(&self) -> impl Iterator<Item = ([f64; 2], [f64; 2])> + '_ {
        let corners = self.corners.get(..self.len).unwrap_or_default();
        corners
            .iter()
            .copied()
            .zip(corners.iter().copied().cycle().skip(1))
    }

    /// The part to the left of the line from `from` to `to` (Sutherland and Hodgman, 1974). A crossing is taken only between
    /// corners of different sides, so that it always lies between them: nearly parallel and coinciding edges need no special
    /// case.
    fn clipped(&self, from: [f64; 2], to: [f64; 2]) -> Polygon {
        let side = |p: [f64; 2]| (to[0] - from[0]) * (p[1] - from[1]) - (to[1] - from[1]) * (p[0] - from[0]);
        let mut kept = Polygon::default();
        for (a, b) in self.edges() {
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
        let twice: f64 = self.edges().map(|(a, b)| a[0] * b[1] - a[1] * b[0]).sum();
        (twice / 2.0).max(0.0)
    }
}
