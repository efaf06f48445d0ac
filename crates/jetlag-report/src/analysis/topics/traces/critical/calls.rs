//! Calls of CUDA by name: how many, and how long the host was in them; within frames and outside of any.

use std::collections::BTreeMap;

use super::gather::Process;
use super::node::{NO_TENANT, NONE};
use crate::analysis::stats::{ns_to_ms, six_decimals};
use crate::analysis::summary::critical::CallRow;
use crate::record::Definition;

/// Every call of a phase that no other contains.
#[derive(Debug, Default)]
pub(in crate::analysis) struct Calls {
    pub(super) all: Vec<Made>,
}

/// A call as the tables count it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Made {
    pub(super) from: i64,
    pub(super) took: i64,
    pub(super) waited: i64,
    pub(super) name: Option<u32>,
    pub(super) tenant: u16,
    /// [`NONE`] outside of frames.
    pub(super) frame: u32,
}

impl Calls {
    pub(super) fn add(&mut self, process: &Process) {
        let made = process.calls.iter().map(|call| {
            let done = call.awaited.map(|work| process.works[work as usize].to);
            Made {
                from: call.from,
                took: call.to.saturating_sub(call.from),
                waited: done.map_or(0, |done| done.clamp(call.from, call.to).saturating_sub(call.from)),
                name: call.name,
                tenant: call.tenant,
                frame: call.frame,
            }
        });
        self.all.extend(made.filter(|made| made.tenant != NO_TENANT));
    }

    /// Those of a tenant outside of its frames, before and after a moment.
    pub(super) fn outside(&self, tenant: u16) -> impl Iterator<Item = &Made> {
        self.all
            .iter()
            .filter(move |made| made.tenant == tenant && made.frame == NONE)
    }
}

/// A row for each name, the longest first. `frames`: how many these calls are of.
pub(super) fn rows<'a>(
    calls: impl Iterator<Item = &'a Made>,
    frames: u64,
    names: &BTreeMap<u32, Definition>,
) -> Vec<CallRow> {
    #[derive(Default)]
    struct Sum {
        calls: u64,
        total: i128,
        waited: i128,
        most: i64,
    }
    let mut sums: BTreeMap<Option<u32>, Sum> = BTreeMap::new();
    for call in calls {
        let sum = sums.entry(call.name).or_default();
        sum.calls += 1;
        sum.total += i128::from(call.took);
        sum.waited += i128::from(call.waited);
        sum.most = sum.most.max(call.took);
    }
    let mut rows: Vec<CallRow> = sums
        .into_iter()
        .map(|(name, sum)| {
            let per_frame = |value: f64| (frames > 0).then(|| value / frames as f64);
            CallRow {
                name: super::text(names, name),
                calls: sum.calls,
                total_ms: ns_to_ms(sum.total as f64),
                waiting_ms: ns_to_ms(sum.waited as f64),
                mean_ms: ns_to_ms(sum.total as f64 / sum.calls as f64),
                max_ms: ns_to_ms(sum.most as f64),
                calls_per_frame: per_frame(sum.calls as f64).map(six_decimals),
                ms_per_frame: per_frame(sum.total as f64).map(ns_to_ms),
            }
        })
        .collect();
    rows.sort_by(|a, b| {
        b.total_ms
            .total_cmp(&a.total_ms)
            .then_with(|| a.name.cmp(&b.name))
    });
    rows
}
