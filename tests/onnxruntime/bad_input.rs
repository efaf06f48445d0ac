//! Libraries that are absent, too old, something else or without CUDA: one clear error, never a panic.

use std::path::{Path, PathBuf};
use std::process::Output;

use nvidia_doubles::c_library_of;

use super::{assert_refused, environment, jetlag};

/// One tenant on this provider.
fn run(library: &Path, provider: &str, out: &Path) -> Output {
    let backend = format!("tenants.camera.backend=OnnxRuntime(provider: {provider})");
    let out = out.join("run.mcap").display().to_string();
    let args = ["run", "configs/demo.ron", "--out", &out, "--set", &backend];
    jetlag(library, &[&args[..], &["--set", "duration=1s"]].concat())
}

/// A library made of this C.
fn compiled(folder: &Path, source: &str) -> PathBuf {
    let file = folder.join("libonnxruntime.so.1");
    c_library_of(&file, source).unwrap();
    file
}

#[test]
fn without_a_library_every_place_is_named_and_how_to_install_one() {
    let folder = tempfile::tempdir().unwrap();
    let phrases = [
        "tenant camera: no usable ONNX Runtime 1.17 or later was found",
        "/nowhere (from JETLAG_ONNXRUNTIME): no such folder",
        "/nowhere/lib/python3*/site-packages (from JETLAG_ONNXRUNTIME): no onnxruntime",
        "pip install onnxruntime",
        "Set JETLAG_ONNXRUNTIME to the file, folder or Python environment",
    ];
    assert_refused(&run(Path::new("/nowhere"), "Cpu", folder.path()), 2, &phrases);
}

#[test]
fn another_library_under_its_name_is_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let file = compiled(folder.path(), "int something_else(void) { return 1; }\n");
    let phrase = format!(
        "{}: it is not ONNX Runtime: it has no OrtGetApiBase",
        file.display()
    );
    assert_refused(&run(folder.path(), "Cpu", folder.path()), 2, &[&phrase]);
    std::fs::write(&file, [b'x'; 4096]).unwrap();
    let phrase = format!("unusable: {}: invalid ELF header", file.display());
    assert_refused(&run(&file, "Cpu", folder.path()), 2, &[&phrase]);
}

#[test]
fn a_library_that_is_too_old_is_named_with_its_version() {
    let stub = |version: &str| {
        format!(
            "static const void *api(unsigned level) {{ return 0; }}\n\
             static const char *version(void) {{ return \"{version}\"; }}\n\
             static const struct {{ const void *(*api)(unsigned); const char *(*version)(void); }} base = {{ api, version }};\n\
             const void *OrtGetApiBase(void) {{ return &base; }}\n"
        )
    };
    // The second claims to be new and has no such API all the same.
    for version in ["1.16.3", "1.99.0"] {
        let folder = tempfile::tempdir().unwrap();
        compiled(folder.path(), &stub(version));
        let phrase = format!("it is ONNX Runtime {version}; jetlag needs 1.17 or later");
        assert_refused(&run(folder.path(), "Cpu", folder.path()), 2, &[&phrase]);
    }
    let folder = tempfile::tempdir().unwrap();
    compiled(folder.path(), "void *OrtGetApiBase(void) { return 0; }\n");
    assert_refused(
        &run(folder.path(), "Cpu", folder.path()),
        2,
        &["OrtGetApiBase returned nothing"],
    );
}

#[test]
fn cuda_is_not_asked_of_a_library_of_the_processor() {
    let Some(library) = environment() else { return };
    let folder = tempfile::tempdir().unwrap();
    let phrases = [
        "tenant camera: ONNX Runtime 1.",
        "was built without the CUDA provider",
        "onnxruntime-gpu",
        "provider: Cpu",
    ];
    assert_refused(&run(&library, "Cuda", folder.path()), 2, &phrases);
    assert!(!folder.path().join("run.mcap").exists(), "nothing was started");
}

#[test]
fn doctor_tells_what_was_found() {
    let nowhere = jetlag(Path::new("/nowhere"), &["doctor"]);
    let text = String::from_utf8_lossy(&nowhere.stdout).into_owned();
    assert!(text.contains("!!  ONNX Runtime"), "{text}");
    let Some(library) = environment() else { return };
    let found = jetlag(&library, &["doctor"]);
    let text = String::from_utf8_lossy(&found.stdout).into_owned();
    assert!(text.contains("--  ONNX Runtime  1."), "{text}");
    assert!(text.contains("no CUDA provider"), "{text}");
}

#[test]
fn the_library_is_not_given_a_network_whose_lengths_are_wrong() {
    let Some(library) = environment() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    // A graph of a node whose name claims 29 GB.
    let network = [
        0x3a, 0x0a, 0x0a, 0x08, 0x1a, 0x80, 0x80, 0x80, 0x80, 0x74, b'n', b'a',
    ];
    std::fs::write(path("network.onnx"), network).unwrap();
    let spec = "Camera(name: \"t\", classes: [\"Car\"], network: \"network.onnx\", \
                input: (tensor: \"images\", width: 64, height: 64), head: YoloAnchorFree(output: \"output0\"))";
    std::fs::write(path("detector.ron"), spec).unwrap();
    let scenario = "Scenario(name: \"t\", duration: \"1s\", tenants: [Tenant(name: \"camera\", detector: \"detector.ron\", \
                    backend: OnnxRuntime(provider: Cpu), source: Synthetic(Camera), arrival: Periodic(hz: 10))])";
    std::fs::write(path("scenario.ron"), scenario).unwrap();
    let output = jetlag(&library, &["run", path("scenario.ron").to_str().unwrap()]);
    let phrases = [
        "network.onnx on the onnxruntime-cpu backend: the ONNX file is incomplete or damaged",
        "a node claims 31138512896 bytes",
    ];
    assert_refused(&output, 2, &phrases);
}
