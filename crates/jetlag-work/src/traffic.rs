//! What crosses the border between memory and chip, in two models.
//!
//! **Round trip**: every operator reads its inputs from memory and writes its outputs there. Views move nothing.
//!
//! **Fused**: an operator that computes each element by itself is taken together with the one before it, whose output then stays
//! on the chip, unless somebody else needs it too. Quantised tensors are read as they are stored, by whoever takes them apart.
//! A group reads what it does not make and writes what others take. It never depends on itself: a node joins the latest of the
//! groups that it takes from, and all a group's needs come from groups that began before it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::cost::{Kind, data_inputs};
use crate::element::As;
use crate::error::WorkError;
use crate::value::product;
use crate::walk::{Id, Step, Walk};

/// Bytes, or why they are not known.
pub(crate) type Bytes = Result<u64, Arc<str>>;

/// Bytes that one node reads and writes, over all its executions.
#[derive(Clone, Debug)]
pub(crate) struct Moved {
    pub(crate) read: Bytes,
    pub(crate) written: Bytes,
}

/// The tensors that a node moves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moves {
    /// Tensors that it reads.
    pub reads: Vec<TensorMoved>,
    /// Tensors that it writes.
    pub writes: Vec<TensorMoved>,
}

/// A tensor that a node reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorMoved {
    /// The tensor's number in the network; a view of a tensor has that of the tensor.
    pub tensor: usize,
    /// Bytes of it, over all executions of the node.
    pub bytes: u64,
    /// Whether it is written and an output of the network.
    pub leaves: bool,
}

/// Bytes of so many elements of a tensor, or of all of it.
pub(crate) fn bytes_of(walk: &Walk, id: Id, elements: Option<u64>, wanted: As) -> Bytes {
    let Some(value) = walk.values.get(id) else {
        return Ok(0);
    };
    let whole = match &value.shape {
        Ok(shape) => product(&shape.dims),
        Err(why) => return Err(why.clone()),
    };
    let elements = match (elements, whole) {
        (Some(elements), Some(whole)) => elements.min(whole.max(elements)),
        (None, Some(whole)) => whole,
        (_, None) => return Err("it has more elements than 64 bits count".into()),
    };
    let Some(bits) = value.element.bits_as(wanted) else {
        return Err(match value.element {
            crate::element::Element::String => "text has no fixed size".into(),
            _ => "its element type is not known".into(),
        });
    };
    match elements.checked_mul(bits) {
        Some(bits) => Ok(bits.div_ceil(8)),
        None => Err("it has more bits than 64 bits count".into()),
    }
}

/// The inputs that a step reads as data, each tensor once, and how many elements of it.
pub(crate) fn reads(step: &Step) -> Vec<(Id, Option<u64>)> {
    let mut reads: Vec<(Id, Option<u64>)> = Vec::new();
    let stated = step.cost.as_ref().map(|cost| &*cost.reads).unwrap_or_default();
    for (at, id) in step.inputs.iter().enumerate().take(data_inputs(&step.operator)) {
        let Some(id) = *id else { continue };
        let part = stated
            .iter()
            .find(|(input, _)| *input == at)
            .map(|(_, elements)| *elements);
        if !reads.iter().any(|(known, _)| *known == id) {
            reads.push((id, part));
        }
    }
    reads
}

/// Whether a step moves nothing whatever its tensors are.
pub(crate) fn is_still(step: &Step) -> bool {
    matches!(step.kind, Kind::View | Kind::Free)
}

fn multiplied(bytes: Bytes, times: u64) -> Bytes {
    bytes?
        .checked_mul(times)
        .ok_or_else(|| "it has more bytes than 64 bits count".into())
}

/// Adds bytes up; the first reason why a part is not known is the reason for the sum.
fn added(parts: impl IntoIterator<Item = Bytes>) -> Bytes {
    parts.into_iter().try_fold(0_u64, |sum, part| {
        sum.checked_add(part?)
            .ok_or_else(|| "it has more bytes than 64 bits count".into())
    })
}

