//! The course of a run: which frames ran when, and what clocks and power were meanwhile.
//!
//! Of a run of up to [`MOST_FRAMES`] frames all are kept. Of a longer one none are at first; the frames around the slowest ones are
//! then taken in by reading the run again ([`Course::take`]), and each tenant's busy share over time stands for the rest. So memory
//! and the page that draws it are bounded, however long the run.

use super::cells::{self, Cells};
use crate::analysis::gathering::track::{Point, Track, Tracks};
use crate::record::{FrameRecord, Outcome, Part, Phase, Quantity, RailRole};
use crate::units::{Nanos, Stamp};

/// Frames kept at most.
const MOST_FRAMES: usize = 50_000;
/// Slow frames whose surroundings are kept.
const MOST_MOMENTS: usize = 48;
/// Surroundings of a slow frame on either side, in response times of it: what a drawing shows …
const DRAWN: f64 = 0.75;
/// … and what is kept to be scrolled through.
const KEPT: f64 = 5.0;
/// Busy shares of all tenants together, and the fewest of one.
const MOST_BUSY: usize = 4096;
const LEAST_BUSY: usize = 16;
/// Readings of a signal outside of the kept surroundings.
const MOST_READINGS: usize = 1_500;
/// Clocks, and power lines, that are drawn.
const MOST_SIGNALS: usize = 3;

/// The course of a run's measured time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Course {
    /// Where the time axis starts.
    pub zero: Stamp,
    /// Its length.
    pub length: Nanos,
    /// The frames that are kept, by tenant and release.
    pub frames: Vec<FrameRecord>,
    /// Number of frames that the run had.
    pub count: u64,
    /// The surroundings of the slowest frames: of each tenant the slowest first, then of each the second, and so on.
    pub moments: Vec<Moment>,
    /// Where frames are kept, if some are left out: apart, in order.
    pub windows: Vec<Window>,
    /// Each tenant's busy share over time.
    pub busy: Vec<Vec<Busy>>,
    /// Clocks, then power lines.
    pub signals: Vec<CourseSignal>,
}

/// A slow frame, and the stretch of time that is drawn around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Whose frame it is.
    pub tenant: usize,
    /// Its place among the tenant's slowest frames, from 1.
    pub number: usize,
    /// The frame's number among the tenant's releases.
    pub sequence: u64,
    /// Beginning of the stretch.
    pub from: Stamp,
    /// Its end.
    pub to: Stamp,
}

/// A stretch of time of which frames are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Its beginning.
    pub from: Stamp,
    /// Its end.
    pub to: Stamp,
    /// Frames that it still takes.
    room: usize,
}

/// How busy a tenant was in a stretch of time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Busy {
    /// Its beginning, in seconds after the start of the measured time.
    pub from_s: f64,
    /// Its end.
    pub to_s: f64,
    /// The share of the time in which a frame was in service.
    pub share: f64,
    /// Frames released in it that missed.
    pub missed: u64,
}

/// The readings of a clock or power line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CourseSignal {
    /// Name of the signal.
    pub signal: String,
    /// `mhz` or `mw`.
    pub unit: String,
    /// Nanoseconds after the start of the measured time, and the value then.
    pub readings: Vec<(i64, f64)>,
}

/// A slow frame as the explanation of slow frames has it.
pub(in crate::analysis) struct Slow {
    pub(in crate::analysis) tenant: usize,
    pub(in crate::analysis) number: usize,
    pub(in crate::analysis) sequence: u64,
    pub(in crate::analysis) at_s: f64,
    pub(in crate::analysis) response_ms: f64,
}

impl Course {
    /// Whether frames are left out.
    pub fn is_partial(&self) -> bool {
        (self.frames.len() as u64) < self.count
    }

    /// Takes in a frame of a run that is read again, where it is within a window that has room.
    pub fn take(&mut self, frame: &FrameRecord) {
        if !is_of_course(frame) || usize::from(frame.tenant) >= self.busy.len() {
            return;
        }
        let first = self.windows.partition_point(|window| window.to <= frame.released);
        if let Some(window) = self.windows.get_mut(first)
            && window.from < frame.finished
            && window.room > 0
        {
            window.room -= 1;
            self.frames.push(*frame);
            if window.room == 0 {
                // What comes later is left out, and must not look idle.
                window.to = window.to.min(frame.finished);
            }
        }
    }

    /// Puts the frames in order, after the last was taken in.
    pub fn settle(&mut self) {
        self.frames
            .sort_by_key(|frame| (frame.tenant, frame.released, frame.sequence));
    }

