//! What some nodes of a network move together: a tensor that one of them makes and another takes stays on the chip.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::record::WorkRecord;

/// Who takes which tensor.
pub(super) struct Tensors<'a> {
    nodes: &'a [WorkRecord],
    takers: HashMap<(u16, u32), Vec<usize>>,
}

impl<'a> Tensors<'a> {
    pub(super) fn of(nodes: &'a [WorkRecord]) -> Tensors<'a> {
        let mut takers: HashMap<(u16, u32), Vec<usize>> = HashMap::new();
        for (at, node) in nodes.iter().enumerate() {
            for read in &node.reads {
                takers.entry((node.network, read.tensor)).or_default().push(at);
            }
        }
        Tensors { nodes, takers }
    }

    /// Bytes that these nodes together read and write; none where those of one are not known.
    pub(super) fn moved(&self, own: &[usize]) -> Option<u64> {
        let members: BTreeSet<usize> = own.iter().copied().collect();
        let mut made: BTreeMap<(u16, u32), (u64, bool)> = BTreeMap::new();
        let mut taken: BTreeMap<(u16, u32), u64> = BTreeMap::new();
        for at in &members {
            let node = self.nodes.get(*at)?;
            if node.bytes_read.is_none() || node.bytes_written.is_none() {
                return None;
            }
            for one in &node.writes {
                let tensor = made.entry((node.network, one.tensor)).or_default();
                *tensor = (tensor.0.max(one.bytes), tensor.1 || one.leaves);
            }
            for one in &node.reads {
                let bytes = taken.entry((node.network, one.tensor)).or_default();
                *bytes = one.bytes.max(*bytes);
            }
        }
        let outside = |tensor: &(u16, u32)| {
            let takers = self.takers.get(tensor);
            takers.is_some_and(|takers| takers.iter().any(|at| !members.contains(at)))
        };
        let written = made
            .iter()
            .filter(|(tensor, (_, leaves))| *leaves || outside(tensor));
        let read = taken.iter().filter(|(tensor, _)| !made.contains_key(tensor));
        let sizes = written
            .map(|(_, (bytes, _))| *bytes)
            .chain(read.map(|(_, bytes)| *bytes));
        sizes.into_iter().try_fold(0_u64, u64::checked_add)
    }
}
