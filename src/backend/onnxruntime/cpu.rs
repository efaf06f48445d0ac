//! ONNX Runtime on the processor: on the waiting thread and the session's own threads.
//!
//! Inputs are read and outputs written in the slot's own memory. Outputs whose size only the data decide are made by the
//! library and taken over, without a copy.

use std::sync::Arc;

use ort::memory::MemoryInfo;
use ort::session::{NoSelectedOutputs, RunOptions};

use super::call::{Call, TensorMemory};
use super::library::Library;
use super::session::Session;
use super::{failed, refused};
use crate::backend::gpu::{Described, Layout, Ports, Tensor, Work};
use crate::backend::host_slot::{HostSlot, HostWork};
use crate::backend::{Backend, BackendError, HostStep, LateTimes, NodeSpan, Opened, Program, Step, fits};
use crate::free_memory;
use crate::record::{Device, Finding};
use crate::tensor::{HostTensor, Shape, TensorError, TensorSet};
use crate::units::Stamp;

const NAME: &str = "onnxruntime-cpu";
/// Why it is not known what sessions take.
const SESSIONS_MEMORY: &str = "ONNX Runtime does not tell what a session's weights and arena take, by the version of its interface that \
                               jetlag uses; they are in the process's peak";

/// Executes ONNX on the processor through ONNX Runtime.
pub struct CpuProvider {
    /// The loaded ONNX Runtime.
    pub library: &'static Library,
    /// Threads for one inference, of each network.
    pub threads: usize,
    /// Whether time is kept per node.
    pub profile: bool,
}

struct Loaded(Arc<Session>);

impl Described for Loaded {
    fn ports(&self) -> &Ports {
        self.0.ports()
    }

    /// What the network leaves open is set aside no memory for: the library makes it.
    fn output_shapes(&self, inputs: &[Shape]) -> Result<Vec<Shape>, BackendError> {
        let shape = |output| {
            let dims = self.0.output_dims(output, inputs);
            let dims: Vec<usize> = dims.into_iter().map(|dim| dim.unwrap_or(0)).collect();
            Shape::new(&dims).ok_or_else(|| BackendError::Load {
                network: self.ports().network.clone(),
                backend: NAME,
                problem: format!("an output has {} dimensions", dims.len()),
            })
        };
        (0..self.ports().outputs.len()).map(shape).collect()
    }
}

impl Backend for CpuProvider {
    fn name(&self) -> &'static str {
        NAME
    }

    fn device(&self) -> Device {
        Device::Host
    }

    fn open(&self, program: &Program, slots: usize) -> Result<Opened, BackendError> {
        fits::check(NAME, program, free_memory::available())?;
        let load = |network| {
            let threads = self.threads.max(1);
            Session::load(NAME, self.library, network, threads, None, self.profile)
                .map(|session| Box::new(Loaded(Arc::new(session))))
        };
        let networks: Vec<Box<Loaded>> = program.engines.iter().map(load).collect::<Result<_, _>>()?;
        let layout = Layout::new(NAME, program, &networks, true)?;
        let zeroed =
            |tensor: &Tensor| HostTensor::try_zeroed(tensor.name.clone(), tensor.element, tensor.max_shape);
        let slot = |_| {
            let tensors = layout.tensors.iter().map(zeroed).collect::<Result<_, _>>()?;
            let tensors = TensorSet::new(tensors);
            Ok(HostSlot::boxed(
                CpuWork::new(program, &layout, &networks)?,
                tensors,
            ))
        };
        let slots = (0..slots).map(slot).collect::<Result<_, BackendError>>()?;
        Ok(Opened::on_host(slots, Some(SESSIONS_MEMORY)))
    }
}

/// An engine with its tensors' places in the slot.
struct Bound {
    session: Arc<Session>,
    call: Call,
    inputs: Vec<usize>,
    outputs: Vec<usize>,
    shapes: Vec<Shape>,
}

enum Piece {
    Engine(Bound),
    Host(Arc<dyn HostStep>),
}

/// Its calls hold addresses of the slot's memory.
struct CpuWork {
    pieces: Vec<Piece>,
    options: RunOptions<NoSelectedOutputs>,
    findings: Vec<Finding>,
}

