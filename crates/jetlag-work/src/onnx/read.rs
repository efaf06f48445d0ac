//! The messages of onnx.proto as far as they decide the work; numbers of fields are onnx.proto's.

use std::io::{BufRead, Seek};

use super::tensor::{MOST_KEPT, Parts};
use super::wire::{Content, Wire};
use super::{Attribute, Dimension, Function, GraphDef, Model, Node, Tensor, ValueInfo};
use crate::element::Element;
use crate::error::WorkError;

/// As many bytes of a tensor as are read: what can be kept, at 8 bytes an element.
const MOST_BYTES: u64 = MOST_KEPT * 8;

/// Reads a file of this length.
pub(crate) fn read(input: impl BufRead + Seek, length: u64) -> Result<Model, WorkError> {
    let mut wire = Wire::new(input);
    let mut model = Model::default();
    wire.message(length, |wire, field, content| {
        match (field, content) {
            (1, Content::Number(number)) => model.ir_version = number.cast_signed(),
            (7, Content::Bytes(length)) => model.graph = Some(graph(wire, length)?),
            (8, Content::Bytes(length)) => model.opsets.push(opset(wire, length)?),
            (25, Content::Bytes(length)) => model.functions.push(function(wire, length)?),
            _ => {}
        }
        Ok(())
    })?;
    Ok(model)
}

fn graph<R: BufRead + Seek>(wire: &mut Wire<R>, length: u64) -> Result<GraphDef, WorkError> {
    let mut graph = GraphDef::default();
    wire.message(length, |wire, field, content| {
        let Content::Bytes(length) = content else {
            return Ok(());
        };
        match field {
            1 => graph.nodes.push(node(wire, length)?),
            5 => graph.initializers.push(tensor(wire, length)?),
            11 => graph.inputs.push(value(wire, length)?),
            12 => graph.outputs.push(value(wire, length)?),
            13 => graph.values.push(value(wire, length)?),
            15 => graph.initializers.push(sparse(wire, length)?),
            _ => {}
        }
        Ok(())
    })?;
    Ok(graph)
}

fn function<R: BufRead + Seek>(wire: &mut Wire<R>, length: u64) -> Result<Function, WorkError> {
    let mut function = Function::default();
    wire.message(length, |wire, field, content| {
        match (field, &content) {
            (1, _) => function.name = wire.text(&content)?,
            (4, _) => function.inputs.push(wire.text(&content)?),
            (5, _) => function.outputs.push(wire.text(&content)?),
            (7, Content::Bytes(length)) => function.nodes.push(node(wire, *length)?),
            (9, Content::Bytes(length)) => function.opsets.push(opset(wire, *length)?),
            (10, _) => function.domain = wire.text(&content)?,
            (11, Content::Bytes(length)) => function.defaults.push(attribute(wire, *length)?),
            _ => {}
        }
        Ok(())
    })?;
    Ok(function)
}

fn opset<R: BufRead + Seek>(wire: &mut Wire<R>, length: u64) -> Result<(String, i64), WorkError> {
    let (mut domain, mut version) = (String::new(), 1);
    wire.message(length, |wire, field, content| {
        match (field, &content) {
            (1, _) => domain = wire.text(&content)?,
            (2, Content::Number(number)) => version = number.cast_signed(),
            _ => {}
        }
        Ok(())
    })?;
    Ok((own(domain), version))
}

/// ONNX's own domain has two names.
fn own(domain: String) -> String {
    match domain == "ai.onnx" {
        true => String::new(),
        false => domain,
    }
}

fn node<R: BufRead + Seek>(wire: &mut Wire<R>, length: u64) -> Result<Node, WorkError> {
    let mut node = Node::default();
    wire.message(length, |wire, field, content| {
        match (field, &content) {
            (1, _) => node.inputs.push(wire.text(&content)?),
            (2, _) => node.outputs.push(wire.text(&content)?),
            (3, _) => node.name = wire.text(&content)?,
            (4, _) => node.operator = wire.text(&content)?,
            (5, Content::Bytes(length)) => node.attributes.push(attribute(wire, *length)?),
            (7, _) => node.domain = own(wire.text(&content)?),
            _ => {}
        }
        Ok(())
    })?;
    Ok(node)
}

fn attribute<R: BufRead + Seek>(wire: &mut Wire<R>, length: u64) -> Result<Attribute, WorkError> {
    let mut attribute = Attribute::default();
    wire.message(length, |wire, field, content| {
        match (field, &content) {
            (1, _) => attribute.name = wire.text(&content)?,
            (2, Content::Four(bytes)) => attribute.float = Some(f32::from_le_bytes(*bytes)),
            (3, Content::Number(number)) => attribute.int = Some(number.cast_signed()),
            // Text may be a whole file; what is longer than a word is no setting that matters.
            (4, Content::Bytes(length)) if *length <= 4096 => attribute.text = Some(wire.text(&content)?),
            (5, Content::Bytes(length)) => attribute.tensor = Some(tensor(wire, *length)?),
            (6, Content::Bytes(length)) => attribute.graph = Some(graph(wire, *length)?),
            (7, _) => wire.floats(&content, &mut attribute.floats)?,
            (8, _) => wire.ints(&content, &mut attribute.ints)?,
            (9, _) => attribute.texts += 1,
            (21, _) => attribute.reference = Some(wire.text(&content)?),
            (22, Content::Bytes(length)) => attribute.tensor = Some(sparse(wire, *length)?),
            _ => {}
        }
        Ok(())
    })?;
    Ok(attribute)
}

