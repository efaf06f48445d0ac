//! Rows down a tree, all together: at each node they are sorted into those that go left and those that go right, so that no row waits for
//! another, and no step for the memory of the step before.

use super::Tree;

/// Rows that go together. A column of so many, which a node reads, stays in the nearest cache.
const TOGETHER: usize = 2048;

/// Adds the values of all trees, and their squares, to each row's sums. Each row's values come in the order of the trees.
pub(super) fn add(trees: &[Tree], rows: &[f32], features: usize, sums: &mut [[f64; 2]]) {
    let mut columns = Vec::new();
    let (mut order, mut open) = (Vec::new(), Vec::new());
    for (rows, sums) in rows.chunks(features * TOGETHER).zip(sums.chunks_mut(TOGETHER)) {
        transpose(rows, features, &mut columns);
        for tree in trees {
            order.clear();
            order.extend(0..sums.len() as u16);
            open.clear();
            open.push((0, 0, sums.len()));
            while let Some((at, from, to)) = open.pop() {
                let node = tree.0[at];
                if node.right == 0 {
                    let value = f64::from(node.value);
                    for row in &order[from..to] {
                        let sum = &mut sums[usize::from(*row)];
                        sum[0] += value;
                        sum[1] += value * value;
                    }
                    continue;
                }
                let begin = node.feature as usize * (columns.len() / features);
                let column = &columns[begin..begin + columns.len() / features];
                let middle = from + left_first(&mut order[from..to], column, node.value);
                if middle < to {
                    open.push((node.right as usize, middle, to));
                }
                if from < middle {
                    open.push((at + 1, from, middle));
                }
            }
        }
    }
}

/// Brings rows whose value is at most the threshold before the others, and counts them. Without a branch: which way a row goes is
/// not to be guessed.
fn left_first(order: &mut [u16], column: &[f32], threshold: f32) -> usize {
    let mut left = 0;
    for at in 0..order.len() {
        let row = order[at];
        order.swap(at, left);
        left += usize::from(column[usize::from(row)] <= threshold);
    }
    left
}

/// Columns of rows, one after the other.
fn transpose(rows: &[f32], features: usize, columns: &mut Vec<f32>) {
    columns.clear();
    for feature in 0..features {
        columns.extend(rows.iter().skip(feature).step_by(features));
    }
}
