//! The two inner loops of the resize, which are all of its time: a source row to three planes of 16-bit lines, and two lines to
//! values. Each is written once in plain Rust, which says what is computed; processors with AVX2 (asked for when an image's tables
//! are made) and with NEON (every aarch64) compute the same eight columns at a time.

#![allow(
    unsafe_code,
    reason = "instructions that not every processor has, and rows read in wider pieces than a column has"
)]

use super::{LINE_SHIFT, Normal, Tap, WEIGHT_BITS, WHOLE, level};

/// Columns that are made together.
const WIDE: usize = 8;
/// Bytes that are read from where a column's begin, though it has but six.
const READ: usize = 16;

/// How a row is resized across.
#[derive(Default)]
pub(super) struct Across {
    /// For each column; `at` counts bytes.
    taps: Vec<Tap>,
    /// Whether every column takes one source pixel as it is (an odd whole ratio, or none).
    is_whole: bool,
    way: Way,
    /// How many groups of [`WIDE`] columns end at least [`READ`] bytes before the end of a row, and the bytes of such a row.
    wide: (usize, usize),
    /// With AVX2: for columns n and n + 4 of eight, the weights of each, four times.
    #[cfg(target_arch = "x86_64")]
    weights: Vec<[i16; 16]>,
}

/// What computes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Way {
    /// Plain Rust, as the compiler makes of it for any processor of the architecture.
    #[default]
    Plain,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "aarch64")]
    Neon,
}

impl Way {
    /// The fastest that this processor has.
    fn best() -> Way {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            return Way::Avx2;
        }
        #[cfg(target_arch = "aarch64")]
        if std::arch::is_aarch64_feature_detected!("neon") {
            return Way::Neon;
        }
        Way::Plain
    }
}

impl Across {
    /// For these taps, whose `at` count bytes, of rows of `row` bytes.
    pub(super) fn new(taps: Vec<Tap>, is_whole: bool, row: usize) -> Across {
        Across::by(taps, is_whole, row, Way::best())
    }

    fn by(taps: Vec<Tap>, is_whole: bool, row: usize, way: Way) -> Across {
        let is_within = |eight: &&[Tap; WIDE]| eight.iter().all(|tap| tap.at + READ <= row);
        let eights = taps.as_chunks().0.iter().take_while(is_within).count();
        Across {
            wide: (eights, row),
            #[cfg(target_arch = "x86_64")]
            weights: match way {
                Way::Avx2 if !is_whole => {
                    let (eights, _) = taps.as_chunks::<WIDE>();
                    let of = |tap: &Tap, other: &Tap| {
                        std::array::from_fn(|n| if n < 8 { tap } else { other }.weights[n % 2])
                    };
                    let pairs = eights
                        .iter()
                        .flat_map(|eight| (0..4).map(|n| of(&eight[n], &eight[n + 4])));
                    pairs.collect()
                }
                _ => Vec::new(),
            },
            taps,
            is_whole,
            way,
        }
    }

    /// For each column.
    pub(super) fn taps(&self) -> &[Tap] {
        &self.taps
    }

    /// One source row to three planes, in units of 2^-([`WEIGHT_BITS`] − [`LINE_SHIFT`]) levels.
    pub(super) fn resize(&self, source: &[u8], planes: &mut [i16]) {
        let columns = self.taps.len();
        let (red, rest) = planes.split_at_mut(columns);
        let (green, blue) = rest.split_at_mut(columns);
        let mut planes = [red, green, &mut blue[..columns]];
        if self.is_whole {
            let [red, green, blue] = planes;
            for (((tap, r), g), b) in self.taps.iter().zip(red).zip(green).zip(blue) {
                let pixel = &source[tap.at..tap.at + 3];
                [*r, *g, *b] = std::array::from_fn(|c| i16::from(pixel[c]) << (WEIGHT_BITS - LINE_SHIFT));
            }
            return;
        }
        let (eights, row) = self.wide;
        let eights = &self.taps.as_chunks().0[..if source.len() < row { 0 } else { eights }];
        let done = match self.way {
            Way::Plain => 0,
            #[cfg(target_arch = "x86_64")]
            // SAFETY: this way is taken only where the processor was asked and has it, and these taps lie so far before the end of
            // a row, which the source is at least as long as.
            Way::Avx2 => unsafe { avx2::resize(source, eights, &self.weights, &mut planes) },
            #[cfg(target_arch = "aarch64")]
            // SAFETY: as above.
            Way::Neon => unsafe { neon::resize(source, eights, &mut planes) },
        };
        let [red, green, blue] = planes.map(|plane| &mut plane[done..]);
        for (((tap, r), g), b) in self.taps[done..].iter().zip(red).zip(green).zip(blue) {
            let pair = &source[tap.at..tap.at + 6];
            let [first, second] = tap.weights.map(i32::from);
            [*r, *g, *b] = std::array::from_fn(|c| {
                ((i32::from(pair[c]) * first + i32::from(pair[c + 3]) * second) >> LINE_SHIFT) as i16
            });
        }
    }

