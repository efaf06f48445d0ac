//! What all tenants did around one slow frame: a row for each, clocks and power below on the same time axis.
//!
//! Blocks of one look are one path; blocks that no pixel can tell apart are one block.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::{FINE, Figure, Size, escaped, framed, mark, marks};
use crate::analysis::plot::{Axis, Course, CourseSignal, Moment};
use crate::analysis::trace::{Lanes, Span, stages};
use crate::number::{TimeUnit, short};
use crate::record::{FrameRecord, Outcome, Stage};
use crate::sections::traced::names::shortened;
use crate::units::{Nanos, Stamp};

/// In pixels: width of the drawing, its left and right edge, height of a lane and of a chart of a signal.
const WIDTH: i32 = 430;
const LEFT: i32 = 92;
const RIGHT: i32 = 424;
const LANE: i32 = 13;
const SIGNAL: i32 = 48;
/// Above and below a row's blocks: waits, misses, and what is between rows.
const STRIP: i32 = 4;
const BETWEEN: i32 = 7;
const BELOW: i32 = 20;
/// Rows and lanes drawn; more would not be told apart.
const MOST_ROWS: usize = 10;
const MOST_LANES: usize = 4;
/// Frames of a row with stages, and with values under the pointer; more cannot be told apart.
const MOST_FRAMES: usize = 100;
const MOST_TOLD: usize = 60;

/// A tenant's row.
pub(in crate::html) struct Row<'a> {
    pub(in crate::html) number: usize,
    pub(in crate::html) name: &'a str,
}

/// How a block looks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Look {
    Rest,
    Host,
    Copy,
    Compute,
    Wait,
    Miss,
}

impl Look {
    fn class(self) -> &'static str {
        match self {
            Look::Rest => "tlr",
            Look::Host => "tlh",
            Look::Copy => "tlc",
            Look::Compute => "tlx",
            Look::Wait => "tlw",
            Look::Miss => "tlm",
        }
    }

    fn of(stage: Stage) -> Look {
        match stage {
            Stage::Compute => Look::Compute,
            Stage::H2d | Stage::D2h => Look::Copy,
            Stage::Queue | Stage::Synchronise => Look::Rest,
            Stage::Acquire | Stage::Decode | Stage::Preprocess | Stage::Postprocess => Look::Host,
        }
    }
}

/// From stamps to positions.
struct Plane {
    from: Stamp,
    to: Stamp,
}

impl Plane {
    fn x(&self, at: Stamp) -> i32 {
        let part = (at - self.from).0 as f64 / (self.to - self.from).0.max(1) as f64;
        let width = f64::from((RIGHT - LEFT) * FINE);
        LEFT * FINE + (part.clamp(0.0, 1.0) * width).round() as i32
    }

    fn has(&self, from: Stamp, to: Stamp) -> bool {
        from < self.to && to > self.from
    }
}

