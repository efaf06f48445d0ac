//! What a frame costs that is inferred together with others: its own preparation, and its part of the inference. What it waits until the
//! batch is full is no work, and its service time has both.

use jetlag_stats::moments::Moments;

use crate::record::{FrameRecord, Stage};

/// Stages that a batch has in common.
const TOGETHER: [Stage; 3] = [Stage::H2d, Stage::Compute, Stage::D2h];
/// Stages that each of its frames has for itself.
const APART: [Stage; 4] = [
    Stage::Acquire,
    Stage::Decode,
    Stage::Preprocess,
    Stage::Postprocess,
];

/// Collects the work of the fullest batches: only these are as many as there are where there is too much to do.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::analysis) struct BatchWork {
    items: u32,
    frames: Moments,
}

/// Work of one frame in the fullest batches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::analysis) struct Work {
    /// Frames in such a batch.
    pub(in crate::analysis) items: u32,
    /// Mean in milliseconds.
    pub(in crate::analysis) mean_ms: f64,
    /// Standard deviation over the mean.
    pub(in crate::analysis) cv: f64,
    /// Batches that it was seen in.
    pub(in crate::analysis) batches: f64,
}

impl BatchWork {
    /// Adds a completed frame.
    pub(in crate::analysis) fn frame(&mut self, frame: &FrameRecord) {
        let Some(batch) = frame.batch.filter(|batch| batch.items >= self.items) else {
            return;
        };
        if batch.items > self.items {
            *self = BatchWork {
                items: batch.items,
                frames: Moments::default(),
            };
        }
        let sum = |stages: &[Stage]| -> f64 {
            let took = stages.iter().filter_map(|stage| frame.stages[*stage as usize]);
            took.map(|took| took.as_millis_f64()).sum()
        };
        self.frames
            .add(sum(&APART) + sum(&TOGETHER) / f64::from(batch.items));
    }

    /// The work of one frame; `None` where no frame was in a batch.
    pub(in crate::analysis) fn finish(&self) -> Option<Work> {
        (self.items > 0).then(|| Work {
            items: self.items,
            mean_ms: self.frames.mean(),
            cv: self.frames.variance().sqrt() / self.frames.mean().max(f64::MIN_POSITIVE),
            batches: self.frames.count() / f64::from(self.items),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::BatchPart;
    use crate::units::{Nanos, Stamp};

    fn frame(items: u32, waited: i64, compute: i64) -> FrameRecord {
        let mut frame = FrameRecord::completed(Stamp(0), Stamp((waited + compute + 3) * 1_000_000));
        frame.batch = Some(BatchPart { first: 0, items });
        frame.stages[Stage::Preprocess as usize] = Some(Nanos::from_millis(2));
        frame.stages[Stage::Queue as usize] = Some(Nanos::from_millis(waited));
        frame.stages[Stage::Compute as usize] = Some(Nanos::from_millis(compute));
        frame.stages[Stage::Postprocess as usize] = Some(Nanos::from_millis(1));
        frame
    }

    #[test]
    fn a_frame_costs_its_part_of_the_fullest_batches_and_not_what_it_waited() {
        let mut work = BatchWork::default();
        assert_eq!(work.finish(), None);
        // A batch of two comes before the first full one, and one of three after it.
        for (items, waited, compute) in [
            (2, 30, 12),
            (4, 100, 20),
            (4, 66, 20),
            (4, 33, 20),
            (4, 0, 20),
            (3, 9, 90),
        ] {
            work.frame(&frame(items, waited, compute));
        }
        let found = work.finish().unwrap();
        assert_eq!(
            (found.items, found.mean_ms, found.cv, found.batches),
            (4, 8.0, 0.0, 1.0)
        );
    }

    #[test]
    fn a_frame_with_an_inference_of_its_own_is_no_batch() {
        let mut work = BatchWork::default();
        work.frame(&FrameRecord::completed(Stamp(0), Stamp(9)));
        assert_eq!(work.finish(), None);
    }
}
