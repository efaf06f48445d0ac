//! Traced phases on the time line: a track for each stream and for each thread that called CUDA, under `traced GPU`.
//!
//! Here the device's work has its real place. A flow leads from each call to the work that it asked for; a stretch in which a
//! frame's host or stream waited is a slice of its own.

use std::io::{self, Write};

use super::{PerfettoExport, Track, named};
use crate::analysis::trace::Span;
use crate::export::perfetto_proto::{DebugAnnotation, TrackEvent};
use crate::record::activity::{Activity, ActivityBatch, Direction, MemoryKind, WaitKind, Work};

/// Flows of calls have numbers beyond all flows of frames.
const CALLS: u64 = 1 << 63;

impl<W: Write, F: FnMut(usize) -> io::Result<W>> PerfettoExport<W, F> {
    pub(super) fn activities(&mut self, batch: &ActivityBatch) -> io::Result<()> {
        for activity in &batch.activities {
            if self.written > self.limit {
                self.next_shard()?;
            }
            self.activity(batch.process, activity)?;
        }
        Ok(())
    }

    fn activity(&mut self, process: u32, activity: &Activity) -> io::Result<()> {
        let (track, fallback) = match activity.work {
            Work::Kernel { on, .. } => (Track::Stream(process, on), "kernel"),
            Work::Copy { on, direction, .. } => (Track::Stream(process, on), copy(direction)),
            Work::Fill { on, .. } => (Track::Stream(process, on), "fill"),
            Work::Graph { on, .. } => (Track::Stream(process, on), "graph"),
            Work::Call { thread, .. } | Work::Range { thread, .. } | Work::Overhead { thread } => {
                (Track::Thread(process, thread), "call")
            }
            Work::Wait { on, how, .. } => (Track::Waits(process, on), wait(how)),
            // An event has no length, and a slice of the device belongs to no stream.
            Work::Event { .. } | Work::Slice { .. } => return Ok(()),
        };
        let name = self.text(activity.name).unwrap_or(fallback).to_owned();
        let flow = activity
            .work
            .correlation()
            .map(|correlation| CALLS | u64::from(process) << 32 | u64::from(correlation));
        let leads = matches!(activity.work, Work::Call { .. }) || activity.work.on_device().is_some();
        let event = TrackEvent {
            // Not ended by the work: a graph's launch leads to many kernels.
            flow_ids: flow.filter(|_| leads).into_iter().collect(),
            debug_annotations: self.about(activity),
            ..named(&name)
        };
        let span = Span {
            from: activity.from,
            to: activity.to,
        };
        self.slice(&track, span, event)
    }

    fn text(&self, name: Option<u32>) -> Option<&str> {
        self.texts.get(&name?).map(|known| known.text.as_str())
    }

    fn about(&self, activity: &Activity) -> Vec<DebugAnnotation> {
        let mut all = Vec::new();
        let text = |name: &str, value: &str| DebugAnnotation {
            name: Some(name.to_owned()),
            string_value: Some(value.to_owned()),
            ..DebugAnnotation::default()
        };
        let int = |name: &str, value: u64| DebugAnnotation {
            name: Some(name.to_owned()),
            int_value: Some(i64::try_from(value).unwrap_or(i64::MAX)),
            ..DebugAnnotation::default()
        };
        let owner = activity.owner;
        if let Some(tenant) = owner.tenant.and_then(|tenant| self.names.of(tenant)) {
            all.push(text("tenant", tenant));
        }
        if let Some(frame) = owner.frame {
            all.push(int("frame", frame));
        }
        if let Some(layer) = self.text(owner.layer) {
            all.push(text("layer", layer));
        }
        match activity.work {
            Work::Kernel { .. } => {
                let launch = activity.name.and_then(|name| self.texts.get(&name)?.launch);
                if let Some(launch) = launch {
                    let three = |of: [u32; 3]| format!("{} × {} × {}", of[0], of[1], of[2]);
                    all.push(text("grid", &three(launch.grid)));
                    all.push(text("block", &three(launch.block)));
                    all.push(int("registers", launch.registers.into()));
                    let shared = launch.static_shared_bytes + launch.dynamic_shared_bytes;
                    all.push(int("shared_bytes", shared.into()));
                }
            }
            Work::Copy {
                bytes,
                source,
                destination,
                ..
            } => {
                all.push(int("bytes", bytes));
                all.push(text("from", memory(source)));
                all.push(text("to", memory(destination)));
            }
            Work::Fill { bytes, .. } => all.push(int("bytes", bytes)),
            Work::Range {
                payload: Some(payload),
                ..
            } => all.push(DebugAnnotation {
                name: Some("payload".to_owned()),
                int_value: Some(payload),
                ..DebugAnnotation::default()
            }),
            _ => {}
        }
        all
    }
}

fn copy(direction: Direction) -> &'static str {
    match direction {
        Direction::HostToDevice => "copy to device",
        Direction::DeviceToHost => "copy to host",
        Direction::DeviceToDevice => "copy on device",
        Direction::HostToHost => "copy on host",
        Direction::Peer => "copy to another device",
        Direction::Unknown => "copy",
    }
}

fn wait(how: WaitKind) -> &'static str {
    match how {
        WaitKind::Event => "host waits for an event",
        WaitKind::StreamForEvent => "stream waits for an event",
        WaitKind::Stream => "host waits for the stream",
        WaitKind::Context => "host waits for the device",
        WaitKind::Unknown => "wait",
    }
}

fn memory(kind: MemoryKind) -> &'static str {
    match kind {
        MemoryKind::Pageable => "pageable",
        MemoryKind::Pinned => "pinned",
        MemoryKind::Device => "device",
        MemoryKind::Array => "array",
        MemoryKind::Managed => "managed",
        MemoryKind::Unknown => "unknown",
    }
}