/// The drawing of a moment.
pub(in crate::html) fn chart(
    course: &Course,
    moment: &Moment,
    tenants: &[Row<'_>],
    unit: TimeUnit,
) -> Option<Figure> {
    let plane = Plane {
        from: moment.from,
        to: moment.to,
    };
    let of = |row: &Row<'_>| -> Vec<&FrameRecord> {
        let frames = course.frames.iter();
        let own = frames.filter(|frame| usize::from(frame.tenant) == row.number);
        own.filter(|frame| plane.has(frame.released, frame.finished))
            .collect()
    };
    let mut rows: Vec<(&Row<'_>, Vec<&FrameRecord>)> = tenants.iter().map(|row| (row, of(row))).collect();
    rows.retain(|(row, frames)| row.number == moment.tenant || !frames.is_empty());
    let subject = rows.iter().find_map(|(_, frames)| {
        let mut frames = frames.iter();
        frames.find(|frame| usize::from(frame.tenant) == moment.tenant && frame.sequence == moment.sequence)
    });
    let subject = **subject?;
    // The slow frame's row is there whatever is left out.
    let left_out = rows.len().saturating_sub(MOST_ROWS);
    if left_out > 0 {
        let place = rows.iter().position(|(row, _)| row.number == moment.tenant)?;
        let own = rows.remove(place);
        rows.truncate(MOST_ROWS - 1);
        rows.push(own);
        rows.sort_by_key(|(row, _)| row.number);
    }
    let mut body = String::new();
    let mut told = String::new();
    let mut y = 4;
    for (row, frames) in &rows {
        y += draw_row(
            &mut body,
            &mut told,
            &plane,
            y,
            (row, frames),
            (course.zero, &subject),
        )
        .ok()?;
    }
    if left_out > 0 {
        write!(
            body,
            "<text x=\"{}\" y=\"{}\">and {left_out} more tenants at work</text>",
            LEFT * FINE,
            (y + 10) * FINE
        )
        .ok()?;
        y += 16;
    }
    for (unit, kind, scale) in [("mhz", "clock, MHz", 1.0), ("mw", "power, W", 1e-3)] {
        let drawn: Vec<&CourseSignal> = course
            .signals
            .iter()
            .filter(|signal| signal.unit == unit)
            .collect();
        y += draw_signals(&mut body, &plane, course.zero, y, (kind, scale), &drawn).ok()?;
    }
    let mut axis = String::new();
    draw_axis(&mut axis, &plane, y, subject.released, unit).ok()?;
    let names: Vec<&str> = rows.iter().map(|(row, _)| row.name).collect();
    let said = format!(
        "What ran around frame {} of {}; rows: {}.",
        moment.sequence,
        tenants.get(moment.tenant).map_or("", |row| row.name),
        names.join(", ")
    );
    let size = Size {
        width: WIDTH,
        height: y + BELOW,
        class: "small",
    };
    let svg = framed(size, &said, &format!("{axis}{body}{told}"), &[]).ok()?;
    Some(Figure { svg })
}

/// A tenant's row; returns its height.
fn draw_row(
    body: &mut String,
    told: &mut String,
    plane: &Plane,
    y: i32,
    (row, frames): (&Row<'_>, &[&FrameRecord]),
    (zero, subject): (Stamp, &FrameRecord),
) -> Result<i32, std::fmt::Error> {
    let places = places(frames);
    let lanes = places.iter().max().map_or(1, |most| most + 1) as i32;
    let each = if lanes > 1 { LANE - 3 } else { LANE };
    let top = y + STRIP;
    let mut paths: BTreeMap<Look, Path> = BTreeMap::new();
    let mut frame_of = String::new();
    let is_detailed = frames.len() <= MOST_FRAMES;
    for (nth, (frame, lane)) in frames.iter().zip(&places).enumerate() {
        let at = top + *lane as i32 * each;
        let mut block = |look: Look, from: Stamp, to: Stamp, y: i32, height: i32| {
            let path = paths.entry(look).or_default();
            path.block(plane.x(from), plane.x(to), y * FINE, height * FINE);
        };
        block(Look::Wait, frame.released, frame.started, y + 1, 2);
        if frame.outcome != Outcome::Dropped {
            let look = if is_detailed { Look::Rest } else { Look::Compute };
            block(look, frame.started, frame.finished, at, each - 1);
        }
        for (stage, span) in stages(frame).filter(|_| is_detailed) {
            let look = Look::of(stage);
            if look != Look::Rest {
                block(look, span.from, span.to, at, each - 1);
            }
        }
        let (from, to) = (plane.x(frame.released), plane.x(frame.finished));
        if frame.missed() {
            // A dropped frame has no time of its own.
            let to = to.max(from + 2 * FINE);
            let path = paths.entry(Look::Miss).or_default();
            path.block(from, to, (top + lanes * each) * FINE, 2 * FINE);
        }
        if frame.tenant == subject.tenant && frame.sequence == subject.sequence {
            write!(
                frame_of,
                "<rect class=\"tls\" x=\"{from}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
                y * FINE,
                (to - from).max(FINE),
                (STRIP + lanes * each + STRIP) * FINE
            )?;
        }
        if nth < MOST_TOLD {
            write!(
                told,
                "<rect class=\"h\" x=\"{from}\" y=\"{}\" width=\"{}\" height=\"{}\"><title>{}</title></rect>",
                at * FINE,
                (to - from).max(2 * FINE),
                (each - 1) * FINE,
                escaped(&said(frame, row.name, zero))
            )?;
        }
    }
    write!(
        body,
        "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text><g class=\"t{}\">",
        (LEFT - 8) * FINE,
        (top + 10) * FINE,
        escaped(&shortened(row.name, 14)),
        row.number % 8
    )?;
    for (look, path) in paths {
        if !path.text.is_empty() {
            write!(body, "<path class=\"{}\" d=\"{}\"/>", look.class(), path.text)?;
        }
    }
    write!(body, "</g>{frame_of}")?;
    Ok(STRIP + lanes * each + STRIP + BETWEEN)
}

/// The lane of each frame, by what is in service at the same time.
fn places(frames: &[&FrameRecord]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..frames.len()).collect();
    order.sort_by_key(|&place| (frames[place].finished, frames[place].started));
    let mut lanes = Lanes::default();
    let mut places = vec![0; frames.len()];
    for place in order {
        let span = Span {
            from: frames[place].started,
            to: frames[place].finished.max(frames[place].started),
        };
        places[place] = lanes.place(span).min(MOST_LANES - 1);
    }
    places
}

/// Blocks as one path.
#[derive(Default)]
struct Path {
    text: String,
    last: Option<[i32; 2]>,
}

impl Path {
    fn block(&mut self, from: i32, to: i32, y: i32, height: i32) {
        // Shorter than a quarter of a pixel, or within the pixel where the last one ended.
        let pixel = to / FINE;
        if to <= from || self.last == Some([pixel, y]) {
            return;
        }
        self.last = Some([pixel, y]);
        let width = to - from;
        let _ = write!(self.text, "M{from} {y}h{width}v{height}h-{width}z");
    }
}

/// A frame in a sentence: its times, and those of its stages.
fn said(frame: &FrameRecord, tenant: &str, zero: Stamp) -> String {
    let ms = |time: Nanos| short(time.as_millis_f64());
    let how = match (frame.outcome, frame.missed()) {
        (Outcome::Dropped, _) => ", dropped",
        (Outcome::Failed, _) => ", failed",
        (Outcome::Unfinished, _) => ", cut off",
        (Outcome::Completed, true) => ", missed",
        (Outcome::Completed, false) => "",
    };
    let parts = Stage::ALL
        .into_iter()
        .zip(frame.stages)
        .filter_map(|(stage, took)| Some(format!("{} {}", stage.name(), ms(took?))));
    let parts: Vec<String> = std::iter::once(format!("wait {}", ms(frame.queueing())))
        .chain(parts)
        .collect();
    format!(
        "{tenant}, frame {}: released at {:.4} s, response {} ms{how}; in ms: {}",
        frame.sequence,
        (frame.released - zero).as_secs_f64(),
        ms(frame.response()),
        parts.join(", ")
    )
}

/// Signals of one kind; returns their height, none where none was read.
fn draw_signals(
    body: &mut String,
    plane: &Plane,
    zero: Stamp,
    y: i32,
    (kind, scale): (&str, f64),
    signals: &[&CourseSignal],
) -> Result<i32, std::fmt::Error> {
    let (from, to) = ((plane.from - zero).0, (plane.to - zero).0);
    let within: Vec<&[(i64, f64)]> = signals
        .iter()
        .map(|signal| {
            // With the readings before and after.
            let all = &signal.readings;
            let first = all.partition_point(|(at, _)| *at < from).saturating_sub(1);
            let last = (all.partition_point(|(at, _)| *at <= to) + 1).min(all.len());
            all.get(first..last).unwrap_or_default()
        })
        .collect();
    let values = || within.iter().copied().flatten().map(|(_, value)| value * scale);
    let high = values().fold(f64::NEG_INFINITY, f64::max);
    let low = values().fold(f64::INFINITY, f64::min);
    if !(high.is_finite() && low.is_finite()) {
        return Ok(0);
    }
    let (top, bottom) = (y + 4, y + SIGNAL);
    let height = |value: f64| {
        let part = if high > low {
            (value - low) / (high - low)
        } else {
            0.5
        };
        (f64::from(bottom * FINE) - part * f64::from((bottom - top) * FINE)).round() as i32
    };
    let right = (LEFT - 8) * FINE;
    write!(
        body,
        "<text x=\"{right}\" y=\"{}\" text-anchor=\"end\">{kind}</text>",
        (top + 9) * FINE
    )?;
    for (number, (signal, readings)) in signals.iter().zip(&within).enumerate() {
        let mut path = String::new();
        for (nth, (at, value)) in readings.iter().enumerate() {
            let letter = if nth == 0 { 'M' } else { 'L' };
            write!(
                path,
                "{letter}{} {}",
                plane.x(zero + Nanos(*at)),
                height(value * scale)
            )?;
        }
        let values: Vec<String> = readings.iter().map(|(_, value)| short(value * scale)).collect();
        write!(
            body,
            "<g class=\"t{}\"><path class=\"tll\" d=\"{path}\"><title>{}: {}</title></path></g>",
            number % 8,
            escaped(&signal.signal),
            values
                .get(..12)
                .map_or_else(|| values.join(", "), |first| first.join(", "))
        )?;
    }
    Ok(SIGNAL + BETWEEN)
}

/// Time from the slow frame's release.
fn draw_axis(
    out: &mut String,
    plane: &Plane,
    bottom: i32,
    released: Stamp,
    unit: TimeUnit,
) -> std::fmt::Result {
    let scale = match unit {
        TimeUnit::Millis => 1e6,
        TimeUnit::Micros => 1e3,
    };
    let whole = Axis {
        from: (plane.from - released).0 as f64 / scale,
        to: (plane.to - released).0 as f64 / scale,
        logarithmic: false,
    };
    let values = marks(whole, 5);
    for (nth, value) in values.iter().enumerate() {
        let x = plane.x(released + Nanos((value * scale) as i64));
        let text = mark(*value).replace('-', "−");
        let text = match nth + 1 == values.len() {
            true => format!("{text} {}", unit.name()),
            false => text,
        };
        let anchor = if x > (RIGHT - 14) * FINE { "end" } else { "middle" };
        write!(
            out,
            "<path class=\"tg\" d=\"M{x} {}V{}\"/><text x=\"{x}\" y=\"{}\" text-anchor=\"{anchor}\">{text}</text>",
            2 * FINE,
            bottom * FINE,
            (bottom + 13) * FINE
        )?;
    }
    Ok(())
}
