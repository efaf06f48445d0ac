//! What an ONNX file claims, checked before any parser believes it.
//!
//! Parsers of ONNX set memory aside by the lengths that a file states, and call themselves for every message within another:
//! four changed bytes, or half a megabyte of graphs within graphs, end the process that reads them. Here the file is walked
//! without recursion, and nothing is set aside by what it says. What passes may still be no network; it does no harm to a parser.

use std::collections::BTreeMap;
use std::io::{BufRead, Read as _, Seek};
use std::path::{Component, Path};

/// As deep as messages may lie within each other: protobuf's own parsers, ONNX Runtime's and TensorRT's among them, stop
/// there too. A graph within a node's attribute takes three.
pub const MOST_DEPTH: usize = 100;
/// As many messages as a file may hold. Two bytes of an empty one become hundreds in memory; 50 000 nodes, each with three
/// attributes and a value of four dimensions, are 600 000.
pub const MOST_MESSAGES: usize = 2_000_000;
/// A tensor without its data is refused only where memory set aside for it would be more than this.
const NO_MATTER: u64 = 1 << 20;
/// As many elements as a sparse tensor may have, zeros included: runtimes make them dense.
const MOST_SPARSE: u64 = 1 << 32;
/// As much of a name as is shown.
const SHOWN: u64 = 80;

/// What is wrong with a file.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The system refused to read.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// A length beyond what holds it.
    #[error("at byte {at}, a field of a {message} claims {wanted} bytes, but only {found} are left")]
    TooLong {
        /// Where the field begins.
        at: u64,
        /// The message that the field is in, as `ModelProto`.
        message: &'static str,
        /// The length that the field claims.
        wanted: u64,
        /// The bytes that are left of the message.
        found: u64,
    },
    /// Another kind of file.
    #[error("it is {0}")]
    Other(&'static str),
    /// A number of more than 64 bits, or only a part of one.
    #[error("at byte {at}, there is a number that is invalid in ONNX")]
    Number {
        /// Where the number begins.
        at: u64,
    },
    /// Neither a number nor something with a length.
    #[error("at byte {at}, there is a field that is invalid in ONNX (tag {tag})")]
    Field {
        /// Where the field begins.
        at: u64,
        /// The tag that stands there.
        tag: u64,
    },
    /// Graphs within graphs within graphs.
    #[error("at byte {at}, messages are nested more than {MOST_DEPTH} deep")]
    TooDeep {
        /// Where the first too deep one begins.
        at: u64,
    },
    /// More messages than any network has.
    #[error("at byte {at} it has more than {MOST_MESSAGES} nodes, attributes, tensors and shapes together")]
    TooMany {
        /// Where the first that is too many begins.
        at: u64,
    },
    /// A tensor whose dimensions do not belong to its data.
    #[error("the tensor `{name}` at byte {at} {problem}")]
    Tensor {
        /// Where the tensor begins.
        at: u64,
        /// Its name, as far as it is shown.
        name: String,
        /// What does not fit, as the end of a sentence.
        problem: String,
    },
    /// Weights that are kept where they may not be.
    #[error(
        "the data of tensor `{name}` at byte {at} is in `{file}`; weights are read only from files in the network's folder or below. Export it that way, or as one file"
    )]
    Outside {
        /// Where the tensor begins.
        at: u64,
        /// Its name, as far as it is shown.
        name: String,
        /// The path of the weights, as the network writes it.
        file: String,
    },
}

/// What a network claims of a file with its weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Claim {
    /// Where the last of its tensors ends.
    pub end: u64,
    /// All its tensors together.
    pub total: u64,
}

/// The files with weights beside a network, by name.
pub type Claims = BTreeMap<String, Claim>;