impl CpuWork {
    fn new(program: &Program, layout: &Layout, networks: &[Box<Loaded>]) -> Result<Self, BackendError> {
        let mut pieces = Vec::new();
        for work in &layout.work {
            let segment = match work {
                Work::Segment(segment) => segment,
                Work::Host(place) => {
                    if let Some(Step::Host(step)) = program.steps.get(*place) {
                        pieces.push(Piece::Host(Arc::clone(step)));
                    }
                    continue;
                }
            };
            for engine in &segment.engines {
                let session = &networks[engine.engine].0;
                let info = host_memory().map_err(|error| refused(NAME, &session.ports().network, &error))?;
                pieces.push(Piece::Engine(Bound {
                    call: Call::new(session, info),
                    session: Arc::clone(session),
                    inputs: engine.inputs.clone(),
                    outputs: engine.outputs.clone(),
                    shapes: Vec::with_capacity(engine.inputs.len()),
                }));
            }
        }
        Ok(CpuWork {
            pieces,
            options: RunOptions::new().map_err(|error| refused(NAME, "the run's options", &error))?,
            findings: Vec::new(),
        })
    }

    fn engines(&self) -> impl Iterator<Item = &Bound> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Engine(bound) => Some(bound),
            Piece::Host(_) => None,
        })
    }
}

/// Of the ordinary heap.
pub(super) fn host_memory() -> ort::Result<MemoryInfo<'static>> {
    use ort::memory::{AllocationDevice, AllocatorType, MemoryType};
    MemoryInfo::new(
        AllocationDevice::CPU,
        0,
        AllocatorType::Device,
        MemoryType::Default,
    )
}

/// Where a tensor of this frame lies.
///
/// # Errors
/// The host does not have it.
pub(super) fn place_of(tensor: &mut HostTensor) -> Result<TensorMemory, TensorError> {
    Ok(TensorMemory {
        element: tensor.element(),
        shape: *tensor.shape(),
        address: tensor.host_bytes_mut()?.as_mut_ptr() as u64,
    })
}

impl Bound {
    fn execute(
        &mut self,
        tensors: &mut TensorSet,
        options: &RunOptions<NoSelectedOutputs>,
    ) -> Result<(), BackendError> {
        let Bound {
            session,
            call,
            inputs,
            outputs,
            shapes,
        } = self;
        let network = &session.ports().network;
        let fail = |error: ort::Error| failed(NAME, network, &error);
        shapes.clear();
        for (number, place) in inputs.iter().enumerate() {
            let tensor = &mut tensors.as_mut_slice()[*place];
            shapes.push(*tensor.shape());
            let at = place_of(tensor)?;
            // SAFETY: the tensor's memory holds its shape, and is this thread's until the call below is over; the next frame tells the
            // call where it lies then, before it runs.
            unsafe { call.input(number, at) }.map_err(fail)?;
        }
        for (number, place) in outputs.iter().enumerate() {
            let tensor = &mut tensors.as_mut_slice()[*place];
            let at = match session.output_shape(number, shapes) {
                Some(shape) => {
                    tensor.set_shape(shape)?;
                    Some(place_of(tensor)?)
                }
                None => None,
            };
            // SAFETY: as above.
            unsafe { call.output(number, at) }.map_err(fail)?;
        }
        // SAFETY: all inputs were said; the tensors are this thread's until the library returns, which is when it is done.
        unsafe { call.run(session, options) }?;
        for (number, place) in outputs.iter().enumerate() {
            let tensor = &mut tensors.as_mut_slice()[*place];
            let element = session.ports().outputs[number].element;
            // SAFETY: as the session's network states it.
            let taken = unsafe { call.take_over(number, element) }.map_err(fail)?;
            if let Some((shape, memory)) = taken {
                tensor.replace(shape, Box::new(memory))?;
            }
        }
        Ok(())
    }
}

impl HostWork for CpuWork {
    fn run(&mut self, tensors: &mut TensorSet) -> Result<(), BackendError> {
        for piece in &mut self.pieces {
            match piece {
                Piece::Engine(bound) => bound.execute(tensors, &self.options)?,
                Piece::Host(step) => step.run(tensors)?,
            }
        }
        Ok(())
    }

    fn number_frame(&mut self, number: u64) -> bool {
        let mut any = false;
        for bound in self.engines() {
            any |= bound.call.was_for(&bound.session, number);
        }
        any
    }

    fn late_node_times(&mut self) -> LateTimes {
        let mut times = LateTimes::new();
        let findings = self
            .engines()
            .flat_map(|bound| bound.session.late_node_times(&mut times));
        self.findings = findings.collect();
        times
    }

    fn node_spans(&mut self, from: Stamp, to: Stamp) -> Vec<NodeSpan> {
        let engines = self.engines();
        engines
            .flat_map(|bound| bound.session.node_spans(from, to))
            .collect()
    }

    fn take_findings(&mut self) -> Vec<Finding> {
        std::mem::take(&mut self.findings)
    }
}
