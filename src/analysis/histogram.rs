//! Counts of durations in bins of at most 1/65 536 of their value: the form that a series takes when a run
//! is too long to keep every duration.
//!
//! Durations below 131 µs fall into bins of one nanosecond. Each octave above has 65 536 bins, so that the
//! middle of a bin is within 0.0008 % of what fell into it. An octave takes 256 KiB once it is used.

/// Bins in an octave, as a power of two.
const BITS: u32 = 16;
const BINS: usize = 1 << BITS;

/// Counts by octave and bin.
#[derive(Clone, Debug, Default)]
pub(super) struct Histogram {
    /// Empty where nothing fell into an octave.
    octaves: Vec<Vec<u32>>,
}

impl Histogram {
    /// Counts durations in nanoseconds; a negative one counts as zero.
    pub(super) fn add(&mut self, durations: &[i64]) {
        for &ns in durations {
            let (octave, bin) = place(ns.max(0) as u64);
            match self.octaves.get_mut(octave).and_then(|bins| bins.get_mut(bin)) {
                Some(count) => *count = count.saturating_add(1),
                None => self.open(octave)[bin] = 1,
            }
        }
    }

    /// The bins of an octave into which nothing has fallen yet.
    #[cold]
    fn open(&mut self, octave: usize) -> &mut [u32] {
        if self.octaves.len() <= octave {
            self.octaves.resize(octave + 1, Vec::new());
        }
        let bins = &mut self.octaves[octave];
        bins.resize(BINS, 0);
        bins
    }

    /// The durations of these ranks (1-based, ascending), each the middle of its bin.
    pub(super) fn at_ranks(&self, ranks: &[u64]) -> Vec<i64> {
        let mut wanted = ranks.iter().copied().peekable();
        let mut found = Vec::with_capacity(ranks.len());
        let mut seen = 0;
        for (octave, bins) in self.octaves.iter().enumerate() {
            for (bin, &count) in bins.iter().enumerate() {
                if count == 0 {
                    continue;
                }
                seen += u64::from(count);
                while wanted.next_if(|&rank| rank <= seen).is_some() {
                    found.push(middle(octave, bin));
                }
                if wanted.peek().is_none() {
                    return found;
                }
            }
        }
        found
    }

    /// How many durations are at most each of these bounds (ascending), each taken for the middle of its bin.
    pub(super) fn counts_up_to(&self, bounds: &[i64]) -> Vec<u64> {
        let mut wanted = bounds.iter().copied().peekable();
        let mut counts = Vec::with_capacity(bounds.len());
        let mut seen = 0;
        for (octave, bins) in self.octaves.iter().enumerate() {
            for (bin, &count) in bins.iter().enumerate() {
                if count == 0 {
                    continue;
                }
                let middle = middle(octave, bin);
                while wanted.next_if(|&bound| bound < middle).is_some() {
                    counts.push(seen);
                }
                seen += u64::from(count);
            }
        }
        counts.resize(bounds.len(), seen);
        counts
    }
}

/// Octave 0 holds 0..2¹⁶, octave k above it 2¹⁵⁺ᵏ..2¹⁶⁺ᵏ.
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
                    error as f64 <= value as f64 * 0.000_008,
                    "{value} ns is off by {error}"
                );
                assert!(value >= 131_072 || error == 0, "{value} ns is not exact");
            }
            ns *= 2;
        }
    }

    #[test]
    fn ranks_come_back_in_order_even_where_they_share_a_bin() {
        let mut histogram = Histogram::default();
        histogram.add(&[5, 5, 70_000, 5, 1_000_000, -3]);
        let found = histogram.at_ranks(&[1, 2, 2, 4, 5, 6]);
        assert_eq!(found[..5], [0, 5, 5, 5, 70_000]);
        assert!((found[5] - 1_000_000).abs() <= 8);
    }
}
