//! What executes engines: the traits that every backend fits, and the program that it is given.
//!
//! A detector is a [`Program`]: engines, and host steps between them, over tensors that are connected by
//! name. A backend opens it into a ring of [`Slot`]s. A slot owns the host memory of one frame in flight
//! (heap here, pinned on a GPU), is filled by the tenant, submitted without waiting, and waited for later,
//! perhaps on another thread. Stage times come from the backend, because only it can see them.
//!
//! Nothing here knows of sources, arrivals or records.

#[cfg_attr(not(feature = "cpu"), path = "without_cpu.rs")]
pub mod cpu;
#[cfg_attr(not(feature = "models"), path = "without_models.rs")]
mod fits;
#[cfg(feature = "gpu")]
pub mod gpu;
mod host_slot;
pub mod null;
#[cfg(feature = "onnxruntime")]
pub mod onnxruntime;
mod opened;
pub mod sim;
pub mod stress;
#[cfg(feature = "gpu")]
pub mod tensorrt;

pub use opened::Opened;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use crate::device_step::{CanvasShape, InputShape, PillarRules, PillarTensor};
use crate::engine::network::{self, NetworkError};
use crate::engine::plan;
use crate::record::{Device, Finding, Phase, Submission};
use crate::scenario::Sharing;
use crate::tensor::{ElementType, Shape, TensorError, TensorSet};
use crate::units::{Nanos, Stamp};

/// Where a network comes from.
#[derive(Clone, Debug)]
pub enum NetworkSource {
    /// An ONNX file (or, for backends that take them, a plan).
    File(PathBuf),
    /// A network within the binary, with the name it is shown by.
    Embedded {
        /// Shown in messages and in the manifest.
        name: &'static str,
        /// Content of the ONNX file.
        bytes: Arc<[u8]>,
    },
}

impl NetworkSource {
    /// Whether it is a plan, by the name of its file, which no library but TensorRT executes.
    pub fn is_plan(&self) -> bool {
        matches!(self, NetworkSource::File(path) if plan::is_plan(path))
    }

    /// Checks an ONNX network before a parser, ours or a library's, has it: lengths, depth, sizes. What cannot be opened is
    /// left to the parser, which says why.
    ///
    /// # Errors
    /// What is wrong with it, as the end of a sentence.
    pub fn check(&self) -> Result<(), Unusable> {
        match self {
            NetworkSource::File(path) => match network::check(path) {
                Ok(()) | Err(NetworkError::Io { .. }) => Ok(()),
                Err(NetworkError::NotOnnx { problem, .. }) => Err(Unusable::NotWhole { problem }),
                Err(other) => Err(Unusable::Refused(other)),
            },
            NetworkSource::Embedded { bytes, .. } => {
                network::check_bytes(bytes).map_err(|fault| Unusable::NotWhole {
                    problem: fault.to_string(),
                })
            }
        }
    }
}

/// Why no parser is given a network; each is the end of a sentence.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    /// It claims what it does not hold.
    #[error("the ONNX file is incomplete or damaged: {problem}; export or download it again")]
    NotWhole {
        /// What is wrong, as a phrase.
        problem: String,
    },
    /// What it needs beside it is not there, or is elsewhere than beside it.
    #[error("{}", phrase(.0))]
    Refused(NetworkError),
}

/// Without the file's name where the sentence has it already.
fn phrase(error: &NetworkError) -> String {
    match error {
        NetworkError::WeightsOutside { problem, .. } => problem.clone(),
        other => other.to_string(),
    }
}

impl std::fmt::Display for NetworkSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            NetworkSource::File(path) => write!(f, "{}", path.display()),
            NetworkSource::Embedded { name, .. } => write!(f, "{name} (in the binary)"),
        }
    }
}

/// A tensor that the host fills or reads, with the largest shape that it will have.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorSpec {
    /// Name, as the network has it.
    pub name: String,
    /// Type of its elements.
    pub element: ElementType,
    /// Largest shape; memory is set aside for it.
    pub max_shape: Shape,
}

/// Work on the host between two engines: reads and writes the frame's tensors.
pub trait HostStep: Send + Sync {
    /// Shown in inspect and in traces: `scatter`.
    fn name(&self) -> &str;
    /// How a device can do the same instead; none where it cannot.
    fn on_device(&self) -> Option<DeviceStep> {
        None
    }
    /// Does the work for one frame.
    fn run(&self, tensors: &mut TensorSet) -> Result<(), TensorError>;
}

/// Work of a host step as a device does it.
#[derive(Clone, Debug, PartialEq)]
pub enum DeviceStep {
    /// Pillar features onto a canvas.
    Scatter(DeviceScatter),
}

