//! Tenants on TensorRT: plans loaded once a tenant, and an execution context for each frame in flight.

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use tensorrt_dyn::{
    ContextMemory, DataType, Engine, Error, ExecutionContext, LayerInformationFormat, Library, Profiler,
    TensorInfo, TensorIoMode, TensorLocation,
};

use super::build::type_name;
use super::inspect::{Needs, plugins_here};
use super::matching;
use super::profiles::Profiles;
use crate::backend::gpu::{
    self, Claim, Described, Execution, FreeMemory, Lender, Location, Network, Options, Port, Ports,
    SharedGpu, Wanted,
};
use crate::backend::{Backend, BackendError, NetworkSource, NodeTime, Opened, Program};
use crate::engine::graph;
use crate::engine::manifest::{self, PlanManifest};
use crate::engine::operators::{LayerOperators, NodeOperators};
use crate::files;
use crate::gpu::{DeviceMemory, Gpu, Span, Stream};
use crate::record::{Amount, Device, EngineLayers};
use crate::scenario;
use crate::tensor::{ElementType, Shape};
use crate::units::Nanos;

const NAME: &str = "tensorrt";

/// Executes plans on a GPU. The program's engines are plan files.
pub struct TensorRtBackend {
    /// The loaded TensorRT library.
    pub library: Library,
    /// The device, as all tenants of the run share it.
    pub shared: Arc<SharedGpu>,
    /// What it brings to the sharing.
    pub claim: Claim,
    /// How its slots work.
    pub options: Options,
    /// Whether time is kept per layer.
    pub profile: bool,
    /// The networks that the plans were built of, in the same order, as far as they are known: they tell the operators of
    /// layers.
    pub networks: Vec<NetworkSource>,
}

impl Backend for TensorRtBackend {
    fn name(&self) -> &'static str {
        NAME
    }

    fn device(&self) -> Device {
        Device::Gpu(self.options.gpu.gpu)
    }

    fn open(&self, program: &Program, slots: usize) -> Result<Opened, BackendError> {
        let device = self.shared.gpu();
        let fail = |error| gpu::failed(NAME, "the tenant's device", error);
        device.bind().map_err(fail)?;
        let before = FreeMemory::of(device);
        let mut plans: Vec<Loaded> = Vec::new();
        for (number, network) in program.engines.iter().enumerate() {
            plans.push(self.load(network, self.networks.get(number))?);
        }
        let memory = match self.options.gpu.context_memory {
            scenario::ContextMemory::Separate => None,
            scenario::ContextMemory::Shared => Some(shared_memory(device, &plans)?),
        };
        let layers = plans.iter_mut().filter_map(|plan| plan.layers.take()).collect();
        let shared = memory.as_ref().map_or(0, |memory| memory.bytes() as u64);
        let networks: Vec<Box<dyn Network>> = plans
            .into_iter()
            .map(|mut plan| {
                plan.memory.clone_from(&memory);
                Box::new(plan) as Box<dyn Network>
            })
            .collect();
        let wanted = Wanted {
            depth: slots,
            captures: self.options.gpu.graph != scenario::Graph::Off,
            branches: networks
                .iter()
                .map(|network| network.branches())
                .max()
                .unwrap_or(0),
        };
        let lender = Lender::new(&self.shared, self.claim, wanted);
        let mut opened = gpu::open(&lender, program, networks, slots, &self.options, &before)?;
        opened.layers = layers;
        // The one block of all contexts is part of what was taken before the slots were made.
        let memory = &mut opened.memory;
        if let Some(Amount::Bytes(taken)) = &mut memory.networks {
            *taken = taken.saturating_sub(shared);
        }
        if let Some(Amount::Bytes(contexts)) = &mut memory.contexts {
            *contexts = contexts.saturating_add(shared);
        }
        Ok(opened)
    }
}

/// One block for all contexts of a tenant, which never run at the same time: they are on one stream, and one is enqueued
/// after another.
fn shared_memory(device: &Arc<Gpu>, plans: &[Loaded]) -> Result<Arc<DeviceMemory>, BackendError> {
    let mut needed = 0;
    for plan in plans {
        needed = needed.max(
            plan.engine
                .device_memory_size()
                .map_err(|error| plan.failed(&error))?,
        );
    }
    let bytes = usize::try_from(needed).unwrap_or(usize::MAX);
    let memory = DeviceMemory::new(device, bytes);
    Ok(Arc::new(
        memory.map_err(|error| gpu::failed(NAME, "its contexts", error))?,
    ))
}

