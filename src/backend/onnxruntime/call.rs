//! The inputs and outputs of one network for one frame in flight: tensors of ONNX Runtime over memory that is ours, made
//! once and made anew only where address or shape changed.

use std::ffi::c_void;
use std::ptr::NonNull;

use ort::AsPointer;
use ort::memory::MemoryInfo;
use ort::session::{NoSelectedOutputs, RunOptions};
use ort::sys;

use super::session::{Session, raw_element};
use crate::backend::BackendError;
use crate::tensor::{ElementType, HostMemory, MAX_RANK, Shape};

/// Memory that a tensor lies in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TensorMemory {
    /// On the host or on the device, as the memory's description says.
    pub(super) address: u64,
    pub(super) element: ElementType,
    pub(super) shape: Shape,
}

/// A tensor of ONNX Runtime; it does not own the memory that it was made over.
struct Tensor(NonNull<sys::OrtValue>);

// SAFETY: the library's tensors belong to no thread.
unsafe impl Send for Tensor {}

impl Tensor {
    /// # Safety
    /// The memory holds the shape, and stays as long as the tensor is used.
    unsafe fn over(info: &MemoryInfo<'_>, place: &TensorMemory) -> ort::Result<Self> {
        let mut extents = [0_i64; MAX_RANK];
        let dims = place.shape.dims();
        for (extent, dim) in extents.iter_mut().zip(dims) {
            *extent = i64::try_from(*dim).unwrap_or(i64::MAX);
        }
        let mut made = std::ptr::null_mut();
        // SAFETY: the description and the extents are alive; the memory is as the caller says.
        let status = unsafe {
            (ort::api().CreateTensorWithDataAsOrtValue)(
                info.ptr(),
                place.address as *mut c_void,
                place.shape.len().saturating_mul(place.element.size()),
                extents.as_ptr(),
                dims.len(),
                raw_element(place.element),
                &raw mut made,
            )
        };
        // SAFETY: a status that the library just answered, taken once.
        unsafe { ort::Error::result_from_status(status) }?;
        NonNull::new(made)
            .map(Tensor)
            .ok_or_else(|| ort::Error::new("CreateTensorWithDataAsOrtValue returned nothing"))
    }

    /// Shape, and the address of its memory.
    fn read(&self) -> ort::Result<(Shape, NonNull<u8>)> {
        let value = self.0.as_ptr();
        let (mut info, mut address) = (std::ptr::null_mut(), std::ptr::null_mut());
        let (mut rank, mut extents) = (0, [0_i64; MAX_RANK]);
        let api = ort::api();
        // SAFETY: the value is a living tensor; each call writes to a place of ours, and the extents written are at most
        // as many as there is room for.
        unsafe {
            ort::Error::result_from_status((api.GetTensorMutableData)(value, &raw mut address))?;
            ort::Error::result_from_status((api.GetTensorTypeAndShape)(value, &raw mut info))?;
            let counted = ort::Error::result_from_status((api.GetDimensionsCount)(info, &raw mut rank));
            let read = counted.and_then(|()| {
                let room = rank.min(MAX_RANK);
                ort::Error::result_from_status((api.GetDimensions)(info, extents.as_mut_ptr(), room))
            });
            (api.ReleaseTensorTypeAndShapeInfo)(info);
            read?;
        }
        let mut dims = [0; MAX_RANK];
        for (dim, extent) in dims.iter_mut().zip(extents) {
            *dim = usize::try_from(extent).unwrap_or(0);
        }
        let shape = dims.get(..rank).and_then(Shape::new);
        let shape = shape.ok_or_else(|| ort::Error::new(format!("an output has {rank} dimensions")))?;
        match NonNull::new(address.cast()) {
            Some(address) => Ok((shape, address)),
            // Of an empty tensor nothing is read.
            None if shape.is_empty() => Ok((shape, NonNull::<u64>::dangling().cast())),
            None => Err(ort::Error::new("an output has no memory")),
        }
    }
}

impl Drop for Tensor {
    fn drop(&mut self) {
        // SAFETY: made by or for us, and released once.
        unsafe { (ort::api().ReleaseValue)(self.0.as_ptr()) }
    }
}

/// An output in host memory that the library made, taken over as it is.
pub(super) struct TakenOver {
    at: NonNull<u8>,
    bytes: usize,
    _tensor: Tensor,
}

// SAFETY: it owns the tensor and with it the memory.
unsafe impl Send for TakenOver {}

impl HostMemory for TakenOver {
    fn bytes(&self) -> &[u8] {
        // SAFETY: the tensor's memory, aligned by the library to more than 8 bytes, lives as long as `self`.
        unsafe { std::slice::from_raw_parts(self.at.as_ptr(), self.bytes) }
    }
    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above; the tensor is nobody else's.
        unsafe { std::slice::from_raw_parts_mut(self.at.as_ptr(), self.bytes) }
    }
}

