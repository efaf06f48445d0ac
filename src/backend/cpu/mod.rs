//! The embedded CPU backend: ONNX networks on the processor, through the pure-Rust runtime rten.
//!
//! Networks execute on the waiting thread and the tenant's own pool of worker threads. On request the network is executed node by node (see [`profile`]).
//!
//! rten's own allocations per inference are part of `compute`; nothing is allocated here beside them but
//! the boxes that carry outputs over.

mod branches;
#[cfg(test)]
mod damage;
mod known;
mod mend;
pub mod profile;
mod sizes;
mod unsupported;

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use rten::{
    DataType, Model, ModelOptions, NodeId, RunError, RunErrorKind, RunOptions, ThreadPool, Value,
    ValueOrView, ValueType, ValueView,
};
use rten_onnx::onnx::{self, ModelProto, ValueInfoProto};
use rten_tensor::prelude::*;

use super::host_slot::{HostSlot, HostWork};
use super::null::host_tensors;
use super::{
    Backend, BackendError, HostStep, NetworkSource, NodeTime, Opened, Program, Step, TensorSpec, fits,
};
use crate::engine::network;
use crate::files;
use crate::free_memory;
use crate::record::Device;
use crate::tensor::{ElementType, HostTensor, Shape, TensorSet};

const NAME: &str = "cpu";
/// Why it is not known what networks take.
const NETWORKS_MEMORY: &str = "the embedded runtime does not tell what weights and activations take; they are in the process's peak, as \
                               are outputs, whose memory comes with each result";

/// Executes ONNX on the processor.
pub struct CpuBackend {
    threads: usize,
    profile: bool,
}

impl CpuBackend {
    /// A backend whose every tenant has a pool of `threads` workers; with `profile`, time is kept per node.
    pub fn new(threads: usize, profile: bool) -> Self {
        CpuBackend {
            threads: threads.max(1),
            profile,
        }
    }
}

/// A loaded network.
struct Engine {
    network: String,
    model: Model,
    /// Whether a branch of it fails.
    has_failing_branch: bool,
    /// In the order of the model's.
    outputs: Vec<Output>,
    nodes: Option<profile::NodeList>,
}

/// What is done for a frame.
enum Work {
    Engine(EngineUse),
    Host(Arc<dyn HostStep>),
}

/// A network with the places of its inputs and outputs in the frame's tensor set. It may be used several times.
struct EngineUse {
    /// Its position among the engines.
    engine: usize,
    inputs: Vec<(NodeId, usize)>,
    outputs: Vec<NodeId>,
    output_places: Vec<usize>,
}

/// What all slots of one tenant share.
struct Shared {
    engines: Vec<Engine>,
    work: Vec<Work>,
    options: RunOptions,
}

struct CpuWork {
    shared: Arc<Shared>,
    node_times: Vec<NodeTime>,
}

/// Loads an ONNX network; what is against it comes back as an error, never as a panic.
#[cfg(test)]
pub(crate) fn load_model(network: &NetworkSource) -> Result<Model, BackendError> {
    load_as(network, true).map(|loaded| loaded.model)
}

/// A network as the runtime has it, with what its file says of its outputs.
struct Loaded {
    model: Model,
    /// Whether a branch of it fails.
    has_failing_branch: bool,
    outputs: Vec<Output>,
}

/// An output as the file states it.
#[derive(Clone)]
struct Output {
    name: String,
    element: Option<ElementType>,
}

/// `is_optimised` says whether the runtime may put nodes together.
fn load_as(network: &NetworkSource, is_optimised: bool) -> Result<Loaded, BackendError> {
    catch_unwind(AssertUnwindSafe(|| load(network, is_optimised)))
        .unwrap_or_else(|_| {
            Err("the runtime panicked while loading it; the file is probably damaged".to_owned())
        })
        .map_err(|problem| BackendError::Load {
            network: network.to_string(),
            backend: NAME,
            problem,
        })
}

/// Refuses a network whose own numbers ask for too much.
fn of_its_constants(network: &NetworkSource) -> Result<(), BackendError> {
    let told = network.check().ok().and_then(|()| read(network));
    match told.as_ref().and_then(sizes::too_large) {
        None => Ok(()),
        Some(problem) => Err(BackendError::Load {
            network: network.to_string(),
            backend: NAME,
            problem,
        }),
    }
}

