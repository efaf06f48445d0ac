//! Branches.

use std::collections::HashMap;

use super::control::{graph_of, nothing, own_step};
use super::{Id, Place, Scope, Step, Walker, contradiction};
use crate::error::WorkError;
use crate::onnx::{GraphDef, Node};
use crate::value::{Value, product};

impl Walker<'_> {
    /// The branch that is taken, if the file says; otherwise the one with more work, and that is a bound.
    pub(super) fn branch(
        &mut self,
        node: &Node,
        inputs: &[Option<Id>],
        place: &Place,
        scope: &mut Scope,
    ) -> Result<(), WorkError> {
        let condition = inputs.first().copied().flatten();
        let known = condition.and_then(|id| self.value(id)?.as_ints()?.first().copied());
        let (Some(then), Some(other)) = (graph_of(node, "then_branch"), graph_of(node, "else_branch")) else {
            return Err(contradiction(node, "a branch is missing".to_owned()));
        };
        let (steps, chosen, rejected) = match known {
            Some(0) => self
                .body(other, node, place, scope, false)
                .map(|(steps, out)| (steps, out, None))?,
            Some(_) => self
                .body(then, node, place, scope, false)
                .map(|(steps, out)| (steps, out, None))?,
            None => {
                let one = self.body(then, node, place, scope, true)?;
                let two = self.body(other, node, place, scope, true)?;
                let (more, less) = if weight(&two.0) > weight(&one.0) {
                    (two, one)
                } else {
                    (one, two)
                };
                (more.0, more.1, Some(less.1))
            }
        };
        for step in steps {
            self.push(step)?;
        }
        let mut outputs = Vec::new();
        for (at, name) in node.outputs.iter().enumerate() {
            let Some(made) = chosen.get(at).copied() else {
                return Err(contradiction(node, format!("a branch makes no `{name}`")));
            };
            let mut value = self.value(made).cloned().unwrap_or_else(|| nothing(name));
            if let Some(other) = rejected.as_ref().and_then(|ids| self.value(*ids.get(at)?)) {
                larger(&mut value, other);
            }
            outputs.push(self.bind(value, Some(made), name, scope));
        }
        self.push(own_step(node, inputs, outputs, place))
    }

    /// Walks a body apart: its steps and outputs.
    fn body(
        &mut self,
        graph: &GraphDef,
        node: &Node,
        place: &Place,
        scope: &Scope,
        may_rest: bool,
    ) -> Result<(Vec<Step>, Vec<Id>), WorkError> {
        let before = self.walk.steps.len();
        let inner = Place {
            path: format!("{}{}/", place.path, node.label()),
            may_rest: place.may_rest || may_rest,
            region: self.region(),
            ..place.clone()
        };
        let mut names = Scope {
            names: HashMap::new(),
            around: Some(scope),
        };
        let outputs = self.graph(graph, &inner, &mut names)?;
        Ok((
            self.walk.steps.split_off(before.min(self.walk.steps.len())),
            outputs,
        ))
    }
}

/// How much a branch computes, as far as it is known, and how many nodes it has.
fn weight(steps: &[Step]) -> (u128, usize) {
    let flops = steps.iter().filter_map(|step| {
        let cost = step.cost.as_ref().ok()?;
        Some((2 * u128::from(cost.macs) + u128::from(cost.other)).saturating_mul(step.times.into()))
    });
    (flops.fold(0, u128::saturating_add), steps.len())
}

/// Takes the larger of two shapes that a tensor may have.
fn larger(value: &mut Value, other: &Value) {
    value.data = None;
    value.constant = false;
    let (Ok(one), Ok(two)) = (&value.shape, &other.shape) else {
        return;
    };
    if one.dims == two.dims {
        return;
    }
    let mut shape = match product(&two.dims) > product(&one.dims) {
        true => two.clone(),
        false => one.clone(),
    };
    shape.bound = true;
    value.shape = Ok(shape);
}
