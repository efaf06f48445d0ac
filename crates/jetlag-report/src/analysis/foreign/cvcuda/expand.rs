//! Expands a flat recording to the newer layout of `benchmark.json`: items, times per item, the warm-up block of each
//! level, and the statistics of the batches that count.

use indexmap::IndexMap;
use serde::Serialize;

use super::{Figure, Meta, Recording, Spread, Tree, parent, round4};

/// The content of one process's `benchmark.json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Expanded {
    /// Each range with its figures.
    pub data: Tree<Figure>,
    /// Path of the range above batches to the statistics of those that count; levels where none does are absent.
    pub data_stats_minus_warmup: IndexMap<String, Tree<Spread>>,
    /// Samples of the GPU by metric.
    pub gpu_metrics: serde_json::Map<String, serde_json::Value>,
    /// Path of each batch to its index and its items.
    pub batch_info: IndexMap<String, (i64, u64)>,
    /// What the file says of the program.
    pub meta: Meta,
}

/// Expands a recording, of whose levels the first and the last `warmup` batches do not count.
pub fn expand(recording: &Recording, warmup: u64) -> Expanded {
    let mut data = Tree::<Figure>::default();
    for (path, times) in &recording.data {
        let leaves = &mut data.at(path).leaves;
        leaves.insert("cpu_time".to_owned(), Figure::Time(times[0]));
        leaves.insert("gpu_time".to_owned(), Figure::Time(times[1]));
    }
    let levels = levels(&recording.batch_info, &recording.meta, warmup);
    annotate(&mut data, "", recording, &levels, None);
    let stats = levels
        .iter()
        .filter_map(|(path, level)| {
            let mut samples = Tree::default();
            for name in &level.counting {
                gather(data.find(name)?, &mut samples);
            }
            (!level.counting.is_empty()).then(|| (path.clone(), spreads(&samples)))
        })
        .collect();
    Expanded {
        data,
        data_stats_minus_warmup: stats,
        gpu_metrics: recording.gpu_metrics.clone(),
        batch_info: recording.batch_info.clone(),
        meta: recording.meta.clone(),
    }
}

/// The batches of one level.
#[derive(Debug, Default)]
pub(super) struct Level {
    /// Paths of the batches that enter the statistics.
    pub(super) counting: Vec<String>,
    /// Those that had items and do not count.
    dropped: Vec<String>,
    /// Items of the dropped.
    dropped_items: u64,
}

/// Each range above batches, with which of them count: those with items that are neither among the first nor among
/// the last `warmup`.
pub(super) fn levels(
    batches: &IndexMap<String, (i64, u64)>,
    meta: &Meta,
    warmup: u64,
) -> IndexMap<String, Level> {
    let mut with_items: IndexMap<&str, u64> = IndexMap::new();
    for (path, (_, items)) in batches {
        *with_items.entry(parent(path).unwrap_or_default()).or_default() += u64::from(*items > 0);
    }
    let mut levels: IndexMap<String, Level> = IndexMap::new();
    for (path, &(index, items)) in batches {
        let above = parent(path).unwrap_or_default();
        let total = meta.total_batches.get(above).copied();
        let total = total.or(with_items.get(above).copied()).unwrap_or(0);
        let level = levels.entry(above.to_owned()).or_default();
        let (place, warmup) = (i128::from(index) + 1, i128::from(warmup));
        if items == 0 {
            continue;
        }
        if place > warmup && place + warmup <= i128::from(total) {
            level.counting.push(path.clone());
        } else {
            level.dropped_items += items;
            level.dropped.push(path.clone());
        }
    }
    levels
}

/// Fills in items and what is per item; returns the items of all batches beneath.
fn annotate(
    tree: &mut Tree<Figure>,
    path: &str,
    recording: &Recording,
    levels: &IndexMap<String, Level>,
    batch: Option<u64>,
) -> u64 {
    let own = recording.batch_info.get(path).map(|&(_, items)| items);
    let mut beneath = 0;
    for (name, child) in &mut tree.children {
        let path = match path {
            "" => name.clone(),
            _ => format!("{path}/{name}"),
        };
        beneath += annotate(child, &path, recording, levels, own.or(batch));
    }
    let Some(times) = times(tree) else {
        return own.unwrap_or(beneath);
    };
    let leaves = &mut tree.leaves;
    let mut put = |name: &str, figure| leaves.insert(name.to_owned(), figure);
    let level = levels.get(path);
    if let (None, Some(items)) = (level, own.or(batch)) {
        // What lies within an empty batch has no items to be told of: only the batch itself says that it had none.
        if items > 0 || own.is_some() {
            put("total_items", Figure::Count(items));
        }
        if items > 0 {
            put("cpu_time_per_item", Figure::Time(per_item(times[0], items)));
            put("gpu_time_per_item", Figure::Time(per_item(times[1], items)));
        }
    } else if level.is_some() || beneath > 0 {
        put("cpu_time_per_item", Figure::Time(per_item(times[0], beneath)));
        put("gpu_time_per_item", Figure::Time(per_item(times[1], beneath)));
        put("total_items", Figure::Count(beneath));
    }
    if let Some(level) = level {
        let left = beneath.saturating_sub(level.dropped_items);
        let minus = |which: usize| {
            let dropped = level.dropped.iter().filter_map(|path| recording.data.get(path));
            round4(times[which] - dropped.map(|times| times[which]).sum::<f64>())
        };
        let (cpu, gpu) = (minus(0), minus(1));
        put("total_items_warmup", Figure::Count(level.dropped_items));
        put("total_items_minus_warmup", Figure::Count(left));
        put("cpu_time_minus_warmup", Figure::Time(cpu));
        put("gpu_time_minus_warmup", Figure::Time(gpu));
        put(
            "cpu_time_minus_warmup_per_item",
            Figure::Time(per_item(cpu, left)),
        );
        put(
            "gpu_time_minus_warmup_per_item",
            Figure::Time(per_item(gpu, left)),
        );
    }
    own.unwrap_or(beneath)
}