fn load(network: &NetworkSource, is_optimised: bool) -> Result<Loaded, String> {
    network.check().map_err(|error| error.to_string())?;
    let mut options = ModelOptions::with_all_ops();
    options.prepack_weights(true);
    options.enable_optimization(is_optimised);
    let mut outputs = Vec::new();
    let mut has_failing_branch = false;
    // One that cannot be read is left to the runtime, which says why.
    let mut mended = None;
    if let Some(mut model) = read(network) {
        let mut is_changed = mend::mend(&mut model);
        let aside = branches::set_aside(&mut model);
        if !aside.is_empty() {
            is_changed = true;
            has_failing_branch = true;
            log::warn!(
                "{network}: a frame that takes a branch with one of these fails: {}",
                unsupported::listing(&aside)
            );
        }
        let found = unsupported::unsupported(&model);
        if !found.is_empty() {
            return Err(unsupported::sentence(&found));
        }
        if let Some(problem) = sizes::too_large(&model) {
            return Err(problem);
        }
        let of_graph = model.graph.iter().flat_map(|graph| &graph.output);
        outputs = of_graph.map(stated).collect();
        let weights = weights_beside(&model)?;
        if is_changed && give_weights(network, weights, &mut options)? {
            mended = model.write_buf().ok();
        }
    }
    let loaded = match (mended, network) {
        (Some(mended), _) => options.load(mended),
        (None, NetworkSource::File(path)) => options.load_file(path),
        (None, NetworkSource::Embedded { bytes, .. }) => options.load(bytes.to_vec()),
    };
    loaded
        .map(|model| Loaded {
            model,
            has_failing_branch,
            outputs,
        })
        .map_err(|error| {
            let refused = read(network).map(|mut model| {
                mend::mend(&mut model);
                branches::set_aside(&mut model);
                unsupported::refused(&model)
            });
            match (refused, network) {
                (Some(refused), _) if !refused.is_empty() => unsupported::sentence(&refused),
                (_, NetworkSource::File(path)) if !path.exists() => {
                    format!("{error}; the file does not exist")
                }
                _ if error.to_string().contains("unsupported") => {
                    format!("{error}. {}", unsupported::way_out())
                }
                _ => format!("{error}; check that the ONNX file is complete (jetlag inspect FILE)"),
            }
        })
}

fn stated(output: &ValueInfoProto) -> Output {
    let tensor = output.r#type.as_ref().and_then(|of| of.tensor_type.as_ref());
    Output {
        name: output.name.clone().unwrap_or_default(),
        // The runtime keeps whole numbers and flags in 32 bits, and all fractions.
        element: tensor.and_then(|tensor| match tensor.elem_type? {
            onnx::DataType::FLOAT | onnx::DataType::FLOAT16 | onnx::DataType::DOUBLE => {
                Some(ElementType::F32)
            }
            onnx::DataType::INT32 | onnx::DataType::INT64 | onnx::DataType::BOOL => Some(ElementType::I32),
            onnx::DataType::INT8 => Some(ElementType::I8),
            onnx::DataType::UINT8 => Some(ElementType::U8),
            _ => None,
        }),
    }
}

/// The network as its file has it, without what lies in other files; `None` where it cannot be read.
fn read(network: &NetworkSource) -> Option<ModelProto> {
    match network {
        NetworkSource::File(path) => ModelProto::parse_file(files::open(path).ok()?),
        NetworkSource::Embedded { bytes, .. } => ModelProto::parse_buf(bytes),
    }
    .ok()
}

/// The files that hold weights of a network. The runtime takes them only from beside it and by some names, for what a network
/// names is read and may come out of it.
fn weights_beside(model: &ModelProto) -> Result<BTreeSet<String>, String> {
    let names = model
        .graph
        .as_ref()
        .map(network::external_files)
        .unwrap_or_default();
    let is_taken = |name: &String| {
        let path = Path::new(name);
        let ending = path
            .extension()
            .and_then(|ending| ending.to_str())
            .unwrap_or_default();
        let is_beside = path.file_name() == Some(path.as_os_str());
        is_beside
            && ["data", "onnx_data"]
                .iter()
                .any(|taken| ending.starts_with(taken))
    };
    match names.iter().find(|name| !is_taken(name)) {
        Some(name) => Err(format!(
            "its weights are in {name}; weights are read only from files in the network's folder whose names end in .data or .onnx_data. Export it that way, or as one file"
        )),
        None => Ok(names),
    }
}

/// Reads these files, which the runtime does not find where it is given the network from memory. False where they belong to a
/// network that has no place.
fn give_weights(
    network: &NetworkSource,
    names: BTreeSet<String>,
    options: &mut ModelOptions,
) -> Result<bool, String> {
    let NetworkSource::File(path) = network else {
        return Ok(names.is_empty());
    };
    for name in names {
        let file = path.parent().unwrap_or(Path::new("")).join(&name);
        let weights = files::read(&file, files::NETWORK).map_err(|error| {
            format!(
                "its weights are in {}, which cannot be read: {error}; put that file next to the network",
                file.display()
            )
        })?;
        options.external_data(&name, weights);
    }
    Ok(true)
}

