//! Intervals of figures, by drawing scenes or blocks of frames anew.
//!
//! Frames that follow one another show the same objects, so single frames are no independent draws: whole scenes are drawn, or
//! blocks of frames where there are few scenes. The interval is that of percentiles (Efron and Tibshirani, 1993, chapter
//! 13). Of two runs over the same frames both are scored on the same draws, so what makes frames hard cancels out of the difference.
//!
//! An interval says how much the figure depends on which scenes were recorded. It says nothing of scenes of another kind.

use jetlag_stats::bootstrap::{block_length, percentiles, times_drawn};
use jetlag_stats::random::SplitMix64;

use crate::benchmark::{Benchmark, Counts, Figure};

/// Fewest scenes or blocks that an interval is made of.
pub const FEWEST_UNITS: u32 = 10;
/// Least share of draws in which a figure must be known.
const LEAST_KNOWN: f64 = 0.9;
/// Scenes from which on they are drawn whole ([`Units::choose`]).
const MANY_SCENES: u32 = 20;
/// A bound on the work, whatever is asked for.
const MOST_RESAMPLES: u32 = 100_000;

/// What is drawn: which frames belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Units {
    of_frame: Vec<u32>,
    count: u32,
    what: &'static str,
}

impl Units {
    /// Whole scenes: frames of the same number belong together.
    pub fn scenes(of_frame: &[u32]) -> Units {
        let mut numbers: Vec<u32> = of_frame.to_vec();
        numbers.sort_unstable();
        numbers.dedup();
        let place = |scene: &u32| numbers.partition_point(|number| number < scene) as u32;
        Units {
            of_frame: of_frame.iter().map(place).collect(),
            count: numbers.len() as u32,
            what: "scenes",
        }
    }

    /// Blocks of so many frames that follow one another, of one scene each; the last of a scene may be shorter.
    pub fn blocks(scene_of_frame: &[u32], length: usize) -> Units {
        let (mut of_frame, mut count, mut within) = (Vec::with_capacity(scene_of_frame.len()), 0u32, 0usize);
        let mut scene = None;
        for number in scene_of_frame {
            if scene != Some(number) || within >= length.max(1) {
                (scene, within) = (Some(number), 0);
                count = count.saturating_add(1);
            }
            within += 1;
            of_frame.push(count - 1);
        }
        Units {
            of_frame,
            count,
            what: "blocks of frames",
        }
    }

    /// Scenes where there are twenty or more, else blocks: as long as the cube root of the number of frames, at which the error of
    /// a block bootstrap falls fastest (Hall, Horowitz and Jing, 1995).
    pub fn choose(scene_of_frame: &[u32]) -> Units {
        let scenes = Units::scenes(scene_of_frame);
        if scenes.count >= MANY_SCENES {
            return scenes;
        }
        Units::blocks(scene_of_frame, block_length(scene_of_frame.len()))
    }

    /// How many there are.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// How many frames they hold.
    pub fn frames(&self) -> usize {
        self.of_frame.len()
    }

    /// `scenes` or `blocks of frames`.
    pub fn what(&self) -> &'static str {
        self.what
    }

    /// Draws as many units as there are, with replacement, and says how often each frame is in them.
    fn draw(&self, random: &mut SplitMix64, times: &mut Vec<u32>, counts: &mut Vec<u32>) {
        times_drawn(self.count, random, times);
        counts.clear();
        counts.extend(
            self.of_frame
                .iter()
                .map(|unit| times.get(*unit as usize).copied().unwrap_or(0)),
        );
    }
}

/// How intervals are made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// How often units are drawn anew; at most 100 000.
    pub resamples: u32,
    /// The share of draws that an interval holds, 0 to 1.
    pub level: f64,
    /// Equal seeds give equal intervals.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            resamples: 1000,
            level: 0.95,
            seed: 0,
        }
    }
}

/// Where a figure may lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// The share of draws that it holds.
    pub level: f64,
}

/// Why a figure has no interval.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum NoInterval {
    /// The figure itself is not known.
    #[error("the figure is not known")]
    NoFigure,
    /// Too little was recorded.
    #[error("{found} {what} are too few for an interval, which takes {FEWEST_UNITS}")]
    TooFewUnits {
        /// How many there are.
        found: u32,
        /// Scenes or blocks.
        what: &'static str,
    },
    /// What the figure is about is in too few of the draws.
    #[error("the figure is known in {known} of {of} draws only: what it is about is in too few scenes")]
    RarelyKnown {
        /// In how many draws it is known.
        known: u32,
        /// How many draws there are.
        of: u32,
    },
}

/// Why two sets of frames cannot be drawn together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{what} has {found} frames, but {wanted} were handed over to be drawn: score both over the same frames"
)]
pub struct FramesDiffer {
    /// Which of them.
    pub what: &'static str,
    /// How many frames it has.
    pub found: usize,
    /// How many it must have.
    pub wanted: usize,
}

