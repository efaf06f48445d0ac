//! How long each GPU worked in the measured time, for whom, and for several at once.

use std::collections::BTreeMap;

use super::gather::{Gathered, NOBODY, OnGpu};
use super::spans::{Union, of_at_least_two};
use crate::analysis::gathering::traced::TracedPhase;
use crate::analysis::stats::{ns_to_ms, six_decimals};
use crate::analysis::summary::kernels::{BusyTenant, GpuTime};

/// Each GPU that worked in the phase.
pub(super) fn gpus(
    gathered: &Gathered<'_>,
    phase: &TracedPhase,
    name: impl Fn(u16) -> Option<String>,
) -> Vec<GpuTime> {
    let Some((from, to)) = gathered.window.filter(|(from, to)| to > from) else {
        return Vec::new();
    };
    let of = |(&gpu, on): (&u16, &OnGpu)| {
        let mut devices = phase.traces.iter().flat_map(|trace| &trace.devices);
        let known = devices.find(|device| device.device == gpu);
        GpuTime {
            name: known
                .map(|device| device.name.clone())
                .filter(|name| !name.is_empty()),
            ..one(gpu, on, (from.0, to.0), &name)
        }
    };
    gathered.gpus.iter().map(of).collect()
}

fn one(gpu: u16, on: &OnGpu, (from, to): (i64, i64), name: impl Fn(u16) -> Option<String>) -> GpuTime {
    let mut all = Union::default();
    let mut by_tenant: BTreeMap<u16, Union> = BTreeMap::new();
    for span in on.between(from, to) {
        let (from, to) = (span.from.max(from), span.to.min(to));
        all.push(from, to);
        by_tenant.entry(span.tenant).or_default().push(from, to);
    }
    let whole = to.saturating_sub(from);
    let share = |ns: i64| six_decimals(ns as f64 / whole as f64);
    let tenants = by_tenant.iter().map(|(&tenant, union)| BusyTenant {
        tenant: (tenant != NOBODY).then(|| name(tenant)).flatten(),
        busy_ms: ns_to_ms(union.length() as f64),
        busy_share: share(union.length()),
    });
    let tenants = tenants.collect();
    let overlap = of_at_least_two(&by_tenant.into_values().collect::<Vec<_>>());
    let busy = all.length();
    GpuTime {
        gpu,
        name: None,
        busy_ms: ns_to_ms(busy as f64),
        idle_ms: ns_to_ms(whole.saturating_sub(busy) as f64),
        busy_share: share(busy),
        overlap_ms: ns_to_ms(overlap as f64),
        overlap_share: share(overlap),
        tenants,
    }
}
