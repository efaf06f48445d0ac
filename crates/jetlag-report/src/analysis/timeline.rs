//! A tenant's frames in order of time, for everything that depends on the order (autocorrelation, drift, changes).
//! All other figures come from the complete [`Series`](super::series::Series).
//!
//! Memory is bounded: when more than [`MOST`] frames have come, every second stretch of [`STRETCH`] consecutive
//! frames is discarded, and so on. What remains are whole stretches spread evenly over the run, in which neighbouring
//! frames are still neighbours. Which frames remain depends only on their sequence numbers, not on the order of
//! arrival.

use crate::units::Stamp;

/// Frames kept at most: 36 minutes at 30 Hz without thinning.
const MOST: usize = 1 << 16;
/// Consecutive frames that are kept or discarded together; far longer than a usual autocorrelation time.
const STRETCH: u64 = 4096;
/// Stands for a duration that the frame does not have.
const ABSENT: i64 = i64::MIN;

/// Up to `N` durations of each frame.
#[derive(Clone, Debug)]
pub(super) struct Timeline<const N: usize> {
    kept: Vec<Entry<N>>,
    /// One of this many stretches is kept.
    every: u64,
}

impl<const N: usize> Default for Timeline<N> {
    fn default() -> Self {
        Timeline {
            kept: Vec::new(),
            every: 1,
        }
    }
}

/// One duration of a frame, and where in the run the frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Placed {
    /// The frame's number in its phase.
    pub(super) sequence: u64,
    /// When it was due.
    pub(super) released: Stamp,
    /// The duration in nanoseconds.
    pub(super) took: i64,
    /// The number of the first frame of its batch, by which frames that are worked on together are known; its own number where each has
    /// an inference of its own.
    pub(super) unit: u64,
}

impl Placed {
    /// Whether no frame between the two was left out to save memory.
    pub(super) fn is_followed_by(&self, next: &Placed) -> bool {
        next.sequence.saturating_sub(self.sequence) < STRETCH
    }
}

/// The values of one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry<const N: usize> {
    sequence: u64,
    released: Stamp,
    values: [i64; N],
}

impl<const N: usize> Timeline<N> {
    /// Adds a frame by its number in its phase; `values` is called only for frames that are kept.
    #[inline]
    pub(super) fn push(&mut self, sequence: u64, released: Stamp, values: impl FnOnce() -> [Option<i64>; N]) {
        if (sequence / STRETCH).is_multiple_of(self.every) {
            self.keep(sequence, released, values());
        }
    }

    fn keep(&mut self, sequence: u64, released: Stamp, values: [Option<i64>; N]) {
        if self.kept.len() >= MOST {
            self.thin();
            if !(sequence / STRETCH).is_multiple_of(self.every) || self.kept.len() >= MOST {
                return;
            }
        }
        self.kept.push(Entry {
            sequence,
            released,
            values: values.map(|value| value.unwrap_or(ABSENT)),
        });
    }

    fn thin(&mut self) {
        // The limit on doubling is for files with absurd frame numbers.
        while self.kept.len() >= MOST && self.every < 1 << 40 {
            self.every *= 2;
            let every = self.every;
            self.kept
                .retain(|entry| (entry.sequence / STRETCH).is_multiple_of(every));
        }
    }

    /// How many frames are kept, if some were discarded.
    pub(super) fn thinned_to(&self) -> Option<usize> {
        (self.every > 1).then_some(self.kept.len())
    }

    /// Puts the frames in order; to be called once, before the questions below.
    pub(super) fn sort(&mut self) {
        self.kept.sort_unstable();
    }

    /// All durations of each frame, in order.
    pub(super) fn rows(&self) -> impl Iterator<Item = [Option<i64>; N]> {
        self.kept.iter().map(|entry| {
            entry
                .values
                .map(|value| Some(value).filter(|&value| value != ABSENT))
        })
    }

    /// The durations of one kind, in order, of the frames that have it.
    pub(super) fn values(&self, kind: usize) -> Vec<i64> {
        self.timed(kind).map(|(_, value)| value).collect()
    }

    /// The same, each with its frame's release.
    pub(super) fn timed(&self, kind: usize) -> impl Iterator<Item = (Stamp, i64)> {
        self.placed(kind).map(|frame| (frame.released, frame.took))
    }

    /// The same, each with its frame's number too.
    pub(super) fn placed(&self, kind: usize) -> impl Iterator<Item = Placed> {
        self.kept.iter().filter_map(move |entry| {
            let took = *entry.values.get(kind)?;
            (took != ABSENT).then_some(Placed {
                sequence: entry.sequence,
                released: entry.released,
                took,
                unit: entry.sequence,
            })
        })
    }

