//! The solids that everything in a scene is made of, and where a ray meets them.
//!
//! Both sensors cast their rays against the same solids, so what the camera shows and what the LiDAR
//! measures agree exactly. What a solid belongs to and how things are built of them is `models`' affair.

use super::vector::{Pose, Vec3, add, dot, scale, sub, unit};

/// Red, green and blue in 0..=1, before lighting.
pub(super) type Colour = [f32; 3];

/// How a surface varies over its extent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Texture {
    /// The same colour everywhere.
    Plain,
    /// Rows of dark windows.
    Windows,
    /// Speckled, as leaves are.
    Leaves,
}

/// The outline of a solid.
#[derive(Clone, Debug)]
enum Form {
    /// The space behind every plane `normal · p ≤ offset`.
    Convex(Vec<(Vec3, f32)>),
    /// An upright cylinder standing on `base`.
    Column { base: Vec3, radius: f32, height: f32 },
    /// A sphere around `centre`.
    Ball { centre: Vec3, radius: f32 },
    /// A flat ring in the plane through `centre` with this normal: a wheel.
    Ring {
        centre: Vec3,
        normal: Vec3,
        inner: f32,
        outer: f32,
    },
}

/// Where a ray meets a solid.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hit {
    /// Distance in lengths of the ray's direction.
    pub(super) t: f32,
    /// Normal of the surface there, pointing outwards.
    pub(super) normal: Vec3,
    /// Which plane of a convex solid was met; 0 for the others.
    pub(super) face: usize,
}

/// One solid with its surface.
#[derive(Clone, Debug)]
pub(super) struct Solid {
    form: Form,
    /// Corners of a box around it.
    pub(super) corners: [Vec3; 8],
    /// Colour of all faces but those named in `trim`.
    pub(super) colour: Colour,
    /// Colour of single faces of a convex solid.
    pub(super) trim: Vec<(usize, Colour)>,
    pub(super) texture: Texture,
    /// LiDAR return at normal incidence, 0..=1.
    pub(super) reflectivity: f32,
}

const NEAR: f32 = 1e-3;

impl Solid {
    fn new(form: Form, corners: [Vec3; 8], colour: Colour, reflectivity: f32) -> Self {
        Solid {
            form,
            corners,
            colour,
            trim: Vec::new(),
            texture: Texture::Plain,
            reflectivity,
        }
    }

    pub(super) fn textured(mut self, texture: Texture) -> Self {
        self.texture = texture;
        self
    }

    pub(super) fn trimmed(mut self, faces: &[usize], colour: Colour) -> Self {
        self.trim.extend(faces.iter().map(|f| (*f, colour)));
        self
    }

    /// A box about `centre` (in the pose's own axes) with these half extents, pitched nose-down about
    /// its own y axis. Faces: front, back, left, right, top, bottom.
    pub(super) fn cuboid(
        pose: &Pose,
        centre: Vec3,
        half: Vec3,
        pitch: f32,
        colour: Colour,
        reflectivity: f32,
    ) -> Self {
        let (c, s) = (libm::cosf(pitch), libm::sinf(pitch));
        let axes = [[c, 0.0, -s], [0.0, 1.0, 0.0], [s, 0.0, c]].map(|a| pose.turn(a));
        let middle = pose.place(centre);
        let mut planes = Vec::with_capacity(6);
        for (axis, extent) in axes.into_iter().zip(half) {
            planes.push((axis, dot(axis, middle) + extent));
            planes.push((scale(axis, -1.0), extent - dot(axis, middle)));
        }
        let corners = std::array::from_fn(|i| {
            axes.iter()
                .zip(half)
                .enumerate()
                .fold(middle, |p, (bit, (axis, extent))| {
                    add(p, scale(*axis, if i >> bit & 1 == 0 { -extent } else { extent }))
                })
        });
        Solid::new(Form::Convex(planes), corners, colour, reflectivity)
    }

