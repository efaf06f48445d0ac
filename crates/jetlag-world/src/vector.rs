//! Arithmetic on points and directions of the LiDAR frame, and the two sources of chance.
//!
//! Only operations whose result IEEE 754 fixes (`+ − × ÷ √`) and `libm`'s pure-Rust functions are used:
//! the standard library's sine comes from the system's C library and may differ in its last bit from
//! one machine to the next, and a scene must be the same everywhere.

use jetlag_stats::random::scattered;
use rand_pcg::Pcg64;
use rand_pcg::rand_core::Rng;

/// A point or direction: x forward, y left, z up, metres.
pub(super) type Vec3 = [f32; 3];

pub(super) fn add(a: Vec3, b: Vec3) -> Vec3 {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

pub(super) fn sub(a: Vec3, b: Vec3) -> Vec3 {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

pub(super) fn scale(a: Vec3, s: f32) -> Vec3 {
    [a[0] * s, a[1] * s, a[2] * s]
}

pub(super) fn dot(a: Vec3, b: Vec3) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

pub(super) fn unit(a: Vec3) -> Vec3 {
    scale(a, 1.0 / dot(a, a).sqrt().max(1e-9))
}

/// Where something stands and which way it faces: a turn about the vertical, then a shift.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pose {
    pub(super) origin: Vec3,
    pub(super) cos: f32,
    pub(super) sin: f32,
}

impl Pose {
    pub(super) fn new(origin: Vec3, yaw: f32) -> Self {
        Pose {
            origin,
            cos: libm::cosf(yaw),
            sin: libm::sinf(yaw),
        }
    }
    pub(super) fn turn(&self, v: Vec3) -> Vec3 {
        [
            v[0] * self.cos - v[1] * self.sin,
            v[0] * self.sin + v[1] * self.cos,
            v[2],
        ]
    }
    pub(super) fn place(&self, v: Vec3) -> Vec3 {
        add(self.turn(v), self.origin)
    }
    /// `v` as seen from this pose: the inverse of [`Pose::place`].
    pub(super) fn locate(&self, v: Vec3) -> Vec3 {
        let d = sub(v, self.origin);
        [
            d[0] * self.cos + d[1] * self.sin,
            d[1] * self.cos - d[0] * self.sin,
            d[2],
        ]
    }
}

/// A seeded stream of choices, for laying a scene out.
pub(super) struct Dice(Pcg64);

impl Dice {
    pub(super) fn new(seed: u64, index: u64) -> Self {
        Dice(Pcg64::new(
            u128::from(scattered(seed)) << 64 | u128::from(scattered(index ^ 0x5ce9)),
            u128::from(index),
        ))
    }
    /// A number in `low..high`.
    pub(super) fn range(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * ((self.0.next_u32() >> 8) as f32 / (1 << 24) as f32)
    }
    /// A whole number in `low..=high`.
    pub(super) fn count(&mut self, low: u32, high: u32) -> u32 {
        low + self.0.next_u32() % (high - low + 1)
    }
    pub(super) fn chance(&mut self, probability: f32) -> bool {
        self.range(0.0, 1.0) < probability
    }
    pub(super) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.count(0, of.len() as u32 - 1) as usize]
    }
    pub(super) fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }
}

/// Chance that depends on a key and a position only, so that the order of rendering does not matter:
/// a number in `0..1`.
pub(super) fn hash01(key: u64, position: u64) -> f32 {
    (scattered(key ^ position.wrapping_mul(0xd6e8_feb8_6659_fd93)) >> 40) as f32 / (1 << 24) as f32
}

/// As [`hash01`], about normally distributed: mean 0, deviation 1, never beyond ±3.5 (the sum of four
/// uniform numbers).
pub(super) fn hash_normal(key: u64, position: u64) -> f32 {
    let bits = scattered(key ^ position.wrapping_mul(0xd6e8_feb8_6659_fd93));
    let sum = (bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48);
    // Four uniform numbers in 0..65536: mean 131070, deviation 65536 / √3.
    (sum as f32 - 131_070.0) * (1.0 / 37_837.2)
}