fn tensor<R: BufRead + Seek>(wire: &mut Wire<R>, length: u64) -> Result<Tensor, WorkError> {
    let mut parts = Parts::default();
    let mut singles = Vec::new();
    wire.message(length, |wire, field, content| {
        let is_large = matches!(content, Content::Bytes(length) if length > MOST_BYTES);
        match (field, &content) {
            (1, _) => {
                wire.ints(&content, &mut parts.dims)?;
                if parts.dims.len() > 64 {
                    return Err(wire.damaged("a tensor has more than 64 dimensions"));
                }
            }
            (2, Content::Number(number)) => parts.number = number.cast_signed(),
            (4 | 5 | 7 | 10 | 11, _) if is_large => {}
            (4, _) => wire.floats(&content, &mut singles)?,
            (5 | 7 | 11, _) => wire.ints(&content, &mut parts.ints)?,
            (10, _) => wire.doubles(&content, &mut parts.floats)?,
            (8, _) => parts.name = wire.text(&content)?,
            (9, Content::Bytes(length)) => {
                parts.raw_bytes = Some(*length);
                if !is_large {
                    parts.raw = Some(wire.bytes(*length)?);
                }
            }
            (14, Content::Number(number)) => parts.is_external = *number == 1,
            _ => {}
        }
        Ok(())
    })?;
    if !singles.is_empty() {
        parts.floats = singles.into_iter().map(f64::from).collect();
    }
    parts.finish().map_err(|problem| wire.damaged(problem))
}

/// A sparse tensor as runtimes have it: dense.
fn sparse<R: BufRead + Seek>(wire: &mut Wire<R>, length: u64) -> Result<Tensor, WorkError> {
    let mut values = None;
    let mut dims = Vec::new();
    wire.message(length, |wire, field, content| {
        match (field, &content) {
            (1, Content::Bytes(length)) => values = Some(tensor(wire, *length)?),
            (3, _) => wire.ints(&content, &mut dims)?,
            _ => {}
        }
        Ok(())
    })?;
    let values = values.ok_or_else(|| wire.damaged("a sparse tensor has no values"))?;
    let parts = Parts {
        name: values.name,
        dims,
        ..Parts::default()
    };
    let dense = parts.finish().map_err(|problem| wire.damaged(problem))?;
    Ok(Tensor {
        element: values.element,
        ..dense
    })
}

fn value<R: BufRead + Seek>(wire: &mut Wire<R>, length: u64) -> Result<ValueInfo, WorkError> {
    let mut value = ValueInfo::default();
    wire.message(length, |wire, field, content| {
        match (field, &content) {
            (1, _) => value.name = wire.text(&content)?,
            (2, Content::Bytes(length)) => of_type(wire, *length, &mut value)?,
            _ => {}
        }
        Ok(())
    })?;
    Ok(value)
}

fn of_type<R: BufRead + Seek>(
    wire: &mut Wire<R>,
    length: u64,
    value: &mut ValueInfo,
) -> Result<(), WorkError> {
    wire.message(length, |wire, field, content| {
        let Content::Bytes(length) = content else {
            return Ok(());
        };
        match field {
            1 | 8 => {}
            4 | 5 | 9 => {
                value.is_other = true;
                return Ok(());
            }
            _ => return Ok(()),
        }
        wire.message(length, |wire, field, content| {
            match (field, content) {
                (1, Content::Number(number)) => value.element = Some(Element::of(number.cast_signed())),
                (2, Content::Bytes(length)) => value.shape = Some(shape(wire, length)?),
                _ => {}
            }
            Ok(())
        })
    })
}

fn shape<R: BufRead + Seek>(wire: &mut Wire<R>, length: u64) -> Result<Vec<Dimension>, WorkError> {
    let mut dims = Vec::new();
    wire.message(length, |wire, field, content| {
        let (1, Content::Bytes(length)) = (field, content) else {
            return Ok(());
        };
        let mut dim = Dimension::Open;
        wire.message(length, |wire, field, content| {
            match (field, &content) {
                (1, Content::Number(number)) => {
                    // Some exporters write -1 for what they do not know.
                    if let Ok(size) = u64::try_from(number.cast_signed()) {
                        dim = Dimension::Fixed(size);
                    }
                }
                (2, _) => {
                    let name = wire.text(&content)?;
                    // Neither is one dimension wherever it stands.
                    if !["", "?", "-1", "None"].contains(&name.trim()) {
                        dim = Dimension::Named(name);
                    }
                }
                _ => {}
            }
            Ok(())
        })?;
        dims.push(dim);
        if dims.len() > 64 {
            return Err(wire.damaged("a shape has more than 64 dimensions"));
        }
        Ok(())
    })?;
    Ok(dims)
}
