//! The file with fewer channels: weights, numbers and declared shapes are written anew, everything else is copied as it is.

use std::collections::{HashMap, HashSet};

use super::edits::Place;
use super::numbers::{raw, rewritten, select, width};
use crate::element::Element;
use crate::error::WorkError;
use crate::onnx::splice::{Fate, Piece, fields, put, splice, text};

/// A weight with fewer channels.
#[derive(Debug)]
pub(super) struct Smaller {
    pub(super) element: Element,
    pub(super) dims: Vec<u64>,
    /// On each axis: which places stay; none where all do.
    pub(super) keeps: Vec<Option<Vec<bool>>>,
}

/// Numbers of a node that are replaced.
#[derive(Debug)]
pub(super) enum Replaced {
    /// The input of this number is the tensor of this name.
    Input(usize, String),
    /// An attribute gets these numbers.
    Numbers(Place, Vec<i64>),
}

/// A list of whole numbers that is put in.
#[derive(Debug)]
pub(super) struct List {
    pub(super) name: String,
    pub(super) is_narrow: bool,
    pub(super) dims: Vec<u64>,
    pub(super) values: Vec<i64>,
}

/// All that changes.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// By name: weights, of initializers and of Constants.
    pub(super) weights: HashMap<String, Smaller>,
    /// By the node's first output.
    pub(super) nodes: HashMap<String, Vec<Replaced>>,
    pub(super) lists: Vec<List>,
    /// Tensors that nobody takes any more, and that are left out with what makes them.
    pub(super) dropped: HashSet<String>,
    /// By tensor: axes with their new sizes.
    pub(super) sizes: HashMap<String, Vec<(usize, u64)>>,
}

