//! ONNX Runtime on a GPU: networks on its CUDA provider, over device memory and streams that are the slots'.
//!
//! A session enqueues on the one stream that it was made with. So there is a session for each stream that the ways of
//! sharing lend the tenant: one, unless a run goes through several ways; each has its own weights and arena.
//!
//! Inputs and outputs are the slots' device memory, so the library copies nothing (a network that reads an input on the
//! processor, a shape say, has it copied there by the library, which then waits). A run does not wait for the device:
//! the slot's stamps and waits are on the same stream. What is captured as a CUDA graph is not decided here, so nothing
//! is: the library may wait or allocate within a run.

use std::mem::ManuallyDrop;
use std::sync::Arc;

use ort::ep::cuda::ConvAlgorithmSearch;
use ort::ep::{ArenaExtendStrategy, CUDA};
use ort::memory::{AllocationDevice, AllocatorType, MemoryInfo, MemoryType};
use ort::session::{NoSelectedOutputs, RunOptions};

use super::call::{Call, TensorMemory};
use super::cpu::{host_memory, place_of};
use super::library::Library;
use super::session::Session;
use super::{failed, refused};
use crate::backend::gpu::{
    self, Claim, Described, Execution, FreeMemory, Lanes, Lender, Location, Network, Options, Ports,
    SharedGpu, Wanted,
};
use crate::backend::{Backend, BackendError, LateTimes, NetworkSource, NodeSpan, Opened, Program};
use crate::engine::network;
use crate::gpu::{Span, Stream};
use crate::record::{Device, Finding};
use crate::tensor::{ElementType, HostTensor, Shape};
use crate::units::Stamp;

const NAME: &str = "onnxruntime-cuda";

/// Executes ONNX on a GPU through ONNX Runtime.
pub struct CudaProvider {
    /// The loaded ONNX Runtime.
    pub library: &'static Library,
    /// The device, as all tenants of the run share it.
    pub shared: Arc<SharedGpu>,
    /// What it brings to the sharing.
    pub claim: Claim,
    /// How its slots work.
    pub options: Options,
    /// Whether the host's time is kept per node.
    pub profile: bool,
}

impl Backend for CudaProvider {
    fn name(&self) -> &'static str {
        NAME
    }

    fn device(&self) -> Device {
        Device::Gpu(self.options.gpu.gpu)
    }

    fn open(&self, program: &Program, slots: usize) -> Result<Opened, BackendError> {
        let lacks = |error| gpu::failed(NAME, "the tenant's streams", error);
        self.shared.gpu().bind().map_err(lacks)?;
        let wanted = Wanted {
            depth: slots,
            captures: false,
            branches: 0,
        };
        let lender = Lender::new(&self.shared, self.claim, wanted);
        let ways = self.shared.ways().iter();
        let lanes: Vec<Arc<Lanes>> = ways
            .map(|way| lender.lanes(*way))
            .collect::<Result<_, _>>()
            .map_err(lacks)?;
        let before = FreeMemory::of(self.shared.gpu());
        let load = |network| {
            self.load(network, &lanes)
                .map(|loaded| Box::new(loaded) as Box<dyn Network>)
        };
        let networks: Vec<Box<dyn Network>> = program.engines.iter().map(load).collect::<Result<_, _>>()?;
        gpu::open(&lender, program, networks, slots, &self.options, &before)
    }
}

impl CudaProvider {
    fn load(&self, network: &NetworkSource, ways: &[Arc<Lanes>]) -> Result<Loaded, BackendError> {
        let device = i32::from(self.options.gpu.gpu);
        let mut sessions: Vec<OnStream> = Vec::new();
        let search = search_of(network);
        for lanes in ways {
            let stream = &lanes.compute;
            if sessions.iter().any(|made| made.enqueues_on(stream)) {
                continue;
            }
            let provider = CUDA::default()
                .with_device_id(device)
                // Other tenants need the memory that the default, the next power of two, would take and leave idle.
                .with_arena_extend_strategy(ArenaExtendStrategy::SameAsRequested)
                .with_conv_algorithm_search(search.clone());
            // SAFETY: a stream of this device. The session is never run after `OnStream`, which keeps the stream, is dropped.
            let provider = unsafe { provider.with_compute_stream(stream.raw().cast()) };
            sessions.push(OnStream {
                // The threads are for what the provider leaves to the processor.
                session: ManuallyDrop::new(
                    Session::load(
                        NAME,
                        self.library,
                        network,
                        1,
                        Some(provider.build()),
                        self.profile,
                    )
                    .map_err(|error| of_provider(error, self.library))?,
                ),
                lanes: Arc::clone(lanes),
            });
        }
        if sessions.is_empty() {
            return Err(gpu::failed(
                NAME,
                "the tenant's streams",
                crate::gpu::GpuError::NoDevice,
            ));
        }
        Ok(Loaded {
            sessions: sessions.into(),
            device,
        })
    }
}

