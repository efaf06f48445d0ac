//! What is held while layers run in order, each output until its last reader is done.

use std::collections::BTreeMap;

use crate::layers::{Layer, LayerKind, LayerTable};

/// Who reads what, and until when.
struct Graph<'a> {
    layers: &'a [Layer],
    reads: Vec<Vec<usize>>,
    /// Of each layer, how many read it.
    readers: Vec<usize>,
    /// Of each layer, those whose outputs nobody needs once it is done.
    freed_after: Vec<Vec<usize>>,
}

impl<'a> Graph<'a> {
    fn of(layers: &'a [Layer]) -> Self {
        let reads: Vec<Vec<usize>> = layers
            .iter()
            .enumerate()
            .map(|(at, layer)| match layer.reads.as_slice() {
                _ if is_of_sizes(layer) => Vec::new(),
                [] => layers[..at]
                    .iter()
                    .rposition(|before| !is_of_sizes(before))
                    .into_iter()
                    .collect(),
                reads => reads.to_vec(),
            })
            .collect();
        let mut last_reader: Vec<Option<usize>> = vec![None; layers.len()];
        let mut readers = vec![0; layers.len()];
        for (at, own) in reads.iter().enumerate() {
            for from in own {
                last_reader[*from] = Some(at);
                readers[*from] += 1;
            }
        }
        let mut freed_after: Vec<Vec<usize>> = vec![Vec::new(); layers.len()];
        for (from, reader) in last_reader.iter().enumerate() {
            if let Some(reader) = reader {
                freed_after[*reader].push(from);
            }
        }
        Self {
            layers,
            reads,
            readers,
            freed_after,
        }
    }

    /// The input whose place the output of a layer takes: one of its size that nobody else needs.
    fn replaced(&self, at: usize) -> Option<usize> {
        let layer = &self.layers[at];
        let fits = |from: &&usize| written(&self.layers[**from]) == written(layer);
        self.freed_after[at]
            .iter()
            .find(fits)
            .copied()
            .filter(|_| layer.is_in_place())
    }
}

/// Most values alive at once for a batch of one, when every layer's output is freed after its last reader and elementwise layers work in
/// place: what inference needs at least, beside weights and scratch. Counts the network's input; the last output stays.
pub fn peak_live_values(table: &LayerTable) -> f64 {
    let layers = table.layers();
    // A table without a graph: each layer holds what it reads and what it writes.
    if has_no_graph(layers) {
        return layers
            .iter()
            .map(|layer| read(layer) + written(layer))
            .fold(0.0, f64::max);
    }
    let graph = Graph::of(layers);
    let first = first_that_holds(layers);
    let input = layers.get(first).map_or(0.0, read);
    let (mut live, mut peak) = (input, 0.0_f64);
    for (at, freed) in graph.freed_after.iter().enumerate() {
        if is_of_sizes(&layers[at]) {
            continue;
        }
        let replaced = graph.replaced(at);
        if replaced.is_none() {
            live += written(&layers[at]);
        }
        peak = peak.max(live);
        let gone = freed.iter().filter(|from| replaced != Some(**from));
        live -= gone.map(|from| written(&layers[*from])).sum::<f64>();
        if at == first {
            live -= input;
        }
    }
    peak
}

/// What an allocator of whole blocks comes to, for a batch of one.
pub(super) struct Blocks {
    /// Values of all blocks.
    pub(super) values: f64,
    /// Values of the network's input, and of its outputs, which are copied in and out.
    pub(super) ends: f64,
}

/// Runtimes keep freed tensors for later ones: the smallest block that is large enough is taken, else a new one is made, and none is
/// given back. Where sizes differ much, that is more than what is alive at once.
pub(super) fn peak_blocks(table: &LayerTable) -> Blocks {
    let layers = table.layers();
    let graph = Graph::of(layers);
    let input = layers.get(first_that_holds(layers)).map_or(0.0, read);
    let outputs = graph
        .readers
        .iter()
        .zip(layers)
        .filter(|(readers, layer)| **readers == 0 && !is_of_sizes(layer));
    let ends = input + outputs.map(|(_, layer)| written(layer)).sum::<f64>();
    if has_no_graph(layers) {
        return Blocks {
            values: peak_live_values(table),
            ends,
        };
    }
    // By size, how many are free.
    let mut free: BTreeMap<u64, usize> = BTreeMap::new();
    let mut own = vec![0_u64; layers.len()];
    let mut values = 0.0;
    for (at, freed) in graph.freed_after.iter().enumerate() {
        if is_of_sizes(&layers[at]) {
            continue;
        }
        let replaced = graph.replaced(at);
        // At most 2⁶⁰, and whole.
        let size = written(&layers[at]) as u64;
        let smallest = || free.range(size..).next().map(|(block, _)| *block);
        own[at] = match replaced.map(|from| own[from]).or_else(smallest) {
            Some(block) => block,
            None => {
                values += size as f64;
                size
            }
        };
        if replaced.is_none()
            && let Some(count) = free.get_mut(&own[at])
        {
            *count -= 1;
            if *count == 0 {
                free.remove(&own[at]);
            }
        }
        for from in freed.iter().filter(|from| replaced != Some(**from)) {
            *free.entry(own[*from]).or_default() += 1;
        }
    }
    Blocks { values, ends }
}

/// Convolutions that a norm follows and nobody else reads: the norm is folded into their weights, which the file has as well.
pub(super) fn folded(table: &LayerTable) -> Vec<&Layer> {
    let layers = table.layers();
    if has_no_graph(layers) {
        return Vec::new();
    }
    let graph = Graph::of(layers);
    let into = |(layer, reads): (&Layer, &Vec<usize>)| match reads[..] {
        [from] if layer.kind == LayerKind::BatchNorm && graph.readers[from] == 1 => Some(from),
        _ => None,
    };
    let all = layers.iter().zip(&graph.reads).filter_map(into);
    all.map(|from| &layers[from])
        .filter(|layer| layer.kind == LayerKind::Convolution)
        .collect()
}

/// Sizes are numbers on the host: they take no block, and nothing waits for them.
fn is_of_sizes(layer: &Layer) -> bool {
    layer.kind == LayerKind::Sizes
}

/// The layer that the network's input goes into.
fn first_that_holds(layers: &[Layer]) -> usize {
    layers
        .iter()
        .position(|layer| !is_of_sizes(layer))
        .unwrap_or_default()
}

fn has_no_graph(layers: &[Layer]) -> bool {
    layers.iter().all(|layer| layer.reads.is_empty())
}

fn read(layer: &Layer) -> f64 {
    f64::from(layer.in_channels) * f64::from(layer.input[0]) * f64::from(layer.input[1])
}

fn written(layer: &Layer) -> f64 {
    f64::from(layer.out_channels) * f64::from(layer.output[0]) * f64::from(layer.output[1])
}
