//! Element types, shapes, and named tensors in host memory.
//!
//! A [`TensorSet`] is what a detector fills and reads and what a backend executes on: every input,
//! intermediate and output of a frame by name. Who owns the bytes is the backend's affair
//! ([`HostMemory`]): heap memory here, pinned memory for a GPU. Shapes may change from frame to frame
//! within the capacity that was set aside, without allocation.

pub mod side_by_side;

use serde::{Deserialize, Serialize};

/// The element types that networks exchange with the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names are the types'")]
pub enum ElementType {
    F32,
    F16,
    I8,
    U8,
    I32,
    I64,
    Bool,
}

impl ElementType {
    /// Size of one element in bytes.
    pub const fn size(self) -> usize {
        match self {
            ElementType::F32 | ElementType::I32 => 4,
            ElementType::F16 => 2,
            ElementType::I8 | ElementType::U8 | ElementType::Bool => 1,
            ElementType::I64 => 8,
        }
    }
    /// Whether it holds fractions.
    pub const fn has_fractions(self) -> bool {
        matches!(self, ElementType::F32 | ElementType::F16)
    }
    /// Whether it holds this number: a whole one within its range exactly, any other rounded.
    pub fn holds(self, number: f64) -> bool {
        let within = |least: f64, most: f64| number.fract() == 0.0 && (least..=most).contains(&number);
        match self {
            ElementType::F32 => (number as f32).is_finite(),
            ElementType::F16 => half::f16::from_f64(number).is_finite(),
            ElementType::I8 => within(f64::from(i8::MIN), f64::from(i8::MAX)),
            ElementType::U8 => within(0.0, f64::from(u8::MAX)),
            ElementType::I32 => within(f64::from(i32::MIN), f64::from(i32::MAX)),
            // The largest that has an f64 of its own; far beyond what anything counts.
            ElementType::I64 => within(-9.0e18, 9.0e18),
            ElementType::Bool => within(0.0, 1.0),
        }
    }
    /// The name used on screen: `f32`, `i64`, ….
    pub const fn name(self) -> &'static str {
        match self {
            ElementType::F32 => "f32",
            ElementType::F16 => "f16",
            ElementType::I8 => "i8",
            ElementType::U8 => "u8",
            ElementType::I32 => "i32",
            ElementType::I64 => "i64",
            ElementType::Bool => "bool",
        }
    }
}

/// Most dimensions a tensor may have (TensorRT's own limit is 8).
pub const MAX_RANK: usize = 8;

/// Dimensions of a tensor, outermost first; at most [`MAX_RANK`], held in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    dims: [usize; MAX_RANK],
    rank: usize,
}

impl Shape {
    /// A shape of these dimensions; `None` if there are more than [`MAX_RANK`].
    pub fn new(dims: &[usize]) -> Option<Self> {
        let mut held = [0; MAX_RANK];
        held.get_mut(..dims.len())?.copy_from_slice(dims);
        Some(Shape {
            dims: held,
            rank: dims.len(),
        })
    }
    /// The extents, outermost first.
    pub fn dims(&self) -> &[usize] {
        &self.dims[..self.rank]
    }
    /// Number of elements; 1 for a scalar, saturating where the product overflows.
    pub fn len(&self) -> usize {
        self.dims().iter().fold(1, |n: usize, d| n.saturating_mul(*d))
    }
    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl std::fmt::Display for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[")?;
        for (i, d) in self.dims().iter().enumerate() {
            write!(f, "{}{d}", if i == 0 { "" } else { ", " })?;
        }
        f.write_str("]")
    }
}

/// Bytes of host memory that a backend lends to the pipeline; aligned to at least 8 bytes.
pub trait HostMemory: Send {
    /// The memory, as bytes.
    fn bytes(&self) -> &[u8];
    /// The bytes, to be written.
    fn bytes_mut(&mut self) -> &mut [u8];
    /// Bytes that a tensor may have here; more than `bytes` where the host does not see them.
    fn capacity(&self) -> usize {
        self.bytes().len()
    }
}

/// Memory that the host does not see: a tensor over it has a name and a shape, and no bytes.
struct Elsewhere {
    capacity: usize,
}

impl HostMemory for Elsewhere {
    fn bytes(&self) -> &[u8] {
        &[]
    }
    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut []
    }
    fn capacity(&self) -> usize {
        self.capacity
    }
}