/// What a step moves where everything goes through memory.
pub(crate) fn round_trip(walk: &Walk, step: &Step, wanted: As) -> Moved {
    if is_still(step) {
        return Moved {
            read: Ok(0),
            written: Ok(0),
        };
    }
    if !step.has_rule {
        let why: Arc<str> = "its operator is not known here".into();
        return Moved {
            read: Err(why.clone()),
            written: Err(why),
        };
    }
    let read = added(
        reads(step)
            .into_iter()
            .map(|(id, part)| bytes_of(walk, id, part, wanted)),
    );
    let writes = step.cost.as_ref().ok().and_then(|cost| cost.writes);
    let outputs = step
        .outputs
        .iter()
        .enumerate()
        .filter(|(at, id)| *at == 0 || is_used(walk, **id));
    let written = added(outputs.map(|(at, id)| {
        let part = if at == 0 { writes } else { None };
        bytes_of(walk, *id, part, wanted)
    }));
    Moved {
        read: multiplied(read, step.times),
        written: multiplied(written, step.times),
    }
}

/// The tensors that a step moves, as [`round_trip`] counts them; none where bytes are not known.
pub(crate) fn moves(walk: &Walk, step: &Step, wanted: As) -> Option<Moves> {
    if is_still(step) {
        return Some(Moves::default());
    }
    if !step.has_rule {
        return None;
    }
    let root = |id: Id| walk.roots.get(id).copied().unwrap_or(id);
    let moved = |id: Id, part: Option<u64>| {
        let bytes = multiplied(bytes_of(walk, id, part, wanted), step.times).ok()?;
        Some(TensorMoved {
            tensor: root(id),
            bytes,
            leaves: false,
        })
    };
    let reads = reads(step).into_iter().map(|(id, part)| moved(id, part));
    let stated = step.cost.as_ref().ok().and_then(|cost| cost.writes);
    let outputs = step.outputs.iter().enumerate();
    let written = outputs
        .filter(|(at, id)| *at == 0 || is_used(walk, **id))
        .map(|(at, id)| {
            let leaves = walk.outputs.iter().any(|output| root(*output) == root(*id));
            let part = if at == 0 { stated } else { None };
            Some(TensorMoved {
                leaves,
                ..moved(*id, part)?
            })
        });
    Some(Moves {
        reads: reads.collect::<Option<_>>()?,
        writes: written.collect::<Option<_>>()?,
    })
}

/// Further outputs (a mask, statistics) are made where somebody has a name for them; what has no shape is not made.
fn is_used(walk: &Walk, id: Id) -> bool {
    walk.values.get(id).is_some_and(|value| value.shape.is_ok())
}

/// What all groups move together, and how many groups there are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fused {
    pub(crate) read: u64,
    pub(crate) written: u64,
    pub(crate) groups: usize,
    /// Nodes of which it is not known what they move.
    pub(crate) unknown: usize,
    /// The group of each step that moves something.
    pub(crate) group: Vec<Option<usize>>,
}

/// Groups the steps, and counts what crosses their borders.
///
/// # Errors
/// More than 64 bits.
pub(crate) fn fused(walk: &Walk, wanted: As) -> Result<Fused, WorkError> {
    let root = |id: Id| walk.roots.get(id).copied().unwrap_or(id);
    let outputs: BTreeSet<Id> = walk.outputs.iter().map(|id| root(*id)).collect();
    // Taken apart by whoever takes it: what the quantised tensor is.
    let mut apart: BTreeMap<Id, usize> = BTreeMap::new();
    for (at, step) in walk.steps.iter().enumerate() {
        if let ("DequantizeLinear", [output]) = (&*step.operator, &*step.outputs)
            && !outputs.contains(&root(*output))
        {
            apart.insert(root(*output), at);
        }
    }
    let groups = group(walk, &apart, &root);
    let is_apart = |at: usize, step: &Step| {
        step.outputs
            .first()
            .is_some_and(|id| apart.get(&root(*id)) == Some(&at))
    };
    let mut maker: BTreeMap<Id, usize> = BTreeMap::new();
    for (at, step) in walk.steps.iter().enumerate() {
        if let Some(Some(group)) = groups.get(at) {
            maker.extend(step.outputs.iter().map(|id| (root(*id), *group)));
        }
    }
    let mut fused = Fused {
        groups: groups.iter().flatten().collect::<BTreeSet<_>>().len(),
        group: groups,
        ..Fused::default()
    };
    let mut read: BTreeSet<(usize, Id)> = BTreeSet::new();
    let mut leaves: BTreeSet<Id> = outputs;
    let overflow = || WorkError::Overflow {
        what: "the bytes of all nodes together".to_owned(),
    };
    let mut taken = Vec::new();
    for (at, step) in walk.steps.iter().enumerate() {
        let Some(Some(group)) = fused.group.get(at).copied() else {
            continue;
        };
        for (id, part) in reads(step) {
            flatten(walk, &apart, &root, id, part, 0, &mut taken);
            for (id, part) in taken.drain(..) {
                let own = root(id);
                let made_by = maker.get(&own);
                if made_by == Some(&group) {
                    continue;
                }
                leaves.insert(own);
                if !read.insert((group, own)) {
                    continue;
                }
                match multiplied(bytes_of(walk, id, part, wanted), step.times) {
                    Ok(bytes) => fused.read = fused.read.checked_add(bytes).ok_or_else(overflow)?,
                    Err(_) => fused.unknown += 1,
                }
            }
        }
    }
    // What a branch or loop hands on, and what a view of it is taken by, leaves its group too.
    for step in walk
        .steps
        .iter()
        .filter(|step| step.kind == Kind::Free && step.operator != "Shape" && step.operator != "Size")
    {
        leaves.extend(step.inputs.iter().flatten().map(|id| root(*id)));
        leaves.extend(step.outputs.iter().map(|id| root(*id)));
    }
    for (at, step) in walk.steps.iter().enumerate() {
        if fused.group.get(at).copied().flatten().is_none() || is_apart(at, step) {
            continue;
        }
        for id in step.outputs.iter().filter(|id| leaves.contains(&root(**id))) {
            match multiplied(bytes_of(walk, *id, None, wanted), step.times) {
                Ok(bytes) => fused.written = fused.written.checked_add(bytes).ok_or_else(overflow)?,
                Err(_) => fused.unknown += 1,
            }
        }
    }
    Ok(fused)
}

