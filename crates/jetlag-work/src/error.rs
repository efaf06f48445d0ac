//! Why the work of a network cannot be told; one sentence each.

use std::fmt;
use std::path::PathBuf;

/// Why there is no work to show.
#[derive(Debug, thiserror::Error)]
pub enum WorkError {
    /// No such file, or not readable.
    #[error("cannot read the network {path}: {error}")]
    Io {
        /// The file that was to be read.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// A folder, a pipe, a device.
    #[error("{path} is not a regular file; name an ONNX file")]
    NotAFile {
        /// What is no file.
        path: PathBuf,
    },
    /// Not ONNX, or cut off.
    #[error("the network is incomplete or damaged at byte {at}: {problem}; export or download it again")]
    Damaged {
        /// Where in the file.
        at: u64,
        /// What is wrong there.
        problem: String,
    },
    /// There is nothing in it.
    #[error("the file holds no graph; name an ONNX network")]
    NoGraph,
    /// Sizes that only the user knows.
    #[error("{0}")]
    Missing(Missing),
    /// A size was given for a dimension that the network does not have.
    #[error("no input has a dimension named `{name}`; {}", known_are("the named dimensions are", "its inputs name no dimension", .known))]
    UnknownDim {
        /// The name that was given.
        name: String,
        /// The names that exist.
        known: Vec<String>,
    },
    /// A shape was given for an input that the network does not have.
    #[error("the network has no input `{name}`; {}", known_are("its inputs are", "it has none", .known))]
    UnknownInput {
        /// The name that was given.
        name: String,
        /// The names that exist.
        known: Vec<String>,
    },
    /// A given shape is not what the graph says of the input.
    #[error("the shape given for input `{input}` contradicts the graph: {problem}")]
    GivenShape {
        /// The input.
        input: String,
        /// What differs.
        problem: String,
    },
    /// `--dim` or `--shape` is not written as it should be.
    #[error("`{text}` is not {wanted}")]
    Spelling {
        /// What was written.
        text: String,
        /// How it is written.
        wanted: &'static str,
    },
    /// An operator cannot work on the shapes it gets.
    #[error(
        "node `{node}` ({operator}) cannot work on its inputs: {problem}; check the given sizes, or export the network again"
    )]
    Contradiction {
        /// The node's name, or its first output.
        node: String,
        /// The operator.
        operator: String,
        /// What does not fit.
        problem: String,
    },
    /// Nodes wait for each other.
    #[error("the graph has a circle through {}; export the network again", list(.nodes))]
    Cycle {
        /// Some of the nodes on it, or after it.
        nodes: Vec<String>,
    },
    /// A node takes what nothing makes.
    #[error(
        "node `{node}` takes `{tensor}`, which is no input, no weight and no node's output; export the network again"
    )]
    Undefined {
        /// The node.
        node: String,
        /// The tensor.
        tensor: String,
    },
    /// A tensor with two makers.
    #[error("two nodes make the tensor `{tensor}`; export the network again")]
    Twice {
        /// The tensor.
        tensor: String,
    },
    /// A number beyond 64 bits.
    #[error("{what} is more than 64 bits hold; give smaller sizes")]
    Overflow {
        /// What was counted.
        what: String,
    },
    /// Loops, functions and nodes that would take too long to walk.
    #[error("the network has more than {most} nodes with its loops and functions written out")]
    TooMany {
        /// As many as are walked.
        most: usize,
    },
}

/// Every size that is missing, with the spelling that gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// Dimensions with a name, and the inputs that have them.
    pub dims: Vec<(String, Vec<String>)>,
    /// Inputs with dimensions that have no name, or with no shape at all: name, and the shape with `?` where it is open; none
    /// where the graph says no shape.
    pub shapes: Vec<(String, Option<Vec<String>>)>,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dims = self.dims.iter().map(|(name, inputs)| {
            let inputs: Vec<&str> = inputs.iter().map(|input| &**input).collect();
            (
                format!("`{name}` of {}", inputs.join(", ")),
                format!("--dim {name}=SIZE"),
            )
        });
        let shapes = self.shapes.iter().map(|(name, shape)| match shape {
            Some(shape) => {
                let shape = shape.join("x");
                (format!("`{name}` ({shape})"), format!("--shape {name}:{shape}"))
            }
            None => (
                format!("`{name}` (no shape)"),
                format!("--shape {name}:1x3x224x224"),
            ),
        });
        let (what, how): (Vec<String>, Vec<String>) = dims.chain(shapes).unzip();
        write!(
            f,
            "the graph leaves sizes open: {}; give {}",
            what.join("; "),
            how.join(" ")
        )?;
        match self.shapes.iter().any(|(_, shape)| shape.is_some()) {
            true => write!(f, ", with a size for each `?`"),
            false => Ok(()),
        }
    }
}

fn known_are(some: &str, none: &str, names: &[String]) -> String {
    match names {
        [] => none.to_owned(),
        names => format!("{some} {}", list(names)),
    }
}

fn list(names: &[String]) -> String {
    let shown: Vec<String> = names.iter().take(12).map(|name| format!("`{name}`")).collect();
    match names.len() > shown.len() {
        true => format!("{} and {} more", shown.join(", "), names.len() - shown.len()),
        false => shown.join(", "),
    }
}
