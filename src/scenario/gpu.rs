//! How a tenant uses the GPU: what may be written of it, and its rules.
//!
//! Whether this machine has a GPU that can do so is not asked here: a scenario resolves the same everywhere.

use super::choices::plain;
use super::problems::{ProblemKind, Spot};
use super::read::{Choices, Fields, Read, Reader};
use super::resolve::require;
use super::tree::Node;
use super::{ContextMemory, GpuUse, Graph, Preprocess, Provider, Sync, Transfer};

/// More than any machine has.
pub(super) const DEVICES: u16 = 64;
pub(super) const A_DEVICE: &str = "a device's number, from 0 to 63";

/// As typed.
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

static TRANSFERS: Choices = Choices {
    what: "transfer",
    default: "Auto",
    all: &[plain("Auto"), plain("Copy"), plain("ZeroCopy"), plain("Managed")],
};

static GRAPHS: Choices = Choices {
    what: "graph",
    default: "Off",
    all: &[plain("Off"), plain("On"), plain("Auto")],
};

/// The words for [`Transfer`].
pub fn transfers() -> impl Iterator<Item = &'static str> {
    TRANSFERS.all.iter().map(|choice| choice.name)
}

/// The words for [`Graph`].
pub fn graphs() -> impl Iterator<Item = &'static str> {
    GRAPHS.all.iter().map(|choice| choice.name)
}

static SYNCS: Choices = Choices {
    what: "sync",
    default: "Block",
    all: &[plain("Block"), plain("Spin"), plain("Yield")],
};

static CONTEXT_MEMORIES: Choices = Choices {
    what: "context memory",
    default: "Separate",
    all: &[plain("Separate"), plain("Shared")],
};

static PREPROCESSES: Choices = Choices {
    what: "preprocess",
    default: "Host",
    all: &[plain("Host"), plain("Gpu")],
};

static PROVIDERS: Choices = Choices {
    what: "provider",
    default: "Cuda",
    all: &[plain("Cuda"), plain("Cpu")],
};

pub(super) fn read(r: &mut Reader, fields: &Fields<'_>) -> GpuFile {
    GpuFile {
        transfer: r.optional(fields, "transfer", |r, node, _| {
            Some(match r.choice(node, &TRANSFERS)?.0 {
                "Copy" => Transfer::Copy,
                "ZeroCopy" => Transfer::ZeroCopy,
                "Managed" => Transfer::Managed,
                _ => Transfer::Auto,
            })
        }),
        graph: r.optional(fields, "graph", |r, node, _| {
            Some(match r.choice(node, &GRAPHS)?.0 {
                "On" => Graph::On,
                "Auto" => Graph::Auto,
                _ => Graph::Off,
            })
        }),
        sync: r.optional(fields, "sync", |r, node, _| {
            Some(match r.choice(node, &SYNCS)?.0 {
                "Spin" => Sync::Spin,
                "Yield" => Sync::Yield,
                _ => Sync::Block,
            })
        }),
        context_memory: r.optional(fields, "context_memory", |r, node, _| {
            Some(match r.choice(node, &CONTEXT_MEMORIES)?.0 {
                "Shared" => ContextMemory::Shared,
                _ => ContextMemory::Separate,
            })
        }),
        share: r.optional(fields, "share", Reader::number),
        gpu: r.optional(fields, "gpu", Reader::whole),
        preprocess: r.optional(fields, "preprocess", |r, node, _| {
            Some(match r.choice(node, &PREPROCESSES)?.0 {
                "Gpu" => Preprocess::Gpu,
                _ => Preprocess::Host,
            })
        }),
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

pub(super) fn provider(r: &mut Reader, node: &Node, _: &str) -> Option<Provider> {
    Some(match r.choice(node, &PROVIDERS)?.0 {
        "Cpu" => Provider::Cpu,
        _ => Provider::Cuda,
    })
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