/// A tensor with where it lies; none in the library's own hands.
#[derive(Default)]
struct Bound(Option<(TensorMemory, Tensor)>);

impl Bound {
    unsafe fn set(&mut self, info: &MemoryInfo<'_>, place: TensorMemory) -> ort::Result<*mut sys::OrtValue> {
        match &self.0 {
            Some((before, tensor)) if *before == place => Ok(tensor.0.as_ptr()),
            _ => {
                // SAFETY: the caller's.
                let tensor = unsafe { Tensor::over(info, &place) }?;
                let raw = tensor.0.as_ptr();
                self.0 = Some((place, tensor));
                Ok(raw)
            }
        }
    }
}

/// The tensors of one network for one frame in flight.
pub(super) struct Call {
    info: MemoryInfo<'static>,
    inputs: Vec<Bound>,
    outputs: Vec<Bound>,
    raw_inputs: Vec<*const sys::OrtValue>,
    raw_outputs: Vec<*mut sys::OrtValue>,
    /// Number of the last execution in the session's profile, where it has one.
    execution: Option<usize>,
}

// SAFETY: the pointers are to tensors that the struct owns, or null.
unsafe impl Send for Call {}

impl Call {
    /// For a session, over memory of this kind.
    pub(super) fn new(session: &Session, info: MemoryInfo<'static>) -> Self {
        let (inputs, outputs) = (session.ports().inputs.len(), session.ports().outputs.len());
        Call {
            info,
            inputs: (0..inputs).map(|_| Bound::default()).collect(),
            outputs: (0..outputs).map(|_| Bound::default()).collect(),
            raw_inputs: vec![std::ptr::null(); inputs],
            raw_outputs: vec![std::ptr::null_mut(); outputs],
            execution: None,
        }
    }

    /// Says where an input lies.
    ///
    /// # Safety
    /// The memory is of the call's kind, holds the shape, and stays until the call is dropped or told otherwise.
    pub(super) unsafe fn input(&mut self, input: usize, place: TensorMemory) -> ort::Result<()> {
        // SAFETY: the caller's.
        self.raw_inputs[input] = unsafe { self.inputs[input].set(&self.info, place) }?;
        Ok(())
    }

    /// Says where an output is to be written, or that the library is to make it.
    ///
    /// # Safety
    /// As for [`Call::input`].
    pub(super) unsafe fn output(&mut self, output: usize, place: Option<TensorMemory>) -> ort::Result<()> {
        self.raw_outputs[output] = match place {
            // SAFETY: the caller's.
            Some(place) => unsafe { self.outputs[output].set(&self.info, place) }?,
            None => {
                self.outputs[output] = Bound(None);
                std::ptr::null_mut()
            }
        };
        Ok(())
    }

    /// Executes over the memory last said.
    ///
    /// # Safety
    /// All inputs were said; none of the memory is touched until the execution is done.
    pub(super) unsafe fn run(
        &mut self,
        session: &Session,
        options: &RunOptions<NoSelectedOutputs>,
    ) -> Result<(), BackendError> {
        // SAFETY: the tensors are alive in `inputs` and `outputs`; their memory is as the caller says.
        let ran = unsafe { session.run(options, &self.raw_inputs, &mut self.raw_outputs) };
        if ran.is_err() {
            // What the library made before it failed is released.
            for output in 0..self.raw_outputs.len() {
                drop(self.take(output));
            }
        }
        self.execution = *ran.as_ref().unwrap_or(&None);
        ran.map(|_| ())
    }

    /// The last execution, of this session, was for this frame; answers whether its time per node will be told.
    pub(super) fn was_for(&self, session: &Session, frame: u64) -> bool {
        self.execution
            .is_some_and(|execution| session.was_for(execution, frame))
    }

    /// An output that the library made; none if it was written where it was told.
    fn take(&mut self, output: usize) -> Option<Tensor> {
        match &self.outputs[output] {
            Bound(Some(_)) => None,
            Bound(None) => {
                let raw = std::mem::replace(&mut self.raw_outputs[output], std::ptr::null_mut());
                NonNull::new(raw).map(Tensor)
            }
        }
    }

    /// An output that the library made in host memory, with its shape; none if it was written where it was told.
    ///
    /// # Safety
    /// `element` is the type that the network states of this output.
    pub(super) unsafe fn take_over(
        &mut self,
        output: usize,
        element: ElementType,
    ) -> ort::Result<Option<(Shape, TakenOver)>> {
        let Some(tensor) = self.take(output) else {
            return Ok(None);
        };
        let (shape, at) = tensor.read()?;
        let memory = TakenOver {
            at,
            bytes: shape.len().saturating_mul(element.size()),
            _tensor: tensor,
        };
        Ok(Some((shape, memory)))
    }
}
