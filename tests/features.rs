//! What a jetlag that was built with some features says of itself, and to whoever asks for the others.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::{Command, Output};

fn jetlag(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_jetlag"));
    command.args(arguments).current_dir(env!("CARGO_MANIFEST_DIR"));
    // What is installed here is no part of the answer.
    for library in ["JETLAG_TENSORRT", "JETLAG_ONNXRUNTIME", "JETLAG_INJECTION"] {
        command.env(library, "/nowhere");
    }
    command.output().unwrap()
}

fn said(output: &Output) -> String {
    let both = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8(both).unwrap()
}

/// A word that begins or ends at a letter is another.
fn has_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric())
        .any(|part| part == word)
}

/// Refused with the sentence that names the feature, where it was left out; never with it where it is there.
fn assert_answer(output: &Output, feature: &str, is_built: bool) {
    let said = said(output);
    let answer = format!("build it with cargo build --release --features {feature}");
    assert_eq!(said.contains(&answer), !is_built, "{said}");
    assert!(
        is_built || said.contains("this jetlag was built without"),
        "{said}"
    );
    assert!(is_built || !output.status.success(), "{said}");
}

/// What the demo says when nothing but this is asked of its camera; it is checked, and not run.
fn camera_on(backend: &str) -> Output {
    let out = tempfile::tempdir().unwrap();
    let out = out.path().join("run.mcap").display().to_string();
    let camera = format!("tenants.camera.backend={backend}");
    let sets = [
        &camera,
        "tenants.lidar.backend=Null",
        "tenants.camera.frames=1",
        "duration=1s",
        "warmup=0s",
    ];
    let mut arguments = vec!["run", "configs/demo.ron", "--quiet", "--out", &out];
    for set in sets {
        arguments.extend(["--set", set]);
    }
    jetlag(&arguments)
}

#[test]
fn version_and_doctor_tell_the_features() {
    let version = said(&jetlag(&["--version"]));
    assert!(
        version.starts_with(concat!("jetlag ", env!("CARGO_PKG_VERSION"), " (features: ")),
        "{version}"
    );
    // A long line is wrapped.
    let doctor = said(&jetlag(&["doctor"]));
    let doctor = doctor.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = doctor.split("left out").next().unwrap();
    for (feature, is_built) in [
        ("cpu", cfg!(feature = "cpu")),
        ("gpu", cfg!(feature = "gpu")),
        ("models", cfg!(feature = "models")),
        ("nvtx", cfg!(feature = "nvtx")),
        ("onnxruntime", cfg!(feature = "onnxruntime")),
        ("parquet", cfg!(feature = "parquet")),
        ("recordings", cfg!(feature = "recordings")),
        ("trace", cfg!(feature = "trace")),
    ] {
        assert_eq!(has_word(&version, feature), is_built, "{version}");
        assert_eq!(has_word(line, feature), is_built, "{doctor}");
    }
}

#[test]
fn the_cpu_backend_and_the_demo_are_there_or_say_how_to_have_them() {
    let is_built = cfg!(feature = "cpu");
    assert_answer(&jetlag(&["demo", "--dry-run"]), "cpu", is_built);
    assert_answer(
        &jetlag(&["eval", "builtin:camera", "--data", "tests"]),
        "cpu",
        is_built,
    );
    assert_answer(&camera_on("Cpu"), "cpu", is_built);
    let profile = ["inspect", "engines/camera.onnx", "--profile", "1"];
    assert_answer(&jetlag(&profile), "cpu", is_built);
}

#[test]
fn the_gpu_part_is_there_or_says_how_to_have_it() {
    let is_built = cfg!(feature = "gpu");
    assert_answer(&jetlag(&["build", "engines/camera.ron"]), "gpu", is_built);
    assert_answer(&camera_on("TensorRt"), "gpu", is_built);
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("some.plan");
    std::fs::write(&plan, "a plan").unwrap();
    assert_answer(
        &jetlag(&["inspect", &plan.display().to_string()]),
        "gpu",
        is_built,
    );
}

#[test]
fn tracing_a_command_is_there_or_says_how_to_have_it() {
    let output = jetlag(&["trace", "--", "true"]);
    assert_eq!(output.status.code(), Some(2));
    assert_answer(&output, "trace", cfg!(feature = "trace"));
}

#[test]
fn onnx_runtime_is_there_or_says_how_to_have_it() {
    assert_answer(
        &camera_on("OnnxRuntime"),
        "onnxruntime",
        cfg!(feature = "onnxruntime"),
    );
}

#[test]
fn recordings_are_there_or_say_how_to_have_them() {
    let is_built = cfg!(feature = "recordings");
    assert_answer(&jetlag(&["inspect", "tests"]), "recordings", is_built);
}

#[test]
fn models_are_there_or_say_how_to_have_them() {
    let is_built = cfg!(feature = "models");
    let work = ["inspect", "--work", "engines/camera.onnx"];
    assert_answer(&jetlag(&work), "models", is_built);
    assert_answer(&jetlag(&["predict", "eval", "tests"]), "models", is_built);
    let variants = [
        "data",
        "variants",
        "tests/suite.rs",
        "--prune",
        "5",
        "-o",
        "tests/suite.rs",
    ];
    assert_answer(&jetlag(&variants), "models", is_built);
    assert_answer(&jetlag(&["eval", "tests/records/run.mcap"]), "models", is_built);
}

#[test]
fn parquet_is_there_or_says_how_to_have_it() {
    let run = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/records/run.mcap");
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("tables").display().to_string();
    let export = jetlag(&["export", run, "--format", "parquet", "-o", &out]);
    assert_answer(&export, "parquet", cfg!(feature = "parquet"));
}
