//! Turns and places: unit quaternions, rigid transforms, 4×4 matrices. Double precision, for global coordinates are kilometres.

/// Rows of a matrix that maps points with a 1 appended.
pub type Matrix = [[f64; 4]; 4];

/// A turn as a unit quaternion, `w` first as nuScenes writes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rotation([f64; 4]);

/// Where one frame of reference lies in another: maps its points into the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pose {
    /// The origin, metres.
    pub translation: [f64; 3],
    /// The axes.
    pub rotation: Rotation,
}

impl Rotation {
    /// No turn.
    pub const NONE: Rotation = Rotation([1.0, 0.0, 0.0, 0.0]);

    /// Of `w, x, y, z`, which are scaled to unit length; `None` where they have none, or are not finite.
    pub fn from_quaternion(wxyz: [f64; 4]) -> Option<Self> {
        // Scaled first, so that squares neither overflow nor vanish.
        let largest = wxyz.iter().fold(0.0_f64, |most, v| most.max(v.abs()));
        if !(wxyz.iter().all(|v| v.is_finite()) && largest > 1e-9) {
            return None;
        }
        let scaled = wxyz.map(|v| v / largest);
        let length = scaled.iter().map(|v| v * v).sum::<f64>().sqrt();
        Some(Rotation(scaled.map(|v| v / length)))
    }

    /// Of the rows of a rotation matrix; `None` where it is none (to 1 %): rows of other lengths, not at right angles, or a
    /// mirror.
    pub fn from_matrix(m: [[f64; 3]; 3]) -> Option<Self> {
        let dot = |a: [f64; 3], b: [f64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
        let upright = (0..3).all(|i| {
            (0..=i).all(|j| (dot(m[i], m[j]) - f64::from(u8::from(i == j))).abs() < 0.02) // NaN is not below.
        });
        let cross = [
            m[0][1] * m[1][2] - m[0][2] * m[1][1],
            m[0][2] * m[1][0] - m[0][0] * m[1][2],
            m[0][0] * m[1][1] - m[0][1] * m[1][0],
        ];
        if !(upright && dot(cross, m[2]) > 0.0) {
            return None;
        }
        // Shepperd's method: divide by the largest of the four, which is at least 1/2.
        let diagonal = [m[0][0], m[1][1], m[2][2]];
        let trace = diagonal[0] + diagonal[1] + diagonal[2];
        let largest = if diagonal[0] >= diagonal[1] { 0 } else { 1 };
        let i = if diagonal[largest] >= diagonal[2] {
            largest
        } else {
            2
        };
        if trace >= diagonal[i] {
            let w = 1.0 + trace;
            return Self::from_quaternion([w, m[2][1] - m[1][2], m[0][2] - m[2][0], m[1][0] - m[0][1]]);
        }
        let (j, k) = ((i + 1) % 3, (i + 2) % 3);
        let mut q = [m[k][j] - m[j][k], 0.0, 0.0, 0.0];
        q[i + 1] = 1.0 + diagonal[i] - diagonal[j] - diagonal[k];
        q[j + 1] = m[j][i] + m[i][j];
        q[k + 1] = m[k][i] + m[i][k];
        Self::from_quaternion(q)
    }

    /// `w, x, y, z`, of unit length.
    pub fn quaternion(self) -> [f64; 4] {
        self.0
    }

    /// The rows of the matrix of this turn.
    pub fn matrix(self) -> [[f64; 3]; 3] {
        let [w, x, y, z] = self.0;
        [
            [
                1.0 - 2.0 * (y * y + z * z),
                2.0 * (x * y - w * z),
                2.0 * (x * z + w * y),
            ],
            [
                2.0 * (x * y + w * z),
                1.0 - 2.0 * (x * x + z * z),
                2.0 * (y * z - w * x),
            ],
            [
                2.0 * (x * z - w * y),
                2.0 * (y * z + w * x),
                1.0 - 2.0 * (x * x + y * y),
            ],
        ]
    }

    /// The turn back.
    pub fn inverse(self) -> Self {
        let [w, x, y, z] = self.0;
        Rotation([w, -x, -y, -z])
    }

    /// First `before`, then this turn.
    pub fn after(self, before: Rotation) -> Self {
        let ([aw, ax, ay, az], [bw, bx, by, bz]) = (self.0, before.0);
        let product = [
            aw * bw - ax * bx - ay * by - az * bz,
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
        ];
        Self::from_quaternion(product).unwrap_or(Self::NONE) // Two of unit length make a third.
    }

    /// A vector, turned.
    pub fn turn(self, v: [f64; 3]) -> [f64; 3] {
        self.matrix().map(|r| r[0] * v[0] + r[1] * v[1] + r[2] * v[2])
    }

    /// The turn a share of the way (0..=1) from this one to `to`, along the shorter arc.
    pub fn towards(self, to: Rotation, share: f64) -> Self {
        let mut end = to.0;
        let mut cosine: f64 = self.0.iter().zip(end).map(|(a, b)| a * b).sum();
        if cosine < 0.0 {
            end = end.map(|v| -v);
            cosine = -cosine;
        }
        let angle = cosine.min(1.0).acos();
        let (from, onto) = if angle < 1e-6 {
            (1.0 - share, share) // The arc is straight, and the sine would divide by nothing.
        } else {
            let sine = angle.sin();
            (((1.0 - share) * angle).sin() / sine, (share * angle).sin() / sine)
        };
        let mixed = std::array::from_fn(|i| from * self.0[i] + onto * end[i]);
        Self::from_quaternion(mixed).unwrap_or(self)
    }

    /// The angle from x towards y of the turned x axis, radians, in [−π, π).
    pub fn yaw(self) -> f64 {
        let [x, y, _] = self.turn([1.0, 0.0, 0.0]);
        let yaw = y.atan2(x);
        if yaw >= std::f64::consts::PI {
            -std::f64::consts::PI
        } else {
            yaw
        }
    }
}

impl Pose {
    /// The same place.
    pub const NONE: Pose = Pose {
        translation: [0.0; 3],
        rotation: Rotation::NONE,
    };

