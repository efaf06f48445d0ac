//! Facts of an ONNX file: inputs, outputs, operators, parameters. Reads the file and executes nothing.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::{BufReader, Cursor};
use std::path::{Path, PathBuf};

use rten_onnx::onnx::{DataType, GraphProto, ModelProto, TensorProto, ValueInfoProto};

use super::protobuf::{self, Claims, Fault};
use crate::files;

/// What a network file says of itself.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct NetworkFacts {
    /// Length of the file.
    pub file_bytes: u64,
    /// BLAKE3 of the file, hexadecimal.
    pub blake3: String,
    /// The tool that wrote it, if it says.
    pub producer: Option<String>,
    /// What its exporter wrote beside the graph: classes, input size, task.
    pub metadata: BTreeMap<String, String>,
    /// Operator set versions by domain; the standard one is `ai.onnx`.
    pub opset: BTreeMap<String, i64>,
    /// Inputs that must be fed; initializers listed as inputs (IR 3) do not count.
    pub inputs: Vec<Port>,
    /// The network's outputs, in its own order.
    pub outputs: Vec<Port>,
    /// How many nodes of each operator.
    pub operators: BTreeMap<String, usize>,
    /// Elements in the initializers that are weights: not in those that only say shapes, axes, indices, sizes or bounds,
    /// nor in the scales and zero points of quantised ones.
    pub parameters: u64,
    /// Files beside the network that hold weights.
    pub external_data: Vec<String>,
}

/// An input or output.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Port {
    /// The tensor's name in the network.
    pub name: String,
    /// Element type, in ONNX's words: `float`, `int64`.
    pub element: String,
    /// Dimensions; a number, a symbol, or `?`.
    pub shape: Vec<String>,
    /// Whether the network states a shape: one of no dimensions is a single number, and none at all may be anything.
    #[serde(skip)]
    pub is_shaped: bool,
    /// The operator that makes its values, behind those that only move them; none of an input, and where the file does not tell.
    #[serde(skip)]
    pub made_by: Option<String>,
}

