//! Copies by direction and memory, and work that belongs to no frame.

use std::collections::BTreeMap;

use super::gather::kind_of;
use crate::analysis::stats::{ns_to_ms, six_decimals};
use crate::analysis::summary::kernels::{CopyTime, LooseWork};
use crate::record::Activity;
use crate::record::activity::{Direction, MemoryKind, Work};

#[derive(Clone, Copy, Default)]
struct Total {
    count: u64,
    bytes: u64,
    ns: i64,
}

impl Total {
    fn add(&mut self, bytes: u64, ns: i64) {
        self.count += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        self.ns = self.ns.saturating_add(ns.max(0));
    }
}

/// The copies among this work, which is that of so many frames; `device_ns` is the sum of all of it.
pub(super) fn copies<'a>(
    work: impl Iterator<Item = &'a Activity>,
    frames: usize,
    device_ns: i64,
) -> Vec<CopyTime> {
    let mut totals: BTreeMap<(Direction, MemoryKind, MemoryKind), Total> = BTreeMap::new();
    for activity in work {
        if let Work::Copy {
            direction,
            source,
            destination,
            bytes,
            ..
        } = activity.work
        {
            let total = totals.entry((direction, source, destination)).or_default();
            total.add(bytes, activity.duration().0);
        }
    }
    let count = frames.max(1) as f64;
    let row = |((direction, source, destination), total): ((Direction, MemoryKind, MemoryKind), Total)| {
        let on_device = direction != Direction::HostToHost;
        CopyTime {
            direction: direction.word(),
            source: source.word(),
            destination: destination.word(),
            kind: side_of(direction).map(Side::word),
            count: total.count,
            calls_per_frame: six_decimals(total.count as f64 / count),
            bytes: six_decimals(total.bytes as f64 / count),
            ms: ns_to_ms(total.ns as f64 / count),
            share: (on_device && device_ns > 0).then(|| six_decimals(total.ns as f64 / device_ns as f64)),
            gb_per_s: (total.ns > 0).then(|| six_decimals(total.bytes as f64 / total.ns as f64)),
        }
    };
    let mut totals: Vec<_> = totals.into_iter().collect();
    totals.sort_by_key(|(_, total)| std::cmp::Reverse(total.ns));
    totals.into_iter().map(row).collect()
}

/// Whether a copy stays in the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Internal,
    External,
}

impl Side {
    fn word(self) -> &'static str {
        match self {
            Side::Internal => "internal",
            Side::External => "external",
        }
    }
}

/// None for copies between devices, within the host, and of unknown direction.
pub(super) fn side_of(direction: Direction) -> Option<Side> {
    match direction {
        Direction::DeviceToDevice => Some(Side::Internal),
        Direction::HostToDevice | Direction::DeviceToHost => Some(Side::External),
        _ => None,
    }
}

/// Work by kind: kernels, copies, fills, graphs.
pub(super) fn by_kind(work: &[&Activity]) -> Vec<LooseWork> {
    let mut totals: BTreeMap<&'static str, Total> = BTreeMap::new();
    for activity in work {
        if let Some(kind) = kind_of(&activity.work) {
            totals
                .entry(kind)
                .or_default()
                .add(bytes_of(&activity.work), activity.duration().0);
        }
    }
    totals
        .into_iter()
        .map(|(kind, total)| loose(Some(kind), total))
        .collect()
}

/// All of it together; none where there is none.
pub(super) fn together(work: &[&Activity]) -> Option<LooseWork> {
    let mut total = Total::default();
    for activity in work {
        total.add(bytes_of(&activity.work), activity.duration().0);
    }
    (total.count > 0).then(|| loose(None, total))
}

fn loose(kind: Option<&'static str>, total: Total) -> LooseWork {
    LooseWork {
        kind,
        count: total.count,
        ms: ns_to_ms(total.ns as f64),
        bytes: total.bytes,
    }
}

fn bytes_of(work: &Work) -> u64 {
    match *work {
        Work::Copy { bytes, .. } | Work::Fill { bytes, .. } => bytes,
        _ => 0,
    }
}
