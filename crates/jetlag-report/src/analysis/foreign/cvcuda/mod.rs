//! CV-CUDA's sample benchmark: its `benchmark.json` and `benchmark_mean.json`, computed as its own scripts do.
//!
//! A [`Recording`] is what a program writes: a flat map from the path of a range to its two times. [`expand`] turns
//! it into the newer layout (v0.8 and later), and [`mean`] combines several processes. [`read`] takes any of the
//! files in use, including the older layout (v0.4 to v0.7); [`from_run`] makes a recording from a run. Times are in
//! milliseconds and rounded to four decimals at each step, as in the scripts. docs/export.md has the definitions.

mod aggregate;
mod expand;
pub mod from_run;
mod launches;
mod projected;
mod read;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize, Serializer};

pub use aggregate::{Mean, MeanOf, Process, Throughput, mean};
pub use expand::{Expanded, expand};
pub use read::{Input, ReadError, read};

/// Samples of GPUs by metric.
pub type GpuMetrics = IndexMap<String, Vec<f64>>;

/// What one process left: ranges with their times, and which of them are batches.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Recording {
    /// Path to CPU and GPU time, in the order in which ranges ended: children before parents.
    pub data: IndexMap<String, [f64; 2]>,
    /// Path of each batch to its index, from 0, and its items.
    #[serde(default)]
    pub batch_info: IndexMap<String, (i64, u64)>,
    /// Samples of the GPU by metric.
    #[serde(default)]
    pub gpu_metrics: serde_json::Map<String, serde_json::Value>,
    /// What the recording says of the program.
    #[serde(default)]
    pub meta: Meta,
}

/// What a file says of the program that left it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Meta {
    /// The first part of every path.
    #[serde(default)]
    pub obj_name: String,
    /// Unit of all times; CV-CUDA always writes milliseconds.
    #[serde(default)]
    pub measurement_unit: String,
    /// Path of the range above batches to the number of batches that had items.
    #[serde(default)]
    pub total_batches: IndexMap<String, u64>,
    /// Versions, device, options: taken along as they are.
    #[serde(flatten)]
    pub rest: serde_json::Map<String, serde_json::Value>,
}

/// Ranges within ranges; in JSON an object of children, followed by the figures of the range itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Tree<L> {
    /// Ranges within, by name.
    pub children: IndexMap<String, Tree<L>>,
    /// The figures of this range by name, such as `cpu_time`.
    pub leaves: IndexMap<String, L>,
}

impl<L> Default for Tree<L> {
    fn default() -> Self {
        Tree {
            children: IndexMap::new(),
            leaves: IndexMap::new(),
        }
    }
}

impl<L> Tree<L> {
    /// The range at a path below this one, made where it is not there.
    fn at(&mut self, path: &str) -> &mut Tree<L> {
        path.split('/')
            .fold(self, |tree, name| match tree.children.get_index_of(name) {
                Some(place) => &mut tree.children[place],
                None => tree.children.entry(name.to_owned()).or_default(),
            })
    }

    fn find(&self, path: &str) -> Option<&Tree<L>> {
        path.split('/')
            .try_fold(self, |tree, name| tree.children.get(name))
    }
}

impl<L: Serialize> Serialize for Tree<L> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap;
        let mut map = out.serialize_map(Some(self.children.len() + self.leaves.len()))?;
        for (name, child) in &self.children {
            map.serialize_entry(name, child)?;
        }
        for (name, leaf) in &self.leaves {
            map.serialize_entry(name, leaf)?;
        }
        map.end()
    }
}

/// A figure of a range.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Figure {
    /// A number of items.
    Count(u64),
    /// A time in milliseconds.
    Time(f64),
}

impl Figure {
    fn value(self) -> f64 {
        match self {
            Figure::Count(n) => n as f64,
            Figure::Time(ms) => ms,
        }
    }
}

/// The sample behind a leaf, in figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "CV-CUDA's names")]
pub struct Spread {
    /// Size of the sample, whatever it is of.
    pub total_items: u64,
    pub min: f64,
    pub max: f64,
    pub mean: f64,
    /// Standard deviation with divisor n (of the population).
    pub std: f64,
    pub median: f64,
    /// Interpolated, as are the other percentiles.
    pub percentile_16: f64,
    pub percentile_84: f64,
    pub percentile_95: f64,
    /// Only over several processes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throughput: Option<aggregate::Throughput>,
}