    /// The same of frames whose batches are known by another of their values.
    pub(super) fn placed_in_batches(&self, kind: usize, batch: usize) -> impl Iterator<Item = Placed> {
        let batches = self
            .kept
            .iter()
            .filter(move |entry| entry.values.get(kind).is_some_and(|took| *took != ABSENT));
        self.placed(kind).zip(batches).map(move |(frame, entry)| {
            let first = entry.values.get(batch).filter(|first| **first != ABSENT);
            Placed {
                unit: first.map_or(frame.sequence, |first| first.cast_unsigned()),
                ..frame
            }
        })
    }
}

/// Whether each frame missed, as one bit per frame: for streaks, which must have no gaps.
#[derive(Clone, Debug, Default)]
pub(super) struct Misses {
    words: Vec<u64>,
}

/// Larger frame numbers are those of a damaged file (16 MiB of bits, 50 days at 30 Hz).
const MOST_FRAMES: u64 = 1 << 27;

impl Misses {
    /// Notes a frame that missed.
    pub(super) fn note(&mut self, sequence: u64) {
        if sequence >= MOST_FRAMES {
            return;
        }
        let place = (sequence / 64) as usize;
        if self.words.len() <= place {
            self.words.resize(place + 1, 0);
        }
        self.words[place] |= 1 << (sequence % 64);
    }

    /// Whether a frame missed.
    pub(super) fn contains(&self, sequence: u64) -> bool {
        let word = self.words.get((sequence / 64) as usize);
        word.is_some_and(|word| word >> (sequence % 64) & 1 == 1)
    }

    /// The longest run of consecutive misses.
    pub(super) fn longest_streak(&self) -> u64 {
        let (mut longest, mut current) = (0, 0);
        for &word in &self.words {
            match word {
                0 => current = 0,
                u64::MAX => current += 64,
                _ => {
                    for bit in 0..64 {
                        current = if word >> bit & 1 == 1 { current + 1 } else { 0 };
                        longest = longest.max(current);
                    }
                }
            }
            longest = longest.max(current);
        }
        longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(sequences: impl Iterator<Item = u64>) -> Timeline<1> {
        let mut timeline = Timeline::default();
        for n in sequences {
            timeline.push(n, Stamp(n as i64 * 10), || [Some(n as i64)]);
        }
        timeline.sort();
        timeline
    }

    #[test]
    fn a_long_run_keeps_whole_stretches_from_start_to_end() {
        let timeline = filled(0..1_000_000);
        let values = timeline.values(0);
        assert!(
            values.len() <= MOST && values.len() > MOST / 4,
            "{}",
            values.len()
        );
        let neighbours = values.windows(2).filter(|pair| pair[1] == pair[0] + 1).count();
        assert!(neighbours as f64 > 0.999 * values.len() as f64);
        assert!(values[0] == 0 && values[values.len() - 1] > 900_000);
    }

    #[test]
    fn the_order_in_which_frames_come_changes_nothing() {
        let n = 300_000;
        let forwards = filled(0..n).values(0);
        assert_eq!(forwards, filled((0..n).rev()).values(0));
        assert_eq!(forwards, filled((0..n).map(|i| i * 7_919 % n)).values(0));
    }

    #[test]
    fn absurd_frame_numbers_take_no_memory() {
        let timeline = filled(std::iter::repeat_n(0, 3 * MOST));
        assert_eq!(timeline.values(0).len(), MOST);
        let mut misses = Misses::default();
        [u64::MAX, 1 << 40, 3].into_iter().for_each(|n| misses.note(n));
        assert_eq!((misses.longest_streak(), misses.words.len()), (1, 1));
    }

    #[test]
    fn frames_without_a_duration_are_passed_over() {
        let mut timeline = Timeline::default();
        timeline.push(1, Stamp(10), || [Some(5), None]);
        timeline.push(0, Stamp(0), || [None, Some(7)]);
        timeline.sort();
        assert_eq!((timeline.values(0), timeline.values(1)), (vec![5], vec![7]));
    }

    #[test]
    fn the_longest_streak_is_found_across_words_and_whatever_the_order() {
        let mut misses = Misses::default();
        (60..200).rev().chain([3, 4, 202]).for_each(|n| misses.note(n));
        assert_eq!(misses.longest_streak(), 140);
        assert_eq!(Misses::default().longest_streak(), 0);
    }

    #[test]
    fn a_streak_goes_on_over_the_ends_of_words() {
        for (from, to) in [(0, 1), (3, 9), (0, 64), (10, 200), (64, 128), (60, 260), (1, 64)] {
            let mut misses = Misses::default();
            (from..to).for_each(|n| misses.note(n));
            misses.note(to + 1);
            misses.note(400);
            assert_eq!(misses.longest_streak(), to - from, "{from}..{to}");
        }
        assert_eq!(Misses::default().longest_streak(), 0);
    }
}