    /// A box that narrows towards its top, in the pose's own axes: `bottom` and `top` are
    /// `[x back, x front, half width]` at the heights `z`. Faces: front, back, left, right, top, bottom.
    pub(super) fn frustum(
        pose: &Pose,
        bottom: [f32; 3],
        top: [f32; 3],
        z: [f32; 2],
        colour: Colour,
        reflectivity: f32,
    ) -> Self {
        let rise = z[1] - z[0];
        let plane = |normal: Vec3, through: Vec3| {
            let n = unit(pose.turn(normal));
            (n, dot(n, pose.place(through)))
        };
        let planes = vec![
            plane([rise, 0.0, bottom[1] - top[1]], [bottom[1], 0.0, z[0]]),
            plane([-rise, 0.0, top[0] - bottom[0]], [bottom[0], 0.0, z[0]]),
            plane([0.0, rise, bottom[2] - top[2]], [0.0, bottom[2], z[0]]),
            plane([0.0, -rise, bottom[2] - top[2]], [0.0, -bottom[2], z[0]]),
            plane([0.0, 0.0, 1.0], [0.0, 0.0, z[1]]),
            plane([0.0, 0.0, -1.0], [0.0, 0.0, z[0]]),
        ];
        let corners = std::array::from_fn(|i| {
            let (end, height) = if i & 4 == 0 { (bottom, z[0]) } else { (top, z[1]) };
            let across = if i & 2 == 0 { -end[2] } else { end[2] };
            pose.place([end[i & 1], across, height])
        });
        Solid::new(Form::Convex(planes), corners, colour, reflectivity)
    }

    pub(super) fn column(
        pose: &Pose,
        base: Vec3,
        radius: f32,
        height: f32,
        colour: Colour,
        reflectivity: f32,
    ) -> Self {
        let base = pose.place(base);
        let corners = around(
            add(base, [0.0, 0.0, height / 2.0]),
            [radius, radius, height / 2.0],
        );
        let form = Form::Column { base, radius, height };
        Solid::new(form, corners, colour, reflectivity)
    }

    pub(super) fn ball(pose: &Pose, centre: Vec3, radius: f32, colour: Colour, reflectivity: f32) -> Self {
        let centre = pose.place(centre);
        let form = Form::Ball { centre, radius };
        Solid::new(form, around(centre, [radius; 3]), colour, reflectivity)
    }

    /// A ring whose plane holds the pose's x axis and the vertical.
    pub(super) fn ring(
        pose: &Pose,
        centre: Vec3,
        inner: f32,
        outer: f32,
        colour: Colour,
        reflectivity: f32,
    ) -> Self {
        let normal = pose.turn([0.0, 1.0, 0.0]);
        let along = pose.turn([outer, 0.0, 0.0]);
        let centre = pose.place(centre);
        let corners = std::array::from_fn(|i| {
            let p = add(centre, scale(along, if i & 1 == 0 { -1.0 } else { 1.0 }));
            add(p, [0.0, 0.0, if i & 2 == 0 { -outer } else { outer }])
        });
        let form = Form::Ring {
            centre,
            normal,
            inner,
            outer,
        };
        Solid::new(form, corners, colour, reflectivity)
    }

    /// The colour of the place that was hit, before lighting.
    pub(super) fn colour_at(&self, hit: &Hit, at: Vec3, key: u64) -> Colour {
        let base = self
            .trim
            .iter()
            .find(|(face, _)| *face == hit.face)
            .map_or(self.colour, |(_, colour)| *colour);
        match self.texture {
            Texture::Plain => base,
            Texture::Windows => {
                let along = (at[0] + at[1]) / 2.6;
                let up = at[2] / 3.0;
                let (a, u) = (along - along.floor(), up - up.floor());
                if hit.normal[2] < 0.5 && a > 0.35 && a < 0.75 && u > 0.3 && u < 0.8 {
                    [0.16, 0.19, 0.23]
                } else {
                    base
                }
            }
            Texture::Leaves => {
                let cell = at.map(|v| (v * 5.0).floor() as i64 as u64 & 0xffff);
                let speck = super::vector::hash01(key, cell[0] | cell[1] << 16 | cell[2] << 32);
                scale(base, 0.6 + 0.7 * speck)
            }
        }
    }

