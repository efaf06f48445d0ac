//! What an ONNX graph says of its values before it is executed: element types and dimensions, as far as they are written down.

use std::collections::HashMap;

use rten_onnx::onnx::{AttributeProto, DataType, GraphProto, NodeProto, ValueInfoProto};

/// The values of a graph, and of those around it, by name.
#[derive(Default)]
pub(super) struct Known<'a> {
    values: HashMap<String, Value>,
    outer: Option<&'a Known<'a>>,
}

#[derive(Clone, Default)]
struct Value {
    element: Option<DataType>,
    dims: Option<Vec<Option<i64>>>,
}

impl Known<'_> {
    /// With what a graph within says of its own.
    pub(super) fn within(&self, graph: &GraphProto) -> Known<'_> {
        let mut known = Known {
            values: HashMap::new(),
            outer: Some(self),
        };
        let stated = graph.input.iter().chain(&graph.output).chain(&graph.value_info);
        let stated = stated.filter_map(|v| Some((v.name.clone()?, of_info(v))));
        known.values.extend(stated);
        let weights = graph.initializer.iter().filter_map(|tensor| {
            let value = Value {
                element: tensor.data_type,
                dims: Some(tensor.dims.iter().copied().map(Some).collect()),
            };
            Some((tensor.name.clone()?, value))
        });
        known.values.extend(weights);
        for node in &graph.node {
            if let ("QuantizeLinear", Some(output)) = (operator(node), node.output.first())
                && let Some(element) = known.quantised(node)
            {
                let mut value = known.value(output).cloned().unwrap_or_default();
                value.element = Some(element);
                known.values.insert(output.clone(), value);
            }
        }
        known
    }

    /// The type that a quantisation gives: its zero point's.
    fn quantised(&self, node: &NodeProto) -> Option<DataType> {
        match node.input.get(2).filter(|name| !name.is_empty()) {
            Some(zero) => self.element(zero),
            None => attribute(node, "output_dtype")
                .is_none()
                .then_some(DataType::UINT8),
        }
    }

    /// The innermost of that name.
    fn value(&self, name: &str) -> Option<&Value> {
        let own = self.values.get(name);
        own.or_else(|| self.outer?.value(name))
    }

    /// The element type of a value, where it is known before the run.
    pub(super) fn element(&self, name: &str) -> Option<DataType> {
        self.value(name)?.element
    }

    /// Its dimensions; those that are not numbers are none.
    pub(super) fn dims(&self, name: &str) -> Option<&[Option<i64>]> {
        self.value(name)?.dims.as_deref()
    }
}

fn of_info(info: &ValueInfoProto) -> Value {
    let tensor = info.r#type.as_ref().and_then(|of| of.tensor_type.as_ref());
    let shape = tensor.and_then(|tensor| tensor.shape.as_ref());
    Value {
        element: tensor.and_then(|tensor| tensor.elem_type),
        dims: shape.map(|shape| shape.dim.iter().map(|dim| dim.dim_value).collect()),
    }
}

/// A node's operator, without its domain.
pub(super) fn operator(node: &NodeProto) -> &str {
    node.op_type.as_deref().unwrap_or_default()
}

/// A node's attribute of this name.
pub(super) fn attribute<'a>(node: &'a NodeProto, name: &str) -> Option<&'a AttributeProto> {
    node.attribute.iter().find(|a| a.name.as_deref() == Some(name))
}
