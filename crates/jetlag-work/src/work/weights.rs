//! Which tensors are weights.

use std::collections::BTreeMap;

use crate::cost::{Kind, is_weight};
use crate::element::Element;
use crate::error::WorkError;
use crate::value::product;
use crate::walk::{Id, Step, Walk};

pub(super) fn overflow(what: &str) -> WorkError {
    WorkError::Overflow {
        what: what.to_owned(),
    }
}

/// Which constant tensors are weights, and what they lie in.
pub(super) struct Weights {
    /// For what a quantised weight is taken apart into: the quantised one.
    stored: BTreeMap<Id, Id>,
}

impl Weights {
    pub(super) fn of(walk: &Walk) -> Weights {
        let mut stored = BTreeMap::new();
        for step in walk
            .steps
            .iter()
            .filter(|step| step.operator == "DequantizeLinear")
        {
            if let (Some(Some(from)), Some(to)) = (step.inputs.first(), step.outputs.first()) {
                stored.insert(*to, *from);
            }
        }
        Weights { stored }
    }

    /// The weights among a step's inputs, as they are stored.
    pub(super) fn among(&self, walk: &Walk, step: &Step) -> Vec<Id> {
        let mut found = Vec::new();
        // It is a weight where it is used.
        if step.operator == "DequantizeLinear" || matches!(step.kind, Kind::Free | Kind::View) {
            return found;
        }
        for (at, id) in step.inputs.iter().enumerate() {
            let Some(id) = *id else { continue };
            let Some(value) = walk.values.get(id).filter(|value| value.constant) else {
                continue;
            };
            let counts = match value.element {
                Element::Int64 | Element::Uint64 | Element::Bool | Element::String => false,
                Element::Int32 | Element::Uint32 => step.operator == "QLinearConv" && at == 8,
                _ => is_weight(&step.operator, at),
            };
            if counts {
                let root = walk.roots.get(id).copied().unwrap_or(id);
                found.push(
                    self.stored
                        .get(&root)
                        .or(self.stored.get(&id))
                        .copied()
                        .unwrap_or(root),
                );
            }
        }
        found
    }
}

/// Elements of a weight.
pub(super) fn elements(walk: &Walk, id: Id) -> Result<u64, WorkError> {
    match walk.values.get(id).map(|value| &value.shape) {
        Some(Ok(shape)) => product(&shape.dims).ok_or_else(|| overflow("the elements of a weight")),
        _ => Ok(0),
    }
}