    /// The frames within the surroundings of the slowest ones only: what fits where all do not.
    #[must_use]
    pub fn around_the_slowest(mut self) -> Course {
        if self.windows.is_empty() {
            self.windows = windows(&self.moments);
        }
        let windows = &self.windows;
        self.frames.retain(|frame| {
            let first = windows.partition_point(|window| window.to <= frame.released);
            windows
                .get(first)
                .is_some_and(|window| window.from < frame.finished)
        });
        self
    }

    /// The same without the surroundings of the last moments, of which so many stay.
    #[must_use]
    pub fn fewer(mut self, moments: usize) -> Course {
        self.moments.truncate(moments);
        self.windows = windows(&self.moments);
        self.around_the_slowest()
    }
}

/// Frames of the measurement itself, and of its measured time.
fn is_of_course(frame: &FrameRecord) -> bool {
    frame.phase == Phase::Together && !frame.warmup
}

/// What a cell of a tenant's time has.
#[derive(Clone, Copy, Debug, Default)]
struct Load {
    busy: i64,
    missed: u64,
}

impl cells::Cell for Load {
    fn join(self, other: Load) -> Load {
        Load {
            busy: self.busy.saturating_add(other.busy),
            missed: self.missed + other.missed,
        }
    }
}

/// A tenant's load while it is gathered.
#[derive(Clone, Debug, Default)]
struct Loads {
    cells: Cells<Load>,
    /// The end of service so far: frames of one tenant may overlap.
    until: Option<Stamp>,
}

/// Gathers the course while a run goes by.
pub(in crate::analysis) struct Gatherer {
    frames: Vec<FrameRecord>,
    count: u64,
    loads: Vec<Loads>,
    most: usize,
}

impl Gatherer {
    pub(in crate::analysis) fn new(tenants: usize) -> Self {
        Gatherer {
            frames: Vec::new(),
            count: 0,
            loads: vec![Loads::default(); tenants],
            most: MOST_FRAMES,
        }
    }

    /// Takes in a frame.
    pub(in crate::analysis) fn frame(&mut self, frame: &FrameRecord) {
        let Some(loads) = self.loads.get_mut(usize::from(frame.tenant)) else {
            return;
        };
        if !is_of_course(frame) {
            return;
        }
        self.count += 1;
        if self.count <= self.most as u64 {
            self.frames.push(*frame);
        } else if !self.frames.is_empty() {
            self.frames = Vec::new();
        }
        if frame.missed() {
            loads.cells.add(frame.released, Load { busy: 0, missed: 1 });
        }
        let from = loads
            .until
            .map_or(frame.started, |until| until.max(frame.started));
        if frame.outcome != Outcome::Dropped && frame.finished > from {
            let load = |busy: Nanos| Load {
                busy: busy.0,
                missed: 0,
            };
            loads.cells.spread(from, frame.finished, load);
            loads.until = Some(frame.finished);
        }
    }

    /// The course of what was measured in `window`.
    pub(in crate::analysis) fn finish(
        self,
        (from, to): (Stamp, Stamp),
        tracks: &Tracks,
        slowest: impl Iterator<Item = Slow>,
    ) -> Course {
        let mut slowest: Vec<Slow> = slowest.collect();
        slowest.sort_by_key(|slow| (slow.number, slow.tenant));
        slowest.truncate(MOST_MOMENTS);
        let moments: Vec<Moment> = slowest.iter().map(|slow| moment(slow, from)).collect();
        let all_windows = windows(&moments);
        let most = (MOST_BUSY / self.loads.len().max(1)).max(LEAST_BUSY);
        let busy = self
            .loads
            .iter()
            .map(|loads| busy(&loads.cells, (from, to), most));
        let mut course = Course {
            zero: from,
            length: (to - from).max(Nanos::ZERO),
            busy: busy.collect(),
            signals: signals(tracks, (from, to), &all_windows),
            windows: if self.count > self.most as u64 {
                all_windows
            } else {
                Vec::new()
            },
            frames: self.frames,
            count: self.count,
            moments,
        };
        course.settle();
        course
    }
}

fn moment(slow: &Slow, zero: Stamp) -> Moment {
    let response = Nanos((slow.response_ms * 1e6) as i64).max(Nanos(1_000));
    let released = zero + Nanos((slow.at_s * 1e9) as i64);
    let around = Nanos((response.0 as f64 * DRAWN) as i64);
    Moment {
        tenant: slow.tenant,
        number: slow.number,
        sequence: slow.sequence,
        from: released - around,
        to: released + response + around,
    }
}