impl TensorRtBackend {
    fn load(
        &self,
        network: &NetworkSource,
        built_of: Option<&NetworkSource>,
    ) -> Result<Loaded, BackendError> {
        let name = network.to_string();
        let refused = |problem: String| BackendError::Load {
            network: name.clone(),
            backend: NAME,
            problem,
        };
        let NetworkSource::File(path) = network else {
            return Err(refused(
                "a network in the binary has to be built into a plan first".to_owned(),
            ));
        };
        let plan = files::read(path, files::NETWORK).map_err(|error| refused(error.to_string()))?;
        let manifest = manifest::read(path).ok();
        if let Some(problem) = manifest.as_ref().and_then(|manifest| self.mismatch(manifest)) {
            return Err(refused(problem));
        }
        let needs = manifest.as_ref().map(Needs::of).unwrap_or_default();
        for plugins in &needs.plugins {
            let loaded = self.library.load_plugins(&plugins_here(self.library, plugins));
            loaded.map_err(|error| refused(error.to_string()))?;
        }
        let engine = self
            .deserialize(&plan, &needs)
            .map_err(|error| of_library(&name, &error))?;
        let mut loaded = Loaded::new(name.clone(), engine, self.shared.gpu())?;
        if self.profile {
            loaded.inspect(built_of);
        }
        Ok(loaded)
    }

    /// Why the plan does not fit this machine.
    fn mismatch(&self, manifest: &PlanManifest) -> Option<String> {
        let device = self.shared.gpu().device();
        matching::mismatch(manifest, self.library.version(), Some(device))
    }

    fn deserialize(&self, plan: &[u8], needs: &Needs) -> Result<Engine, Error> {
        let runtime = self.library.runtime()?;
        if let Some(core) = needs.dla_core {
            runtime.set_dla_core(core)?;
        }
        if needs.host_code {
            runtime.allow_engine_host_code(true)?;
        }
        runtime.engine(plan)
    }
}

/// What an engine's inspector answers, or why that cannot be had.
fn inspected(engine: &Engine) -> Result<serde_json::Value, String> {
    let told = || {
        engine
            .inspector()?
            .engine_information(LayerInformationFormat::Json)
    };
    let told =
        told().map_err(|error| format!("TensorRT's engine inspector does not tell the layers: {error}"))?;
    serde_json::from_str(&told)
        .map_err(|error| format!("what TensorRT's engine inspector tells is no JSON: {error}"))
}

/// A failure of the library; a full device is told apart, since other tenants may go on.
fn of_library(network: &str, error: &Error) -> BackendError {
    match error {
        Error::OutOfMemory { .. } => BackendError::OutOfMemory {
            backend: NAME,
            problem: format!(
                "not enough GPU memory for {network}: {error}; use fewer tenants, a smaller `depth` or `context_memory: Shared`"
            ),
        },
        _ => BackendError::Load {
            network: network.to_owned(),
            backend: NAME,
            problem: error.to_string(),
        },
    }
}

/// A plan that was loaded, and what it reads and writes.
struct Loaded {
    engine: Engine,
    ports: Ports,
    names: Vec<CString>,
    profiles: Profiles,
    /// Streams beside the one that it is enqueued on.
    branches: usize,
    gpu: Arc<Gpu>,
    /// Working memory that the contexts share; without it each has its own.
    memory: Option<Arc<DeviceMemory>>,
    /// Of its layers, where time is kept per layer.
    operators: Option<Arc<LayerOperators>>,
    /// What the inspector told of them, likewise.
    layers: Option<EngineLayers>,
}

impl Loaded {
    fn new(network: String, engine: Engine, gpu: &Arc<Gpu>) -> Result<Self, BackendError> {
        let all = engine.tensors().map_err(|error| of_library(&network, &error))?;
        let of = |mode| all.iter().filter(move |tensor| tensor.mode == Some(mode));
        let inputs: Vec<&TensorInfo> = of(TensorIoMode::Input).collect();
        let outputs: Vec<&TensorInfo> = of(TensorIoMode::Output).collect();
        let ports = |list: &[&TensorInfo]| -> Result<Vec<Port>, BackendError> {
            let port = |tensor: &&TensorInfo| port(tensor).map_err(|problem| unusable(&network, problem));
            list.iter().map(port).collect()
        };
        Ok(Loaded {
            ports: Ports {
                inputs: ports(&inputs)?,
                outputs: ports(&outputs)?,
                network: network.clone(),
            },
            names: inputs
                .iter()
                .chain(&outputs)
                .map(|tensor| tensor.name.clone())
                .collect(),
            profiles: Profiles::of(&engine, &inputs).map_err(|error| of_library(&network, &error))?,
            // Releases before 8.6 have none.
            branches: engine
                .aux_streams()
                .map_or(0, |count| usize::try_from(count).unwrap_or(0)),
            gpu: Arc::clone(gpu),
            engine,
            memory: None,
            operators: None,
            layers: None,
        })
    }