/// Memory from the ordinary heap.
pub struct HeapMemory(Vec<u64>);

impl HeapMemory {
    /// `len` bytes of zeros (rounded up to whole words).
    pub fn zeroed(len: usize) -> Self {
        HeapMemory(vec![0; len.div_ceil(8)])
    }
}

impl HostMemory for HeapMemory {
    fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(&self.0)
    }
    fn bytes_mut(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(&mut self.0)
    }
}

/// An output taken over from a backend as it is, so that nothing is copied.
impl<T: bytemuck::Pod + Send> HostMemory for Vec<T> {
    fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(self)
    }
    fn bytes_mut(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(self)
    }
}

/// As much memory as one tensor may take, where its shape is somebody else's word: 4 GiB.
const MOST_BYTES: usize = 4 << 30;

/// What is wrong with a use of a tensor.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TensorError {
    /// No tensor of that name.
    #[error("no tensor is named `{name}`; there are: {present}")]
    Unknown {
        /// The name that was asked for.
        name: String,
        /// The names that exist.
        present: String,
    },
    /// The shape needs more memory than was set aside.
    #[error("tensor `{name}` of shape {shape} needs {needed} bytes, but {capacity} were allocated")]
    TooLarge {
        /// Name of the tensor.
        name: String,
        /// The shape that was asked for.
        shape: Shape,
        /// Bytes that it needs.
        needed: usize,
        /// Bytes that there are.
        capacity: usize,
    },
    /// More than one may have, or than there is.
    #[error(
        "tensor `{name}` of shape {shape} needs {bytes} bytes: more than is available, or more than the limit of {MOST_BYTES}; check its shape"
    )]
    NoMemory {
        /// Name of the tensor.
        name: String,
        /// The shape that was asked for.
        shape: Shape,
        /// Bytes that it needs.
        bytes: usize,
    },
    /// A network made a shape that what follows cannot use.
    #[error("tensor `{name}` has shape {found}, but {wanted} is expected")]
    WrongShape {
        /// Name of the tensor.
        name: String,
        /// The shape that the network gave it.
        found: Shape,
        /// What was expected, in words.
        wanted: String,
    },
    /// Read or written on the host, which does not have it.
    #[error("tensor `{name}` is only on the device, between two steps that run there")]
    Elsewhere {
        /// Name of the tensor.
        name: String,
    },
    /// Read or written as another type than it has.
    #[error("tensor `{name}` has type {found}, not {wanted}")]
    WrongType {
        /// Name of the tensor.
        name: String,
        /// The type that was asked for.
        wanted: &'static str,
        /// The type that it has.
        found: &'static str,
    },
}

/// One named tensor in host memory, dense, row-major.
pub struct HostTensor {
    name: String,
    element: ElementType,
    shape: Shape,
    memory: Box<dyn HostMemory>,
}

