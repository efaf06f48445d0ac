//! How a tenant's times go with the size of its input: what is estimated (`slope`), and what of it may be said.
//!
//! The size is known before a frame runs and depends on nothing that the frame does. That makes the slope one *between
//! inputs*, and not a proof that size is the cause: larger sweeps may have more objects too. Slow changes of size are left
//! out, because everything else that changes slowly (clocks, heat, other programs) may go with them by chance. Which frames
//! are dropped depends on those before them, and not on their own service. docs/measurement.md has the definitions and how
//! often the intervals hold the truth.

mod course;
mod drawn;
mod fast;
mod slope;

pub(in crate::analysis) use drawn::drawn;

use crate::analysis::gathering::dependence::about;
use crate::analysis::stats::six_decimals;
use crate::analysis::summary::input_effect::{Counted, InputEffect, SizeSlope, Sizes, WhyWithheld, Withheld};
use crate::record::Stage;
use crate::scenario::{Sensor, SourceSpec};
use jetlag_stats::median::upper_median;
use slope::{Sized, Slope, Unknown};

/// From p10 to p90 sizes must differ by this share of their median; less is of no consequence, and often only a few frames.
const LEAST_SPREAD: f64 = 0.05;
/// Half of an interval, from p10 to p90 of the sizes, may be this share of the median service time, or of the median
/// response time.
const WIDEST: f64 = 0.25;

/// What a completed frame was fed, and what it took, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::analysis) struct Fed {
    /// Points or pixels.
    pub(in crate::analysis) size: u32,
    /// Index of the content in its source.
    pub(in crate::analysis) content: Option<i64>,
    pub(in crate::analysis) response: i64,
    pub(in crate::analysis) service: i64,
    /// As [`Stage::ALL`].
    pub(in crate::analysis) stages: [Option<i64>; 9],
}

/// The effect over frames in order of time; `None` where nothing was fed.
pub(in crate::analysis) fn of(frames: &[Fed], source: &SourceSpec) -> Option<InputEffect> {
    let size = sizes(frames)?;
    let of = counted(source);
    let per = match of {
        Some(Counted::Pixels) => 1_000_000,
        Some(Counted::Points) | None => 1_000,
    };
    let (inputs, places) = places(frames);
    let mut effect = InputEffect {
        of,
        per,
        frames: frames.len() as u64,
        inputs: inputs as u64,
        size,
        withheld: None,
        service: None,
        response: None,
        stages: Vec::new(),
        most_in: None,
    };
    let spread = f64::from(size.p90 - size.p10);
    if spread < LEAST_SPREAD * f64::from(size.p50) {
        effect.withheld = Some(Withheld {
            why: WhyWithheld::SizesAlike,
            needs: None,
        });
        return Some(effect);
    }
    let judge = |usual: fn(&Fed) -> i64| Judge {
        per: f64::from(per),
        spread,
        usual: median(frames.iter().map(usual)),
    };
    let (served, responded) = (judge(|frame| frame.service), judge(|frame| frame.response));
    let of_each = |value: &dyn Fn(&Fed) -> Option<i64>| served.series(frames, &places, inputs, value);
    effect.service = of_each(&|frame| Some(frame.service));
    effect.response = responded.series(frames, &places, inputs, &|frame| Some(frame.response));
    let stages = Stage::ALL.into_iter().zip(0..);
    effect.stages = stages
        .filter_map(|(stage, number): (Stage, usize)| {
            Some((stage.name(), of_each(&|frame| frame.stages[number])?))
        })
        .collect();
    effect.most_in = most_in(effect.service.as_ref(), &effect.stages);
    Some(effect)
}

/// What a source's sizes count; a bag's topic may be either.
fn counted(source: &SourceSpec) -> Option<Counted> {
    let of = |sensor: Sensor| match sensor {
        Sensor::Camera => Counted::Pixels,
        Sensor::Lidar => Counted::Points,
    };
    match source {
        SourceSpec::Images { .. } | SourceSpec::Video(_) | SourceSpec::Camera(_) => Some(Counted::Pixels),
        SourceSpec::Points { .. } => Some(Counted::Points),
        SourceSpec::Synthetic { sensor, .. } => Some(of(*sensor)),
        SourceSpec::Kitti(spec) => Some(of(spec.sensor)),
        SourceSpec::Cameras(_) => Some(Counted::Pixels),
        // The points of its sweep; images of one camera have one size.
        SourceSpec::Synchronised(set) => counted(&set.lidar),
        SourceSpec::NuScenes(spec) if spec.sensor.starts_with("CAM") => Some(Counted::Pixels),
        SourceSpec::NuScenes(_) => Some(Counted::Points),
        SourceSpec::Bag(_) | SourceSpec::Empty => None,
    }
}