    /// Asks what time per layer is read with: the layers' operators and what else the inspector tells. A plan that tells nothing is
    /// executed all the same.
    fn inspect(&mut self, built_of: Option<&NetworkSource>) {
        let told = inspected(&self.engine);
        let nodes = built_of.map(|network| match network {
            NetworkSource::File(path) => NodeOperators::of_file(path),
            NetworkSource::Embedded { bytes, .. } => NodeOperators::of(bytes),
        });
        let document = told.as_ref().unwrap_or(&serde_json::Value::Null);
        let operators = LayerOperators::new(document, nodes.unwrap_or_default());
        self.operators = Some(Arc::new(operators));
        self.layers = Some(told.map_or_else(EngineLayers::Unknown, |told| graph::recorded(&told)));
    }

    fn failed(&self, error: &Error) -> BackendError {
        of_library(&self.ports.network, error)
    }

    fn context(&self, memory: ContextMemory) -> Result<ExecutionContext, BackendError> {
        self.engine.context(memory).map_err(|error| self.failed(&error))
    }

    /// Gives a context the profile of its own slot, where the plan's shapes are dynamic.
    fn choose_profile(&self, context: &mut ExecutionContext, slot: usize) -> Result<(), BackendError> {
        let Some(profile) = self.profiles.of_slot(slot) else {
            return Ok(());
        };
        let lacks = |error| gpu::failed(NAME, "a profile of shapes", error);
        let stream = Stream::new(&self.gpu, 0).map_err(lacks)?;
        // SAFETY: a stream of the engine's device; it is waited for before the context is used on another.
        unsafe { context.set_optimization_profile(profile, stream.raw()) }
            .map_err(|error| unusable(&self.ports.network, self.profiles.refused(slot, &error)))?;
        stream.synchronize().map_err(lacks)
    }

    fn output_names(&self) -> &[CString] {
        &self.names[self.ports.inputs.len()..]
    }
}

fn unusable(network: &str, problem: String) -> BackendError {
    BackendError::Load {
        network: network.to_owned(),
        backend: NAME,
        problem,
    }
}

fn port(tensor: &TensorInfo) -> Result<Port, String> {
    let name = tensor.name.to_string_lossy().into_owned();
    let element = match tensor.data_type {
        Some(DataType::Float) => ElementType::F32,
        Some(DataType::Half) => ElementType::F16,
        Some(DataType::Int8) => ElementType::I8,
        Some(DataType::Uint8) => ElementType::U8,
        Some(DataType::Int32) => ElementType::I32,
        Some(DataType::Int64) => ElementType::I64,
        Some(DataType::Bool) => ElementType::Bool,
        other => {
            return Err(format!(
                "`{name}` has type {}, which jetlag does not support; build the engine with another type",
                type_name(other)
            ));
        }
    };
    // 0 is the linear layout; others have strides and paddings that the host does not write.
    if tensor.format != 0 {
        return Err(format!(
            "`{name}` has the layout {}; build the engine with linear inputs and outputs",
            tensor.format_description
        ));
    }
    Ok(Port {
        name,
        element,
        shape: tensor
            .shape
            .iter()
            .map(|extent| usize::try_from(*extent).ok())
            .collect(),
        is_on_host: tensor.location == Some(TensorLocation::Host),
    })
}

fn set_shapes(context: &mut ExecutionContext, names: &[CString], shapes: &[Shape]) -> Result<(), Error> {
    for (name, shape) in names.iter().zip(shapes) {
        let mut extents = [0; crate::tensor::MAX_RANK];
        let dims = shape.dims();
        for (extent, dim) in extents.iter_mut().zip(dims) {
            *extent = i64::try_from(*dim).unwrap_or(i64::MAX);
        }
        context.set_input_shape(name, &extents[..dims.len()])?;
    }
    Ok(())
}

