//! What was counted, beside the static work of the same network.

use std::collections::BTreeSet;

use super::placing::{NodeName, place};
use super::result::{Against, LayerAgainst, LayerPoint, Ratio, TenantRoofline, Work};
use crate::analysis::topics::traces::counters::{Caches, Counters, LayerCounts, Measurement};
use crate::record::{NetworkManifest, WorkRecord};

/// The measurement of a tenant beside its work.
///
/// # Errors
/// A sentence: no measurement is of this tenant, several may be, or the work is not known.
pub fn against(
    counters: &Counters,
    tenant: &TenantRoofline,
    work: Work,
    nodes: &[WorkRecord],
    networks: &[NetworkManifest],
) -> Result<Against, String> {
    let measured = choose(counters, tenant)?;
    let own: Vec<&str> = networks.iter().map(|network| network.blake3.as_str()).collect();
    if !measured.networks.is_empty() && measured.networks != own {
        let short = |hash: &str| hash.chars().take(12).collect::<String>();
        let all = |hashes: Vec<&str>| hashes.into_iter().map(short).collect::<Vec<_>>().join(", ");
        return Err(format!(
            "the counters are of other networks (BLAKE3 {}) than the tenant {} runs ({}); count the scenario of this run: jetlag counters",
            all(measured.networks.iter().map(String::as_str).collect()),
            tenant.name,
            all(own)
        ));
    }
    let total = &measured.total;
    let flops = Ratio::of(total.flops, work.flops);
    let fused = Ratio::of(total.dram_bytes, work.fused_bytes);
    let round_trip = Ratio::of(total.dram_bytes, work.round_trip_bytes);
    let mut notes = measured.notes.clone();
    if measured.networks.is_empty() {
        notes.push(
            "The file does not tell which network was counted: that it is this one is taken on trust."
                .to_owned(),
        );
    }
    if measured.caches != Caches::Kept {
        notes.push("Bytes of memory hold what a cache saves otherwise: count with --keep-caches for the traffic of a run.".to_owned());
    }
    Ok(Against {
        name: measured.name.clone(),
        caches: measured.caches,
        flops,
        fused,
        round_trip,
        nearer: fused.zip(round_trip).map(|(fused, round_trip)| {
            let far = |of: Ratio| of.ratio.max(f64::MIN_POSITIVE).ln().abs();
            if far(fused) <= far(round_trip) {
                "fused"
            } else {
                "round_trip"
            }
        }),
        intensity: total
            .flops
            .zip(total.dram_bytes.filter(|bytes| *bytes > 0.0))
            .map(|(flops, bytes)| flops / bytes),
        layers: layers(&measured.layers, nodes),
        notes,
    })
}

fn choose<'a>(counters: &'a Counters, tenant: &TenantRoofline) -> Result<&'a Measurement, String> {
    let all = &counters.measurements;
    let of_tenant: Vec<&Measurement> = all
        .iter()
        .filter(|one| one.tenant.as_ref() == Some(&tenant.name))
        .collect();
    let candidates = match of_tenant.is_empty() {
        false => of_tenant,
        // Programs other than jetlag name no tenant.
        true => all.iter().filter(|one| one.tenant.is_none()).collect(),
    };
    let others: BTreeSet<&str> = all.iter().filter_map(|one| one.tenant.as_deref()).collect();
    if candidates.is_empty() && !others.is_empty() {
        let others: Vec<&str> = others.into_iter().take(4).collect();
        return Err(format!(
            "the counters are of {}, and none of the tenant {}; count that one: jetlag counters --tenant {}",
            others.join(", "),
            tenant.name,
            tenant.name
        ));
    }
    let of_batch = |one: &&Measurement| {
        let batch = one.shapes.as_deref().and_then(batch);
        batch.is_none() || tenant.batch.is_none() || batch == tenant.batch
    };
    let fitting: Vec<&Measurement> = candidates.into_iter().filter(of_batch).collect();
    match fitting[..] {
        [one] => Ok(one),
        [] => Err(format!(
            "the counters have no measurement of the tenant {}{}",
            tenant.name,
            tenant
                .batch
                .map_or(String::new(), |batch| format!(" at batch {batch}"))
        )),
        _ => Err(format!(
            "{} measurements of the counters may be of the tenant {}; keep one of them in the file",
            fitting.len(),
            tenant.name
        )),
    }
}

/// The first size of the first input: `images:8x3x224x224` is of batch 8.
fn batch(shapes: &str) -> Option<u64> {
    let (_, sizes) = shapes.split(',').next()?.rsplit_once(':')?;
    sizes.split('x').next()?.trim().parse().ok()
}

fn layers(measured: &[LayerCounts], nodes: &[WorkRecord]) -> Vec<LayerAgainst> {
    let named: Vec<(&str, &LayerCounts)> = measured
        .iter()
        .filter_map(|layer| Some((layer.name.as_deref()?, layer)))
        .collect();
    let names: Vec<(&str, &str)> = named.iter().map(|(name, _)| (*name, "")).collect();
    let own: Vec<NodeName<'_>> = nodes
        .iter()
        .map(|node| NodeName {
            name: &node.name,
            operator: &node.operator,
            at_load: node.at_load,
        })
        .collect();
    let placing = place(&names, &own);
    let points = LayerPoint::work_of(&placing, nodes);
    let each = named.into_iter().zip(points);
    each.filter_map(|((name, layer), point)| {
        let (flops, bytes) = point?;
        Some(LayerAgainst {
            name: name.to_owned(),
            flops: Ratio::of(layer.counted.flops, flops?),
            bytes: bytes.and_then(|bytes| Ratio::of(layer.counted.dram_bytes, bytes)),
        })
    })
    .collect()
}