/// What comes before the first engine as a device does it.
#[derive(Clone, Debug, PartialEq)]
pub enum DeviceInput {
    /// An image fitted into a network's input.
    Fit(DeviceFit),
    /// Points to pillars and to an encoder's inputs.
    Pillars(DevicePillars),
}

/// A fit by the names of its tensors.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceFit {
    /// What the host fills in place of the input: a block of `u8` as `gpu/kernels/fit.cu` reads it, in its largest size.
    pub block: TensorSpec,
    /// The input, `f32`: one of the program's host tensors.
    pub input: String,
    /// Sizes of the block and of the input.
    pub shape: InputShape,
}

/// A voxelisation by the names of its tensors.
#[derive(Clone, Debug, PartialEq)]
pub struct DevicePillars {
    /// What the host fills in place of them: a block of words as `gpu/kernels/pillars.cu` reads it, in its largest size.
    pub block: TensorSpec,
    /// Cells of the pillars, x before y: `i32 [1, max_pillars, 2]`. One of the program's host tensors, as all of these are.
    pub cells: String,
    /// An encoder's inputs, `f32`.
    pub tensors: Vec<(String, PillarTensor)>,
    /// Size of a pillar, range and limits.
    pub rules: PillarRules,
}

/// A scatter by the names of its tensors.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceScatter {
    /// Features: `f32`, an engine's output.
    pub features: String,
    /// Cells of the pillars, x before y: `i32 [1, pillars, 2]`.
    pub cells: String,
    /// The canvas: `f32 [1, channels, y, x]`.
    pub canvas: String,
    /// What the step on the host keeps for itself, of which the device has no need.
    pub written: String,
    /// Sizes of all three.
    pub shape: CanvasShape,
}

/// One step of a program.
#[derive(Clone)]
pub enum Step {
    /// Execute the engine at this position of [`Program::engines`].
    Engine(usize),
    /// Execute it on one camera's tensors, which are named after the network's as [`of_camera`] says: for the images of a set, one
    /// after the other.
    OfCamera {
        /// Its position.
        engine: usize,
        /// The camera's number.
        camera: usize,
    },
    /// Run this on the host.
    Host(Arc<dyn HostStep>),
}

impl Step {
    /// The engine that it executes.
    pub fn engine(&self) -> Option<usize> {
        match self {
            Step::Engine(engine) | Step::OfCamera { engine, .. } => Some(*engine),
            Step::Host(_) => None,
        }
    }

    /// What a frame calls the tensor that the engine's network calls `name`.
    pub fn tensor<'n>(&self, name: &'n str) -> Cow<'n, str> {
        match self {
            Step::OfCamera { camera, .. } => of_camera(name, *camera).into(),
            Step::Engine(_) | Step::Host(_) => name.into(),
        }
    }

    /// The same with the engine `by` further back, in a program that has others before.
    #[must_use]
    pub fn moved(self, by: usize) -> Step {
        match self {
            Step::Engine(engine) => Step::Engine(engine + by),
            Step::OfCamera { engine, camera } => Step::OfCamera {
                engine: engine + by,
                camera,
            },
            host @ Step::Host(_) => host,
        }
    }
}

/// The name of a camera's own tensor, where a network executes once for each of several.
pub fn of_camera(name: &str, camera: usize) -> String {
    format!("{name} (camera {camera})")
}

/// The network's name of a tensor that may be a camera's own.
pub fn without_camera(name: &str) -> &str {
    let number = |rest: &str| {
        let digits = rest.strip_suffix(')')?;
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then_some(())
    };
    match name.rsplit_once(" (camera ") {
        Some((plain, rest)) if number(rest).is_some() => plain,
        _ => name,
    }
}

/// What a backend executes for each frame. Tensors connect by name: an engine reads its inputs from, and
/// leaves its outputs in, the frame's tensor set, so an input that an earlier engine produced and no host
/// step touches may stay on the device.
#[derive(Clone, Default)]
pub struct Program {
    /// The networks, which `steps` refers to by index.
    pub engines: Vec<NetworkSource>,
    /// What happens, in order.
    pub steps: Vec<Step>,
    /// Tensors that the host fills or that host steps make; the backend sets their memory aside. They
    /// begin with their largest shape (a host step may tell from it that a slot is new), and their memory is
    /// touched by nobody but the host.
    /// Outputs of engines need not be listed: the backend adds them.
    pub host_tensors: Vec<TensorSpec>,
    /// What a device can do before all of that, in place of the host: from less prepared tensors, which the backend then
    /// sets aside instead of those that the step makes. Whether it does shows in the slot's tensors. One for each sensor at most.
    pub first: Vec<DeviceInput>,
    /// Tensors that the host reads at the end, whatever engines make of them.
    pub read_back: Vec<String>,
}