fn element_of(dtype: ValueType) -> Option<ElementType> {
    match dtype {
        ValueType::Tensor(DataType::Float) => Some(ElementType::F32),
        ValueType::Tensor(DataType::Int32) => Some(ElementType::I32),
        ValueType::Tensor(DataType::Int8) => Some(ElementType::I8),
        ValueType::Tensor(DataType::UInt8) => Some(ElementType::U8),
        _ => None,
    }
}

impl CpuBackend {
    fn load_engine(&self, source: &NetworkSource, is_optimised: bool) -> Result<Engine, BackendError> {
        let Loaded {
            model,
            has_failing_branch,
            outputs,
        } = load_as(source, is_optimised)?;
        let nodes = self.profile.then(|| profile::NodeList::of(source)).transpose();
        Ok(Engine {
            model,
            has_failing_branch,
            outputs,
            nodes: nodes.map_err(|error| BackendError::Load {
                network: source.to_string(),
                backend: NAME,
                problem: error.to_string(),
            })?,
            network: source.to_string(),
        })
    }
}

impl EngineUse {
    /// Of the engine at this position, in this step; `names` are the tensors that exist before it and gain its outputs.
    fn of(
        engines: &[Engine],
        engine: usize,
        step: &Step,
        names: &mut Vec<(String, ElementType)>,
    ) -> Result<EngineUse, BackendError> {
        let Engine {
            model,
            network,
            outputs,
            ..
        } = engines.get(engine).ok_or_else(|| BackendError::Load {
            network: format!("engine {engine}"),
            backend: NAME,
            problem: "the detector has no such engine".to_owned(),
        })?;
        let fail = |problem: String| BackendError::Load {
            network: network.clone(),
            backend: NAME,
            problem,
        };
        let name_of = |id: NodeId| {
            model
                .node_info(id)
                .and_then(|n| n.name())
                .unwrap_or_default()
                .to_owned()
        };

        let mut inputs = Vec::new();
        for &id in model.input_ids() {
            let name = name_of(id);
            let own = step.tensor(&name);
            let place = names.iter().position(|(n, _)| *n == *own).ok_or_else(|| {
                let known: Vec<&str> = names.iter().map(|(known, _)| known.as_str()).collect();
                fail(super::unknown_input(&name, &known))
            })?;
            let element = names[place].1;
            if !is_taken(element) {
                return Err(fail(format!(
                    "its input `{name}` has type {}, which the runtime does not take. {}",
                    element.name(),
                    unsupported::way_out()
                )));
            }
            inputs.push((id, place));
        }
        let mut output_places = Vec::new();
        for (place, &id) in model.output_ids().iter().enumerate() {
            // One that the runtime has made a constant has no name and no type there.
            let stated = outputs.get(place);
            let name = stated.map_or_else(|| name_of(id), |stated| stated.name.clone());
            let element = stated.and_then(|stated| stated.element).or_else(|| {
                model
                    .node_info(id)
                    .and_then(|n| n.dtype())
                    .map_or(Some(ElementType::F32), element_of)
            });
            let element =
                element.ok_or_else(|| fail(format!("its output `{name}` is not a tensor of numbers")))?;
            let own = step.tensor(&name);
            let place = names.iter().position(|(n, _)| *n == *own).unwrap_or_else(|| {
                names.push((own.into_owned(), element));
                names.len() - 1
            });
            output_places.push(place);
        }
        Ok(EngineUse {
            engine,
            inputs,
            outputs: model.output_ids().to_vec(),
            output_places,
        })
    }
}

impl Backend for CpuBackend {
    fn name(&self) -> &'static str {
        NAME
    }

    fn device(&self) -> Device {
        Device::Host
    }

    fn open(&self, program: &Program, slots: usize) -> Result<Opened, BackendError> {
        if let Err(error) = fits::check(NAME, program, free_memory::available()) {
            // A size that stands in the file is no matter of memory, and is told as such.
            program.engines.iter().try_for_each(of_its_constants)?;
            return Err(error);
        }
        let (opened, problem) = self.opened(program, slots, true)?;
        let Some(problem) = problem else {
            return Ok(opened);
        };
        // Nodes that the runtime put together wrongly, such as a normalisation written out, it executes one by one.
        if let Ok((plain, None)) = self.opened(program, slots, false) {
            log::warn!(
                "{problem}; so its nodes are executed as they are, without what the runtime makes of several together, which \
                 takes longer"
            );
            return Ok(plain);
        }
        // A shape, an axis or a number of things is not made up: real ones may well do.
        let is_whole = |tensor: &TensorSpec| as_taken(tensor).element == ElementType::I32;
        if program.host_tensors.iter().any(is_whole) {
            log::warn!("{problem}; with the whole numbers of real frames it may not");
            return Ok(opened);
        }
        Err(problem)
    }
}

