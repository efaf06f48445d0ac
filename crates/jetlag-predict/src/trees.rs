//! Extremely randomised trees (Geurts, Ernst, Wehenkel: Extremely randomized trees, 2006), for regression.
//!
//! Each tree sees every row. At a node every feature draws one threshold, uniform between its least and greatest value there;
//! the split that reduces the variance most is taken. Nodes are split until they hold `min_leaf` rows or one value. The
//! prediction is the mean over trees. The same rows, options and seed give the same trees, whatever the number of threads.
//!
//! Why not somebody else's crate: none that is maintained has this estimator with a seed that is independent of threads.

mod bytes;
mod grow;
mod sort;
#[cfg(test)]
mod tests;

use jetlag_stats::random::SplitMix64;

use crate::error::PredictError;

/// Most features of a row; a byte tells them apart in a model file.
pub const MOST_FEATURES: usize = 254;

/// How trees are grown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeOptions {
    /// How many.
    pub trees: usize,
    /// Fewest rows in a leaf.
    pub min_leaf: usize,
    /// The seed of all thresholds.
    pub seed: u64,
    /// Threads; 0 means as many as the machine has.
    pub threads: usize,
}

/// A node: of a leaf, `value` is what it predicts; of an inner node, the threshold: rows with at most that go to the next node,
/// the others to `right`.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Node {
    value: f32,
    /// Place of the right child; 0 in a leaf.
    right: u32,
    feature: u32,
}

/// Nodes of one tree, each followed by its left branch.
#[derive(Debug, Clone, PartialEq)]
struct Tree(Vec<Node>);

/// Grown trees.
#[derive(Debug, Clone, PartialEq)]
pub struct Forest {
    features: usize,
    trees: Vec<Tree>,
}

/// Features of rows, one row after the other.
#[derive(Debug, Clone, PartialEq)]
pub struct Rows {
    features: usize,
    values: Vec<f32>,
}

impl Rows {
    /// Rows of equal length, kept as `f32`: trees only compare.
    ///
    /// # Errors
    /// No feature, more than [`MOST_FEATURES`], rows of different lengths, a value that is not finite as `f32`.
    pub fn new(rows: &[Vec<f64>]) -> Result<Self, PredictError> {
        let features = rows.first().map_or(1, Vec::len);
        if !(1..=MOST_FEATURES).contains(&features) {
            return Err(PredictError::Option {
                option: "features",
                found: features.to_string(),
                wanted: "1 to 254",
            });
        }
        let mut values = Vec::with_capacity(rows.len() * features);
        for row in rows {
            if row.len() != features {
                return Err(PredictError::Option {
                    option: "features of a row",
                    found: row.len().to_string(),
                    wanted: "as many as the first row has",
                });
            }
            values.extend(row.iter().map(|x| *x as f32));
        }
        if let Some(found) = values.iter().find(|x| !x.is_finite()) {
            return Err(PredictError::Option {
                option: "a feature",
                found: found.to_string(),
                wanted: "a finite number",
            });
        }
        Ok(Self { features, values })
    }

    /// How many rows.
    pub fn len(&self) -> usize {
        self.values.len() / self.features
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

impl Forest {
    /// Grows trees for rows and their targets.
    ///
    /// # Errors
    /// No rows, not as many targets as rows, a target that is not finite, no trees.
    pub fn fit(rows: &Rows, targets: &[f64], options: TreeOptions) -> Result<Self, PredictError> {
        let wrong = |option, found: String, wanted| PredictError::Option {
            option,
            found,
            wanted,
        };
        if rows.is_empty() || rows.len() != targets.len() {
            return Err(wrong(
                "targets",
                targets.len().to_string(),
                "one for each row, and at least one row",
            ));
        }
        if let Some(found) = targets.iter().find(|y| !(y.is_finite() && y.abs() < 1e30)) {
            return Err(wrong("a target", found.to_string(), "a finite number below 1e30"));
        }
        if !(1..=100_000).contains(&options.trees) {
            return Err(wrong("trees", options.trees.to_string(), "1 to 100000"));
        }
        let threads = threads(options.threads, options.trees);
        let grow = |tree: usize| {
            let random = SplitMix64::stream(options.seed, tree as u64);
            Tree(grow::tree(
                &rows.values,
                rows.features,
                targets,
                options.min_leaf.max(1),
                random,
            ))
        };
        let mut trees: Vec<Option<Tree>> = vec![None; options.trees];
        let share = options.trees.div_ceil(threads);
        std::thread::scope(|scope| {
            for (part, places) in trees.chunks_mut(share).enumerate() {
                scope.spawn(move || {
                    for (offset, place) in places.iter_mut().enumerate() {
                        *place = Some(grow(part * share + offset));
                    }
                });
            }
        });
        Ok(Self {
            features: rows.features,
            trees: trees.into_iter().flatten().collect(),
        })
    }

    /// How many features a row must have.
    pub fn features(&self) -> usize {
        self.features
    }

    /// How many trees.
    pub fn trees(&self) -> usize {
        self.trees.len()
    }

    /// How many nodes, leaves included.
    pub fn nodes(&self) -> usize {
        self.trees.iter().map(|tree| tree.0.len()).sum()
    }

    /// Mean and standard deviation over trees, for each row; NaN for rows of another width.
    pub fn predict(&self, rows: &Rows) -> Vec<Predicted> {
        if rows.features != self.features || self.trees.is_empty() {
            return vec![
                Predicted {
                    mean: f64::NAN,
                    spread: f64::NAN
                };
                rows.len()
            ];
        }
        let threads = match rows.len() * self.trees.len() {
            few if few < 100_000 => 1,
            _ => threads(0, rows.len()),
        };
        let mut sums = vec![[0.0_f64; 2]; rows.len()];
        let block = |rows: &[f32], sums: &mut [[f64; 2]]| sort::add(&self.trees, rows, self.features, sums);
        let share = rows.len().div_ceil(threads).max(1);
        if threads == 1 {
            block(&rows.values, &mut sums);
        } else {
            std::thread::scope(|scope| {
                let parts = rows
                    .values
                    .chunks(share * self.features)
                    .zip(sums.chunks_mut(share));
                for (rows, sums) in parts {
                    scope.spawn(move || block(rows, sums));
                }
            });
        }
        let count = self.trees.len() as f64;
        sums.into_iter()
            .map(|[sum, squares]| {
                let mean = sum / count;
                let variance = (squares / count - mean * mean).max(0.0);
                Predicted {
                    mean,
                    spread: libm::sqrt(variance),
                }
            })
            .collect()
    }
}

/// What trees say of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Predicted {
    /// The mean over trees.
    pub mean: f64,
    /// The standard deviation over trees.
    pub spread: f64,
}

fn threads(wanted: usize, tasks: usize) -> usize {
    let machine = || std::thread::available_parallelism().map_or(1, usize::from);
    let threads = if wanted == 0 { machine() } else { wanted };
    threads.clamp(1, tasks.clamp(1, 256))
}
