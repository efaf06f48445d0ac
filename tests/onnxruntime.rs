//! Tenants on ONNX Runtime's CPU provider, with the library of PyPI's wheel (`scripts/setup.sh --test` brings it), and
//! every way in which library or network may not do. Built with the feature `onnxruntime`.

mod bad_input;
#[cfg(all(feature = "models", feature = "recordings"))]
mod fusion;
mod networks;
mod profile;
mod runs;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use jetlag::source::{Frame, Source};
use nvidia_doubles::machine;

use crate::common::output::{assert_refused, stderr};

/// A Python environment with the wheel.
fn environment() -> Option<PathBuf> {
    machine::environment("onnxruntime", "JETLAG_REQUIRE_ONNXRUNTIME")
}

/// The binary, with this library.
fn jetlag(library: &Path, args: &[&str]) -> Output {
    jetlag_with(library, args, &[])
}

/// The same with more variables.
fn jetlag_with(library: &Path, args: &[&str], variables: &[(&str, &Path)]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_jetlag"))
        .args(args)
        .envs(variables.iter().copied())
        .env("JETLAG_ONNXRUNTIME", library)
        .env("NO_COLOR", "1")
        .env_remove("RUST_LOG")
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap()
}

/// The next frame of a source, acquired and decoded as in a run.
fn next_frame(source: &mut dyn Source) -> Frame {
    let mut frame = Frame::default();
    assert!(source.acquire(&mut frame).unwrap(), "the source ended early");
    source.decode(&mut frame).unwrap();
    frame
}