impl HostTensor {
    /// A tensor over memory that somebody set aside; fails if `shape` does not fit in it.
    pub fn over(
        name: impl Into<String>,
        element: ElementType,
        shape: Shape,
        memory: Box<dyn HostMemory>,
    ) -> Result<Self, TensorError> {
        let mut tensor = HostTensor {
            name: name.into(),
            element,
            shape: Shape {
                dims: [0; MAX_RANK],
                rank: 1,
            },
            memory,
        };
        tensor.set_shape(shape)?;
        Ok(tensor)
    }
    /// A zeroed tensor on the heap.
    pub fn zeroed(name: impl Into<String>, element: ElementType, shape: Shape) -> Self {
        let memory = Box::new(HeapMemory::zeroed(shape.len().saturating_mul(element.size())));
        HostTensor {
            name: name.into(),
            element,
            shape,
            memory,
        }
    }
    /// As [`HostTensor::zeroed`], of a shape that somebody else decided.
    ///
    /// # Errors
    /// More than 4 GiB, or than there is.
    pub fn try_zeroed(
        name: impl Into<String>,
        element: ElementType,
        shape: Shape,
    ) -> Result<Self, TensorError> {
        let name = name.into();
        let bytes = shape.len().saturating_mul(element.size());
        let mut words: Vec<u64> = Vec::new();
        if bytes > MOST_BYTES || words.try_reserve_exact(bytes.div_ceil(8)).is_err() {
            return Err(TensorError::NoMemory { name, shape, bytes });
        }
        words.resize(bytes.div_ceil(8), 0);
        Ok(HostTensor {
            name,
            element,
            shape,
            memory: Box::new(HeapMemory(words)),
        })
    }
    /// A tensor of at most this shape in memory that the host does not see.
    pub fn elsewhere(name: impl Into<String>, element: ElementType, max_shape: Shape) -> Self {
        HostTensor {
            name: name.into(),
            element,
            shape: max_shape,
            memory: Box::new(Elsewhere {
                capacity: max_shape.len().saturating_mul(element.size()),
            }),
        }
    }
    /// Its name, as the network has it.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// Calls it something else; done again with the name of before, this allocates nothing.
    pub fn rename(&mut self, name: &str) {
        self.name.clear();
        self.name.push_str(name);
    }
    /// The type of its elements.
    pub fn element(&self) -> ElementType {
        self.element
    }
    /// Its shape for the current frame.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }
    /// Bytes that it can have.
    pub fn capacity(&self) -> usize {
        self.memory.capacity()
    }
    /// Changes the shape within the memory set aside; contents are then unspecified.
    pub fn set_shape(&mut self, shape: Shape) -> Result<(), TensorError> {
        let needed = shape.len().saturating_mul(self.element.size());
        let capacity = self.capacity();
        if needed > capacity {
            return Err(TensorError::TooLarge {
                name: self.name.clone(),
                shape,
                needed,
                capacity,
            });
        }
        self.shape = shape;
        Ok(())
    }
    /// Replaces memory and shape at once, for a backend that hands its output over.
    pub fn replace(&mut self, shape: Shape, memory: Box<dyn HostMemory>) -> Result<(), TensorError> {
        self.memory = memory;
        self.set_shape(shape)
    }
    /// Bytes that the current shape takes, wherever they are.
    pub fn size(&self) -> usize {
        self.shape.len().saturating_mul(self.element.size())
    }
    /// The bytes of the current shape; none where the host does not have them.
    pub fn bytes(&self) -> &[u8] {
        self.memory.bytes().get(..self.size()).unwrap_or_default()
    }
    /// The bytes of the current shape, to be written.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        let size = self.size();
        self.memory.bytes_mut().get_mut(..size).unwrap_or_default()
    }
    /// As [`HostTensor::bytes_mut`], where the host must have them.
    ///
    /// # Errors
    /// They lie on the device alone.
    pub fn host_bytes_mut(&mut self) -> Result<&mut [u8], TensorError> {
        let size = self.size();
        match self.memory.bytes_mut().get_mut(..size) {
            Some(bytes) => Ok(bytes),
            None => Err(TensorError::Elsewhere {
                name: self.name.clone(),
            }),
        }
    }
    fn check(&self, wanted: ElementType) -> Result<(), TensorError> {
        if self.bytes().len() < self.size() {
            return Err(TensorError::Elsewhere {
                name: self.name.clone(),
            });
        }
        if self.element == wanted {
            return Ok(());
        }
        Err(TensorError::WrongType {
            name: self.name.clone(),
            wanted: wanted.name(),
            found: self.element.name(),
        })
    }
    /// Writes one element, which [holds](ElementType::holds) the number; nothing beyond the last.
    ///
    /// # Errors
    /// The host does not have it.
    pub fn set_number(&mut self, index: usize, number: f64) -> Result<(), TensorError> {
        let (element, size) = (self.element, self.element.size());
        let bytes = self.host_bytes_mut()?;
        let at = index.saturating_mul(size)..index.saturating_add(1).saturating_mul(size);
        let Some(place) = bytes.get_mut(at) else {
            return Ok(());
        };
        match element {
            ElementType::F32 => place.copy_from_slice(&(number as f32).to_ne_bytes()),
            ElementType::F16 => place.copy_from_slice(&half::f16::from_f64(number).to_ne_bytes()),
            ElementType::I8 => place.copy_from_slice(&(number as i8).to_ne_bytes()),
            ElementType::U8 | ElementType::Bool => place.copy_from_slice(&[number as u8]),
            ElementType::I32 => place.copy_from_slice(&(number as i32).to_ne_bytes()),
            ElementType::I64 => place.copy_from_slice(&(number as i64).to_ne_bytes()),
        }
        Ok(())
    }
    /// The elements as `f32`.
    pub fn f32(&self) -> Result<&[f32], TensorError> {
        self.check(ElementType::F32)?;
        Ok(bytemuck::cast_slice(self.bytes()))
    }
    /// The elements as `f32`, to be written.
    pub fn f32_mut(&mut self) -> Result<&mut [f32], TensorError> {
        self.check(ElementType::F32)?;
        Ok(bytemuck::cast_slice_mut(self.bytes_mut()))
    }
    /// The elements as `i32`.
    pub fn i32(&self) -> Result<&[i32], TensorError> {
        self.check(ElementType::I32)?;
        Ok(bytemuck::cast_slice(self.bytes()))
    }
    /// The elements as `i32`, to be written.
    pub fn i32_mut(&mut self) -> Result<&mut [i32], TensorError> {
        self.check(ElementType::I32)?;
        Ok(bytemuck::cast_slice_mut(self.bytes_mut()))
    }
}