fn sizes(frames: &[Fed]) -> Option<Sizes> {
    let mut sizes: Vec<u32> = frames.iter().map(|frame| frame.size).collect();
    sizes.sort_unstable();
    let of = |tenths: usize| {
        sizes
            .get((sizes.len() * tenths).div_ceil(10).checked_sub(1)?)
            .copied()
    };
    Some(Sizes {
        p10: of(1)?,
        p50: of(5)?,
        p90: of(9)?,
    })
}

fn median(values: impl Iterator<Item = i64>) -> f64 {
    upper_median(&mut values.collect::<Vec<i64>>(), Ord::cmp).unwrap_or(0) as f64
}

/// How many distinct inputs there are, and of each frame the place of its input, in the order of the source. A frame whose
/// content has no index counts as an input of its own.
fn places(frames: &[Fed]) -> (usize, Vec<usize>) {
    let known = || frames.iter().map(|frame| frame.content);
    if known().any(|content| content.is_none()) {
        return (frames.len(), (0..frames.len()).collect());
    }
    let mut distinct: Vec<i64> = known().flatten().collect();
    distinct.sort_unstable();
    distinct.dedup();
    let place = |content| distinct.binary_search(&content).unwrap_or_else(|place| place);
    (distinct.len(), known().flatten().map(place).collect())
}

/// What makes a slope one that is told.
struct Judge {
    per: f64,
    /// From p10 to p90 of the sizes.
    spread: f64,
    /// The median service or response time, nanoseconds.
    usual: f64,
}

impl Judge {
    /// The slope of one duration; `None` where no frame has it.
    fn series(
        &self,
        frames: &[Fed],
        places: &[usize],
        inputs: usize,
        value: &dyn Fn(&Fed) -> Option<i64>,
    ) -> Option<SizeSlope> {
        let with: Vec<Sized> = frames
            .iter()
            .zip(places)
            .filter_map(|(frame, &input)| {
                Some(Sized {
                    size: frame.size.into(),
                    took: value(frame)? as f64,
                    input,
                })
            })
            .collect();
        if with.is_empty() {
            return None;
        }
        let (inputs, with) = if with.len() < frames.len() {
            closed_up(with)
        } else {
            (inputs, with)
        };
        Some(match slope::slope(&with, inputs) {
            Ok(slope) => self.told(slope, inputs),
            Err(unknown) => SizeSlope {
                withheld: Some(reason(unknown)),
                ..SizeSlope::default()
            },
        })
    }

    fn told(&self, slope: Slope, inputs: usize) -> SizeSlope {
        let half = (slope.ci95[1] - slope.ci95[0]) / 2.0 * self.spread;
        let most = WIDEST * self.usual;
        if half > most {
            // The width falls with the root of the inputs.
            let needs = (half / most).powi(2) * inputs as f64;
            return SizeSlope {
                withheld: Some(Withheld {
                    why: WhyWithheld::WideInterval,
                    needs: (needs < 1e12).then(|| about(needs)),
                }),
                ..SizeSlope::default()
            };
        }
        let per_ms = |ns: f64| six_decimals(ns * self.per / 1e6);
        SizeSlope {
            slope_ms: Some(per_ms(slope.slope)),
            ci95: Some(slope.ci95.map(per_ms)),
            across_ms: Some(six_decimals(slope.slope * self.spread / 1e6)),
            correlation: slope.correlation.map(six_decimals),
            variance_share: slope.correlation.map(|r| six_decimals(r * r)),
            withheld: None,
        }
    }
}

/// Places without gaps, where some inputs have no frame left.
fn closed_up(mut frames: Vec<Sized>) -> (usize, Vec<Sized>) {
    let mut inputs: Vec<usize> = frames.iter().map(|frame| frame.input).collect();
    inputs.sort_unstable();
    inputs.dedup();
    for frame in &mut frames {
        frame.input = inputs.binary_search(&frame.input).unwrap_or_else(|place| place);
    }
    (inputs.len(), frames)
}

fn reason(unknown: Unknown) -> Withheld {
    let (why, needs) = match unknown {
        Unknown::Few(needs) => (WhyWithheld::FewInputs, Some(needs)),
        Unknown::Slow => (WhyWithheld::SlowSizes, None),
        Unknown::Stretches => (WhyWithheld::FewStretches, None),
    };
    Withheld { why, needs }
}

/// The stage with at least half of the slope, where both are clearly of the same sign.
fn most_in(service: Option<&SizeSlope>, stages: &[(&'static str, SizeSlope)]) -> Option<&'static str> {
    let whole = service.filter(|service| service.is_clear())?.slope_ms?;
    let share = |slope: &SizeSlope| {
        slope
            .slope_ms
            .filter(|_| slope.is_clear())
            .map(|slope| slope / whole)
    };
    stages
        .iter()
        .filter_map(|(name, slope)| Some((*name, share(slope)?)))
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .filter(|(_, share)| *share >= 0.5)
        .map(|(name, _)| name)
}

#[cfg(test)]
mod tests;
