//! Makes a run file of the spools of a command's processes: a tenant for each process, a frame for each batch.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use jetlag_activity::spool::{Counts, Spooled};
use jetlag_board::Roots;

use super::noticed::Noticed;
use super::owners::own;
use super::ranges::{Batch, Nested, nest};
use super::spools::{Folder, Traced, name_of, unique};
use super::told::Told;
use crate::clock::{Clock, RealClock};
use crate::commands::run_path::AtOnce;
use crate::record::activity::Work;
use crate::record::writer::RunWriter;
use crate::record::{
    APPLICATION_BACKEND, ActivityBatch, ApplicationTenant, Device, EndReason, FrameRecord, LogRecord,
    Manifest, Phase, PhaseRecord, PhaseSpec, SCHEMA_MAJOR, SCHEMA_MINOR, Subject, TRACED_FACT,
    TenantManifest, TraceRecord,
};
use crate::units::Stamp;

/// Activities of one message.
const BATCH: usize = 4096;

/// What was asked for.
pub(super) struct Asked<'a> {
    /// The command, in words.
    pub(super) program: String,
    /// The name of batches.
    pub(super) batch: &'a str,
    /// Batches at the start that are in no figure.
    pub(super) warmup: u64,
    /// Whether the GPU was to be traced.
    pub(super) gpu: bool,
    /// When the command was started, and when it had ended.
    pub(super) from: Stamp,
    pub(super) to: Stamp,
    /// A moment on both clocks.
    pub(super) anchor: (Stamp, i64),
    /// How jetlag was started.
    pub(super) command_line: Vec<String>,
}

/// Writes the run file; where it is.
pub(super) fn record(file: AtOnce, folder: &Folder, asked: &Asked<'_>) -> anyhow::Result<(PathBuf, Told)> {
    let names = unique(
        folder
            .traced
            .iter()
            .map(|traced| name_of(&traced.began.arguments))
            .collect(),
    );
    file.record(&manifest(&names, folder, asked), |writer| {
        fill(writer, &names, folder, asked)
    })
}

fn fill(writer: RunWriter, names: &[String], folder: &Folder, asked: &Asked<'_>) -> anyhow::Result<Told> {
    let mut recording = Recording {
        writer,
        told: Told {
            processes: folder.traced.len(),
            ..Told::default()
        },
        windows: Vec::new(),
    };
    if folder.traced.is_empty() {
        recording.notice(&Noticed::Nothing, None, &asked.program)?;
    }
    for noticed in &folder.noticed {
        recording.notice(noticed, None, &asked.program)?;
    }
    let is_traced = folder.traced.iter().any(|traced| traced.gpu.is_some());
    if is_traced {
        recording.writer.phase_spec(&PhaseSpec {
            at: asked.from,
            phase: Phase::Together,
            label: label(names),
            sharing: String::new(),
            members: (0..folder.traced.len() as u16).collect(),
            rate: None,
            traced: true,
            round: None,
        })?;
    }
    for ((traced, name), tenant) in folder.traced.iter().zip(names).zip(0..) {
        recording.process(traced, name, tenant, asked, is_traced)?;
    }
    recording.ends(folder.traced.len() as u16, asked)?;
    let Recording { writer, told, .. } = recording;
    writer.finish()?;
    Ok(told)
}

/// The phase in words.
fn label(names: &[String]) -> String {
    match names.len() {
        0..=3 => names.join(" + "),
        more => format!("{more} processes"),
    }
}

fn manifest(names: &[String], folder: &Folder, asked: &Asked<'_>) -> Manifest {
    let subject = Subject::Name(asked.program.clone());
    let (anchor, anchor_unix_ns) = asked.anchor;
    let mut machine = jetlag_board::facts(&Roots::system());
    if names.is_empty() {
        machine.insert(TRACED_FACT.to_owned(), "nothing".to_owned());
    }
    let tenant = |(name, traced): (&String, &Traced)| TenantManifest {
        name: name.clone(),
        backend: APPLICATION_BACKEND.to_owned(),
        device: Some(traced.gpu.map_or(Device::Host, Device::Gpu)),
        detector: None,
        classes: Vec::new(),
        networks: Vec::new(),
        source: format!(
            "process {}: {}",
            traced.began.process,
            traced.began.arguments.join(" ")
        ),
        submission_may_wait: None,
        application: Some(ApplicationTenant::default()),
        start_up: None,
        batch: None,
        memory: None,
        selection: None,
        record_outputs: None,
    };
    Manifest {
        schema_major: SCHEMA_MAJOR,
        schema_minor: SCHEMA_MINOR,
        jetlag_version: env!("CARGO_PKG_VERSION").to_owned(),
        command_line: asked.command_line.clone(),
        subject,
        tenants: names.iter().zip(&folder.traced).map(tenant).collect(),
        machine,
        anchor,
        anchor_unix_ns,
        unknown: Vec::new(),
    }
}