impl Program {
    /// The same for batches of `size` frames: each host tensor has that many along its first dimension.
    ///
    /// # Errors
    /// It is not one network alone, or a tensor's first dimension is not that of the batch.
    pub fn batched(&self, size: usize) -> Result<Program, NotBatched> {
        if !matches!(self.steps[..], [Step::Engine(0)]) || self.engines.len() != 1 {
            return Err(NotBatched::Steps {
                networks: self.engines.len(),
            });
        }
        let mut program = Program {
            // A device makes the inputs of one frame; those of a batch are made by the host.
            first: Vec::new(),
            ..self.clone()
        };
        for tensor in &mut program.host_tensors {
            let [1, rest @ ..] = tensor.max_shape.dims() else {
                return Err(NotBatched::Tensor {
                    name: tensor.name.clone(),
                    shape: tensor.max_shape,
                });
            };
            let dims: Vec<usize> = std::iter::once(size).chain(rest.iter().copied()).collect();
            tensor.max_shape = Shape::new(&dims).unwrap_or(tensor.max_shape);
        }
        if let Some(network) = program.engines.first() {
            network.takes_batches(&program.host_tensors, size)?;
        }
        Ok(program)
    }
}

/// Why several frames cannot have one inference.
#[derive(Debug, thiserror::Error)]
pub enum NotBatched {
    /// Work on the host lies between networks, or there are several.
    #[error(
        "`batch` needs a detector of one network with nothing on the host in its middle, and this one has {networks} networks or steps between them; leave `batch` out"
    )]
    Steps {
        /// How many networks it has.
        networks: usize,
    },
    /// The inputs have no dimension of a batch.
    #[error(
        "`batch` needs inputs whose first dimension is the batch's, and `{name}` is {shape}; leave `batch` out"
    )]
    Tensor {
        /// The tensor.
        name: String,
        /// Its shape for one frame.
        shape: Shape,
    },
    /// It was exported for another number of frames.
    #[error(
        "{network} was exported for a fixed batch of {fixed} (its input `{input}`), and the tenant has batch: {size}; export it with a dynamic first dimension or with {size}, or set batch: {fixed}"
    )]
    Fixed {
        /// Its name.
        network: String,
        /// The input that says so.
        input: String,
        /// The number of frames in the file.
        fixed: usize,
        /// The number that was asked for.
        size: usize,
    },
}

impl NetworkSource {
    /// Whether the inputs of these names take so many frames, as far as the network's file tells. A file that cannot be read is left
    /// to the backend, which says why; a plan is left to its library.
    fn takes_batches(&self, tensors: &[TensorSpec], size: usize) -> Result<(), NotBatched> {
        let facts = match self {
            NetworkSource::File(path) => network::read(path).ok(),
            NetworkSource::Embedded { bytes, .. } => network::facts(bytes).ok(),
        };
        let inputs = facts.map(|facts| facts.inputs).unwrap_or_default();
        for input in inputs
            .iter()
            .filter(|input| tensors.iter().any(|tensor| tensor.name == input.name))
        {
            let fixed = input.shape.first().and_then(|first| first.parse::<usize>().ok());
            if let Some(fixed) = fixed.filter(|fixed| *fixed != size) {
                return Err(NotBatched::Fixed {
                    network: self.to_string(),
                    input: input.name.clone(),
                    fixed,
                    size,
                });
            }
        }
        Ok(())
    }
}

/// What the backend measured of one frame; `None` where a backend has no such stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StageTimes {
    /// Copy to the device.
    pub h2d: Option<Nanos>,
    /// Between submission and start of execution.
    pub queue: Option<Nanos>,
    /// Execution of all engines and host steps.
    pub compute: Option<Nanos>,
    /// Copy from the device.
    pub d2h: Option<Nanos>,
    /// How the host put the work on a device; beside the stages, and within some of them.
    pub submission: Option<Submission>,
}

/// A phase that begins, as slots are told of it.
#[derive(Clone, Copy, Debug)]
pub struct Beginning {
    /// The way of sharing that holds in it.
    pub sharing: Sharing,
    /// The phase whose random numbers are drawn.
    pub drawn_as: Phase,
    /// Whether the GPU is traced meanwhile: graphs are then captured anew, so that the tracer sees them made.
    pub traced: bool,
}

