//! Durations of frames against the size of their input, and the slope through them.

use super::{Axis, WIDE};

/// Durations against the size of the input.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SizePlot {
    /// Frames at even distances of the run, the longest response among them.
    pub dots: Vec<Dot>,
    /// How many frames there are in all.
    pub of: usize,
    /// Axis of sizes.
    pub size: Axis,
    /// Axis of the service time in milliseconds, and the line through it.
    pub service: (Axis, Option<SizeLine>),
    /// The same of the response time.
    pub response: (Axis, Option<SizeLine>),
}

/// One frame.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[allow(missing_docs, reason = "the words say it")]
pub struct Dot {
    pub size: f64,
    pub service_ms: f64,
    pub response_ms: f64,
}

/// A slope as a line through the mean of the frames, over all sizes: its ends, and those of the lines of its interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[allow(missing_docs, reason = "the words say it")]
pub struct SizeLine {
    pub line: [(f64, f64); 2],
    pub low: [(f64, f64); 2],
    pub high: [(f64, f64); 2],
}

/// Like the axis of a distribution: logarithmic where a few values would press all others into a line.
pub(in crate::analysis) fn axis(values: impl Iterator<Item = f64>) -> Axis {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let (Some(&least), Some(&most)) = (values.first(), values.last()) else {
        return Axis::default();
    };
    let middle = values[values.len() / 2];
    if least > 0.0 && most > WIDE * middle {
        return Axis {
            from: least * 0.9,
            to: most * 1.15,
            logarithmic: true,
        };
    }
    let margin = ((most - least) * 0.05).max(most * 1e-3);
    Axis {
        from: (least - margin).max(0.0),
        to: most + margin,
        logarithmic: false,
    }
}
