//! `nvonnxparser::IParser`: ONNX files into networks, and its complaints.
//!
//! The parser owns weights that the network points into, so here it owns the network and both go to the builder
//! together ([`OnnxParser`] dereferences to its [`Network`]).

use std::ffi::{CString, c_void};
use std::fmt;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

use crate::NotSync;
use crate::builder::BuilderObject;
use crate::callback::text;
use crate::config::BuilderConfig;
use crate::error::{Error, Result, call_name};
use crate::library::{Library, c_path};
use crate::network::Network;
use crate::object::Owned;
use crate::sys::method::{Method, This};
use crate::sys::slots_parser::{parser, parser_error};
use crate::sys::values::{ParserErrorCode, ParserFlag};

/// `ILogger::Severity::kWARNING`, how much the parser logs of a file.
const VERBOSITY: i32 = 2;

/// A parser, with the network that it fills.
pub struct OnnxParser {
    /// Dropped before the network.
    parser: Parser,
    /// What [`Self::set_builder_config`] gave it to read, and the builder of that, which must go after it.
    config: Option<KeptConfig>,
    network: Network,
    not_sync: NotSync,
}

/// A configuration that the parser reads: its object, what that points to, and its builder.
type KeptConfig = (Arc<Owned>, Vec<Arc<dyn Send + Sync>>, Arc<BuilderObject>);

/// The C++ object, whose methods are its own (no implementation behind it).
#[derive(Debug)]
struct Parser {
    this: This,
    library: Library,
}

// SAFETY: used by one thread at a time (OnnxParser is not Sync); it is not bound to the one that made it.
unsafe impl Send for Parser {}

/// One complaint of the parser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParserError {
    /// What kind; `None` for one that this build does not know.
    pub code: Option<ParserErrorCode>,
    /// The parser's own words.
    pub description: String,
    /// The place in the parser's source: file, line, function.
    pub place: String,
    /// The node's index in the graph, if it is about one.
    pub node: Option<i32>,
    /// The node's name (9.1 and later).
    pub node_name: Option<String>,
    /// The node's operator (9.1 and later).
    pub node_operator: Option<String>,
}

impl fmt::Display for ParserError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(index) = self.node {
            write!(f, "node {index}")?;
            if let Some(name) = &self.node_name {
                write!(f, " \"{name}\"")?;
            }
            if let Some(operator) = &self.node_operator {
                write!(f, " ({operator})")?;
            }
            f.write_str(": ")?;
        }
        let description = if self.description.trim().is_empty() {
            "no description"
        } else {
            self.description.trim()
        };
        write!(f, "{description}")?;
        if let Some(code) = self.code {
            write!(f, " [{code}]")?;
        }
        Ok(())
    }
}

/// The text of [`Error::Parse`].
pub(crate) fn render(source_name: &str, errors: &[ParserError]) -> String {
    let mut out = format!("{source_name} was not accepted by TensorRT's ONNX parser");
    for error in errors {
        out.push_str(&format!("\n  {error}"));
    }
    out
}

impl OnnxParser {
    pub(crate) fn new(network: Network) -> Result<Self> {
        let library = network.object.library();
        // SAFETY: the network is kept beside the parser and dropped after it.
        let this = unsafe {
            library
                .parser_library()?
                .create(library, network.object.as_ptr())?
        };
        Ok(Self {
            parser: Parser { this, library },
            config: None,
            network,
            not_sync: NotSync::default(),
        })
    }

    /// Reads a file; external weights are looked for beside it.
    ///
    /// # Errors
    /// The parser's complaints, each with its node; or a file that holds no network.
    #[doc(alias = "parseFromFile")]
    pub fn parse_file(&mut self, file: &Path) -> Result<()> {
        let path = c_path(file)?;
        let parse = self.parser.method(&parser::PARSE_FROM_FILE)?;
        // SAFETY: the parser is alive; the path lives through the call.
        let parsed = unsafe { parse(self.parser.this, path.as_ptr(), VERBOSITY) };
        self.finish(parsed, &file.display().to_string())
    }

