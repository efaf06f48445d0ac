//! Reads buffers that `scripts/gpu/cupti_logger.cpp` kept of a traced program, and compares each record's fields with what the C++
//! compiler read through NVIDIA's header:
//!
//! ```text
//! cargo run --release -p cupti-dyn --example reread FILE
//! ```
//!
//! FILE is what `LOGGER_OUT` named: beside it are `FILE.raw`, `FILE.text` and `FILE.names`. It ends with 1 at a difference.

#![allow(clippy::print_stdout, reason = "it prints")]

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::process::ExitCode;
use std::sync::Arc;

use cupti_dyn::record::{Record, parse};
use cupti_dyn::text::Texts;
use cupti_dyn::walk::Walk;
use cupti_dyn::{Kind, record};

/// In the order of the lengths at the head of the file; calls of runtime and driver have one.
const KINDS: [Kind; 6] = [
    Kind::CONCURRENT_KERNEL,
    Kind::MEMCPY,
    Kind::MEMSET,
    Kind::RUNTIME,
    Kind::SYNCHRONIZATION,
    Kind::GRAPH_TRACE,
];
/// Records of other kinds, which the logger may have switched on and whose length is the same in every release.
const EXTERNAL: usize = 24;

struct Known(HashMap<u64, Arc<str>>);

impl Texts for Known {
    fn text(&mut self, address: u64) -> Option<Arc<str>> {
        self.0.get(&address).cloned()
    }
}

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("which file?")?;
    let raw = std::fs::read(format!("{path}.raw"))?;
    let text = std::fs::read_to_string(format!("{path}.text"))?;
    let mut names = Known(HashMap::new());
    for line in std::fs::read_to_string(format!("{path}.names"))?.lines() {
        let (address, name) = line.split_once(' ').ok_or("a name without its address")?;
        names.0.insert(address.parse()?, name.into());
    }
    let mut numbers = raw
        .chunks_exact(8)
        .map(|bytes| u64::from_ne_bytes(bytes.try_into().unwrap_or_default()));
    let lengths: Vec<usize> = numbers.by_ref().take(KINDS.len()).map(|n| n as usize).collect();
    let length = |kind: Kind| match kind {
        Kind::EXTERNAL_CORRELATION => Some(EXTERNAL),
        Kind::DRIVER => lengths.get(3).copied(),
        kind => {
            let place = KINDS.iter().position(|known| *known == kind)?;
            lengths.get(place).copied()
        }
    };

    let mut expected = text.lines();
    let (mut at, mut different) = (8 * KINDS.len(), 0);
    let mut equal: BTreeMap<String, u64> = BTreeMap::new();
    while let Some(head) = raw.get(at..at + 8) {
        let valid = u64::from_ne_bytes(head.try_into()?) as usize;
        let buffer = raw
            .get(at + 8..at + 8 + valid)
            .ok_or("a buffer that is cut short")?;
        at += 8 + valid;
        for found in Walk::new(buffer, length) {
            let ours = match parse(found, &mut names) {
                Ok((record, _)) => line(&record, found.kind),
                Err(why) => format!("{}: {why:?}", found.kind),
            };
            let theirs = expected.next().unwrap_or("nothing");
            if ours == theirs {
                *equal
                    .entry(ours.split(' ').next().unwrap_or_default().to_owned())
                    .or_default() += 1;
            } else {
                different += 1;
                if different <= 5 {
                    println!("here:   {ours}\nheader: {theirs}");
                }
            }
        }
    }
    let left = expected.count();
    println!("equal: {equal:?}, different: {different}, not reached: {left}");
    Ok(ExitCode::from(u8::from(different + left > 0)))
}