/// How the library chooses its convolutions. Trying all is done once for each shape of the inputs, at the first frame that has it:
/// before the run where shapes are fixed, and in the middle of it where they are not.
fn search_of(source: &NetworkSource) -> ConvAlgorithmSearch {
    let facts = match source {
        NetworkSource::File(path) => network::read(path).ok(),
        NetworkSource::Embedded { bytes, .. } => network::facts(bytes).ok(),
    };
    let is_fixed = |port: &network::Port| port.shape.iter().all(|extent| extent.parse::<usize>().is_ok());
    match facts.is_some_and(|facts| facts.inputs.iter().all(is_fixed)) {
        true => ConvAlgorithmSearch::Exhaustive,
        false => ConvAlgorithmSearch::Heuristic,
    }
}

/// What the library says when its provider's own libraries are missing names one file; this says what to do.
fn of_provider(error: BackendError, library: &Library) -> BackendError {
    match error {
        BackendError::Load {
            network,
            backend,
            problem,
        } if problem.contains("libonnxruntime_providers") || problem.contains("CUDA execution provider") => {
            BackendError::Load {
                network,
                backend,
                problem: format!(
                    "{problem}; ONNX Runtime {} ({}) did not find the CUDA and cuDNN versions that it was built for: install them and put their folders in LD_LIBRARY_PATH",
                    library.version(),
                    library.path().display()
                ),
            }
        }
        other => other,
    }
}

/// A session with the stream that it enqueues on. The session stays until the process ends: its destructor may be the last
/// owner's in a callback of the device, where the library frees pinned memory, may not, and aborts (seen with 1.31.1). A
/// process makes as many as its tenants have streams.
struct OnStream {
    session: ManuallyDrop<Session>,
    /// Kept, so that the tenant is lent these again when their way of sharing comes.
    lanes: Arc<Lanes>,
}

impl Drop for OnStream {
    fn drop(&mut self) {
        // The session does not go, and so not what it has on the disk.
        self.session.abandon();
    }
}

impl OnStream {
    fn enqueues_on(&self, stream: &Stream) -> bool {
        self.lanes.compute.raw() == stream.raw()
    }
}

/// A network on every stream of the tenant.
struct Loaded {
    /// One session for each stream; never empty.
    sessions: Arc<[OnStream]>,
    device: i32,
}

impl Loaded {
    fn first(&self) -> &Session {
        &self.sessions[0].session
    }

    fn refused(&self, error: &ort::Error) -> BackendError {
        refused(NAME, &self.ports().network, error)
    }

    /// Executes once from host memory, waits, and answers the outputs' shapes. F32 and F16 inputs hold `filling`.
    fn try_out(&self, session: &Session, inputs: &[Shape], filling: f32) -> Result<Vec<Shape>, BackendError> {
        let refuse = |error: ort::Error| self.refused(&error);
        let mut call = Call::new(session, host_memory().map_err(refuse)?);
        let ports = self.ports();
        let mut tensors = Vec::new();
        for (number, (port, shape)) in ports.inputs.iter().zip(inputs).enumerate() {
            let mut tensor = HostTensor::try_zeroed(port.name.clone(), port.element, *shape)?;
            fill(&mut tensor, filling);
            let at = place_of(&mut tensor)?;
            // SAFETY: the tensor is kept until after the call.
            unsafe { call.input(number, at) }.map_err(refuse)?;
            tensors.push(tensor);
        }
        let options: RunOptions<NoSelectedOutputs> = RunOptions::new().map_err(refuse)?;
        // SAFETY: all inputs were said, and with these options the library waits for the device.
        unsafe { call.run(session, &options) }?;
        let mut shapes = Vec::new();
        for (number, port) in ports.outputs.iter().enumerate() {
            // SAFETY: as the session's network states it.
            let taken = unsafe { call.take_over(number, port.element) }.map_err(refuse)?;
            shapes.extend(taken.map(|(shape, _)| shape));
        }
        Ok(shapes)
    }
}

