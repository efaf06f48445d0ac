//! How much memory the activations take at once, if nodes are executed in the graph's order and a tensor is given up after the
//! last that takes it.

use std::collections::BTreeMap;

use crate::element::As;
use crate::traffic::{Bytes, bytes_of};
use crate::walk::{Id, Walk};

/// The most that lives at once, and at which step.
#[derive(Clone, Debug)]
pub(crate) struct Peak {
    pub(crate) bytes: u64,
    pub(crate) step: Option<usize>,
}

/// The peak of a schedule; none, with the reason, where the size of a tensor is not known.
pub(crate) fn peak(walk: &Walk, wanted: As) -> Result<Peak, std::sync::Arc<str>> {
    let root = |id: Id| walk.roots.get(id).copied().unwrap_or(id);
    let is_weight = |id: Id| walk.values.get(id).is_some_and(|value| value.constant);
    let mut last: BTreeMap<Id, usize> = BTreeMap::new();
    for (at, step) in walk.steps.iter().enumerate() {
        for id in step.inputs.iter().flatten().chain(&step.outputs) {
            last.insert(root(*id), at);
        }
    }
    for id in &walk.outputs {
        last.insert(root(*id), usize::MAX);
    }
    let mut ends: BTreeMap<usize, Vec<Id>> = BTreeMap::new();
    for (id, at) in &last {
        ends.entry(*at).or_default().push(*id);
    }
    let mut alive: BTreeMap<Id, u64> = BTreeMap::new();
    let size = |id: Id| -> Bytes { bytes_of(walk, id, None, wanted) };
    let mut now = 0_u64;
    let begin = |id: Id, alive: &mut BTreeMap<Id, u64>, now: &mut u64| -> Result<(), std::sync::Arc<str>> {
        if is_weight(id) || alive.contains_key(&id) {
            return Ok(());
        }
        let bytes = size(id)?;
        *now = now
            .checked_add(bytes)
            .ok_or("it has more bytes than 64 bits count")?;
        alive.insert(id, bytes);
        Ok(())
    };
    for id in &walk.inputs {
        begin(root(*id), &mut alive, &mut now)?;
    }
    let mut peak = Peak {
        bytes: now,
        step: None,
    };
    for (at, step) in walk.steps.iter().enumerate() {
        for id in &step.outputs {
            // An output that nobody takes and that has no name is not made.
            if walk.values.get(*id).is_some_and(|value| value.shape.is_ok())
                || last.get(&root(*id)) != Some(&at)
            {
                begin(root(*id), &mut alive, &mut now)?;
            }
        }
        if now > peak.bytes {
            peak = Peak {
                bytes: now,
                step: Some(at),
            };
        }
        for id in ends.get(&at).into_iter().flatten() {
            if let Some(bytes) = alive.remove(id) {
                now -= bytes;
            }
        }
    }
    Ok(peak)
}
