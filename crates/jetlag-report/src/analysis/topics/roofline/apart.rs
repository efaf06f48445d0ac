//! A tenant's networks, each by itself: their times are told apart by the layers that were timed.

use super::result::{LayerPoint, NetworkApart, NetworkPoint};
use super::roofs::Roofs;
use crate::record::NetworkManifest;

/// Time of layers that belong to no network by their names, beyond which none is told apart.
const UNPLACED: f64 = 0.05;

/// A point for each network.
///
/// # Errors
/// A sentence: the run has no times of layers, or their names do not lead to the networks, or a network's work is not known.
pub(super) fn apart(
    networks: &[NetworkManifest],
    layers: &[LayerPoint],
    roofs: &Roofs,
) -> Result<Vec<NetworkApart>, String> {
    if layers.is_empty() {
        return Err(
            "the run has no times of layers (profile: true), so its networks are one point".to_owned(),
        );
    }
    let mut times = vec![0.0_f64; networks.len()];
    let (mut all, mut unplaced) = (0.0, 0.0);
    for layer in layers {
        all += layer.ms;
        match layer.network.and_then(|network| times.get_mut(network)) {
            Some(sum) => *sum += layer.ms,
            None => unplaced += layer.ms,
        }
    }
    if unplaced > UNPLACED * all {
        return Err(format!(
            "layers of {:.0} % of the time lead to no network by their names, so its networks are one point",
            100.0 * unplaced / all
        ));
    }
    let each = networks.iter().zip(times);
    each.map(|(network, ms)| {
        let own = network
            .work
            .as_ref()
            .ok_or_else(|| format!("the work of {} is not known", network.name))?;
        let counts = [own.flops, own.fused_bytes, own.round_trip_bytes];
        let point = point(roofs, counts, ms).ok_or_else(|| {
            format!(
                "{} computes nothing or moves nothing, or took no time",
                network.name
            )
        })?;
        Ok(NetworkApart {
            name: network.name.clone(),
            point: NetworkPoint {
                is_upper_bound: own.nodes_bound > 0,
                ..point
            },
        })
    })
    .collect()
}

/// Where a network of these operations, bytes and bytes of the round trip lies; its counts are taken as exact, and the roof as its bound.
pub(super) fn point(
    roofs: &Roofs,
    [flops, bytes, round_trip_bytes]: [u64; 3],
    ms: f64,
) -> Option<NetworkPoint> {
    let place = roofs.place(flops as f64, bytes as f64, ms / 1e3)?;
    Some(NetworkPoint {
        flops,
        bytes,
        round_trip_bytes,
        ms,
        intensity: place.intensity,
        attainable_flops_per_s: place.attainable_flops_per_s,
        achieved_flops_per_s: place.achieved_flops_per_s,
        share: place.share,
        roof: place.limit,
        bound: place.limit.into(),
        is_upper_bound: false,
    })
}
