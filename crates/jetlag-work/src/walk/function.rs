//! Functions that the file itself defines, written out.

use std::collections::HashMap;

use super::{Id, Place, Scope, Walker, contradiction};
use crate::element::Element;
use crate::error::WorkError;
use crate::onnx::{Attribute, Function, Node};
use crate::value::Value;

/// As deep as functions may call each other.
const MOST_CALLS: usize = 64;

impl Walker<'_> {
    /// A node that calls a function of the file.
    pub(super) fn function(
        &mut self,
        node: &Node,
        function: &Function,
        inputs: &[Option<Id>],
        place: &Place,
        scope: &mut Scope,
    ) -> Result<(), WorkError> {
        if place.calls >= MOST_CALLS {
            return Err(contradiction(
                node,
                "functions call each other without end".to_owned(),
            ));
        }
        // A function sees what it is given and nothing else; its caller's attributes are those of its caller's caller.
        let mut own = Scope::default();
        for (name, id) in function.inputs.iter().zip(inputs) {
            if let Some(id) = id {
                own.names.insert(name.clone(), *id);
            }
        }
        let inner = Place {
            opsets: match function.opsets.is_empty() {
                true => place.opsets,
                false => &function.opsets,
            },
            function: Some((function, &node.attributes)),
            path: format!("{}{}/", place.path, node.label()),
            calls: place.calls + 1,
            ..place.clone()
        };
        for node in &function.nodes {
            // Inputs that the caller left out are left out within.
            let mut node = node.clone();
            for name in &mut node.inputs {
                if own.find(name).is_none() && function.inputs.contains(name) {
                    name.clear();
                }
            }
            self.node(&node, &inner, &mut own, &HashMap::new())?;
        }
        for (inner, outer) in function.outputs.iter().zip(&node.outputs) {
            if let (Some(id), false) = (own.find(inner), outer.is_empty()) {
                scope.names.insert(outer.clone(), id);
            }
        }
        // What the function did not make is not known.
        for name in node.outputs.iter().filter(|name| !name.is_empty()) {
            if scope.find(name).is_none() {
                let reason = format!("the function {} does not make it", node.operator);
                let id = self.add(Value::unknown(reason.into(), Element::Unknown));
                scope.names.insert(name.clone(), id);
            }
        }
        Ok(())
    }
}

/// A function's node with the calling node's attributes, or the function's own where the caller sets none.
pub(super) fn with_attributes(node: &Node, function: &Function, given: &[Attribute]) -> Node {
    let mut node = node.clone();
    node.attributes = node
        .attributes
        .into_iter()
        .filter_map(|attribute| match &attribute.reference {
            None => Some(attribute),
            Some(wanted) => {
                let all = given.iter().chain(&function.defaults);
                let found = all
                    .into_iter()
                    .find(|known| known.name == *wanted && known.reference.is_none())?;
                Some(Attribute {
                    name: attribute.name,
                    ..found.clone()
                })
            }
        })
        .collect();
    node
}
