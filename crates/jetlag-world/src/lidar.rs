//! The LiDAR: 32 rings over the front half turn, one ray each step against the solids in its way.

use super::layout::{GROUND, Layout};
use super::vector::{Vec3, add, dot, hash_normal, hash01, scale};
use crate::calibration::holds;
use crate::{PointCloud, Sweep};
use jetlag_record::detection::Box3d;

/// Number of rings; ring 0 is the lowest.
pub const RINGS: usize = 32;
/// Steps over the front half turn, from the left to the right.
pub const STEPS: usize = 1000;
/// Farther returns are not reported, metres.
pub const RANGE: f32 = 60.0;
const LOWEST_DEG: f32 = -22.0;
const RING_DEG: f32 = 0.8;
const STEP_DEG: f32 = 180.0 / STEPS as f32;
/// Deviation of a measured range, metres.
const RANGE_NOISE: f32 = 0.02;

#[derive(Clone, Copy)]
struct Echo {
    range: f32,
    reflectivity: f32,
    /// Cosine between ray and surface normal.
    facing: f32,
}

/// One sweep, step by step from the left and from the lowest ring up, as a spinning sensor fires.
pub(super) fn sweep(layout: &Layout) -> Sweep {
    let deg = std::f32::consts::PI / 180.0;
    let rings: [Vec3; RINGS] = std::array::from_fn(|i| {
        let elevation = (LOWEST_DEG + RING_DEG * i as f32) * deg;
        let (s, c) = (libm::sinf(elevation), libm::cosf(elevation));
        [c, s, s / c]
    });
    let steps: Vec<[f32; 2]> = (0..STEPS)
        .map(|i| {
            let azimuth = (90.0 - STEP_DEG * (i as f32 + 0.5)) * deg;
            [libm::cosf(azimuth), libm::sinf(azimuth)]
        })
        .collect();
    let ray = |step: usize, ring: usize| -> Vec3 {
        let [across, up, _] = rings[ring];
        [steps[step][0] * across, steps[step][1] * across, up]
    };

    let mut echoes = vec![None::<Echo>; RINGS * STEPS];
    for step in 0..STEPS {
        for ring in 0..RINGS {
            let along = ray(step, ring);
            if along[2] < -1e-4 {
                let range = GROUND / along[2];
                let at = scale(along, range);
                let [_, off] = layout.ground.on_street(layout.ground.fixed(at));
                let off = off.abs();
                echoes[step * RINGS + ring] = Some(Echo {
                    range,
                    reflectivity: if off < layout.street.half { 0.15 } else { 0.3 },
                    facing: -along[2],
                });
            }
        }
    }
    for solid in &layout.solids {
        let (first, last, tangents) = window(&solid.corners);
        for step in first..last {
            for (ring, [_, _, tangent]) in rings.iter().enumerate() {
                if *tangent < tangents[0] || *tangent > tangents[1] {
                    continue;
                }
                let along = ray(step, ring);
                let Some(hit) = solid.cast([0.0; 3], along) else {
                    continue;
                };
                let echo = &mut echoes[step * RINGS + ring];
                if echo.is_none_or(|e| hit.t < e.range) {
                    *echo = Some(Echo {
                        range: hit.t,
                        reflectivity: solid.reflectivity,
                        facing: -dot(hit.normal, along),
                    });
                }
            }
        }
    }

    let mut points = Vec::with_capacity(echoes.len());
    let mut rings_of = Vec::with_capacity(echoes.len());
    for (number, echo) in echoes.iter().enumerate() {
        let Some(echo) = echo.filter(|e| e.range < RANGE) else {
            continue;
        };
        let number = number as u64;
        // Weak returns get lost: from far away, and where the ray grazes the surface.
        let lost = 0.02 + 0.10 * (echo.range / RANGE) + 0.25 * (1.0 - echo.facing * 20.0).max(0.0);
        if hash01(layout.noise ^ 0x11da, number) < lost {
            continue;
        }
        let range = echo.range + RANGE_NOISE * hash_normal(layout.noise ^ 0x4a6e, number);
        let [x, y, z] = scale(ray(number as usize / RINGS, number as usize % RINGS), range);
        let shine =
            echo.reflectivity * (0.4 + 0.6 * echo.facing) + 0.03 * hash_normal(layout.noise ^ 0x1276, number);
        points.push([x, y, z, shine.clamp(0.0, 1.0)]);
        rings_of.push((number % RINGS as u64) as u8); // Below RINGS.
    }
    Sweep {
        cloud: PointCloud::of(points),
        rings: rings_of,
    }
}

/// How many points lie in a box, grown by the range noise.
pub(super) fn points_on(cloud: &PointCloud, place: &Box3d) -> u32 {
    let inside = |p: &&[f32; 4]| holds(place, [p[0], p[1], p[2]], 0.05) && p[2] > GROUND + 0.12;
    cloud.points.iter().filter(inside).count() as u32
}

/// Which steps, and which tangents of elevation, can meet a box with these corners: those of the
/// upright cylinder around it.
fn window(corners: &[Vec3; 8]) -> (usize, usize, [f32; 2]) {
    let middle = scale(corners.iter().fold([0.0; 3], |sum, c| add(sum, *c)), 1.0 / 8.0);
    let flat = |x: f32, y: f32| (x * x + y * y).sqrt();
    let (mut radius, mut low, mut high) = (0.0_f32, f32::MAX, f32::MIN);
    for c in corners {
        radius = radius.max(flat(c[0] - middle[0], c[1] - middle[1]));
        low = low.min(c[2]);
        high = high.max(c[2]);
    }
    let away = flat(middle[0], middle[1]);
    let (near, far) = ((away - radius).max(0.1), away + radius);
    let tangents = [
        (low / if low < 0.0 { near } else { far }) - 1e-3,
        (high / if high > 0.0 { near } else { far }) + 1e-3,
    ];
    if away <= radius * 1.01 {
        return (0, STEPS, tangents);
    }
    let deg = 180.0 / std::f32::consts::PI;
    let towards = libm::atan2f(middle[1], middle[0]) * deg;
    let spread = libm::asinf(radius / away) * deg;
    let step = |azimuth: f32| ((90.0 - azimuth) / STEP_DEG).clamp(0.0, STEPS as f32);
    let first = (step(towards + spread) - 1.0).max(0.0) as usize;
    let last = (step(towards - spread) + 1.0).min(STEPS as f32) as usize;
    (first, last, tangents)
}