fn fill(tensor: &mut HostTensor, value: f32) {
    let element = tensor.element();
    let bytes = tensor.bytes_mut();
    match element {
        ElementType::F32 => bytes
            .chunks_exact_mut(4)
            .for_each(|element| element.copy_from_slice(&value.to_ne_bytes())),
        // 0.5 in half precision; only its two values are ever asked for.
        ElementType::F16 if value != 0.0 => bytes
            .chunks_exact_mut(2)
            .for_each(|element| element.copy_from_slice(&0x3800_u16.to_ne_bytes())),
        _ => {}
    }
}

impl Described for Loaded {
    fn ports(&self) -> &Ports {
        self.first().ports()
    }

    /// Executes every session once, which also makes it allocate and choose its kernels before the run. Where the network
    /// does not say an output's size, that of two different frames has to agree.
    fn output_shapes(&self, inputs: &[Shape]) -> Result<Vec<Shape>, BackendError> {
        let mut shapes = Vec::new();
        for made in self.sessions.iter() {
            shapes = self.try_out(&made.session, inputs, 0.0)?;
        }
        let is_open = |output| self.first().output_shape(output, inputs).is_none();
        let open: Vec<usize> = (0..shapes.len()).filter(|output| is_open(*output)).collect();
        if open.is_empty() {
            return Ok(shapes);
        }
        let others = self.try_out(self.first(), inputs, 0.5)?;
        let has_dynamic_input = self.ports().inputs.iter().any(|port| port.shape.contains(&None));
        let depends = |output: &&usize| has_dynamic_input || shapes[**output] != others[**output];
        match open.iter().find(depends) {
            None => Ok(shapes),
            Some(output) => Err(BackendError::Load {
                network: self.ports().network.clone(),
                backend: NAME,
                problem: format!(
                    "its output `{}` has no fixed size, which GPU tenants do not support; end the network before that layer, give it fixed shapes, or run it with OnnxRuntime(provider: Cpu)",
                    self.ports().outputs[*output].name
                ),
            }),
        }
    }
}

impl Network for Loaded {
    fn bind(&self, memory: &[Location]) -> Result<Box<dyn Execution>, BackendError> {
        let refuse = |error: ort::Error| self.refused(&error);
        let info = MemoryInfo::new(
            AllocationDevice::CUDA,
            self.device,
            AllocatorType::Device,
            MemoryType::Default,
        );
        let mut options = RunOptions::new().map_err(refuse)?;
        options.disable_device_sync().map_err(refuse)?;
        let fail = |error| gpu::failed(NAME, "its tensors", error);
        let span = |location: &Location| location.on_device().cloned();
        let mut running = Running {
            call: Call::new(self.first(), info.map_err(refuse)?),
            sessions: Arc::clone(&self.sessions),
            memory: memory.iter().map(span).collect::<Result<_, _>>().map_err(fail)?,
            options,
            last: 0,
        };
        let largest: Vec<Shape> = memory.iter().map(Location::max_shape).collect();
        let (inputs, outputs) = largest.split_at(self.ports().inputs.len().min(largest.len()));
        running.say(inputs, outputs).map_err(refuse)?;
        Ok(Box::new(running))
    }
}

/// A network over one slot's memory.
struct Running {
    /// It holds addresses within `memory`.
    call: Call,
    sessions: Arc<[OnStream]>,
    /// Device memory of the inputs, followed by that of the outputs.
    memory: Vec<Span>,
    options: RunOptions<NoSelectedOutputs>,
    /// The session that was last enqueued.
    last: usize,
}

