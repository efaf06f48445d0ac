//! The tables of the CSV and Parquet exports: their names, their columns, and the row of each event.
//!
//! Units are in the names of the columns. A value that was not measured is absent, never zero.

use std::borrow::Cow;
use std::collections::HashMap;

use jetlag_figure::Known;

use super::{Names, energy, outcome_name, phase_name};
use crate::analysis::Summary;
use crate::analysis::figures::{Figure, figures};
use crate::record::activity::{OnStream, Work};
use crate::record::detection::{Detection, Place};
use crate::record::{
    Activity, ActivityBatch, Definition, DetectionsRecord, Event, FrameRecord, Manifest, NO_CONTENT,
    NodeRecord, RangeRecord, SampleRecord,
};
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
const KERNELS: usize = 4;
const ENERGY: usize = 5;
const DETECTIONS: usize = 6;
const FIGURES: usize = 7;

/// The tables of an export, in the order in which they are written.
pub const TABLES: [Table; 8] = [
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
            maybe("captured_ns", ValueKind::Int),
            maybe("age_ns", ValueKind::Int),
            maybe("synchronise_ns", ValueKind::Int),
            maybe("skew_ns", ValueKind::Int),
            maybe("batch_first", ValueKind::Count),
            maybe("batch_items", ValueKind::Count),
            maybe("camera", ValueKind::Count),
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
    Table {
        name: "kernels",
        columns: &[
            maybe("tenant", ValueKind::Text),
            column("phase", ValueKind::Text),
            column("process", ValueKind::Count),
            maybe("frame", ValueKind::Count),
            maybe("layer", ValueKind::Text),
            column("kind", ValueKind::Text),
            maybe("name", ValueKind::Text),
            column("from_ns", ValueKind::Int),
            column("duration_ns", ValueKind::Int),
            maybe("device", ValueKind::Count),
            maybe("context", ValueKind::Count),
            maybe("stream", ValueKind::Count),
            maybe("thread", ValueKind::Count),
            maybe("correlation", ValueKind::Count),
            maybe("graph", ValueKind::Count),
            maybe("bytes", ValueKind::Count),
            maybe("direction", ValueKind::Text),
            maybe("source", ValueKind::Text),
            maybe("destination", ValueKind::Text),
            maybe("grid", ValueKind::Text),
            maybe("block", ValueKind::Text),
            maybe("registers", ValueKind::Count),
            maybe("static_shared_bytes", ValueKind::Count),
            maybe("dynamic_shared_bytes", ValueKind::Count),
        ],
    },
    Table {
        name: "energy",
        columns: &[
            maybe("tenant", ValueKind::Text),
            column("rail", ValueKind::Text),
            column("in_total", ValueKind::Flag),
            maybe("share", ValueKind::Real),
            maybe("energy_mj", ValueKind::Real),
            maybe("low_mj", ValueKind::Real),
            maybe("high_mj", ValueKind::Real),
            maybe("above_idle_mj", ValueKind::Real),
            maybe("per_frame_mj", ValueKind::Real),
            maybe("per_frame_low_mj", ValueKind::Real),
            maybe("per_frame_high_mj", ValueKind::Real),
        ],
    },
    Table {
        name: "detections",
        columns: &[
            column("tenant", ValueKind::Text),
            column("sequence", ValueKind::Count),
            column("source_index", ValueKind::Count),
            column("at_ns", ValueKind::Int),
            column("rank", ValueKind::Count),
            column("class_index", ValueKind::Count),
            maybe("class", ValueKind::Text),
            column("score", ValueKind::Real),
            maybe("x1_px", ValueKind::Real),
            maybe("y1_px", ValueKind::Real),
            maybe("x2_px", ValueKind::Real),
            maybe("y2_px", ValueKind::Real),
            maybe("x_m", ValueKind::Real),
            maybe("y_m", ValueKind::Real),
            maybe("z_m", ValueKind::Real),
            maybe("length_m", ValueKind::Real),
            maybe("width_m", ValueKind::Real),
            maybe("height_m", ValueKind::Real),
            maybe("yaw_rad", ValueKind::Real),
            maybe("velocity_x_m_s", ValueKind::Real),
            maybe("velocity_y_m_s", ValueKind::Real),
            maybe("camera", ValueKind::Count),
        ],
    },
    Table {
        name: "figures",
        columns: &[
            column("key", ValueKind::Text),
            maybe("tenant", ValueKind::Text),
            column("unit", ValueKind::Text),
            maybe("value", ValueKind::Real),
            maybe("low", ValueKind::Real),
            maybe("high", ValueKind::Real),
            column("support", ValueKind::Text),
            maybe("needs_frames", ValueKind::Count),
            maybe("withheld", ValueKind::Text),
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

/// Makes the rows of events. It remembers the names of kernels and layers, which are recorded before what refers to them.
pub(super) struct Rows {
    names: Names,
    definitions: HashMap<u32, Definition>,
    /// Class names of each tenant.
    classes: Vec<Vec<String>>,
}

impl Rows {
    pub(super) fn new(manifest: &Manifest) -> Self {
        Rows {
            names: Names::new(manifest),
            definitions: HashMap::new(),
            classes: manifest
                .tenants
                .iter()
                .map(|tenant| tenant.classes.clone())
                .collect(),
        }
    }

    /// Hands over each row of an event with the number of its table. Events that belong to no table, or to a tenant that
    /// the manifest does not list, have none.
    pub(super) fn of<E>(
        &mut self,
        event: &Event,
        mut write: impl FnMut(usize, Vec<Cell<'_>>) -> Result<(), E>,
    ) -> Result<(), E> {
        match event {
            Event::Definition(of) => drop(self.definitions.insert(of.number, of.clone())),
            Event::Activities(batch) => {
                for of in &batch.activities {
                    write(KERNELS, self.activity(batch, of))?;
                }
            }
            Event::Detections(found) => {
                if let Some(tenant) = self.names.of(found.tenant) {
                    let classes = self.classes.get(usize::from(found.tenant));
                    for (rank, one) in (0..).zip(&found.detections) {
                        write(DETECTIONS, detection(found, rank, one, tenant, classes))?;
                    }
                }
            }
            event => {
                if let Some((table, row)) = row(event, &self.names) {
                    write(table, row)?;
                }
            }
        }
        Ok(())
    }

    fn activity<'a>(&'a self, batch: &ActivityBatch, of: &Activity) -> Vec<Cell<'a>> {
        let definition = |number: Option<u32>| number.and_then(|number| self.definitions.get(&number));
        let named = |number| definition(number).map_or(Cell::Missing, |known| text(&known.text));
        let count = |value: Option<u32>| if_known(value.map(u64::from), Cell::Count);
        let on = place(&of.work);
        let (direction, bytes) = copied(&of.work);
        let mut row = vec![
            of.owner
                .tenant
                .and_then(|tenant| self.names.of(tenant))
                .map_or(Cell::Missing, text),
            Cell::Text(phase_name(batch.phase)),
            Cell::Count(batch.process.into()),
            if_known(of.owner.frame, Cell::Count),
            named(of.owner.layer),
            text(of.work.word()),
            named(of.name),
            Cell::Int(of.from.0),
            ns(of.duration()),
            if_known(device(&of.work), |device| Cell::Count(device.into())),
            count(on.map(|on| on.context)),
            count(on.map(|on| on.stream)),
            count(thread(&of.work)),
            count(of.work.correlation()),
            count(graph(&of.work)),
            if_known(bytes, Cell::Count),
        ];
        row.extend(direction.map(|word| word.map_or(Cell::Missing, text)));
        let launch = definition(of.name).and_then(|known| known.launch);
        let extent = |[x, y, z]: [u32; 3]| Cell::Text(format!("{x}x{y}x{z}").into());
        row.extend([
            launch.map_or(Cell::Missing, |launch| extent(launch.grid)),
            launch.map_or(Cell::Missing, |launch| extent(launch.block)),
            count(launch.map(|launch| launch.registers)),
            count(launch.map(|launch| launch.static_shared_bytes)),
            count(launch.map(|launch| launch.dynamic_shared_bytes)),
        ]);
        row
    }
}

/// Where it was, for what belongs to a stream.
fn place(work: &Work) -> Option<OnStream> {
    match *work {
        Work::Wait { on, .. } | Work::Event { on, .. } => Some(on),
        _ => work.on_device(),
    }
}

fn device(work: &Work) -> Option<u16> {
    match *work {
        Work::Slice { device, .. } => Some(device),
        _ => place(work).map(|on| on.device),
    }
}

fn thread(work: &Work) -> Option<u32> {
    match *work {
        Work::Call { thread, .. } | Work::Range { thread, .. } | Work::Overhead { thread } => Some(thread),
        _ => None,
    }
}

/// The graph that it was launched by, if one.
fn graph(work: &Work) -> Option<u32> {
    match *work {
        Work::Kernel { graph, .. }
        | Work::Copy { graph, .. }
        | Work::Fill { graph, .. }
        | Work::Graph { graph, .. } => Some(graph).filter(|graph| *graph != 0),
        _ => None,
    }
}

/// Direction, source and destination, and how much.
fn copied(work: &Work) -> ([Option<&'static str>; 3], Option<u64>) {
    match *work {
        Work::Copy {
            direction,
            source,
            destination,
            bytes,
            ..
        } => {
            let words = [direction.word(), source.word(), destination.word()];
            (words.map(Some), Some(bytes))
        }
        Work::Fill { memory, bytes, .. } => ([None, None, Some(memory.word())], Some(bytes)),
        _ => ([None; 3], None),
    }
}

/// The table and the row of an event of one row.
fn row<'a>(event: &'a Event, names: &'a Names) -> Option<(usize, Vec<Cell<'a>>)> {
    Some(match event {
        Event::Frame(of) => (FRAMES, frame(of, names.of(of.tenant)?)),
        Event::Sample(of) => (TELEMETRY, sample(of)),
        Event::Node(of) => (LAYERS, node(of, names.of(of.tenant)?)),
        Event::Range(of) => (RANGES, range(of, names.of(of.tenant)?)),
        _ => return None,
    })
}

/// The rows of what only the whole run tells, each with the number of its table.
pub(super) fn of_summary(summary: &Summary) -> Vec<(usize, Vec<Cell<'_>>)> {
    let rails = energy::rows(summary).into_iter();
    let figures = figures(summary).into_iter();
    rails
        .map(|row| (ENERGY, energy(row)))
        .chain(figures.map(|one| (FIGURES, figure(one))))
        .collect()
}

fn figure(figure: Figure) -> Vec<Cell<'static>> {
    let of = |text: &str| Cell::Text(text.to_owned().into());
    let [low, high] = energy::bounds(figure.support.interval());
    let (needs, withheld) = match &figure.known {
        Known::Needs(frames) => (Cell::Count(*frames), Cell::Missing),
        Known::Withheld(reason) => (Cell::Missing, of(reason)),
        Known::Measured(_) | Known::NotMeasured => (Cell::Missing, Cell::Missing),
    };
    vec![
        of(&figure.key.to_string()),
        figure.key.tenant().map_or(Cell::Missing, of),
        of(figure.key.unit().in_words()),
        real(figure.value()),
        real(low),
        real(high),
        of(figure.support.word()),
        needs,
        withheld,
    ]
}

fn real(value: Option<f64>) -> Cell<'static> {
    if_known(value.filter(|value| value.is_finite()), Cell::Real)
}

