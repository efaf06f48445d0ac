//! Counts durations in bins whose width is at most 1/8 192 of their value. A series takes this form when the run is
//! too long to keep every duration.
//!
//! Durations below 16 µs fall into bins of one nanosecond. Each octave above has 8 192 bins, so that the middle of a
//! bin is within 0.0062 % of every value in it. Bins are in pages of 2 KiB, which are made when they are used: most series of
//! a run are narrow, so the histograms of hundreds of them stay small, and those of a few fit into the processor's cache.

/// Bins in an octave, as a power of two.
const BITS: u32 = 13;
const BINS: usize = 1 << BITS;
/// Bins in a page.
const PAGE: usize = 512;

/// Counts by page and bin.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    /// None where nothing fell into a page.
    pages: Vec<Option<Box<[u32; PAGE]>>>,
}

impl Histogram {
    /// Counts durations in nanoseconds; a negative one counts as zero.
    pub fn add(&mut self, durations: impl IntoIterator<Item = i64>) {
        for ns in durations {
            let place = place(ns.max(0) as u64);
            let (page, bin) = (place / PAGE, place % PAGE);
            let bins = match self.pages.get_mut(page) {
                Some(Some(bins)) => bins,
                _ => self.open(page),
            };
            bins[bin] = bins[bin].saturating_add(1);
        }
    }

    /// The bins of a page into which nothing has fallen yet.
    #[cold]
    fn open(&mut self, page: usize) -> &mut [u32; PAGE] {
        if self.pages.len() <= page {
            self.pages.resize(page + 1, None);
        }
        self.pages[page].get_or_insert_with(|| Box::new([0; PAGE]))
    }

    /// Each bin into which something fell, in order: the duration that it stands for, and its count.
    fn counted(&self) -> impl Iterator<Item = (i64, u64)> {
        let pages = self.pages.iter().enumerate();
        let pages = pages.filter_map(|(page, bins)| Some((page * PAGE, bins.as_deref()?)));
        pages.flat_map(|(first, bins)| {
            let counts = bins.iter().enumerate().filter(|&(_, &count)| count > 0);
            counts.map(move |(bin, &count)| (middle(first + bin), u64::from(count)))
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

/// The bin of a duration, counted from that of 0: octave 0 holds 0..2¹³, octave k above it 2¹²⁺ᵏ..2¹³⁺ᵏ.
fn place(ns: u64) -> usize {
    let bits = u64::BITS - ns.leading_zeros();
    let octave = bits.saturating_sub(BITS);
    let shift = octave.saturating_sub(1);
    octave as usize * BINS + ((ns >> shift) as usize & (BINS - 1))
}

fn middle(place: usize) -> i64 {
    let (octave, bin) = (place / BINS, place % BINS);
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
                let middle = middle(place(value));
                let error = (middle - value as i64).unsigned_abs();
                assert!(
                    error as f64 <= value as f64 * 0.000_062,
                    "{value} ns is off by {error}"
                );
                assert!(
                    error as i64 <= super::error(middle),
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
        histogram.add([5, 5, 7_000, 5, 1_000_000, -3]);
        let found = histogram.at_ranks(&[1, 2, 2, 4, 5, 6]);
        assert_eq!(found[..5], [0, 5, 5, 5, 7_000]);
        assert!((found[5] - 1_000_000).abs() <= 62);
    }

    #[test]
    fn what_is_as_long_as_a_bound_is_counted_in() {
        let mut histogram = Histogram::default();
        histogram.add([5, 5, 7, 9_000]);
        assert_eq!(
            histogram.counts_up_to(&[4, 5, 6, 7, 9_000, 9_001]),
            [0, 2, 2, 3, 4, 4]
        );
    }
}