/// The elements of a tensor as numbers, whatever their type: for outputs of which each network has its own.
#[derive(Clone, Copy)]
pub struct Numbers<'a> {
    element: ElementType,
    bytes: &'a [u8],
}

impl<'a> Numbers<'a> {
    /// The elements of this tensor.
    ///
    /// # Errors
    /// The host does not have them.
    pub fn of(tensor: &'a HostTensor) -> Result<Self, TensorError> {
        tensor.check(tensor.element)?;
        Ok(Numbers {
            element: tensor.element,
            bytes: tensor.bytes(),
        })
    }
    /// How many there are.
    pub fn len(&self) -> usize {
        self.bytes.len() / self.element.size()
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
    /// One of them, rounded to `f32`; `None` beyond the last.
    pub fn at(&self, index: usize) -> Option<f32> {
        let size = self.element.size();
        let start = index.checked_mul(size)?;
        let bytes = self.bytes.get(start..start.checked_add(size)?)?;
        Some(match (self.element, bytes) {
            (ElementType::F32, &[a, b, c, d]) => f32::from_ne_bytes([a, b, c, d]),
            (ElementType::I32, &[a, b, c, d]) => i32::from_ne_bytes([a, b, c, d]) as f32,
            (ElementType::F16, &[a, b]) => half::f16::from_ne_bytes([a, b]).to_f32(),
            (ElementType::I8, &[a]) => f32::from(a.cast_signed()),
            (ElementType::U8 | ElementType::Bool, &[a]) => f32::from(a),
            (ElementType::I64, &[a, b, c, d, e, f, g, h]) => {
                i64::from_ne_bytes([a, b, c, d, e, f, g, h]) as f32
            }
            _ => return None,
        })
    }
}

/// The tensors of one frame, by name and by position.
#[derive(Default)]
pub struct TensorSet {
    tensors: Vec<HostTensor>,
}

impl TensorSet {
    /// A set of these tensors, in this order.
    pub fn new(tensors: Vec<HostTensor>) -> Self {
        TensorSet { tensors }
    }
    /// Adds a tensor at the end.
    pub fn push(&mut self, tensor: HostTensor) {
        self.tensors.push(tensor);
    }
    /// Where the tensor of that name stands, if there is one.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.tensors.iter().position(|t| t.name == name)
    }
    /// Where the tensor of that name stands; looked up once, at load.
    pub fn position(&self, name: &str) -> Result<usize, TensorError> {
        self.find(name).ok_or_else(|| TensorError::Unknown {
            name: name.to_owned(),
            present: self
                .tensors
                .iter()
                .map(|t| t.name.as_str())
                .collect::<Vec<_>>()
                .join(", "),
        })
    }
    /// The tensor of that name.
    pub fn get(&self, name: &str) -> Result<&HostTensor, TensorError> {
        Ok(&self.tensors[self.position(name)?])
    }
    /// The tensor of that name, to be written.
    pub fn get_mut(&mut self, name: &str) -> Result<&mut HostTensor, TensorError> {
        let position = self.position(name)?;
        Ok(&mut self.tensors[position])
    }
    /// The tensors, in the order in which they were made.
    pub fn as_slice(&self) -> &[HostTensor] {
        &self.tensors
    }
    /// All tensors, to be written; `get_disjoint_mut` gives several at once.
    pub fn as_mut_slice(&mut self) -> &mut [HostTensor] {
        &mut self.tensors
    }
}