fn energy(row: energy::Row<'_>) -> Vec<Cell<'_>> {
    let [low, high] = energy::bounds(row.interval_mj);
    let [frame_low, frame_high] = energy::bounds(row.per_frame_interval_mj());
    vec![
        row.tenant.map_or(Cell::Missing, text),
        Cell::Text(row.rail.clone()),
        Cell::Flag(row.in_total),
        real(row.share),
        real(Some(row.energy_mj)),
        real(low),
        real(high),
        real(row.above_idle_mj),
        real(row.per_frame_mj()),
        real(frame_low),
        real(frame_high),
    ]
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
    // Synchronising came later, and stands at the end.
    let [synchronise, stages @ ..] = frame.stages;
    row.extend(stages.map(|took| if_known(took, ns)));
    row.extend([
        if_known(frame.deadline, ns),
        Cell::Flag(frame.missed()),
        Cell::Count(frame.detections.into()),
        Cell::Count(frame.input_size.into()),
        if_known(frame.captured, |at| Cell::Int(at.0)),
        if_known(frame.age(), ns),
        if_known(synchronise, ns),
        if_known(frame.skew, ns),
        if_known(frame.batch, |batch| Cell::Count(batch.first)),
        if_known(frame.batch, |batch| Cell::Count(batch.items.into())),
        if_known(frame.camera, |camera| Cell::Count(camera.into())),
    ]);
    row
}

fn detection<'a>(
    of: &DetectionsRecord,
    rank: u64,
    one: &Detection,
    tenant: &'a str,
    classes: Option<&'a Vec<String>>,
) -> Vec<Cell<'a>> {
    let class = classes.and_then(|classes| classes.get(usize::from(one.class)));
    // As short as the f32 itself is written, and not with the digits of its neighbours in f64.
    let real = |value: f32| match value.is_finite() {
        true => Cell::Real(value.to_string().parse().unwrap_or_else(|_| value.into())),
        false => Cell::Missing,
    };
    let mut row = vec![
        text(tenant),
        Cell::Count(of.sequence),
        Cell::Count(of.source_index),
        Cell::Int(of.at.0),
        Cell::Count(rank),
        Cell::Count(one.class.into()),
        class.map_or(Cell::Missing, |class| text(class)),
        real(one.score),
    ];
    let (image, space) = match one.place {
        Place::Image(b) => ([b.x1, b.y1, b.x2, b.y2].map(Some), [None; 7]),
        Place::Space(b) => ([None; 4], [b.x, b.y, b.z, b.l, b.w, b.h, b.yaw].map(Some)),
    };
    let velocity = one.velocity.map_or([None; 2], |velocity| velocity.map(Some));
    let all = image.into_iter().chain(space).chain(velocity);
    row.extend(all.map(|value| value.map_or(Cell::Missing, real)));
    row.push(match one.place {
        Place::Image(_) => Cell::Count(one.camera.into()),
        Place::Space(_) => Cell::Missing,
    });
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
