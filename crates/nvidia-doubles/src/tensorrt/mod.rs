//! The double of libnvinfer and of the ONNX parser.
//!
//! [`eras`] finds header folders, compiles the double of each, and gives folders that look like a TensorRT installation:
//! `libnvinfer.so.11` and `libnvonnxparser.so.11`, or `libtensorrt_rtx.so.1` and `libtensorrt_onnxparser_rtx.so.1`. What the
//! libraries can be told and asked beside TensorRT's own functions is [`Control`]; `tensorrt/control.h` has the words on each
//! function, and `tensorrt/description.h` the text that stands for a network. Its frames run on the driver's double where their
//! memory is that double's. They give TensorRT's NVTX ranges, as `tensorrt/ranges.h` says, where NVTX's headers are there
//! ([`crate::nvtx`]).
//!
//! Headers: NVIDIA's, from the source of the crate `trtx-sys` (eras C, D, E), which `headers/Cargo.toml` names; from the folders in
//! `JETLAG_TENSORRT_HEADERS` (colon between them), each of which must make a double; and, where the folder `tensorrt-abi` of the
//! shared data and `python3` are there, header folders made from its tables (eras A and B; see `headers_from_tables.py`).
//!
//! `JETLAG_DOUBLE_SANITIZE=1` compiles with AddressSanitizer and UndefinedBehaviorSanitizer; the test process then has
//! to preload the compiler's `libasan.so`.

mod build;
mod control;
mod headers;
mod shims;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

pub use control::Control;

use crate::compile::{self, ASKED_BY, Compiler};
use crate::machine;

/// The double of one TensorRT release, compiled.
#[derive(Debug, Clone)]
pub struct Double {
    /// Era of the ABI: A 8.5 to 9, B 10, C 11, D RTX 1.3 and 1.4, E RTX 1.5 on.
    pub era: char,
    /// As `trt 11.4.0.106` or `rtx 1.7.1.116`; headers made from tables end in ` (tables)`.
    pub version: String,
    /// The version number that its `getInferLibVersion` returns.
    pub number: i32,
    /// Where both libraries lie, and nothing else.
    pub folder: PathBuf,
    /// Path of the double of libnvinfer.
    pub infer: PathBuf,
    /// The ONNX parser's double.
    pub parser: PathBuf,
    /// The headers it was made from.
    pub headers: PathBuf,
}

impl Double {
    /// Control of libnvinfer's double. The library is the one that the code under test opens by this path.
    pub fn control(&self) -> Control {
        Control::open(&self.infer)
    }

    /// Control of the parser's double.
    pub fn parser_control(&self) -> Control {
        Control::open(&self.parser)
    }

    /// Compiles a C++ file against the headers and links it with both libraries; gives the program.
    pub fn program(&self, source: &Path) -> PathBuf {
        build::program(self, source).unwrap_or_else(|why| panic!("{why}"))
    }
}

/// All doubles that can be made here: C, D and E with a C++ compiler and NVIDIA's headers, which a machine with Rust and a C
/// compiler alone may lack: then none, and each test that asks is skipped, with its reason. A and B beside them, where there
/// are tables to make headers of; a test that asks says that it runs without, where there are none.
///
/// # Panics
/// A double does not compile, or a variable asks for one that cannot be had.
pub fn eras() -> &'static [Double] {
    static ERAS: OnceLock<(Vec<Double>, Vec<String>)> = OnceLock::new();
    let (doubles, lacking) = ERAS.get_or_init(|| {
        if let Err(why) = Compiler::find() {
            return (Vec::new(), vec![format!("no double of TensorRT: {why}")]);
        }
        match headers::all() {
            Ok(found) => {
                let made = found.folders.iter().map(build::double).collect::<Result<_, _>>();
                // What is there and does not compile is broken, and no reason to test nothing.
                let doubles =
                    made.unwrap_or_else(|why| panic!("a double of TensorRT does not compile: {why}"));
                (doubles, found.lacking)
            }
            Err(why) => (Vec::new(), vec![format!("no double of TensorRT: {why}")]),
        }
    });
    for why in lacking {
        match doubles.is_empty() {
            true => machine::missing(&ASKED_BY, why),
            // Made from tables, which a clone of the repository alone does not have.
            false => machine::missing(&["JETLAG_DOUBLE_ALL_TABLES", "JETLAG_SHARED"], why),
        }
    }
    doubles
}

/// The first double of this era, if it can be made here.
pub fn era(letter: char) -> Option<&'static Double> {
    eras().iter().find(|double| double.era == letter)
}

/// The double of a version that begins so, `trt 8.5`, if it can be made here.
pub fn of_version(version: &str) -> Option<&'static Double> {
    eras().iter().find(|double| double.version.starts_with(version))
}

/// A library of plugins of one kind (`PLUGINS_TELL`, …: `tensorrt/plugins.cpp` has them), under this name.
pub fn plugins(name: &str, kind: &str) -> Option<PathBuf> {
    let folder = compile::library(name, &sources(), &["plugins"], &[kind.to_owned()])?;
    Some(folder.join(name))
}

/// The folder of the double's sources.
fn sources() -> PathBuf {
    compile::sources("tensorrt")
}
