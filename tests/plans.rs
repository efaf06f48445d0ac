//! `jetlag build`, `cache` and `inspect PLAN` with NVIDIA's own TensorRT-RTX and no GPU: plans as NVIDIA's Python
//! bindings build them, the plan cache, and every kind of bad input. The libraries come from `scripts/setup.sh --test`.

mod bad_input;
mod cache;
mod networks;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use nvidia_doubles::machine;
use serde_json::Value;

use crate::common::output::{assert_refused, stderr};

/// The project's own camera network.
const CAMERA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/engines/camera.onnx");

/// A Python environment with TensorRT-RTX.
fn rtx(version: &str) -> Option<PathBuf> {
    machine::environment(&format!("rtx-{version}"), "JETLAG_REQUIRE_TENSORRT")
}

/// Both releases, two eras of the binary interface; the newest first.
fn both() -> Vec<PathBuf> {
    ["1.7", "1.4"].into_iter().filter_map(rtx).collect()
}

/// The binary, with a library and a cache of its own.
fn jetlag(library: &Path, cache: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_jetlag"));
    command
        .env("JETLAG_TENSORRT", library)
        .env("JETLAG_CACHE", cache)
        .env("NO_COLOR", "1")
        .env_remove("RUST_LOG")
        .current_dir(env!("CARGO_MANIFEST_DIR"));
    command
}

fn build(library: &Path, cache: &Path, args: &[&str]) -> Output {
    jetlag(library, cache)
        .arg("build")
        .args(args)
        .args(["--quiet", "--format", "json"])
        .output()
        .unwrap()
}

/// The plans of a build that must have succeeded.
fn plans(output: &Output) -> Vec<Value> {
    assert!(output.status.success(), "{}", stderr(output));
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    value["plans"].as_array().unwrap().clone()
}

/// Files of a folder, by name.
fn files(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}
