//! Comma-separated values: `frames.csv`, `telemetry.csv`, `layers.csv` and `ranges.csv`, in the form of RFC 4180 and in UTF-8.
//!
//! Units are in the names of the columns. What was not measured is empty, never zero.

use std::io::{self, Write};

use ::csv::{Terminator, Writer, WriterBuilder};

use super::{Export, Names, outcome_name, phase_name};
use crate::record::{Event, FrameRecord, Manifest, NO_CONTENT, NodeRecord, RangeRecord, SampleRecord};
use crate::units::Nanos;

/// Columns of `frames.csv`.
pub const FRAMES: [&str; 25] = [
    "tenant",
    "phase",
    "warmup",
    "outcome",
    "sequence",
    "source_index",
    "released_ns",
    "started_ns",
    "finished_ns",
    "response_ns",
    "service_ns",
    "queueing_ns",
    "lateness_ns",
    "acquire_ns",
    "decode_ns",
    "preprocess_ns",
    "h2d_ns",
    "queue_ns",
    "compute_ns",
    "d2h_ns",
    "postprocess_ns",
    "deadline_ns",
    "missed",
    "detections",
    "input_size",
];
/// Columns of `telemetry.csv`.
pub const TELEMETRY: [&str; 5] = ["at_ns", "source", "signal", "unit", "value"];
/// Columns of `layers.csv`.
pub const LAYERS: [&str; 7] = [
    "tenant", "phase", "layer", "operator", "frames", "mean_ns", "max_ns",
];
/// Columns of `ranges.csv`.
pub const RANGES: [&str; 8] = [
    "tenant",
    "track",
    "path",
    "from_ns",
    "to_ns",
    "duration_ns",
    "batch",
    "items",
];
/// The files, in the order of [`CsvExport::new`]'s writers.
pub const FILES: [&str; 4] = ["frames.csv", "telemetry.csv", "layers.csv", "ranges.csv"];

/// The tables in the making.
pub struct CsvExport<W: Write> {
    frames: Writer<W>,
    telemetry: Writer<W>,
    layers: Writer<W>,
    ranges: Writer<W>,
    names: Names,
}

impl<W: Write> CsvExport<W> {
    /// Writes the headings. Frames and nodes of tenants that the manifest does not know are left out.
    pub fn new(manifest: &Manifest, [frames, telemetry, layers, ranges]: [W; 4]) -> io::Result<Self> {
        let table = |out, columns: &[&str]| -> io::Result<Writer<W>> {
            let mut table = WriterBuilder::new().terminator(Terminator::CRLF).from_writer(out);
            table.write_record(columns)?;
            Ok(table)
        };
        Ok(CsvExport {
            frames: table(frames, &FRAMES)?,
            telemetry: table(telemetry, &TELEMETRY)?,
            layers: table(layers, &LAYERS)?,
            ranges: table(ranges, &RANGES)?,
            names: Names::new(manifest),
        })
    }

    fn frame(&mut self, frame: &FrameRecord) -> io::Result<()> {
        let Some(tenant) = self.names.of(frame.tenant) else {
            return Ok(());
        };
        let optional = |took: Option<Nanos>| took.map_or_else(String::new, ns);
        let [acquire, decode, preprocess, h2d, queue, compute, d2h, postprocess] = frame.stages.map(optional);
        let source_index = match frame.source_index {
            NO_CONTENT => String::new(),
            index => index.to_string(),
        };
        self.frames.write_record([
            tenant,
            &phase_name(frame.phase),
            flag(frame.warmup),
            outcome_name(frame.outcome),
            &frame.sequence.to_string(),
            &source_index,
            &frame.released.0.to_string(),
            &frame.started.0.to_string(),
            &frame.finished.0.to_string(),
            &ns(frame.response()),
            &ns(frame.service()),
            &ns(frame.queueing()),
            &ns(frame.lateness),
            &acquire,
            &decode,
            &preprocess,
            &h2d,
            &queue,
            &compute,
            &d2h,
            &postprocess,
            &optional(frame.deadline),
            flag(frame.missed()),
            &frame.detections.to_string(),
            &frame.input_size.to_string(),
        ])?;
        Ok(())
    }

    fn sample(&mut self, sample: &SampleRecord) -> io::Result<()> {
        let read = sample.value.filter(|value| value.is_finite());
        let value = read.map_or_else(String::new, |value| value.to_string());
        self.telemetry.write_record([
            &sample.at.0.to_string(),
            &sample.source,
            &sample.signal,
            &sample.unit,
            &value,
        ])?;
        Ok(())
    }

    fn range(&mut self, range: &RangeRecord) -> io::Result<()> {
        let Some(tenant) = self.names.of(range.tenant) else {
            return Ok(());
        };
        let optional = |count: Option<u64>| count.map_or_else(String::new, |count| count.to_string());
        self.ranges.write_record([
            tenant,
            &range.track.to_string(),
            &range.path,
            &range.from.0.to_string(),
            &range.to.0.to_string(),
            &ns(range.duration()),
            &optional(range.batch),
            &optional(range.items),
        ])?;
        Ok(())
    }

    fn node(&mut self, node: &NodeRecord) -> io::Result<()> {
        let Some(tenant) = self.names.of(node.tenant) else {
            return Ok(());
        };
        self.layers.write_record([
            tenant,
            &phase_name(node.phase),
            &node.name,
            &node.operator,
            &node.count.to_string(),
            &ns(node.mean),
            &ns(node.max),
        ])?;
        Ok(())
    }
}

impl<W: Write> Export for CsvExport<W> {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        match event {
            Event::Frame(frame) => self.frame(frame),
            Event::Sample(sample) => self.sample(sample),
            Event::Node(node) => self.node(node),
            Event::Range(range) => self.range(range),
            _ => Ok(()),
        }
    }

    fn finish(&mut self) -> io::Result<usize> {
        self.frames.flush()?;
        self.telemetry.flush()?;
        self.layers.flush()?;
        self.ranges.flush()?;
        Ok(FILES.len())
    }
}

fn ns(duration: Nanos) -> String {
    duration.0.to_string()
}

fn flag(value: bool) -> &'static str {
    if value { "true" } else { "false" }
}