    /// Reads a model in memory; `source_name` is what errors call it.
    ///
    /// # Errors
    /// As [`Self::parse_file`].
    pub fn parse(&mut self, model: &[u8], source_name: &str) -> Result<()> {
        let parse = self.parser.method(&parser::PARSE)?;
        let (data, size) = (model.as_ptr().cast::<c_void>(), model.len() as u64);
        // SAFETY: the parser is alive; it copies what it needs of the model, as documented.
        let parsed = unsafe { parse(self.parser.this, data, size, std::ptr::null()) };
        self.finish(parsed, source_name)
    }

    /// Whether the parser would accept a whole model (10.1 and later, RTX); the complaints are in [`Self::errors`].
    ///
    /// # Errors
    /// The release has no such call.
    #[doc(alias = "supportsModelV2")]
    pub fn supports_model(&mut self, model: &[u8]) -> Result<bool> {
        let supports = self.parser.method(&parser::SUPPORTS_MODEL_V2)?;
        // SAFETY: as in `parse`.
        Ok(unsafe {
            supports(
                self.parser.this,
                model.as_ptr().cast(),
                model.len() as u64,
                std::ptr::null(),
            )
        })
    }

    /// Whether the parser knows an operator.
    ///
    /// # Errors
    /// A NUL byte in the name.
    #[doc(alias = "supportsOperator")]
    pub fn supports_operator(&self, operator: &str) -> Result<bool> {
        let operator = CString::new(operator).map_err(|error| Error::nul("an operator's name", &error))?;
        let supports = self.parser.method(&parser::SUPPORTS_OPERATOR)?;
        // SAFETY: the parser is alive; the name lives through the call.
        Ok(unsafe { supports(self.parser.this, operator.as_ptr()) })
    }

    /// Turns a switch of the parser on (8.6.1 and later).
    ///
    /// # Errors
    /// The release has no such switch.
    #[doc(alias = "setFlag")]
    pub fn set_flag(&mut self, flag: ParserFlag) -> Result<()> {
        let set = self.parser.method(&parser::SET_FLAG)?;
        let version = self.parser.library.version();
        let value = self.parser.library.value(flag.value(version), flag.name())?;
        // SAFETY: the parser is alive.
        unsafe { set(self.parser.this, value) };
        Ok(())
    }

    /// Sets all switches of the parser as the library's bits (8.6.1 and later).
    ///
    /// # Errors
    /// The release has no switches.
    #[doc(alias = "setFlags")]
    pub fn set_flags(&mut self, bits: u32) -> Result<()> {
        let set = self.parser.method(&parser::SET_FLAGS)?;
        // SAFETY: the parser is alive.
        unsafe { set(self.parser.this, bits) };
        Ok(())
    }

    /// All switches of the parser as the library's bits (8.6.1 and later).
    ///
    /// # Errors
    /// The release has no switches.
    #[doc(alias = "getFlags")]
    pub fn flags(&self) -> Result<u32> {
        let get = self.parser.method(&parser::GET_FLAGS)?;
        // SAFETY: the parser is alive.
        Ok(unsafe { get(self.parser.this) })
    }

    /// Lets the parser see the configuration, which DLA placement needs (10.15 and later).
    ///
    /// # Errors
    /// The release has no such call, or refuses it.
    #[doc(alias = "setBuilderConfig")]
    pub fn set_builder_config(&mut self, config: &BuilderConfig) -> Result<()> {
        let set = self.parser.method(&parser::SET_BUILDER_CONFIG)?;
        let settings = self.network.object.taking("a configuration", &config.object)?;
        let mark = self.parser.library.mark();
        // The parser reads it whenever it parses, so it is kept as long.
        self.config = Some((
            Arc::clone(&config.object),
            config.used(),
            Arc::clone(&config.builder),
        ));
        // SAFETY: both objects are alive.
        match unsafe { set(self.parser.this, settings.cast_const()) } {
            true => Ok(()),
            false => Err(self
                .parser
                .library
                .failure(call_name(parser::SET_BUILDER_CONFIG.row()), mark)),
        }
    }

