//! The generator of thresholds: SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014). It is
//! ours so that the same seed gives the same trees on every machine and with every version of other crates.

/// A sequence of numbers that its seed determines.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    /// The sequence of tree number `index` under `seed`; neighbouring seeds and indices give unrelated ones.
    pub(crate) fn new(seed: u64, index: u64) -> Self {
        let mut mixed = Self(seed ^ 0x9e37_79b9_7f4a_7c15);
        let first = mixed.next();
        let mut mixed = Self(first ^ index.wrapping_mul(0xd134_2543_de82_ef95));
        Self(mixed.next())
    }

    /// The next 64 bits.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Uniform in 0 ≤ x < 1, a multiple of 2⁻²⁴.
    pub(crate) fn unit(&mut self) -> f32 {
        // 24 bits are exact in an f32.
        (self.next() >> 40) as f32 / 16_777_216.0
    }
}
