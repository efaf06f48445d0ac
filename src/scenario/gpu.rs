//! How a tenant uses the GPU: what may be written of it, and its rules.
//!
//! Whether this machine has a GPU that can do so is not asked here: a scenario resolves the same everywhere.

use super::rules::require;
use super::{ContextMemory, GpuUse, Graph, Preprocess, Sync, Transfer};
use crate::written::{Fields, ProblemKind, Read, Reader, Spot, one_of};

/// More than any machine has.
pub(super) const DEVICES: u16 = 64;
pub(super) const A_DEVICE: &str = "a device's number, from 0 to 63";

/// A tenant's fields about its GPU, as written in the file.
#[derive(Debug, Default)]
pub(super) struct GpuFile {
    transfer: Read<Transfer>,
    graph: Read<Graph>,
    sync: Read<Sync>,
    context_memory: Read<ContextMemory>,
    share: Read<f64>,
    pub(super) gpu: Read<u16>,
    preprocess: Read<Preprocess>,
    pub(super) processes: Read<usize>,
    pub(super) gpus: Read<Vec<Spot<u16>>>,
}

pub(super) fn read(r: &mut Reader, fields: &Fields<'_>) -> GpuFile {
    GpuFile {
        transfer: r.optional(fields, "transfer", one_of("transfer")),
        graph: r.optional(fields, "graph", one_of("graph")),
        sync: r.optional(fields, "sync", one_of("sync")),
        context_memory: r.optional(fields, "context_memory", one_of("context memory")),
        share: r.optional(fields, "share", Reader::number),
        gpu: r.optional(fields, "gpu", Reader::whole),
        preprocess: r.optional(fields, "preprocess", one_of("preprocess")),
        processes: r.optional(fields, "processes", Reader::whole),
        gpus: r.optional(fields, "gpus", |r, node, field| {
            r.list(
                node,
                field,
                "a list of devices' numbers, such as [0, 1]",
                Reader::whole,
            )
        }),
    }
}

/// `label` is "tenant `camera`".
pub(super) fn resolve(typed: &GpuFile, label: &str, r: &mut Reader) -> GpuUse {
    let of = |field: &str| format!("`{field}` of {label}");
    if let Some(spot) = typed.share.given() {
        let ok = spot.value > 0.0 && spot.value <= 1.0;
        let wanted = "above 0 and at most 1: a share of the GPU's multiprocessors";
        require(r, spot, ok, of("share"), wanted);
    }
    if let Some(spot) = typed.gpu.given() {
        require(r, spot, spot.value < DEVICES, of("gpu"), A_DEVICE);
    }
    GpuUse {
        transfer: typed.transfer.or_default(),
        graph: typed.graph.or_default(),
        sync: typed.sync.or_default(),
        context_memory: typed.context_memory.or_default(),
        share: typed.share.given().map(|spot| spot.value),
        gpu: typed.gpu.or(0),
        preprocess: typed.preprocess.or_default(),
    }
}

/// Shares of one device add up to at most 1.
pub(super) fn shares<'a>(tenants: impl Iterator<Item = &'a GpuFile>, r: &mut Reader) {
    let mut sum = 0.0;
    for Spot { value, place } in tenants.filter_map(|tenant| tenant.share.given()) {
        sum += value;
        if sum > 1.0 + 1e-9 && *value <= 1.0 {
            let kind = ProblemKind::OutOfRange {
                what: "the sum of all `share`s".to_owned(),
                found: format!("{sum:.2} with this one"),
                wanted: "at most 1".to_owned(),
            };
            r.report(place, kind);
            return;
        }
    }
}
