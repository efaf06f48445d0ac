//! How much two boxes overlap: in the image, seen from above, in space.
//!
//! Rotated rectangles are exact ([`Footprint`]). All of it in double precision.

use jetlag_record::detection::{Box2d, Box3d};
pub use jetlag_record::footprint::Footprint;

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
    Footprint::of(a).iou(&Footprint::of(b))
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
        let [z, h] = [b.z, b.h].map(f64::from);
        Solid {
            footprint: Footprint::of(b),
            extent: [z - h / 2.0, z + h / 2.0],
        }
    }

    /// Its volume; 0 for one that is inside out.
    pub fn volume(&self) -> f64 {
        self.footprint.area() * (self.extent[1] - self.extent[0]).max(0.0)
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