impl Running {
    /// Tells the call where everything lies, in these shapes.
    fn say(&mut self, inputs: &[Shape], outputs: &[Shape]) -> ort::Result<()> {
        let Running {
            call,
            sessions,
            memory,
            ..
        } = self;
        let ports = sessions[0].session.ports();
        let place = |span: &Span, element: ElementType, shape: &Shape| {
            let needed = shape.len().saturating_mul(element.size());
            match needed <= span.bytes() {
                true => Ok(TensorMemory {
                    address: span.address(),
                    element,
                    shape: *shape,
                }),
                false => Err(ort::Error::new(format!(
                    "a tensor of shape {shape} needs {needed} bytes, but only {} were allocated",
                    span.bytes()
                ))),
            }
        };
        let (read, written) = memory.split_at(inputs.len());
        for (number, ((span, port), shape)) in read.iter().zip(&ports.inputs).zip(inputs).enumerate() {
            let at = place(span, port.element, shape)?;
            // SAFETY: memory of this device that holds the shape, and that this holds as long as the call.
            unsafe { call.input(number, at) }?;
        }
        for (number, ((span, port), shape)) in written.iter().zip(&ports.outputs).zip(outputs).enumerate() {
            let at = place(span, port.element, shape)?;
            // SAFETY: as above.
            unsafe { call.output(number, Some(at)) }?;
        }
        Ok(())
    }
}

impl Execution for Running {
    fn reshape(&mut self, inputs: &[Shape], outputs: &mut [Shape]) -> Result<(), BackendError> {
        for (number, shape) in outputs.iter_mut().enumerate() {
            // Outputs without stated sizes were refused when the network was tried out.
            if let Some(stated) = self.sessions[0].session.output_shape(number, inputs) {
                *shape = stated;
            }
        }
        self.say(inputs, outputs)
            .map_err(|error| failed(NAME, &self.sessions[0].session.ports().network, &error))
    }

    unsafe fn enqueue(&mut self, stream: &Stream) -> Result<(), BackendError> {
        let place = self.sessions.iter().position(|made| made.enqueues_on(stream));
        let Some(place) = place else {
            return Err(BackendError::Execute {
                network: self.sessions[0].session.ports().network.clone(),
                backend: NAME,
                problem: "there is no session for this stream".to_owned(),
            });
        };
        // SAFETY: everything was said in `bind`, which was given memory for each input; the caller keeps this, and the host from its
        // memory, until the device is done.
        unsafe { self.call.run(&self.sessions[place].session, &self.options) }?;
        self.last = place;
        Ok(())
    }

    fn can_be_captured(&self) -> bool {
        false
    }

    fn may_wait(&self) -> bool {
        self.sessions.iter().any(|made| made.session.may_wait())
    }

    fn number_frame(&mut self, number: u64) -> bool {
        self.call.was_for(&self.sessions[self.last].session, number)
    }

    fn late_layer_times(&mut self, into: &mut LateTimes) -> Vec<Finding> {
        let sessions = self.sessions.iter();
        sessions
            .filter_map(|made| made.session.late_node_times(into))
            .collect()
    }

    fn layer_spans(&mut self, from: Stamp, to: Stamp) -> Vec<NodeSpan> {
        let sessions = self.sessions.iter();
        sessions
            .flat_map(|made| made.session.node_spans(from, to))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An exhaustive search that comes with a new shape comes in the middle of the measured frames.
    #[test]
    fn all_convolutions_are_tried_where_shapes_are_fixed_alone() {
        let tries_all = |source| matches!(search_of(&source), ConvAlgorithmSearch::Exhaustive);
        for (name, wanted) in [("camera.onnx", true), ("lidar_encoder.onnx", false)] {
            let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("engines")
                .join(name);
            let bytes = std::fs::read(&path).unwrap().into();
            assert_eq!(tries_all(NetworkSource::File(path)), wanted, "{name}");
            assert_eq!(
                tries_all(NetworkSource::Embedded { name, bytes }),
                wanted,
                "{name}"
            );
        }
        // What cannot be read is not known to be fixed.
        assert!(!tries_all(NetworkSource::File("nowhere.onnx".into())));
    }
}