/// The fields that the logger prints, as it prints them.
fn line(record: &Record, kind: Kind) -> String {
    let mut line = String::new();
    let mut fields = |what: &str, fields: &[(&str, i128)]| {
        line.push_str(what);
        for (name, value) in fields {
            let _ = write!(line, " {name}={value}");
        }
    };
    match record {
        Record::Kernel(kernel) => {
            fields("kernel", &of_kernel(kernel));
            let name = kernel.name.as_deref().unwrap_or_default();
            let _ = write!(line, " name={name}");
        }
        Record::Copy(copy) => fields(
            "copy",
            &[
                ("copyKind", copy.kind.0.into()),
                ("srcKind", copy.source.0.into()),
                ("dstKind", copy.destination.0.into()),
                ("bytes", copy.bytes.into()),
                ("start", copy.start.into()),
                ("end", copy.end.into()),
                ("deviceId", copy.device.into()),
                ("contextId", copy.context.into()),
                ("streamId", copy.stream.into()),
                ("correlationId", copy.correlation.into()),
                ("graphNodeId", copy.graph_node.into()),
                ("graphId", copy.graph.into()),
            ],
        ),
        Record::Fill(fill) => fields(
            "fill",
            &[
                ("bytes", fill.bytes.into()),
                ("start", fill.start.into()),
                ("end", fill.end.into()),
                ("deviceId", fill.device.into()),
                ("contextId", fill.context.into()),
                ("streamId", fill.stream.into()),
                ("correlationId", fill.correlation.into()),
                ("memoryKind", fill.memory.0.into()),
                ("graphNodeId", fill.graph_node.into()),
                ("graphId", fill.graph.into()),
            ],
        ),
        Record::RuntimeCall(call) => fields("runtime", &of_call(call)),
        Record::DriverCall(call) => fields("driver", &of_call(call)),
        Record::Synchronization(wait) => fields(
            "sync",
            &[
                ("type", wait.kind.0.into()),
                ("start", wait.start.into()),
                ("end", wait.end.into()),
                ("correlationId", wait.correlation.into()),
                ("contextId", wait.context.into()),
                ("streamId", wait.stream.into()),
                ("cudaEventId", wait.event.into()),
            ],
        ),
        Record::GraphLaunch(launch) => fields(
            "graph",
            &[
                ("correlationId", launch.correlation.into()),
                ("start", launch.start.into()),
                ("end", launch.end.into()),
                ("deviceId", launch.device.into()),
                ("graphId", launch.graph.into()),
                ("contextId", launch.context.into()),
                ("streamId", launch.stream.into()),
            ],
        ),
        _ => {
            let _ = write!(line, "kind {}", kind.0);
        }
    }
    line
}

fn of_kernel(kernel: &record::Kernel) -> [(&'static str, i128); 21] {
    [
        ("registersPerThread", kernel.registers.into()),
        ("start", kernel.start.into()),
        ("end", kernel.end.into()),
        ("deviceId", kernel.device.into()),
        ("contextId", kernel.context.into()),
        ("streamId", kernel.stream.into()),
        ("gridX", kernel.grid_x.into()),
        ("gridY", kernel.grid_y.into()),
        ("gridZ", kernel.grid_z.into()),
        ("blockX", kernel.block_x.into()),
        ("blockY", kernel.block_y.into()),
        ("blockZ", kernel.block_z.into()),
        ("staticSharedMemory", kernel.static_shared_bytes.into()),
        ("dynamicSharedMemory", kernel.dynamic_shared_bytes.into()),
        ("localMemoryPerThread", kernel.local_thread_bytes.into()),
        ("correlationId", kernel.correlation.into()),
        ("graphNodeId", kernel.graph_node.into()),
        ("graphId", kernel.graph.into()),
        ("clusterX", kernel.cluster_x.unwrap_or_default().into()),
        ("clusterY", kernel.cluster_y.unwrap_or_default().into()),
        ("clusterZ", kernel.cluster_z.unwrap_or_default().into()),
    ]
}

fn of_call(call: &record::Call) -> [(&'static str, i128); 7] {
    [
        ("cbid", call.function.into()),
        ("start", call.start.into()),
        ("end", call.end.into()),
        ("processId", call.process.into()),
        ("threadId", call.thread.into()),
        ("correlationId", call.correlation.into()),
        ("returnValue", call.answer.into()),
    ]
}
