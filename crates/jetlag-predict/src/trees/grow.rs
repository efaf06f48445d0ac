//! One tree. Thresholds and sums of all features are found together, row by row, since the features of a row lie side by side:
//! compilers turn the inner loops into vector instructions.

use jetlag_stats::random::SplitMix64;

use super::Node;

/// What a node still has to become.
struct Task {
    from: usize,
    to: usize,
    /// The node whose right child it is.
    right_of: Option<usize>,
}

/// Room for one node's work, one place for each feature.
struct Scratch {
    least: Vec<f32>,
    most: Vec<f32>,
    threshold: Vec<f32>,
    sum: Vec<f32>,
    count: Vec<f32>,
}

/// Nodes of a tree over all rows (`values`: the features of one row after the other), each before its left branch.
pub(super) fn tree(
    values: &[f32],
    features: usize,
    targets: &[f64],
    min_leaf: usize,
    mut random: SplitMix64,
) -> Vec<Node> {
    let mut order: Vec<u32> = (0..targets.len() as u32).collect();
    let mut nodes = Vec::with_capacity(2 * targets.len() / min_leaf);
    let zeros = || vec![0.0_f32; features];
    let mut scratch = Scratch {
        least: zeros(),
        most: zeros(),
        threshold: zeros(),
        sum: zeros(),
        count: zeros(),
    };
    // Right before left on the stack, so that the left branch comes next.
    let mut tasks = vec![Task {
        from: 0,
        to: order.len(),
        right_of: None,
    }];
    while let Some(task) = tasks.pop() {
        let here = nodes.len();
        if let Some(parent) = task.right_of {
            let parent: &mut Node = &mut nodes[parent];
            parent.right = here as u32;
        }
        let rows = &mut order[task.from..task.to];
        let mean = rows.iter().map(|row| targets[*row as usize]).sum::<f64>() / rows.len() as f64;
        let split = match rows.len() >= 2 * min_leaf && rows.len() > 1 {
            true => split(
                values,
                features,
                targets,
                rows,
                mean,
                min_leaf,
                &mut scratch,
                &mut random,
            ),
            false => None,
        };
        let Some((feature, threshold)) = split else {
            nodes.push(Node {
                value: mean as f32,
                right: 0,
                feature: 0,
            });
            continue;
        };
        nodes.push(Node {
            value: threshold,
            right: u32::MAX,
            feature: feature as u32,
        });
        let middle =
            task.from + partition(rows, |row| values[row as usize * features + feature] <= threshold);
        tasks.push(Task {
            from: middle,
            to: task.to,
            right_of: Some(here),
        });
        tasks.push(Task {
            from: task.from,
            to: middle,
            right_of: None,
        });
    }
    nodes
}

/// The feature and threshold that reduce the variance most; None where the targets or all features are constant.
#[allow(
    clippy::too_many_arguments,
    reason = "the inner loop of growing; a struct would only rename them"
)]
fn split(
    values: &[f32],
    features: usize,
    targets: &[f64],
    rows: &[u32],
    mean: f64,
    min_leaf: usize,
    scratch: &mut Scratch,
    random: &mut SplitMix64,
) -> Option<(usize, f32)> {
    let first = targets[*rows.first()? as usize];
    if rows.iter().all(|row| targets[*row as usize] == first) {
        return None;
    }
    let row = |row: u32| &values[row as usize * features..][..features];
    let Scratch {
        least,
        most,
        threshold,
        sum,
        count,
    } = scratch;
    least.fill(f32::INFINITY);
    most.fill(f32::NEG_INFINITY);
    for at in rows {
        for ((x, least), most) in row(*at).iter().zip(least.iter_mut()).zip(most.iter_mut()) {
            *least = if *x < *least { *x } else { *least };
            *most = if *x > *most { *x } else { *most };
        }
    }
    for ((least, most), threshold) in least.iter().zip(most.iter()).zip(threshold.iter_mut()) {
        // Drawn also where it is not needed: what one feature gets does not depend on the others.
        let part = random.unit_f32();
        let between = least + part * (most - least);
        // Rounding may reach the greatest value, which would leave nothing on the right.
        *threshold = if between < *most { between } else { *least };
    }
    sum.fill(0.0);
    count.fill(0.0);
    for at in rows {
        // Around the mean, so that f32 suffices for what decides between splits.
        let y = (targets[*at as usize] - mean) as f32;
        for (((x, threshold), sum), count) in row(*at)
            .iter()
            .zip(threshold.iter())
            .zip(sum.iter_mut())
            .zip(count.iter_mut())
        {
            let left = if *x <= *threshold { 1.0_f32 } else { 0.0 };
            *sum += left * y;
            *count += left;
        }
    }
    let total = rows.len() as f32;
    let mut best = None;
    let mut most_gain = f32::NEG_INFINITY;
    for (feature, (sum, count)) in sum.iter().zip(count.iter()).enumerate() {
        let right = total - count;
        if least[feature] >= most[feature] || (*count as usize) < min_leaf || (right as usize) < min_leaf {
            continue;
        }
        // The targets sum to 0 around their mean, so the right side's sum is the left one's negative.
        let gain = sum * sum / count + sum * sum / right;
        if gain > most_gain {
            most_gain = gain;
            best = Some((feature, threshold[feature]));
        }
    }
    best
}

/// Puts those that `is_left` holds for first, without changing the order on either side's rows more than needed; how many.
fn partition(rows: &mut [u32], is_left: impl Fn(u32) -> bool) -> usize {
    let mut middle = 0;
    for at in 0..rows.len() {
        if is_left(rows[at]) {
            rows.swap(middle, at);
            middle += 1;
        }
    }
    middle
}
