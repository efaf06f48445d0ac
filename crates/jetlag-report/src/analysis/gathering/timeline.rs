//! A tenant's frames in order of time, for everything that depends on the order (autocorrelation, drift, changes).
//! All other figures come from the complete [`Series`](crate::analysis::gathering::series::Series).
//!
//! Memory is bounded: when more than [`MOST`] frames have come, every second stretch of consecutive frames
//! is discarded, and so on. What remains are whole stretches spread evenly over the run, in which neighbouring
//! frames are still neighbours. Which frames remain depends only on their sequence numbers, not on the order of
//! arrival. Of more than [`WHOLE`] tenants, each keeps as much less as they are more. Durations of a kind that no frame has take no
//! memory: few frames have all kinds.

use crate::units::Stamp;

/// Frames kept at most: 36 minutes at 30 Hz without thinning.
const MOST: usize = 1 << 16;
/// Tenants that keep that many frames each.
const WHOLE: usize = 16;
/// Frames that a tenant keeps at most, however many tenants there are.
const LEAST: usize = 1 << 12;
/// How many stretches are kept at most: each is 4 096 frames long where [`MOST`] are kept, far longer than a usual autocorrelation time.
const STRETCHES: usize = 16;
/// The shortest stretch, which the most tenants have: what lies further apart may have had frames between it that were discarded.
const SHORTEST: u64 = (LEAST / STRETCHES) as u64;
/// Stands for a duration that the frame does not have.
const ABSENT: i64 = i64::MIN;

/// Up to `N` durations of each frame.
#[derive(Clone, Debug)]
pub(in crate::analysis) struct Timeline<const N: usize> {
    sequences: Vec<u64>,
    released: Vec<Stamp>,
    /// The durations of each kind; none as long as no frame has had one.
    kinds: [Vec<i64>; N],
    /// One of this many stretches is kept.
    every: u64,
    /// Frames kept at most.
    most: usize,
    /// Consecutive frames that are kept or discarded together.
    stretch: u64,
}

impl<const N: usize> Default for Timeline<N> {
    fn default() -> Self {
        Timeline::of_one_of(1)
    }
}

/// One duration of a frame, and where in the run the frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::analysis) struct Placed {
    /// The frame's number in its phase.
    pub(in crate::analysis) sequence: u64,
    /// When it was due.
    pub(in crate::analysis) released: Stamp,
    /// The duration in nanoseconds.
    pub(in crate::analysis) took: i64,
    /// The number of the first frame of its batch, by which frames that are worked on together are known; its own number where each has
    /// an inference of its own.
    pub(in crate::analysis) unit: u64,
}

impl Placed {
    /// Whether no frame between the two was left out to save memory.
    pub(in crate::analysis) fn is_followed_by(&self, next: &Placed) -> bool {
        next.sequence.saturating_sub(self.sequence) < SHORTEST
    }
}

impl<const N: usize> Timeline<N> {
    /// That of one of so many tenants.
    pub(in crate::analysis) fn of_one_of(tenants: usize) -> Self {
        let share = MOST * WHOLE / tenants.max(WHOLE).next_power_of_two();
        let most = share.max(LEAST);
        Timeline {
            sequences: Vec::new(),
            released: Vec::new(),
            kinds: [const { Vec::new() }; N],
            every: 1,
            most,
            stretch: (most / STRETCHES) as u64,
        }
    }

    /// Adds a frame by its number in its phase; `values` is called only for frames that are kept.
    #[inline]
    pub(in crate::analysis) fn push(
        &mut self,
        sequence: u64,
        released: Stamp,
        values: impl FnOnce() -> [Option<i64>; N],
    ) {
        if self.is_kept(sequence) {
            self.keep(sequence, released, values());
        }
    }

    fn is_kept(&self, sequence: u64) -> bool {
        (sequence / self.stretch).is_multiple_of(self.every)
    }

    fn keep(&mut self, sequence: u64, released: Stamp, values: [Option<i64>; N]) {
        if self.sequences.len() >= self.most {
            self.thin();
            if !self.is_kept(sequence) || self.sequences.len() >= self.most {
                return;
            }
        }
        for (kind, value) in self.kinds.iter_mut().zip(values) {
            match value {
                Some(value) => {
                    kind.resize(self.sequences.len(), ABSENT);
                    kind.push(value);
                }
                None if kind.is_empty() => {}
                None => kind.push(ABSENT),
            }
        }
        self.sequences.push(sequence);
        self.released.push(released);
    }

    fn thin(&mut self) {
        // The limit on doubling is for files with absurd frame numbers.
        while self.sequences.len() >= self.most && self.every < 1 << 40 {
            self.every *= 2;
            let stays: Vec<bool> = self
                .sequences
                .iter()
                .map(|sequence| self.is_kept(*sequence))
                .collect();
            retain(&mut self.sequences, &stays);
            retain(&mut self.released, &stays);
            self.kinds.iter_mut().for_each(|kind| retain(kind, &stays));
        }
    }

    /// How many frames are kept, if some were discarded.
    pub(in crate::analysis) fn thinned_to(&self) -> Option<usize> {
        (self.every > 1).then_some(self.sequences.len())
    }

