//! The tables of the CSV and Parquet exports: their names, their columns, and the row of each event.
//!
//! Units are in the names of the columns. A value that was not measured is absent, never zero.

use std::borrow::Cow;

use super::{Names, outcome_name, phase_name};
use crate::record::{Event, FrameRecord, NO_CONTENT, NodeRecord, RangeRecord, SampleRecord};
use crate::units::Nanos;

/// The type of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// Text, encoded as UTF-8.
    Text,
    /// A whole number that may be negative: timestamps and durations.
    Int,
    /// A whole number from 0.
    Count,
    /// A number with a fraction, such as a reading.
    Real,
    /// Yes or no: `true` or `false`.
    Flag,
}

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its heading, which ends in the unit.
    pub name: &'static str,
    /// Type of its values.
    pub kind: ValueKind,
    /// Whether values may be missing.
    pub optional: bool,
}

/// A table: its name without extension, and its columns.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// The file's name without its ending: `frames` of `frames.csv`.
    pub name: &'static str,
    /// In the order of the file.
    pub columns: &'static [Column],
}

const fn column(name: &'static str, kind: ValueKind) -> Column {
    Column {
        name,
        kind,
        optional: false,
    }
}

const fn maybe(name: &'static str, kind: ValueKind) -> Column {
    Column {
        name,
        kind,
        optional: true,
    }
}

const FRAMES: usize = 0;
const TELEMETRY: usize = 1;
const LAYERS: usize = 2;
const RANGES: usize = 3;

/// The tables of an export, in the order in which they are written.
pub const TABLES: [Table; 4] = [
    Table {
        name: "frames",
        columns: &[
            column("tenant", ValueKind::Text),
            column("phase", ValueKind::Text),
            column("warmup", ValueKind::Flag),
            column("outcome", ValueKind::Text),
            column("sequence", ValueKind::Count),
            maybe("source_index", ValueKind::Count),
            column("released_ns", ValueKind::Int),
            column("started_ns", ValueKind::Int),
            column("finished_ns", ValueKind::Int),
            column("response_ns", ValueKind::Int),
            column("service_ns", ValueKind::Int),
            column("queueing_ns", ValueKind::Int),
            column("lateness_ns", ValueKind::Int),
            maybe("acquire_ns", ValueKind::Int),
            maybe("decode_ns", ValueKind::Int),
            maybe("preprocess_ns", ValueKind::Int),
            maybe("h2d_ns", ValueKind::Int),
            maybe("queue_ns", ValueKind::Int),
            maybe("compute_ns", ValueKind::Int),
            maybe("d2h_ns", ValueKind::Int),
            maybe("postprocess_ns", ValueKind::Int),
            maybe("deadline_ns", ValueKind::Int),
            column("missed", ValueKind::Flag),
            column("detections", ValueKind::Count),
            column("input_size", ValueKind::Count),
        ],
    },
    Table {
        name: "telemetry",
        columns: &[
            column("at_ns", ValueKind::Int),
            column("source", ValueKind::Text),
            column("signal", ValueKind::Text),
            column("unit", ValueKind::Text),
            maybe("value", ValueKind::Real),
        ],
    },
    Table {
        name: "layers",
        columns: &[
            column("tenant", ValueKind::Text),
            column("phase", ValueKind::Text),
            column("layer", ValueKind::Text),
            column("operator", ValueKind::Text),
            column("frames", ValueKind::Count),
            column("mean_ns", ValueKind::Int),
            column("max_ns", ValueKind::Int),
        ],
    },
    Table {
        name: "ranges",
        columns: &[
            column("tenant", ValueKind::Text),
            column("track", ValueKind::Count),
            column("path", ValueKind::Text),
            column("from_ns", ValueKind::Int),
            column("to_ns", ValueKind::Int),
            column("duration_ns", ValueKind::Int),
            maybe("batch", ValueKind::Count),
            maybe("items", ValueKind::Count),
        ],
    },
];

/// A value in a row, of its column's type.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cell<'a> {
    Missing,
    Text(Cow<'a, str>),
    Int(i64),
    Count(u64),
    Real(f64),
    Flag(bool),
}

/// The table and the row of an event; `None` for events that belong to no table, or to a tenant that the manifest does
/// not list.
pub(super) fn row<'a>(event: &'a Event, names: &'a Names) -> Option<(usize, Vec<Cell<'a>>)> {
    Some(match event {
        Event::Frame(of) => (FRAMES, frame(of, names.of(of.tenant)?)),
        Event::Sample(of) => (TELEMETRY, sample(of)),
        Event::Node(of) => (LAYERS, node(of, names.of(of.tenant)?)),
        Event::Range(of) => (RANGES, range(of, names.of(of.tenant)?)),
        _ => return None,
    })
}

fn text(text: &str) -> Cell<'_> {
    Cell::Text(Cow::Borrowed(text))
}

fn ns(duration: Nanos) -> Cell<'static> {
    Cell::Int(duration.0)
}

fn if_known<T>(value: Option<T>, cell: fn(T) -> Cell<'static>) -> Cell<'static> {
    value.map_or(Cell::Missing, cell)
}

fn frame<'a>(frame: &'a FrameRecord, tenant: &'a str) -> Vec<Cell<'a>> {
    let mut row = vec![
        text(tenant),
        Cell::Text(phase_name(frame.phase)),
        Cell::Flag(frame.warmup),
        text(outcome_name(frame.outcome)),
        Cell::Count(frame.sequence),
        if_known(
            Some(frame.source_index).filter(|&index| index != NO_CONTENT),
            Cell::Count,
        ),
        Cell::Int(frame.released.0),
        Cell::Int(frame.started.0),
        Cell::Int(frame.finished.0),
        ns(frame.response()),
        ns(frame.service()),
        ns(frame.queueing()),
        ns(frame.lateness),
    ];
    row.extend(frame.stages.map(|took| if_known(took, ns)));
    row.extend([
        if_known(frame.deadline, ns),
        Cell::Flag(frame.missed()),
        Cell::Count(frame.detections.into()),
        Cell::Count(frame.input_size.into()),
    ]);
    row
}

fn sample(sample: &SampleRecord) -> Vec<Cell<'_>> {
    vec![
        Cell::Int(sample.at.0),
        text(&sample.source),
        text(&sample.signal),
        text(&sample.unit),
        if_known(sample.value.filter(|value| value.is_finite()), Cell::Real),
    ]
}

fn node<'a>(node: &'a NodeRecord, tenant: &'a str) -> Vec<Cell<'a>> {
    vec![
        text(tenant),
        Cell::Text(phase_name(node.phase)),
        text(&node.name),
        text(&node.operator),
        Cell::Count(node.count),
        ns(node.mean),
        ns(node.max),
    ]
}

fn range<'a>(range: &'a RangeRecord, tenant: &'a str) -> Vec<Cell<'a>> {
    vec![
        text(tenant),
        Cell::Count(range.track.into()),
        text(&range.path),
        Cell::Int(range.from.0),
        Cell::Int(range.to.0),
        ns(range.duration()),
        if_known(range.batch, Cell::Count),
        if_known(range.items, Cell::Count),
    ]
}