/// CPU and GPU time, where the range itself was recorded.
fn times(tree: &Tree<Figure>) -> Option<[f64; 2]> {
    let time = |name: &str| tree.leaves.get(name).map(|figure| figure.value());
    Some([time("cpu_time")?, time("gpu_time")?])
}

fn per_item(ms: f64, items: u64) -> f64 {
    if items == 0 {
        0.0
    } else {
        round4(ms / items as f64)
    }
}

/// Adds the figures of one batch to the samples, leaf by leaf; counts of items are no figures.
pub(super) fn gather(batch: &Tree<Figure>, samples: &mut Tree<Vec<f64>>) {
    for (name, child) in &batch.children {
        gather(child, samples.at(name));
    }
    for (name, figure) in &batch.leaves {
        if !name.starts_with("total_items") {
            samples
                .leaves
                .entry(name.clone())
                .or_default()
                .push(figure.value());
        }
    }
}

/// Each leaf's sample in figures.
pub(super) fn spreads(samples: &Tree<Vec<f64>>) -> Tree<Spread> {
    let children = samples.children.iter();
    let leaves = samples.leaves.iter();
    Tree {
        children: children
            .map(|(name, child)| (name.clone(), spreads(child)))
            .collect(),
        leaves: leaves
            .filter_map(|(name, sample)| Some((name.clone(), Spread::of(sample)?)))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recording(batches: &[(f64, u64)], level: f64) -> Recording {
        let mut recording = Recording::default();
        for (i, &(ms, items)) in batches.iter().enumerate() {
            let path = format!("program/run/batch_{i}");
            recording.data.insert(format!("{path}/stage"), [ms / 2.0, 0.0]);
            recording.data.insert(path.clone(), [ms, 0.0]);
            recording.batch_info.insert(path, (i as i64, items));
        }
        recording.data.insert("program/run".to_owned(), [level, 0.0]);
        recording
    }

    #[test]
    fn the_guides_own_example() {
        // 1805.027 ms for three batches of one item, the middle one 601.759 ms.
        let all = recording(&[(601.6, 1), (601.759, 1), (601.668, 1)], 1805.027);
        let expanded = expand(&all, 1);
        let level = expanded.data.find("program/run").unwrap();
        let close = |name: &str, ms: f64| (level.leaves[name].value() - ms).abs() < 5e-4;
        assert!(close("cpu_time_per_item", 601.676), "{level:?}");
        assert!(close("cpu_time_minus_warmup_per_item", 601.759), "{level:?}");
        assert_eq!(level.leaves["total_items_minus_warmup"], Figure::Count(1));
    }

    #[test]
    fn the_batch_that_marks_the_end_of_the_stream_neither_counts_nor_is_subtracted() {
        let expanded = expand(&recording(&[(5.0, 2), (3.0, 2), (4.0, 2), (1.0, 0)], 14.0), 1);
        let level = expanded.data.find("program/run").unwrap();
        assert_eq!(level.leaves["total_items"], Figure::Count(6));
        assert_eq!(level.leaves["cpu_time_minus_warmup"], Figure::Time(5.0));
        let stats = &expanded.data_stats_minus_warmup["program/run"];
        assert_eq!(stats.leaves["cpu_time"].total_items, 1);
        assert_eq!(stats.leaves["cpu_time"].mean, 3.0);
    }

    #[test]
    fn of_an_empty_batch_only_itself_says_that_it_had_no_items() {
        let mut recording = recording(&[(5.0, 2), (1.0, 0)], 6.0);
        for path in ["stage/inner", "stage/inner/most"] {
            let path = format!("program/run/batch_1/{path}");
            recording.data.insert(path, [0.1, 0.0]);
        }
        let expanded = expand(&recording, 0);
        let leaves = |path: &str| -> Vec<String> {
            let tree = expanded.data.find(path).unwrap();
            tree.leaves.keys().cloned().collect()
        };
        let times = ["cpu_time", "gpu_time"];
        let batch = "program/run/batch_1";
        let found = leaves(batch);
        assert_eq!(found, [&times[..], &["total_items"]].concat());
        let empty = expanded.data.find(batch).unwrap();
        assert_eq!(empty.leaves["total_items"], Figure::Count(0));
        for within in ["stage", "stage/inner", "stage/inner/most"] {
            assert_eq!(leaves(&format!("{batch}/{within}")), times, "{within}");
        }
        assert_eq!(
            leaves("program/run/batch_0/stage").len(),
            5,
            "the other has items"
        );
    }

    #[test]
    fn a_recording_without_batches_keeps_its_times() {
        let mut bare = Recording::default();
        bare.data.insert("program/run".to_owned(), [7.0, 1.0]);
        let expanded = expand(&bare, 1);
        let run = expanded.data.find("program/run").unwrap();
        assert_eq!(run.leaves.len(), 2);
        assert!(expanded.data_stats_minus_warmup.is_empty());
    }
}
