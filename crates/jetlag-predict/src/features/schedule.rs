//! The live peak: how many values are held at once while layers run in order, each output until its last reader is done.

use crate::layers::{Layer, LayerTable};

/// Most values alive at once for a batch of one, when every layer's output is freed after its last reader: what inference
/// needs at least, beside weights and scratch. Counts the network's input; the last output stays.
pub fn peak_live_values(table: &LayerTable) -> f64 {
    let layers = table.layers();
    // A table without a graph: each layer holds what it reads and what it writes.
    if layers.iter().all(|layer| layer.reads.is_empty()) {
        return layers
            .iter()
            .map(|layer| read(layer) + written(layer))
            .fold(0.0, f64::max);
    }
    let reads = |at: usize| match (layers[at].reads.as_slice(), at) {
        ([], 0) => Vec::new(),
        ([], at) => vec![at - 1],
        (reads, _) => reads.to_vec(),
    };
    let mut last_reader: Vec<Option<usize>> = vec![None; layers.len()];
    for at in 0..layers.len() {
        for from in reads(at) {
            last_reader[from] = Some(at);
        }
    }
    let mut freed_after: Vec<Vec<usize>> = vec![Vec::new(); layers.len()];
    for (from, reader) in last_reader.iter().enumerate() {
        if let Some(reader) = reader {
            freed_after[*reader].push(from);
        }
    }
    let input = layers.first().map_or(0.0, read);
    let (mut live, mut peak) = (input, 0.0_f64);
    for (at, freed) in freed_after.iter().enumerate() {
        live += written(&layers[at]);
        peak = peak.max(live);
        live -= freed.iter().map(|from| written(&layers[*from])).sum::<f64>();
        if at == 0 {
            live -= input;
        }
    }
    peak
}

fn read(layer: &Layer) -> f64 {
    f64::from(layer.in_channels) * f64::from(layer.input[0]) * f64::from(layer.input[1])
}

fn written(layer: &Layer) -> f64 {
    f64::from(layer.out_channels) * f64::from(layer.output[0]) * f64::from(layer.output[1])
}