/// Walks an ONNX file of this length; what it claims of other files.
///
/// # Errors
/// What would make a parser set more memory aside than the file can fill, call itself too deep, or read where it should not.
pub fn check(input: impl BufRead + Seek, length: u64) -> Result<Claims, Fault> {
    let mut walk = Walk {
        input,
        at: 0,
        claims: Claims::new(),
    };
    if let Some(other) = other_than_onnx(walk.input.fill_buf()?) {
        return Err(Fault::Other(other));
    }
    let mut open = vec![Open::new(Kind::Model, 0, length)];
    let mut messages = 0;
    while let Some(top) = open.last_mut() {
        if walk.at >= top.end {
            let done = open.pop();
            if let Some(done) = done {
                walk.finish(done, open.last_mut())?;
            }
            continue;
        }
        let at = walk.at;
        if let Some((kind, end)) = walk.field(top)? {
            messages += 1;
            if messages > MOST_MESSAGES {
                return Err(Fault::TooMany { at });
            }
            if open.len() > MOST_DEPTH {
                return Err(Fault::TooDeep { at });
            }
            open.push(Open::new(kind, walk.at, end));
        }
    }
    Ok(walk.claims)
}

/// What a file is that begins with these bytes and often comes under the name of a network.
fn other_than_onnx(front: &[u8]) -> Option<&'static str> {
    let begins = |word: &str| {
        let start = front.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        front[start..]
            .get(..word.len())
            .is_some_and(|front| front.eq_ignore_ascii_case(word.as_bytes()))
    };
    if begins("version https://git-lfs") {
        return Some(
            "a Git LFS pointer: run `git lfs pull` in its repository, which fetches the network itself",
        );
    }
    if ["<!doctype", "<html", "<head", "<?xml"]
        .iter()
        .any(|word| begins(word))
    {
        return Some(
            "a web page (HTML): the download gave a page and not the file; copy the link of the file itself",
        );
    }
    begins("PK\x03\x04").then_some(
        "a ZIP archive, as PyTorch saves its models (.pt): export the network as ONNX, or unpack it",
    )
}

/// The messages of onnx.proto that matter: those that hold others, and those whose fields are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Model,
    Graph,
    Function,
    Training,
    Node,
    Attribute,
    Tensor,
    SparseTensor,
    Value,
    Type,
    TensorType,
    /// A type of which the first field is a type: sequence and optional.
    TypeOfType,
    MapType,
    Shape,
    Annotation,
    Entry,
    Plain,
}

impl Kind {
    /// The message that a field of this number holds; none where it holds text, bytes or numbers.
    fn within(self, field: u64) -> Option<Kind> {
        use Kind::*;
        Some(match (self, field) {
            (Model, 7) => Graph,
            (Model, 8) | (Function, 9) => Plain,
            (Model, 20) => Training,
            (Model, 25) => Function,
            (Model, 14) | (Graph, 16) | (Node, 9) | (Function, 14) | (Value, 4) => Entry,
            (Training, 1 | 2) => Graph,
            (Training, 3 | 4) => Entry,
            (Graph, 1) | (Function, 7) => Node,
            (Graph, 5) => Tensor,
            (Graph, 11..=13) | (Function, 12) => Value,
            (Graph, 14) => Annotation,
            (Graph, 15) => SparseTensor,
            (Function, 11) | (Node, 5) => Attribute,
            (Attribute, 5 | 10) | (SparseTensor, 1 | 2) => Tensor,
            (Attribute, 6 | 11) => Graph,
            (Attribute, 14 | 15) | (Value, 2) | (TypeOfType, 1) | (MapType, 2) => Type,
            (Attribute, 22 | 23) => SparseTensor,
            (Tensor, 13 | 16) | (Annotation, 2) => Entry,
            (Tensor, 3) | (Shape, 1) => Plain,
            (Type, 1 | 8) => TensorType,
            (Type, 4 | 9) => TypeOfType,
            (Type, 5) => MapType,
            (TensorType, 2) => Shape,
            _ => return None,
        })
    }

