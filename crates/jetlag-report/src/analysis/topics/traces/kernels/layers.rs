//! Time per kernel and per layer of one tenant.
//!
//! Quantiles are those of the durations seen in this phase, without an interval: the calls of one kernel in one frame have
//! much in common. They are shown from the number of calls on that the house asks of frames.

use std::collections::{BTreeMap, HashMap};

use jetlag_stats::quantile::Quantile;

use super::gather::{gpu_of, kind_of};
use super::occupancy::Multiprocessor;
use super::spans::sum;
use crate::analysis::gathering::traced::Traced;
use crate::analysis::stats::{ns_to_ms, six_decimals};
use crate::analysis::summary::kernels::{KernelTime, LaunchShape, LayerTime};
use crate::record::Activity;
use crate::record::activity::Launch;

/// The time of a tenant's kernels and layers.
pub(super) struct Times {
    pub(super) layers: Vec<LayerTime>,
    pub(super) kernels: Vec<KernelTime>,
    /// Sum of the durations of all work on a GPU.
    pub(super) device_ns: i64,
}

#[derive(PartialEq, Eq, Hash)]
struct Key {
    layer: Option<u32>,
    name: Option<u32>,
    kind: &'static str,
}

#[derive(Clone, Copy, Default)]
struct OfLayer {
    count: u64,
    ns: i64,
}

/// The times of this work, which is that of so many frames; of the whole measured time where there are none.
pub(super) fn times<'a>(
    work: impl Iterator<Item = &'a Activity>,
    frames: usize,
    traced: &Traced,
    fits: Option<&Multiprocessor>,
) -> Times {
    let mut kernels: HashMap<Key, Vec<i64>> = HashMap::new();
    let mut layers: BTreeMap<Option<&str>, OfLayer> = BTreeMap::new();
    let mut device_ns = 0;
    for activity in work {
        let (Some(_), Some(kind)) = (gpu_of(&activity.work), kind_of(&activity.work)) else {
            continue;
        };
        let ns = activity.duration().0.max(0);
        device_ns = i64::saturating_add(device_ns, ns);
        let layer = layers.entry(traced.text(activity.owner.layer)).or_default();
        layer.count += 1;
        layer.ns = layer.ns.saturating_add(ns);
        // Copies have a table of their own.
        if kind != "copy" {
            let key = Key {
                layer: activity.owner.layer,
                name: activity.name,
                kind,
            };
            kernels.entry(key).or_default().push(ns);
        }
    }
    let per = Per {
        frames: frames.max(1) as f64,
        device_ns,
    };
    let mut layers: Vec<LayerTime> = layers.into_iter().map(|(name, of)| per.layer(name, of)).collect();
    layers.sort_by(|a, b| b.ms.total_cmp(&a.ms));
    let mut kernels: Vec<KernelTime> = kernels
        .into_iter()
        .map(|(key, durations)| per.kernel(&key, durations, traced, fits))
        .collect();
    // A map has no order of its own; the same run must give the same report.
    kernels.sort_by(|a, b| {
        let rest = |row: &KernelTime| {
            (
                row.layer.clone(),
                row.name.clone(),
                row.launch.map(|l| (l.grid, l.block)),
            )
        };
        b.ms.total_cmp(&a.ms).then_with(|| rest(a).cmp(&rest(b)))
    });
    Times {
        layers,
        kernels,
        device_ns,
    }
}

/// What sums are divided by.
struct Per {
    frames: f64,
    device_ns: i64,
}

impl Per {
    fn share(&self, ns: i64) -> f64 {
        match self.device_ns {
            0 => 0.0,
            all => six_decimals(ns as f64 / all as f64),
        }
    }

    fn layer(&self, name: Option<&str>, of: OfLayer) -> LayerTime {
        LayerTime {
            layer: name.map(str::to_owned),
            calls_per_frame: six_decimals(of.count as f64 / self.frames),
            ms: ns_to_ms(of.ns as f64 / self.frames),
            share: self.share(of.ns),
        }
    }

    fn kernel(
        &self,
        key: &Key,
        mut durations: Vec<i64>,
        traced: &Traced,
        fits: Option<&Multiprocessor>,
    ) -> KernelTime {
        durations.sort_unstable();
        let (count, total) = (durations.len() as u64, sum(durations.iter().copied()));
        let at = |quantile: Quantile| {
            let rank = quantile.supported_by(count).then(|| quantile.rank(count))?;
            let ns = durations.get((rank as usize).checked_sub(1)?)?;
            Some(*ns as f64 / 1e3)
        };
        let definition = key.name.and_then(|name| traced.names.get(&name));
        KernelTime {
            layer: traced.text(key.layer).map(str::to_owned),
            kind: key.kind,
            name: definition.map(|definition| definition.text.clone()),
            count,
            calls_per_frame: six_decimals(count as f64 / self.frames),
            ms: ns_to_ms(total as f64 / self.frames),
            share: self.share(total),
            mean_us: (total as f64 / count.max(1) as f64).round() / 1e3,
            p50_us: at(Quantile::P50),
            p99_us: at(Quantile::P99),
            launch: definition
                .and_then(|definition| definition.launch)
                .map(|launch| shape(&launch, fits)),
        }
    }
}

fn shape(launch: &Launch, fits: Option<&Multiprocessor>) -> LaunchShape {
    let filled = fits.and_then(|multiprocessor| multiprocessor.filled(launch));
    LaunchShape {
        grid: launch.grid,
        block: launch.block,
        cluster: (launch.cluster != [0; 3]).then_some(launch.cluster),
        registers: launch.registers,
        static_shared_bytes: launch.static_shared_bytes,
        dynamic_shared_bytes: launch.dynamic_shared_bytes,
        local_bytes: launch.local_bytes,
        occupancy: filled.map(|filled| six_decimals(filled.occupancy)),
        limited_by: filled.map(|filled| filled.limited_by),
        waves: filled.and_then(|filled| filled.waves).map(six_decimals),
    }
}