/// The interval of each figure, in their order.
///
/// # Errors
/// The units are those of other frames.
pub fn intervals(
    benchmark: &dyn Benchmark,
    units: &Units,
    settings: &Settings,
) -> Result<Vec<Result<Interval, NoInterval>>, FramesDiffer> {
    same_frames("the benchmark", benchmark, units)?;
    let values: Vec<Option<f64>> = values(benchmark.figures(Counts::ONCE));
    Ok(drawn(&values, units, settings, |counts| {
        values_of(benchmark, counts)
    }))
}

/// A figure of two runs over the same frames.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The figure of the first run.
    pub first: Figure,
    /// The figure of the second.
    pub second: Figure,
    /// The second less the first; `None` where either is not known.
    pub difference: Option<f64>,
    /// Where the difference may lie.
    pub interval: Result<Interval, NoInterval>,
}

/// The differences of two runs' figures, from draws that both share. Figures that only one of them has are left out.
///
/// # Errors
/// The two were not scored over the same frames.
pub fn differences(
    first: &dyn Benchmark,
    second: &dyn Benchmark,
    units: &Units,
    settings: &Settings,
) -> Result<Vec<Difference>, FramesDiffer> {
    same_frames("the first run", first, units)?;
    same_frames("the second run", second, units)?;
    let (figures, others) = (first.figures(Counts::ONCE), second.figures(Counts::ONCE));
    // Where in the second run's figures each of the first is.
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    for (number, figure) in figures.iter().enumerate() {
        let same = others.get(number).filter(|other| other.name == figure.name);
        let other = match same {
            Some(_) => Some(number),
            None => others.iter().position(|other| other.name == figure.name),
        };
        pairs.extend(other.map(|other| (number, other)));
    }
    let paired = |first: &[Option<f64>], second: &[Option<f64>]| -> Vec<Option<f64>> {
        let value = |values: &[Option<f64>], number: usize| values.get(number).copied().flatten();
        let pairs = pairs.iter();
        pairs
            .map(|(a, b)| Some(value(second, *b)? - value(first, *a)?))
            .collect()
    };
    let known = paired(&values(figures.clone()), &values(others.clone()));
    let intervals = drawn(&known, units, settings, |counts| {
        paired(&values_of(first, counts), &values_of(second, counts))
    });
    let mut differences = Vec::with_capacity(pairs.len());
    for (((a, b), difference), interval) in pairs.iter().zip(known).zip(intervals) {
        if let (Some(first), Some(second)) = (figures.get(*a), others.get(*b)) {
            differences.push(Difference {
                first: first.clone(),
                second: second.clone(),
                difference,
                interval,
            });
        }
    }
    Ok(differences)
}

fn same_frames(what: &'static str, benchmark: &dyn Benchmark, units: &Units) -> Result<(), FramesDiffer> {
    let (found, wanted) = (benchmark.frames(), units.frames());
    match found == wanted {
        true => Ok(()),
        false => Err(FramesDiffer { what, found, wanted }),
    }
}

fn values(figures: Vec<Figure>) -> Vec<Option<f64>> {
    figures.into_iter().map(|figure| figure.value).collect()
}

fn values_of(benchmark: &dyn Benchmark, counts: &[u32]) -> Vec<Option<f64>> {
    values(benchmark.figures(Counts::new(counts)))
}

fn drawn(
    known: &[Option<f64>],
    units: &Units,
    settings: &Settings,
    mut values: impl FnMut(&[u32]) -> Vec<Option<f64>>,
) -> Vec<Result<Interval, NoInterval>> {
    if units.count < FEWEST_UNITS {
        let (found, what) = (units.count, units.what);
        let too_few = |value: &Option<f64>| match value {
            Some(_) => Err(NoInterval::TooFewUnits { found, what }),
            None => Err(NoInterval::NoFigure),
        };
        return known.iter().map(too_few).collect();
    }
    let resamples = settings.resamples.clamp(1, MOST_RESAMPLES);
    let mut random = SplitMix64::new(settings.seed);
    let (mut times, mut counts) = (Vec::new(), Vec::new());
    let mut draws: Vec<Vec<f64>> = vec![Vec::new(); known.len()];
    for _ in 0..resamples {
        units.draw(&mut random, &mut times, &mut counts);
        for (draws, value) in draws.iter_mut().zip(values(&counts)) {
            draws.extend(value);
        }
    }
    let intervals = known.iter().zip(draws).map(|(known, mut draws)| {
        if known.is_none() {
            return Err(NoInterval::NoFigure);
        }
        let known = draws.len() as u32;
        if f64::from(known) < LEAST_KNOWN * f64::from(resamples) {
            return Err(NoInterval::RarelyKnown { known, of: resamples });
        }
        let level = settings.level.clamp(0.0, 1.0);
        let [low, high] = percentiles(&mut draws, level).ok_or(NoInterval::NoFigure)?;
        Ok(Interval { low, high, level })
    });
    intervals.collect()
}
