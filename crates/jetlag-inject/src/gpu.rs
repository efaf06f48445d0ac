//! The trace of this process through CUPTI, from `cuInit` to the end.

use std::fs::File;

use cupti_dyn::{Clock, Error, Kind, Library, Loss, Session, Settings, monotonic_ns};
use jetlag_activity::spool::{self, Node, Note, Writer};
use jetlag_activity::{Gathered, find, leave_out, notes};
use jetlag_record::units::{Nanos, Stamp};
use jetlag_record::{Phase, TraceRecord};

/// Memory for records: 32 buffers of 4 MiB.
const MOST_BUFFERS: usize = 32;
/// Activities that are kept of a process.
const MOST: u64 = 3_000_000;
/// What is always recorded. Ranges come from NVTX itself.
const KINDS: [Kind; 11] = [
    Kind::CONCURRENT_KERNEL,
    Kind::MEMCPY,
    Kind::MEMCPY2,
    Kind::MEMSET,
    Kind::RUNTIME,
    Kind::DRIVER,
    Kind::SYNCHRONIZATION,
    Kind::CUDA_EVENT,
    Kind::OVERHEAD,
    Kind::DEVICE,
    Kind::CONTEXT,
];

/// A trace under way.
pub(crate) struct Gpu {
    session: Session,
    library: Library,
    gathered: Gathered,
    from: Stamp,
    whole: bool,
    calls_left_out: u32,
    kept: u64,
    not_kept: u64,
    /// What was told last of how it is traced: devices, activities dropped.
    told: Option<(usize, u64)>,
}

impl Gpu {
    /// Begins, in `cuInit`: before there is a context.
    ///
    /// # Errors
    /// Why it cannot, in a sentence.
    pub(crate) fn begin() -> Result<Self, String> {
        let found = find().map_err(|refused| refused.to_string())?;
        let library = found.library();
        let whole = std::env::var_os(spool::GRAPHS).is_some_and(|value| value == "whole");
        let begun = || -> Result<Session, Error> {
            let settings = Settings {
                name: "jetlag".to_owned(),
                most_buffers: MOST_BUFFERS,
                graph_nodes: !whole,
                ..Settings::default()
            };
            let mut session = Session::open(library, &settings)?;
            session.enable(&KINDS)?;
            if whole {
                session.enable(&[Kind::GRAPH_TRACE])?;
            }
            Ok(session)
        };
        let mut session = begun().map_err(|error| error.to_string())?;
        let calls_left_out = leave_out(&mut session);
        Ok(Gpu {
            session,
            library,
            gathered: Gathered::of_process(0),
            from: now(),
            whole,
            calls_left_out,
            kept: 0,
            not_kept: 0,
            told: None,
        })
    }

    /// Passes on what is complete, and asks for more.
    pub(crate) fn read(&mut self, writer: &mut Writer<File>) {
        let (gathered, library) = (&mut self.gathered, self.library);
        self.session.read(|record| gathered.take(library, record));
        // Nodes of the kernels above were made before them.
        let nodes: Vec<Node> = self.session.graph_nodes().into_iter().map(Node::from).collect();
        if !nodes.is_empty() {
            writer.note(&Note::Nodes(nodes));
        }
        self.pass_on(writer);
        let told = (
            self.gathered.devices.len(),
            self.session.loss().dropped + self.not_kept,
        );
        if self.told != Some(told) {
            self.told = Some(told);
            let record = self.record(&self.session.loss(), Vec::new());
            writer.trace(&record);
        }
        // What cannot be had now comes with the next one.
        let _ = self.session.flush(false);
    }

    /// The program ends: passes on the rest, and how it was traced.
    pub(crate) fn finish(mut self, writer: &mut Writer<File>) {
        let nodes: Vec<Node> = self.session.graph_nodes().into_iter().map(Node::from).collect();
        if !nodes.is_empty() {
            writer.note(&Note::Nodes(nodes));
        }
        let library = self.library;
        let clock = self.session.clock();
        let mut record = self.record(&self.session.loss(), Vec::new());
        let mut gathered = std::mem::take(&mut self.gathered);
        let ended = self.session.finish(|record| gathered.take(library, record));
        convert(&mut gathered, clock, &ended.brackets);
        let (kept, over) = pass_on(&mut gathered, self.kept, writer);
        record.activities = self.kept + kept;
        record.not_kept = self.not_kept + over;
        record.dropped = ended.loss.dropped;
        record.lost_stamps = ended.loss.counts.lost_stamps;
        record.clock_residual = Nanos(i64::try_from(ended.brackets.residual_ns()).unwrap_or(i64::MAX));
        record.notes = notes(&ended);
        record.devices = gathered.devices;
        record.to = now();
        writer.trace(&record);
    }

    fn pass_on(&mut self, writer: &mut Writer<File>) {
        convert(&mut self.gathered, self.session.clock(), self.session.brackets());
        let (kept, over) = pass_on(&mut self.gathered, self.kept, writer);
        self.kept += kept;
        self.not_kept += over;
    }

    fn record(&self, loss: &Loss, notes: Vec<String>) -> TraceRecord {
        TraceRecord {
            phase: Some(Phase::Together),
            process: std::process::id(),
            from: self.from,
            to: now(),
            tracer: self.library.version().to_string(),
            graph_nodes: !self.whole,
            calls: true,
            calls_left_out: self.calls_left_out,
            activities: self.kept,
            dropped: loss.dropped,
            lost_stamps: loss.counts.lost_stamps,
            not_kept: self.not_kept,
            clock_residual: Nanos::ZERO,
            notes,
            devices: self.gathered.devices.clone(),
        }
    }
}

/// Stamps of CUPTI's own clock become the run's.
fn convert(gathered: &mut Gathered, clock: Clock, brackets: &cupti_dyn::Brackets) {
    if clock == Clock::Cupti {
        for raw in &mut gathered.all {
            for stamp in [&mut raw.activity.from, &mut raw.activity.to] {
                let ours = brackets.to_monotonic(stamp.0.unsigned_abs());
                *stamp = Stamp(i64::try_from(ours).unwrap_or(i64::MAX));
            }
        }
    }
}

/// Passes on what was gathered; how many were kept and how many not.
fn pass_on(gathered: &mut Gathered, before: u64, writer: &mut Writer<File>) -> (u64, u64) {
    writer.names(gathered.names.news());
    let room = usize::try_from(MOST.saturating_sub(before)).unwrap_or(usize::MAX);
    let kept = gathered.all.len().min(room);
    let over = (gathered.all.len() - kept) as u64 + std::mem::take(&mut gathered.not_kept);
    writer.activities(&gathered.all[..kept]);
    gathered.all.clear();
    (kept as u64, over)
}

fn now() -> Stamp {
    Stamp(i64::try_from(monotonic_ns()).unwrap_or(i64::MAX))
}