    fn name(self) -> &'static str {
        match self {
            Kind::Model => "model",
            Kind::Graph => "graph",
            Kind::Function => "function",
            Kind::Training => "training step",
            Kind::Node => "node",
            Kind::Attribute => "attribute",
            Kind::Tensor => "tensor",
            Kind::SparseTensor => "sparse tensor",
            Kind::Value => "value",
            Kind::Type | Kind::TensorType | Kind::TypeOfType | Kind::MapType => "type",
            Kind::Shape => "shape",
            Kind::Annotation | Kind::Entry | Kind::Plain => "message",
        }
    }
}

/// A message whose end is not reached.
struct Open {
    kind: Kind,
    begin: u64,
    end: u64,
    tensor: Tensor,
    entry: Entry,
}

/// What a tensor says of itself so far.
#[derive(Default)]
struct Tensor {
    name: String,
    /// None where one is negative.
    dims: Vec<Option<u64>>,
    data_type: u64,
    raw_bytes: u64,
    /// Bytes of its other data; of what is not packed, one for each element.
    typed_bytes: u64,
    is_external: bool,
    file: Option<String>,
    offset: u64,
    length: u64,
}

/// A key and its value.
#[derive(Default)]
struct Entry {
    key: String,
    value: String,
}

impl Open {
    fn new(kind: Kind, begin: u64, end: u64) -> Self {
        Open {
            kind,
            begin,
            end,
            tensor: Tensor::default(),
            entry: Entry::default(),
        }
    }
}

struct Walk<R> {
    input: R,
    at: u64,
    claims: Claims,
}

impl<R: BufRead + Seek> Walk<R> {
    /// Passes over one field; the message that it holds, whose content comes next, and its end.
    fn field(&mut self, of: &mut Open) -> Result<Option<(Kind, u64)>, Fault> {
        let at = self.at;
        let tag = self.number(of.end)?;
        let field = tag >> 3;
        if field == 0 || tag > u64::from(u32::MAX) {
            return Err(Fault::Field { at, tag });
        }
        let fixed = match tag & 7 {
            0 => {
                let value = self.number(of.end)?;
                of.number(field, value);
                return Ok(None);
            }
            1 => Some(8),
            2 => None,
            5 => Some(4),
            // Groups, which ONNX never had: parsers call themselves for each of them too.
            _ => return Err(Fault::Field { at, tag }),
        };
        let wanted = match fixed {
            Some(wanted) => wanted,
            None => self.number(of.end)?,
        };
        let found = of.end - self.at;
        if wanted > found {
            return Err(Fault::TooLong {
                at,
                message: of.kind.name(),
                wanted,
                found,
            });
        }
        if fixed.is_none()
            && let Some(kind) = of.kind.within(field)
        {
            return Ok(Some((kind, self.at + wanted)));
        }
        self.content(of, field, wanted)?;
        Ok(None)
    }

    /// Text, bytes and packed numbers; few are looked at.
    fn content(&mut self, of: &mut Open, field: u64, length: u64) -> Result<(), Fault> {
        let end = self.at + length;
        match (of.kind, field) {
            (Kind::Tensor, 8) => of.tensor.name = self.text(length.min(SHOWN))?,
            (Kind::Tensor, 1) | (Kind::SparseTensor, 3) => {
                while self.at < end {
                    let dim = self.number(end)?;
                    of.number(field, dim);
                }
            }
            (Kind::Tensor, 9) => of.tensor.raw_bytes = length,
            (Kind::Tensor, 4..=7 | 10 | 11) => {
                // An empty text counts too.
                of.tensor.typed_bytes += length.max(1);
                self.packed(of.kind, field, end)?;
            }
            (Kind::Attribute, 7 | 8) => self.packed(of.kind, field, end)?,
            // What is longer names no file.
            (Kind::Entry, 1) => of.entry.key = self.text(length.min(4096))?,
            (Kind::Entry, 2) => of.entry.value = self.text(length.min(4096))?,
            _ => {}
        }
        self.skip(end - self.at)
    }