/// Why a network could not be read.
#[derive(Debug, thiserror::Error)]
pub enum NetworkError {
    /// No such file, or not readable.
    #[error("cannot read the network {path}: {error}")]
    Io {
        /// The path that was to be read.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// The network is there and the file with its weights is not.
    #[error("{path} has weights in {file}, which cannot be read: {error}; put that file next to the network")]
    ExternalData {
        /// The path of the network.
        path: PathBuf,
        /// The file with weights.
        file: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// A folder, a pipe, a device.
    #[error("{path} is not a regular file; name an ONNX file")]
    NotAFile {
        /// The path that is not a regular file.
        path: PathBuf,
    },
    /// Weights in a file that is none of the network's.
    #[error("{path} was refused: {problem}")]
    WeightsOutside {
        /// The path of the network.
        path: PathBuf,
        /// Which, and what to do.
        problem: String,
    },
    /// The file with weights is not what the network says.
    #[error(
        "{path} claims {wanted} bytes of weights in {file}, which {found}; export or download both again"
    )]
    Weights {
        /// The path of the network.
        path: PathBuf,
        /// The file with weights.
        file: PathBuf,
        /// How many bytes of weights the network says there are.
        wanted: u64,
        /// What it is instead.
        found: String,
    },
    /// Not ONNX, or cut off.
    #[error("{path} is incomplete or damaged: {problem}; export or download it again")]
    NotOnnx {
        /// The path that was to be read.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
}

/// As many bytes as a network may claim of a small file with weights, by tensors that share them.
const SHARED: u64 = 256 << 20;

/// Checks that a network does no harm to a parser: see [`protobuf`]. To be called before any parser has the file.
///
/// # Errors
/// It cannot be read, is no file, or claims what it does not hold.
pub fn check(path: &Path) -> Result<(), NetworkError> {
    let failed = |error| NetworkError::Io {
        path: path.to_owned(),
        error,
    };
    // Before it is opened, which waits where it is a pipe.
    let facts = std::fs::metadata(path).map_err(failed)?;
    if !facts.is_file() {
        return Err(NetworkError::NotAFile {
            path: path.to_owned(),
        });
    }
    let file = files::open(path).map_err(failed)?;
    let claims = protobuf::check(BufReader::new(file), facts.len()).map_err(|fault| match fault {
        Fault::Io(error) => failed(error),
        fault @ Fault::Outside { .. } => NetworkError::WeightsOutside {
            path: path.to_owned(),
            problem: fault.to_string(),
        },
        fault => NetworkError::NotOnnx {
            path: path.to_owned(),
            problem: fault.to_string(),
        },
    })?;
    check_weights(path, claims)
}

/// Whether the files beside a network hold what it claims of them. Who reads one that is not there says so.
fn check_weights(path: &Path, claims: Claims) -> Result<(), NetworkError> {
    for (name, claim) in claims {
        let file = path.with_file_name(&name);
        let Ok(facts) = std::fs::metadata(&file) else {
            continue;
        };
        let (wanted, found) = match facts.is_file() {
            false => (claim.end, "is not a regular file".to_owned()),
            true if claim.end > facts.len() => (claim.end, format!("has {}", facts.len())),
            // Tensors may share their bytes; so many do not.
            true if claim.total > facts.len().saturating_mul(4).max(SHARED) => {
                (claim.total, format!("has {}", facts.len()))
            }
            true => continue,
        };
        return Err(NetworkError::Weights {
            path: path.to_owned(),
            file,
            wanted,
            found,
        });
    }
    Ok(())
}

/// As [`check`], of a network in memory.
///
/// # Errors
/// It claims what it does not hold.
pub fn check_bytes(bytes: &[u8]) -> Result<(), Fault> {
    protobuf::check(Cursor::new(bytes), bytes.len() as u64).map(|_| ())
}

/// Why bytes have no facts; each is a phrase.
#[derive(Debug, thiserror::Error)]
pub enum NoFacts {
    /// They claim what they do not hold.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// They are no ONNX.
    #[error("{0}")]
    NotOnnx(String),
    /// There is nothing in it.
    #[error("it holds no graph")]
    NoGraph,
}

/// Reads the facts of a network file.
pub fn read(path: &Path) -> Result<NetworkFacts, NetworkError> {
    check(path)?;
    let bytes = files::read(path, files::NETWORK).map_err(|error| NetworkError::Io {
        path: path.to_owned(),
        error,
    })?;
    facts(&bytes).map_err(|error| NetworkError::NotOnnx {
        path: path.to_owned(),
        problem: error.to_string(),
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
        let weights = files::read(&file, files::NETWORK).map_err(|error| NetworkError::ExternalData {
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

/// The facts of a network in memory.
///
/// # Errors
/// It is no whole ONNX file.
pub fn facts(bytes: &[u8]) -> Result<NetworkFacts, NoFacts> {
    check_bytes(bytes)?;
    let model = ModelProto::parse_buf(bytes).map_err(|error| NoFacts::NotOnnx(error.to_string()))?;
    let graph = model.graph.ok_or(NoFacts::NoGraph)?;
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
    let mut used = HashSet::new();
    data_inputs(&graph, &mut used);
    let parameters = weights(&graph, &used);
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
    let metadata = model
        .metadata_props
        .into_iter()
        .filter_map(|entry| Some((entry.key?, entry.value?)))
        .collect();
    let external_data = external_files(&graph).into_iter().collect();
    Ok(NetworkFacts {
        file_bytes: bytes.len() as u64,
        blake3: blake3::hash(bytes).to_hex().to_string(),
        producer: model.producer_name.map(|name| {
            format!("{name} {}", model.producer_version.unwrap_or_default())
                .trim()
                .to_owned()
        }),
        metadata,
        opset,
        inputs: graph
            .input
            .iter()
            .filter(|v| v.name.as_deref().is_some_and(|name| !initializers.contains(name)))
            .map(port)
            .collect(),
        outputs: graph
            .output
            .iter()
            .map(|output| with_maker(port(output), &graph))
            .collect(),
        operators,
        parameters,
        external_data,
    })
}

/// From which input on an operator's inputs set how it works and are no weights, whatever their type.
const SETTINGS: [(&str, usize); 14] = [
    ("Clip", 1),
    ("ConvInteger", 2),
    ("DequantizeLinear", 1),
    ("Dropout", 1),
    ("Expand", 1),
    ("MatMulInteger", 2),
    ("NonMaxSuppression", 2),
    ("OneHot", 1),
    ("Pad", 1),
    ("QuantizeLinear", 1),
    ("Range", 0),
    ("Resize", 1),
    ("RoiAlign", 1),
    ("Upsample", 1),
];

/// How a tensor is used, as far as that decides whether it is a weight.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Use {
    /// Data of an operator.
    Data,
    /// Where a bias of a quantised layer comes.
    QuantisedBias,
}

/// The names of tensors that operators of a graph, and of the graphs within, take as data.
fn data_inputs<'a>(graph: &'a GraphProto, used: &mut HashSet<(&'a str, Use)>) {
    for node in &graph.node {
        let operator = node.op_type.as_deref().unwrap_or_default();
        let settings = SETTINGS.iter().find(|(name, _)| *name == operator);
        for (input, name) in node.input.iter().enumerate() {
            let is_data = match operator {
                "QLinearConv" | "QLinearMatMul" => matches!(input, 0 | 3 | 8),
                _ => settings.is_none_or(|(_, from)| input < *from),
            };
            if is_data {
                used.insert((name, Use::Data));
            }
            if matches!((operator, input), ("QLinearConv", 8) | ("DequantizeLinear", 0)) {
                used.insert((name, Use::QuantisedBias));
            }
        }
    }
    inner_graphs(graph).for_each(|inner| data_inputs(inner, used));
}

/// Elements of the weights among the initializers of a graph and of the graphs within.
fn weights(graph: &GraphProto, used: &HashSet<(&str, Use)>) -> u64 {
    let is_weight = |tensor: &TensorProto| {
        let used_as = |how| used.contains(&(tensor.name.as_deref().unwrap_or_default(), how));
        match tensor.data_type {
            // Shapes, axes, indices.
            Some(DataType::INT64 | DataType::UINT64 | DataType::BOOL | DataType::STRING) => false,
            Some(DataType::INT32 | DataType::UINT32) => used_as(Use::QuantisedBias),
            _ => used_as(Use::Data),
        }
    };
    let own = graph.initializer.iter().filter(|tensor| is_weight(tensor));
    let counts = own.map(|tensor| {
        let extents = tensor.dims.iter().map(|d| u64::try_from(*d).unwrap_or(0));
        extents.fold(1, u64::saturating_mul)
    });
    let inner = inner_graphs(graph).map(|inner| weights(inner, used));
    counts.chain(inner).fold(0, u64::saturating_add)
}

/// The graphs in the attributes of a graph's nodes: branches and bodies of loops.
fn inner_graphs(graph: &GraphProto) -> impl Iterator<Item = &GraphProto> {
    let attributes = graph.node.iter().flat_map(|node| &node.attribute);
    attributes.filter_map(|attribute| attribute.g.as_ref())
}

/// Files that hold tensors of a graph, of its nodes' attributes, and of the graphs in those.
pub(crate) fn external_files(graph: &GraphProto) -> BTreeSet<String> {
    let mut files = BTreeSet::new();
    let attributes = || graph.node.iter().flat_map(|node| &node.attribute);
    let tensors = graph
        .initializer
        .iter()
        .chain(attributes().filter_map(|attribute| attribute.t.as_ref()));
    for entry in tensors.flat_map(|tensor| &tensor.external_data) {
        if entry.key.as_deref() == Some("location") {
            files.extend(entry.value.clone());
        }
    }
    files.extend(inner_graphs(graph).flat_map(external_files));
    files
}

/// With the operator that makes an output's values: behind those that only move them.
fn with_maker(port: Port, graph: &GraphProto) -> Port {
    const MOVES: [&str; 7] = [
        "Identity",
        "Cast",
        "Reshape",
        "Transpose",
        "Squeeze",
        "Unsqueeze",
        "Flatten",
    ];
    let mut name = &port.name;
    let mut maker = None;
    // A graph without circles has fewer steps than nodes.
    for _ in 0..graph.node.len() {
        let Some(node) = graph.node.iter().find(|node| node.output.contains(name)) else {
            break;
        };
        maker.clone_from(&node.op_type);
        match (node.op_type.as_deref(), node.input.first()) {
            (Some(operator), Some(input)) if MOVES.contains(&operator) => name = input,
            _ => break,
        }
    }
    Port {
        made_by: maker,
        ..port
    }
}

/// Whether the name of a dimension is none: two of them need not be equal.
pub fn is_anonymous(name: &str) -> bool {
    ["", "?", "-1", "None"].contains(&name.trim())
}

fn port(value: &ValueInfoProto) -> Port {
    let tensor = value.r#type.as_ref().and_then(|t| t.tensor_type.as_ref());
    let stated = tensor.and_then(|t| t.shape.as_ref());
    let shape = stated
        .map(|shape| {
            shape
                .dim
                .iter()
                .map(|d| match (d.dim_value, d.dim_param.as_deref()) {
                    // Exporters write -1, and `?`, for what they leave open: each such dimension is one of its own.
                    (Some(n), _) if n >= 0 => n.to_string(),
                    (None, Some(name)) if !is_anonymous(name) => name.to_owned(),
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
        is_shaped: stated.is_some(),
        made_by: None,
    }
}

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

#[cfg(test)]
mod tests {
    use rten_onnx::onnx::{AttributeProto, NodeProto};

    use super::*;

    fn node(operator: &str, inputs: &[&str]) -> NodeProto {
        NodeProto {
            op_type: Some(operator.to_owned()),
            input: inputs.iter().map(|name| (*name).to_owned()).collect(),
            ..NodeProto::default()
        }
    }

    fn tensor(name: &str, element: DataType, dims: &[i64]) -> TensorProto {
        TensorProto {
            name: Some(name.to_owned()),
            data_type: Some(element),
            dims: dims.to_vec(),
            ..TensorProto::default()
        }
    }

    fn parameters(node: Vec<NodeProto>, initializer: Vec<TensorProto>) -> u64 {
        let graph = Some(GraphProto {
            node,
            initializer,
            ..GraphProto::default()
        });
        let model = ModelProto {
            graph,
            ..ModelProto::default()
        };
        facts(&model.write_buf().unwrap()).unwrap().parameters
    }

    #[test]
    fn parameters_are_weights_and_not_shapes_indices_or_sizes() {
        let (float, long) = (DataType::FLOAT, DataType::INT64);
        let nodes = vec![
            node("Conv", &["x", "kernel", "bias"]),
            node("Reshape", &["a", "shape"]),
            node("Gather", &["table", "indices"]),
            node("Resize", &["b", "", "scales"]),
            node("Clip", &["c", "low", "high"]),
            node("Slice", &["d", "starts", "ends32"]),
        ];
        let tensors = vec![
            tensor("kernel", float, &[8, 3, 3, 3]),
            tensor("bias", float, &[8]),
            tensor("shape", long, &[4]),
            tensor("table", DataType::FLOAT16, &[10, 4]),
            tensor("indices", long, &[100]),
            tensor("scales", float, &[4]),
            tensor("low", float, &[]),
            tensor("high", float, &[]),
            tensor("starts", long, &[2]),
            tensor("ends32", DataType::INT32, &[2]),
            tensor("unused", float, &[1000]),
        ];
        assert_eq!(parameters(nodes, tensors), 8 * 27 + 8 + 40);
    }

    #[test]
    fn of_quantised_layers_the_weights_and_biases_count() {
        let (byte, int, float) = (DataType::INT8, DataType::INT32, DataType::FLOAT);
        let nodes = vec![
            node(
                "QLinearConv",
                &["x", "s", "z", "kernel", "ks", "kz", "s", "z", "bias"],
            ),
            node("DequantizeLinear", &["table", "ks", "kz"]),
            node("DequantizeLinear", &["offset", "ks"]),
        ];
        let tensors = vec![
            tensor("kernel", byte, &[8, 3, 3, 3]),
            tensor("bias", int, &[8]),
            tensor("table", byte, &[5]),
            tensor("offset", int, &[7]),
            tensor("s", float, &[]),
            tensor("z", byte, &[]),
            tensor("ks", float, &[8]),
            tensor("kz", byte, &[8]),
        ];
        assert_eq!(parameters(nodes, tensors), 8 * 27 + 8 + 5 + 7);
    }

    #[test]
    fn weights_of_a_branch_count_wherever_they_are_kept() {
        let branch = GraphProto {
            node: vec![node("MatMul", &["x", "inner"]), node("Add", &["y", "outer"])],
            initializer: vec![tensor("inner", DataType::FLOAT, &[4, 4])],
            ..GraphProto::default()
        };
        let mut choice = node("If", &["condition"]);
        choice.attribute.push(AttributeProto {
            name: Some("then_branch".to_owned()),
            g: Some(branch),
            ..AttributeProto::default()
        });
        let outer = tensor("outer", DataType::FLOAT, &[4]);
        assert_eq!(parameters(vec![choice], vec![outer]), 20);
    }
}
