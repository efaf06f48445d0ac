//! Facts of an ONNX file: inputs, outputs, operators, parameters. Reads the file and executes nothing.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use rten_onnx::onnx::{ModelProto, ValueInfoProto};

/// What a network file says of itself.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct NetworkFacts {
    /// Length of the file.
    pub file_bytes: u64,
    /// BLAKE3 of the file, hexadecimal.
    pub blake3: String,
    /// The tool that wrote it, if it says.
    pub producer: Option<String>,
    /// Operator set versions by domain; the standard one is `ai.onnx`.
    pub opset: BTreeMap<String, i64>,
    /// Inputs that must be fed; initializers listed as inputs (IR 3) do not count.
    pub inputs: Vec<Port>,
    /// Outputs.
    pub outputs: Vec<Port>,
    /// How many nodes of each operator.
    pub operators: BTreeMap<String, usize>,
    /// Elements in all initializers.
    pub parameters: u64,
    /// Files beside the network that hold weights.
    pub external_data: Vec<String>,
}

/// An input or output.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Port {
    /// Name.
    pub name: String,
    /// Element type, in ONNX's words: `float`, `int64`.
    pub element: String,
    /// Dimensions; a number, a symbol, or `?`.
    pub shape: Vec<String>,
}

/// Why a network could not be read.
#[derive(Debug, thiserror::Error)]
pub enum NetworkError {
    /// No such file, or not readable.
    #[error("cannot read the network {path}: {error}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// The network is there and the file with its weights is not.
    #[error("{path} keeps weights in {file}, which cannot be read: {error}; put it beside the network")]
    ExternalData {
        /// The network.
        path: PathBuf,
        /// The file with weights.
        file: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// Not ONNX, or cut off.
    #[error("{path} is not a whole ONNX file: {problem}; export or download it again")]
    NotOnnx {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
}

/// Reads the facts of a network file.
pub fn read(path: &Path) -> Result<NetworkFacts, NetworkError> {
    let bytes = std::fs::read(path).map_err(|error| NetworkError::Io {
        path: path.to_owned(),
        error,
    })?;
    facts(&bytes).map_err(|problem| NetworkError::NotOnnx {
        path: path.to_owned(),
        problem,
    })
}

/// A network's content with the files that hold its weights: BLAKE3 and length of all of it.
///
/// # Errors
/// The network or a file with weights cannot be read, or it is no ONNX.
pub fn identity(path: &Path) -> Result<(String, u64), NetworkError> {
    let facts = read(path)?;
    let mut hasher = blake3::Hasher::new();
    hasher.update(facts.blake3.as_bytes());
    let mut bytes = facts.file_bytes;
    for name in &facts.external_data {
        let file = path.parent().unwrap_or(Path::new("")).join(name);
        let weights = std::fs::read(&file).map_err(|error| NetworkError::ExternalData {
            path: path.to_owned(),
            file,
            error,
        })?;
        hasher.update(name.as_bytes());
        hasher.update(&weights);
        bytes += weights.len() as u64;
    }
    let hash = if facts.external_data.is_empty() {
        facts.blake3
    } else {
        hasher.finalize().to_hex().to_string()
    };
    Ok((hash, bytes))
}

/// The facts of a network in memory; the error is a phrase.
pub fn facts(bytes: &[u8]) -> Result<NetworkFacts, String> {
    let model = ModelProto::parse_buf(bytes).map_err(|e| e.to_string())?;
    let graph = model.graph.ok_or("it holds no graph")?;
    let initializers: HashSet<&str> = graph
        .initializer
        .iter()
        .filter_map(|t| t.name.as_deref())
        .collect();
    let mut operators = BTreeMap::new();
    for node in &graph.node {
        *operators
            .entry(node.op_type.clone().unwrap_or_default())
            .or_insert(0) += 1;
    }
    let parameters = graph
        .initializer
        .iter()
        .map(|t| {
            t.dims
                .iter()
                .map(|d| u64::try_from(*d).unwrap_or(0))
                .product::<u64>()
        })
        .sum();
    let external_data: HashSet<String> = graph
        .initializer
        .iter()
        .flat_map(|t| &t.external_data)
        .filter(|entry| entry.key.as_deref() == Some("location"))
        .filter_map(|entry| entry.value.clone())
        .collect();
    let opset = model
        .opset_import
        .iter()
        .map(|set| {
            let domain = set
                .domain
                .clone()
                .filter(|d| !d.is_empty())
                .unwrap_or_else(|| "ai.onnx".to_owned());
            (domain, set.version.unwrap_or(0))
        })
        .collect();
    let mut external_data: Vec<String> = external_data.into_iter().collect();
    external_data.sort();
    Ok(NetworkFacts {
        file_bytes: bytes.len() as u64,
        blake3: blake3::hash(bytes).to_hex().to_string(),
        producer: model.producer_name.map(|name| {
            format!("{name} {}", model.producer_version.unwrap_or_default())
                .trim()
                .to_owned()
        }),
        opset,
        inputs: graph
            .input
            .iter()
            .filter(|v| v.name.as_deref().is_some_and(|name| !initializers.contains(name)))
            .map(port)
            .collect(),
        outputs: graph.output.iter().map(port).collect(),
        operators,
        parameters,
        external_data,
    })
}

fn port(value: &ValueInfoProto) -> Port {
    let tensor = value.r#type.as_ref().and_then(|t| t.tensor_type.as_ref());
    let shape = tensor
        .and_then(|t| t.shape.as_ref())
        .map(|shape| {
            shape
                .dim
                .iter()
                .map(|d| match (d.dim_value, d.dim_param.as_deref()) {
                    (Some(n), _) => n.to_string(),
                    (None, Some(name)) if !name.is_empty() => name.to_owned(),
                    _ => "?".to_owned(),
                })
                .collect()
        })
        .unwrap_or_default();
    let element = tensor
        .and_then(|t| t.elem_type)
        .map_or("?", |t| element_name(t.0));
    Port {
        name: value.name.clone().unwrap_or_default(),
        element: element.to_owned(),
        shape,
    }
}

/// TensorProto.DataType of onnx.proto.
fn element_name(number: i32) -> &'static str {
    match number {
        1 => "float",
        2 => "uint8",
        3 => "int8",
        4 => "uint16",
        5 => "int16",
        6 => "int32",
        7 => "int64",
        8 => "string",
        9 => "bool",
        10 => "float16",
        11 => "double",
        12 => "uint32",
        13 => "uint64",
        16 => "bfloat16",
        17 => "float8e4m3fn",
        22 => "int4",
        _ => "other",
    }
}