    /// Packed numbers, each of which must be whole: the embedded backend's parser loses its place after one that is not, and
    /// reads on without end in one of more than ten bytes.
    fn packed(&mut self, kind: Kind, field: u64, end: u64) -> Result<(), Fault> {
        let each = match (kind, field) {
            (Kind::Tensor, 4) | (Kind::Attribute, 7) => 4,
            (Kind::Tensor, 10) => 8,
            (Kind::Tensor, 5 | 7 | 11) | (Kind::Attribute, 8) => {
                while self.at < end {
                    self.number(end)?;
                }
                return Ok(());
            }
            // Text.
            _ => return Ok(()),
        };
        match (end - self.at) % each {
            0 => Ok(()),
            _ => Err(Fault::Number { at: self.at }),
        }
    }

    /// What a whole message says.
    fn finish(&mut self, done: Open, around: Option<&mut Open>) -> Result<(), Fault> {
        match (done.kind, around) {
            (Kind::Entry, Some(around)) if around.kind == Kind::Tensor => {
                let Entry { key, value } = done.entry;
                let number = || value.trim().parse().unwrap_or(0);
                match key.as_str() {
                    // Each of them, whether the tensor says that it uses it or not: who brings the network's files brings all that it
                    // names.
                    "location" => {
                        inside(around.begin, &around.tensor, &value)?;
                        around.tensor.file = Some(value);
                    }
                    "offset" => around.tensor.offset = number(),
                    "length" => around.tensor.length = number(),
                    _ => {}
                }
            }
            (Kind::Tensor, _) => self.tensor(done.begin, done.tensor)?,
            (Kind::SparseTensor, _) => {
                let elements = elements(&done.tensor.dims).filter(|elements| *elements <= MOST_SPARSE);
                if elements.is_none() {
                    return Err(of_tensor(
                        &done.tensor,
                        done.begin,
                        format!("is sparse and has more than {MOST_SPARSE} elements"),
                    ));
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn tensor(&mut self, at: u64, tensor: Tensor) -> Result<(), Fault> {
        let Some(elements) = elements(&tensor.dims) else {
            let problem = "has invalid dimensions".to_owned();
            return Err(of_tensor(&tensor, at, problem));
        };
        let bits = bits(tensor.data_type);
        let bytes = u128::from(elements) * u128::from(bits.unwrap_or(8));
        let bytes = bytes.div_ceil(8);
        if bytes > i64::MAX as u128 {
            let problem = format!("has {elements} elements, more than fit in memory");
            return Err(of_tensor(&tensor, at, problem));
        }
        let bytes = bytes as u64;
        if tensor.is_external {
            return self.external(at, tensor, bits.map(|_| bytes));
        }
        if tensor.raw_bytes > 0 {
            return match bits {
                Some(_) if bytes != tensor.raw_bytes => {
                    let found = tensor.raw_bytes;
                    let problem =
                        format!("has {elements} elements, or {bytes} bytes, but its data has {found}");
                    Err(of_tensor(&tensor, at, problem))
                }
                _ => Ok(()),
            };
        }
        // Of the smallest types, four are in a byte.
        if bytes > NO_MATTER && elements > tensor.typed_bytes.saturating_mul(4) {
            let found = tensor.typed_bytes;
            let problem = format!("has {elements} elements, but its data has {found} bytes");
            return Err(of_tensor(&tensor, at, problem));
        }
        Ok(())
    }

    /// Notes what is claimed of a file with weights.
    fn external(&mut self, at: u64, tensor: Tensor, bytes: Option<u64>) -> Result<(), Fault> {
        let Some(file) = &tensor.file else {
            return Ok(()); // Parsers say that it has no place.
        };
        let length = match (tensor.length, bytes) {
            // Then it is all that its dimensions say.
            (0, bytes) => bytes.unwrap_or(0),
            (length, Some(bytes)) if length != bytes => {
                let problem = format!(
                    "needs {bytes} bytes by its dimensions, but has {length} in `{}`",
                    shown(file)
                );
                return Err(of_tensor(&tensor, at, problem));
            }
            (length, _) => length,
        };
        let claim = self.claims.entry(file.clone()).or_default();
        claim.end = claim.end.max(tensor.offset.saturating_add(length));
        claim.total = claim.total.saturating_add(length);
        Ok(())
    }

    /// A number of seven bits a byte, before `end`.
    fn number(&mut self, end: u64) -> Result<u64, Fault> {
        let at = self.at;
        let mut value = 0_u64;
        for place in 0..10 {
            if self.at >= end {
                return Err(Fault::Number { at });
            }
            let mut byte = [0];
            self.input.read_exact(&mut byte)?;
            self.at += 1;
            let [byte] = byte;
            // The tenth byte has room for one bit; what is beyond it is dropped, as parsers do.
            value |= u64::from(byte & 0x7f).checked_shl(7 * place).unwrap_or(0);
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Fault::Number { at })
    }

    fn text(&mut self, length: u64) -> Result<String, Fault> {
        let mut bytes = Vec::new();
        let got = (&mut self.input).take(length).read_to_end(&mut bytes)?;
        self.at += got as u64;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn skip(&mut self, length: u64) -> Result<(), Fault> {
        self.input.seek_relative(length.cast_signed())?;
        self.at += length;
        Ok(())
    }
}

impl Open {
    /// A number that is not packed, or one of those that are.
    fn number(&mut self, field: u64, value: u64) {
        match (self.kind, field) {
            (Kind::Tensor, 1) | (Kind::SparseTensor, 3) => {
                // More dimensions than that are no tensor's.
                if self.tensor.dims.len() < 64 {
                    self.tensor.dims.push((value <= i64::MAX as u64).then_some(value));
                } else {
                    self.tensor.dims[0] = None;
                }
            }
            (Kind::Tensor, 2) => self.tensor.data_type = value,
            (Kind::Tensor, 4 | 5 | 7 | 10 | 11) => self.tensor.typed_bytes += 1,
            (Kind::Tensor, 14) => self.tensor.is_external = value == 1,
            _ => {}
        }
    }
}

/// How many elements there are; none where no memory could ever hold them, also if other dimensions are 0.
fn elements(dims: &[Option<u64>]) -> Option<u64> {
    let mut product = 1_u64;
    let mut is_empty = false;
    for dim in dims {
        match (*dim)? {
            0 => is_empty = true,
            dim => product = product.checked_mul(dim).filter(|p| *p <= i64::MAX as u64)?,
        }
    }
    Some(if is_empty { 0 } else { product })
}

/// Bits of an element by TensorProto.DataType; none of text and of types that are not known here.
fn bits(data_type: u64) -> Option<u64> {
    Some(match data_type {
        15 => 128,
        7 | 11 | 13 | 14 => 64,
        1 | 6 | 12 => 32,
        4 | 5 | 10 | 16 => 16,
        2 | 3 | 9 | 17..=20 | 24 => 8,
        21..=23 => 4,
        25 | 26 => 2,
        _ => return None,
    })
}

/// Refuses a file with a tensor's weights that is not in the network's folder or below.
fn inside(at: u64, tensor: &Tensor, file: &str) -> Result<(), Fault> {
    let is_below = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    match !file.is_empty() && !file.contains('\0') && Path::new(file).components().all(is_below) {
        true => Ok(()),
        false => Err(Fault::Outside {
            at,
            name: shown(&tensor.name),
            file: shown(file),
        }),
    }
}

fn of_tensor(tensor: &Tensor, at: u64, problem: String) -> Fault {
    Fault::Tensor {
        at,
        name: shown(&tensor.name),
        problem,
    }
}

/// A name as it may be written to a terminal.
fn shown(name: &str) -> String {
    name.chars()
        .take(SHOWN as usize)
        .flat_map(char::escape_debug)
        .collect()
}

#[cfg(test)]
mod tests;
