//! A loaded network: what it reads and writes, and the call that executes it.

use std::ffi::{CString, c_char};
use std::sync::{Mutex, PoisonError};

use ort::AsPointer;
use ort::ep::ExecutionProviderDispatch;
use ort::logging::LogLevel;
use ort::session::{NoSelectedOutputs, RunOptions};
use ort::sys;
use ort::value::{Outlet, TensorElementType};

use super::library::Library;
use super::profile::Told;
use super::recording::{Moment, Recording, Trouble, stopped};
use super::{failed, refused};
use crate::backend::gpu::{Port, Ports};
use crate::backend::{BackendError, LateTimes, NetworkSource, NodeSpan};
use crate::engine::network;
use crate::record::Finding;
use crate::tensor::{ElementType, Shape};
use crate::units::Stamp;

/// A dimension as the network states it.
#[derive(Clone, Debug, PartialEq)]
enum Dim {
    Fixed(usize),
    /// Equal wherever the name is equal; empty if it has none.
    Named(String),
}

/// Tensors by position, with their names as the C API takes them.
struct Names {
    /// Point into `_owned`, in the same order.
    pointers: Vec<*const c_char>,
    _owned: Vec<CString>,
}

// SAFETY: the pointers are into strings that the struct owns and nobody changes.
unsafe impl Send for Names {}
// SAFETY: as above.
unsafe impl Sync for Names {}

impl Names {
    fn new<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        let owned: Vec<CString> = names.filter_map(|name| CString::new(name).ok()).collect();
        Names {
            pointers: owned.iter().map(|name| name.as_ptr()).collect(),
            _owned: owned,
        }
    }
}

/// A network in ONNX Runtime. Its slots share it.
pub(super) struct Session {
    backend: &'static str,
    ports: Ports,
    inputs: Vec<Vec<Dim>>,
    outputs: Vec<Vec<Dim>>,
    input_names: Names,
    output_names: Names,
    may_wait: bool,
    /// Where time per node is asked for.
    recording: Option<Recording>,
    /// The threads of a tenant take turns: the crate `ort` documents that `Run` is not safe from several at once.
    session: Mutex<ort::session::Session>,
}

impl Session {
    /// Loads a network with `threads` for one inference, on this provider or else the processor; with `profile`, time is
    /// kept per node.
    pub(super) fn load(
        backend: &'static str,
        library: &Library,
        network: &NetworkSource,
        threads: usize,
        provider: Option<ExecutionProviderDispatch>,
        profile: bool,
    ) -> Result<Self, BackendError> {
        let name = network.to_string();
        network.check().map_err(|error| BackendError::Load {
            network: name.clone(),
            backend,
            problem: error.to_string(),
        })?;
        let recording = profile
            .then(Recording::new)
            .transpose()
            .map_err(|error| BackendError::Load {
                network: name.clone(),
                backend,
                problem: format!(
                    "`profile: true` needs a folder in the temporary folder: {error}; set TMPDIR to one that can be written to"
                ),
            })?;
        let load = |provider, rest| {
            let before = Moment::now();
            let session = load(library, network, threads, provider, rest, recording.as_ref())?;
            if let Some(recording) = &recording {
                recording.began(session.profiling_start_ns()?, before, Moment::now());
            }
            Ok(session)
        };
        let (session, may_wait) = match provider {
            None => (load(None, Rest::OnProcessor), false),
            Some(provider) => {
                match load(Some(provider.clone()), Rest::Refused) {
                    Ok(session) => (Ok(session), waits_by_itself(network)),
                    // Whatever the reason was: if it is another one, it comes again.
                    Err(_) => (load(Some(provider), Rest::OnProcessor), true),
                }
            }
        };
        let session = session.map_err(|error: ort::Error| refused(backend, &name, &error))?;
        let ports = |list: &[Outlet]| -> Result<Vec<(Port, Vec<Dim>)>, BackendError> {
            let port = |outlet| {
                port(outlet).map_err(|problem| BackendError::Load {
                    network: name.clone(),
                    backend,
                    problem,
                })
            };
            list.iter().map(port).collect()
        };
        let (inputs, input_dims): (Vec<Port>, Vec<_>) = ports(session.inputs())?.into_iter().unzip();
        let (outputs, output_dims): (Vec<Port>, Vec<_>) = ports(session.outputs())?.into_iter().unzip();
        Ok(Session {
            backend,
            input_names: Names::new(inputs.iter().map(|port| port.name.as_str())),
            output_names: Names::new(outputs.iter().map(|port| port.name.as_str())),
            ports: Ports {
                network: name,
                inputs,
                outputs,
            },
            inputs: input_dims,
            outputs: output_dims,
            may_wait,
            recording,
            session: Mutex::new(session),
        })
    }

    /// Whether a run on a device may wait for it before it returns, although it is not asked to: for what a node on the
    /// processor reads, or for what an operator has to know on the host.
    pub(super) fn may_wait(&self) -> bool {
        self.may_wait
    }

    pub(super) fn ports(&self) -> &Ports {
        &self.ports
    }

