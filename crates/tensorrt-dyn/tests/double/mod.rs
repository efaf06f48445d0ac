//! The double of libnvinfer and of the ONNX parser, for integration tests (`mod double;`).
//!
//! [`eras`] finds header folders, compiles the double of each with the machine's C++ compiler (once: the result is kept
//! under `target/tmp`), and gives folders that look like a TensorRT installation: `libnvinfer.so.11` and
//! `libnvonnxparser.so.11`, or `libtensorrt_rtx.so.1` and `libtensorrt_onnxparser_rtx.so.1`. What the libraries can be
//! told and asked beside TensorRT's own functions is [`Control`]; `control.h` has the words on each function, and
//! `description.h` the text that stands for a network.
//!
//! Headers: NVIDIA's, from the source of the crate `trtx-sys` (eras C, D, E); from the folders in
//! `JETLAG_TENSORRT_HEADERS` (colon between them), each of which must make a double; and, where the folder `tensorrt-abi` of the shared data and `python3`
//! are there, header folders made from its tables (eras A and B; see `headers_from_tables.py`).
//!
//! `JETLAG_DOUBLE_SANITIZE=1` compiles with AddressSanitizer and UndefinedBehaviorSanitizer; the test process then has
//! to preload the compiler's `libasan.so`.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::print_stderr)]

mod build;
mod control;
mod headers;
#[path = "../common/machine.rs"]
#[allow(
    clippy::duplicate_mod,
    reason = "other modules of a test program include it too"
)]
pub mod machine;
mod shims;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

pub use control::Control;

/// One compiled double.
#[derive(Debug, Clone)]
pub struct Double {
    /// Era of the ABI: A 8.5 to 9, B 10, C 11, D RTX 1.3 and 1.4, E RTX 1.5 on.
    pub era: char,
    /// As `trt 11.4.0.106` or `rtx 1.7.1.116`; headers made from tables end in ` (tables)`.
    pub version: String,
    /// What `getInferLibVersion` answers.
    pub number: i32,
    /// Where both libraries lie, and nothing else.
    pub folder: PathBuf,
    /// libnvinfer's double.
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

    /// Compiles a C++ file of this folder against the headers and links it with both libraries; gives the program.
    pub fn program(&self, source: &str) -> PathBuf {
        build::program(self, source).unwrap_or_else(|why| panic!("{why}"))
    }
}

/// Variables that ask for tests over the doubles.
const ASKED_BY: [&str; 3] = [
    "JETLAG_REQUIRE_TENSORRT",
    "JETLAG_TENSORRT_HEADERS",
    "JETLAG_DOUBLE_SANITIZE",
];

/// All doubles that can be made here: C, D and E with a C++ compiler and NVIDIA's headers, which a machine with Rust and a C
/// compiler alone may lack: then none, and each test that asks is skipped, with its reason. A and B beside them, where there
/// are tables to make headers of; a test that asks says that it runs without, where there are none.
///
/// # Panics
/// A double does not compile, or a variable asks for one that cannot be had.
pub fn eras() -> &'static [Double] {
    static ERAS: OnceLock<(Vec<Double>, Vec<String>)> = OnceLock::new();
    let (doubles, lacking) = ERAS.get_or_init(|| {
        if let Err(why) = build::compiler() {
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

/// Compiles C++ files of a folder (as one, kept under `target/tmp` as the doubles are) into a shared library of this name,
/// and gives the folder that holds it alone. `None`, with the test skipped, where no C++ compiler is.
///
/// # Panics
/// The files do not compile, or there is no C++ compiler and a variable asks for the doubles.
pub fn library(name: &str, folder: &Path, files: &[&str], defines: &[String]) -> Option<PathBuf> {
    // The tests of one program ask at once, and the first compiles.
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Err(why) = build::compiler() {
        machine::missing(&ASKED_BY, &format!("no double {name}: {why}"));
        return None;
    }
    Some(build::library(name, folder, files, defines).unwrap_or_else(|why| panic!("{why}")))
}

/// The first double of this era, if there is one.
pub fn era(letter: char) -> Option<&'static Double> {
    eras().iter().find(|d| d.era == letter)
}

/// The folder of the double's sources.
fn sources() -> PathBuf {
    crate_folder().join("tests/double")
}

/// The binding's crate, also when a test of the package above it includes this.
fn crate_folder() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let below = package.join("crates/tensorrt-dyn");
    if below.is_dir() { below } else { package.to_owned() }
}
