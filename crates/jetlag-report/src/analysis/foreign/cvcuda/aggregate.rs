//! Combines several processes of one launch: `benchmark_mean.json`.

use indexmap::IndexMap;
use serde::Serialize;

use super::expand::{gather, levels, spreads};
use super::{Figure, Meta, Spread, Tree, decimals, pairwise_sum, rint4};

/// The computed blocks of `benchmark_mean.json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mean {
    /// Each figure of each range, over processes.
    pub data_mean_all_procs: Tree<MeanOf>,
    /// Statistics over the counted batches of all processes together.
    pub data_stats_minus_warmup_all_procs: IndexMap<String, Tree<Spread>>,
    /// Statistics over all samples of all GPUs; a metric without a sample is absent.
    pub gpu_metrics_all_procs: IndexMap<String, Spread>,
}

/// A figure over processes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MeanOf {
    /// Processes that have it.
    pub total_items: u64,
    /// Mean of the figure over those processes.
    pub mean: f64,
}

/// What the times mean as a rate, for all processes together.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "CV-CUDA's names")]
pub struct Throughput {
    /// GPUs × processes on each.
    pub multiplier: u64,
    /// Unit of the rates: `frames_per_second` or `batches_per_second`.
    pub unit: &'static str,
    pub min: f64,
    pub max: f64,
    pub mean: f64,
    pub median: f64,
    pub percentile_68_range: [f64; 2],
    pub percentile_95: f64,
}

/// One process of a launch, expanded.
#[derive(Clone, Debug, PartialEq)]
pub struct Process {
    /// As in its `benchmark.json`.
    pub data: Tree<Figure>,
    /// Path of each batch to its index and its number of items, as in its `benchmark.json`.
    pub batch_info: IndexMap<String, (i64, u64)>,
    /// What its `benchmark.json` says of the program.
    pub meta: Meta,
}

/// Puts processes together. `multiplier` is GPUs × processes on each; `gpu_metrics` has the samples of all GPUs by
/// metric.
pub fn mean(
    processes: &[Process],
    gpu_metrics: &IndexMap<String, Vec<f64>>,
    warmup: u64,
    multiplier: u64,
) -> Mean {
    let mut all = Tree::default();
    processes
        .iter()
        .for_each(|process| gather(&process.data, &mut all));
    // Which batches count is decided by the last process, for all.
    let counting = processes
        .last()
        .map_or_else(IndexMap::new, |last| levels(&last.batch_info, &last.meta, warmup));
    let mut stats = IndexMap::new();
    for (path, level) in &counting {
        let mut samples = Tree::default();
        for process in processes {
            for batch in level.counting.iter().filter_map(|name| process.data.find(name)) {
                gather(batch, &mut samples);
            }
        }
        if !level.counting.is_empty() {
            let mut spreads = spreads(&samples);
            rates(&mut spreads, multiplier);
            stats.insert(path.clone(), spreads);
        }
    }
    Mean {
        data_mean_all_procs: means(&all),
        data_stats_minus_warmup_all_procs: stats,
        gpu_metrics_all_procs: gpu_metrics
            .iter()
            .filter_map(|(name, samples)| Some((name.clone(), Spread::of(samples)?)))
            .collect(),
    }
}

fn means(all: &Tree<Vec<f64>>) -> Tree<MeanOf> {
    let (children, leaves) = (all.children.iter(), all.leaves.iter());
    Tree {
        children: children
            .map(|(name, child)| (name.clone(), means(child)))
            .collect(),
        leaves: leaves
            .map(|(name, sample)| {
                let mean = MeanOf {
                    total_items: sample.len() as u64,
                    mean: rint4(pairwise_sum(sample) / sample.len() as f64),
                };
                (name.clone(), mean)
            })
            .collect(),
    }
}

fn rates(tree: &mut Tree<Spread>, multiplier: u64) {
    tree.children
        .values_mut()
        .for_each(|child| rates(child, multiplier));
    for (name, spread) in &mut tree.leaves {
        let rate = |ms: f64| match ms {
            0.0 => 0.0,
            ms => decimals(1000.0 * multiplier as f64 / ms, 2),
        };
        spread.throughput = Some(Throughput {
            multiplier,
            unit: if name.contains("_per_item") {
                "frames_per_second"
            } else {
                "batches_per_second"
            },
            min: rate(spread.max),
            max: rate(spread.min),
            mean: rate(spread.mean),
            median: rate(spread.median),
            percentile_68_range: [rate(spread.percentile_84), rate(spread.percentile_16)],
            percentile_95: rate(spread.percentile_95),
        });
    }
}