impl CpuBackend {
    /// With the error of a first frame on made inputs: what loads and fails in each frame is to be told before the run.
    fn opened(
        &self,
        program: &Program,
        slots: usize,
        is_optimised: bool,
    ) -> Result<(Opened, Option<BackendError>), BackendError> {
        let host: Vec<TensorSpec> = program.host_tensors.iter().map(as_taken).collect();
        let mut names: Vec<(String, ElementType)> =
            host.iter().map(|t| (t.name.clone(), t.element)).collect();
        let engines = program
            .engines
            .iter()
            .map(|source| self.load_engine(source, is_optimised))
            .collect::<Result<Vec<_>, _>>()?;
        let work = |step: &Step| match step {
            Step::Engine(engine) | Step::OfCamera { engine, .. } => {
                EngineUse::of(&engines, *engine, step, &mut names).map(Work::Engine)
            }
            Step::Host(step) => Ok(Work::Host(Arc::clone(step))),
        };
        let work = program.steps.iter().map(work).collect::<Result<Vec<_>, _>>()?;
        let pool = Arc::new(ThreadPool::with_num_threads(self.threads));
        let options = RunOptions::default().with_thread_pool(Some(pool));
        let shared = Arc::new(Shared {
            engines,
            work,
            options,
        });
        let empty = Shape::new(&[0]).expect("one dimension is within the limit");
        let place = || {
            let mut tensors = host_tensors(&host)?;
            // The runtime hands its outputs over, so their memory comes with the first result.
            for (name, element) in &names[host.len()..] {
                tensors.push(HostTensor::zeroed(name.clone(), *element, empty));
            }
            let work = CpuWork {
                shared: shared.clone(),
                node_times: Vec::new(),
            };
            Ok((work, tensors))
        };
        // In a place of its own: what a host step finds in a slot must be its own frames'.
        let (work, tensors) = place()?;
        let mut problem = first_frame(work, tensors).err();
        if shared.engines.iter().any(|engine| engine.has_failing_branch)
            && let Some(problem) = problem.take()
        {
            log::warn!("{problem}; frames that take another branch may do");
        }
        let slots = (0..slots)
            .map(|_| place().map(|(work, tensors)| HostSlot::boxed(work, tensors)))
            .collect::<Result<_, BackendError>>()?;
        Ok((Opened::on_host(slots, Some(NETWORKS_MEMORY)), problem))
    }
}

/// Executes everything once, on inputs of zeros, and where that fails of ones: a number of things, or a place among them, may well
/// not be 0.
fn first_frame(mut work: CpuWork, mut tensors: TensorSet) -> Result<(), BackendError> {
    let Err(problem) = work.run(&mut tensors) else {
        return Ok(());
    };
    for tensor in tensors.as_mut_slice() {
        ones(tensor);
    }
    work.run(&mut tensors).map_err(|_| match problem {
        BackendError::Execute {
            network,
            backend,
            problem,
        } => BackendError::Load {
            network,
            backend,
            problem: format!("its first frame, on made inputs, fails: {problem}"),
        },
        other => other,
    })
}

fn ones(tensor: &mut HostTensor) {
    let element = tensor.element();
    let Ok(bytes) = tensor.host_bytes_mut() else {
        return;
    };
    match element {
        ElementType::F32 => fill_with(bytes, &1.0_f32.to_ne_bytes()),
        ElementType::I32 => fill_with(bytes, &1_i32.to_ne_bytes()),
        _ => bytes.fill(1),
    }
}

fn fill_with(bytes: &mut [u8], one: &[u8]) {
    for place in bytes.chunks_exact_mut(one.len()) {
        place.copy_from_slice(one);
    }
}

/// Whether `view` shows the runtime tensors of this type.
fn is_taken(element: ElementType) -> bool {
    matches!(
        element,
        ElementType::F32 | ElementType::I32 | ElementType::I8 | ElementType::U8
    )
}

