//! Reductions along axes.

use super::Made;
use crate::call::{Call, Stop};
use crate::element::Element;
use crate::value::Value;

pub(super) fn infer(call: &Call) -> Made {
    Some(match call.operator() {
        "ArgMax" | "ArgMin" => arg(call),
        operator if operator.starts_with("Reduce") => reduce(call),
        _ => return None,
    })
}

fn reduce(call: &Call) -> Result<Vec<Value>, Stop> {
    let dims = &call.shape(0)?.dims;
    let axes = call.setting("axes", 1)?.unwrap_or_default();
    let keeps = call.int_or("keepdims", 1) != 0;
    if axes.is_empty() && call.int_or("noop_with_empty_axes", 0) != 0 {
        return call.one(dims.clone(), call.element(0));
    }
    let mut reduced = vec![axes.is_empty(); dims.len()];
    for axis in axes {
        let at = call.axis(axis, dims.len())?;
        reduced[at] = true;
    }
    call.one(without(dims, &reduced, keeps), call.element(0))
}

fn arg(call: &Call) -> Result<Vec<Value>, Stop> {
    let dims = &call.shape(0)?.dims;
    let mut reduced = vec![false; dims.len()];
    let at = call.axis(call.int_or("axis", 0), dims.len())?;
    reduced[at] = true;
    let keeps = call.int_or("keepdims", 1) != 0;
    call.one(without(dims, &reduced, keeps), Element::Int64)
}

fn without(dims: &[u64], reduced: &[bool], keeps: bool) -> Vec<u64> {
    let each = dims.iter().zip(reduced);
    each.filter_map(|(dim, reduced)| match (reduced, keeps) {
        (false, _) => Some(*dim),
        (true, true) => Some(1),
        (true, false) => None,
    })
    .collect()
}