    /// Puts the frames in order; to be called once, before the questions below.
    pub(in crate::analysis) fn sort(&mut self) {
        let mut order: Vec<usize> = (0..self.sequences.len()).collect();
        let key = |at: usize| {
            let values = self.kinds.each_ref().map(|kind| kind.get(at).copied());
            (self.sequences.get(at), self.released.get(at), values)
        };
        order.sort_by(|one, other| {
            let numbers = self.sequences.get(*one).cmp(&self.sequences.get(*other));
            // Only a damaged file has a number twice; what is kept of it does not depend on the order either.
            numbers.then_with(|| key(*one).cmp(&key(*other)))
        });
        if order.is_sorted() {
            return;
        }
        self.sequences = ordered(&self.sequences, &order);
        self.released = ordered(&self.released, &order);
        for kind in &mut self.kinds {
            *kind = ordered(kind, &order);
        }
    }

    /// All durations of each frame, in order.
    pub(in crate::analysis) fn rows(&self) -> impl Iterator<Item = [Option<i64>; N]> {
        (0..self.sequences.len()).map(|at| self.kinds.each_ref().map(|kind| at_place(kind, at)))
    }

    /// The durations of one kind, in order, of the frames that have it.
    pub(in crate::analysis) fn values(&self, kind: usize) -> Vec<i64> {
        self.timed(kind).map(|(_, value)| value).collect()
    }

    /// The same, each with its frame's release.
    pub(in crate::analysis) fn timed(&self, kind: usize) -> impl Iterator<Item = (Stamp, i64)> {
        self.placed(kind).map(|frame| (frame.released, frame.took))
    }

    /// The same, each with its frame's number too.
    pub(in crate::analysis) fn placed(&self, kind: usize) -> impl Iterator<Item = Placed> {
        let took = self.kinds.get(kind).map_or(&[][..], Vec::as_slice);
        let frames = self.sequences.iter().zip(&self.released).zip(took);
        frames
            .filter(|(_, took)| **took != ABSENT)
            .map(|((sequence, released), took)| Placed {
                sequence: *sequence,
                released: *released,
                took: *took,
                unit: *sequence,
            })
    }

    /// The same of frames whose batches are known by another of their values.
    pub(in crate::analysis) fn placed_in_batches(
        &self,
        kind: usize,
        batch: usize,
    ) -> impl Iterator<Item = Placed> {
        let value = move |kind: usize, at: usize| self.kinds.get(kind).and_then(|kind| at_place(kind, at));
        let places = (0..self.sequences.len()).filter(move |at| value(kind, *at).is_some());
        self.placed(kind).zip(places).map(move |(frame, at)| Placed {
            unit: value(batch, at).map_or(frame.sequence, i64::cast_unsigned),
            ..frame
        })
    }
}

/// The duration at a place, of a kind that some frame has had or none.
fn at_place(kind: &[i64], at: usize) -> Option<i64> {
    kind.get(at).copied().filter(|value| *value != ABSENT)
}

/// Leaves what stays.
fn retain<T>(all: &mut Vec<T>, stays: &[bool]) {
    let mut stays = stays.iter();
    all.retain(|_| stays.next().is_some_and(|stays| *stays));
    // Memory that a run of many tenants never fills again.
    all.shrink_to(all.len() * 2);
}

/// The same in another order.
fn ordered<T: Copy>(all: &[T], order: &[usize]) -> Vec<T> {
    order.iter().filter_map(|at| all.get(*at).copied()).collect()
}

/// Whether each frame missed, as one bit per frame: for streaks, which must have no gaps.
#[derive(Clone, Debug, Default)]
pub(in crate::analysis) struct Misses {
    words: Vec<u64>,
}

/// Larger frame numbers are those of a damaged file (16 MiB of bits, 50 days at 30 Hz).
const MOST_FRAMES: u64 = 1 << 27;

impl Misses {
    /// Notes a frame that missed.
    pub(in crate::analysis) fn note(&mut self, sequence: u64) {
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
    pub(in crate::analysis) fn contains(&self, sequence: u64) -> bool {
        let word = self.words.get((sequence / 64) as usize);
        word.is_some_and(|word| word >> (sequence % 64) & 1 == 1)
    }

    /// The longest run of consecutive misses.
    pub(in crate::analysis) fn longest_streak(&self) -> u64 {
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
    fn all_of_many_tenants_keep_no_more_than_a_few_and_the_few_lie_from_start_to_end() {
        let kept = |tenants: usize| {
            let mut timeline = Timeline::<1>::of_one_of(tenants);
            (0..1_000_000).for_each(|n| timeline.push(n, Stamp(0), || [Some(n as i64)]));
            timeline.sort();
            timeline.values(0)
        };
        for tenants in [1, 2, 16, 17, 33, 100, 256] {
            let values = kept(tenants);
            let most = MOST * WHOLE / tenants.max(WHOLE);
            assert!(
                values.len() <= most && values.len() > most / 8,
                "{tenants}: {}",
                values.len()
            );
            let neighbours = values.windows(2).filter(|pair| pair[1] == pair[0] + 1).count();
            assert!(neighbours as f64 > 0.99 * values.len() as f64, "{tenants}");
            assert!(values[0] == 0 && values[values.len() - 1] > 900_000, "{tenants}");
        }
        // More tenants than a run may have keep a few each all the same.
        assert!(kept(100_000).len() > LEAST / 4);
    }

    #[test]
    fn durations_that_no_frame_has_take_no_memory() {
        let mut timeline = Timeline::<3>::default();
        (0..1000).for_each(|n| timeline.push(n, Stamp(0), || [Some(1), None, (n == 900).then_some(5)]));
        assert_eq!(timeline.kinds[1].capacity(), 0);
        timeline.sort();
        assert_eq!(timeline.rows().nth(900), Some([Some(1), None, Some(5)]));
        assert_eq!(timeline.rows().nth(901), Some([Some(1), None, None]));
        assert_eq!(timeline.rows().filter(|row| row[2].is_some()).count(), 1);
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