/// This moment on both clocks.
pub(super) fn anchor() -> (Stamp, i64) {
    let unix = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let unix = unix.map_or(0, |since| i64::try_from(since.as_nanos()).unwrap_or(i64::MAX));
    (RealClock.now(), unix)
}

/// A run file in the making.
struct Recording {
    writer: RunWriter,
    told: Told,
    /// Of each tenant with batches: the measured time.
    windows: Vec<(u16, Stamp, Stamp)>,
}

impl Recording {
    fn notice(&mut self, noticed: &Noticed, tenant: Option<&str>, process: &str) -> anyhow::Result<()> {
        for finding in noticed.findings(tenant, process) {
            self.told.problems.push(finding.message.clone());
            self.writer.finding(&finding)?;
        }
        Ok(())
    }

    fn process(
        &mut self,
        traced: &Traced,
        name: &str,
        tenant: u16,
        asked: &Asked<'_>,
        is_phase: bool,
    ) -> anyhow::Result<()> {
        // Read a second time: the manifest came first, and only one is in memory at a time.
        let Some(mut spooled) = traced.read(tenant) else {
            return Ok(());
        };
        let nested = {
            let names = &spooled.gathered.names;
            nest(
                &spooled.ranges,
                |name| names.text(name).map(|text| &**text),
                asked.batch,
            )
        };
        own(
            &mut spooled.gathered,
            &spooled.ranges,
            &nested.batches,
            asked.batch,
            tenant,
        );
        let process = format!("{name} (process {})", traced.began.process);
        let has_batches = !nested.batches.is_empty();
        self.limits(&spooled, (name, &process), (has_batches, traced.is_alive), asked)?;
        if is_phase {
            self.activities(&mut spooled)?;
        }
        self.frames(nested, tenant, asked)
    }

    /// What limits the figures of a process.
    fn limits(
        &mut self,
        spooled: &Spooled,
        (tenant, process): (&str, &str),
        (has_batches, is_alive): (bool, bool),
        asked: &Asked<'_>,
    ) -> anyhow::Result<()> {
        let tenant = Some(tenant);
        if let Some(why) = &spooled.untraced {
            self.notice(&Noticed::Untraced { why: why.clone() }, tenant, process)?;
        }
        if spooled.trace.is_some() && has_batches {
            self.notice(&Noticed::TracedFrames, tenant, process)?;
        }
        if let Some(broken) = &spooled.broken {
            log::debug!("{process}: {broken}");
        }
        if !spooled.ended {
            let cut = match (is_alive, spooled.broken.is_some()) {
                (true, _) => Noticed::Outlived,
                // What is missing is counted.
                (false, _) if spooled.counts.not_written > 0 => Noticed::Full,
                (false, true) => Noticed::Cut {
                    how: "was ended from outside or crashed",
                },
                (false, false) => Noticed::Cut {
                    how: "was ended from outside or crashed, left without its exit handlers, or became another program",
                },
            };
            self.notice(&cut, tenant, process)?;
        }
        if spooled.counts != Counts::default() {
            self.notice(&Noticed::Ranges(spooled.counts), tenant, process)?;
        }
        if asked.gpu && spooled.trace.is_none() && spooled.untraced.is_none() {
            self.writer.log(&LogRecord {
                at: asked.from,
                level: "info".to_owned(),
                message: format!("{process} did not initialise CUDA: there are no kernels of it"),
            })?;
        }
        Ok(())
    }

    /// Kernels, copies and calls, and how they were traced.
    fn activities(&mut self, spooled: &mut Spooled) -> anyhow::Result<()> {
        let gathered = &mut spooled.gathered;
        gathered
            .all
            .sort_by_key(|raw| (raw.activity.from, raw.activity.to));
        let mut used: HashSet<u32> = HashSet::new();
        for raw in &gathered.all {
            used.extend(raw.activity.name);
            used.extend(raw.activity.owner.layer);
            if matches!(raw.activity.work, Work::Kernel { .. }) {
                self.told.kernels += 1;
            }
        }
        // Names of ranges that nothing was launched in are in the ranges alone.
        for known in gathered.names.definitions() {
            if used.contains(&known.number) {
                self.writer.definition(&known)?;
            }
        }
        for raws in gathered.all.chunks(BATCH) {
            self.writer.activities(&ActivityBatch {
                phase: Phase::Together,
                process: spooled.began.process,
                activities: raws.iter().map(|raw| raw.activity).collect(),
            })?;
        }
        if let Some(trace) = &spooled.trace {
            self.told.is_traced = true;
            self.writer.trace(&TraceRecord {
                phase: Some(Phase::Together),
                process: spooled.began.process,
                activities: gathered.all.len() as u64,
                not_kept: trace.not_kept + gathered.not_kept,
                ..trace.clone()
            })?;
        }
        Ok(())
    }

