//! What branches and loops have in common.

use super::{Id, Place, Scope, Step, Walker};
use crate::cost::{Cost, Kind};
use crate::onnx::{GraphDef, Node};
use crate::value::Value;

impl Walker<'_> {
    /// Gives a tensor that a branch or loop hands on its outer name.
    pub(super) fn bind(&mut self, value: Value, of: Option<Id>, name: &str, scope: &mut Scope) -> Id {
        let id = match of {
            Some(of) => self.add_view(value, of),
            None => self.add(value),
        };
        if !name.is_empty() {
            scope.names.insert(name.to_owned(), id);
        }
        id
    }
}

pub(super) fn graph_of<'a>(node: &'a Node, name: &str) -> Option<&'a GraphDef> {
    node.attribute(name)?.graph.as_ref()
}

pub(super) fn nothing(name: &str) -> Value {
    Value::unknown(
        format!("nothing is known of `{name}`").into(),
        crate::element::Element::Unknown,
    )
}

/// The node of a branch or loop itself, which computes nothing.
pub(super) fn own_step(node: &Node, inputs: &[Option<Id>], outputs: Vec<Id>, place: &Place) -> Step {
    Step {
        name: format!("{}{}", place.path, node.label()),
        operator: node.operator.clone(),
        domain: node.domain.clone(),
        kind: Kind::Free,
        inputs: inputs.to_vec(),
        outputs,
        cost: Ok(Cost::default()),
        has_rule: true,
        times: place.times,
        may_rest: place.may_rest,
        at_load: false,
        region: place.region,
    }
}