fn shape_of(context: &ExecutionContext, name: &CStr, network: &str) -> Result<Shape, BackendError> {
    let extents = context
        .tensor_shape(name)
        .map_err(|error| of_library(network, &error))?;
    let dims: Option<Vec<usize>> = extents
        .iter()
        .map(|extent| usize::try_from(*extent).ok())
        .collect();
    dims.and_then(|dims| Shape::new(&dims)).ok_or_else(|| {
        let problem = format!(
            "the size of its output `{}` depends on the data ({extents:?}), which GPU tenants do not support; end the network before that layer, or run it on the cpu backend",
            name.to_string_lossy()
        );
        unusable(network, problem)
    })
}

impl Described for Loaded {
    fn ports(&self) -> &Ports {
        &self.ports
    }

    fn output_shapes(&self, inputs: &[Shape]) -> Result<Vec<Shape>, BackendError> {
        // Only asked for shapes, so it needs no working memory.
        let mut context = self.context(ContextMemory::FromOutside)?;
        self.choose_profile(&mut context, 0)?;
        set_shapes(&mut context, &self.names, inputs).map_err(|error| self.failed(&error))?;
        let shape = |name: &CString| shape_of(&context, name, &self.ports.network);
        self.output_names().iter().map(shape).collect()
    }
}

impl Network for Loaded {
    fn branches(&self) -> usize {
        self.branches
    }

    fn context_memory(&self) -> Option<Amount> {
        // What contexts share is the tenant's, and no context's.
        if self.memory.is_some() {
            return Some(Amount::Bytes(0));
        }
        let told = self.engine.device_memory_size();
        Some(told.map_or_else(
            |error| Amount::Unknown(format!("TensorRT does not tell what a context takes: {error}")),
            Amount::Bytes,
        ))
    }

    fn bind(&self, memory: &[Location]) -> Result<Box<dyn Execution>, BackendError> {
        let mut context = match &self.memory {
            None => self.context(ContextMemory::Own)?,
            Some(shared) => {
                let mut context = self.context(ContextMemory::FromOutside)?;
                let address = shared.address() as *mut std::ffi::c_void;
                // SAFETY: the block is as large as the largest engine needs, the execution holds it, and whoever enqueues vouches that
                // contexts that share it are on one stream (`Execution::enqueue`).
                unsafe { context.set_device_memory(address, shared.bytes() as u64) }
                    .map_err(|error| self.failed(&error))?;
                context
            }
        };
        self.choose_profile(&mut context, self.profiles.next_slot())?;
        if memory.len() != self.names.len() {
            let problem = format!(
                "it has {} tensors, but was given {}",
                self.names.len(),
                memory.len()
            );
            return Err(unusable(&self.ports.network, problem));
        }
        let ports = self.ports.inputs.iter().chain(&self.ports.outputs);
        for ((name, location), port) in self.names.iter().zip(memory).zip(ports) {
            let address = match port.is_on_host {
                true => location.host().map(|host| host.as_ptr() as u64),
                false => location.on_device().map(Span::address),
            };
            let address = address.map_err(|error| gpu::failed(NAME, "its tensors", error))?;
            // SAFETY: the memory holds the tensor's largest shape, and the execution holds the memory.
            unsafe { context.set_tensor_address(name, address as *mut std::ffi::c_void) }
                .map_err(|error| self.failed(&error))?;
        }
        let inputs: Vec<Shape> = memory
            .iter()
            .take(self.ports.inputs.len())
            .map(Location::max_shape)
            .collect();
        set_shapes(&mut context, &self.names, &inputs).map_err(|error| self.failed(&error))?;
        let times = Arc::new(Mutex::new(Vec::new()));
        if let Some(operators) = &self.operators {
            let profiler = Box::new(Times {
                times: Arc::clone(&times),
                operators: Arc::clone(operators),
                known: HashMap::new(),
            });
            let set = context
                .set_profiler(Some(profiler))
                .and_then(|()| context.set_enqueue_emits_profile(false));
            set.map_err(|error| self.failed(&error))?;
        }
        Ok(Box::new(Running {
            context,
            network: self.ports.network.clone(),
            names: self.names.clone(),
            branches: self.branches,
            lent: Vec::new(),
            times: self.operators.is_some().then_some(times),
            _tensors: memory.to_vec(),
            _memory: self.memory.clone(),
        }))
    }
}