/// What is read for a tensor: itself, or what it is taken apart from.
fn flatten(
    walk: &Walk,
    apart: &BTreeMap<Id, usize>,
    root: &impl Fn(Id) -> Id,
    id: Id,
    part: Option<u64>,
    depth: usize,
    into: &mut Vec<(Id, Option<u64>)>,
) {
    match apart.get(&root(id)).and_then(|at| walk.steps.get(*at)) {
        Some(step) if depth < 8 => {
            for (input, _) in reads(step) {
                let is_data = step.inputs.first() == Some(&Some(input));
                flatten(
                    walk,
                    apart,
                    root,
                    input,
                    if is_data { part } else { None },
                    depth + 1,
                    into,
                );
            }
        }
        _ => into.push((id, part)),
    }
}

/// The group of each step; none where it moves nothing.
fn group(walk: &Walk, apart: &BTreeMap<Id, usize>, root: &impl Fn(Id) -> Id) -> Vec<Option<usize>> {
    let mut groups: Vec<Option<usize>> = vec![None; walk.steps.len()];
    // The group that makes a tensor, and the step that does.
    let mut maker: BTreeMap<Id, (usize, usize)> = BTreeMap::new();
    for (at, step) in walk.steps.iter().enumerate() {
        let is_apart = step
            .outputs
            .first()
            .is_some_and(|id| apart.get(&root(*id)) == Some(&at));
        if step.at_load || is_still(step) || is_apart {
            continue;
        }
        let joined = (step.kind == Kind::Pointwise)
            .then(|| joinable(walk, step, &maker, root))
            .flatten();
        let group = joined.unwrap_or(at);
        if let Some(own) = groups.get_mut(at) {
            *own = Some(group);
        }
        for id in &step.outputs {
            maker.insert(root(*id), (group, at));
        }
    }
    groups
}

/// The latest group that a step takes from, if its output is as large as what it takes from it, so that each element can go on
/// when it is made.
fn joinable(
    walk: &Walk,
    step: &Step,
    maker: &BTreeMap<Id, (usize, usize)>,
    root: &impl Fn(Id) -> Id,
) -> Option<usize> {
    let elements = |id: Id| product(&walk.values.get(id)?.shape.as_ref().ok()?.dims);
    let made = elements(*step.outputs.first()?)?;
    let taken = step.inputs.iter().flatten();
    let from = taken.filter_map(|id| Some((*maker.get(&root(*id))?, *id)));
    let ((group, by), id) = from.max_by_key(|((group, _), _)| *group)?;
    let before = walk.steps.get(by)?;
    let goes_along = before.region == step.region && before.times == step.times && before.has_rule;
    (goes_along && elements(id)? == made).then_some(group)
}