    /// The shape of an output for inputs of these shapes; `None` for each dimension that the network's words leave open.
    pub(super) fn output_dims(&self, output: usize, inputs: &[Shape]) -> Vec<Option<usize>> {
        let known = |dim: &Dim| match dim {
            Dim::Fixed(extent) => Some(*extent),
            Dim::Named(name) => named(name, &self.inputs, inputs),
        };
        self.outputs[output].iter().map(known).collect()
    }

    /// The same without room for doubt: none if a dimension is open.
    pub(super) fn output_shape(&self, output: usize, inputs: &[Shape]) -> Option<Shape> {
        let mut held = [0; crate::tensor::MAX_RANK];
        let dims = &self.outputs[output];
        for (extent, dim) in held.get_mut(..dims.len())?.iter_mut().zip(dims) {
            *extent = match dim {
                Dim::Fixed(extent) => *extent,
                Dim::Named(name) => named(name, &self.inputs, inputs)?,
            };
        }
        Shape::new(&held[..dims.len()])
    }

    /// Executes once. Where an output's pointer is null, the library makes the tensor and leaves it there. Answers the
    /// execution's number in the profile, where there is one.
    ///
    /// # Safety
    /// The pointers are to living tensors whose memory nobody else touches until the library is done with them: on
    /// return, or, where `options` leave the device's work under way, when that is done.
    pub(super) unsafe fn run(
        &self,
        options: &RunOptions<NoSelectedOutputs>,
        inputs: &[*const sys::OrtValue],
        outputs: &mut [*mut sys::OrtValue],
    ) -> Result<Option<usize>, BackendError> {
        let (reads, writes) = (&self.input_names.pointers, &self.output_names.pointers);
        // The library reads as many names as tensors.
        if (inputs.len(), outputs.len()) != (reads.len(), writes.len()) {
            return Err(BackendError::Execute {
                network: self.ports.network.clone(),
                backend: self.backend,
                problem: format!(
                    "it has {} inputs and {} outputs, but got {} and {}",
                    reads.len(),
                    writes.len(),
                    inputs.len(),
                    outputs.len()
                ),
            });
        }
        let session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        let recording = self
            .recording
            .as_ref()
            .map(|recording| (recording, Moment::now()));
        // SAFETY: names (as many as tensors), tensors and options are alive; the session is this thread's while it is locked.
        let status = unsafe {
            (ort::api().Run)(
                session.ptr().cast_mut(),
                options.ptr(),
                reads.as_ptr(),
                inputs.as_ptr(),
                inputs.len(),
                writes.as_ptr(),
                outputs.len(),
                outputs.as_mut_ptr(),
            )
        };
        let number = recording.and_then(|(recording, from)| recording.executed(from));
        // SAFETY: a status that the library just answered, taken once.
        unsafe { ort::Error::result_from_status(status) }
            .map_err(|error| failed(self.backend, &self.ports.network, &error))?;
        Ok(number)
    }

    /// An execution was for this frame; answers whether its time per node will be told.
    pub(super) fn was_for(&self, execution: usize, frame: u64) -> bool {
        let recording = self.recording.as_ref();
        recording.is_some_and(|recording| recording.was_for(execution, frame))
    }

    /// Adds the time per node of frames, which ends the profile, and answers what is in the way of it.
    pub(super) fn late_node_times(&self, into: &mut LateTimes) -> Option<Finding> {
        let network = &self.ports.network;
        match self.told()? {
            Ok(told) => {
                told.add_to(into);
                stopped(network, told)
            }
            Err(trouble) => Some(trouble.finding(network)),
        }
    }

    /// When its nodes executed between two moments; this ends the profile too.
    pub(super) fn node_spans(&self, from: Stamp, to: Stamp) -> Vec<NodeSpan> {
        let told = self.told().and_then(Result::ok);
        told.map_or_else(Vec::new, |told| told.spans(from, to))
    }

    /// What the profile tells; none where none was asked for. The first call ends it.
    fn told(&self) -> Option<Result<&Told, &Trouble>> {
        let recording = self.recording.as_ref()?;
        Some(recording.told(|| {
            let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
            session
                .end_profiling()
                .map_err(|error| error.message().trim().to_owned())
        }))
    }

    /// Removes what a profile that nobody ended has left, where the session is not going to be dropped.
    pub(super) fn abandon(&self) {
        if let Some(recording) = &self.recording {
            recording.abandon();
        }
    }
}

/// What becomes of nodes that a provider lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    /// The processor executes them.
    OnProcessor,
    /// The network is refused.
    Refused,
}

/// Operators whose kernels on a device tell the host something (a condition, a size) and wait until it knows.
const TELL_THE_HOST: [&str; 8] = [
    "Compress",
    "If",
    "Loop",
    "NonMaxSuppression",
    "NonZero",
    "Scan",
    "SequenceAt",
    "Unique",
];

/// Whether a network that is on the device as a whole still waits within a run; what cannot be read may.
fn waits_by_itself(network: &NetworkSource) -> bool {
    let facts = match network {
        NetworkSource::File(path) => network::read(path).ok(),
        NetworkSource::Embedded { bytes, .. } => network::facts(bytes).ok(),
    };
    facts.is_none_or(|facts| {
        TELL_THE_HOST
            .iter()
            .any(|operator| facts.operators.contains_key(*operator))
    })
}

