//! Response times over time in a bounded number of slices, updated while frames go by; see the parent module.

use super::{LowHighMean, Slice};
use crate::record::{FrameRecord, Outcome};
use crate::units::{Nanos, Stamp};

/// Slices of time of one tenant.
const MOST_SLICES: usize = 1024;
/// Width of the narrowest slice as a power of two: 1.05 ms.
const NARROWEST: u32 = 20;

/// Response times over time, while they are gathered.
#[derive(Clone, Debug, Default)]
pub(in crate::analysis) struct Slices {
    cells: Vec<Cell>,
    /// Number of the first cell, counted in cells from the stamp zero.
    first: i64,
    /// Width of a cell as a power of two of nanoseconds.
    width: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    low: i64,
    high: i64,
    sum: i128,
    completed: u64,
    missed: u64,
    dropped: u64,
}

impl Cell {
    fn join(self, other: Cell) -> Cell {
        let (low, high) = match (self.completed, other.completed) {
            (_, 0) => (self.low, self.high),
            (0, _) => (other.low, other.high),
            _ => (self.low.min(other.low), self.high.max(other.high)),
        };
        Cell {
            low,
            high,
            sum: self.sum + other.sum,
            completed: self.completed + other.completed,
            missed: self.missed + other.missed,
            dropped: self.dropped + other.dropped,
        }
    }

    fn is_empty(&self) -> bool {
        self.completed == 0 && self.missed == 0 && self.dropped == 0
    }
}

impl Slices {
    /// Takes in a frame that counts.
    pub(in crate::analysis) fn push(&mut self, frame: &FrameRecord) {
        let response = frame.response().0;
        let completed = frame.outcome == Outcome::Completed;
        let cell = Cell {
            low: response,
            high: response,
            sum: if completed { i128::from(response) } else { 0 },
            completed: u64::from(completed),
            missed: u64::from(frame.missed()),
            dropped: u64::from(frame.outcome == Outcome::Dropped),
        };
        let place = self.place(frame.released);
        if let Some(known) = self.cells.get_mut(place) {
            *known = known.join(cell);
        }
    }

    /// The index of a timestamp's cell, which exists from then on.
    fn place(&mut self, at: Stamp) -> usize {
        if self.cells.is_empty() {
            self.width = NARROWEST;
            self.first = at.0 >> self.width;
            self.cells.push(Cell::default());
            return 0;
        }
        loop {
            let number = at.0 >> self.width;
            let last = self.first + self.cells.len() as i64 - 1;
            let (first, last) = (self.first.min(number), last.max(number));
            // Both are small: a width of 2²⁰ ns leaves 43 bits.
            if last - first < MOST_SLICES as i64 {
                let before = (self.first - first) as usize;
                if before > 0 {
                    self.cells
                        .splice(0..0, std::iter::repeat_n(Cell::default(), before));
                    self.first = first;
                }
                let length = (last - first + 1) as usize;
                if self.cells.len() < length {
                    self.cells.resize(length, Cell::default());
                }
                return (number - self.first) as usize;
            }
            self.widen();
        }
    }

    fn widen(&mut self) {
        self.width += 1;
        let first = self.first >> 1;
        let mut joined: Vec<Cell> = Vec::with_capacity(self.cells.len() / 2 + 1);
        for (number, cell) in (self.first..).zip(&self.cells) {
            let place = ((number >> 1) - first) as usize;
            match joined.get_mut(place) {
                Some(known) => *known = known.join(*cell),
                None => joined.push(*cell),
            }
        }
        (self.first, self.cells) = (first, joined);
    }