    /// Ranges as they are, and batches as frames.
    fn frames(&mut self, nested: Nested, tenant: u16, asked: &Asked<'_>) -> anyhow::Result<()> {
        self.told.ranges += nested.ranges.len() as u64;
        for range in nested.ranges {
            self.writer
                .range(&crate::record::RangeRecord { tenant, ..range })?;
        }
        let mut frames: Vec<FrameRecord> = nested
            .batches
            .iter()
            .zip(0..)
            // The mark of a stream's end is no piece of work.
            .filter(|(batch, _)| batch.items > 0)
            .map(|(batch, index)| frame(batch, index, tenant, asked.warmup))
            .collect();
        self.told.batches += frames.len() as u64;
        self.told.warmup += frames.iter().filter(|frame| frame.warmup).count() as u64;
        frames.sort_by_key(|frame| frame.finished);
        let measured = || frames.iter().filter(|frame| !frame.warmup);
        let from = measured().map(|frame| frame.released).min();
        let to = measured().map(|frame| frame.finished).max();
        if let (Some(from), Some(to)) = (from, to) {
            self.windows.push((tenant, from, to));
        }
        for frame in &frames {
            self.writer.frame(frame)?;
        }
        Ok(())
    }

    /// The end of each tenant's part.
    fn ends(&mut self, tenants: u16, asked: &Asked<'_>) -> anyhow::Result<()> {
        let windows = windows(&self.windows, tenants, (asked.from, asked.to));
        for (tenant, (from, to)) in (0..).zip(windows) {
            self.writer.phase(&PhaseRecord {
                tenant,
                phase: Phase::Together,
                epoch: asked.from,
                measured_from: from,
                measured_to: to,
                reason: EndReason::EndOfSource,
                lost_records: 0,
                sampled: None,
                process_peak: None,
            })?;
        }
        Ok(())
    }
}

fn frame(batch: &Batch, index: u64, tenant: u16, warmup: u64) -> FrameRecord {
    FrameRecord {
        tenant,
        warmup: index < warmup,
        sequence: index,
        source_index: index,
        stages: batch.stages,
        ..FrameRecord::completed(batch.from, batch.to)
    }
}

/// The measured time of each tenant: from its first batch to its last. A process without batches has that of all others, or the
/// whole time. Kernels are counted in the time that all have in common, so processes that ran after each other have the whole in common.
fn windows(own: &[(u16, Stamp, Stamp)], tenants: u16, whole: (Stamp, Stamp)) -> Vec<(Stamp, Stamp)> {
    let first = own.iter().map(|(_, from, _)| *from);
    let last = own.iter().map(|(.., to)| *to);
    let all = first.clone().min().zip(last.clone().max()).unwrap_or(whole);
    let common = first.max().zip(last.min()).filter(|(from, to)| to > from);
    let length = |(from, to): (Stamp, Stamp)| (to - from).0;
    let is_shared = common.is_some_and(|common| {
        own.iter()
            .all(|(_, from, to)| 2 * length(common) >= length((*from, *to)))
    });
    let by_tenant: HashMap<u16, (Stamp, Stamp)> = own
        .iter()
        .map(|(tenant, from, to)| (*tenant, (*from, *to)))
        .collect();
    (0..tenants)
        .map(|tenant| match by_tenant.get(&tenant) {
            Some(own) if is_shared => *own,
            _ => all,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tenants_have_their_own_time_where_they_ran_together_and_all_of_it_where_not() {
        let at = |from, to| (Stamp(from), Stamp(to));
        let of = |own: &[(u16, i64, i64)]| {
            let own: Vec<(u16, Stamp, Stamp)> = own
                .iter()
                .map(|(t, from, to)| (*t, Stamp(*from), Stamp(*to)))
                .collect();
            windows(&own, 2, at(0, 1000))
        };
        assert_eq!(of(&[]), [at(0, 1000); 2]);
        assert_eq!(of(&[(0, 100, 200)]), [at(100, 200); 2]);
        assert_eq!(of(&[(0, 100, 200), (1, 110, 220)]), [at(100, 200), at(110, 220)]);
        assert_eq!(of(&[(0, 100, 200), (1, 300, 400)]), [at(100, 400); 2]);
    }
}
