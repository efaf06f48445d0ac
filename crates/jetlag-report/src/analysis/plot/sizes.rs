//! Durations of frames against the size of their input, and the slope through them.

use super::{Axis, WIDE};
use crate::analysis::input_effect::Fed;
use crate::analysis::summary::InputEffect;
use crate::analysis::summary::input_effect::SizeSlope;

/// Frames that are drawn; more would only make the page larger.
const DOTS: usize = 300;

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

/// What is drawn of these frames; none where nothing is told of their sizes.
pub(in crate::analysis) fn sizes(frames: &[Fed], effect: &InputEffect) -> Option<SizePlot> {
    if effect.withheld.is_some() {
        return None;
    }
    let dots: Vec<Dot> = chosen(frames).map(dot).collect();
    let smallest = frames.iter().map(|frame| frame.size).min()?;
    let largest = frames.iter().map(|frame| frame.size).max()?;
    let ends = [f64::from(smallest), f64::from(largest)];
    let mean = |value: fn(Dot) -> f64| frames.iter().map(dot).map(value).sum::<f64>() / frames.len() as f64;
    let plot = |slope: Option<SizeSlope>, value: fn(Dot) -> f64| {
        let middle = (mean(|dot| dot.size), mean(value));
        let line = slope.and_then(|slope| line(slope, f64::from(effect.per), middle, ends));
        (axis(dots.iter().copied().map(value)), line)
    };
    let margin = (ends[1] - ends[0]) * 0.03;
    Some(SizePlot {
        of: frames.len(),
        size: Axis {
            from: (ends[0] - margin).max(0.0),
            to: ends[1] + margin,
            logarithmic: false,
        },
        service: plot(effect.service, |dot| dot.service_ms),
        response: plot(effect.response, |dot| dot.response_ms),
        dots,
    })
}

fn dot(frame: &Fed) -> Dot {
    Dot {
        size: frame.size.into(),
        service_ms: frame.service as f64 / 1e6,
        response_ms: frame.response as f64 / 1e6,
    }
}

/// Frames at even distances, and the one with the longest response.
fn chosen(frames: &[Fed]) -> impl Iterator<Item = &Fed> {
    let places = frames.len().min(DOTS);
    let even = (0..places).map(|n| n * frames.len() / places.max(1));
    let longest = (0..frames.len()).max_by_key(|&n| frames[n].response);
    let mut places: Vec<usize> = even.chain(longest).collect();
    places.sort_unstable();
    places.dedup();
    places.into_iter().map(|n| &frames[n])
}

fn line(slope: SizeSlope, per: f64, (x, y): (f64, f64), ends: [f64; 2]) -> Option<SizeLine> {
    let of = |slope: f64| ends.map(|end| (end, y + slope / per * (end - x)));
    let [low, high] = slope.ci95?;
    Some(SizeLine {
        line: of(slope.slope_ms?),
        low: of(low),
        high: of(high),
    })
}

/// Like the axis of a distribution: logarithmic where a few values would press all others into a line.
fn axis(values: impl Iterator<Item = f64>) -> Axis {
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