    /// Two lines of one channel to values; `below` is not looked at where its weight is 0.
    pub(super) fn blend(
        &self,
        [above, below]: [&[i16]; 2],
        weights: [i16; 2],
        normal: Normal,
        values: &mut [f32],
    ) {
        match self.way {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: this way is taken only where the processor was asked and has it.
            Way::Avx2 => unsafe { avx2::blend([above, below], weights, normal, values) },
            _ => blend_plainly([above, below], weights, normal, values),
        }
    }
}

#[inline(always)]
fn blend_plainly([above, below]: [&[i16]; 2], weights: [i16; 2], normal: Normal, values: &mut [f32]) {
    if weights[1] == 0 {
        for (value, a) in values.iter_mut().zip(above) {
            *value = normal.of(level(*a, 0, [WHOLE, 0]));
        }
    } else {
        for ((value, a), b) in values.iter_mut().zip(above).zip(below) {
            *value = normal.of(level(*a, *b, weights));
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    use super::{LINE_SHIFT, Normal, Tap, WIDE, blend_plainly};

    /// As the plain loop, for eight columns at a time; returns how many columns it made.
    ///
    /// A column's six bytes become pairs of the two neighbours of each channel, which one instruction multiplies and adds.
    ///
    /// # Safety
    /// The processor has AVX2, and the source has [`READ`](super::READ) bytes from each tap.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn resize(
        source: &[u8],
        eights: &[[Tap; WIDE]],
        weights: &[[i16; 16]],
        [red, green, blue]: &mut [&mut [i16]; 3],
    ) -> usize {
        const NO: i8 = -1;
        // Bytes 0 to 5 are r g b r g b: to r r, g g, b b, as words.
        let pair = _mm256_setr_epi8(
            0, NO, 3, NO, 1, NO, 4, NO, 2, NO, 5, NO, NO, NO, NO, NO, //
            0, NO, 3, NO, 1, NO, 4, NO, 2, NO, 5, NO, NO, NO, NO, NO,
        );
        // Two columns r g b 0 r g b 0 of words: to rr gg bb 00.
        let by_channel = _mm256_setr_epi8(
            0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15, //
            0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15,
        );
        let mut done = 0;
        let eights = eights.iter().zip(weights.as_chunks::<4>().0);
        let (red, green, blue) = (
            red.as_chunks_mut::<WIDE>().0,
            green.as_chunks_mut::<WIDE>().0,
            blue.as_chunks_mut::<WIDE>().0,
        );
        for (((eight, weights), (red, green)), blue) in eights.zip(red.iter_mut().zip(green)).zip(blue) {
            let mut sums = [_mm256_setzero_si256(); 4];
            for (n, sum) in sums.iter_mut().enumerate() {
                // SAFETY: the caller has it that the source has as many bytes; the weights are a reference to 32. Alignment is not
                // asked for.
                let (bytes, weights) = unsafe {
                    let [low, high] = [eight[n].at, eight[n + 4].at].map(|at| source.as_ptr().add(at).cast());
                    (
                        _mm256_loadu2_m128i(high, low),
                        _mm256_loadu_si256(weights[n].as_ptr().cast()),
                    )
                };
                let pairs = _mm256_shuffle_epi8(bytes, pair);
                *sum = _mm256_srai_epi32::<{ LINE_SHIFT as i32 }>(_mm256_madd_epi16(pairs, weights));
            }
            let first = _mm256_shuffle_epi8(_mm256_packs_epi32(sums[0], sums[1]), by_channel);
            let second = _mm256_shuffle_epi8(_mm256_packs_epi32(sums[2], sums[3]), by_channel);
            // Columns 0 to 3 in the lower half, 4 to 7 in the upper.
            let reds_greens = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_unpacklo_epi32(first, second));
            let blues = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_unpackhi_epi32(first, second));
            // SAFETY: each is a reference to eight words.
            unsafe {
                _mm_storeu_si128(red.as_mut_ptr().cast(), _mm256_castsi256_si128(reds_greens));
                _mm_storeu_si128(
                    green.as_mut_ptr().cast(),
                    _mm256_extracti128_si256::<1>(reds_greens),
                );
                _mm_storeu_si128(blue.as_mut_ptr().cast(), _mm256_castsi256_si128(blues));
            }
            done += WIDE;
        }
        done
    }

    /// The plain loop, compiled for wider registers.
    #[target_feature(enable = "avx2")]
    pub(super) fn blend(lines: [&[i16]; 2], weights: [i16; 2], normal: Normal, values: &mut [f32]) {
        blend_plainly(lines, weights, normal, values);
    }
}

