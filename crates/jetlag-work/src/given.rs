//! Sizes that the user gives, and the shapes of the inputs that follow.

use std::collections::{BTreeMap, HashMap};

use crate::element::Element;
use crate::error::{Missing, WorkError};
use crate::graph::Graph;
use crate::onnx::{Dimension, ValueInfo};
use crate::value::{Shape, Value};

/// Sizes for what the graph leaves open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Given {
    /// By the dimension's name: `--dim batch=4`.
    pub dims: BTreeMap<String, u64>,
    /// By the input's name: `--shape images:4x3x224x224`.
    pub shapes: BTreeMap<String, Vec<u64>>,
}

impl Given {
    /// Takes `NAME=SIZE`.
    ///
    /// # Errors
    /// It is written otherwise.
    pub fn dim(&mut self, text: &str) -> Result<(), WorkError> {
        let parts = text.rsplit_once('=').filter(|(name, _)| !name.is_empty());
        let parsed = parts.and_then(|(name, size)| Some((name, size.trim().parse().ok()?)));
        let (name, size) = parsed.ok_or_else(|| WorkError::Spelling {
            text: text.to_owned(),
            wanted: "a dimension's name and size, as batch=4",
        })?;
        self.dims.insert(name.to_owned(), size);
        Ok(())
    }

    /// Takes `TENSOR:4x3x224x224`; a scalar is `TENSOR:`.
    ///
    /// # Errors
    /// It is written otherwise.
    pub fn shape(&mut self, text: &str) -> Result<(), WorkError> {
        let parts = text.rsplit_once(':').filter(|(name, _)| !name.is_empty());
        let parsed = parts.and_then(|(name, shape)| {
            let sizes = shape.split('x').filter(|_| !shape.is_empty());
            let sizes: Option<Vec<u64>> = sizes.map(|size| size.trim().parse().ok()).collect();
            Some((name, sizes?))
        });
        let (name, shape) = parsed.ok_or_else(|| WorkError::Spelling {
            text: text.to_owned(),
            wanted: "an input's name and shape, as images:4x3x224x224",
        })?;
        self.shapes.insert(name.to_owned(), shape);
        Ok(())
    }
}

/// The inputs with their sizes, and a size for each named dimension.
#[derive(Debug)]
pub(crate) struct Resolved {
    pub(crate) inputs: Vec<(String, Value)>,
    pub(crate) dims: HashMap<String, u64>,
}

/// Sizes of all inputs; what is open becomes 1 where `open_is_one`.
///
/// # Errors
/// Sizes are missing (all of them are named), given for what does not exist, or contradict the graph.
pub(crate) fn resolve(graph: &Graph, given: &Given, open_is_one: bool) -> Result<Resolved, WorkError> {
    let fed: Vec<&ValueInfo> = graph.fed().collect();
    check_names(&fed, given)?;
    let mut dims: HashMap<String, u64> = given.dims.clone().into_iter().collect();
    for input in &fed {
        if let Some(shape) = given.shapes.get(&input.name) {
            take_shape(input, shape, &mut dims)?;
        }
    }
    let mut inputs = Vec::new();
    let mut missing = Missing {
        dims: Vec::new(),
        shapes: Vec::new(),
    };
    for input in fed {
        let element = input.element.unwrap_or(Element::Unknown);
        if input.is_other && !given.shapes.contains_key(&input.name) {
            let reason = format!(
                "the input `{}` is a sequence or optional, not a tensor",
                input.name
            );
            inputs.push((input.name.clone(), Value::unknown(reason.into(), element)));
            continue;
        }
        let shape = match (given.shapes.get(&input.name), &input.shape) {
            (Some(shape), _) => Some(shape.clone()),
            (None, Some(shape)) => sizes(input, shape, &dims, open_is_one, &mut missing),
            (None, None) => {
                missing.shapes.push((input.name.clone(), None));
                None
            }
        };
        if let Some(shape) = shape {
            inputs.push((input.name.clone(), Value::new(Shape::exact(shape), element)));
        }
    }
    match missing.dims.is_empty() && missing.shapes.is_empty() {
        true => Ok(Resolved { inputs, dims }),
        false => Err(WorkError::Missing(missing)),
    }
}