    /// A shift without a turn.
    pub fn shift(by: [f64; 3]) -> Self {
        Pose {
            translation: by,
            rotation: Rotation::NONE,
        }
    }

    /// Of a 4×4 matrix; `None` where its turn is none (see [`Rotation::from_matrix`]) or its shift is not finite.
    pub fn from_matrix(matrix: &Matrix) -> Option<Self> {
        let [x, y, z, _] = *matrix;
        let translation = [x[3], y[3], z[3]];
        let rotation = Rotation::from_matrix([x, y, z].map(|row| [row[0], row[1], row[2]]))?;
        translation.iter().all(|v| v.is_finite()).then_some(Pose {
            translation,
            rotation,
        })
    }

    /// A point of this frame, in the other.
    pub fn apply(&self, point: [f64; 3]) -> [f64; 3] {
        let turned = self.rotation.turn(point);
        std::array::from_fn(|i| turned[i] + self.translation[i])
    }

    /// From the other frame into this one.
    pub fn inverse(&self) -> Pose {
        let rotation = self.rotation.inverse();
        Pose {
            translation: rotation.turn(self.translation).map(|v| -v),
            rotation,
        }
    }

    /// First `before`, then this.
    pub fn after(&self, before: &Pose) -> Pose {
        Pose {
            translation: self.apply(before.translation),
            rotation: self.rotation.after(before.rotation),
        }
    }

    /// The place a share of the way (0..=1) from this one to `to`.
    pub fn towards(&self, to: &Pose, share: f64) -> Pose {
        let (from, onto) = (self.translation, to.translation);
        Pose {
            translation: std::array::from_fn(|i| from[i] + (onto[i] - from[i]) * share),
            rotation: self.rotation.towards(to.rotation, share),
        }
    }