/// The wider surroundings of these moments, apart and in order.
fn windows(moments: &[Moment]) -> Vec<Window> {
    let more = (KEPT - DRAWN) / (1.0 + 2.0 * DRAWN);
    let mut all: Vec<(Stamp, Stamp)> = moments
        .iter()
        .map(|moment| {
            let more = Nanos(((moment.to - moment.from).0 as f64 * more) as i64);
            (moment.from - more, moment.to + more)
        })
        .collect();
    all.sort_unstable();
    let mut apart: Vec<(Stamp, Stamp)> = Vec::new();
    for (from, to) in all {
        match apart.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            _ => apart.push((from, to)),
        }
    }
    let room = MOST_FRAMES / apart.len().max(1);
    let window = |(from, to)| Window { from, to, room };
    apart.into_iter().map(window).collect()
}

/// At most so many shares; several cells become one.
fn busy(cells: &Cells<Load>, (from, to): (Stamp, Stamp), most: usize) -> Vec<Busy> {
    let within: Vec<(Stamp, Stamp, Load)> = cells
        .iter()
        .filter(|(begins, ends, _)| *ends > from && *begins < to)
        .map(|(begins, ends, load)| (begins, ends, *load))
        .collect();
    let each = within.len().div_ceil(most).max(1);
    let joined = within.chunks(each).filter_map(|part| {
        let (first, last) = (part.first()?, part.last()?);
        let load = part
            .iter()
            .fold(Load::default(), |sum, (.., load)| cells::Cell::join(sum, *load));
        let length = (last.1 - first.0).0 as f64;
        Some(Busy {
            from_s: (first.0 - from).as_secs_f64(),
            to_s: (last.1 - from).as_secs_f64(),
            share: (load.busy as f64 / length).clamp(0.0, 1.0),
            missed: load.missed,
        })
    });
    joined.collect()
}

/// The clocks and power lines that say most: a GPU's and its memory's clock before those of processors, a total before its parts.
fn signals(tracks: &Tracks, window: (Stamp, Stamp), windows: &[Window]) -> Vec<CourseSignal> {
    let chosen = |quantity: Quantity, rank: fn(&Track) -> Option<u8>| {
        let mut known: Vec<(u8, &Track)> = tracks
            .iter()
            .filter(|track| track.quantity() == quantity && !track.within(window).is_empty())
            .filter_map(|track| Some((rank(track)?, track)))
            .collect();
        known.sort_by_key(|(rank, _)| *rank);
        let best = known.first().map(|(rank, _)| *rank);
        // Parts stand in only for what is not there.
        known.retain(|(rank, _)| *rank <= 1 || Some(*rank) == best);
        known.truncate(MOST_SIGNALS);
        known.into_iter().map(|(_, track)| track)
    };
    let clocks = chosen(Quantity::Clock, |track| {
        Some(match track.part() {
            Part::Gpu(_) => 0,
            Part::GpuMemory(_) | Part::MemoryController => 1,
            Part::Processors | Part::Processor(_) => 2,
            _ => 3,
        })
    });
    let power = chosen(Quantity::Power, |track| match track.signal.role {
        RailRole::Total => Some(0),
        RailRole::Input => Some(2),
        RailRole::Summand => Some(3),
        RailRole::Part | RailRole::Within => Some(4),
        _ => None,
    });
    clocks
        .chain(power)
        .map(|track| CourseSignal {
            signal: track.signal.signal.clone(),
            unit: track.signal.unit.clone(),
            readings: readings(track.within(window), window, windows),
        })
        .collect()
}

/// All readings where they are few, and within windows; elsewhere means of neighbours.
fn readings(points: &[Point], (from, to): (Stamp, Stamp), windows: &[Window]) -> Vec<(i64, f64)> {
    let is_kept = |at: Stamp| {
        let first = windows.partition_point(|window| window.to < at);
        windows.get(first).is_some_and(|window| window.from <= at)
    };
    let width = ((to - from).0 / MOST_READINGS as i64).max(1);
    let is_few = points.len() <= MOST_READINGS;
    let cell = |point: &Point| (point.at - from).0 / width;
    let together = |a: &Point, b: &Point| !is_few && cell(a) == cell(b) && !is_kept(a.at) && !is_kept(b.at);
    points
        .chunk_by(together)
        .map(|points| {
            let count = points.len() as f64;
            let at = points.iter().map(|point| (point.at - from).0 as f64).sum::<f64>() / count;
            let value = points.iter().map(|point| point.value).sum::<f64>() / count;
            (at as i64, value)
        })
        .take(4 * MOST_READINGS)
        .collect()
}

#[cfg(test)]
mod tests;