    /// The first place in front where the ray `from + t × along` meets the solid's outside.
    pub(super) fn cast(&self, from: Vec3, along: Vec3) -> Option<Hit> {
        match &self.form {
            Form::Convex(planes) => convex(planes, from, along),
            Form::Column { base, radius, height } => column(*base, *radius, *height, from, along),
            Form::Ball { centre, radius } => {
                let t = first_root(sub(from, *centre), along, *radius)?;
                let normal = scale(sub(add(from, scale(along, t)), *centre), 1.0 / radius);
                Some(Hit { t, normal, face: 0 })
            }
            Form::Ring {
                centre,
                normal,
                inner,
                outer,
            } => {
                let slope = dot(*normal, along);
                let t = dot(*normal, sub(*centre, from)) / slope;
                // A ring seen edge-on has an infinite or undefined distance, and no width to be seen.
                if !(t > NEAR && t < 1e4) {
                    return None;
                }
                let off = sub(add(from, scale(along, t)), *centre);
                let squared = dot(off, off);
                let facing = if slope > 0.0 { -1.0 } else { 1.0 };
                (squared >= inner * inner && squared <= outer * outer).then_some(Hit {
                    t,
                    normal: scale(*normal, facing),
                    face: 0,
                })
            }
        }
    }
}

fn around(centre: Vec3, half: Vec3) -> [Vec3; 8] {
    std::array::from_fn(|i| {
        std::array::from_fn(|k| {
            if i >> k & 1 == 0 {
                centre[k] - half[k]
            } else {
                centre[k] + half[k]
            }
        })
    })
}

fn convex(planes: &[(Vec3, f32)], from: Vec3, along: Vec3) -> Option<Hit> {
    let (mut enter, mut leave) = (NEAR, f32::MAX);
    let mut met = None;
    for (face, (normal, offset)) in planes.iter().enumerate() {
        let slope = dot(*normal, along);
        let gap = offset - dot(*normal, from);
        if slope.abs() < 1e-9 {
            if gap < 0.0 {
                return None;
            }
        } else if slope < 0.0 {
            let t = gap / slope;
            if t > enter {
                enter = t;
                met = Some(face);
            }
        } else {
            leave = leave.min(gap / slope);
        }
        if enter > leave {
            return None;
        }
    }
    met.map(|face| Hit {
        t: enter,
        normal: planes[face].0,
        face,
    })
}

fn column(base: Vec3, radius: f32, height: f32, from: Vec3, along: Vec3) -> Option<Hit> {
    let off = sub(from, base);
    let flat = |v: Vec3| [v[0], v[1], 0.0];
    let side = first_root(flat(off), flat(along), radius).and_then(|t| {
        let at = add(off, scale(along, t));
        (at[2] >= 0.0 && at[2] <= height).then(|| Hit {
            t,
            normal: scale(flat(at), 1.0 / radius),
            face: 0,
        })
    });
    side.or_else(|| {
        // From above, the lid.
        let t = (height - off[2]) / along[2];
        let at = add(off, scale(along, t));
        (t > NEAR && t < 1e4 && along[2] < 0.0 && at[0] * at[0] + at[1] * at[1] <= radius * radius).then_some(
            Hit {
                t,
                normal: [0.0, 0.0, 1.0],
                face: 0,
            },
        )
    })
}

/// The smaller `t` in front at which `off + t × along` is `radius` long.
fn first_root(off: Vec3, along: Vec3, radius: f32) -> Option<f32> {
    let a = dot(along, along);
    let b = dot(off, along);
    let c = dot(off, off) - radius * radius;
    let discriminant = b * b - a * c;
    if discriminant < 0.0 || a < 1e-12 {
        return None;
    }
    let t = (-b - discriminant.sqrt()) / a;
    (t > NEAR).then_some(t)
}