/// One frame in flight: its memory and its execution.
pub trait Slot: Send {
    /// The frame's tensors. From `submit` to the end of `wait` they may be a device's, and then have no bytes here.
    fn tensors(&self) -> &TensorSet;
    /// The frame's tensors, to be filled in place; as [`Slot::tensors`].
    fn tensors_mut(&mut self) -> &mut TensorSet;
    /// Starts execution and returns without waiting for it.
    fn submit(&mut self) -> Result<(), BackendError>;
    /// Waits until the outputs can be read. A backend without a device of its own executes here, on the
    /// waiting thread.
    fn wait(&mut self) -> Result<StageTimes, BackendError>;
    /// A phase begins: whatever is drawn or counted for its frames begins anew.
    fn restart(&mut self, _beginning: Beginning) {}
    /// What the slot noticed that limits what its times mean; each is told once.
    fn take_findings(&mut self) -> Vec<Finding> {
        Vec::new()
    }
    /// Whether submitting may wait for the device; `None` where there is no device to submit to.
    fn submission_may_wait(&self) -> Option<bool> {
        None
    }
    /// Time per node of the last frame, in execution order, where it was asked for.
    fn node_times(&self) -> &[NodeTime] {
        &[]
    }
    /// Gives the last frame a number, by which a backend that learns time per node only when the run is over tells it
    /// then. Answers whether it will.
    fn number_frame(&mut self, _number: u64) -> bool {
        false
    }
    /// The run is over: each numbered frame's time per node, in execution order, whichever slot the frame was in. Asked of
    /// one of a tenant's slots.
    fn late_node_times(&mut self) -> LateTimes {
        LateTimes::new()
    }
    /// The same time on the host's line, node by node, as far as it lies between two moments: to find the node that
    /// launched a kernel.
    fn node_spans(&mut self, _from: Stamp, _to: Stamp) -> Vec<NodeSpan> {
        Vec::new()
    }
}

/// Time that one node of a network took.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeTime {
    /// The node's name in the network.
    pub name: String,
    /// Its operator: `Conv`, or `Conv+Relu` where the runtime fused the two.
    pub operator: String,
    /// How long it took.
    pub took: Nanos,
}

/// Time per node by the numbers that frames were given.
pub type LateTimes = BTreeMap<u64, Vec<NodeTime>>;

/// When the host executed a node of a network, or launched it on a device. Spans of one thread nest where a node executes
/// others (a `Loop`): what happened within is the innermost node's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeSpan {
    /// The kernel's number of the thread (`gettid`), as traces of CUPTI have it; 0 where it is not known.
    pub thread: u32,
    /// Begin, rounded down as the backend does.
    pub from: Stamp,
    /// End, likewise.
    pub to: Stamp,
    /// The node's name in the network that the backend executes.
    pub name: String,
}

/// A way to execute programs.
pub trait Backend: Send + Sync {
    /// The word used in scenarios and results: `cpu`, `sim`, `null`.
    fn name(&self) -> &'static str;
    /// What executes a frame's networks, or takes a stressor's load.
    fn device(&self) -> Device;
    /// Loads the engines once and makes `slots` slots over them.
    fn open(&self, program: &Program, slots: usize) -> Result<Opened, BackendError>;
}

/// A network's input for which the detector has no tensor: what was found, and what to set in the spec.
#[cfg(any(feature = "cpu", feature = "gpu"))]
fn unknown_input(input: &str, tensors: &[&str]) -> String {
    match tensors {
        [] => format!("the network's input is `{input}`, and the detector has no tensors"),
        [only] => {
            format!(
                "the network's input is `{input}`, the spec says `{only}`; set `tensor: \"{input}\"`, or, where it takes that beside the image, give it values in `also`"
            )
        }
        all => format!(
            "the network's input is `{input}`, the detector's tensors are {}; name one of them `{input}` in the spec",
            all.join(", ")
        ),
    }
}

/// Why a backend could not load or execute.
#[derive(Debug, thiserror::Error)]
pub enum BackendError {
    /// The network could not be read or is not supported.
    #[error("cannot load {network} on the {backend} backend: {problem}")]
    Load {
        /// Name of the network.
        network: String,
        /// Name of the backend.
        backend: &'static str,
        /// The library's own words, and what to do.
        problem: String,
    },
    /// The network was loaded, but executing it failed.
    #[error("{backend} failed to execute {network}: {problem}")]
    Execute {
        /// Name of the network.
        network: String,
        /// Name of the backend.
        backend: &'static str,
        /// The library's own words.
        problem: String,
    },
    /// The device's memory is full.
    #[error("{backend}: {problem}")]
    OutOfMemory {
        /// Name of the backend.
        backend: &'static str,
        /// What was wanted, what there is, and what to do.
        problem: String,
    },
    /// The device does not come to an end.
    #[error("{backend}: {problem}")]
    Hangs {
        /// Name of the backend.
        backend: &'static str,
        /// How long it was waited for, and what to do.
        problem: String,
    },
    /// A tensor is missing, too small or of another type.
    #[error(transparent)]
    Tensor(#[from] TensorError),
}
