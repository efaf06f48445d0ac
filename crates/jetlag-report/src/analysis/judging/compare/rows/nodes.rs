//! Which layers of two runs do the same: by the nodes of the ONNX network that they cover.
//!
//! TensorRT fuses nodes, and another build may fuse them otherwise. A fused layer is called by its nodes, joined by ` + `, or by
//! ` || ` where it computes them side by side; `PWN(…)` stands around pointwise ones. Layers of both runs that share a node belong
//! together, and so does what shares a node with either: such a group covers the same work in both runs, and its times may be
//! compared. Layers that TensorRT adds for itself (copies into another format) cover no node; they match by their whole name.

use std::collections::BTreeMap;

use crate::analysis::gathering::layer_name::covered;

/// Layers of both runs that cover the same nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Group {
    /// Places of the first run's layers.
    pub(super) a: Vec<usize>,
    /// Places of the second run's layers.
    pub(super) b: Vec<usize>,
}

/// The groups of two runs' layers, in the order of the first run's, then those of the second run alone. Every layer is in one.
pub(super) fn groups(a: &[&str], b: &[&str]) -> Vec<Group> {
    let all: Vec<&str> = a.iter().chain(b).copied().collect();
    // Each layer's group is that of the first layer it is tied to.
    let mut tied: Vec<usize> = (0..all.len()).collect();
    fn root(tied: &mut [usize], mut at: usize) -> usize {
        while tied[at] != at {
            tied[at] = tied[tied[at]];
            at = tied[at];
        }
        at
    }
    let mut first: BTreeMap<&str, usize> = BTreeMap::new();
    for (place, layer) in all.iter().enumerate() {
        for node in covered(layer) {
            let known = *first.entry(node).or_insert(place);
            let (one, other) = (root(&mut tied, known), root(&mut tied, place));
            tied[one.max(other)] = one.min(other);
        }
    }
    let mut groups: BTreeMap<usize, Group> = BTreeMap::new();
    for place in 0..all.len() {
        let group = groups.entry(root(&mut tied, place)).or_default();
        match place.checked_sub(a.len()) {
            None => group.a.push(place),
            Some(place) => group.b.push(place),
        }
    }
    groups.into_values().collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn nodes(layer: &str) -> Vec<&str> {
        covered(layer).into_iter().collect()
    }

    #[test]
    fn a_layer_s_name_tells_which_nodes_it_covers() {
        assert_eq!(nodes("/conv/Conv + /relu/Relu"), ["/conv/Conv", "/relu/Relu"]);
        assert_eq!(nodes("/a/Conv || /b/Conv"), ["/a/Conv", "/b/Conv"]);
        assert_eq!(
            nodes("/a/Conv + PWN(PWN(/a/Sigmoid), /a/Mul)"),
            ["/a/Conv", "/a/Mul", "/a/Sigmoid"]
        );
        assert_eq!(nodes("PWN(/a/Exp)"), ["/a/Exp"]);
        let own = "Reformatting CopyNode for Input Tensor 0 to /a/Conv";
        assert_eq!(nodes(own), [own]);
        assert_eq!(nodes("jetlag: scatter"), ["jetlag: scatter"]);
        assert_eq!(nodes("f(x)"), ["f(x)"], "brackets of its own stay");
        for odd in ["", " + ", "PWN()", ")))", "PWN(PWN("] {
            assert_eq!(covered(odd).len(), 1, "{odd}");
        }
    }

    #[test]
    fn layers_that_share_a_node_belong_together_however_they_are_cut() {
        let a = ["c1 + r1", "c2", "r2", "pool", "only a"];
        let b = ["c1", "r1", "c2 + r2", "pool", "only b"];
        let found = groups(&a, &b);
        let seen: Vec<(&[usize], &[usize])> = found
            .iter()
            .map(|group| (group.a.as_slice(), group.b.as_slice()))
            .collect();
        assert_eq!(
            seen,
            [
                (&[0][..], &[0, 1][..]),
                (&[1, 2], &[2]),
                (&[3], &[3]),
                (&[4], &[]),
                (&[], &[4]),
            ]
        );
        // A chain: each overlaps the next.
        assert_eq!(groups(&["a + b", "c + d"], &["b + c", "d"]).len(), 1);
    }

    proptest! {
        #[test]
        fn every_layer_is_in_one_group_and_groups_share_no_node(
            a in prop::collection::vec(prop::collection::vec(0u8..20, 1..4), 0..12),
            b in prop::collection::vec(prop::collection::vec(0u8..20, 1..4), 0..12),
        ) {
            let name = |nodes: &Vec<u8>| nodes.iter().map(|node| format!("n{node}")).collect::<Vec<_>>().join(" + ");
            let (a, b): (Vec<String>, Vec<String>) = (a.iter().map(name).collect(), b.iter().map(name).collect());
            let (a, b): (Vec<&str>, Vec<&str>) =
                (a.iter().map(String::as_str).collect(), b.iter().map(String::as_str).collect());
            let found = groups(&a, &b);
            let of = |side: fn(&Group) -> &Vec<usize>| {
                let mut all: Vec<usize> = found.iter().flat_map(side).copied().collect();
                all.sort_unstable();
                all
            };
            prop_assert_eq!(of(|group| &group.a), (0..a.len()).collect::<Vec<_>>());
            prop_assert_eq!(of(|group| &group.b), (0..b.len()).collect::<Vec<_>>());
            let nodes = |group: &Group| -> BTreeSet<&str> {
                let layers = group.a.iter().map(|&at| a[at]).chain(group.b.iter().map(|&at| b[at]));
                layers.flat_map(covered).collect()
            };
            for (nth, group) in found.iter().enumerate() {
                for other in &found[nth + 1..] {
                    prop_assert!(nodes(group).is_disjoint(&nodes(other)));
                }
            }
        }
    }
}
