//! One traced frame: lanes of what host and GPU did for it, over the time from its release to its result.
//!
//! Bars of one look are one path, so that a frame of thousands of kernels is a few hundred elements at most; bars that no pixel
//! can tell apart are one bar. A line below a bar says that it is on the critical path.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::{FINE, Figure, Size, Stripe, escaped, framed, mark, marks};
use crate::analysis::plot::{Axis, Bar, FramePlot, Hue, Lane, LaneKind, merged};
use crate::number::TimeUnit;
use crate::sections::traced::names::shortened;

/// In pixels: height of a bar, and what is between lanes.
const BAR: i32 = 15;
const BETWEEN: i32 = 8;
/// Height of the time axis.
const BELOW: i32 = 22;
/// Stripes with values under the pointer.
const STRIPES: i32 = 120;
/// Width of a letter, about.
const LETTER: f64 = 6.1;

/// Where things are in a drawing, in units of the chart.
struct Plane {
    left: i32,
    right: i32,
    length: i64,
    narrow: bool,
}

impl Plane {
    fn x(&self, ns: i64) -> i32 {
        let part = ns as f64 / self.length.max(1) as f64;
        self.left + (part * f64::from(self.right - self.left)).round() as i32
    }

    /// The upper edge of the bars of a lane.
    fn top(&self, lane: usize) -> i32 {
        let above = if self.narrow { 14 } else { 0 };
        (4 + lane as i32 * (above + BAR + BETWEEN) + above) * FINE
    }
}

/// The drawing of a frame; times in this unit.
///
/// `plain` is the colour of kernels of no known layer.
pub(in crate::html) fn chart(tenant: &str, frame: &FramePlot, unit: TimeUnit, plain: &str) -> Option<Figure> {
    let names: Vec<&str> = frame.lanes.iter().map(|lane| lane.name.as_str()).collect();
    let said = format!(
        "Frame {} of {tenant}, {} {} from release to result; lanes: {}.",
        frame.number,
        unit.show(frame.response_ns as f64 / 1e6),
        unit.name(),
        names.join(", ")
    );
    let mut svg = String::new();
    for (width, class) in [(1000, "wide"), (360, "narrow")] {
        let narrow = class == "narrow";
        let plane = Plane {
            left: if narrow { 2 } else { 118 } * FINE,
            right: (width - 6) * FINE,
            length: frame.response_ns,
            narrow,
        };
        let size = Size {
            width,
            height: plane.top(frame.lanes.len()) / FINE + BELOW,
            class,
        };
        let mut body = String::new();
        axis(&mut body, &plane, frame, unit).ok()?;
        for (nth, lane) in frame.lanes.iter().enumerate() {
            draw(&mut body, &plane, nth, lane, plain).ok()?;
        }
        svg.push_str(&framed(size, &said, &body, &stripes(&plane, frame, unit)).ok()?);
    }
    Some(Figure { svg })
}

/// Round times with a line each.
fn axis(out: &mut String, plane: &Plane, frame: &FramePlot, unit: TimeUnit) -> std::fmt::Result {
    let scale = match unit {
        TimeUnit::Millis => 1e6,
        TimeUnit::Micros => 1e3,
    };
    let whole = Axis {
        from: 0.0,
        to: frame.response_ns as f64 / scale,
        logarithmic: false,
    };
    let (top, bottom) = (FINE, plane.top(frame.lanes.len()));
    let most = ((plane.right - plane.left) / (80 * FINE)).max(2) as usize;
    for value in marks(whole, most) {
        let x = plane.x((value * scale) as i64);
        write!(out, "<path class=\"tg\" d=\"M{x} {top}V{bottom}\"/>")?;
        let anchor = match x {
            x if x < plane.left + 10 * FINE => "start",
            x if x > plane.right - 10 * FINE => "end",
            _ => "middle",
        };
        write!(
            out,
            "<text x=\"{x}\" y=\"{}\" text-anchor=\"{anchor}\">{}</text>",
            bottom + 14 * FINE,
            mark(value)
        )?;
    }
    Ok(())
}

