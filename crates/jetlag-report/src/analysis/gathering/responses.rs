//! A tenant's response times in one phase: all of them as a distribution, and those that are kept in order of time, which
//! tell how much they repeat each other.

use crate::analysis::gathering::dependence::Dependence;
use crate::analysis::gathering::series::{Distribution, Series};
use crate::analysis::gathering::timeline::Placed;
use crate::analysis::gathering::waiting::{Line, Waiting};
use crate::units::{Nanos, Stamp};

/// More than any two frames that are neighbours are apart.
const APART: u64 = 1 << 32;

/// A tenant's response times in one phase: the complete distribution, and the values in order of time.
pub(in crate::analysis) struct Responses {
    pub(in crate::analysis) distribution: Distribution,
    pub(in crate::analysis) in_order: Vec<i64>,
    /// Those in order, with their places in the run.
    placed: Vec<Placed>,
    pub(in crate::analysis) line: Line,
}

impl Default for Responses {
    fn default() -> Self {
        Responses::new(Series::default().finish(), std::iter::empty(), Line::default())
    }
}

impl Responses {
    /// From a complete series and its frames in order, with the line that they waited in.
    pub(in crate::analysis) fn new(
        distribution: Distribution,
        placed: impl Iterator<Item = Placed>,
        line: Line,
    ) -> Self {
        let placed: Vec<Placed> = placed.collect();
        Responses {
            distribution,
            in_order: placed.iter().map(|frame| frame.took).collect(),
            placed,
            line,
        }
    }

    /// The frames that are kept in order, with their places in their phase.
    pub(in crate::analysis) fn placed(&self) -> &[Placed] {
        &self.placed
    }

    /// Adds the frames of another phase that are kept in order, after its own. Only [`Responses::all`] makes figures of them.
    pub(in crate::analysis) fn append(&mut self, later: &Responses) {
        // Frames of two phases are no neighbours, whatever their numbers.
        let after = self
            .placed
            .last()
            .map_or(0, |last| last.sequence.saturating_add(APART));
        self.placed.extend(later.placed.iter().map(|frame| Placed {
            sequence: after.saturating_add(frame.sequence),
            unit: after.saturating_add(frame.unit),
            ..*frame
        }));
    }

    /// The sample of all frames that are kept in order.
    pub(in crate::analysis) fn all(&self) -> Responses {
        self.within(Stamp(i64::MIN), Stamp(i64::MAX))
    }

    /// When each frame that is kept in order was done.
    pub(in crate::analysis) fn finished(&self) -> impl Iterator<Item = Stamp> {
        self.placed.iter().map(|frame| frame.released + Nanos(frame.took))
    }

    /// How strongly its frames are autocorrelated, with what the line predicts.
    pub(in crate::analysis) fn dependence(&self) -> Dependence {
        let waiting = Waiting::of(&self.placed, self.line);
        self.distribution.dependence(&self.in_order).waiting(waiting)
    }

    /// Frames that were released and finished within a time window; for very long runs, those of them that are kept in
    /// order.
    pub(in crate::analysis) fn within(&self, from: Stamp, to: Stamp) -> Responses {
        let inside = self
            .placed
            .iter()
            .filter(|frame| frame.released >= from && frame.released + Nanos(frame.took) <= to);
        let mut series = Series::default();
        inside
            .clone()
            .for_each(|frame| series.push(Nanos(frame.took), true));
        Responses::new(series.finish(), inside.copied(), self.line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_within_a_stretch_is_of_frames_that_begin_and_end_in_it() {
        let mut series = Series::default();
        let timed = [(0, 10), (10, 10), (20, 10), (30, 10), (31, 10)];
        timed.iter().for_each(|&(_, took)| series.push(Nanos(took), true));
        let placed = timed
            .into_iter()
            .zip(0..)
            .map(|((released, took), sequence)| Placed {
                sequence,
                released: Stamp(released),
                took,
                unit: sequence,
            });
        let sample = Responses::new(series.finish(), placed, Line::default());
        let inside = sample.within(Stamp(10), Stamp(40));
        let released: Vec<Stamp> = inside.placed.iter().map(|frame| frame.released).collect();
        assert_eq!(released, [Stamp(10), Stamp(20), Stamp(30)]);
        assert_eq!(inside.distribution.count(), 3);
    }
}