fn load(
    library: &Library,
    network: &NetworkSource,
    threads: usize,
    provider: Option<ExecutionProviderDispatch>,
    rest: Rest,
    recording: Option<&Recording>,
) -> ort::Result<ort::session::Session> {
    let mut builder = ort::session::Session::builder(library.environment())?
        .with_intra_threads(threads)?
        .with_inter_threads(1)?
        .with_log_level(LogLevel::Warning)?;
    if let Some(provider) = provider {
        // Otherwise a provider that fails would leave the network on the processor without a word.
        builder = builder.with_execution_providers([provider.error_on_failure()])?;
    }
    if let Some(recording) = recording {
        builder = builder.with_profiling(recording.prefix())?;
    }
    if rest == Rest::Refused {
        builder = builder.with_config_entry("session.disable_cpu_ep_fallback", "1")?;
    }
    match network {
        NetworkSource::File(path) => builder.commit_from_file(path),
        NetworkSource::Embedded { bytes, .. } => builder.commit_from_memory(bytes),
    }
}

/// The extent of a named dimension in this frame's inputs.
fn named(name: &str, ports: &[Vec<Dim>], inputs: &[Shape]) -> Option<usize> {
    if name.is_empty() {
        return None;
    }
    ports.iter().zip(inputs).find_map(|(dims, shape)| {
        let is_it = |dim: &Dim| matches!(dim, Dim::Named(own) if own == name && !network::is_anonymous(own));
        shape.dims().get(dims.iter().position(is_it)?).copied()
    })
}

fn port(outlet: &Outlet) -> Result<(Port, Vec<Dim>), String> {
    let name = outlet.name().to_owned();
    let ort::value::ValueType::Tensor {
        ty,
        shape,
        dimension_symbols,
    } = outlet.dtype()
    else {
        return Err(format!("`{name}` is not a tensor but {}", outlet.dtype()));
    };
    let element = element(*ty).ok_or_else(|| {
        format!("`{name}` has type {ty}, which jetlag does not support; export the network with another type")
    })?;
    let dims: Vec<Dim> = shape
        .iter()
        .zip(dimension_symbols.iter())
        .map(|(extent, symbol)| match usize::try_from(*extent) {
            Ok(extent) => Dim::Fixed(extent),
            Err(_) => Dim::Named(symbol.clone()),
        })
        .collect();
    if dims.len() > crate::tensor::MAX_RANK {
        return Err(format!(
            "`{name}` has {} dimensions; jetlag supports at most {}",
            dims.len(),
            crate::tensor::MAX_RANK
        ));
    }
    let port = Port {
        name,
        element,
        shape: dims
            .iter()
            .map(|dim| match dim {
                Dim::Fixed(extent) => Some(*extent),
                Dim::Named(_) => None,
            })
            .collect(),
        is_on_host: false,
    };
    Ok((port, dims))
}

/// The types that both know.
const ELEMENTS: [(ElementType, TensorElementType, sys::ONNXTensorElementDataType); 7] = {
    use TensorElementType as Theirs;
    use sys::ONNXTensorElementDataType as Raw;
    [
        (
            ElementType::F32,
            Theirs::Float32,
            Raw::ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT,
        ),
        (
            ElementType::F16,
            Theirs::Float16,
            Raw::ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16,
        ),
        (
            ElementType::I8,
            Theirs::Int8,
            Raw::ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8,
        ),
        (
            ElementType::U8,
            Theirs::Uint8,
            Raw::ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8,
        ),
        (
            ElementType::I32,
            Theirs::Int32,
            Raw::ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32,
        ),
        (
            ElementType::I64,
            Theirs::Int64,
            Raw::ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64,
        ),
        (
            ElementType::Bool,
            Theirs::Bool,
            Raw::ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL,
        ),
    ]
};

fn element(theirs: TensorElementType) -> Option<ElementType> {
    let same = ELEMENTS.iter().find(|(_, listed, _)| *listed == theirs);
    same.map(|(ours, ..)| *ours)
}

pub(super) fn raw_element(ours: ElementType) -> sys::ONNXTensorElementDataType {
    let same = ELEMENTS.iter().find(|(listed, ..)| *listed == ours);
    same.map_or(
        sys::ONNXTensorElementDataType::ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED,
        |(.., raw)| *raw,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_dimension_is_that_of_the_input_which_has_the_name() {
        let ports = [
            vec![Dim::Fixed(1), Dim::Named("voxels".into())],
            vec![Dim::Named(String::new()), Dim::Named("points".into())],
        ];
        let shape = |dims: &[usize]| Shape::new(dims).unwrap();
        let inputs = [shape(&[1, 40]), shape(&[7, 9])];
        assert_eq!(named("voxels", &ports, &inputs), Some(40));
        assert_eq!(named("points", &ports, &inputs), Some(9));
        assert_eq!(named("boxes", &ports, &inputs), None);
        assert_eq!(
            named("", &ports, &inputs),
            None,
            "nameless ones have nothing to do with each other"
        );
    }
}
