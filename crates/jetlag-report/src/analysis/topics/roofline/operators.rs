//! Layers of one type together.

use std::collections::BTreeMap;

use super::result::{LayerPoint, OperatorPoints};

/// Layers by type, the one that takes longest first.
pub fn by_operator<'a>(layers: impl IntoIterator<Item = &'a LayerPoint>) -> Vec<OperatorPoints> {
    struct Sum {
        points: OperatorPoints,
        least_ms: f64,
        is_whole: bool,
    }
    let mut sums: BTreeMap<&str, Sum> = BTreeMap::new();
    for layer in layers {
        let sum = sums.entry(&layer.operator).or_insert_with(|| Sum {
            points: OperatorPoints {
                operator: layer.operator.clone(),
                layers: 0,
                ms: 0.0,
                time_share: 0.0,
                flops: 0,
                bytes: 0,
                unknown: 0,
                memory_bytes: None,
                share: None,
            },
            least_ms: 0.0,
            is_whole: true,
        });
        let points = &mut sum.points;
        points.layers += 1;
        points.ms += layer.ms;
        points.time_share += layer.time_share;
        points.flops = points.flops.saturating_add(layer.flops.unwrap_or(0));
        points.bytes = points.bytes.saturating_add(layer.bytes.unwrap_or(0));
        points.unknown += usize::from(layer.flops.is_none() || layer.bytes.is_none());
        points.memory_bytes = match points.layers {
            1 => layer.memory_bytes(),
            _ => points
                .memory_bytes
                .zip(layer.memory_bytes())
                .and_then(|(sum, own)| sum.checked_add(own)),
        };
        match layer.share {
            Some(share) => sum.least_ms += share * layer.ms,
            // What computes and moves nothing needs no time.
            None if layer.flops == Some(0) && layer.bytes == Some(0) => {}
            None => sum.is_whole = false,
        }
    }
    let all = sums.into_values().map(|mut sum| {
        sum.points.share = (sum.is_whole && sum.points.ms > 0.0).then(|| sum.least_ms / sum.points.ms);
        sum.points
    });
    let mut all: Vec<OperatorPoints> = all.collect();
    all.sort_by(|a, b| b.ms.total_cmp(&a.ms));
    all
}