    /// The slices, in seconds after `zero`.
    pub(super) fn finish(&self, zero: Stamp) -> Vec<Slice> {
        let filled = (self.first..)
            .zip(&self.cells)
            .filter(|(_, cell)| !cell.is_empty());
        filled
            .map(|(number, cell)| {
                let from = Stamp(number << self.width);
                Slice {
                    from_s: (from - zero).as_secs_f64(),
                    to_s: (from + Nanos(1 << self.width) - zero).as_secs_f64(),
                    response_ms: (cell.completed > 0).then(|| LowHighMean {
                        low: Nanos(cell.low).as_millis_f64(),
                        high: Nanos(cell.high).as_millis_f64(),
                        mean: cell.sum as f64 / cell.completed as f64 / 1e6,
                    }),
                    completed: cell.completed,
                    missed: cell.missed,
                    dropped: cell.dropped,
                }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::coarser;
    use super::*;
    use crate::record::Phase;

    fn frame(released_ms: i64, response_us: i64) -> FrameRecord {
        let released = Stamp(released_ms * 1_000_000);
        FrameRecord {
            tenant: 0,
            phase: Phase::Together,
            warmup: false,
            outcome: Outcome::Completed,
            sequence: 0,
            source_index: 0,
            released,
            started: released,
            finished: released + Nanos::from_micros(response_us),
            lateness: Nanos::ZERO,
            stages: [None; 8],
            deadline: Some(Nanos::from_millis(33)),
            detections: 0,
            input_size: 0,
            submission: None,
        }
    }

    /// Frames at 100 Hz of which some are slow, by number.
    fn run(frames: i64, spikes: &[i64]) -> Vec<FrameRecord> {
        let frames = (0..frames).map(|n| {
            let slow = if spikes.contains(&n) { 400_000 + n % 977 } else { 0 };
            frame(n * 10, 9_000 + n * 37 % 1_000 + slow)
        });
        frames.collect()
    }

    fn sliced<'a>(frames: impl Iterator<Item = &'a FrameRecord>) -> Vec<Slice> {
        let mut slices = Slices::default();
        frames.for_each(|frame| slices.push(frame));
        slices.finish(Stamp(0))
    }

    #[test]
    fn of_a_long_run_every_spike_and_every_miss_is_still_there() {
        let spikes = [0, 17, 40_000, 123_456, 200_001, 299_999];
        let frames = run(300_000, &spikes);
        let slices = sliced(frames.iter());
        assert!(
            slices.len() <= MOST_SLICES && slices.len() > MOST_SLICES / 4,
            "{}",
            slices.len()
        );
        assert_eq!(slices.iter().map(|slice| slice.completed).sum::<u64>(), 300_000);
        assert_eq!(slices.iter().map(|slice| slice.missed).sum::<u64>(), 6);
        for spike in spikes {
            let ms = frames[spike as usize].response().as_millis_f64();
            let seen = slices
                .iter()
                .filter_map(|slice| slice.response_ms)
                .any(|response| response.high >= ms);
            assert!(seen, "{spike}");
        }
        // The first two share a slice; the others stand alone.
        let high = slices
            .iter()
            .filter(|slice| slice.response_ms.unwrap().high > 300.0);
        assert_eq!(high.count(), 5);
        let fewer = coarser(&slices, 100);
        assert!(fewer.len() <= 101);
        let highest = |slices: &[Slice]| {
            slices
                .iter()
                .map(|s| s.response_ms.unwrap().high)
                .fold(0.0, f64::max)
        };
        assert_eq!(highest(&fewer), highest(&slices));
        assert_eq!(fewer.iter().map(|slice| slice.completed).sum::<u64>(), 300_000);
        let mean = slices[3].response_ms.unwrap().mean;
        assert!((9.0..10.0).contains(&mean), "{mean}");
    }

    #[test]
    fn the_order_of_frames_changes_no_slice_and_absurd_stamps_take_no_memory() {
        let frames = run(5_000, &[77]);
        assert_eq!(sliced(frames.iter()), sliced(frames.iter().rev()));
        let mut slices = Slices::default();
        for at in [0, i64::MAX, i64::MIN, 5, -5, i64::MAX / 2] {
            slices.push(&FrameRecord {
                released: Stamp(at),
                finished: Stamp(at),
                ..frame(0, 0)
            });
        }
        assert!(slices.cells.len() <= MOST_SLICES);
        let kept: u64 = slices.cells.iter().map(|cell| cell.completed).sum();
        assert_eq!(kept, 6);
        slices.finish(Stamp(0));
    }

    #[test]
    fn slices_are_as_narrow_as_so_many_of_them_allow() {
        let of = |slices: i64| {
            let mut gathered = Slices::default();
            let narrowest = 1i64 << NARROWEST;
            for at in [0, (slices - 1) * narrowest] {
                let mut frame = frame(0, 9_000);
                frame.released = Stamp(at);
                gathered.push(&frame);
            }
            (gathered.width, gathered.cells.len())
        };
        assert_eq!(of(MOST_SLICES as i64), (NARROWEST, MOST_SLICES));
        assert_eq!(of(MOST_SLICES as i64 + 1), (NARROWEST + 1, MOST_SLICES / 2 + 1));
    }
}