/// Each weight of the outermost graph in turn: its name and its message. Those of Constants are under the name of what they make.
///
/// # Errors
/// The file is damaged, or what `each` says.
pub(super) fn weights<'a, E: From<WorkError>>(
    model: &'a [u8],
    mut each: impl FnMut(String, &'a [u8]) -> Result<(), E>,
) -> Result<(), E> {
    let mut failed = None;
    let mut tell = |name: String, message: &'a [u8]| {
        if failed.is_none() {
            failed = each(name, message).err();
        }
    };
    fields(model, |field, piece| {
        let (7, Piece::Bytes(graph)) = (field, piece) else {
            return Ok(());
        };
        fields(graph, |field, piece| {
            match (field, piece) {
                (5, Piece::Bytes(message)) => tell(name(message, 8)?, message),
                (1, Piece::Bytes(node)) => {
                    if let Some(message) = constant(node)? {
                        tell(name(node, 2)?, message);
                    }
                }
                _ => {}
            }
            Ok(())
        })
    })?;
    match failed {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

/// The first text of a field, or none.
fn name(message: &[u8], of: u64) -> Result<String, WorkError> {
    let mut found = String::new();
    fields(message, |field, piece| {
        if field == of && found.is_empty() {
            found = text(piece)?;
        }
        Ok(())
    })?;
    Ok(found)
}

/// The tensor of a Constant.
fn constant(node: &[u8]) -> Result<Option<&[u8]>, WorkError> {
    let mut value = None;
    let mut is_constant = false;
    fields(node, |field, piece| {
        match (field, piece) {
            (4, piece) => is_constant = matches!(piece, Piece::Bytes(b"Constant")),
            (5, Piece::Bytes(attribute)) => {
                if let Some(tensor) = tensor(attribute)? {
                    value = Some(tensor);
                }
            }
            _ => {}
        }
        Ok(())
    })?;
    Ok(value.filter(|_| is_constant))
}

/// The tensor of an attribute named `value`.
fn tensor(attribute: &[u8]) -> Result<Option<&[u8]>, WorkError> {
    let mut found = None;
    let mut is_value = false;
    fields(attribute, |field, piece| {
        match (field, piece) {
            (1, piece) => is_value = matches!(piece, Piece::Bytes(b"value")),
            (5, Piece::Bytes(tensor)) => found = Some(tensor),
            _ => {}
        }
        Ok(())
    })?;
    Ok(found.filter(|_| is_value))
}

impl Changes {
    /// The file with these changes.
    ///
    /// # Errors
    /// It is damaged.
    pub(super) fn apply(&self, model: &[u8]) -> Result<Vec<u8>, WorkError> {
        let mut out = Vec::new();
        splice(model, &mut out, |field, piece| match (field, piece) {
            (7, Piece::Bytes(graph)) => Ok(Fate::Bytes(self.graph(graph)?)),
            _ => Ok(Fate::Copied),
        })?;
        Ok(out)
    }

    fn graph(&self, graph: &[u8]) -> Result<Vec<u8>, WorkError> {
        let mut out = Vec::new();
        // Before all nodes, since a file has nodes in the order in which they can be executed.
        for list in &self.lists {
            put(&mut out, 1, Piece::Bytes(&list.node()));
        }
        splice(graph, &mut out, |field, piece| {
            let Piece::Bytes(message) = piece else {
                return Ok(Fate::Copied);
            };
            match field {
                1 => self.node(message),
                5 => {
                    let name = name(message, 8)?;
                    match self.weights.get(&name) {
                        _ if self.dropped.contains(&name) => Ok(Fate::Dropped),
                        Some(smaller) => Ok(Fate::Bytes(smaller.message(message)?)),
                        None => Ok(Fate::Copied),
                    }
                }
                11 | 13 => {
                    let name = name(message, 1)?;
                    match self.sizes.get(&name) {
                        _ if self.dropped.contains(&name) => Ok(Fate::Dropped),
                        Some(sizes) => Ok(Fate::Bytes(resized(message, sizes)?)),
                        None => Ok(Fate::Copied),
                    }
                }
                _ => Ok(Fate::Copied),
            }
        })?;
        Ok(out)
    }

    fn node(&self, node: &[u8]) -> Result<Fate, WorkError> {
        let key = name(node, 2)?;
        if self.dropped.contains(&key) {
            return Ok(Fate::Dropped);
        }
        let weight = self.weights.get(&key);
        let replaced = self.nodes.get(&key);
        if weight.is_none() && replaced.is_none() {
            return Ok(Fate::Copied);
        }
        let replaced = replaced.map_or(&[][..], |replaced| replaced);
        let mut input = 0;
        let mut out = Vec::new();
        splice(node, &mut out, |field, piece| {
            let Piece::Bytes(bytes) = piece else {
                return Ok(Fate::Copied);
            };
            match field {
                1 => {
                    let at = input;
                    input += 1;
                    let other = replaced.iter().find_map(|replaced| match replaced {
                        Replaced::Input(place, name) if *place == at => Some(name),
                        _ => None,
                    });
                    Ok(other.map_or(Fate::Copied, |name| Fate::Bytes(name.clone().into_bytes())))
                }
                5 => attribute(bytes, weight, replaced),
                _ => Ok(Fate::Copied),
            }
        })?;
        Ok(Fate::Bytes(out))
    }
}

fn attribute(bytes: &[u8], weight: Option<&Smaller>, replaced: &[Replaced]) -> Result<Fate, WorkError> {
    if let (Some(smaller), Some(message)) = (weight, tensor(bytes)?) {
        let smaller = smaller.message(message)?;
        let mut out = Vec::new();
        splice(bytes, &mut out, |field, _| {
            Ok(match field {
                5 => Fate::Bytes(smaller.clone()),
                _ => Fate::Copied,
            })
        })?;
        return Ok(Fate::Bytes(out));
    }
    let own = name(bytes, 1)?;
    let numbers = replaced.iter().find_map(|replaced| match replaced {
        Replaced::Numbers(place @ (Place::Int(name) | Place::Ints(name)), numbers) if *name == own => {
            Some((place, numbers))
        }
        _ => None,
    });
    let Some((place, numbers)) = numbers else {
        return Ok(Fate::Copied);
    };
    let number = if matches!(place, Place::Int(_)) { 3 } else { 8 };
    let mut out = Vec::new();
    splice(bytes, &mut out, |field, _| {
        Ok(if field == number {
            Fate::Dropped
        } else {
            Fate::Copied
        })
    })?;
    for value in numbers {
        put(&mut out, number, Piece::Number(value.cast_unsigned()));
    }
    Ok(Fate::Bytes(out))
}

/// A declared tensor with other sizes on some axes; dimensions with names keep them.
fn resized(value: &[u8], sizes: &[(usize, u64)]) -> Result<Vec<u8>, WorkError> {
    let mut out = Vec::new();
    // Its type, which is a tensor, which has a shape.
    within(value, &mut out, &[2, 1, 2], &|shape, out| {
        let mut axis = 0;
        splice(shape, out, |field, piece| {
            if field != 1 {
                return Ok(Fate::Copied);
            }
            let size = sizes.iter().find(|(at, _)| *at == axis).map(|(_, size)| *size);
            axis += 1;
            let (Some(size), Piece::Bytes(dim)) = (size, piece) else {
                return Ok(Fate::Copied);
            };
            let mut out = Vec::new();
            splice(dim, &mut out, |field, _| {
                Ok(if field == 1 { Fate::Dropped } else { Fate::Copied })
            })?;
            if name(dim, 2)?.is_empty() {
                put(&mut out, 1, Piece::Number(size));
            }
            Ok(Fate::Bytes(out))
        })
    })?;
    Ok(out)
}

/// Appends what becomes of a message.
type Last<'a> = &'a dyn Fn(&[u8], &mut Vec<u8>) -> Result<(), WorkError>;

/// Splices the message at the end of this path of fields.
fn within(message: &[u8], out: &mut Vec<u8>, path: &[u64], last: Last) -> Result<(), WorkError> {
    let Some((wanted, path)) = path.split_first() else {
        return last(message, out);
    };
    splice(message, out, |field, piece| match piece {
        Piece::Bytes(bytes) if field == *wanted => {
            let mut out = Vec::new();
            within(bytes, &mut out, path, last)?;
            Ok(Fate::Bytes(out))
        }
        _ => Ok(Fate::Copied),
    })
}

impl Smaller {
    fn message(&self, message: &[u8]) -> Result<Vec<u8>, WorkError> {
        let width = width(self.element).unwrap_or(1);
        let raw = raw(message, width, &self.dims)?;
        let each = self.dims.iter().zip(&self.keeps);
        let dims: Vec<u64> = each
            .map(|(dim, keep)| match keep {
                Some(keep) => keep.iter().filter(|stays| **stays).count() as u64,
                None => *dim,
            })
            .collect();
        rewritten(message, &dims, &select(&raw, &self.dims, &self.keeps))
    }
}

impl List {
    /// A Constant that makes it.
    fn node(&self) -> Vec<u8> {
        let mut tensor = Vec::new();
        for dim in &self.dims {
            put(&mut tensor, 1, Piece::Number(*dim));
        }
        put(&mut tensor, 2, Piece::Number(if self.is_narrow { 6 } else { 7 }));
        let width = if self.is_narrow { 4 } else { 8 };
        let bytes = self
            .values
            .iter()
            .flat_map(|value| value.to_le_bytes().into_iter().take(width));
        put(&mut tensor, 9, Piece::Bytes(&bytes.collect::<Vec<u8>>()));
        let mut attribute = Vec::new();
        put(&mut attribute, 1, Piece::Bytes(b"value"));
        put(&mut attribute, 5, Piece::Bytes(&tensor));
        // The kind of an attribute: a tensor.
        put(&mut attribute, 20, Piece::Number(4));
        let mut node = Vec::new();
        put(&mut node, 2, Piece::Bytes(self.name.as_bytes()));
        put(&mut node, 3, Piece::Bytes(self.name.as_bytes()));
        put(&mut node, 4, Piece::Bytes(b"Constant"));
        put(&mut node, 5, Piece::Bytes(&attribute));
        node
    }
}
