//! Counts durations in bins whose width is at most 1/8 192 of their value. A series takes this form when the run is
//! too long to keep every duration.
//!
//! Durations below 16 µs fall into bins of one nanosecond. Each octave above has 8 192 bins, so that the middle of a
//! bin is within 0.0062 % of every value in it. An octave takes 32 KiB once it is used: the histograms of a few
//! tenants fit into the processor's cache, which decides how long a long run takes to analyse.

/// Bins in an octave, as a power of two.
const BITS: u32 = 13;
const BINS: usize = 1 << BITS;

/// Counts by octave and bin.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    /// None where nothing fell into an octave.
    octaves: Vec<Option<Box<[u32; BINS]>>>,
}

impl Histogram {
    /// Counts durations in nanoseconds; a negative one counts as zero.
    pub fn add(&mut self, durations: &[i64]) {
        for &ns in durations {
            let (octave, bin) = place(ns.max(0) as u64);
            let bins = match self.octaves.get_mut(octave) {
                Some(Some(bins)) => bins,
                _ => self.open(octave),
            };
            bins[bin] = bins[bin].saturating_add(1);
        }
    }

    /// The bins of an octave into which nothing has fallen yet.
    #[cold]
    fn open(&mut self, octave: usize) -> &mut [u32; BINS] {
        if self.octaves.len() <= octave {
            self.octaves.resize(octave + 1, None);
        }
        self.octaves[octave].get_or_insert_with(|| Box::new([0; BINS]))
    }

    /// Each bin into which something fell, in order: the duration that it stands for, and its count.
    fn counted(&self) -> impl Iterator<Item = (i64, u64)> {
        let octaves = self.octaves.iter().enumerate();
        let bins = octaves.filter_map(|(octave, bins)| Some((octave, bins.as_deref()?)));
        bins.flat_map(|(octave, bins)| {
            let counts = bins.iter().enumerate().filter(|&(_, &count)| count > 0);
            counts.map(move |(bin, &count)| (middle(octave, bin), u64::from(count)))
        })
    }

    /// The durations of these ranks (1-based, ascending), each the middle of its bin.
    pub fn at_ranks(&self, ranks: &[u64]) -> Vec<i64> {
        let mut wanted = ranks.iter().copied().peekable();
        let mut found = Vec::with_capacity(ranks.len());
        let mut seen = 0;
        for (middle, count) in self.counted() {
            seen += count;
            while wanted.next_if(|&rank| rank <= seen).is_some() {
                found.push(middle);
            }
            if wanted.peek().is_none() {
                break;
            }
        }
        found
    }

    /// How many durations are at most each of these bounds (ascending), each taken for the middle of its bin.
    pub fn counts_up_to(&self, bounds: &[i64]) -> Vec<u64> {
        let mut wanted = bounds.iter().copied().peekable();
        let mut counts = Vec::with_capacity(bounds.len());
        let mut seen = 0;
        for (middle, count) in self.counted() {
            while wanted.next_if(|&bound| bound < middle).is_some() {
                counts.push(seen);
            }
            seen += count;
        }
        counts.resize(bounds.len(), seen);
        counts
    }
}

/// Octave 0 holds 0..2¹³, octave k above it 2¹²⁺ᵏ..2¹³⁺ᵏ.
fn place(ns: u64) -> (usize, usize) {
    let bits = u64::BITS - ns.leading_zeros();
    let octave = bits.saturating_sub(BITS);
    let shift = octave.saturating_sub(1);
    (octave as usize, (ns >> shift) as usize & (BINS - 1))
}

fn middle(octave: usize, bin: usize) -> i64 {
    let Some(shift) = octave.checked_sub(1) else {
        return bin as i64;
    };
    let start = ((BINS | bin) as u64) << shift;
    (start + (1 << shift) / 2) as i64
}

/// How far a duration may be from the middle of its bin, at most.
pub fn error(middle: i64) -> i64 {
    middle >> (BITS + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bin_stands_within_its_stated_error() {
        let mut ns: u64 = 1;
        while ns < 1 << 60 {
            for value in [ns - 1, ns, ns + 1, ns + ns / 3] {
                let (octave, bin) = place(value);
                let error = (middle(octave, bin) - value as i64).unsigned_abs();
                assert!(
                    error as f64 <= value as f64 * 0.000_062,
                    "{value} ns is off by {error}"
                );
                assert!(
                    error as i64 <= super::error(middle(octave, bin)),
                    "{value} ns is off by {error}"
                );
                assert!(value >= 16_384 || error == 0, "{value} ns is not exact");
            }
            ns *= 2;
        }
    }

    #[test]
    fn ranks_come_back_in_order_even_where_they_share_a_bin() {
        let mut histogram = Histogram::default();
        histogram.add(&[5, 5, 7_000, 5, 1_000_000, -3]);
        let found = histogram.at_ranks(&[1, 2, 2, 4, 5, 6]);
        assert_eq!(found[..5], [0, 5, 5, 5, 7_000]);
        assert!((found[5] - 1_000_000).abs() <= 62);
    }

    #[test]
    fn what_is_as_long_as_a_bound_is_counted_in() {
        let mut histogram = Histogram::default();
        histogram.add(&[5, 5, 7, 9_000]);
        assert_eq!(
            histogram.counts_up_to(&[4, 5, 6, 7, 9_000, 9_001]),
            [0, 2, 2, 3, 4, 4]
        );
    }
}
