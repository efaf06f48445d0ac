//! From a sensor's frame to the global one.

use jetlag_record::detection::Box3d;

/// Where a frame lies in another one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pose {
    /// Its turn: w, x, y, z of a unit quaternion.
    pub rotation: [f64; 4],
    /// Its origin, metres.
    pub translation: [f64; 3],
}

/// A box in another frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placed {
    /// Its centre, metres.
    pub centre: [f64; 3],
    /// Width, length, height, metres.
    pub size: [f64; 3],
    /// Its heading, radians from x to y.
    pub yaw: f64,
}

/// The heading of a quaternion w, x, y, z: where it turns the x axis to, seen from above.
pub fn yaw_of(rotation: [f64; 4]) -> f64 {
    let [x, y, _] = turn(rotation, [1.0, 0.0, 0.0]);
    y.atan2(x)
}

fn turn([w, x, y, z]: [f64; 4], v: [f64; 3]) -> [f64; 3] {
    let cross = |a: [f64; 3], b: [f64; 3]| {
        [
            a[1] * b[2] - a[2] * b[1],
            a[2] * b[0] - a[0] * b[2],
            a[0] * b[1] - a[1] * b[0],
        ]
    };
    let axis = [x, y, z];
    let once = cross(axis, v).map(|c| 2.0 * c);
    let twice = cross(axis, once);
    std::array::from_fn(|k| v[k] + w * once[k] + twice[k])
}

impl Pose {
    /// The pose of a frame within a frame whose own pose is this one: first the inner, then the outer.
    pub fn after(&self, inner: &Pose) -> Pose {
        let ([a, b, c, d], [e, f, g, h]) = (self.rotation, inner.rotation);
        Pose {
            rotation: [
                a * e - b * f - c * g - d * h,
                a * f + b * e + c * h - d * g,
                a * g - b * h + c * e + d * f,
                a * h + b * g - c * f + d * e,
            ],
            translation: self.point(inner.translation),
        }
    }

    /// A point of the inner frame, in the outer.
    pub fn point(&self, point: [f64; 3]) -> [f64; 3] {
        let turned = turn(self.rotation, point);
        std::array::from_fn(|k| turned[k] + self.translation[k])
    }

    /// A box of the inner frame, in the outer. It stays upright.
    pub fn place(&self, b: &Box3d) -> Placed {
        let (sin, cos) = f64::from(b.yaw).sin_cos();
        let [x, y, _] = turn(self.rotation, [cos, sin, 0.0]);
        Placed {
            centre: self.point([b.x, b.y, b.z].map(f64::from)),
            size: [b.w, b.l, b.h].map(f64::from),
            yaw: y.atan2(x),
        }
    }
}
