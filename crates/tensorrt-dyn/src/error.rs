//! What can go wrong: every call through the binding gives one of these, with the library's own words.

use std::ffi::NulError;
use std::path::PathBuf;

use crate::find::NotFound;
use crate::messages::Messages;
use crate::parser::ParserError;
use crate::sys::method::Row;
use crate::version::{UnsupportedVersion, Version};

/// A failure of the binding or of the library behind it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No library in any of the places looked at.
    #[error(transparent)]
    NotFound(#[from] NotFound),

    /// The dynamic loader refuses the file.
    #[error("cannot load {}: {reason}", path.display())]
    Open {
        /// The library file that was to be loaded.
        path: PathBuf,
        /// What the dynamic loader said.
        reason: String,
    },

    /// A library that loads and is not what its name says.
    #[error("{} is not a {wanted}: it has no function {symbol}", path.display())]
    WrongLibrary {
        /// The library file that was loaded.
        path: PathBuf,
        /// What was wanted of it.
        wanted: &'static str,
        /// The entry point that is missing.
        symbol: &'static str,
    },

    /// A release whose layout this build does not know.
    #[error("{} says version {number}: {why}", path.display())]
    UnsupportedVersion {
        /// The library file whose version was read.
        path: PathBuf,
        /// What it calls its version.
        number: i32,
        /// Why that cannot be used.
        why: UnsupportedVersion,
    },

    /// A function that this release does not have.
    #[error("{call} does not exist in {version} (it is in {available})")]
    MissingMethod {
        /// The method as C++ writes it, `class::method`.
        call: String,
        /// The release at hand.
        version: Version,
        /// The releases that have it.
        available: String,
    },

    /// A value of an option that this release does not have.
    #[error("{value} does not exist in {version}")]
    MissingValue {
        /// The value as C++ writes it, `enum::value`.
        value: String,
        /// The release at hand.
        version: Version,
    },

    /// A library without the half that is needed (lean and dispatch runtimes have no builder).
    #[error("{} has no {missing}: {hint}", path.display())]
    MissingHalf {
        /// The library file that lacks it.
        path: PathBuf,
        /// The half that it lacks, as `builder`.
        missing: &'static str,
        /// What to install or to name instead.
        hint: &'static str,
    },

    /// The ONNX parser that belongs to the library is not there.
    #[error("the ONNX parser of {} was not found; tried {}; install it (Debian: libnvonnxparsers, pip: the same \
        package as TensorRT)", library.display(), tried.join("; "))]
    ParserLibrary {
        /// The file of TensorRT that the parser should lie beside.
        library: PathBuf,
        /// Each name and the loader's words.
        tried: Vec<String>,
    },

    /// A call that the library answered with failure, for another reason than full memory.
    #[error("{call} failed in {version}{}", said(messages))]
    Call {
        /// The method as C++ writes it, `class::method`.
        call: String,
        /// The release at hand.
        version: Version,
        /// What it logged and recorded since the call began.
        messages: Messages,
    },

    /// A call that failed because memory is full, the device's or the host's.
    #[error("{call} failed in {version}{}", said(messages))]
    OutOfMemory {
        /// The C++ method, as `class::method`.
        call: String,
        /// The version of the library that was called.
        version: Version,
        /// What it logged and recorded since the call began.
        messages: Messages,
    },

    /// The ONNX parser's complaints.
    #[error("{}", crate::parser::render(source_name, errors))]
    Parse {
        /// The file, or what the bytes are called.
        source_name: String,
        /// What it says of each place.
        errors: Vec<ParserError>,
    },

    /// A network without layers, inputs or outputs: zero bytes parse without complaint.
    #[error("{source_name} holds no network: {found}")]
    EmptyNetwork {
        /// The file, or what the bytes are called.
        source_name: String,
        /// What was found in it.
        found: String,
    },

    /// A text with a NUL byte, which C strings cannot hold.
    #[error("{what} contains a NUL byte at {position}")]
    Nul {
        /// What the text was for.
        what: &'static str,
        /// Where the byte is.
        position: usize,
    },

    /// A shape that the library's `Dims` cannot hold.
    #[error("the shape {shape:?} cannot be given to TensorRT: at most 8 dimensions, each within {bits} bits")]
    Shape {
        /// The extents that were asked for.
        shape: Vec<i64>,
        /// Width of an extent in this release.
        bits: u32,
    },

    /// An object of one library given to another, which would take it for one of its own.
    #[error("{what} of {} cannot be given to {}: create both with the same library", theirs.display(), ours.display())]
    OtherLibrary {
        /// The kind of object, such as `an engine`.
        what: &'static str,
        /// The library that made it.
        theirs: PathBuf,
        /// The library that it was given to.
        ours: PathBuf,
    },

    /// An index or name that the object does not have.
    #[error("there is no {what} {wanted}; {there}")]
    Absent {
        /// What kind of thing was asked for, as `tensor`.
        what: &'static str,
        /// What was asked for.
        wanted: String,
        /// What there is instead: how many, or their names.
        there: String,
    },

    /// Memory given from outside that is too small.
    #[error("{what} needs {needed} bytes, but {given} were given")]
    TooSmall {
        /// What it is for.
        what: &'static str,
        /// The bytes that it needs.
        needed: u64,
        /// The bytes that were given.
        given: u64,
    },
}

/// The result of everything here.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Of a search: what was there and could not be used, or that an explicitly named place holds nothing; `None` if
    /// there was simply nothing.
    #[must_use]
    pub fn refusal(&self) -> Option<String> {
        match self {
            Self::NotFound(not_found) => not_found.refusal(),
            other => Some(other.to_string()),
        }
    }

    pub(crate) fn missing(row: &Row, version: Version) -> Self {
        Self::MissingMethod {
            call: call_name(row),
            version,
            available: row.availability(),
        }
    }

    pub(crate) fn nul(what: &'static str, error: &NulError) -> Self {
        Self::Nul {
            what,
            position: error.nul_position(),
        }
    }
}

/// `IRuntime::setMaxThreads` for the method of `VRuntime` that it forwards to.
pub(crate) fn call_name(row: &Row) -> String {
    match row.class.strip_prefix('V') {
        Some(rest) => format!("I{rest}::{}", row.name),
        None => format!("{}::{}", row.class, row.name),
    }
}

fn said(messages: &Messages) -> String {
    if messages.0.is_empty() {
        ", and its log says nothing".to_owned()
    } else {
        format!(": {messages}")
    }
}
