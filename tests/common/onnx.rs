//! Small networks as ONNX files, made by tests that know what they compute.

use std::path::Path;

use rten_onnx::onnx::{
    AttributeProto, AttributeType, DataType, Dimension, GraphProto, ModelProto, NodeProto,
    OperatorSetIdProto, TensorProto, TensorShapeProto, TypeProto, TypeProtoTensor, ValueInfoProto,
};

/// An input or an output; an extent that is open is `None`, and all of them have one name.
pub fn value(name: &str, element: DataType, dims: &[Option<usize>]) -> ValueInfoProto {
    let dimension = |extent: &Option<usize>| Dimension {
        dim_value: extent.map(|extent| extent as i64),
        dim_param: extent.is_none().then(|| "n".to_owned()),
    };
    port(name, element, dims.iter().map(dimension).collect())
}

/// An input or an output with these dimensions.
pub fn port(name: &str, element: DataType, dim: Vec<Dimension>) -> ValueInfoProto {
    ValueInfoProto {
        name: Some(name.to_owned()),
        r#type: Some(TypeProto {
            tensor_type: Some(TypeProtoTensor {
                elem_type: Some(element),
                shape: Some(TensorShapeProto { dim }),
            }),
            ..TypeProto::default()
        }),
    }
}

/// The same where every extent is known.
pub fn sized(name: &str, element: DataType, dims: &[usize]) -> ValueInfoProto {
    let dims: Vec<Option<usize>> = dims.iter().copied().map(Some).collect();
    value(name, element, &dims)
}

pub fn node(operator: &str, inputs: &[&str], output: &str) -> NodeProto {
    NodeProto {
        name: Some(format!("{operator}_{output}")),
        op_type: Some(operator.to_owned()),
        input: inputs.iter().map(|name| (*name).to_owned()).collect(),
        output: vec![output.to_owned()],
        ..NodeProto::default()
    }
}

/// A node with an attribute that is a whole number.
pub fn node_with(
    operator: &str,
    inputs: &[&str],
    output: &str,
    (attribute, number): (&str, i64),
) -> NodeProto {
    NodeProto {
        attribute: vec![AttributeProto {
            name: Some(attribute.to_owned()),
            i: Some(number),
            r#type: Some(AttributeType::INT),
            ..AttributeProto::default()
        }],
        ..node(operator, inputs, output)
    }
}

pub fn floats(name: &str, dims: &[usize], values: &[f32]) -> TensorProto {
    TensorProto {
        data_type: Some(DataType::FLOAT),
        float_data: values.to_vec(),
        ..of_shape(name, dims)
    }
}

pub fn wholes(name: &str, dims: &[usize], values: &[i64]) -> TensorProto {
    TensorProto {
        data_type: Some(DataType::INT64),
        int64_data: values.to_vec(),
        ..of_shape(name, dims)
    }
}

fn of_shape(name: &str, dims: &[usize]) -> TensorProto {
    TensorProto {
        name: Some(name.to_owned()),
        dims: dims.iter().map(|extent| *extent as i64).collect(),
        ..TensorProto::default()
    }
}

/// The graph's file.
pub fn bytes(graph: GraphProto) -> Vec<u8> {
    let model = ModelProto {
        ir_version: Some(8),
        opset_import: vec![OperatorSetIdProto {
            domain: Some(String::new()),
            version: Some(13),
        }],
        graph: Some(graph),
        ..ModelProto::default()
    };
    model.write_buf().unwrap()
}

pub fn write(path: &Path, graph: GraphProto) {
    std::fs::write(path, bytes(graph)).unwrap();
}