impl Spread {
    /// Of a sample that is not empty.
    fn of(sample: &[f64]) -> Option<Spread> {
        let mut sorted = sample.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (first, last) = (*sorted.first()?, *sorted.last()?);
        let n = sample.len() as f64;
        let mean = pairwise_sum(sample) / n;
        let squares: Vec<f64> = sample.iter().map(|x| (x - mean) * (x - mean)).collect();
        let variance = pairwise_sum(&squares) / n;
        let percentile = |q| rint4(interpolated(&sorted, q));
        let (middle, odd) = (sorted.len() / 2, sorted.len() % 2 == 1);
        let median = if odd {
            sorted[middle]
        } else {
            (sorted[middle - 1] + sorted[middle]) / 2.0
        };
        Some(Spread {
            total_items: sample.len() as u64,
            min: rint4(first),
            max: rint4(last),
            mean: rint4(mean),
            std: rint4(variance.sqrt()),
            median: rint4(median),
            percentile_16: percentile(0.16),
            percentile_84: percentile(0.84),
            percentile_95: percentile(0.95),
            throughput: None,
        })
    }
}

/// NumPy's sum: the order of its additions shows in the fourth decimal where the fifth is a five.
fn pairwise_sum(values: &[f64]) -> f64 {
    match values.len() {
        0..8 => values.iter().sum(),
        8..=128 => {
            let mut sums = [0.0; 8];
            let chunks = values.chunks_exact(8);
            let rest = chunks.remainder();
            for chunk in chunks {
                sums.iter_mut().zip(chunk).for_each(|(sum, x)| *sum += x);
            }
            let [a, b, c, d, e, f, g, h] = sums;
            let whole = ((a + b) + (c + d)) + ((e + f) + (g + h));
            rest.iter().fold(whole, |sum, x| sum + x)
        }
        n => {
            let half = n / 2 - n / 2 % 8;
            pairwise_sum(&values[..half]) + pairwise_sum(&values[half..])
        }
    }
}

/// NumPy's default percentile, down to the side from which it interpolates.
fn interpolated(sorted: &[f64], q: f64) -> f64 {
    let place = q * (sorted.len() - 1) as f64;
    let below = place.floor() as usize;
    let (a, b) = (sorted[below], sorted[(below + 1).min(sorted.len() - 1)]);
    let t = place - below as f64;
    if t >= 0.5 {
        b - (b - a) * (1.0 - t)
    } else {
        a + (b - a) * t
    }
}

/// To four decimals, as Python's `round` does it: the decimal nearest to what the number really is.
fn round4(x: f64) -> f64 {
    decimals(x, 4)
}

/// To four decimals, as NumPy does it, which is another value where a half is not exact in binary: statistics are rounded so.
fn rint4(x: f64) -> f64 {
    (x * 1e4).round_ties_even() / 1e4 + 0.0
}

fn decimals(x: f64, places: usize) -> f64 {
    // Adding zero makes 0 of −0.
    format!("{x:.places$}").parse().unwrap_or(x) + 0.0
}

/// The part of a path above its last name; none for the first name.
fn parent(path: &str) -> Option<&str> {
    path.rsplit_once('/').map(|(above, _)| above)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_numpys_to_the_last_bit() {
        // np.sum(np.sqrt(np.arange(1, n + 1)) * 0.1)
        for (n, sum) in [
            (300, 347.255_638_857_640_9),
            (777, 1_445.283_578_832_104_2),
            (1_001, 2_112.909_447_151_984_8),
        ] {
            let values: Vec<f64> = (1..=n).map(|i| f64::from(i).sqrt() * 0.1).collect();
            assert_eq!(pairwise_sum(&values), sum, "{n}");
        }
    }

    #[test]
    fn a_rounded_nothing_has_no_sign() {
        for rounded in [rint4(-1e-9), round4(-1e-9), decimals(-0.001, 2)] {
            assert!(rounded == 0.0 && rounded.is_sign_positive());
        }
    }
}