/// A tensor of the host with the type that the runtime takes: it keeps all integers and flags in 32 bits.
fn as_taken(tensor: &TensorSpec) -> TensorSpec {
    TensorSpec {
        element: match tensor.element {
            ElementType::I64 | ElementType::Bool => ElementType::I32,
            other => other,
        },
        ..tensor.clone()
    }
}

/// A tensor as the runtime sees it, without a copy.
fn view(tensor: &HostTensor) -> Result<ValueView<'_>, String> {
    let dims = tensor.shape().dims();
    let bytes = tensor.bytes();
    let value = match tensor.element() {
        ElementType::F32 => {
            ValueView::from_shape(dims, bytemuck::cast_slice::<u8, f32>(bytes)).map_err(|e| e.to_string())
        }
        ElementType::I32 => {
            ValueView::from_shape(dims, bytemuck::cast_slice::<u8, i32>(bytes)).map_err(|e| e.to_string())
        }
        ElementType::I8 => {
            ValueView::from_shape(dims, bytemuck::cast_slice::<u8, i8>(bytes)).map_err(|e| e.to_string())
        }
        ElementType::U8 => ValueView::from_shape(dims, bytes).map_err(|e| e.to_string()),
        other => Err(format!(
            "the cpu backend does not support {} tensors",
            other.name()
        )),
    };
    value.map_err(|e| format!("input `{}` {}: {e}", tensor.name(), tensor.shape()))
}

/// Puts a result into its place in the tensor set, taking its memory over.
fn store(value: Value, tensor: &mut HostTensor) -> Result<(), String> {
    let dims = value.shape().to_vec();
    let shape = Shape::new(&dims)
        .ok_or_else(|| format!("output `{}` has {} dimensions", tensor.name(), dims.len()))?;
    let found = value.dtype();
    let stored = match (value, tensor.element()) {
        (Value::FloatTensor(t), ElementType::F32) => tensor.replace(shape, Box::new(t.into_data())),
        (Value::Int32Tensor(t), ElementType::I32) => tensor.replace(shape, Box::new(t.into_data())),
        (Value::Int8Tensor(t), ElementType::I8) => tensor.replace(shape, Box::new(t.into_data())),
        (Value::UInt8Tensor(t), ElementType::U8) => tensor.replace(shape, Box::new(t.into_data())),
        (_, wanted) => {
            return Err(format!(
                "output `{}` has type {found} instead of {}",
                tensor.name(),
                wanted.name()
            ));
        }
    };
    stored.map_err(|e| e.to_string())
}

/// What went wrong in the middle of a network. What a node is asked for may be more than the runtime has of its operator.
fn executing(error: &RunError) -> String {
    match error.kind() {
        RunErrorKind::OperatorError => format!("{error}. {}", unsupported::way_out()),
        _ => error.to_string(),
    }
}

impl EngineUse {
    fn run(
        &self,
        engine: &Engine,
        tensors: &mut TensorSet,
        options: &RunOptions,
        node_times: &mut Vec<NodeTime>,
    ) -> Result<(), BackendError> {
        let fail = |problem: String| BackendError::Execute {
            network: engine.network.clone(),
            backend: NAME,
            problem,
        };
        let values = {
            let inputs = self
                .inputs
                .iter()
                .map(|&(id, place)| Ok((id, ValueOrView::from(view(&tensors.as_slice()[place])?))))
                .collect::<Result<Vec<_>, String>>()
                .map_err(fail)?;
            catch_unwind(AssertUnwindSafe(|| match &engine.nodes {
                Some(nodes) => nodes.run(&engine.model, inputs, &self.outputs, options, node_times),
                None => engine
                    .model
                    .run(inputs, &self.outputs, Some(options.clone()))
                    .map_err(|error| executing(&error)),
            }))
            .map_err(|_| fail("the runtime panicked; please report it with the network".to_owned()))?
            .map_err(fail)?
        };
        for (value, &place) in values.into_iter().zip(&self.output_places) {
            store(value, &mut tensors.as_mut_slice()[place]).map_err(fail)?;
        }
        Ok(())
    }
}

impl HostWork for CpuWork {
    fn run(&mut self, tensors: &mut TensorSet) -> Result<(), BackendError> {
        self.node_times.clear();
        let Shared {
            engines,
            work,
            options,
        } = &*self.shared;
        for work in work {
            match work {
                Work::Engine(used) => {
                    used.run(&engines[used.engine], tensors, options, &mut self.node_times)?;
                }
                Work::Host(step) => step.run(tensors)?,
            }
        }
        Ok(())
    }
    fn node_times(&self) -> &[NodeTime] {
        &self.node_times
    }
}