#[cfg(target_arch = "aarch64")]
mod neon {
    use std::arch::aarch64::*;

    use super::{LINE_SHIFT, Tap, WIDE};

    /// As the plain loop, for eight columns at a time; returns how many columns it made.
    ///
    /// # Safety
    /// The processor has NEON, and the source has [`READ`](super::READ) bytes from each tap.
    #[target_feature(enable = "neon")]
    pub(super) unsafe fn resize(
        source: &[u8],
        eights: &[[Tap; WIDE]],
        [red, green, blue]: &mut [&mut [i16]; 3],
    ) -> usize {
        let mut done = 0;
        let (red, green, blue) = (
            red.as_chunks_mut::<WIDE>().0,
            green.as_chunks_mut::<WIDE>().0,
            blue.as_chunks_mut::<WIDE>().0,
        );
        for (((eight, red), green), blue) in eights.iter().zip(red).zip(green).zip(blue) {
            let mut columns = [vdup_n_s16(0); WIDE];
            for (tap, column) in eight.iter().zip(&mut columns) {
                // SAFETY: the caller has it that the source has more.
                let bytes = unsafe { vld1_u8(source.as_ptr().add(tap.at)) };
                // r g b r g b as words; the second pixel three words on.
                let words = vreinterpretq_s16_u16(vmovl_u8(bytes));
                let second = vget_low_s16(vextq_s16::<3>(words, words));
                let sum = vmull_n_s16(vget_low_s16(words), tap.weights[0]);
                let sum = vmlal_n_s16(sum, second, tap.weights[1]);
                *column = vshrn_n_s32::<{ LINE_SHIFT as i32 }>(sum);
            }
            let (low, high) = columns.split_at(4);
            let [low, high] = [low, high].map(|four| {
                // Four columns r g b x to r r r r, g g g g, b b b b.
                let (a, b) = (vtrn1_s16(four[0], four[1]), vtrn2_s16(four[0], four[1]));
                let (c, d) = (vtrn1_s16(four[2], four[3]), vtrn2_s16(four[2], four[3]));
                let words = |low, high| {
                    let (low, high) = (vreinterpret_s32_s16(low), vreinterpret_s32_s16(high));
                    [vtrn1_s32(low, high), vtrn2_s32(low, high)].map(|both| vreinterpret_s16_s32(both))
                };
                let ([reds, blues], [greens, _]) = (words(a, c), words(b, d));
                [reds, greens, blues]
            });
            // SAFETY: each is a reference to eight words.
            unsafe {
                vst1q_s16(red.as_mut_ptr(), vcombine_s16(low[0], high[0]));
                vst1q_s16(green.as_mut_ptr(), vcombine_s16(low[1], high[1]));
                vst1q_s16(blue.as_mut_ptr(), vcombine_s16(low[2], high[2]));
            }
            done += WIDE;
        }
        done
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Whatever the row, its taps and their weights: the wide ways give the plain one's lines and values.
        #[test]
        fn wide_registers_compute_what_plain_rust_does(
            source in prop::collection::vec(any::<u8>(), 6..700),
            places in prop::collection::vec((any::<prop::sample::Index>(), 0i16..=WHOLE), 1..120),
            down in 0i16..=WHOLE,
        ) {
            let pixels = source.len() / 3;
            let mut taps: Vec<Tap> = places
                .iter()
                .map(|(place, second)| Tap { at: place.index(pixels - 1) * 3, weights: [WHOLE - second, *second] })
                .collect();
            taps.sort_by_key(|tap| tap.at);
            let columns = taps.len();
            let plain = Across::by(taps.clone(), false, source.len(), Way::Plain);
            let wide = Across::new(taps, false, source.len());
            let (mut by_plain, mut by_wide) = (vec![0; columns * 3], vec![-1; columns * 3]);
            plain.resize(&source, &mut by_plain);
            wide.resize(&source, &mut by_wide);
            prop_assert_eq!(&by_plain, &by_wide);
            let normal = Normal { gain: 0.017, offset: -2.1 };
            let weights = [WHOLE - down, down];
            let lines = [&by_plain[..columns], &by_plain[columns..2 * columns]];
            let (mut of_plain, mut of_wide) = (vec![0.0; columns], vec![-1.0; columns]);
            plain.blend(lines, weights, normal, &mut of_plain);
            wide.blend(lines, weights, normal, &mut of_wide);
            prop_assert_eq!(of_plain, of_wide);
        }
    }
}