/// One lane: its name, its bars, and lines below those on the critical path.
fn draw(out: &mut String, plane: &Plane, nth: usize, lane: &Lane, plain: &str) -> std::fmt::Result {
    let top = plane.top(nth);
    let name = escaped(&shortened(&lane.name, if plane.narrow { 48 } else { 18 }));
    match plane.narrow {
        true => write!(
            out,
            "<text x=\"{}\" y=\"{}\">{name}</text>",
            plane.left,
            top - 4 * FINE
        )?,
        false => write!(
            out,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{name}</text>",
            plane.left - 8 * FINE,
            top + 12 * FINE
        )?,
    }
    let mut looks: BTreeMap<Hue, String> = BTreeMap::new();
    let (mut lines, mut letters) = (String::new(), String::new());
    let pixels = ((plane.right - plane.left) / FINE) as usize;
    for bar in merged(&lane.bars, pixels) {
        let (from, to) = (plane.x(bar.from), plane.x(bar.to));
        // A thin gap tells bars apart that touch.
        let gap = if to - from > 3 * FINE { FINE / 2 } else { 0 };
        let width = (to - from - gap).max(2);
        let path = looks.entry(bar.hue).or_default();
        write!(path, "M{from} {top}h{width}v{}h-{width}z", BAR * FINE)?;
        if bar.on_path && lane.kind != LaneKind::Path {
            write!(lines, "M{from} {}h{width}", top + (BAR + 2) * FINE + 2)?;
        }
        if let Some(text) = inside(lane.kind, &bar, width / FINE) {
            write!(
                letters,
                "<text class=\"tl\" x=\"{}\" y=\"{}\">{}</text>",
                from + 3 * FINE,
                top + 11 * FINE + 2,
                escaped(&text)
            )?;
        }
    }
    for (hue, path) in looks {
        write!(out, "<path class=\"{}\" d=\"{path}\"/>", class(hue, plain))?;
    }
    if !lines.is_empty() {
        write!(out, "<path class=\"tp\" d=\"{lines}\"/>")?;
    }
    out.push_str(&letters);
    Ok(())
}

/// What a wide bar of stages or of the critical path says of itself.
fn inside(kind: LaneKind, bar: &Bar, pixels: i32) -> Option<String> {
    let room = (f64::from(pixels - 6) / LETTER) as usize;
    let is_said = matches!(kind, LaneKind::Stages | LaneKind::Path) && bar.count == 1;
    let text = shortened(&bar.text, room.max(1));
    (is_said && room >= 5 && (room >= 12 || text == bar.text)).then_some(text)
}

/// The style of a bar; those of layers are the colours of the legend.
fn class(hue: Hue, plain: &str) -> String {
    match hue {
        Hue::Layer(number) => format!("bk k{}", number % 6),
        Hue::OtherLayer => "bk k6".to_owned(),
        Hue::NoLayer => format!("bk k{plain}"),
        Hue::Copy => "bk k7".to_owned(),
        Hue::Host => "bh".to_owned(),
        Hue::Wait => "bw".to_owned(),
        Hue::Others => "bo".to_owned(),
        Hue::Device => "bd".to_owned(),
    }
}

/// What each lane has under the pointer: of each stretch the longest.
fn stripes(plane: &Plane, frame: &FramePlot, unit: TimeUnit) -> Vec<Stripe> {
    let ms = |ns: i64| ns as f64 / 1e6;
    let edge = |nth: i32| (frame.response_ns as f64 * f64::from(nth) / f64::from(STRIPES)) as i64;
    let mut stripes = Vec::new();
    for nth in 0..STRIPES {
        let (from, to) = (edge(nth), edge(nth + 1));
        let overlap = |bar: &Bar| bar.to.min(to) - bar.from.max(from);
        let said = frame.lanes.iter().filter_map(|lane| {
            let within = lane.bars.iter().filter(|bar| overlap(bar) > 0);
            let longest = within.max_by_key(|bar| overlap(bar))?;
            let more = match longest.count {
                1 => String::new(),
                count => format!(" and {} more", count - 1),
            };
            let took = ms(longest.to - longest.from);
            Some(format!(
                "{}: {}{more} ({} {})",
                lane.name,
                shortened(&longest.text, 60),
                unit.show(took),
                unit.name()
            ))
        });
        let said: Vec<String> = said.collect();
        if !said.is_empty() {
            stripes.push(Stripe {
                from: plane.x(from),
                to: plane.x(to),
                text: format!("{} {}. {}", unit.show(ms(from)), unit.name(), said.join("; ")),
            });
        }
    }
    stripes
}
