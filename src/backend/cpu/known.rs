//! What an ONNX graph says of its values before it is executed: element types and dimensions, as far as they are written down.

use std::collections::HashMap;

use rten_onnx::onnx::{AttributeProto, DataType, GraphProto, NodeProto, TensorProto, ValueInfoProto};

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
    /// Whether it is a constant with a whole number beyond 32 bits.
    is_large: bool,
    /// The one flag that it is, where it is a constant.
    is_true: Option<bool>,
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
        let weights = graph
            .initializer
            .iter()
            .filter_map(|tensor| Some((tensor.name.clone()?, of_tensor(tensor))));
        known.values.extend(weights);
        let constants = graph.node.iter().filter(|node| operator(node) == "Constant");
        known.values.extend(constants.filter_map(|node| {
            let value = match attribute(node, "value") {
                Some(value) => of_tensor(value.t.as_ref()?),
                None => of_numbers(node)?,
            };
            Some((node.output.first()?.clone(), value))
        }));
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

    /// Whether a value is a constant with a whole number beyond 32 bits.
    pub(super) fn is_large(&self, name: &str) -> bool {
        self.value(name).is_some_and(|value| value.is_large)
    }

    /// What a value is that is a constant and one flag.
    pub(super) fn is_true(&self, name: &str) -> Option<bool> {
        self.value(name)?.is_true
    }

    /// Whether a value is known to be of whole numbers.
    pub(super) fn is_whole(&self, name: &str) -> bool {
        let of_fractions = [DataType::FLOAT, DataType::DOUBLE, DataType::FLOAT16];
        self.element(name)
            .is_some_and(|element| !of_fractions.contains(&element))
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
        ..Value::default()
    }
}

fn of_tensor(tensor: &TensorProto) -> Value {
    let is_large = tensor.data_type == Some(DataType::INT64)
        && (tensor.int64_data.iter().copied().any(is_beyond)
            || tensor.raw_data.as_ref().is_some_and(|raw| {
                let numbers = raw.borrow();
                let mut numbers = numbers.as_chunks::<8>().0.iter();
                numbers.any(|number| is_beyond(i64::from_le_bytes(*number)))
            }));
    Value {
        element: tensor.data_type,
        dims: Some(tensor.dims.iter().copied().map(Some).collect()),
        is_large,
        is_true: flag(tensor),
    }
}

/// Of a `Constant` that states its numbers themselves.
fn of_numbers(node: &NodeProto) -> Option<Value> {
    let one = attribute(node, "value_int").and_then(|one| one.i);
    let (dims, is_large) = match one {
        Some(one) => (Vec::new(), is_beyond(one)),
        None => {
            let all = &attribute(node, "value_ints")?.ints;
            (vec![Some(all.len() as i64)], all.iter().copied().any(is_beyond))
        }
    };
    Some(Value {
        element: Some(DataType::INT64),
        dims: Some(dims),
        is_large,
        is_true: None,
    })
}

fn flag(tensor: &TensorProto) -> Option<bool> {
    if tensor.data_type != Some(DataType::BOOL) || tensor.dims.iter().any(|extent| *extent != 1) {
        return None;
    }
    let raw = tensor
        .raw_data
        .as_ref()
        .and_then(|raw| raw.borrow().first().copied());
    raw.map(i32::from)
        .or_else(|| tensor.int32_data.first().copied())
        .map(|flag| flag != 0)
}

fn is_beyond(number: i64) -> bool {
    i32::try_from(number).is_err()
}

/// A node's operator, without its domain.
pub(super) fn operator(node: &NodeProto) -> &str {
    node.op_type.as_deref().unwrap_or_default()
}

/// A node's attribute of this name.
pub(super) fn attribute<'a>(node: &'a NodeProto, name: &str) -> Option<&'a AttributeProto> {
    node.attribute.iter().find(|a| a.name.as_deref() == Some(name))
}