fn check_names(fed: &[&ValueInfo], given: &Given) -> Result<(), WorkError> {
    let shapes = fed.iter().filter_map(|input| input.shape.as_ref());
    let mut names: Vec<&String> = shapes
        .flatten()
        .filter_map(|dim| match dim {
            Dimension::Named(name) => Some(name),
            _ => None,
        })
        .collect();
    names.sort();
    names.dedup();
    if let Some(name) = given.dims.keys().find(|name| !names.contains(name)) {
        return Err(WorkError::UnknownDim {
            name: name.clone(),
            known: names.into_iter().cloned().collect(),
        });
    }
    let is_input = |name: &&String| fed.iter().any(|input| input.name == **name);
    if let Some(name) = given.shapes.keys().find(|name| !is_input(name)) {
        return Err(WorkError::UnknownInput {
            name: name.clone(),
            known: fed.iter().map(|input| input.name.clone()).collect(),
        });
    }
    Ok(())
}

/// A shape that was given, held against the graph; it also says how large the input's named dimensions are.
fn take_shape(input: &ValueInfo, shape: &[u64], dims: &mut HashMap<String, u64>) -> Result<(), WorkError> {
    let refused = |problem: String| WorkError::GivenShape {
        input: input.name.clone(),
        problem,
    };
    let Some(declared) = &input.shape else {
        return Ok(());
    };
    if declared.len() != shape.len() {
        return Err(refused(format!(
            "it has {} dimensions there, and {} were given",
            declared.len(),
            shape.len()
        )));
    }
    for (at, (dim, size)) in declared.iter().zip(shape).enumerate() {
        match dim {
            Dimension::Fixed(fixed) if fixed != size => {
                return Err(refused(format!(
                    "its dimension {at} is {fixed} there, and {size} was given"
                )));
            }
            Dimension::Named(name) => match dims.insert(name.clone(), *size) {
                Some(before) if before != *size => {
                    return Err(refused(format!(
                        "its dimension {at} is `{name}`, which is {before} elsewhere, and {size} was given"
                    )));
                }
                _ => {}
            },
            _ => {}
        }
    }
    Ok(())
}

fn sizes(
    input: &ValueInfo,
    shape: &[Dimension],
    dims: &HashMap<String, u64>,
    open_is_one: bool,
    missing: &mut Missing,
) -> Option<Vec<u64>> {
    let mut is_open = false;
    let mut sizes = Vec::with_capacity(shape.len());
    let mut is_whole = true;
    for dim in shape {
        let size = match dim {
            Dimension::Fixed(size) => Some(*size),
            Dimension::Named(name) => {
                let size = dims.get(name).copied();
                if size.is_none() && !open_is_one {
                    name_missing(missing, name, &input.name);
                }
                size
            }
            Dimension::Open => {
                is_open |= !open_is_one;
                None
            }
        };
        let size = size.or(open_is_one.then_some(1));
        is_whole &= size.is_some();
        sizes.push(size.unwrap_or(0));
    }
    if is_open {
        let spelled = shape.iter().map(|dim| match dim {
            Dimension::Fixed(size) => size.to_string(),
            Dimension::Named(name) => dims.get(name).map_or_else(|| "?".to_owned(), u64::to_string),
            Dimension::Open => "?".to_owned(),
        });
        missing.shapes.push((input.name.clone(), Some(spelled.collect())));
    }
    is_whole.then_some(sizes)
}

fn name_missing(missing: &mut Missing, name: &str, input: &str) {
    match missing.dims.iter_mut().find(|(known, _)| known == name) {
        Some((_, inputs)) if inputs.iter().any(|known| known == input) => {}
        Some((_, inputs)) => inputs.push(input.to_owned()),
        None => missing.dims.push((name.to_owned(), vec![input.to_owned()])),
    }
}
