//! Numbers that a seed determines, the same on every machine and with every version of other crates: a short generator, and draws
//! without bias from ranges of any size.

use rand_pcg::Pcg64;
use rand_pcg::rand_core::{Rng, SeedableRng};

/// SplitMix64 (G. L. Steele, D. Lea and C. H. Flood, "Fast splittable pseudorandom number generators", 2014).
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// What is added to the state for each number: 2⁶⁴ ÷ the golden ratio, and odd.
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

    /// The sequence of a seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The same sequence from its `number`-th value on, which is the first with 0.
    pub const fn from_place(seed: u64, number: u64) -> Self {
        Self(seed.wrapping_add(number.wrapping_mul(Self::STEP)))
    }

    /// A sequence for each `index` under a seed; neighbouring seeds and indices give unrelated ones.
    pub const fn stream(seed: u64, index: u64) -> Self {
        let first = scattered(seed ^ Self::STEP);
        Self(scattered(first ^ index.wrapping_mul(0xd134_2543_de82_ef95)))
    }

    /// The next 64 bits.
    pub const fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(Self::STEP);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// Uniform in 0 ≤ x < 1, a multiple of 2⁻⁵³.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Uniform in 0 ≤ x < 1, a multiple of 2⁻²⁴: 24 bits are exact in an f32.
    pub fn unit_f32(&mut self) -> f32 {
        (self.bits() >> 40) as f32 / 16_777_216.0
    }

    /// A whole number below another; that 2⁶⁴ is no multiple of it does not show.
    pub fn below(&mut self, end: u32) -> u32 {
        ((u128::from(self.bits()) * u128::from(end)) >> 64) as u32
    }
}

/// A hash of a number, the first bits of its sequence: neighbouring numbers give unrelated results.
pub const fn scattered(number: u64) -> u64 {
    SplitMix64::new(number).bits()
}

/// Draws from ranges of up to 2¹²⁸ values, without bias, and orders.
#[derive(Clone, Debug)]
pub struct Draws(Pcg64);

impl Draws {
    /// The draws of a seed.
    pub fn new(seed: u64) -> Self {
        Draws(Pcg64::seed_from_u64(seed))
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in 0 ≤ x < `below`, which is above zero.
    pub fn below(&mut self, below: u128) -> u128 {
        // Numbers beyond the last whole multiple would make small results likelier.
        let usable = u128::MAX - u128::MAX % below.max(1);
        loop {
            let drawn = u128::from(self.bits()) << 64 | u128::from(self.bits());
            if drawn < usable {
                return drawn % below.max(1);
            }
        }
    }

    /// Fisher and Yates' shuffle.
    pub fn shuffle<T>(&mut self, all: &mut [T]) {
        for last in (1..all.len()).rev() {
            let other = self.below(last as u128 + 1) as usize;
            all.swap(last, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_has_its_published_sequence() {
        // https://rosettacode.org/wiki/Pseudo-random_numbers/Splitmix64
        let wanted = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        let mut random = SplitMix64::new(1_234_567);
        assert_eq!([(); 5].map(|()| random.bits()), wanted);
        assert_eq!(SplitMix64::from_place(1_234_567, 3).bits(), wanted[3]);
        assert_eq!(scattered(1_234_567), wanted[0]);
    }

    #[test]
    fn numbers_are_spread_over_their_range() {
        let mut random = SplitMix64::stream(7, 1);
        let (mut sum, mut sixes) = (0.0, [0; 6]);
        for _ in 0..60_000 {
            let (wide, narrow) = (random.unit(), random.unit_f32());
            assert!((0.0..1.0).contains(&wide) && (0.0..1.0).contains(&narrow));
            sum += wide + f64::from(narrow);
            sixes[random.below(6) as usize] += 1;
        }
        assert!((sum / 120_000.0 - 0.5).abs() < 0.005, "{sum}");
        assert!(
            sixes.iter().all(|count| (9_500..10_500).contains(count)),
            "{sixes:?}"
        );
    }

    #[test]
    fn a_shuffle_keeps_all_and_each_comes_first_as_often() {
        let (mut draws, mut first) = (Draws::new(3), [0; 4]);
        for _ in 0..8_000 {
            let mut all = [0, 1, 2, 3];
            draws.shuffle(&mut all);
            first[all[0]] += 1;
            all.sort_unstable();
            assert_eq!(all, [0, 1, 2, 3]);
        }
        assert!(
            first.iter().all(|count| (1_800..2_200).contains(count)),
            "{first:?}"
        );
        assert!(draws.below(u128::MAX) > u128::from(u64::MAX));
        assert_eq!(draws.below(1), 0);
    }
}
