//! Trees in a model file: nodes in order, features first (255 is a leaf), then values; where the right branches begin follows.

use super::{Forest, MOST_FEATURES, Node, Tree};
use crate::bytes::{Reader, Writer};
use crate::error::ModelError;

const LEAF: u8 = 255;

impl Forest {
    pub(crate) fn write(&self, to: &mut Writer) {
        to.u32(self.features as u32);
        to.u32(self.trees.len() as u32);
        for tree in &self.trees {
            to.u32(tree.0.len() as u32);
            for node in &tree.0 {
                to.u8(if node.right == 0 { LEAF } else { node.feature as u8 });
            }
            for node in &tree.0 {
                to.f32(node.value);
            }
        }
    }

    pub(crate) fn read(from: &mut Reader<'_>) -> Result<Self, ModelError> {
        let damaged = |what| ModelError::Damaged { what };
        let features = from.u32()? as usize;
        if !(1..=MOST_FEATURES).contains(&features) {
            return Err(damaged("a forest's number of features"));
        }
        let count = from.count(5)?;
        let mut trees = Vec::with_capacity(count);
        for _ in 0..count {
            let count = from.count(5)?;
            let splits = from.take(count)?.to_vec();
            let mut nodes = Vec::with_capacity(count);
            for feature in &splits {
                let value = from.f32()?;
                if !value.is_finite() || (*feature != LEAF && usize::from(*feature) >= features) {
                    return Err(damaged("a node of a tree"));
                }
                let feature = if *feature == LEAF { 0 } else { u32::from(*feature) };
                nodes.push(Node {
                    value,
                    right: 0,
                    feature,
                });
            }
            link(&mut nodes, &splits).ok_or(damaged("the shape of a tree"))?;
            trees.push(Tree(nodes));
        }
        if trees.is_empty() {
            return Err(damaged("a forest without trees"));
        }
        Ok(Self { features, trees })
    }
}

/// Finds the right children; None where the nodes are not exactly one tree.
fn link(nodes: &mut [Node], splits: &[u8]) -> Option<()> {
    // Inner nodes whose right branch has not begun.
    let mut open: Vec<usize> = Vec::new();
    let last = nodes.len().checked_sub(1)?;
    for (at, split) in splits.iter().enumerate() {
        if *split != LEAF {
            open.push(at);
            continue;
        }
        match open.pop() {
            Some(parent) if at < last => nodes.get_mut(parent)?.right = u32::try_from(at + 1).ok()?,
            None if at == last => return Some(()),
            _ => return None,
        }
    }
    None
}
