//! Figures for people and for programs: what is known, how surely, and why the rest is not.
//!
//! `section` makes tables of these values, `json` values for programs. Neither computes.

mod json;
mod section;

pub use section::Section;

use crate::benchmark::{Benchmark, Counts, Figure};
use crate::bootstrap::{self, Difference, FramesDiffer, Interval, NoInterval, Settings, Units};

/// Which truth answers were held against: [`crate::stream`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// That of the frame's own time.
    Still,
    /// That of the moment when the answer was there.
    Stream,
}

impl Mode {
    /// `still` or `stream`.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Still => "still",
            Mode::Stream => "stream",
        }
    }

    fn meaning(self) -> &'static str {
        match self {
            Mode::Still => "truth at each frame's own time",
            Mode::Stream => "truth at the moment when the answer was ready",
        }
    }
}

/// A figure, and where it may lie.
#[derive(Clone, Debug, PartialEq)]
pub struct Scored {
    /// The figure.
    pub figure: Figure,
    /// Its interval, or why it has none; `None` where none was asked for.
    pub interval: Option<Result<Interval, NoInterval>>,
}

/// Everything that is said of one set of answers.
#[derive(Clone, Debug, PartialEq)]
pub struct Scores {
    /// Whose rules: `COCO`, `KITTI`, `nuScenes`.
    pub benchmark: &'static str,
    /// What truth was taken.
    pub mode: Mode,
    /// How many frames were scored.
    pub frames: usize,
    /// The figures, the main ones first.
    pub figures: Vec<Scored>,
    /// What was drawn for the intervals, and how often.
    pub drawn: Option<Drawn>,
    /// What a reader must know.
    pub notes: Vec<String>,
}

/// How intervals were made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drawn {
    /// Scenes or blocks.
    pub units: u32,
    /// `scenes` or `blocks of frames`.
    pub what: &'static str,
    /// The settings.
    pub settings: Settings,
}

impl Scores {
    /// The figures of a benchmark, without intervals.
    pub fn plain(benchmark: &dyn Benchmark, mode: Mode) -> Scores {
        let figures = benchmark.figures(Counts::ONCE);
        Scores {
            benchmark: benchmark.name(),
            mode,
            frames: benchmark.frames(),
            figures: figures
                .into_iter()
                .map(|figure| Scored {
                    figure,
                    interval: None,
                })
                .collect(),
            drawn: None,
            notes: benchmark.notes(),
        }
    }

    /// The figures of a benchmark, with intervals.
    ///
    /// # Errors
    /// The units are those of other frames.
    pub fn with_intervals(
        benchmark: &dyn Benchmark,
        mode: Mode,
        units: &Units,
        settings: &Settings,
    ) -> Result<Scores, FramesDiffer> {
        let mut scores = Scores::plain(benchmark, mode);
        let intervals = bootstrap::intervals(benchmark, units, settings)?;
        for (scored, interval) in scores.figures.iter_mut().zip(intervals) {
            scored.interval = Some(interval);
        }
        scores.drawn = Some(Drawn::of(units, settings));
        Ok(scores)
    }

    /// A figure by its name; `ap`, `car.ap`, `nds`.
    pub fn figure(&self, name: &str) -> Option<&Figure> {
        let mut figures = self.figures.iter().map(|scored| &scored.figure);
        figures.find(|figure| figure.name == name)
    }

    /// For people; `tenant` is whose they are.
    pub fn section(&self, tenant: &str) -> Section {
        section::scores(self, tenant)
    }

    /// For programs.
    pub fn to_json(&self) -> serde_json::Value {
        json::scores(self)
    }
}

impl Drawn {
    fn of(units: &Units, settings: &Settings) -> Self {
        Drawn {
            units: units.count(),
            what: units.what(),
            settings: *settings,
        }
    }
}

/// Two runs over the same frames, side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Whose rules.
    pub benchmark: &'static str,
    /// What truth was taken.
    pub mode: Mode,
    /// How many frames were scored.
    pub frames: usize,
    /// What the runs are called.
    pub names: [String; 2],
    /// Their figures and differences, the main ones first.
    pub differences: Vec<Difference>,
    /// What was drawn for the intervals, and how often.
    pub drawn: Drawn,
    /// What a reader must know.
    pub notes: Vec<String>,
}

impl Comparison {
    /// Compares two runs that were scored over the same frames, in the same order.
    ///
    /// # Errors
    /// They were not, or the units are those of other frames.
    pub fn of(
        names: [String; 2],
        runs: [&dyn Benchmark; 2],
        mode: Mode,
        units: &Units,
        settings: &Settings,
    ) -> Result<Comparison, FramesDiffer> {
        let [first, second] = runs;
        let mut notes = first.notes();
        for note in second.notes() {
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
        Ok(Comparison {
            benchmark: first.name(),
            mode,
            frames: first.frames(),
            names,
            differences: bootstrap::differences(first, second, units, settings)?,
            drawn: Drawn::of(units, settings),
            notes,
        })
    }

    /// For people; `tenant` is whose they are.
    pub fn section(&self, tenant: &str) -> Section {
        section::comparison(self, tenant)
    }

    /// For programs.
    pub fn to_json(&self) -> serde_json::Value {
        json::comparison(self)
    }
}
