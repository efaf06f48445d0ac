//! What a page draws: frames by the size of their input, and the slope through them.

use super::Fed;
use crate::analysis::gathering::plot::{self, Axis, Dot, SizeLine, SizePlot};
use crate::analysis::summary::InputEffect;
use crate::analysis::summary::input_effect::SizeSlope;

/// Frames that are drawn; more would only make the page larger.
const DOTS: usize = 300;

/// What is drawn of these frames; none where nothing is told of their sizes.
pub(in crate::analysis) fn drawn(frames: &[Fed], effect: &InputEffect) -> Option<SizePlot> {
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
        (plot::size_axis(dots.iter().copied().map(value)), line)
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