/// A context over one slot's memory. It goes before what it points to, which stands below it.
struct Running {
    context: ExecutionContext,
    network: String,
    names: Vec<CString>,
    branches: usize,
    /// Streams that the context holds; they go after it.
    lent: Vec<Arc<Stream>>,
    times: Option<Arc<Mutex<Vec<NodeTime>>>>,
    _tensors: Vec<Location>,
    _memory: Option<Arc<DeviceMemory>>,
}

impl Execution for Running {
    fn reshape(&mut self, inputs: &[Shape], outputs: &mut [Shape]) -> Result<(), BackendError> {
        let execute = |problem: &Error| BackendError::Execute {
            network: self.network.clone(),
            backend: NAME,
            problem: problem.to_string(),
        };
        set_shapes(&mut self.context, &self.names, inputs).map_err(|error| execute(&error))?;
        for (shape, name) in outputs.iter_mut().zip(&self.names[inputs.len()..]) {
            *shape = shape_of(&self.context, name, &self.network)?;
        }
        Ok(())
    }

    unsafe fn enqueue(&mut self, stream: &Stream) -> Result<(), BackendError> {
        // SAFETY: a stream of the engine's device; addresses were set to memory that this holds, in `bind`. The caller keeps this, and
        // the host from that memory, until the device is done.
        unsafe { self.context.enqueue(stream.raw()) }.map_err(|error| BackendError::Execute {
            network: self.network.clone(),
            backend: NAME,
            problem: error.to_string(),
        })
    }

    fn lend_branches(&mut self, streams: &[Arc<Stream>]) -> Result<(), BackendError> {
        if self.branches == 0 {
            return Ok(());
        }
        let lent: Vec<Arc<Stream>> = streams.iter().take(self.branches).cloned().collect();
        let mut raw: Vec<_> = lent.iter().map(|stream| stream.raw()).collect();
        // SAFETY: streams of the engine's device, on which the tenant enqueues nothing else; they are kept. Those before are the
        // driver's until their work is done.
        unsafe { self.context.set_aux_streams(&mut raw) }
            .map_err(|error| of_library(&self.network, &error))?;
        self.lent = lent;
        Ok(())
    }

    /// TensorRT-RTX compiles kernels for new shapes beside their first frames. Releases that do not tell can always.
    fn is_ready_for_capture(&self, stream: &Stream) -> bool {
        // SAFETY: a stream of the engine's device.
        unsafe { self.context.is_stream_capturable(stream.raw()) }.unwrap_or(true)
    }

    /// A graph has no layers to time.
    fn can_be_captured(&self) -> bool {
        self.times.is_none()
    }

    fn layer_times(&mut self, into: &mut Vec<NodeTime>) {
        let Some(times) = &self.times else { return };
        // What it cannot tell is missing from the table of layers, which says how many frames it is of.
        let _ = self.context.report_to_profiler();
        into.append(&mut times.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Keeps layer times until the slot takes them.
struct Times {
    times: Arc<Mutex<Vec<NodeTime>>>,
    operators: Arc<LayerOperators>,
    /// Of the layers that it was told of.
    known: HashMap<String, String>,
}

impl Profiler for Times {
    fn layer_time(&mut self, layer: &str, milliseconds: f32) {
        if !self.known.contains_key(layer) {
            self.known.insert(layer.to_owned(), self.operators.of(layer));
        }
        let operator = self.known.get(layer).cloned().unwrap_or_default();
        let mut times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        times.push(NodeTime {
            name: layer.to_owned(),
            operator,
            took: Nanos((f64::from(milliseconds) * 1e6).round() as i64),
        });
    }
}

/// More or fewer plans than a detector has networks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{plans} plans are given, but the detector has {} networks, in this order: {}", networks.len(), networks.join(", "))]
pub struct WrongPlans {
    /// How many are given.
    pub plans: usize,
    /// The networks, as they are shown.
    pub networks: Vec<String>,
}

/// The same program over plans, one for each of its networks in order.
///
/// # Errors
/// There are more or fewer plans than networks.
pub fn over_plans(program: &Program, plans: &[PathBuf]) -> Result<Program, WrongPlans> {
    if plans.len() != program.engines.len() {
        return Err(WrongPlans {
            plans: plans.len(),
            networks: program.engines.iter().map(ToString::to_string).collect(),
        });
    }
    Ok(Program {
        engines: plans.iter().cloned().map(NetworkSource::File).collect(),
        ..program.clone()
    })
}