    /// As rows of a 4×4 matrix.
    pub fn matrix(&self) -> Matrix {
        let (m, t) = (self.rotation.matrix(), self.translation);
        [
            [m[0][0], m[0][1], m[0][2], t[0]],
            [m[1][0], m[1][1], m[1][2], t[1]],
            [m[2][0], m[2][1], m[2][2], t[2]],
            [0.0, 0.0, 0.0, 1.0],
        ]
    }
}

/// The matrix that does first `b`, then `a`.
pub fn product(a: &Matrix, b: &Matrix) -> Matrix {
    std::array::from_fn(|i| std::array::from_fn(|j| (0..4).map(|k| a[i][k] * b[k][j]).sum()))
}

/// The matrix of no change.
pub const IDENTITY: Matrix = [
    [1.0, 0.0, 0.0, 0.0],
    [0.0, 1.0, 0.0, 0.0],
    [0.0, 0.0, 1.0, 0.0],
    [0.0, 0.0, 0.0, 1.0],
];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn near(a: [f64; 3], b: [f64; 3], within: f64) -> bool {
        a.iter().zip(b).all(|(a, b)| (a - b).abs() <= within)
    }

    fn rotations() -> impl Strategy<Value = Rotation> {
        proptest::array::uniform4(-1.0..1.0_f64).prop_filter_map("no length", |q| {
            Rotation::from_quaternion(q).filter(|_| q.iter().any(|v| v.abs() > 0.1))
        })
    }

    fn poses() -> impl Strategy<Value = Pose> {
        (proptest::array::uniform3(-2000.0..2000.0_f64), rotations()).prop_map(|(translation, rotation)| {
            Pose {
                translation,
                rotation,
            }
        })
    }

    proptest! {
        #[test]
        fn a_turn_and_its_matrix_are_the_same(turn in rotations(), v in proptest::array::uniform3(-9.0..9.0_f64)) {
            let again = Rotation::from_matrix(turn.matrix()).unwrap();
            prop_assert!(near(turn.turn(v), again.turn(v), 1e-9));
            prop_assert!(near(turn.inverse().turn(turn.turn(v)), v, 1e-9));
        }

        #[test]
        fn poses_compose_as_matrices_do(a in poses(), b in poses(), v in proptest::array::uniform3(-99.0..99.0_f64)) {
            let both = a.after(&b);
            prop_assert!(near(both.apply(v), a.apply(b.apply(v)), 1e-6));
            let m = product(&a.matrix(), &b.matrix());
            let moved = [0, 1, 2].map(|i| m[i][0] * v[0] + m[i][1] * v[1] + m[i][2] * v[2] + m[i][3]);
            prop_assert!(near(both.apply(v), moved, 1e-6));
            prop_assert!(near(a.inverse().apply(a.apply(v)), v, 1e-6));
        }

        #[test]
        fn half_way_twice_is_the_whole_way(a in rotations(), b in rotations()) {
            let half = a.towards(b, 0.5);
            let v = [1.0, 2.0, 3.0];
            prop_assert!(near(a.towards(b, 1.0).turn(v), b.turn(v), 1e-6));
            prop_assert!(near(a.towards(b, 0.0).turn(v), a.turn(v), 1e-6));
            let step = half.after(a.inverse());
            prop_assert!(near(step.after(half).turn(v), b.turn(v), 1e-5));
        }

        #[test]
        fn no_numbers_make_it_panic(q in proptest::array::uniform4(any::<f64>()), m in proptest::array::uniform9(any::<f64>())) {
            if let Some(turn) = Rotation::from_quaternion(q) {
                prop_assert!(turn.matrix().as_flattened().iter().all(|v| v.is_finite()));
            }
            let _ = Rotation::from_matrix([[m[0], m[1], m[2]], [m[3], m[4], m[5]], [m[6], m[7], m[8]]]);
        }
    }

    #[test]
    fn what_is_no_turn_is_refused() {
        assert_eq!(Rotation::from_quaternion([0.0; 4]), None);
        assert_eq!(Rotation::from_quaternion([f64::NAN, 1.0, 0.0, 0.0]), None);
        let mirror = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, -1.0]];
        assert_eq!(Rotation::from_matrix(mirror), None);
        assert_eq!(
            Rotation::from_matrix([[2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 2.0]]),
            None
        );
    }

    #[test]
    fn yaw_is_the_heading_from_x_to_y() {
        let quarter = Rotation::from_quaternion([0.5_f64.sqrt(), 0.0, 0.0, 0.5_f64.sqrt()]).unwrap();
        assert!((quarter.yaw() - std::f64::consts::FRAC_PI_2).abs() < 1e-12);
        assert_eq!(Rotation::NONE.yaw(), 0.0);
    }
}