    /// The complaints so far.
    ///
    /// # Errors
    /// Only if the release lacks the calls.
    #[doc(alias = "getError")]
    pub fn errors(&self) -> Result<Vec<ParserError>> {
        let count = self.parser.method(&parser::GET_NB_ERRORS)?;
        let error = self.parser.method(&parser::GET_ERROR)?;
        // SAFETY: the parser is alive; the error objects are its own and stay until `clear_errors`.
        let errors = unsafe { (0..count(self.parser.this)).map(|index| error(self.parser.this, index)) };
        errors
            .filter(|error| !error.is_null())
            .map(|error| self.parser.read(error.cast_mut()))
            .collect()
    }

    /// Forgets the complaints; parsing again does not.
    ///
    /// # Errors
    /// Only if the release lacks the call.
    #[doc(alias = "clearErrors")]
    pub fn clear_errors(&mut self) -> Result<()> {
        let clear = self.parser.method(&parser::CLEAR_ERRORS)?;
        // SAFETY: the parser is alive.
        unsafe { clear(self.parser.this) };
        Ok(())
    }

    /// Turns the parser's answer into ours. An empty file parses without complaint, so the network is looked at.
    fn finish(&self, parsed: bool, source_name: &str) -> Result<()> {
        let source_name = source_name.to_owned();
        let errors = self.errors()?;
        if !parsed {
            return Err(Error::Parse { source_name, errors });
        }
        for complaint in &errors {
            log::warn!("{source_name}: {complaint}");
        }
        let (layers, inputs, outputs) = (self.layer_count()?, self.inputs()?.len(), self.outputs()?.len());
        if layers == 0 || outputs == 0 {
            let found = format!("{layers} layers, {inputs} inputs, {outputs} outputs");
            return Err(Error::EmptyNetwork { source_name, found });
        }
        Ok(())
    }
}

impl fmt::Debug for OnnxParser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnnxParser")
            .field("network", &self.network)
            .finish_non_exhaustive()
    }
}

impl Deref for OnnxParser {
    type Target = Network;

    fn deref(&self) -> &Network {
        &self.network
    }
}

impl Parser {
    fn method<F: Copy>(&self, method: &Method<F>) -> Result<F> {
        // SAFETY: the parser is a live IParser of the library's release.
        unsafe { method.resolve(self.this, self.library.version()) }
            .ok_or_else(|| Error::missing(method.row(), self.library.version()))
    }

    fn read(&self, error: This) -> Result<ParserError> {
        let version = self.library.version();
        macro_rules! ask {
            ($method:ident) => {
                // SAFETY: the error is a live IParserError of this release, and its getters take nothing.
                unsafe {
                    parser_error::$method
                        .resolve(error, version)
                        .map(|get| get(error))
                }
            };
        }
        macro_rules! words {
            ($method:ident) => {
                ask!($method)
                    .map(|words| {
                        // SAFETY: a C string that the error owns.
                        unsafe { text(words) }.into_owned()
                    })
                    .filter(|words| !words.is_empty())
            };
        }
        let place = format!(
            "{}:{} in {}",
            words!(FILE).unwrap_or_default(),
            ask!(LINE).unwrap_or_default(),
            words!(FUNC).unwrap_or_default()
        );
        Ok(ParserError {
            code: ask!(CODE).and_then(|code| ParserErrorCode::from_value(code, version)),
            description: words!(DESC).unwrap_or_default(),
            place,
            node: ask!(NODE).filter(|node| *node >= 0),
            node_name: words!(NODE_NAME),
            node_operator: words!(NODE_OPERATOR),
        })
    }
}

impl Drop for Parser {
    fn drop(&mut self) {
        if let Ok(delete) = self.method(&parser::DELETING_DESTRUCTOR) {
            // SAFETY: the parser is alive and ours; its deleting destructor is a slot of its own vtable.
            unsafe { delete(self.this) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complaint_names_node_operator_and_code() {
        let error = ParserError {
            code: Some(ParserErrorCode::UnsupportedNode),
            description: "No importer registered for op: Frob".into(),
            place: "ModelImporter.cpp:1 in parse".into(),
            node: Some(7),
            node_name: Some("/head/Frob".into()),
            node_operator: Some("Frob".into()),
        };
        assert_eq!(
            render("a.onnx", &[error]),
            "a.onnx was not accepted by TensorRT's ONNX parser\n  node 7 \"/head/Frob\" (Frob): No importer registered for \
             op: Frob [kUNSUPPORTED_NODE]"
        );
    }
}
