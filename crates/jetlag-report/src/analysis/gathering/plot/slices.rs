//! Response times over time in a bounded number of slices, updated while frames go by; see the parent module.

use super::cells::{self, Cells};
use super::{LowHighMean, Slice};
use crate::record::{FrameRecord, Outcome};
use crate::units::{Nanos, Stamp};

/// Response times over time, while they are gathered.
#[derive(Clone, Debug, Default)]
pub(in crate::analysis) struct Slices(Cells<Cell>);

#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    low: i64,
    high: i64,
    sum: i128,
    completed: u64,
    missed: u64,
    dropped: u64,
}

impl cells::Cell for Cell {
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
}

impl Cell {
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
        self.0.add(frame.released, cell);
    }

    /// The slices, in seconds after `zero`.
    pub(super) fn finish(&self, zero: Stamp) -> Vec<Slice> {
        let filled = self.0.iter().filter(|(.., cell)| !cell.is_empty());
        filled
            .map(|(from, to, cell)| Slice {
                from_s: (from - zero).as_secs_f64(),
                to_s: (to - zero).as_secs_f64(),
                response_ms: (cell.completed > 0).then(|| LowHighMean {
                    low: Nanos(cell.low).as_millis_f64(),
                    high: Nanos(cell.high).as_millis_f64(),
                    mean: cell.sum as f64 / cell.completed as f64 / 1e6,
                }),
                completed: cell.completed,
                missed: cell.missed,
                dropped: cell.dropped,
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::cells::{MOST_CELLS, NARROWEST};
    use super::super::coarser;
    use super::*;

    fn frame(released_ms: i64, response_us: i64) -> FrameRecord {
        let released = Stamp(released_ms * 1_000_000);
        FrameRecord {
            deadline: Some(Nanos::from_millis(33)),
            ..FrameRecord::completed(released, released + Nanos::from_micros(response_us))
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
            slices.len() <= MOST_CELLS && slices.len() > MOST_CELLS / 4,
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
        assert!(slices.0.cells.len() <= MOST_CELLS);
        let kept: u64 = slices.0.cells.iter().map(|cell| cell.completed).sum();
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
            (gathered.0.width, gathered.0.cells.len())
        };
        assert_eq!(of(MOST_CELLS as i64), (NARROWEST, MOST_CELLS));
        assert_eq!(of(MOST_CELLS as i64 + 1), (NARROWEST + 1, MOST_CELLS / 2 + 1));
    }
}
